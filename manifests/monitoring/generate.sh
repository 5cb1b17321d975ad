#!/bin/sh
# Writes prometheusrule.yaml, the object of the Prometheus operator with the rules in rules.yaml.
set -e
cd "$(dirname "$0")"
{
	cat <<'END'
# Made by "make generate" from rules.yaml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: metacontroller
  namespace: metacontroller
  labels:
    app.kubernetes.io/name: metacontroller
spec:
END
	sed '/^#/d; s/^/  /' rules.yaml
} >prometheusrule.yaml

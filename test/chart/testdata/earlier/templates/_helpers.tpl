{{/* The name in the labels, and the default name in the names of objects: that of the chart which made them. */}}
{{- define "metascript.name" -}}
{{- .Values.nameOverride | default (get (dict "" .Chart.Name "Manifests" "metacontroller" "Chart" "metacontroller-helm") .Values.replaces) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The name of the objects. */}}
{{- define "metascript.fullname" -}}
{{- $name := include "metascript.name" . }}
{{- if eq .Values.replaces "Manifests" }}
{{- $name }}
{{- else if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "metascript.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{/* The labels of the selector, which cannot be changed: a StatefulSet that is replaced keeps its own. */}}
{{- define "metascript.selectorLabels" -}}
app.kubernetes.io/name: {{ include "metascript.name" . }}
{{- if ne .Values.replaces "Manifests" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- end }}

{{- define "metascript.labels" -}}
{{ include "metascript.selectorLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | trimSuffix "." }}
{{- end }}

{{- define "metascript.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "metascript.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{/* The subjects of the bindings. */}}
{{- define "metascript.subjects" -}}
- kind: ServiceAccount
  name: {{ include "metascript.serviceAccountName" . }}
  namespace: {{ include "metascript.namespace" . }}
{{- end }}

{{/* A role and its binding: a dict of root, kind (Role or ClusterRole), name, namespace, labels and content. */}}
{{- define "metascript.role" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "metascript.labels" .root | nindent 4 }}
{{ toYaml .content }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "metascript.labels" .root | nindent 4 }}
subjects:
{{ include "metascript.subjects" .root }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
{{- end }}

{{/* Fails if the values contradict each other, or if a server that this release does not replace is in the cluster. */}}
{{- define "metascript.check" -}}
{{- $names := list .Values.nameOverride .Values.fullnameOverride | compact }}
{{- if and (eq .Values.replaces "Manifests") $names }}
{{- fail "with replaces=Manifests, the objects have the names of the manifests: remove nameOverride and fullnameOverride, or set replaces to Chart if you replace a release of Metacontroller's chart" }}
{{- end }}
{{- if and .Values.watchNamespaces .Values.clusterRole.aggregationRule }}
{{- fail "clusterRole.aggregationRule has no effect in namespaces: use clusterRole.rules, or remove watchNamespaces" }}
{{- end }}
{{- if and (hasKey .Values.podDisruptionBudget "minAvailable") (hasKey .Values.podDisruptionBudget "maxUnavailable") }}
{{- fail "podDisruptionBudget can have minAvailable or maxUnavailable, not both: remove one" }}
{{- end }}
{{- $name := include "metascript.fullname" . }}
{{- $namespace := include "metascript.namespace" . }}
{{- $own := ternary "Deployment" "StatefulSet" (eq .Values.replaces "") }}
{{- if not .Values.allowOtherServers }}
{{- range $kind := list "Deployment" "StatefulSet" }}
{{- range $o := (lookup "apps/v1" $kind "" "").items | default list }}
{{- $labels := $o.metadata.labels | default dict }}
{{- $annotations := $o.metadata.annotations | default dict }}
{{- $server := has (get $labels "app.kubernetes.io/name") (list "metascript" "metacontroller" "metacontroller-helm") }}
{{- range $o.spec.template.spec.containers }}
{{- $server = or $server (has "/usr/bin/metacontroller" (.command | default list)) }}
{{- end }}
{{- $same := and (eq $kind $own) (eq $o.metadata.name $name) (eq $o.metadata.namespace $namespace) }}
{{- $release := and (eq (get $annotations "meta.helm.sh/release-name") $.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $.Release.Namespace) }}
{{- if and $server $o.spec.replicas (not $same) (not $release) }}
{{- fail (printf "the %s %s in the namespace %s is a server already, and two servers would both write the objects of every controller. To replace it, see \"Replace Metacontroller\" in the README of this chart, or scale it to 0 replicas. To run both, set allowOtherServers to true, and give each server its own controllers, with --target-label-selector in commandArgs" $kind $o.metadata.name $o.metadata.namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The chart needs no values, although without a cluster it has to be told whether authors are trusted: in lint, nothing fails.
func TestLint(t *testing.T) { helm(t, "lint", "--strict", archive) }

// blind returns the first arguments of "helm template" for values: it does not see the cluster. If they do not say whether authors are
// trusted, they are.
func blind(values string) []string {
	if strings.Contains(values, "trustedAuthors") || strings.Contains(values, "replaces") {
		return []string{"template"}
	}
	return []string{"template", "--set", "trustedAuthors=true"}
}

// A value that the chart does not have, or that contradicts others, is refused with its path.
func TestWrongValues(t *testing.T) {
	for value, want := range map[string]string{
		"imagee.tag=1":                      "at '': additional properties 'imagee' not allowed",
		"image.tags=1":                      "at '/image': additional properties 'tags' not allowed",
		"replicas=two":                      "at '/replicas': got string, want integer",
		"replaces=chart":                    "at '/replaces': value must be one of '', 'Manifests', 'Chart'",
		"applyStrategy=server-side-apply":   "at '/applyStrategy': value must be one of '', 'DynamicApply', 'ServerSideApply'",
		"trustedAuthors=yes":                "at '/trustedAuthors': value must be one of '', true, false, <nil>",
		"accountPolicy.enabled=default":     "at '/accountPolicy/enabled': value must be one of '', true, false, <nil>",
		"commandArgs={verbosity=1}":         "at '/commandArgs/0': 'verbosity=1' does not match pattern",
		"resources.memory=1Gi":              "at '/resources': additional properties 'memory' not allowed",
		"scriptVolumes[0].name=a":           "at '/scriptVolumes/0'",
		"image.digest=latest":               "at '/image/digest'",
		"serviceMonitor.interval=30":        "at '/serviceMonitor/interval'",
		"replaces=Manifests,nameOverride=a": "remove nameOverride and fullnameOverride",
		"podDisruptionBudget.minAvailable=1,podDisruptionBudget.maxUnavailable=1":                 "remove one",
		"watchNamespaces={a},clusterRole.aggregationRule.clusterRoleSelectors[0].matchLabels.a=b": "clusterRole.aggregationRule has no effect in namespaces",
	} {
		helmFails(t, want, "template", "a", archive, "--set", "trustedAuthors=true", "--set", value)
	}
}

// every is a value for each part of the chart.
const every = `
image: {repository: "[fd00::1]:5000/metascript", digest: "sha256:` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `", pullPolicy: Always}
imagePullSecrets: [{name: registry}]
replicas: 2
commandArgs: [--verbosity=1]
env: [{name: HTTPS_PROXY, value: "http://proxy.example.com:3128"}, {name: NO_PROXY, value: "10.0.0.0/8,.svc"}, {name: SSL_CERT_FILE, value: /ca/ca.crt}]
serviceAccount: {annotations: {a: b}}
accountPolicy: {enabled: true}
scriptVolumes: [{name: team-a, configMap: {name: team-a-scripts}}, {name: team-b, emptyDir: {}}]
extraVolumes: [{name: ca, configMap: {name: ca}}]
extraVolumeMounts: [{name: ca, mountPath: /ca, readOnly: true}]
resources: {limits: {cpu: 2}}
podAnnotations: {a: b}
podLabels: {c: d}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: a, operator: Exists}]
affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]
priorityClassName: system-cluster-critical
podDisruptionBudget: {minAvailable: 1}
probes: {port: 8082}
metrics: {port: 9998}
service: {enabled: true, annotations: {a: b}}
networkPolicy:
  enabled: true
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  egress: [{ports: [{port: 443}]}]
serviceMonitor: {enabled: true, labels: {release: prometheus}, interval: 30s}
prometheusRule: {enabled: true, labels: {release: prometheus}}
dashboard: {enabled: true}
`

// matrix has sets of values. Those of Metacontroller's chart have its names of values.
var matrix = map[string]string{
	"nothing":                   `{}`,
	"everything":                every,
	"manifests":                 `{replaces: Manifests}`,
	"manifests-and-everything":  "replaces: Manifests" + every,
	"chart":                     `{replaces: Chart}`,
	"chart-and-everything":      "replaces: Chart" + every,
	"names":                     `{nameOverride: a, fullnameOverride: b, serviceAccount: {name: c}}`,
	"not-created":               `{crds: {install: false}, rbac: {create: false}, serviceAccount: {create: false}}`,
	"least-privilege":           `{rbac: {leastPrivilege: true}}`,
	"not-trusted":               `{trustedAuthors: false, env: [{name: HTTPS_PROXY, value: "http://proxy"}, {name: OTEL_EXPORTER_OTLP_ENDPOINT, value: "http://[fd00::1]:4318/v1"}]}`,
	"not-trusted-in-namespaces": `{trustedAuthors: false, watchNamespaces: [default]}`,
	"rules":                     `{clusterRole: {rules: [{apiGroups: [apps], resources: [deployments], verbs: [list, watch]}]}}`,
	"aggregation":               `{clusterRole: {aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}}`,
	"namespaces":                `{watchNamespaces: [default, kube-system]}`,
	"namespaces-and-rules":      `{watchNamespaces: [default], clusterRole: {rules: [{apiGroups: [""], resources: [pods], verbs: ["*"]}]}}`,
	"no-cluster-roles":          `{watchNamespaces: [default], crds: {install: false}, rbac: {clusterScoped: false}, allowOtherServers: true}`,
	"service":                   `{service: {enabled: true, headless: false, ports: [{name: metrics, port: 80, targetPort: metrics}]}}`,
	"metacontroller": `
replaces: Chart
rbac: {create: true}
image: {repository: metascript, pullPolicy: IfNotPresent, tag: "1.0"}
imagePullSecrets: []
nameOverride: metacontroller
namespaceOverride: ""
fullnameOverride: ""
serviceAccount: {create: true, annotations: {}, name: ""}
podAnnotations: {}
podSecurityContext: {fsGroup: 65532}
securityContext: {}
resources: {}
nodeSelector: {}
tolerations: []
affinity: {}
env: []
command: /usr/bin/metacontroller
commandArgs: [--zap-log-level=4, --discovery-interval=20s, --cache-flush-interval=30m, "--health-probe-bind-address=:8081"]
probes: {port: 8081}
priorityClassName: ""
clusterRole: {aggregationRule: {}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}
replicas: 1
podDisruptionBudget: {}
service: {enabled: false, ports: []}
`,
}

// The API server accepts all objects of each set of values, and has no warning about one.
func TestMatrix(t *testing.T) {
	in := namespace(t, "matrix")
	apply(t, operator)
	t.Cleanup(func() {
		kubectl(t, "delete", "crd", "servicemonitors.monitoring.coreos.com", "prometheusrules.monitoring.coreos.com")
	})
	kubectl(t, "wait", "--for=condition=Established", "--timeout=1m", "crd/servicemonitors.monitoring.coreos.com", "crd/prometheusrules.monitoring.coreos.com")
	for name, values := range matrix {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "values.yaml")
			check(t, os.WriteFile(path, []byte(values), 0o600))
			rendered := helm(t, append(blind(values), "release", archive, "--namespace", in, "--values", path)...)
			objects := filepath.Join(dir, "objects.yaml")
			check(t, os.WriteFile(objects, []byte(rendered), 0o600))
			out := kubectl(t, "apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename="+objects)
			if lower := strings.ToLower(out); strings.Contains(lower, "warning") {
				t.Errorf("the API server warns:\n%s", out)
			}
			if replaces := strings.Contains(values, "replaces"); strings.Contains(out, "deployment.apps/") == replaces || strings.Contains(out, "statefulset.apps/") != replaces {
				t.Errorf("the workload has the wrong kind:\n%s", out)
			}
		})
	}
}

// operator are the CustomResourceDefinitions of the Prometheus operator, with the fields that the chart uses.
var operator = definition("monitoring.coreos.com", "v1", "ServiceMonitor", "Namespaced", `
required: [selector, endpoints]
properties:
  selector: {type: object, properties: {matchLabels: {type: object, additionalProperties: {type: string}}}}
  endpoints: {type: array, items: {type: object, properties: {port: {type: string}, interval: {type: string}}}}
`) + "---" + definition("monitoring.coreos.com", "v1", "PrometheusRule", "Namespaced", `
properties:
  groups:
    type: array
    items:
      type: object
      required: [name, rules]
      properties:
        name: {type: string}
        rules:
          type: array
          items:
            type: object
            required: [alert, expr]
            properties:
              alert: {type: string}
              expr: {type: string}
              for: {type: string}
              labels: {type: object, additionalProperties: {type: string}}
              annotations: {type: object, additionalProperties: {type: string}}
`)

// definition returns a CustomResourceDefinition. spec is the schema of the field spec, in YAML.
func definition(group, version, kind, scope, spec string) string {
	plural := strings.ToLower(kind) + "s"
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + plural + `.` + group + `, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: ` + group + `
  names: {kind: ` + kind + `, plural: ` + plural + `}
  scope: ` + scope + `
  versions:
  - name: ` + version + `
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object` + strings.ReplaceAll(strings.TrimRight(spec, "\n"), "\n", "\n            ") + "\n"
}

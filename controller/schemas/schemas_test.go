package schemas

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"

	"metascript/controller/kinds"
)

var (
	pods        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &obj); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return obj
}

func kindOf(obj map[string]any) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(obj["apiVersion"].(string), obj["kind"].(string))
}

func kind(t testing.TB, s *Set, of schema.GroupVersionKind) *Kind {
	t.Helper()
	k, err := s.Kind(of)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The embedded schemas are those that the table of kinds was made with, of the version of the test cluster. That the API server still
// serves the same is checked by the end-to-end tests.
func TestEmbeddedSchemasAreThoseOfTheTestCluster(t *testing.T) {
	text, err := decompress()
	if err != nil {
		t.Fatal(err)
	}
	source := kinds.KubernetesSource()
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != source.Schemas {
		t.Errorf("the SHA-256 of the schemas is %x, but kubernetes.jsonl says %s: run make schemas", sum, source.Schemas)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if version := regexp.MustCompile(`CLUSTER_VERSION := (\S+)`).FindSubmatch(makefile); version == nil || string(version[1]) != source.Kubernetes {
		t.Errorf("the Makefile has %q, but the schemas are of %s: run make schemas", version, source.Kubernetes)
	}
}

func TestEachKindOfKubernetesHasASchema(t *testing.T) {
	s := Kubernetes()
	var all []schema.GroupVersionKind
	for _, r := range s.Kinds() {
		k := kind(t, s, r.GVK())
		k.Validate(map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind})
		all = append(all, r.GVK())
	}
	if !slices.Contains(all, deployments) {
		t.Error("there is no Deployment")
	}
	definitions, err := s.Definitions(all...)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range all {
		if DefinitionOf(definitions, of) == "" {
			t.Errorf("there is no definition of %s", of)
		}
	}
	converter, err := managedfields.NewTypeConverter(definitions, false)
	if err != nil {
		t.Fatal(err)
	}
	pod := &unstructured.Unstructured{Object: object(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, ports: [{containerPort: 1}]}]}}`)}
	if _, err := converter.ObjectToTyped(pod); err != nil {
		t.Error(err)
	}
}

// The texts say where, what, and what to do.
func TestProblems(t *testing.T) {
	const (
		pod        = `{apiVersion: v1, kind: Pod, metadata: {name: a}, `
		service    = `{apiVersion: v1, kind: Service, metadata: {name: a}, `
		deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}`
	)
	for _, test := range []struct {
		name, object string
		want         []string
	}{
		{"valid", pod + `spec: {containers: [{name: a, image: b, ports: [{containerPort: 80}]}]}}`, nil},
		{"a valid deployment", deployment + `, replicas: 3, strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}}}`, nil},
		{"quantities", pod + `spec: {containers: [{name: a, image: b, resources: {limits: {cpu: 0.5, memory: 1Gi, nvidia.com/gpu: 1}, requests: {cpu: 500m}}}]}}`, nil},
		{"nulls", pod + `spec: {containers: [{name: a, image: b, args: [null], env: null}], volumes: null, nodeSelector: {a: null}}}`, nil},
		{"base64", `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: "aGVs\nbG8=\n", b: "", c: aGVsbG8=, d: null}}`, nil},
		{"a whole number with a fraction", pod + `spec: {terminationGracePeriodSeconds: 30.0, containers: [{name: a, image: b}]}}`, nil},
		{"an empty enumeration", pod + `spec: {restartPolicy: "", containers: [{name: a, image: b}]}}`, nil},
		{"a zero time", `{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: a}, eventTime: null}`, nil},
		{"an object that is not stored", `{apiVersion: authentication.k8s.io/v1, kind: TokenReview, spec: {token: a}}`, nil},
		{"a name that is no subdomain", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "a:B"}, rules: []}`, nil},
		{"a schema that refers to itself", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b.c}, spec: {group: b.c, scope: Namespaced, names: {kind: A, plural: a}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string, default: null}}}}}}}]}}`, nil},
		{"any data", `{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: a}, revision: 1, data: {a: [1, {b: null}]}}`, nil},
		{"map keys that are no field names", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a.b/c: d}}, data: {"a.yaml": "b"}}`, nil},

		{"unknown fields", pod + `specs: {}, spec: {containers: [{name: a, image: b, imagee: b}], restartPolice: Never}}`, []string{
			`spec.containers[0].imagee: unknown field; did you mean "image"?`,
			`spec.restartPolice: unknown field; did you mean "restartPolicy"?`,
			`specs: unknown field; did you mean "spec"?`,
		}},
		{"required fields that are misspelled", pod + `spec: {containers: [{nmae: a, image: b, ports: [{containerport: 80}]}, {image: c, title: d}]}}`, []string{
			`spec.containers[0].nmae: unknown field; did you mean "name"?`,
			`spec.containers[0].ports[0].containerport: unknown field; did you mean "containerPort"?`,
			`spec.containers[1].name: missing, but required`,
			`spec.containers[1].title: unknown field`,
		}},
		{"in metadata of a template", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}, label: {}}, spec: {containers: [{name: a, image: b}]}}}}`, []string{
			`spec.template.metadata.label: unknown field; did you mean "labels"?`,
		}},
		{"missing fields", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 1, template: {spec: {containers: [{image: b}]}}}}`, []string{
			`spec.selector: missing, but required`,
			`spec.template.spec.containers[0].name: missing, but required`,
		}},
		{"no name", `{apiVersion: v1, kind: ConfigMap}`, []string{`metadata.name: missing, but required: name or generateName is required`}},
		{"a missing number", service + `spec: {ports: [{name: a}]}}`, []string{`spec.ports[0].port: missing, but required`}},
		{"wrong types", deployment + `, replicas: "3", paused: "true", minReadySeconds: 1.5, revisionHistoryLimit: [1]}}`, []string{
			`spec.minReadySeconds: want an integer, got 1.5`,
			`spec.paused: want a boolean, got the string "true": leave out the quotes`,
			`spec.replicas: want an integer, got the string "3": leave out the quotes`,
			`spec.revisionHistoryLimit: want an integer, got a list`,
		}},
		{"strings", pod + `spec: {containers: [{name: a, image: b, env: [{name: A, value: 1}], args: [true, {}]}], nodeSelector: {a: 1}}}`, []string{
			`spec.containers[0].args[0]: want a string, got true: put it in quotes`,
			`spec.containers[0].args[1]: want a string, got an object`,
			`spec.containers[0].env[0].value: want a string, got 1: put it in quotes`,
			`spec.nodeSelector.a: want a string, got 1: put it in quotes`,
		}},
		{"objects and lists", pod + `spec: {containers: {name: a}, volumes: [a]}}`, []string{
			`spec.containers: want a list, got an object`,
			`spec.volumes[0]: want an object, got the string "a"`,
		}},
		{"an object in place of a string", pod + `spec: a}`, []string{`spec: want an object, got the string "a"`}},
		{"enumerations", pod + `spec: {restartPolicy: Allways, containers: [{name: a, image: b, imagePullPolicy: 1}]}}`, []string{
			`spec.containers[0].imagePullPolicy: want a string, got 1: put it in quotes`,
			`spec.restartPolicy: "Allways" is not one of Always, Never, OnFailure; did you mean "Always"?`,
		}},
		{"int or string", service + `spec: {ports: [{name: a, port: 80, targetPort: {a: b}}, {name: b, port: 1, targetPort: 1.5}]}}`, []string{
			`spec.ports[0].targetPort: want an integer or a string, got an object`,
			`spec.ports[1].targetPort: want an integer or a string, got 1.5`,
		}},
		{"quantities that are none", pod + `spec: {containers: [{name: a, image: b, resources: {limits: {cpu: lots, memory: true}}}]}}`, []string{
			`spec.containers[0].resources.limits.cpu: want a quantity such as 500m or 1Gi, got the string "lots"`,
			`spec.containers[0].resources.limits.memory: want a quantity such as 500m or 1Gi, got true`,
		}},
		{"values of Secrets are not shown", `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: "not base64", b: aGVsbG8=}, stringData: {c: 1}}`, []string{`data.a: want base64`, `stringData.c: want a string`}},
		{"a time", `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a}, spec: {renewTime: yesterday, acquireTime: "2026-01-02T15:04:05.123456Z"}}`, []string{
			`spec.renewTime: want a time such as 2026-01-02T15:04:05Z, got the string "yesterday"`,
		}},
		{"too large", service + `spec: {ports: [{port: 3000000000}]}}`, []string{`spec.ports[0].port: 3000000000 is not valid: must be at most 2147483647`}},
		{"names", pod + `spec: {volumes: [{name: data}, {name: data}], containers: [{name: My_C, image: b, ports: [{containerPort: 70000, name: http}, {containerPort: 80, name: http}], volumeMounts: [{name: date, mountPath: /a}]}, {name: b, image: b}, {name: b, image: b}]}}`, []string{
			`spec.containers[0].name: "My_C" is not valid: it must have only lower-case letters, digits and '-', and begin and end with a letter or a digit; did you mean "my-c"?`,
			`spec.containers[0].ports[0].containerPort: 70000 is not valid: must be between 1 and 65535, inclusive`,
			`spec.containers[0].ports[1].name: "http" is used twice`,
			`spec.containers[0].volumeMounts[0].name: there is no volume "date"`,
			`spec.containers[2].name: "b" is used twice`,
			`spec.volumes[1].name: "data" is used twice`,
		}},
		{"the name of a Service", `{apiVersion: v1, kind: Service, metadata: {name: My_Svc}, spec: {ports: [{port: 0}]}}`, []string{
			`metadata.name: "My_Svc" is not valid: it must have only lower-case letters, digits and '-', and begin and end with a letter or a digit; did you mean "my-svc"?`,
			`spec.ports[0].port: 0 is not valid: must be between 1 and 65535, inclusive`,
		}},
		{"ports of a Service", service + `spec: {ports: [{port: 80}, {name: a, port: 81, targetPort: 70000}, {name: a, port: 82, targetPort: "HTTP!"}]}}`, []string{
			`spec.ports[0].name: missing, but required`,
			`spec.ports[1].targetPort: 70000 is not valid: must be between 1 and 65535, inclusive`,
			`spec.ports[2].name: "a" is used twice`,
			`spec.ports[2].targetPort: "HTTP!" is not valid: must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
			`spec.ports[2].targetPort: "HTTP!" is not valid: must contain at least one letter (a-z)`,
		}},
		{"no ports", service + `spec: {selector: {a: b}}}`, []string{`spec.ports: missing, but required`}},
		{"a headless Service without ports", service + `spec: {clusterIP: None}}`, nil},
		{"a selector that does not match", strings.Replace(deployment, "labels: {a: b}", "labels: {a: c}", 1) + `}}`, []string{"spec.template.metadata.labels: the labels do not match spec.selector"}},
		{"the restartPolicy of a Deployment", strings.Replace(deployment, "containers:", "restartPolicy: Never, containers:", 1) + `}}`, []string{`spec.template.spec.restartPolicy: "Never" is not one of Always`}},
		{"the restartPolicy of a Job", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {parallelism: -1, template: {spec: {containers: [{name: a, image: b}]}}}}`, []string{
			`spec.parallelism: -1 is not valid: must be greater than or equal to 0`,
			`spec.template.spec.restartPolicy: missing, but required: valid values: "OnFailure", "Never"`,
		}},
		{"a CronJob", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: "61 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}}}`, []string{
			`spec.schedule: "61 * * * *" is not valid: end of range (61) above maximum (59): 61`,
		}},
		{"keys", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {"a b": c}}`, []string{
			`data[a b]: "a b" is not valid: it must have only letters, digits, '-', '_' and '.'; did you mean "a-b"?`,
		}},
		{"a definition", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: b.c}, spec: {group: b.c, scope: Namespaced, names: {kind: A, plural: a}, versions: [{name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, propertys: {}, properties: {
				a: {type: str}, b: {type: string, minLenght: 1}}}}}}}]}}`, []string{
			`metadata.name: "b.c" is not valid: must be spec.names.plural, a dot and spec.group: a.b.c`,
			`spec.versions: must have exactly one version marked as storage version`,
			`spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a.type: "str" is not one of array, boolean, integer, number, object, string`,
			`spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.b.minLenght: unknown field; did you mean "minLength"?`,
			`spec.versions[0].schema.openAPIV3Schema.properties.spec.propertys: unknown field; did you mean "properties"?`,
		}},
		{"a schema that is not structural, and a default and a rule that are not valid", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b.c}, spec: {group: b.c, scope: Namespaced, names: {kind: A, plural: a}, versions: [
			{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {properties: {a: {type: string}}}}}}},
			{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: integer, default: x}}}}}}},
			{name: v3, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: "self.b > 1"}, {rule: "self.a > 1"}]}}}}}]}}`, []string{
			`spec.versions: must have exactly one version marked as storage version`,
			`spec.versions[0].schema.openAPIV3Schema.properties.spec.type: missing, but required: must not be empty for specified object fields`,
			`spec.versions[1].schema.openAPIV3Schema.properties.spec.properties.a.default: want an integer, got the string "x"`,
			`spec.versions[2].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule: compilation failed: ERROR: <input>:1:5: undefined field 'b'
 | self.b > 1
 | ....^`,
		}},
		{"labels", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a: 1}}}`, []string{`metadata.labels[a]: want a string, got 1: put it in quotes`}},
		{"a Service with the selector of a Deployment", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80, targetPort: "8080"}], selector: {matchLabels: {a.b/c: d}}}}`, []string{
			`spec.ports[0].targetPort: "8080" is not valid: must contain at least one letter (a-z): leave out the quotes`,
			`spec.selector.matchLabels: a Service's selector has no matchLabels: write the labels directly`,
		}},
		{"an object in a ConfigMap", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: {b: c}}}`, []string{
			`data.a: want a string, got an object: make text of it, for example with json.encode, JSON.stringify or std.manifestJson`,
		}},
		{"a template without metadata", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {labels: {a: b}, spec: {containers: [{name: a, image: b}]}}}}`, []string{
			`spec.template.labels: unknown field: write metadata: {labels: …}`,
		}},
		{"a template without labels", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: a, image: b}]}}}}`, []string{
			`spec.template.metadata.labels: the labels do not match spec.selector: write metadata: {labels: …}`,
		}},
		{"a template without spec", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, containers: [{name: a, image: b}]}}}`, []string{
			`spec.template.containers: unknown field: put it into template.spec`,
		}},
		{"a policy of Pods that Jobs do not have", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {restartPolicy: Always, containers: [{name: a, image: b}]}}}}`, []string{
			`spec.template.spec.restartPolicy: "Always" is not supported here: valid values: "OnFailure", "Never"`,
		}},
		{"an Ingress as it was", `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {defaultBackend: {service: {name: a, port: {number: 80}}}, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {serviceName: a, servicePort: 80}}]}}]}}`, []string{
			`spec.rules[0].http.paths[0].backend.serviceName: unknown field: write service: {name: …, port: {number: …}}`,
		}},
		{"the label of a template", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d e}}, spec: {containers: [{name: a, image: b}]}}}}`, []string{
			`spec.template.metadata.labels[c]: "d e" is not valid: a label value must have only letters, digits, '-', '_' and '.', and begin and end with a letter or a digit; did you mean "d-e"?`,
		}},
		{"a label that is not valid", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a b: c}}}`, []string{`metadata.labels[a b]: "a b" is not valid: a key must have only letters, digits, '-', '_' and '.', and begin and end with a letter or a digit; did you mean "a-b"?`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			obj := object(t, test.object)
			var got []string
			for _, p := range kind(t, Kubernetes(), kindOf(obj)).Validate(obj) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

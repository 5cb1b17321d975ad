package mistakes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
)

func read(t *testing.T, text string) *object.Object {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := utiljson.Unmarshal(asJSON, &content); err != nil {
		t.Fatal(err)
	}
	return object.New(content)
}

func TestOf(t *testing.T) {
	const (
		web    = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: b, ports: [{name: http}]}]}}}}`
		custom = `{apiVersion: example.com/v1, kind: Rollout, metadata: {name: web}}`
		job    = `{apiVersion: batch/v1, kind: Job, metadata: {name: web}}`
		config = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}`
		empty  = `{apiVersion: v1, kind: Secret, metadata: {name: web}}`
	)
	service := func(spec string) string {
		return `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: ` + spec + `}`
	}
	pod := func(container string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [` + container + `]}}`
	}
	const noPod = `spec.selector: no Pod of the answer has one of these labels: the Pods of Deployment "web" have app=web`
	for _, c := range []struct {
		name, child, others, want string
	}{
		{"a Service", service(`{selector: {app: web}, ports: [{targetPort: http}, {targetPort: 80}]}`), web, ""},
		{"a Service that finds no Pod", service(`{selector: {app: api}}`), web, noPod},
		{"without workloads", service(`{selector: {app: api}}`), config, ""},
		{"with a Job", service(`{selector: {app: api}}`), job, ""},
		{"with a custom resource", service(`{selector: {app: api}}`), web + "\n" + custom, ""},
		{"a label that is set later", service(`{selector: {app: web, role: primary}}`), web, ""},
		{"a label that Kubernetes sets", service(`{selector: {statefulset.kubernetes.io/pod-name: web-0}}`), web, ""},
		{"a port", service(`{selector: {app: web}, ports: [{targetPort: web}]}`), web, `spec.ports[0].targetPort: no container of Deployment "web" has a port with the name "web"`},
		{"a probe", pod(`{image: b, ports: [{name: http}], readinessProbe: {httpGet: {port: http}}, livenessProbe: {httpGet: {port: web}}}`), "",
			`spec.containers[0].livenessProbe.httpGet.port: the container has no port with the name "web"`},
		{"an image", pod(`{image: "a :b"}`), "", `spec.containers[0].image: "a :b" is no image: it has a space`},
		{"a key", pod(`{env: [{valueFrom: {configMapKeyRef: {name: web, key: a}}}, {valueFrom: {configMapKeyRef: {name: web, key: b}}}]}`), config,
			`spec.containers[0].env[1].valueFrom.configMapKeyRef.key: the ConfigMap "web" in the answer has no key "b"`},
		{"an optional key", pod(`{env: [{valueFrom: {configMapKeyRef: {name: web, key: b, optional: true}}}]}`), config, ""},
		{"a Secret that others fill", pod(`{env: [{valueFrom: {secretKeyRef: {name: web, key: b}}}]}`), empty, ""},
		{"nothing of what is expected", pod(`1`), config, ""},
	} {
		child := read(t, c.child)
		a := Answer{Children: []*object.Object{child}, Partial: func(*object.Object) bool { return false }}
		for line := range strings.Lines(c.others) {
			a.Children = append(a.Children, read(t, line))
		}
		var got []string
		for _, p := range a.Of(child) {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

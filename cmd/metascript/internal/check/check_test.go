package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller/api/v1alpha1"
	"metascript/engine"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: parts.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Part, plural: parts}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
`

const composite = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: widgets}
  script: {language: Starlark, inline: "def sync(): return {}"}
`

func parse(t *testing.T, text string) manifest.Document {
	t.Helper()
	docs, err := manifest.Parse("a.yaml", []byte(text))
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, error %v", len(docs), err)
	}
	return docs[0]
}

func inProcess() *sandbox.Sandbox {
	return sandbox.InProcess(v1alpha1.IsolationInProcess, engine.Limits{})
}

func TestCheckerOutput(t *testing.T) {
	crds, err := manifest.CRDs([]manifest.Document{parse(t, definition)})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := NewRules(crds...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		valid      bool
		want       string // a part of what is printed
	}{
		{"a definition", definition, true, "a.yaml: CustomResourceDefinition parts.example.com: ok, its objects are validated against it\n"},
		{"an object", "{apiVersion: example.com/v1, kind: Part, metadata: {name: p}, spec: {size: 1}}", true, "a.yaml: Part p: ok\n"},
		{"an invalid object", "{apiVersion: example.com/v1, kind: Part, metadata: {name: p}, spec: {size: x}}", false, "a.yaml: Part p: spec.size: "},
		{"an unknown kind", "{apiVersion: v1, kind: Pod, metadata: {name: p}}", true, "a.yaml: Pod p: not checked, its definition is not in the files\n"},
		{"an unknown kind of our group", "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: Controller, metadata: {name: p}}", false, "a.yaml: Controller p: there is no such kind in metacontroller.k8s.io\n"},
		{"a controller", composite, true, "a.yaml: CompositeController c: ok, hooks: sync\n"},
		{"a script that does not compile", strings.Replace(composite, "return {}", "return {", 1), false, "a.yaml: CompositeController c: sync.star:1:"},
		{"a warning", strings.Replace(composite, "Starlark,", "Starlark, limits: {memory: 1Gi},", 1), true, "a.yaml: CompositeController c: warning: script.limits.memory is 1Gi"},
	} {
		var out strings.Builder
		checker := &Checker{Out: &out, Rules: rules, Sandbox: inProcess()}
		if valid := checker.Check(t.Context(), parse(t, c.text)); valid != c.valid || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: valid %t, output:\n%s", c.name, valid, out.String())
		}
	}
}

func TestWarningsNameTheFile(t *testing.T) {
	doc := parse(t, strings.NewReplacer("Starlark,", "Starlark, limits: {memory: 1Gi},", "generateSelector: true", "generateSelector: 1").Replace(composite))
	got, err := Warnings(doc, inProcess())
	if err != nil {
		t.Fatal(err)
	}
	for n, text := range got {
		got[n], _, _ = strings.Cut(text, ": spec.generateSelector")
	}
	want := []string{"a.yaml: the API server would reject it, or drop it"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings of a controller that cannot be decoded (-want +got):\n%s", diff)
	}
	doc = parse(t, strings.Replace(composite, "Starlark,", "Starlark, limits: {memory: 1Gi},", 1))
	if got, err = Warnings(doc, inProcess()); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "a.yaml: script.limits.memory is 1Gi") {
		t.Errorf("warnings about limits above the ceilings: %q, error %v", got, err)
	}
}

package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/schemas"
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
	bolts := strings.NewReplacer("parts", "bolts", "Part", "Bolt", "storage: true", "storage: true, subresources: {status: {}}").Replace(definition)
	crds, err := manifest.CRDs([]manifest.Document{parse(t, definition), parse(t, bolts)})
	if err != nil {
		t.Fatal(err)
	}
	known, err := schemaflags.WithOwn(schemas.Kubernetes(), crds...)
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
		{"an invalid object", "{apiVersion: example.com/v1, kind: Part, metadata: {name: p}, spec: {size: x}}", false, "a.yaml:1:76: Part p: spec.size: "},
		{"an object of Kubernetes", "{apiVersion: v1, kind: ConfigMap, metadata: {name: p}}", true, "a.yaml: ConfigMap p: ok\n"},
		{"an invalid one", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x, imagee: x}]}}", false, "a.yaml:1:90: Pod p: spec.containers[0].imagee: unknown field; did you mean \"image\"?\n"},
		{"the status of a new object", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x}]}, status: {containerStatuses: [{name: c}]}}", true, "a.yaml: Pod p: ok\n"},
		{"a misspelled kind", "{apiVersion: apps/v1, kind: Deploymnet, metadata: {name: p}}", false, "a.yaml:1:29: Deploymnet p: there is no kind Deploymnet in apps/v1: did you mean \"kind: Deployment\"?\n"},
		{"an old version", "{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: p}}", false, "a.yaml:1:14: Deployment p: there is no kind Deployment in extensions/v1beta1: did you mean \"apiVersion: apps/v1\"?\n"},
		{"a version that may exist", "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: p}}", true, "a.yaml: PodDisruptionBudget p: not checked, its definition is not in the files; did you mean \"apiVersion: policy/v1\"?\n"},
		{"an unknown kind", "{apiVersion: example.org/v1, kind: Widget, metadata: {name: p}}", true, "a.yaml: Widget p: not checked, its definition is not in the files\n"},
		{"a definition with an unknown field", strings.Replace(definition, "scope:", "scoope: x\n  scope:", 1), false, "a.yaml:7:3: CustomResourceDefinition parts.example.com: spec.scoope: unknown field; did you mean \"scope\"?\n"},
		{"a resource that is a kind", strings.Replace(composite, "  script", "  childResources: [{apiVersion: v1, resource: Pod}]\n  script", 1), false, "a.yaml:8:47: CompositeController c: childResources[0]: there is no resource \"Pod\" in v1: did you mean \"resource: pods\"?\n"},
		{"a resource that is not known", strings.Replace(composite, "  script", "  childResources: [{apiVersion: example.org/v1, resource: gadgets}]\n  script", 1), true, "a.yaml: CompositeController c: ok, hooks: sync\n"},
		{"a resource of a known group that is not its plural", strings.Replace(composite, "widgets", "part", 1), false, "a.yaml:7:58: CompositeController c: parentResource: there is no resource \"part\" in example.com/v1: did you mean \"resource: parts\"?\n"},
		{"a version that is not defined", strings.Replace(composite, "example.com/v1, resource: widgets", "example.com/v2, resource: parts", 1), false, "a.yaml:7:58: CompositeController c: parentResource: there is no resource \"parts\" in example.com/v2: did you mean \"apiVersion: example.com/v1\"?\n"},
		{"a version that Kubernetes no longer has", strings.Replace(composite, "  script", "  childResources: [{apiVersion: apps/v1beta1, resource: deployments}]\n  script", 1), false, "a.yaml:8:57: CompositeController c: childResources[0]: there is no resource \"deployments\" in apps/v1beta1: did you mean \"apiVersion: apps/v1\"?\n"},
		{"a resource that may be of a known group", composite, true, "a.yaml:7:58: CompositeController c: warning: parentResource: there is no resource \"widgets\" in example.com/v1 in the definitions of this group; if it exists, give its CustomResourceDefinition too\n"},
		{"a rule twice", strings.Replace(composite, "  script", "  childResources: [{apiVersion: v1, resource: pods}, {apiVersion: v1, resource: pods}]\n  script", 1), true, "warning: childResources[0] and [1] are both about resource pods in v1, and only the last rule has an effect: keep one\n"},
		{"parents without a selector", strings.NewReplacer("widgets", "bolts", "generateSelector: true", "generateSelector: false").Replace(composite), false, "a.yaml:5:1: CompositeController c: the schema of Bolt has no label selector in spec.selector, so that each parent would fail: set \"generateSelector: true\", or add spec.selector to the schema\n"},
		{"parents with a selector that is not one of labels", strings.NewReplacer("example.com/v1, resource: widgets", "v1, resource: services", "generateSelector: true", "generateSelector: false").Replace(composite), false, "the schema of Service has no label selector in spec.selector"},
		{"parents with a selector", strings.NewReplacer("example.com/v1, resource: widgets", "apps/v1, resource: deployments", "generateSelector: true", "generateSelector: false").Replace(composite), true, "a.yaml: CompositeController c: ok, hooks: sync\n"},
		{"a parent without status", strings.Replace(composite, "widgets", "parts", 1), false, "CRD [parts.example.com] does not have subresource 'Status' enabled"},
		{"an unknown kind of our group", "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: Controller, metadata: {name: p}}", false, "a.yaml:1:52: Controller p: there is no kind Controller in metacontroller.k8s.io/v1alpha1\n"},
		{"a controller", composite, true, "a.yaml: CompositeController c: ok, hooks: sync\n"},
		{"a script that does not compile", strings.Replace(composite, "return {}", "return {", 1), false, "a.yaml:8:32: CompositeController c: sync.star:1:"},
		{"a field with other owners than Metacontroller expects", strings.Replace(composite, "  script", "  childResources: [{apiVersion: v1, resource: pods, ownerReference: {controller: false}}]\n  script", 1), true, "a.yaml: CompositeController c: not in Metacontroller 4.17: childResources[0].ownerReference\n"},
		{"a warning", strings.Replace(composite, "Starlark,", "Starlark, limits: {memory: 1Gi},", 1), true, "a.yaml:8:49: CompositeController c: warning: script.limits.memory is 1Gi"},
	} {
		checker := &Checker{Schemas: known, Sandbox: inProcess()}
		got := checker.Check(t.Context(), parse(t, c.text))
		if valid := got.Result != Invalid; valid != c.valid || valid != (len(got.Errors) == 0) || !strings.Contains(got.Text(style.Styler{}), c.want) {
			t.Errorf("%s: %s, output:\n%s", c.name, got.Result, got.Text(style.Styler{}))
		}
	}
}

// Two controllers of one name are an error, since one would replace the other. The same file twice is none.
func TestTheNameOfAController(t *testing.T) {
	known, err := schemaflags.WithOwn(schemas.Kubernetes())
	if err != nil {
		t.Fatal(err)
	}
	checker := &Checker{Schemas: known, Sandbox: inProcess()}
	for i, c := range []struct {
		text  string
		valid bool
	}{{composite, true}, {composite, true}, {strings.Replace(composite, "widgets", "gadgets", 1), false}, {strings.Replace(composite, "name: c", "name: d", 1), true}} {
		got := checker.Check(t.Context(), parse(t, c.text))
		if valid := got.Result == Valid; valid != c.valid {
			t.Errorf("%d: %s: %q", i, got.Result, got.Errors)
		}
		if !c.valid && !strings.HasPrefix(strings.Join(got.Errors, ""), "a.yaml has another CompositeController of this name, and in a cluster") {
			t.Errorf("the errors are %q", got.Errors)
		}
	}
}

func TestWarningsNameTheFile(t *testing.T) {
	doc := parse(t, strings.NewReplacer("Starlark,", "Starlark, limits: {memory: 1Gi},", "generateSelector: true", "generateSelector: 1").Replace(composite))
	known, err := schemaflags.WithOwn(schemas.Kubernetes())
	if err != nil {
		t.Fatal(err)
	}
	got := Warnings(doc, inProcess(), known)
	for n, text := range got {
		got[n], _, _ = strings.Cut(text, ": spec.generateSelector")
	}
	want := []string{"a.yaml:6:21: CompositeController c: the API server would reject it, or drop it"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings of a controller that cannot be decoded (-want +got):\n%s", diff)
	}
	doc = parse(t, strings.Replace(composite, "Starlark,", "Starlark, limits: {memory: 1Gi},", 1))
	if got = Warnings(doc, inProcess(), known); len(got) != 1 || !strings.HasPrefix(got[0], "a.yaml:8:49: CompositeController c: script.limits.memory is 1Gi") {
		t.Errorf("warnings about limits above the ceilings: %q", got)
	}
}

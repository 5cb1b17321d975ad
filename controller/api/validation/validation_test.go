package validation

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"metascript/manifests"
)

func things(t testing.TB) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile("testdata/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

func thing(t testing.TB) *Validator {
	t.Helper()
	v, err := New(things(t))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &obj); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return obj
}

const head = "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}, "

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name, object string
		want         []string
	}{
		{"valid", head + `spec: {image: a}}`, nil},
		{"numbers from YAML", head + `spec: {image: a, min: 1, max: 1e3, share: 1, port: 80}}`, nil},
		{"null is left out", head + `spec: {image: a, min: null, size: null, note: null, labels: null}}`, nil},
		{"other version", `{apiVersion: example.com/v2, kind: Thing, metadata: {name: a}, spec: {picture: a}}`, nil},
		{"generated name", `{apiVersion: example.com/v1, kind: Thing, metadata: {generateName: a-}, spec: {image: a}}`, nil},
		{"in a namespace", `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, namespace: b, labels: {c: d}}, spec: {image: a}}`, nil},

		{"another kind", `{apiVersion: example.com/v1, kind: Thin, metadata: {name: a}}`, []string{`kind: Invalid value: "Thin": must be Thing`}},
		{"another group", `{apiVersion: example.org/v1, kind: Thing}`, []string{`apiVersion: Unsupported value: "example.org/v1": supported values: "example.com/v1", "example.com/v2"`}},
		{"a version that is not served", `{apiVersion: example.com/v0, kind: Thing}`, []string{`apiVersion: Unsupported value: "example.com/v0": supported values: "example.com/v1", "example.com/v2"`}},
		{"nothing", `{}`, []string{
			`kind: Invalid value: "": must be Thing`,
			`apiVersion: Unsupported value: "": supported values: "example.com/v1", "example.com/v2"`,
		}},
		{"no name", `{apiVersion: example.com/v1, kind: Thing, spec: {image: a}}`, []string{`metadata.name: Required value: name or generateName is required`}},
		{"a bad label", `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, labels: {a: 1}}, spec: {image: a}}`, []string{
			`metadata: Invalid value: "": json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`,
		}},

		{"no spec", head + `}`, []string{`spec: Required value`}},
		{"an unknown field", head + `spec: {image: a, imag: b}}`, []string{`spec.imag: Forbidden: unknown field; did you mean "image"?`}},
		{"a field that resembles nothing", head + `spec: {image: a, replicas: 3}}`, []string{`spec.replicas: Forbidden: unknown field`}},
		{"a field of another case", head + `Spec: {}, spec: {image: a, byname: {}}}`, []string{
			`Spec: Forbidden: unknown field; did you mean "spec"?`,
			`spec.byname: Forbidden: unknown field; did you mean "byName"?`,
		}},
		{"metadata", `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, label: {}, ownerReferences: [{apiVersion: v1, kind: a, name: b, uid: c, why: d}]}, spec: {image: a}}`, []string{
			`metadata.label: Forbidden: unknown field; did you mean "labels"?`,
			`metadata.ownerReferences[0].why: Forbidden: unknown field`,
		}},
		{"status", head + `spec: {image: a}, status: {raedy: true, ready: 1}}`, []string{
			`status.raedy: Forbidden: unknown field; did you mean "ready"?`,
			`status.ready: Invalid value: "integer": status.ready in body must be of type boolean: "integer"`,
		}},
		{"the wrong type", head + `spec: {image: 1}}`, []string{`spec.image: Invalid value: "integer": spec.image in body must be of type string: "integer"`}},
		{"a fraction", head + `spec: {image: a, min: 1.5}}`, []string{
			`<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.min`,
			`spec.min: Invalid value: "float64": spec.min in body must be of type int32: "float64"`,
		}},
		{"an enumeration", head + `spec: {image: a, size: M}}`, []string{`spec.size: Unsupported value: "M": supported values: "S", "L"`}},
		{"a rule", head + `spec: {image: a, min: 2, max: 1}}`, []string{`spec: Invalid value: min is at most max`}},
		{"no rules after such an error", head + `spec: {min: 2, max: 1}}`, []string{`spec.image: Required value`}},
		{"list keys", head + `spec: {image: a, ports: [{name: a}, {name: a}, {port: 65536}]}}`, []string{
			`spec.ports[1]: Duplicate value: {"name":"a"}`,
			`spec.ports[2].name: Required value`,
			`spec.ports[2].port: Invalid value: 65536: spec.ports[2].port in body should be less than or equal to 65535`,
		}},
		{"an embedded object", head + `spec: {image: a, template: {apiVersion: v1, metadata: {name: a/b}, spec: {b: 1}}}}`, []string{
			`spec.template.kind: Required value`,
			`spec.template.metadata.name: Invalid value: "a/b": may not contain '/'`,
			`spec.template.spec.b: Forbidden: unknown field`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, err := range thing(t).Validate(object(t, test.object)) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateDoesNotChangeObject(t *testing.T) {
	obj := object(t, head+`spec: {image: a, unknown: 1, min: null}}`)
	before := runtime.DeepCopyJSON(obj)
	thing(t).Validate(obj)
	if _, err := thing(t).Default(obj); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, obj); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}

// An object that was built in Go need not have the types that a decoder gives.
func TestValidateGoValues(t *testing.T) {
	obj := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"image": "a", "min": 1, "labels": map[string]string{"a": "b"}},
	}
	if errs := thing(t).Validate(obj); errs != nil {
		t.Errorf("refused: %v", errs)
	}
}

func TestDefault(t *testing.T) {
	got, err := thing(t).Default(object(t, head+`spec: {min: 1, unknown: 2, note: null, max: null, byName: {a: {}}, open: {a: b}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{
			"size": "S", "min": int64(1), "note": nil, "open": map[string]any{"a": "b"},
			"byName": map[string]any{"a": map[string]any{"replicas": int64(1)}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewRejectsInvalidSchemas(t *testing.T) {
	for name, damage := range map[string]func(*apiextensionsv1.CustomResourceDefinitionVersion){
		"schema of things.example.com version v1: there is none": func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
			v.Schema = nil
		},
		"schema of things.example.com version v1: properties[spec].type: Required value: must not be empty for specified object fields": func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
			v.Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{}
		},
	} {
		crd := things(t)
		damage(&crd.Spec.Versions[0])
		if _, err := New(crd); err == nil || err.Error() != name {
			t.Errorf("New says %v, want %s", err, name)
		}
	}
}

// What is reported as unknown is what pruning drops, whatever the object looks like.
func TestUnknownReturnsPrunedFields(t *testing.T) {
	v := thing(t)
	c, err := v.versions["v1"]()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	dropped := 0
	for range 3000 {
		obj := map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{}}
		for _, key := range []string{"spec", "status", "x"} {
			obj[key] = value(r, 6)
		}
		var got []string
		for _, err := range c.unknown(obj) {
			got = append(got, dotted.ReplaceAllString(err.Field, ".$1"))
		}
		slices.Sort(got)
		want := pruning.PruneWithOptions(obj, c.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		want = slices.DeleteFunc(want, func(path string) bool { return strings.Contains(path, "metadata") })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v (-pruned +reported):\n%s", obj, diff)
		}
		dropped += len(got)
	}
	if dropped < 1000 {
		t.Errorf("only %d fields were unknown: the objects are too tame", dropped)
	}
}

// dotted matches the key of a map in a path, which pruning writes like a field.
var dotted = regexp.MustCompile(`\[([a-zA-Z][^\]]*)\]`)

// value makes a value at random out of the names that the schema has.
func value(r *rand.Rand, depth int) any {
	names := []string{"image", "loose", "tight", "list", "any", "labels", "byName", "replicas", "open", "template", "spec", "a", "ports", "name", "kind", "zzz"}
	if depth == 0 || r.IntN(8) == 0 {
		return "text"
	}
	if r.IntN(4) == 0 {
		return []any{value(r, depth-1), value(r, depth-1)}
	}
	m := map[string]any{}
	for range r.IntN(6) {
		m[names[r.IntN(len(names))]] = value(r, depth-1)
	}
	return m
}

func composite(b *testing.B) *apiextensionsv1.CustomResourceDefinition {
	crds, err := manifests.CRDs()
	if err != nil {
		b.Fatal(err)
	}
	return crds[0]
}

var controller = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: test}
spec:
  parentResource: {apiVersion: example.com/v1, resource: things}
  childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: InPlace}}]
  script: {language: Starlark, inline: "def sync(parent): pass", timeout: 1s, limits: {memory: 64Mi}}
  hooks: {sync: {script: {function: f}}, finalize: {webhook: {url: "http://a"}}}
`

func BenchmarkNewAndFirst(b *testing.B) {
	crd, obj := composite(b), object(b, controller)
	for b.Loop() {
		v, err := New(crd)
		if err != nil {
			b.Fatal(err)
		}
		if errs := v.Validate(obj); errs != nil {
			b.Fatal(errs)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	v, err := New(composite(b))
	if err != nil {
		b.Fatal(err)
	}
	obj := object(b, controller)
	for b.Loop() {
		if errs := v.Validate(obj); errs != nil {
			b.Fatal(errs)
		}
	}
}

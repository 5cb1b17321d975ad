// Package objecttest makes objects for tests.
package objecttest

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
	"metascript/engine/packed"
)

// Parse reads YAML as caches hold it: whole numbers are int64, others float64. No text at all is nil.
func Parse(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var m map[string]any
	if err := utiljson.Unmarshal(data, &m); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return m
}

// ForClient returns objects as a fake client wants them.
func ForClient(objects ...runtime.Object) []runtime.Object {
	converted := make([]runtime.Object, len(objects))
	for i, o := range objects {
		converted[i] = o
		if ours, ok := o.(*object.Object); ok {
			converted[i] = ours.Unstructured()
		}
	}
	return converted
}

// Packed returns o as caches hold it.
func Packed(t testing.TB, o *object.Object) *object.Object {
	t.Helper()
	content, err := packed.Pack(o.Map())
	if err != nil {
		t.Fatalf("%s: %v", object.Describe(o), err)
	}
	return object.OfPacked(content)
}

// Applied returns o with the annotation of dynamic apply that says that want was applied to it.
func Applied(o, want *object.Object) *object.Object {
	text, err := json.Marshal(want.Map())
	if err != nil {
		panic(err)
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["metacontroller.k8s.io/last-applied-configuration"] = string(text)
	o.SetAnnotations(annotations)
	return o
}

// ParseObject reads an object, whatever it lacks.
func ParseObject(t testing.TB, text string) *object.Object {
	t.Helper()
	return object.New(Parse(t, text))
}

// Scribble changes every map and list in v, so that whatever shares a part of v shows it.
func Scribble(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			Scribble(field)
		}
		v["scribble"] = "scribble"
	case []any:
		for i, item := range v {
			Scribble(item)
			v[i] = "scribble"
		}
	}
}

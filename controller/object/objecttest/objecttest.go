// Package objecttest makes objects for tests.
package objecttest

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
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

// ParseObject reads an object, whatever it lacks.
func ParseObject(t testing.TB, text string) *object.Object {
	t.Helper()
	return &object.Object{Object: Parse(t, text)}
}

package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func text(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestREADMEHasTheValues(t *testing.T) {
	readme := text(t, "README.md")
	fresh, err := update(readme, text(t, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if fresh != readme {
		t.Error("README.md is not what values.yaml says: run make generate")
	}
}

func TestDescribe(t *testing.T) {
	found, err := describe("# One.\na: 1\n\nb:\n  # Two,\n  # and more.\n  c:\n    d: [x]\n  # Three.\n  e: \"\"\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []value{{"a", "1", "One."}, {"b.c", `{"d":["x"]}`, "Two, and more."}, {"b.e", `""`, "Three."}}
	if !slices.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}

// Every value has a description, and the schema has it; the schema has nothing that values.yaml does not have.
func TestSchemaHasTheValues(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(text(t, "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(text(t, "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	described, err := describe(text(t, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "", schema, values, described)
}

func compare(t *testing.T, path string, schema, values map[string]any, described []value) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	properties = maps.Clone(properties)
	if path == "" {
		delete(properties, "global") // of a parent chart
	}
	got, want := slices.Sorted(maps.Keys(properties)), slices.Sorted(maps.Keys(values))
	if !slices.Equal(got, want) {
		t.Errorf("%s: the schema has %v, and values.yaml %v", path, got, want)
		return
	}
	for _, name := range want {
		at := strings.TrimPrefix(path+"."+name, ".")
		if slices.ContainsFunc(described, func(v value) bool { return v.path == at }) {
			continue
		}
		inner, _ := values[name].(map[string]any)
		of, _ := properties[name].(map[string]any)
		if inner == nil || of["additionalProperties"] != false {
			t.Errorf("%s has no description in values.yaml, or a schema that permits everything", at)
			continue
		}
		compare(t, at, of, inner, described)
	}
}

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"metascript/controller/api/validation"
	"metascript/manifests"
)

const page = "../../../docs/reference.md"

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReferenceIsUpToDate(t *testing.T) {
	text := readPage(t)
	want, err := fill(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("docs/reference.md is not up to date, run \"make generate\" (-page +generated):\n%s", diff)
	}
}

// Every field that is not an object or has no fields of its own has an example.
func TestEveryFieldHasAnExample(t *testing.T) {
	for line := range strings.Lines(readPage(t)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 5 || cells[1] == "object" || cells[1] == "list of objects" || strings.HasPrefix(line, "| field ") {
			continue
		}
		if strings.Trim(cells[4], " |\n") == "" {
			t.Errorf("examples.yaml has no value of %s", cells[0])
		}
	}
}

func TestExamplesAreValid(t *testing.T) {
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	all, err := readSchemas()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		v, err := validation.New(crd)
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range all.examples {
			if example["kind"] != crd.Spec.Names.Kind {
				continue
			}
			if errs := v.Validate(example); errs != nil {
				t.Errorf("%v: %v", example["metadata"], errs.ToAggregate())
			}
		}
	}
}

// The page has every field of both kinds: a field whose own fields are elsewhere has the same fields there.
func TestReferenceIsComplete(t *testing.T) {
	all, err := readSchemas()
	if err != nil {
		t.Fatal(err)
	}
	text := readPage(t)
	for path, heading := range elsewhere {
		if heading != "" && !strings.Contains(strings.ToLower(strings.ReplaceAll(text, " ", "-")), "#-"+heading+"\n") {
			t.Errorf("there is no heading for #%s, which has the fields of %s", heading, path)
		}
	}
	for _, root := range []string{"CompositeController spec", "DecoratorController spec", "CompositeController status"} {
		if !strings.Contains(text, "<!-- fields: "+root+" -->") {
			t.Errorf("there is no table of %s", root)
		}
	}
	const composite, decorator = "CompositeController", "DecoratorController"
	for _, same := range [][4]string{
		{composite, "spec.script", decorator, "spec.script"},
		{composite, "spec.hooks.sync", composite, "spec.hooks.finalize"},
		{composite, "spec.hooks.sync", composite, "spec.hooks.customize"},
		{composite, "spec.hooks.sync", decorator, "spec.hooks.sync"},
		{composite, "spec.endpointConfigs", decorator, "spec.endpointConfigs"},
		{composite, "spec.endpointConfigs.caBundle", composite, "spec.hooks.sync.webhook.caBundle"},
		{composite, "spec.endpointConfigs.clientTLS", composite, "spec.hooks.sync.webhook.clientTLS"},
		{composite, "spec.endpointConfigs.authorization", composite, "spec.hooks.sync.webhook.authorization"},
		{composite, "spec.endpointConfigs.basicAuth", composite, "spec.hooks.sync.webhook.basicAuth"},
		{composite, "status", decorator, "status"},
	} {
		if diff := cmp.Diff(all.shape(t, same[0], same[1]), all.shape(t, same[2], same[3])); diff != "" {
			t.Errorf("%v have different fields, so each needs a table:\n%s", same, diff)
		}
	}
}

// shape returns the fields of a schema and their types.
func (s *schemas) shape(t *testing.T, kind, path string) any {
	t.Helper()
	at, err := s.at(kind, path)
	if err != nil {
		t.Fatal(err)
	}
	at.XValidations, at.Description = nil, ""
	undescribed(&at)
	text, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	var shape any
	if err := json.Unmarshal(text, &shape); err != nil {
		t.Fatal(err)
	}
	return shape
}

// undescribed removes descriptions.
func undescribed(of *apiextensionsv1.JSONSchemaProps) {
	of.Description = ""
	for name, property := range of.Properties {
		undescribed(&property)
		of.Properties[name] = property
	}
	if of.Items != nil {
		undescribed(of.Items.Schema)
	}
}

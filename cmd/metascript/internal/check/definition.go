package check

import (
	"fmt"
	"maps"
	"slices"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/place"
	"metascript/engine"
)

// maxSchemaDepth is the depth to which a schema is looked at.
const maxSchemaDepth = 100

// definitionWarnings returns probable mistakes in the schemas of a CustomResourceDefinition, which the API server accepts: required fields
// that have no schema, and values of an enumeration that no string can be equal to.
func definitionWarnings(doc manifest.Document) []*place.Error {
	w := schemaWarnings{doc: doc}
	spec, _ := doc.Object.Map()["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for i, item := range versions {
		version, _ := item.(map[string]any)
		schema, _ := version["schema"].(map[string]any)
		w.schema(fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i), schema["openAPIV3Schema"], 0)
	}
	return w.found
}

// schemaWarnings collects the warnings about the schemas of a document.
type schemaWarnings struct {
	doc   manifest.Document
	found []*place.Error
}

// schema looks at a schema and at those in it.
func (w *schemaWarnings) schema(path string, v any, depth int) {
	s, isObject := v.(map[string]any)
	if !isObject || depth > maxSchemaDepth {
		return
	}
	properties, _ := s["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(properties))
	if depth == 0 {
		names = append(names, "apiVersion", "kind", "metadata")
	}
	required, _ := s["required"].([]any)
	for i, item := range required {
		name, isString := item.(string)
		if !isString || len(properties) == 0 || slices.Contains(names, name) || s["x-kubernetes-preserve-unknown-fields"] == true {
			continue
		}
		e := w.doc.Errorf(fmt.Sprintf("%s.required[%d]", path, i), "required names %s, which is not in properties", name)
		if like := engine.Nearest(name, names); like != "" {
			e.Hint = fmt.Sprintf("did you mean %s?", like)
		}
		w.found = append(w.found, e)
	}
	values, _ := s["enum"].([]any)
	for i, value := range values {
		at := fmt.Sprintf("%s.enum[%d]", path, i)
		if _, isString := value.(string); !isString && value != nil && s["type"] == "string" {
			e := w.doc.Errorf(at, "%v is not a string, so that the field can never have this value", value)
			if e.Hint = w.doc.Value.Hint(at, true); e.Hint == "" {
				e.Hint = "write quotes"
			}
			w.found = append(w.found, e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		w.schema(path+".properties."+name, properties[name], depth+1)
	}
	w.schema(path+".items", s["items"], depth+1)
	w.schema(path+".additionalProperties", s["additionalProperties"], depth+1)
}

package types

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// starlarkOf returns a class for each object in the parents. starlark-lsp does not know the types of parameters: after a dot it
// proposes the fields of all classes. So there are only the fields of custom resources, and those that every object has. The fields of
// all children would be too many.
func starlarkOf(m *model) string {
	var out strings.Builder
	out.WriteString(`
class Object:
    apiVersion: str = None
    kind: str = None
    metadata: dict = None
    spec: dict = None
    status: dict = None

class Metadata:
    name: str = None
    namespace: str = None
    labels: dict = None
    annotations: dict = None
    uid: str = None
    generation: int = None
    creationTimestamp: str = None
    deletionTimestamp: str = None
`)
	for _, k := range m.allKinds(func(c *Controller) []Kind { return c.Parents }) {
		if m.custom[k.gvk()] {
			name, s := m.definition(k)
			for _, field := range []string{"spec", "status"} {
				if property, ok := s.Properties[field]; ok {
					class(&out, name+identifier(field), &property)
				}
			}
		}
	}
	return out.String()
}

// class writes the class of an object, and those of the objects in it.
func class(out *strings.Builder, name string, s *spec.Schema) {
	for form := formOf(s, true); form == list || form == dictionary; form = formOf(s, true) {
		if form == list {
			s = items(s)
		} else {
			s = s.AdditionalProperties.Schema
		}
		if s == nil {
			return
		}
	}
	if formOf(s, true) != object {
		return
	}
	fmt.Fprintf(out, "\nclass %s:\n", name)
	fields := slices.Sorted(maps.Keys(s.Properties))
	written := false
	for _, field := range fields {
		if isIdentifier.MatchString(field) && !strings.Contains(field, "$") {
			property := s.Properties[field]
			fmt.Fprintf(out, "    %s: %s = None\n", field, pythonTypes[formOf(&property, true)])
			if property.Description != "" {
				fmt.Fprintf(out, "    %q\n", property.Description)
			}
			written = true
		}
	}
	if !written {
		out.WriteString("    pass\n")
	}
	for _, field := range fields {
		property := s.Properties[field]
		class(out, name+identifier(field), &property)
	}
}

// pythonTypes are the types of the language server.
var pythonTypes = map[form]string{
	anything: "any", object: "dict", dictionary: "dict", nothing: "dict", list: "list", boolean: "bool", number: "int", text: "str",
	numberOrText: "any", quantity: "any",
}

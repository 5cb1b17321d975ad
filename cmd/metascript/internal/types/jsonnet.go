package types

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// checkFields is the function that the functions for kinds call.
//
//go:embed check.libsonnet
var checkFields string

// jsonnetOf returns an object with a function for each kind of child, and for the status of each parent. A function returns its
// argument, and is an error if a field is not in the schema.
func jsonnetOf(m *model) string {
	w := &jsonnet{model: m, shapes: map[string]string{}}
	var functions strings.Builder
	for _, k := range m.allKinds(func(c *Controller) []Kind { return c.Children }) {
		name, s := m.definition(k)
		fields := *s
		if hasStatus(k) {
			fields.Properties = maps.Clone(s.Properties)
			delete(fields.Properties, "status")
		}
		fmt.Fprintf(&functions, "\n  // %s in %s, from the other fields.\n  %s(fields):: check(%s, { apiVersion: %s, kind: %s } + fields, %s),\n",
			k.Kind, k.APIVersion, name, w.shape(&fields, m.custom[k.gvk()]), quoted(k.APIVersion), quoted(k.Kind), quoted(k.Kind))
	}
	for _, k := range m.allKinds(func(c *Controller) []Kind { return c.Parents }) {
		name, _ := m.definition(k)
		if status := m.statusOf(k); status != nil {
			fmt.Fprintf(&functions, "\n  // The status of %s in %s.\n  %sStatus(fields):: check(%s, fields, 'status'),\n",
				k.Kind, k.APIVersion, name, w.shape(status, m.custom[k.gvk()]))
		}
	}
	var out strings.Builder
	out.WriteString(checkFields + "\n// The fields of objects.\nlocal shapes = {\n")
	for _, name := range slices.Sorted(maps.Keys(w.shapes)) {
		fmt.Fprintf(&out, "  %s: %s,\n", name, w.shapes[name])
	}
	out.WriteString("};\n\n{" + functions.String() + "}\n")
	return out.String()
}

// jsonnet writes shapes. The shape of an object has the shapes of its fields, the shape of a dictionary has that of its values in the
// field *, and the shape of a list is that of its items. Anything else is null.
type jsonnet struct {
	*model
	shapes map[string]string // of definitions, by short name
}

const anyShape = "null"

func (w *jsonnet) shape(s *spec.Schema, custom bool) string {
	if s == nil {
		return anyShape
	}
	if name := refOf(s); name != "" {
		of := w.definitions[name]
		if of == nil || formOf(of, false) != object {
			return w.shape(of, false)
		}
		short := w.names[name]
		if _, ok := w.shapes[short]; !ok {
			w.shapes[short] = anyShape // while it is being written
			w.shapes[short] = w.shape(of, false)
		}
		return "shapes." + short
	}
	switch formOf(s, custom) {
	case list:
		return w.shape(items(s), custom)
	case dictionary:
		if values := w.shape(s.AdditionalProperties.Schema, custom); values != anyShape {
			return "{ '*': " + values + " }"
		}
	case object:
		if isOpen(s) {
			return anyShape
		}
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			property := s.Properties[name]
			fields = append(fields, quoted(name)+": "+w.shape(&property, custom))
		}
		return "{ " + strings.Join(fields, ", ") + " }"
	}
	return anyShape
}

// quoted returns a string as Jsonnet has it.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

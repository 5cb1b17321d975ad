package types

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// common are the types that all controllers use.
//
//go:embed common.d.ts
var common string

// typescript writes declarations. An object with fields becomes an interface, so that errors name it. The fields of a desired object
// can be assigned, so that a script can build it step by step. But its lists are read-only, so that a list of the request can be
// used in an answer.
type typescript struct {
	*model
	strict bool
	out    strings.Builder
	named  map[string]string // the interface of an object, by its origin
	taken  map[string]bool   // the names of interfaces
	todo   []func()          // writes an interface
}

// A place is where a schema is. Its objects with fields get their names from it.
type place struct {
	name     string // the name that an object at this place has, if no other has it
	origin   string // unique: the definition, with the path in it
	custom   bool   // in a CustomResourceDefinition
	observed bool   // of an observed object: read-only, and with the defaults of the schema
}

// field returns the place of a field of an object.
func (p place) field(name string) place {
	p.name += identifier(name)
	p.origin += "/" + name
	return p
}

func typescriptOf(m *model, strict bool) string {
	w := &typescript{model: m, strict: strict, named: map[string]string{}, taken: map[string]bool{}}
	for _, name := range append(slices.Collect(maps.Values(m.names)), reserved...) {
		w.taken[name] = true
	}
	for i, prefix := range m.prefixes() {
		w.controller(&m.controllers[i], prefix)
	}
	w.out.WriteString(common)
	w.reference(objectMeta, false)
	for len(w.todo) > 0 {
		next := w.todo[0]
		w.todo = w.todo[1:]
		next()
	}
	return strings.TrimLeft(w.out.String(), "\n")
}

// typeOf returns the type of the values of a schema.
func (w *typescript) typeOf(s *spec.Schema, at place) string {
	t := w.plainTypeOf(s, at)
	if s != nil && s.Nullable && t != anyType {
		t += " | null"
	}
	return t
}

const anyType = "any"

func (w *typescript) plainTypeOf(s *spec.Schema, at place) string {
	if s == nil {
		return anyType
	}
	if name := refOf(s); name != "" {
		if of := w.definitions[name]; of == nil || formOf(of, false) != object {
			return w.typeOf(of, at)
		}
		return w.reference(name, at.observed)
	}
	if len(s.Enum) > 0 {
		return w.enumeration(s)
	}
	switch formOf(s, at.custom) {
	case object:
		return w.object(s, at)
	case dictionary:
		return "{" + at.modifier() + "[key: string]: " + w.typeOf(s.AdditionalProperties.Schema, at) + "}"
	case nothing:
		return "{" + at.modifier() + "[key: string]: never}"
	case list:
		item := w.typeOf(items(s), at)
		if strings.Contains(item, " | ") {
			item = "(" + item + ")"
		}
		return "readonly " + item + "[]"
	case boolean:
		return "boolean"
	case number:
		return "number"
	case text:
		return "string"
	case numberOrText:
		return "number | string"
	case quantity:
		return "Quantity"
	}
	return anyType
}

// modifier returns what precedes a field at this place.
func (p place) modifier() string {
	if p.observed {
		return "readonly "
	}
	return ""
}

func (w *typescript) enumeration(s *spec.Schema) string {
	var all []string
	for _, value := range s.Enum {
		literal, err := json.Marshal(value)
		if err != nil {
			return anyType
		}
		all = append(all, string(literal))
	}
	return strings.Join(all, " | ")
}

// reference returns the type of a definition with fields.
func (w *typescript) reference(name string, observed bool) string {
	short := w.names[name]
	if !slices.Contains(reserved, short) {
		if kinds, _ := w.definitions[name].Extensions["x-kubernetes-group-version-kind"].([]any); len(kinds) > 0 {
			short = "Embedded" + short // the definition of a kind in another object, where apiVersion and kind are not required
		}
		w.queue(short, w.definitions[name], place{name: short, origin: name})
	}
	if observed {
		return "ReadonlyDeep<" + short + ">"
	}
	return short
}

// object returns the type of an object with fields.
func (w *typescript) object(s *spec.Schema, at place) string {
	if at.observed && !strings.HasPrefix(at.name, observedPrefix) {
		at.name = observedPrefix + at.name
	}
	name, isNew := w.name(at)
	if isNew {
		at.name = name
		w.todo = append(w.todo, func() { w.declare(name, s, at, nil) })
	}
	return name
}

// observedPrefix begins the names of the types of observed objects.
const observedPrefix = "Observed"

// queue writes an interface later, unless it is queued or written already.
func (w *typescript) queue(name string, s *spec.Schema, at place) {
	if w.named[at.origin] == "" {
		w.named[at.origin], w.taken[name] = name, true
		w.todo = append(w.todo, func() { w.declare(name, s, at, nil) })
	}
}

// declare writes an interface. Fields in place of those in the schema are given by instead; an empty string leaves the field out.
func (w *typescript) declare(name string, s *spec.Schema, at place, instead map[string]string) {
	w.out.WriteString("\n")
	w.comment("", s.Description)
	fmt.Fprintf(&w.out, "export interface %s {\n", name)
	for _, field := range fieldsOf(s, instead) {
		property := s.Properties[field]
		declaration, given := instead[field]
		if !given {
			declaration = w.field(field, &property, at, slices.Contains(s.Required, field))
		}
		if declaration != "" {
			if !slices.Contains(firstFields, field) { // what these mean, everybody knows
				w.comment("  ", property.Description)
			}
			w.out.WriteString("  " + at.modifier() + declaration + ";\n")
		}
	}
	if isOpen(s) {
		w.out.WriteString("  " + at.modifier() + "[field: string]: any;\n")
	}
	w.out.WriteString("}\n")
}

// fieldsOf returns the names of the fields of s and of instead. First come those that every object has, then the others, sorted.
func fieldsOf(s *spec.Schema, instead map[string]string) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(s.Properties)), maps.Keys(instead))
	slices.SortFunc(all, func(a, b string) int {
		if x, y := slices.Index(firstFields, a), slices.Index(firstFields, b); x != y {
			return y - x
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(all)
}

// firstFields are the fields that every object has, from the last to the first.
var firstFields = []string{"metadata", "kind", "apiVersion"}

// field returns the declaration of a field. It is optional in a desired object if it is not required or has a default, and in an
// observed object if it is not required and has no default.
func (w *typescript) field(name string, s *spec.Schema, at place, required bool) string {
	optional := "?"
	if required && (at.observed || s.Default == nil) || at.observed && s.Default != nil {
		optional = ""
	}
	return key(name) + optional + ": " + w.typeOf(s, at.field(name))
}

// key returns a name as it is written as a key.
func key(name string) string {
	if isIdentifier.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

var isIdentifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// kind returns the type of desired objects of a kind.
func (w *typescript) kind(k Kind) string {
	if !k.known() {
		return w.unknown(k)
	}
	short, s := w.definition(k)
	at := place{name: short, origin: k.group(), custom: w.custom[k.gvk()]}
	if w.named[at.origin] != "" {
		return short
	}
	w.named[at.origin] = short // the name is taken already, by the definition
	instead := identity(k, "NamedMeta")
	if hasStatus(k) {
		instead["status"] = ""
	}
	w.todo = append(w.todo, func() { w.declare(short, s, at, instead) })
	return short
}

// unknown returns the type of desired objects of a resource about which nothing is known.
func (w *typescript) unknown(k Kind) string {
	at := place{name: identifier(k.Plural), origin: k.Plural + "." + k.APIVersion}
	name, isNew := w.name(at)
	if isNew {
		s := &spec.Schema{SchemaProps: spec.SchemaProps{
			Description: fmt.Sprintf("An object of the resource %s in %s. Its fields are not known.", k.Plural, k.APIVersion),
		}}
		s.AddExtension(preserveUnknownFields, true)
		w.todo = append(w.todo, func() { w.declare(name, s, at, identity(k, "NamedMeta")) })
	}
	return name
}

// observed returns the type of observed objects of a kind. They have a spec if their schema has one: of a kind of Kubernetes the API
// server always sets it, like the status, and a custom resource without it is useless, though many definitions do not require it.
func (w *typescript) observed(k Kind) string {
	if !k.known() {
		return "KubernetesObject"
	}
	short, s := w.definition(k)
	at := place{name: observedPrefix + short, origin: k.group(), custom: w.custom[k.gvk()], observed: true}
	name, isNew := w.name(at)
	if !isNew {
		return name
	}
	at.name = name
	meta := "ObservedMeta"
	if k.Namespaced {
		meta = "NamespacedMeta"
	}
	instead := identity(k, meta)
	w.todo = append(w.todo, func() {
		if property, ok := s.Properties["spec"]; ok {
			instead["spec"] = w.field("spec", &property, at, true)
		}
		if status := w.statusOf(k); status != nil { // so that a condition of it can be one that the script returns
			instead["status"] = w.field("status", status, at, !at.custom || slices.Contains(s.Required, "status"))
		}
		w.declare(name, s, at, instead)
	})
	return name
}

// identity returns the declarations of the fields that every object of a kind has.
func identity(k Kind, meta string) map[string]string {
	kind := "string"
	if k.known() {
		kind = strconv.Quote(k.Kind)
	}
	return map[string]string{"apiVersion": "apiVersion: " + strconv.Quote(k.APIVersion), "kind": "kind: " + kind, "metadata": "metadata: " + meta}
}

// name returns the name of the interface at a place: that of the place, or with a number if another one has it. It reports whether the
// interface is still to be declared.
func (w *typescript) name(at place) (name string, isNew bool) {
	origin := at.origin
	if at.observed {
		origin += " observed"
	}
	if name := w.named[origin]; name != "" {
		return name, false
	}
	name = at.name
	for n := 2; w.taken[name]; n++ {
		name = at.name + strconv.Itoa(n)
	}
	w.named[origin], w.taken[name] = name, true
	return name, true
}

// commentWidth is the number of columns of a comment.
const commentWidth = 120

// comment writes a text as a comment that editors show.
func (w *typescript) comment(indent, text string) {
	text = strings.ReplaceAll(strings.TrimSpace(text), "*/", "*\\/")
	if text == "" {
		return
	}
	if line := indent + "/** " + text + " */"; len(line) <= commentWidth && !strings.Contains(line, "\n") {
		w.out.WriteString(line + "\n")
		return
	}
	w.out.WriteString(indent + "/**\n")
	for paragraph := range strings.SplitSeq(text, "\n") {
		for _, line := range wrapped(paragraph, commentWidth-len(indent)-len(" * ")) {
			w.out.WriteString(strings.TrimRight(indent+" * "+line, " \t") + "\n")
		}
	}
	w.out.WriteString(indent + " */\n")
}

// wrapped returns the lines of a paragraph. A long word is not divided, and the spaces before the first word stay.
func wrapped(paragraph string, width int) []string {
	if len(paragraph) <= width {
		return []string{paragraph}
	}
	var lines []string
	line := paragraph[:len(paragraph)-len(strings.TrimLeft(paragraph, " \t"))]
	empty := true
	for word := range strings.FieldsSeq(paragraph) {
		if !empty && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line, empty = "", true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return append(lines, line)
}

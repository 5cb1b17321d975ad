package types

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"metascript/controller/kinds"
	"metascript/controller/schemas"
)

// A model is the kinds of controllers with their schemas.
type model struct {
	controllers []Controller
	definitions map[string]*spec.Schema
	names       map[string]string // a short name for each definition
	custom      map[schema.GroupVersionKind]bool
}

func newModel(set *schemas.Set, controllers []Controller) (*model, error) {
	m := &model{controllers: controllers, custom: map[schema.GroupVersionKind]bool{}}
	var all []schema.GroupVersionKind
	for _, c := range controllers {
		for _, k := range c.kinds() {
			if !k.known() {
				continue
			}
			found, err := set.Kind(k.gvk())
			if err != nil {
				return nil, err
			}
			m.custom[k.gvk()] = found.Custom
			all = append(all, k.gvk())
		}
	}
	var err error
	if m.definitions, err = set.Definitions(all...); err != nil {
		return nil, err
	}
	if _, ok := m.definitions[objectMeta]; !ok { // no kind is known
		pods, err := set.Definitions(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
		if err != nil {
			return nil, err
		}
		maps.Copy(m.definitions, pods)
	}
	m.nameDefinitions()
	return m, nil
}

// objectMeta and labelSelector are definitions that every controller uses.
const (
	objectMeta    = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	labelSelector = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"
)

// nameDefinitions gives each definition the last part of its name, or as many parts as needed to distinguish it from the others and
// from the reserved names: Container, but CoreV1Event.
func (m *model) nameDefinitions() {
	m.names = map[string]string{labelSelector: "LabelSelector"}
	todo := slices.Sorted(maps.Keys(m.definitions))
	todo = slices.DeleteFunc(todo, func(name string) bool { return name == labelSelector })
	for parts := 1; len(todo) > 0; parts += 2 { // a version alone distinguishes nothing
		users := map[string]int{}
		for _, name := range todo {
			users[lastParts(name, parts)]++
		}
		todo = slices.DeleteFunc(todo, func(name string) bool {
			short := lastParts(name, parts)
			if users[short] > 1 && strings.Count(name, ".") >= parts || slices.Contains(reserved, short) {
				return false
			}
			m.names[name] = short
			return true
		})
	}
}

// lastParts returns the last parts of the name of a definition as one identifier.
func lastParts(name string, count int) string {
	parts := strings.Split(name, ".")
	return identifier(strings.Join(parts[max(0, len(parts)-count):], "."))
}

// identifier returns a name as an identifier that begins with a capital letter.
func identifier(name string) string {
	var out strings.Builder
	upper := true
	for _, r := range name {
		switch {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			upper = true
		case upper:
			out.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			out.WriteRune(r)
		}
	}
	if out.Len() == 0 || unicode.IsDigit(rune(out.String()[0])) {
		return "_" + out.String()
	}
	return out.String()
}

// reserved are the names that the rest of metascript.d.ts has.
var reserved = []string{
	"Async", "Attachment", "Attachments", "Child", "Children", "Condition", "Customize", "CustomizeRequest", "CustomizeResponse",
	"DecoratorFinalize", "DecoratorSync", "DecoratorSyncRequest", "DecoratorSyncResponse", "Event", "Finalize", "HasType",
	"KubernetesObject", "LabelRequirement", "LabelSelector", "NamedMeta", "NamespacedMeta", "NoKind", "ObservedMeta", "Parent", "Partial", "Promise", "Quantity", "ReadonlyDeep",
	"Record", "Related", "RelatedRule", "SecretWithData", "Sync", "SyncRequest", "SyncResponse", "Value",
}

// definition returns the definition of a known kind, and its short name.
func (m *model) definition(k Kind) (string, *spec.Schema) {
	name := schemas.DefinitionOf(m.definitions, k.gvk())
	return m.names[name], m.definitions[name]
}

// statusOf returns the schema of the status that a hook returns for a parent, or nil if the kind has no status. The server sets
// observedGeneration, and lastTransitionTime of conditions, so they are not required.
func (m *model) statusOf(k Kind) *spec.Schema {
	_, s := m.definition(k)
	status, ok := s.Properties["status"]
	if !ok {
		return nil
	}
	if m.custom[k.gvk()] {
		status = *without(&status, "observedGeneration")
		if conditions, ok := status.Properties["conditions"]; ok && conditions.Items != nil && conditions.Items.Schema != nil {
			conditions.Items = &spec.SchemaOrArray{Schema: without(conditions.Items.Schema, "lastTransitionTime")}
			status.Properties = maps.Clone(status.Properties)
			status.Properties["conditions"] = conditions
		}
	}
	return &status
}

// without returns a schema that does not require a field.
func without(s *spec.Schema, field string) *spec.Schema {
	out := *s
	out.Required = slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return name == field })
	return &out
}

// refOf returns the name of the definition to which s refers, or "".
func refOf(s *spec.Schema) string {
	if ref := s.Ref.String(); ref != "" {
		return ref[strings.LastIndex(ref, "/")+1:]
	}
	if len(s.AllOf) == 1 {
		return refOf(&s.AllOf[0])
	}
	return ""
}

// A form is what the values of a schema are.
type form int

const (
	anything form = iota
	object        // with fields
	dictionary
	list
	boolean
	number
	text
	numberOrText
	quantity
	nothing // an object in which the API server keeps no field
)

// formOf returns the form of a schema that is no reference. In a custom resource the API server keeps only the fields in the schema.
func formOf(s *spec.Schema, custom bool) form {
	intOrString, _ := s.Extensions.GetBool("x-kubernetes-int-or-string")
	switch {
	case intOrString, s.Format == "int-or-string":
		return numberOrText
	case len(s.OneOf) > 0 && len(s.Type) == 0:
		return quantity
	case s.Type.Contains("array"):
		return list
	case s.Type.Contains("boolean"):
		return boolean
	case s.Type.Contains("integer"), s.Type.Contains("number"):
		return number
	case s.Type.Contains("string"):
		return text
	case len(s.Properties) > 0:
		return object
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return dictionary
	case s.Type.Contains("object") && custom && !isOpen(s):
		return nothing
	}
	return anything
}

const preserveUnknownFields = "x-kubernetes-preserve-unknown-fields"

// isOpen reports whether an object may have other fields than those in its schema.
func isOpen(s *spec.Schema) bool {
	open, _ := s.Extensions.GetBool(preserveUnknownFields)
	embedded, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource")
	return open || embedded || s.AdditionalProperties != nil
}

// items returns the schema of the items of a list; nil means anything.
func items(s *spec.Schema) *spec.Schema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// allKinds returns the known kinds of all controllers that select selects, each once, in their order.
func (m *model) allKinds(from func(*Controller) []Kind) []Kind {
	var all []Kind
	for i := range m.controllers {
		for _, k := range from(&m.controllers[i]) {
			if k.known() {
				all = appendNew(all, k)
			}
		}
	}
	return all
}

// prefixes returns a name for each controller, as the beginning of its namespace; no two are the same.
func (m *model) prefixes() []string {
	var all []string
	for _, c := range m.controllers {
		name := identifier(c.Name)
		name = strings.ToLower(name[:1]) + name[1:]
		for n, base := 2, name; slices.Contains(all, name); n++ {
			name = base + strconv.Itoa(n)
		}
		all = append(all, name)
	}
	return all
}

// hasStatus reports whether the status of a kind is a subresource. Then the API server ignores the status in children.
func hasStatus(k Kind) bool { return kinds.Resource(k).HasStatus() }

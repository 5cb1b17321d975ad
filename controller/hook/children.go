package hook

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
)

// desired converts the children in a response to a set for the plan. Each child is checked, and gets the namespace of the
// parent if it has none, and the labels and annotations of req.Expect. In a response that is not checked strictly, some
// mistakes are only warnings.
func desired(items []any, req *Request, how decodeOptions) (*object.Set, []string, error) {
	set, first := &object.Set{}, map[object.Ref]int{}
	var warnings []string
	field := req.Shape.children()
	for i, item := range items {
		name := fmt.Sprintf("%s[%d]%s", field, i, describe(item))
		o, err := newChild(item, req, how)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if warning := undeclared(o, req); warning != "" {
			if how.strict {
				return nil, nil, fmt.Errorf("%s: %s", name, warning)
			}
			warnings = append(warnings, fmt.Sprintf("%s: %s; it is created, but not watched, updated or deleted", name, warning))
		}
		id := object.RefOf(o)
		if before, seen := first[id]; seen {
			if how.strict {
				return nil, nil, fmt.Errorf("%s: it is in the list already, as %s[%d]", name, field, before)
			}
			warnings = append(warnings, fmt.Sprintf("%s: it is in the list already, as %s[%d]; the last one is used", name, field, before))
		}
		first[id] = i
		set.Put(o)
	}
	return set, warnings, nil
}

// newChild checks one child and completes it, or a copy of it if others use it too.
func newChild(item any, req *Request, how decodeOptions) (*object.Object, error) {
	m, ok := item.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is %s, want an object", typeName(item))
	}
	if err := checkShape(m); err != nil {
		return nil, err
	}
	o := &object.Object{Object: m}
	if !how.owned {
		o = object.Copy(o)
	}
	if err := place(o, req); err != nil {
		return nil, err
	}
	if o.GroupVersionKind().GroupKind() == req.Parent.GroupVersionKind().GroupKind() && object.KeyOf(o) == object.KeyOf(req.Parent) {
		return nil, errors.New("it is the parent itself, which cannot be its own child: give it another name")
	}
	return o, label(o, req.Expect)
}

// checkShape checks the types of the fields that every object has.
func checkShape(m map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		if text, ok := m[field].(string); !ok || text == "" {
			return fmt.Errorf("%s is %s, want a string such as %s", field, missingOr(m[field]), map[string]string{"apiVersion": `"v1"`, "kind": `"Pod"`}[field])
		}
	}
	if _, err := schema.ParseGroupVersion(m["apiVersion"].(string)); err != nil {
		return fmt.Errorf("apiVersion is %q, want one such as \"v1\" or \"apps/v1\"", m["apiVersion"])
	}
	metadata, ok := m["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("metadata is %s, want an object with a name", missingOr(m["metadata"]))
	}
	if name, ok := metadata["name"].(string); !ok || name == "" {
		return fmt.Errorf("metadata.name is %s: a child needs a name, so that it is recognised again", missingOr(metadata["name"]))
	}
	if namespace, found := metadata["namespace"]; found && namespace != nil {
		if _, ok := namespace.(string); !ok {
			return fmt.Errorf("metadata.namespace is %s, want a string", typeName(namespace))
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if err := checkStrings("metadata."+field, metadata[field]); err != nil {
			return err
		}
	}
	return nil
}

// missingOr describes a value that is not valid: missing, empty, or its type.
func missingOr(v any) string {
	switch v {
	case nil:
		return "missing"
	case "":
		return "empty"
	}
	return typeName(v)
}

// checkStrings returns an error if labels or annotations are not strings: a label "replicas: 1" without quotes is a number.
func checkStrings(path string, v any) error {
	m, ok := v.(map[string]any)
	if v != nil && !ok {
		return fmt.Errorf("%s is %s, want an object", path, typeName(v))
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if _, ok := m[key].(string); !ok && m[key] != nil {
			return fmt.Errorf("%s[%q] is %s, want a string: put it in quotes", path, key, typeName(m[key]))
		}
	}
	return nil
}

// place sets the namespace of a child to that of the parent if it has none. It returns an error if the garbage collector
// would delete the child at once, because an owner must be in the same namespace or cluster-scoped.
func place(o *object.Object, req *Request) error {
	home := req.Parent.GetNamespace()
	namespaced, declared := req.Expect.Kinds[o.GroupVersionKind()]
	if declared && !namespaced {
		if home != "" {
			return fmt.Errorf("it is cluster-scoped and its parent %s is not: the garbage collector would delete it, since a cluster-scoped object cannot have an owner in a namespace", object.Describe(req.Parent))
		}
		if o.GetNamespace() != "" {
			return fmt.Errorf("it is cluster-scoped and cannot have metadata.namespace %q", o.GetNamespace())
		}
		return nil
	}
	if home != "" && o.GetNamespace() == "" {
		o.SetNamespace(home)
	}
	if home != "" && o.GetNamespace() != home {
		return fmt.Errorf("metadata.namespace is %q, but its parent is in %q: the garbage collector would delete it, since an owner must be in the same namespace", o.GetNamespace(), home)
	}
	if declared && home == "" && o.GetNamespace() == "" {
		return fmt.Errorf("metadata.namespace is missing: its parent %s is cluster-scoped and has no namespace", object.Describe(req.Parent))
	}
	return nil
}

// label adds the labels and annotations that every child gets, and checks that the parent's selector matches.
func label(o *object.Object, expect Expect) error {
	metadata := o.Object["metadata"].(map[string]any)
	add(metadata, "annotations", expect.Annotations)
	have := labelSet(add(metadata, "labels", expect.Labels))
	if expect.Selector != nil && !expect.Selector.Matches(have) {
		return fmt.Errorf("its labels %v do not match the parent's selector %q: its parent would not recognise it; add the labels, or set generateSelector on the controller", map[string]string(have), expect.Selector)
	}
	return nil
}

// add adds values to a map in metadata. It creates the map if there is none and there are values.
func add(metadata map[string]any, field string, values map[string]string) map[string]any {
	all, _ := metadata[field].(map[string]any)
	if all == nil && len(values) > 0 {
		all = map[string]any{}
		metadata[field] = all
	}
	for key, value := range values {
		all[key] = value
	}
	return all
}

// labelSet returns labels for a selector. It ignores a label that is null; GetLabels would return no labels then.
func labelSet(all map[string]any) labels.Set {
	have := labels.Set{}
	for key, value := range all {
		if text, ok := value.(string); ok {
			have[key] = text
		}
	}
	return have
}

// undeclared returns a text if the kind of a child is not declared, and "" otherwise.
func undeclared(o *object.Object, req *Request) string {
	kind, kinds := o.GroupVersionKind(), req.Expect.Kinds
	if _, declared := kinds[kind]; declared {
		return ""
	}
	names := make([]string, 0, len(kinds))
	for k := range kinds {
		names = append(names, groupName(k))
	}
	slices.Sort(names)
	return fmt.Sprintf("%s is not among the controller's %s (%s)", groupName(kind), req.Shape.rules(), strings.Join(names, ", "))
}

// describe returns the kind and name of a child as far as they are strings, such as ` (Pod "web-0")`.
func describe(item any) string {
	m, _ := item.(map[string]any)
	kind, _ := m["kind"].(string)
	metadata, _ := m["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	switch {
	case kind == "" && name == "":
		return ""
	case name == "":
		return " (" + kind + ")"
	case kind == "":
		return fmt.Sprintf(" (%q)", name)
	}
	return fmt.Sprintf(" (%s %q)", kind, name)
}

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

// desired turns the children of an answer into a set that can be planned with: each is checked, gets its parent's
// namespace when it has none, and the generated selector's label. What is merely odd in a webhook's answer becomes
// a warning.
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
				return nil, nil, fmt.Errorf("%s: it is there already, as %s[%d]", name, field, before)
			}
			warnings = append(warnings, fmt.Sprintf("%s: it is there already, as %s[%d]; the last one counts", name, field, before))
		}
		first[id] = i
		set.Put(o)
	}
	return set, warnings, nil
}

// newChild checks one child and completes it, or a copy of it.
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

// checkShape looks at the fields that every object needs, so that nothing later trips over their types.
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

// missingOr names what is there instead of what is wanted.
func missingOr(v any) string {
	switch v {
	case nil:
		return "missing"
	case "":
		return "empty"
	}
	return typeName(v)
}

// checkStrings refuses labels and annotations that are no strings: a label "replicas: 1" without quotes is a number.
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

// place gives a child its parent's namespace when it has none, and refuses one that the garbage collector would
// remove at once because its owner is out of its reach.
func place(o *object.Object, req *Request) error {
	home := req.Parent.GetNamespace()
	namespaced, declared := req.Expect.Kinds[o.GroupVersionKind()]
	if declared && !namespaced {
		if home != "" {
			return fmt.Errorf("it is cluster-scoped and its parent %s is not: the garbage collector would delete it, since an owner must be in reach", object.Describe(req.Parent))
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
		return fmt.Errorf("metadata.namespace is missing: its parent %s is cluster-scoped and has none to give", object.Describe(req.Parent))
	}
	return nil
}

// label adds the labels and annotations that every child gets and checks that its parent will recognise it.
func label(o *object.Object, expect Expect) error {
	metadata := o.Object["metadata"].(map[string]any)
	add(metadata, "annotations", expect.Annotations)
	have := labelSet(add(metadata, "labels", expect.Labels))
	if expect.Selector != nil && !expect.Selector.Matches(have) {
		return fmt.Errorf("its labels %v do not match the parent's selector %q: its parent would not recognise it; add the labels, or set generateSelector on the controller", map[string]string(have), expect.Selector)
	}
	return nil
}

// add puts values into a map of metadata, which it makes when it is missing and needed.
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

// labelSet gives labels as selectors want them. A null one is none; for GetLabels, there are none at all beside it.
func labelSet(all map[string]any) labels.Set {
	have := labels.Set{}
	for key, value := range all {
		if text, ok := value.(string); ok {
			have[key] = text
		}
	}
	return have
}

// undeclared says that a child's kind is not among the declared ones, or "".
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

// describe names a child as far as it can be named: ` (Pod "web-0")`.
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

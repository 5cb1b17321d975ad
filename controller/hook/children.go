package hook

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/kinds"
	"metascript/controller/object"
)

// desire sets the children of the response to those in a list. Each child is checked, and gets the namespace of the
// parent if it has none, and the labels and annotations of req.Expect. A null is left out, with a warning. In a response that is not
// checked strictly, some mistakes are only warnings.
func (resp *Response) desire(items []any, req *Request, how decodeOptions) error {
	resp.Children, resp.Indexes = &object.Set{}, make(map[object.Ref]int, len(items))
	field := req.Shape.children()
	for i, item := range items {
		name := func() string { return fmt.Sprintf("%s[%d]%s", field, i, describe(item)) }
		if item == nil {
			resp.Warnings = append(resp.Warnings, within(fmt.Errorf("%s: it is null, and is left out", name()), field, i))
			continue
		}
		o, err := newChild(item, req, how)
		if err != nil {
			return within(fmt.Errorf("%s: %w", name(), err), field, i)
		}
		if found := how.absent.Object(o.Map()); found != nil {
			if how.strict && how.absent.Certain() {
				return within(fmt.Errorf("%s: %w", name(), absentError(found)), field, i)
			}
			resp.Warnings = append(resp.Warnings, within(fmt.Errorf("%s: %w", name(), absentError(found)), field, i))
		}
		if object.IsPrivate(o) {
			return within(fmt.Errorf("%s: the type %s is that of Secrets of the server itself", name(), object.PrivateSecret), field, i, "type")
		}
		if warning, wrong := undeclared(o, req); warning != "" {
			if how.strict {
				return within(fmt.Errorf("%s: %s", name(), warning), field, i, wrong)
			}
			resp.Warnings = append(resp.Warnings, within(fmt.Errorf("%s: %s; it is created, but not watched, updated or deleted", name(), warning), field, i, wrong))
		}
		id := object.RefOf(o)
		if before, seen := resp.Indexes[id]; seen {
			if how.strict {
				return within(fmt.Errorf("%s: it is in the list already, as %s[%d]", name(), field, before), field, i, "metadata", "name")
			}
			resp.Warnings = append(resp.Warnings, within(fmt.Errorf("%s: it is in the list already, as %s[%d]; the last one is used", name(), field, before), field, i, "metadata", "name"))
		}
		resp.Indexes[id] = i
		resp.Children.Put(o)
	}
	return resp.checkReplaced(req)
}

// checkReplaced returns an error if a child of an undeclared kind has the place of an existing one: only the case of the kind or the apiVersion
// differs, and the answer does not have the existing one, which would be deleted. The group may differ if it is one of Kubernetes itself that
// does not have the kind, as in apiVersion: v1 of a Deployment.
func (resp *Response) checkReplaced(req *Request) error {
	for o := range resp.Children.All() {
		kind := o.GroupVersionKind()
		_, exists := kinds.Kubernetes().ByKind(kind)
		anyGroup := !exists && !strings.Contains(kind.Group, ".")
		for declared := range req.Expect.Kinds {
			if declared == kind || declared.Group != kind.Group && !anyGroup || !strings.EqualFold(declared.Kind, kind.Kind) || req.Children == nil {
				continue
			}
			have := req.Children.Get(declared, object.KeyOf(o))
			if have == nil || object.Deleting(have) || resp.Children.Get(declared, object.KeyOf(o)) != nil {
				continue
			}
			warning, wrong := undeclared(o, req)
			if warning == "" {
				continue
			}
			field, i := req.Shape.children(), resp.Indexes[object.RefOf(o)]
			return within(fmt.Errorf("%s[%d]%s: %s; the %s of this name, which the answer does not have, would be deleted", field, i, describe(o.Map()), warning, groupName(declared)), field, i, wrong)
		}
	}
	return nil
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
	o := object.New(m)
	if !how.owned {
		o = object.Copy(o)
	}
	if err := place(o, req); err != nil {
		return nil, err
	}
	if o.GroupVersionKind().GroupKind() == req.Parent.GroupVersionKind().GroupKind() && object.KeyOf(o) == object.KeyOf(req.Parent) {
		return nil, within(errors.New("it is the parent itself, which cannot be its own child: give it another name"), "metadata", "name")
	}
	return o, label(o, req.Expect)
}

// checkShape checks the types of the fields that every object has.
func checkShape(m map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		if text, ok := m[field].(string); !ok || text == "" {
			return within(fmt.Errorf("%s is %s, want a string such as %s", field, missingOr(m[field]), map[string]string{"apiVersion": `"v1"`, "kind": `"Pod"`}[field]), field)
		}
	}
	if _, err := schema.ParseGroupVersion(m["apiVersion"].(string)); err != nil {
		return within(fmt.Errorf("apiVersion is %q, want one such as \"v1\" or \"apps/v1\"", m["apiVersion"]), "apiVersion")
	}
	metadata, ok := m["metadata"].(map[string]any)
	if !ok {
		return within(fmt.Errorf("metadata is %s, want an object with a name", missingOr(m["metadata"])), "metadata")
	}
	if name, ok := metadata["name"].(string); !ok || name == "" {
		return within(fmt.Errorf("metadata.name is %s: a child needs a name, so that it is recognized again", missingOr(metadata["name"])), "metadata", "name")
	}
	if namespace, found := metadata["namespace"]; found && namespace != nil {
		if _, ok := namespace.(string); !ok {
			return within(fmt.Errorf("metadata.namespace is %s, want a string", typeName(namespace)), "metadata", "namespace")
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if err := checkStrings("metadata."+field, metadata[field]); err != nil {
			return within(err, "metadata", field)
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
			return within(fmt.Errorf("%s[%q] is %s, want a string: put it in quotes", path, key, typeName(m[key])), key)
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
			return within(fmt.Errorf("it is cluster-scoped and cannot have metadata.namespace %q", o.GetNamespace()), "metadata", "namespace")
		}
		return nil
	}
	if home != "" && o.GetNamespace() == "" {
		o.SetNamespace(home)
	}
	if home != "" && o.GetNamespace() != home {
		return within(fmt.Errorf("metadata.namespace is %q, but its parent is in %q: the garbage collector would delete it, since an owner must be in the same namespace", o.GetNamespace(), home), "metadata", "namespace")
	}
	if declared && home == "" && o.GetNamespace() == "" {
		return fmt.Errorf("metadata.namespace is missing: its parent %s is cluster-scoped and has no namespace", object.Describe(req.Parent))
	}
	return nil
}

// label adds the labels and annotations that every child gets, and checks that the parent's selector matches.
func label(o *object.Object, expect Expect) error {
	metadata := o.Map()["metadata"].(map[string]any)
	add(metadata, "annotations", expect.Annotations)
	have := labelSet(add(metadata, "labels", expect.Labels))
	if expect.Selector != nil && !expect.Selector.Matches(have) {
		return within(fmt.Errorf("its labels %q do not match the parent's selector %q: its parent would not recognize it; add the labels, or set generateSelector on the controller", have, expect.Selector), "metadata", "labels")
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

// undeclared returns a text if the kind of a child is not declared, and "" otherwise. It says what was probably meant, or how to
// declare the kind. wrong is the field that is probably wrong.
func undeclared(o *object.Object, req *Request) (text, wrong string) {
	kind, declared := o.GroupVersionKind(), req.Expect.Kinds
	if _, found := declared[kind]; found {
		return "", ""
	}
	wrong = "kind"
	for k := range declared {
		if k.Kind == kind.Kind {
			wrong = "apiVersion"
		}
	}
	names := make([]string, 0, len(declared))
	for k := range declared {
		names = append(names, groupName(k))
	}
	slices.Sort(names)
	field := req.Shape.rules()
	text = fmt.Sprintf("%s is not among the controller's %s (%s): ", groupName(kind), field, strings.Join(names, ", "))
	r, exists := kinds.Kubernetes().ByKind(kind)
	if hint := declaredKinds(req).KindHint(kind); hint != "" && !exists {
		return text + hint, wrong
	}
	if hint := kinds.Kubernetes().KindHint(kind); hint != "" && !exists {
		return text + hint, wrong
	}
	if !exists { // a custom resource, whose plural name can only be guessed
		guess, _ := meta.UnsafeGuessKindToResource(kind)
		r = kinds.Resource{APIVersion: kind.GroupVersion().String(), Plural: guess.Resource}
	}
	return fmt.Sprintf("%sto allow it, add to %s: %s", text, field, r.Rule()), wrong
}

// declaredKinds returns the kinds that a request declares, without their plural names.
func declaredKinds(req *Request) kinds.Table {
	var table kinds.Table
	for kind := range req.Expect.Kinds {
		table = append(table, kinds.Resource{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind})
	}
	slices.SortFunc(table, func(a, b kinds.Resource) int { return strings.Compare(a.GVK().String(), b.GVK().String()) })
	return table
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

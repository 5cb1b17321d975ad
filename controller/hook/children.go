package hook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
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
// checked strictly, some mistakes are only warnings. It ends when ctx is done.
func (resp *Response) desire(ctx context.Context, items []any, req *Request, how decodeOptions) error {
	resp.Children, resp.Indexes = &object.Set{}, make(map[object.Ref]int, len(items))
	for i, item := range items {
		runtime.Gosched() // thousands of children take long
		if err := ctx.Err(); err != nil {
			return err
		}
		at := childAt{req.Shape.children(), i, item}
		if item == nil {
			resp.warn(func() error { return at.fault(errors.New("it is null, and is left out")) })
			continue
		}
		o, err := newChild(item, req, how)
		if err != nil {
			return at.fault(err)
		}
		if err := resp.checkChild(o, at, req, how); err != nil {
			return err
		}
		resp.Indexes[object.RefOf(o)] = i
		resp.Children.Put(o)
	}
	return resp.checkReplaced(req)
}

// A childAt is an item of the list of children.
type childAt struct {
	field string
	index int
	item  any
}

// fault returns an error about the item, or about a field of it.
func (p childAt) fault(err error, field ...any) error {
	return within(fmt.Errorf("%s[%d]%s: %w", p.field, p.index, describe(p.item), err), append([]any{p.field, p.index}, field...)...)
}

// checkChild returns an error for a mistake in a child, or adds a warning if the response is not checked strictly.
func (resp *Response) checkChild(o *object.Object, at childAt, req *Request, how decodeOptions) error {
	if found := how.absent.Object(o.Map()); found != nil {
		if how.strict && how.absent.Certain() {
			return at.fault(absentError(found))
		}
		resp.warn(func() error { return at.fault(absentError(found)) })
	}
	if object.IsPrivate(o) {
		return at.fault(fmt.Errorf("the type %s is that of Secrets of the server itself", object.PrivateSecret), "type")
	}
	if _, declared := req.Expect.Kinds[o.GroupVersionKind()]; !declared {
		if how.strict {
			warning, wrong := undeclared(o, req)
			return at.fault(errors.New(warning), wrong)
		}
		resp.warn(func() error {
			warning, wrong := undeclared(o, req)
			return at.fault(fmt.Errorf("%s; it is created, but not watched, updated or deleted", warning), wrong)
		})
	}
	if before, seen := resp.Indexes[object.RefOf(o)]; seen {
		if how.strict {
			return at.fault(fmt.Errorf("it is in the list already, as %s[%d]", at.field, before), "metadata", "name")
		}
		resp.warn(func() error {
			return at.fault(fmt.Errorf("it is in the list already, as %s[%d]; the last one is used", at.field, before), "metadata", "name")
		})
	}
	return nil
}

// checkReplaced returns an error if a child of an undeclared kind has the place of an existing one: only the case of the kind or the apiVersion
// differs, and the answer does not have the existing one, which would be deleted. The group may differ if it is one of Kubernetes itself that
// does not have the kind, as in apiVersion: v1 of a Deployment.
func (resp *Response) checkReplaced(req *Request) error {
	if req.observed() == 0 {
		return nil
	}
	for o := range resp.Children.All() {
		kind := o.GroupVersionKind()
		if _, declared := req.Expect.Kinds[kind]; declared {
			continue
		}
		for declared := range req.Expect.Kinds {
			if !strings.EqualFold(declared.Kind, kind.Kind) || declared.Group != kind.Group && !anyGroup(kind) {
				continue
			}
			have := req.Children.Get(declared, object.KeyOf(o))
			if have == nil || object.Deleting(have) || resp.Children.Get(declared, object.KeyOf(o)) != nil {
				continue
			}
			warning, wrong := undeclared(o, req)
			at := childAt{req.Shape.children(), resp.Indexes[object.RefOf(o)], o.Map()}
			return at.fault(fmt.Errorf("%s; the %s of this name, which the answer does not have, would be deleted", warning, groupName(declared)), wrong)
		}
	}
	return nil
}

// anyGroup reports whether a kind that is not declared may be meant as one of the same name in any group.
func anyGroup(kind object.Kind) bool {
	_, exists := kinds.Kubernetes().ByKind(kind)
	return !exists && !strings.Contains(kind.Group, ".")
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

// undeclared says about a child whose kind is not declared what was probably meant, or how to declare the kind. wrong is the field that is
// probably wrong.
func undeclared(o *object.Object, req *Request) (text, wrong string) {
	kind, declared := o.GroupVersionKind(), req.Expect.Kinds
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

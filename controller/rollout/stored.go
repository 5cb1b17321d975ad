package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// ScriptAnnotation holds the digest of a revision's script.
const ScriptAnnotation = "metacontroller.k8s.io/script-digest"

// Decode reads a ControllerRevision. One that cannot be read is an error that says what is wrong and what to do.
func Decode(o *object.Object) (Revision, error) {
	r := Revision{Name: o.GetName(), Script: o.GetAnnotations()[ScriptAnnotation], Children: Children{}, stored: o}
	var ok bool
	if r.Patch, ok = o.Object["parentPatch"].(map[string]any); !ok {
		return r, damaged(o, "parentPatch is %s, want an object", typeName(o.Object["parentPatch"]))
	}
	list, ok := o.Object["children"].([]any)
	if !ok && o.Object["children"] != nil {
		return r, damaged(o, "children is %s, want a list", typeName(o.Object["children"]))
	}
	for i, item := range list {
		if err := r.Children.read(item); err != nil {
			return r, damaged(o, "children[%d]%w", i, err)
		}
	}
	return r, nil
}

// damaged says what is wrong with o, and that nothing is lost with it: a child without a revision stays as it is until
// it is its turn.
func damaged(o *object.Object, format string, args ...any) error {
	return fmt.Errorf("%s cannot be used: %w; mend it, or delete it: its children then move to the latest revision one by one", object.Describe(o), fmt.Errorf(format, args...))
}

// read adds one entry of the list of children, which names those of one kind.
func (c Children) read(item any) error {
	entry, ok := item.(map[string]any)
	if !ok {
		return fmt.Errorf(" is %s, want an object", typeName(item))
	}
	group, isText := entry["apiGroup"].(string)
	if !isText && entry["apiGroup"] != nil {
		return fmt.Errorf(".apiGroup is %s, want a string", typeName(entry["apiGroup"]))
	}
	kind, ok := entry["kind"].(string)
	if !ok || kind == "" {
		return fmt.Errorf(".kind is %s, want a kind such as \"Pod\"", typeName(entry["kind"]))
	}
	names, ok := entry["names"].([]any)
	if !ok && entry["names"] != nil {
		return fmt.Errorf(".names is %s, want a list", typeName(entry["names"]))
	}
	for i, value := range names {
		name, ok := value.(string)
		if !ok || name == "" {
			return fmt.Errorf(".names[%d] is %s, want a name", i, typeName(value))
		}
		// A name has no slash: some versions of Metacontroller know children as namespace/name.
		name = name[strings.LastIndex(name, "/")+1:]
		c[Child{schema.GroupKind{Group: group, Kind: kind}, name}] = true
	}
	return nil
}

// Writes gives the operations that store the step, in an order that leaves no child without a revision when they are
// interrupted: first the latest revision, which alone gains children. A new ControllerRevision is blank with a name
// and content.
func (s *Step) Writes(blank *object.Object) []plan.Op {
	var ops []plan.Op
	for _, r := range append([]Revision{s.Latest}, s.Keep...) {
		if r.stored == nil {
			ops = append(ops, plan.Op{Verb: plan.Create, Object: r.encode(blank), Why: "a new revision of the parent"})
		} else if before, _ := Decode(r.stored); !maps.Equal(before.Children, r.Children) {
			ops = append(ops, plan.Op{Verb: plan.Update, Object: r.encode(r.stored), Why: "children moved"})
		}
	}
	for _, r := range s.Drop {
		ops = append(ops, plan.Op{Verb: plan.Delete, Object: r.stored, Why: "no child is at this revision"})
	}
	return ops
}

// encode is a copy of the ControllerRevision o that says r. Entries and names are sorted.
func (r *Revision) encode(o *object.Object) *object.Object {
	o = object.Copy(o)
	o.SetName(r.Name)
	o.Object["parentPatch"] = object.CopyValue(r.Patch)
	delete(o.Object, "children")
	if len(r.Children) > 0 {
		o.Object["children"] = r.Children.entries()
	}
	if annotations := o.GetAnnotations(); r.Script != "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[ScriptAnnotation] = r.Script
		o.SetAnnotations(annotations)
	}
	return o
}

func (c Children) entries() []any {
	var entries []any
	var last schema.GroupKind
	for _, child := range slices.SortedFunc(maps.Keys(c), Child.compare) {
		if len(entries) == 0 || child.GroupKind != last {
			last = child.GroupKind
			entries = append(entries, map[string]any{"apiGroup": last.Group, "kind": last.Kind, "names": []any{}})
		}
		entry := entries[len(entries)-1].(map[string]any)
		entry["names"] = append(entry["names"].([]any), child.Name)
	}
	return entries
}

// typeName names the type of a JSON value for people.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "missing"
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(v)
}

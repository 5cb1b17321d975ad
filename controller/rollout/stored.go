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

// ScriptAnnotation is the annotation with the digest of a revision's script.
const ScriptAnnotation = "metacontroller.k8s.io/script-digest"

// Decode decodes a ControllerRevision. The error says what is wrong, and what to do.
func Decode(o *object.Object) (Revision, error) {
	r := Revision{Name: o.GetName(), Script: o.Annotation(ScriptAnnotation), Children: Children{}, stored: o}
	var ok bool
	patch, _ := o.Field("parentPatch")
	if r.Patch, ok = patch.(map[string]any); !ok {
		return r, damaged(o, "parentPatch is %s, want an object", shown(patch))
	}
	children, _ := o.Field("children")
	list, ok := children.([]any)
	if !ok && children != nil {
		return r, damaged(o, "children is %s, want a list", shown(children))
	}
	for i, item := range list {
		if err := r.Children.read(item); err != nil {
			return r, damaged(o, "children[%d]%w", i, err)
		}
	}
	return r, nil
}

// damaged returns the error for a ControllerRevision that cannot be used. It may be deleted: a child without a revision
// stays as it is until it moves to the latest one.
func damaged(o *object.Object, format string, args ...any) error {
	return fmt.Errorf("%s cannot be used: %w; correct it, or delete it: its children then move to the latest revision one by one", object.Describe(o), fmt.Errorf(format, args...))
}

// read adds one entry of the list of children, which has the names of one kind.
func (c Children) read(item any) error {
	entry, ok := item.(map[string]any)
	if !ok {
		return fmt.Errorf(" is %s, want an object", shown(item))
	}
	group, isText := entry["apiGroup"].(string)
	if !isText && entry["apiGroup"] != nil {
		return fmt.Errorf(".apiGroup is %s, want a string", shown(entry["apiGroup"]))
	}
	kind, ok := entry["kind"].(string)
	if !ok || kind == "" {
		return fmt.Errorf(".kind is %s, want a kind such as \"Pod\"", shown(entry["kind"]))
	}
	names, ok := entry["names"].([]any)
	if !ok && entry["names"] != nil {
		return fmt.Errorf(".names is %s, want a list", shown(entry["names"]))
	}
	for i, value := range names {
		name, ok := value.(string)
		if !ok || name == "" {
			return fmt.Errorf(".names[%d] is %s, want a name", i, shown(value))
		}
		// A name has no slash: some versions of Metacontroller know children as namespace/name.
		name = name[strings.LastIndex(name, "/")+1:]
		c[Child{schema.GroupKind{Group: group, Kind: kind}, name}] = true
	}
	return nil
}

// Writes returns the operations that store the step, in an order in which each child always has a revision: first the latest
// revision, since only it gains children. The latest is also written, unchanged, if another revision loses a child that was
// in both: if it was changed meanwhile, the API server refuses the write, and the following ones are not done. A new
// ControllerRevision is blank with a name and content.
func (s *Step) Writes(blank *object.Object) []plan.Op {
	var ops []plan.Op
	lost := false
	for _, r := range s.Keep {
		lost = lost || r.lost(s.Latest.Children)
		if r.changed() {
			ops = append(ops, plan.Op{Verb: plan.Update, Object: r.encode(r.stored), Why: "children moved"})
		}
	}
	for _, r := range s.Drop {
		lost = lost || r.lost(s.Latest.Children)
		ops = append(ops, plan.Op{Verb: plan.Delete, Object: r.stored, Why: "no child is at this revision"})
	}
	switch latest := s.Latest; {
	case latest.stored == nil:
		ops = slices.Insert(ops, 0, plan.Op{Verb: plan.Create, Object: latest.encode(blank), Why: "a new revision of the parent"})
	case lost || latest.changed():
		ops = slices.Insert(ops, 0, plan.Op{Verb: plan.Update, Object: latest.encode(latest.stored), Why: "children moved"})
	}
	return ops
}

// before returns the children that are stored.
func (r *Revision) before() Children {
	before, _ := Decode(r.stored) // it was decoded before without an error
	return before.Children
}

func (r *Revision) changed() bool { return !maps.Equal(r.before(), r.Children) }

// lost reports whether the revision had one of these children, and does not have it any more.
func (r *Revision) lost(children Children) bool {
	for c := range r.before() {
		if children[c] && !r.Children[c] {
			return true
		}
	}
	return false
}

// encode returns a copy of the ControllerRevision o with the content of r. Entries and names are sorted.
func (r *Revision) encode(o *object.Object) *object.Object {
	o = object.Copy(o)
	o.SetName(r.Name)
	o.Map()["parentPatch"] = object.CopyValue(r.Patch)
	delete(o.Map(), "children")
	if len(r.Children) > 0 {
		o.Map()["children"] = r.Children.entries()
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

// shown returns a value for an error: a scalar as it is, and otherwise its type.
func shown(v any) string {
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

// MayBeOurChange reports whether two versions of a ControllerRevision can be read and differ at most in what we change.
func MayBeOurChange(old, current *object.Object) bool {
	before, oldErr := Decode(old)
	after, currentErr := Decode(current)
	return oldErr == nil && currentErr == nil && before.Script == after.Script && plan.Difference(before.Patch, after.Patch) == ""
}

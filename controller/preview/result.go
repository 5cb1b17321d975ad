package preview

import (
	"reflect"
	"slices"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
)

// An Effect is what a write does.
type Effect string

// The effects.
const (
	Create       Effect = "create"
	Update       Effect = "update"
	Recreate     Effect = "recreate" // delete a child that is desired, which is then created again
	Delete       Effect = "delete"   // delete a child that is not desired
	UpdateParent Effect = "update parent"
	UpdateStatus Effect = "update status"
)

// A Skip is why nothing is done for a parent.
type Skip string

// The reasons.
const (
	NotReadable Skip = "the account of the controller may not read it" // nothing may show that it exists
	NotSelected Skip = "it is not reconciled"
	Paused      Skip = "it is paused"
	NoHook      Skip = "there is no hook to call for it"
)

// A Write is a write that a version would do for a parent.
type Write struct {
	plan.Op
	Effect Effect
	Field  string         // the field that differs, such as "spec.image"; "" if there is none
	Wanted *object.Object // the child as the hooks return it; nil for a Delete and for the parent

	// Rolls says that the child moves to the latest revision of the parent, which takes place in the course of a rollout.
	Rolls bool

	// Restarts is how many Pods restart because of it; one for an object of which it is not known how many it has.
	Restarts int

	// Doubtful says that only the API server can tell whether the write changes something, or whether it does it at all: a value may
	// only be written in another form, such as 1000m and 1.
	Doubtful bool
}

// A Result is what a version would do for one parent. Its objects are shared and must not be changed.
type Result struct {
	Parent     object.Ref
	Deleting   bool           // the parent is being deleted, and with it its children
	Skipped    Skip           // why nothing is done; "" if something may be
	Observed   *object.Set    // the children; nil if no hook was called
	Response   *hook.Response // nil if no hook was called, or if it failed
	Writes     []Write        // without adoptions and releases
	Suppressed []plan.Op

	// Err is why the hooks failed, or why some children could not be planned; Writes has the others then. Its text is redacted.
	Err error

	// Redactor has the Secrets that must not be shown of the objects and of texts made of them.
	Redactor *redact.Redactor
}

func (r *Result) add(w Write) { r.Writes = append(r.Writes, w) }

// Without returns a copy of r without the writes that other, which is about the same parent, has too: with the same content, or to
// remove the same child.
func (r *Result) Without(other *Result) *Result {
	copied, others := *r, map[object.Ref][]Write{}
	for _, o := range other.Writes {
		ref := object.RefOf(o.Object)
		others[ref] = append(others[ref], o)
	}
	copied.Writes = slices.DeleteFunc(slices.Clone(r.Writes), func(w Write) bool {
		return slices.ContainsFunc(others[object.RefOf(w.Object)], func(o Write) bool { return sameWrite(r, w, other, o) })
	})
	return &copied
}

// sameWrite reports whether two writes of two Results to one object have the same effect.
func sameWrite(r *Result, w Write, other *Result, o Write) bool {
	switch {
	case w.Effect != o.Effect:
		return false
	case w.Effect == UpdateStatus: // without the times that are filled in
		return reflect.DeepEqual(r.Response.Status, other.Response.Status)
	case w.Wanted != nil && o.Wanted != nil:
		return plan.ObjectDifference(w.Wanted, o.Wanted) == ""
	case w.Effect == Delete:
		return true
	}
	return plan.ObjectDifference(w.Object, o.Object) == ""
}

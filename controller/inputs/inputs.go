// Package inputs tells which objects in the input of a hook somebody else has changed between two calls. "Somebody else" is everybody but
// the reconciles of the parent that the hook is called for.
//
// An object that a reconcile has written is its own change as long as it has the resourceVersion of that write. All that follows after a
// deletion is a change of its own too, such as that the object is gone. A change in what the script has not read is no change; of a
// webhook, which reads are not known, each new resourceVersion is one.
package inputs

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine/packed"
)

// A Watch compares the inputs of the calls for one parent. The zero value knows no call. It is not safe for concurrent use.
type Watch struct {
	last    map[identity]input   // of the last call; nil if there was none
	ours    map[types.UID]string // the resourceVersion with which the API server stored our write since; "" after a deletion
	changes Changes
}

// Changes say what somebody else has changed between the two last calls.
type Changes struct {
	Ours   bool // an object that a reconcile has written between them too: it may be what follows from the write
	Others bool // another object
}

// An identity is of an object in each of its versions. An object may be there in more than one API version.
type identity struct {
	kind object.Kind
	uid  types.UID
}

// An input is an object as a hook got it, with what was read of it.
type input struct {
	*object.Object
	reads packed.Reads
}

// Called compares the objects that a hook gets now with those of the call before.
func (w *Watch) Called(objects []*object.Object) {
	now := make(map[identity]input, len(objects))
	known := w.last != nil
	w.changes = Changes{}
	for _, o := range objects {
		id := identity{o.GroupVersionKind(), o.GetUID()}
		now[id] = input{o, packed.Everything}
		before, there := w.last[id]
		if known && !w.isOurs(o) && !(there && before.holds(o)) {
			w.note(o)
		}
	}
	for id, before := range w.last {
		if _, there := now[id]; !there && !w.deleted(id.uid) {
			w.note(before.Object)
		}
	}
	w.last, w.ours = now, nil
}

func (w *Watch) note(o *object.Object) {
	if _, wrote := w.ours[o.GetUID()]; wrote {
		w.changes.Ours = true
	} else {
		w.changes.Others = true
	}
}

// isOurs reports whether o is as our last write has left it.
func (w *Watch) isOurs(o *object.Object) bool {
	version, wrote := w.ours[o.GetUID()]
	return wrote && (version == "" || version == o.GetResourceVersion())
}

func (w *Watch) deleted(uid types.UID) bool {
	version, wrote := w.ours[uid]
	return wrote && version == ""
}

// holds reports whether all that was read of the object is the same in now.
func (i input) holds(now *object.Object) bool {
	if i.GetResourceVersion() == now.GetResourceVersion() {
		return true
	}
	if i.Packed().IsZero() || now.Packed().IsZero() {
		return false
	}
	_, same := i.reads.Hold(i.Packed(), now.Packed())
	return same
}

// Read sets what the hook has read of the objects of the last call. A nil Recorder does not know it: all of them.
func (w *Watch) Read(r *object.Recorder) {
	if r == nil || r.Incomplete || len(r.Parents) == 0 {
		return
	}
	for id, i := range w.last {
		i.reads = packed.Reads{}
		w.last[id] = i
	}
	for _, read := range slices.Concat(r.Parents, r.Children, r.Related) {
		id := identity{read.GroupVersionKind(), read.GetUID()}
		i, there := w.last[id]
		switch {
		case !there:
		case i.reads.None():
			w.last[id] = input{i.Object, read.Reads()}
		default: // it is there twice, such as a child that is a related object too
			w.last[id] = input{i.Object, packed.Everything}
		}
	}
}

// Wrote notes that the API server has stored a write since the last call.
func (w *Watch) Wrote(op plan.Op, stored *object.Object) {
	if w.last == nil || stored == nil || !op.Verb.Stores() {
		return
	}
	if w.ours == nil {
		w.ours = map[types.UID]string{}
	}
	if op.Verb == plan.Delete || w.deleted(stored.GetUID()) {
		w.ours[stored.GetUID()] = ""
	} else {
		w.ours[stored.GetUID()] = stored.GetResourceVersion()
	}
}

// Changes returns what somebody else has changed between the two last calls.
func (w *Watch) Changes() Changes { return w.changes }

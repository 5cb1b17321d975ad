package changeplan

import (
	"slices"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/redact"
)

// A Write is what a plan does to one object: one write of a dry run, or several that belong together.
type Write struct {
	Action        Action
	Object        object.Ref
	Before, After *object.Object // as the API server has it and would store it; nil: it does not exist, or is not known
	Why           string
	Fields        []string // the fields that differ, if Before or After is not known
	Rolling       Rolling
	Live          Action // see Change
	NoRestart     bool   // the live version restarts the same
	Redactor      *redact.Redactor

	also *redact.Redactor // of the live version, if Before is its result
}

// text returns a text without the values of Secrets.
func (w *Write) text(text string) string { return w.also.Text(w.Redactor.Text(text)) }

// A Reconcile collects what a server reports about one reconcile of a parent in a dry run. The zero value has nothing. It must not be
// used concurrently.
type Reconcile struct {
	writes  []*Write
	found   map[target]*Write
	stored  map[object.Ref]*object.Object // what the writes before would have stored
	tried   map[object.Ref]observe.Write  // dry runs of what may follow a deletion
	rolling []observe.Write
}

// A target is what a Write is done to. Several writes of the same target are one.
type target struct {
	object object.Ref
	action Action
}

// Wrote adds a write of the reconcile of parent.
func (r *Reconcile) Wrote(parent object.Ref, w observe.Write) {
	ref := object.RefOf(w.Object)
	if !w.Verb.Stores() {
		r.try(ref, w)
		return
	}
	if w.Err != nil {
		return // the reconcile fails too, or the error does not matter
	}
	before := w.Before
	if stored := r.stored[ref]; stored != nil {
		before = stored
	}
	write := &Write{Object: ref, Before: before, After: w.Stored, Why: w.Why, Redactor: w.Redactor}
	write.Action = r.actionOf(parent, write, w)
	switch write.Action {
	case Delete:
		write.After = nil
	case Recreate:
		r.setResult(write, w)
	case Create:
		write.Before = nil
	case Status:
		write.Before, write.After = onlyStatus(w.Before), onlyStatus(w.Stored) // a dry run did not store what was written before
	}
	if write.Action != Status {
		if r.stored == nil {
			r.stored = map[object.Ref]*object.Object{}
		}
		r.stored[ref] = w.Stored
	}
	r.add(write)
}

// try notes a write that is always a dry run, also of a server that is not. That of a creation, which comes last, does not replace that of
// an apply, whose result is shown.
func (r *Reconcile) try(ref object.Ref, w observe.Write) {
	if r.tried[ref].Verb == plan.DryRun && w.Verb == plan.DryCreate {
		return
	}
	if r.tried == nil {
		r.tried = map[object.Ref]observe.Write{}
	}
	r.tried[ref] = w
}

// actionOf returns the action of a write.
func (r *Reconcile) actionOf(parent object.Ref, write *Write, w observe.Write) Action {
	_, tried := r.tried[write.Object]
	switch {
	case write.Object.Kind.Kind == v1alpha1.KindControllerRevision && write.Object.Kind.Group == v1alpha1.GroupVersion.Group:
		return Revision
	case w.Verb == plan.UpdateStatus:
		return Status
	case write.Object == parent && !sameFinalizers(write.Before, w.Stored):
		return Finalizer
	case write.Object == parent:
		return Decorate
	case w.Creates():
		return Create
	case w.Verb == plan.Delete && (w.Replacement != nil || tried):
		return Recreate
	case w.Verb == plan.Delete:
		return Delete
	case write.Before != nil && owned(write.Before) != owned(w.Stored):
		if owned(w.Stored) {
			return Adopt
		}
		return Release
	}
	return Update
}

// setResult sets what is known of a child that is recreated: as the update changes it, or as a dry run of an apply has changed it.
func (r *Reconcile) setResult(write *Write, w observe.Write) {
	write.After = w.Updated
	if tried := r.tried[write.Object]; tried.Verb == plan.DryRun {
		write.After = tried.Stored // nil if a field is immutable
	}
	if write.After == nil && w.Differs != nil {
		write.Fields = []string{w.Differs.String()}
	}
}

func sameFinalizers(a, b *object.Object) bool {
	return a != nil && b != nil && slices.Equal(a.GetFinalizers(), b.GetFinalizers())
}

func owned(o *object.Object) bool { return object.OwnerOf(o) != nil }

// onlyStatus returns an object with only the status of o; nil if o is nil.
func onlyStatus(o *object.Object) *object.Object {
	if o == nil {
		return nil
	}
	only := object.StatusOf(o)
	if only["status"] == nil {
		delete(only, "status")
	}
	return object.New(only)
}

// add adds a write. If there is one of the same target, it ends with the result of w.
func (r *Reconcile) add(w *Write) {
	of := target{w.Object, w.Action}
	if before := r.found[of]; before != nil {
		before.After = w.After
		return
	}
	if r.found == nil {
		r.found = map[target]*Write{}
	}
	r.found[of] = w
	r.writes = append(r.writes, w)
}

// Rolling sets the writes to children of kinds that roll; see observe.PlanObserver.
func (r *Reconcile) Rolling(writes []observe.Write) { r.rolling = writes }

// Suppressed adds differences that are not written.
func (r *Reconcile) Suppressed(left []plan.Op) {
	for _, l := range left {
		r.add(&Write{Action: Suppressed, Object: object.RefOf(l.Observed), Why: "its update method is OnDelete", Fields: []string{l.Differs.String()}})
	}
}

// Writes returns what the reconcile does, and what later reconciles do to the children that roll.
func (r *Reconcile) Writes() []*Write {
	for _, w := range r.rolling {
		ref, action := object.RefOf(w.Object), Update
		if w.Verb == plan.Delete || w.Verb == plan.DryRun {
			action = Recreate
		}
		if now := r.found[target{ref, action}]; now != nil {
			now.Rolling = Now
			continue
		}
		later := &Write{Action: action, Object: ref, Before: w.Before, After: w.Stored, Why: w.Why, Rolling: Later, Redactor: w.Redactor}
		if later.After == nil && w.Differs != nil {
			later.Fields = []string{w.Differs.String()}
		}
		r.add(later)
	}
	return r.writes
}

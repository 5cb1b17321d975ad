package reconcile

import (
	"context"
	"errors"
	"time"

	"metascript/controller/binding"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/engine"
)

// A tracker is the Writer of one reconcile: it notes what caches will have to show.
type tracker struct {
	b        *binding.Binding
	events   *parentEvents
	observer Observer // nil: nobody is told
	state    *parentState
	key      object.Ref
}

// Do implements Writer.
func (t tracker) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	before := t.before(op)
	stored, err := t.b.Write.Do(ctx, op)
	t.report(Write{op, before, stored, err, redact.In(ctx)})
	t.events.log.Debug("wrote", "kind", t.key.Kind.Kind, "parent", t.key, "op", op.String(), "error", err)
	if err == nil {
		t.expect(t.shownBy(op, stored))
		_, isChild := t.b.Kinds[op.Object.GroupVersionKind()]
		t.state.churn.Note(op, isChild)
	}
	return stored, err
}

func (t tracker) expect(shown func() bool) {
	if shown == nil {
		return
	}
	w := &t.state.pending
	w.since = time.Now()
	w.shown = append(w.shown, shown)
}

// shownBy gives a function that reports whether the cache of op's object knows of it; nil when there is no cache.
func (t tracker) shownBy(op plan.Op, stored *object.Object) func() bool {
	cache := t.b.CacheOf(stored.GroupVersionKind())
	if cache == nil {
		return nil
	}
	if op.Verb != plan.Delete {
		version := stored.GetResourceVersion()
		return func() bool { return cache.CaughtUp(version) }
	}
	key, uid := object.KeyOf(stored), stored.GetUID()
	return func() bool {
		o := cache.Get(key)
		return o == nil || o.GetUID() != uid || object.Deleting(o)
	}
}

// An Observer is told what a server does, as it does it. Its methods may be called concurrently, but for one parent of one
// controller Wrote and Reconciled come one after the other. They must not change what they are given.
type Observer interface {
	// Loaded is told when the hooks of a controller object begin to be asked, and again when others take their place.
	Loaded(o *object.Object)
	// Wrote is told of each write that a reconcile did, or tried.
	Wrote(about About, write Write)
	// Printed is told what a script printed, in a call about a parent.
	Printed(about About, hook string, message engine.Message)
	// Event is told of each event, recorded or not, on parents and on controller objects.
	Event(o *object.Object, kind, reason, note string)
	// Reconciled comes at the end of each reconcile, with what failed; see Unsettled.
	Reconciled(about About, failed error)
	// Passed is told of a parent that the controller has nothing to do with, or not any more.
	Passed(about About)
}

// About names a parent, and the controller object that it is reconciled for.
type About struct {
	Controller string
	Parent     object.Ref
}

// A Write is an operation and what came of it.
type Write struct {
	plan.Op
	Before *object.Object // as the cache had it; nil: it was not there, or there is no cache
	Stored *object.Object // nil: it failed
	Err    error
	Hidden *redact.Redactor // what Secrets hold, and is not to be shown of Before and Stored
}

// Unsettled reports whether what failed, by an error of a reconcile, is only that the world changed under it: the next one
// comes soon, and will do better.
func Unsettled(failed error) bool { return errors.Is(failed, kube.ErrRequeue) }

// before is op's object before the write, since the cache may have it anew before the write returns.
func (t tracker) before(op plan.Op) *object.Object {
	cache := t.b.CacheOf(op.Object.GroupVersionKind())
	if t.observer == nil || cache == nil {
		return op.Observed
	}
	return cache.Get(object.KeyOf(op.Object))
}

// report tells of a write.
func (t tracker) report(write Write) {
	if t.observer != nil {
		t.observer.Wrote(About{t.b.Name, t.key}, write)
	}
}

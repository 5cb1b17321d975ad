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

// A tracker is the plan.Writer of one reconcile. It passes each write on, and records in the state of the parent what the caches
// have to show before the next reconcile.
type tracker struct {
	binding  *binding.Binding
	events   *parentEvents
	observer Observer // nil if there is none
	state    *parentState
	key      object.Ref // of the parent
}

// Do implements plan.Writer.
func (t tracker) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	before := t.before(op)
	stored, err := t.binding.Write.Do(ctx, op)
	t.observe(Write{op, before, stored, err, redact.FromContext(ctx)})
	t.events.log.Debug("wrote", "kind", t.key.Kind.Kind, "parent", t.key, "op", op.String(), "error", err)
	if err == nil {
		t.expect(t.cacheShows(op, stored))
		_, isChild := t.binding.Kinds[op.Object.GroupVersionKind()]
		t.state.churn.Note(op, isChild)
	}
	return stored, err
}

// expect adds a write to the pending writes of the parent. shown reports whether a cache shows it; nil adds nothing.
func (t tracker) expect(shown func() bool) {
	if shown == nil {
		return
	}
	pending := &t.state.pending
	pending.since = time.Now()
	pending.shown = append(pending.shown, shown)
}

// cacheShows returns a function that reports whether the cache of op's object shows op; nil if the kind has no cache.
func (t tracker) cacheShows(op plan.Op, stored *object.Object) func() bool {
	cache := t.binding.CacheOf(stored.GroupVersionKind())
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

// before returns op's object as it was before the write, for the Observer. It must be called before the write, since the cache
// may show the write before it returns.
func (t tracker) before(op plan.Op) *object.Object {
	cache := t.binding.CacheOf(op.Object.GroupVersionKind())
	if t.observer == nil || cache == nil {
		return op.Observed
	}
	return cache.Get(object.KeyOf(op.Object))
}

// observe calls the Observer after a write.
func (t tracker) observe(write Write) {
	if t.observer != nil {
		t.observer.Wrote(About{t.binding.Name, t.key}, write)
	}
}

// An Observer is called with what a server does. Its methods may be called concurrently, but Wrote and Reconciled are called one
// at a time for one parent of one controller. They must not change their arguments.
type Observer interface {
	// Loaded is called when the hooks of a controller object begin to be used, and again each time they are replaced.
	Loaded(o *object.Object)
	// Wrote is called after each write of a reconcile, also if it failed.
	Wrote(about About, write Write)
	// Printed is called with each message that a script prints in a call about a parent.
	Printed(about About, hook string, message engine.Message)
	// Event is called with each event on a parent or a controller object, also if it is not recorded in the cluster.
	Event(o *object.Object, kind, reason, note string)
	// Reconciled is called at the end of each reconcile, with its error, or nil; see Unsettled.
	Reconciled(about About, failed error)
	// Dropped is called after Reconciled if the controller does not have the parent, or not any more.
	Dropped(about About)
}

// About names a parent, and the controller object for which it is reconciled.
type About struct {
	Controller string
	Parent     object.Ref
}

// A Write is an operation and its result.
type Write struct {
	plan.Op
	Before   *object.Object   // from the cache, before the write; nil if it did not exist, or its kind has no cache
	Stored   *object.Object   // the result; nil if the write failed
	Err      error            // nil if the write did not fail
	Redactor *redact.Redactor // has the values of Secrets, which must not be shown of Before and Stored
}

// Unsettled reports whether failed, the error of a reconcile, says only that objects changed during it, or that caches were
// stale. The reconcile is repeated soon, and is then expected to succeed.
func Unsettled(failed error) bool { return errors.Is(failed, kube.ErrRequeue) }

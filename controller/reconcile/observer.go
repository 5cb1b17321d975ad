package reconcile

import (
	"errors"
	"time"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/engine"
)

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

// observed is op's object before the write, since the cache may have it anew before the write returns.
func (t tracker) before(op plan.Op) *object.Object {
	cache := t.cacheOf(op.Object.GroupVersionKind())
	if t.Observer == nil || cache == nil {
		return op.Observed
	}
	return cache.Get(object.KeyOf(op.Object))
}

// wrote tells of a write.
func (t tracker) report(write Write) {
	if t.Observer != nil {
		t.Observer.Wrote(About{t.Name, t.key}, write)
	}
}

// reconciled tells that a reconcile has ended.
func (l *Reconciler) reportReconciled(key object.Ref, err error) {
	if l.Observer == nil {
		return
	}
	about := About{l.Name, key}
	l.Observer.Reconciled(about, err)
	if parent := l.parent(key); parent == nil || !l.isOurs(parent) {
		l.Observer.Passed(about)
	}
}

// dryRest is the least time after which a dry run is repeated because it asks for it.
const dryRest = time.Second

// unremember forgets, after a reconcile of which nothing was stored, what it did: what is remembered of writes would be
// wrong. It gives the time after which to come again.
func (l *Reconciler) forgetDryRun(key object.Ref, again time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, key)
	delete(l.kept, key)
	if again > 0 {
		again = max(again, dryRest)
	}
	return again
}

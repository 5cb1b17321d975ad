package reconcile

import (
	"cmp"
	"sync"

	"metascript/controller/binding"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/queue"
	"metascript/controller/rollout"
	"metascript/controller/selection"
)

// An eventHandler turns the events of objects into keys of parents, with the reasons why, and queues them. It does not
// keep the events. Its methods may be called concurrently.
type eventHandler struct {
	r *Reconciler

	// adopterMu makes reading a parent from the cache and setting its queries one step; see readAdopter. While it is locked, the
	// locks of the cache and of the Hub are taken.
	adopterMu sync.Mutex
}

// onParent queues a parent that is new, has changed, or was deleted.
func (e *eventHandler) onParent(old, current *object.Object) {
	e.updateAdopter(old, current)
	switch {
	case current == nil:
		e.note(queue.ParentChanged, old, nil).For(object.RefOf(old))
		e.r.queue.Enqueue(object.RefOf(old), queue.ParentChanged) // the reconcile drops its state
	case old != nil && binding.RequestsSync(old, current):
		e.note(queue.Requested, old, current).For(object.RefOf(current))
		e.reconcileNow(object.RefOf(current))
	case old == nil || e.r.binding.Rule(current.GroupVersionKind()).IsRelevant(old, current):
		e.note(queue.ParentChanged, old, current).For(object.RefOf(current))
		e.r.queue.Enqueue(object.RefOf(current), e.reasonFor(queue.ParentChanged))
	default:
		e.r.states.wake(object.RefOf(current))
	}
}

// note returns the Note of a change for the parents that are queued because of it. Events that come while the caches are being filled are
// not changes. A server that does not lead notes none, since it reconciles nothing.
func (e *eventHandler) note(change queue.Reason, old, current *object.Object) *observe.Note {
	if !e.r.hasSynced.Load() || !e.r.leading.IsOpen() {
		return new(observe.Note)
	}
	return e.r.causes.Of(change, old, current)
}

// reasonFor returns the reason for an event of a change. Events that come while the caches are being filled are not changes, and
// their parents are queued after those that changed.
func (e *eventHandler) reasonFor(change queue.Reason) queue.Reason {
	if e.r.hasSynced.Load() {
		return change
	}
	return e.r.initialReason
}

// onCredential queues all parents when the data of a Secret or ConfigMap to which a webhook refers has changed. Those that
// failed because of it need not wait until their back-off is over.
func (e *eventHandler) onCredential() {
	if !e.r.hasSynced.Load() {
		return
	}
	for key := range e.r.binding.ReconciledKeys() {
		e.r.queue.Enqueue(key, queue.CredentialChanged)
	}
}

// onChild queues the owner of a child that changed, and its owner before the change. For objects without an owner see onOrphan.
func (e *eventHandler) onChild(old, current *object.Object) {
	if old != nil && current != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return
	}
	if current == nil {
		e.noteLeft(old)
		if key, owned := e.r.binding.OwnerOf(old); owned {
			e.r.states.lose(key, old.GetUID())
		}
	}
	queued, note := map[object.Ref]bool{}, e.note(queue.ChildChanged, old, current)
	for _, o := range []*object.Object{old, current} {
		if o == nil {
			continue
		}
		if key, owned := e.r.binding.OwnerOf(o); owned && !queued[key] {
			queued[key] = true
			note.For(key)
			e.r.queue.Enqueue(key, e.reasonFor(queue.ChildChanged))
		}
	}
}

// onOrphan queues the parents that may adopt an object.
func (e *eventHandler) onOrphan(adopters []object.Ref, old, current *object.Object) {
	note := e.note(queue.ClaimChanged, old, current)
	for _, parent := range adopters {
		note.For(parent)
		e.r.queue.Enqueue(parent, e.reasonFor(queue.ClaimChanged))
	}
}

// onRevision queues the parent of a ControllerRevision that was deleted, or that was changed in a way in which we do not
// change it.
func (e *eventHandler) onRevision(old, current *object.Object) {
	key, owned := e.r.binding.OwnerOf(cmp.Or(current, old))
	if owned {
		e.r.states.wake(key)
	}
	if old == nil || current != nil && rollout.MayBeOurChange(old, current) {
		return
	}
	if owned {
		e.note(queue.ChildChanged, old, current).For(key)
		e.r.queue.Enqueue(key, e.reasonFor(queue.ChildChanged))
	}
}

// updateAdopter updates the queries by which the Hub finds the parents that may adopt an object, after a parent has changed. A
// parent that is not in the cache yet finds the objects to adopt in its first reconcile.
func (e *eventHandler) updateAdopter(old, current *object.Object) {
	switch {
	case e.r.binding.Match == nil:
	case current == nil:
		e.readAdopter(object.RefOf(old))
	case old != nil && e.r.binding.Reconciles(old) && e.r.binding.Reconciles(current) && hasSameSelector(old, current):
	default:
		e.readAdopter(object.RefOf(current))
	}
}

// readAdopter sets the query for what a parent may adopt. It reads the parent from the cache, because the object that the caller
// has may be older than an event that was handled meanwhile: queueAll runs concurrently with the events. A cache has each
// change before its event is sent, and the lock makes reading and setting one step, so that the last change is used.
func (e *eventHandler) readAdopter(key object.Ref) {
	e.adopterMu.Lock()
	defer e.adopterMu.Unlock()
	var queries []selection.Query
	if parent := e.r.binding.Parent(key); parent != nil && e.r.binding.Reconciles(parent) {
		queries = e.adoptionQueries(parent)
	}
	e.r.shared.Hub.Adopts(e.r, key, queries...)
}

// adoptionQueries returns the query for what a parent may adopt; none if the selector of the parent is not valid.
func (e *eventHandler) adoptionQueries(parent *object.Object) []selection.Query {
	selector, err := e.r.binding.Match(parent)
	if err != nil {
		return nil
	}
	return []selection.Query{{Namespace: parent.GetNamespace(), Labels: selector}}
}

// hasSameSelector reports whether two versions of a parent certainly have the same selector.
func hasSameSelector(old, current *object.Object) bool {
	return old.GetUID() == current.GetUID() && current.GetGeneration() > 0 && old.GetGeneration() == current.GetGeneration()
}

// reconcileNow queues a parent and drops its failures.
func (e *eventHandler) reconcileNow(key object.Ref) {
	e.r.queue.Forget(key)
	e.r.current.Load().ResetFailures(key)
	e.r.queue.Enqueue(key, queue.Requested)
}

// queueAll queues the parents that were in the caches before the handlers were registered.
func (e *eventHandler) queueAll() {
	for parent := range e.r.binding.ReconciledParents() {
		e.onParent(nil, parent)
	}
}

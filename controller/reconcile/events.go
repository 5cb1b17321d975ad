package reconcile

import (
	"cmp"
	"reflect"
	"sync"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/rollout"
	"metascript/controller/selection"
)

// An eventHandler turns the events of objects into the keys of the parents that they concern, and queues them. The event is
// forgotten; the key goes on with the reasons why.
type eventHandler struct {
	r *Reconciler

	adopting sync.Mutex // see readAdopter
}

// onParent queues a parent that changed.
func (e *eventHandler) onParent(old, current *object.Object) {
	e.followAdopter(old, current)
	switch {
	case current == nil:
		e.r.queue.Enqueue(object.RefOf(old), queue.ParentChanged) // so that what is kept for it is dropped
	case old != nil && requests(old, current):
		e.request(object.RefOf(current))
	case old == nil || e.concerns(old, current):
		e.r.queue.Enqueue(object.RefOf(current), e.news(queue.ParentChanged))
	}
}

// news is why, once the caches are filled. What fills them did not just change, and comes after what does.
func (e *eventHandler) news(why queue.Reason) queue.Reason {
	if e.r.filled.Load() {
		return why
	}
	return e.r.because
}

// onKey queues every parent when a Secret or ConfigMap that a webhook refers to holds something else than before: those
// that failed for want of it need not wait until their turn comes.
func (e *eventHandler) onKey() {
	if !e.r.filled.Load() {
		return
	}
	for parent := range e.r.b.Own() {
		e.r.queue.Enqueue(object.RefOf(parent), queue.KeyChanged)
	}
}

// concerns reports whether a parent's change is worth a reconcile. With ignoreStatusChanges those are changes of
// the spec, which raise the generation, of labels and annotations, finalizers, and the begin of a deletion.
func (e *eventHandler) concerns(old, current *object.Object) bool {
	if old.GetResourceVersion() == current.GetResourceVersion() {
		return false
	}
	if !e.r.b.Rule(current.GroupVersionKind()).IgnoreStatusChanges || current.GetGeneration() == 0 {
		return true
	}
	return old.GetGeneration() != current.GetGeneration() ||
		old.GetUID() != current.GetUID() ||
		object.Deleting(old) != object.Deleting(current) ||
		!reflect.DeepEqual(old.GetLabels(), current.GetLabels()) ||
		!reflect.DeepEqual(old.GetAnnotations(), current.GetAnnotations()) ||
		!reflect.DeepEqual(old.GetFinalizers(), current.GetFinalizers())
}

// onChild queues the parents that a child's change concerns: who owns it, and who owned it. Who may adopt it while nobody
// does, onOrphan is told.
func (e *eventHandler) onChild(old, current *object.Object) {
	if old != nil && current != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return
	}
	seen := map[object.Ref]bool{}
	for _, o := range []*object.Object{old, current} {
		if o == nil {
			continue
		}
		if key, owned := e.r.b.OwnerOf(o); owned && !seen[key] {
			seen[key] = true
			e.r.queue.Enqueue(key, e.news(queue.ChildChanged))
		}
	}
}

// onRevision queues the parent of a ControllerRevision that is gone, that says something else of the parent, or that
// could not be read or cannot be now. Other changes are our own.
func (e *eventHandler) onRevision(old, current *object.Object) {
	if old == nil || current != nil && ours(old, current) {
		return
	}
	if key, owned := e.r.b.OwnerOf(cmp.Or(current, old)); owned {
		e.r.queue.Enqueue(key, e.news(queue.ChildChanged))
	}
}

// followAdopter takes a change of a parent, so that the event of an orphan goes through no parent that it does not
// concern. A parent that is not known yet finds its orphans in its own first reconcile.
func (e *eventHandler) followAdopter(old, current *object.Object) {
	switch {
	case e.r.b.Match == nil:
	case current == nil:
		e.readAdopter(object.RefOf(old))
	case old != nil && e.r.b.IsOurs(old) && e.r.b.IsOurs(current) && sameSelector(old, current):
	default:
		e.readAdopter(object.RefOf(current))
	}
}

// readAdopter sets what a parent may adopt as its cache has the parent now, and not as the caller has it: while the loop
// begins, what it took from the caches may be older than an event that was handled meanwhile. A cache has each change
// before its event comes, and one call reads and sets after the other, so that the last change of a parent is what counts.
func (e *eventHandler) readAdopter(key object.Ref) {
	e.adopting.Lock()
	defer e.adopting.Unlock()
	var queries []selection.Query
	if parent := e.r.b.Parent(key); parent != nil && e.r.b.IsOurs(parent) {
		queries = e.adopts(parent)
	}
	e.r.shared.Hub.Adopts(e.r, key, queries...)
}

// adopts is the query for what a parent may adopt; none when its selector cannot be read.
func (e *eventHandler) adopts(parent *object.Object) []selection.Query {
	selector, err := e.r.b.Match(parent)
	if err != nil {
		return nil
	}
	return []selection.Query{{Namespace: parent.GetNamespace(), Labels: selector}}
}

// onOrphan queues the parents that may adopt an object.
func (e *eventHandler) onOrphan(adopters []object.Ref) {
	for _, parent := range adopters {
		e.r.queue.Enqueue(parent, e.news(queue.ChildChanged))
	}
}

// Annotations by which people steer the reconciles of one parent.
const (
	// syncRequested asks for a reconcile at once, whatever back-off or pause there is, each time that its value changes.
	syncRequestedAnnotation = "metacontroller.k8s.io/sync-requested-at"
	// pausedParent, with the value "true", lets the parent rest: no hook runs for it, and nothing is written.
	pausedAnnotation = "metacontroller.k8s.io/paused"
)

func requests(old, current *object.Object) bool {
	value := current.GetAnnotations()[syncRequestedAnnotation]
	return value != "" && value != old.GetAnnotations()[syncRequestedAnnotation]
}

func paused(parent *object.Object) bool { return parent.GetAnnotations()[pausedAnnotation] == "true" }

// ours reports whether we may have made current of old.
func ours(old, current *object.Object) bool {
	before, unread := rollout.Decode(old)
	after, unreadable := rollout.Decode(current)
	return unread == nil && unreadable == nil && before.Script == after.Script && plan.Difference(before.Patch, after.Patch) == ""
}

// sameSelector reports whether two versions of a parent surely select the same.
func sameSelector(old, current *object.Object) bool {
	return old.GetUID() == current.GetUID() && current.GetGeneration() > 0 && old.GetGeneration() == current.GetGeneration()
}

// queueAll takes the parents that the caches held before the loop was told of events.
func (e *eventHandler) queueAll() {
	for parent := range e.r.b.Own() {
		e.onParent(nil, parent)
	}
}

// resync queues every parent. It is called once a period.
func (e *eventHandler) resync() {
	for parent := range e.r.b.Own() {
		e.r.queue.Enqueue(object.RefOf(parent), queue.Resync)
	}
}

// request has a parent reconciled at once, as if it had never failed.
func (e *eventHandler) request(key object.Ref) {
	e.r.queue.Forget(key)
	e.r.current.Load().Forgive(key)
	e.r.queue.Enqueue(key, queue.Requested)
}

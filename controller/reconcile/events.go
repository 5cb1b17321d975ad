package reconcile

import (
	"cmp"
	"reflect"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/rollout"
)

// onParent queues a parent that changed.
func (l *Reconciler) onParent(old, current *object.Object) {
	l.followAdopter(old, current)
	switch {
	case current == nil:
		l.Queue.Enqueue(object.RefOf(old), queue.ParentChanged) // so that what is kept for it is dropped
	case old != nil && requests(old, current):
		l.request(object.RefOf(current))
	case old == nil || l.concerns(old, current):
		l.Queue.Enqueue(object.RefOf(current), l.news(queue.ParentChanged))
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

// tellPaused tells of a parent that cannot go since it rests.
func (l *Reconciler) reportPaused(parent *object.Object) {
	if object.Deleting(parent) && l.hasFinalizer(parent) {
		l.events.Warning(parent, "FinalizeWaiting", "it is paused by the annotation %s, so that its finalize hook is not asked: take the annotation off, or finalizer %s", pausedAnnotation, l.Finalizer)
	}
}

// news is why, once the caches are filled. What fills them did not just change, and comes after what does.
func (l *Reconciler) news(why queue.Reason) queue.Reason {
	if l.filled.Load() {
		return why
	}
	return l.because
}

// onKey queues every parent when a Secret or ConfigMap that a webhook refers to holds something else than before: those
// that failed for want of it need not wait until their turn comes.
func (l *Reconciler) onKey() {
	if !l.filled.Load() {
		return
	}
	for parent := range l.own() {
		l.Queue.Enqueue(object.RefOf(parent), queue.KeyChanged)
	}
}

// concerns reports whether a parent's change is worth a reconcile. With ignoreStatusChanges those are changes of
// the spec, which raise the generation, of labels and annotations, finalizers, and the begin of a deletion.
func (l *Reconciler) concerns(old, current *object.Object) bool {
	if old.GetResourceVersion() == current.GetResourceVersion() {
		return false
	}
	if !l.Rule(current.GroupVersionKind()).IgnoreStatusChanges || current.GetGeneration() == 0 {
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
func (l *Reconciler) onChild(old, current *object.Object) {
	if old != nil && current != nil && old.GetResourceVersion() == current.GetResourceVersion() {
		return
	}
	seen := map[object.Ref]bool{}
	for _, o := range []*object.Object{old, current} {
		if o == nil {
			continue
		}
		if key, owned := l.ownerOf(o); owned && !seen[key] {
			seen[key] = true
			l.Queue.Enqueue(key, l.news(queue.ChildChanged))
		}
	}
}

// onRevision queues the parent of a ControllerRevision that is gone, that says something else of the parent, or that
// could not be read or cannot be now. Other changes are our own.
func (l *Reconciler) onRevision(old, current *object.Object) {
	if old == nil || current != nil && ours(old, current) {
		return
	}
	if key, owned := l.ownerOf(cmp.Or(current, old)); owned {
		l.Queue.Enqueue(key, l.news(queue.ChildChanged))
	}
}

// ours reports whether we may have made current of old.
func ours(old, current *object.Object) bool {
	before, unread := rollout.Decode(old)
	after, unreadable := rollout.Decode(current)
	return unread == nil && unreadable == nil && before.Script == after.Script && plan.Difference(before.Patch, after.Patch) == ""
}

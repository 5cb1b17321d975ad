package reconcile

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/claim"
	"metascript/controller/object"
	"metascript/controller/queue"
)

// noteLeft notes a child of which a cache of the objects with a label says that it was deleted: it may have lost the label. A server
// that does not lead releases no child, and looks for those that lost their label when it begins to lead; see Reconciler.NoteStray.
func (e *eventHandler) noteLeft(child *object.Object) {
	cache, b := e.r.binding.CacheOf(child.GroupVersionKind()), e.r.binding
	if b.Left == nil || cache == nil || !cache.Narrow() || object.Deleting(child) || !e.r.leading.IsOpen() {
		return
	}
	if parent, owned := b.OwnerOf(child); owned && (b.Only == nil || b.Only(parent)) {
		b.Left.Note(parent, child)
	}
}

// NarrowChildren returns the kinds of children whose caches lack the objects without the label of a generated selector.
func (r *Reconciler) NarrowChildren() []claim.Cache {
	return slices.DeleteFunc(slices.Clone(r.binding.Children), func(child claim.Cache) bool { return !child.Informer.Narrow() })
}

// NoteStray queues the parent that owns an object of a kind of children, if the cache lacks the object because it does not have the
// label of the children, so that the parent releases it. The object needs its names and its owner references only.
func (r *Reconciler) NoteStray(o *object.Object) {
	cache, b := r.binding.CacheOf(o.GroupVersionKind()), r.binding
	owner, owned := b.OwnerOf(o)
	if b.Left == nil || cache == nil || !owned || !cache.Lacks(o) || !r.hasSynced.Load() || b.Only != nil && !b.Only(owner) {
		return
	}
	if parent := b.Parent(owner); parent != nil && parent.GetUID() == object.ControllerOf(o).UID && b.Reconciles(parent) {
		b.Left.Note(owner, o)
		r.queue.Enqueue(owner, queue.ChildChanged)
	}
}

// CacheWidened queues all parents, if the resource is one of children whose cache lacked objects until now; see
// informer.Factory.Widened.
func (r *Reconciler) CacheWidened(resource schema.GroupVersionResource) {
	of := func(child claim.Cache) bool { return child.Informer.Resource() == resource }
	if r.binding.ChildLabel != "" && slices.ContainsFunc(r.binding.Children, of) {
		r.enqueueAll(queue.ChildChanged)
	}
}

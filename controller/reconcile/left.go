package reconcile

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/claim"
	"metascript/controller/object"
	"metascript/controller/queue"
)

// noteLeft notes a child of which a cache of the objects with a label says that it was deleted: it may have lost the label. A server
// that does not lead releases no child, and looks for those that lost their label when it begins to lead; see Strays.Note.
func (e *eventHandler) noteLeft(child *object.Object) {
	cache, b := e.r.binding.CacheOf(child.GroupVersionKind()), e.r.binding
	if b.Left == nil || cache == nil || !cache.Narrow() || object.Deleting(child) || !e.r.leading.IsOpen() {
		return
	}
	if parent, owned := b.OwnerOf(child); owned && (b.Only == nil || b.Only(parent)) {
		b.Left.Note(parent, child)
	}
}

// Strays are the children of a Reconciler that do not have the label of their selector, and that the caches may lack therefore.
type Strays struct{ r *Reconciler }

// Kinds returns the kinds of children whose caches lack the objects without the label.
func (s Strays) Kinds() []claim.Cache {
	return slices.DeleteFunc(slices.Clone(s.r.binding.Children), func(child claim.Cache) bool { return !child.Informer.Narrow() })
}

// Parents returns the parents that release children.
func (s Strays) Parents() iter.Seq[*object.Object] { return s.r.binding.ReconciledParents() }

// Note queues the parent that owns an object of a kind of children, if the cache lacks the object because it does not have the
// label of the children, so that the parent releases it. The object needs its names and its owner references only.
func (s Strays) Note(o *object.Object) {
	r, b := s.r, s.r.binding
	cache := b.CacheOf(o.GroupVersionKind())
	owner, owned := b.OwnerOf(o)
	if b.Left == nil || cache == nil || !owned || !cache.Lacks(o) || !r.hasSynced.Load() || b.Only != nil && !b.Only(owner) {
		return
	}
	if parent := b.Parent(owner); parent != nil && parent.GetUID() == object.OwnerOf(o).UID && b.Reconciles(parent) {
		b.Left.Note(owner, o)
		r.queue.Enqueue(owner, queue.ClaimChanged)
	}
}

// Cached queues all parents, if the resource is one of children whose cache lacked objects until now; see informer.Factory.Widened.
func (s Strays) Cached(resource schema.GroupVersionResource) {
	of := func(child claim.Cache) bool { return child.Informer.Spec().Resource == resource }
	if s.r.binding.ChildLabel != "" && slices.ContainsFunc(s.r.binding.Children, of) {
		s.r.enqueueAll(queue.ClaimChanged)
	}
}

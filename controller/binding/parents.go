package binding

import (
	"iter"
	"math"
	"slices"

	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/selection"
	"metascript/controller/spec"
)

// A ParentResource is a resource whose objects are parents. Its cache has all objects of the resource, also those that no selector
// selects: a parent that is not selected any more is finalized, which may take several calls of the hook with its children, and this
// also holds for one that lost its labels while no server ran. Other controllers select other parents of the same resource, and one
// cache for all of them finds out who selects the same ones.
type ParentResource struct {
	*spec.ParentRule
	Cache *informer.Informer // of the objects of the resource
}

// selected returns the objects that at least one selector selects, each once and in no order.
func (r *ParentResource) selected() []*object.Object {
	var all []*object.Object
	for i, s := range r.Selectors {
		for _, o := range r.Cache.Select(selection.Query{Labels: s.Labels}) {
			earlier := slices.ContainsFunc(r.Selectors[:i], func(s spec.Selector) bool { return s.Matches(o) })
			if !earlier && spec.HasAnnotations(o.GetAnnotations(), s.Annotations) {
				all = append(all, o)
			}
		}
	}
	return all
}

// Rule returns the rule for parents of that kind, or nil if there is none.
func (b *Binding) Rule(kind object.Kind) *ParentResource {
	i := slices.IndexFunc(b.Parents, func(r *ParentResource) bool { return r.ObjectKind() == kind })
	if i < 0 {
		return nil
	}
	return b.Parents[i]
}

// Parent returns a parent from its cache, or nil if it is not there. There must be a rule for its kind.
func (b *Binding) Parent(ref object.Ref) *object.Object { return b.Rule(ref.Kind).Cache.Get(ref.Key) }

// HasParentsIn reports whether a resource of parents is in that API group.
func (b *Binding) HasParentsIn(group string) bool {
	return slices.ContainsFunc(b.Parents, func(r *ParentResource) bool { return r.Group == group })
}

// Selects reports whether the controller selects parent. There must be a rule for its kind.
func (b *Binding) Selects(parent *object.Object) bool {
	return b.Rule(parent.GroupVersionKind()).Selects(parent)
}

// Reconciles reports whether the controller reconciles parent: it selects the parent, or its finalizer is still on it.
func (b *Binding) Reconciles(parent *object.Object) bool {
	return b.Selects(parent) || b.HasFinalizer(parent)
}

// ReconciledParents returns the parents that the controller reconciles, each once and in no order; see Reconciles.
func (b *Binding) ReconciledParents() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		for _, o := range reconciled(b) {
			if !yield(o) {
				return
			}
		}
	}
}

// ReconciledKeys returns the Refs of the ReconciledParents. The kind is that of the rule, so that it is not read from each object.
func (b *Binding) ReconciledKeys() iter.Seq[object.Ref] {
	return func(yield func(object.Ref) bool) {
		for rule, o := range reconciled(b) {
			if !yield(object.Ref{Kind: rule.ObjectKind(), Key: object.KeyOf(o)}) {
				return
			}
		}
	}
}

func reconciled(b *Binding) iter.Seq2[*ParentResource, *object.Object] {
	return func(yield func(*ParentResource, *object.Object) bool) {
		for _, rule := range b.Parents {
			for _, o := range rule.selected() {
				if !yield(rule, o) {
					return
				}
			}
			for _, o := range rule.Cache.WithFinalizer(b.Finalizer) {
				if !rule.Selects(o) && !yield(rule, o) {
					return
				}
			}
		}
	}
}

// Count returns how many parents the controller selects and may show. While it is not known of each parent whether the account may
// read it, Count returns a very large number.
func (b *Binding) Count() int {
	n := 0
	for _, rule := range b.Parents {
		for _, parent := range rule.selected() {
			switch scope := scopeOf(rule, parent); {
			case !b.Access.Knows(scope):
				return math.MaxInt
			case b.Access.Shows(scope):
				n++
			}
		}
	}
	return n
}

// HasFinalizer reports whether the finalizer of the controller is on parent.
func (b *Binding) HasFinalizer(parent *object.Object) bool {
	return slices.Contains(parent.GetFinalizers(), b.Finalizer)
}

// OtherFinalizers returns the finalizers of parent without that of the controller.
func (b *Binding) OtherFinalizers(parent *object.Object) []string {
	return slices.DeleteFunc(slices.Clone(parent.GetFinalizers()), func(f string) bool { return f == b.Finalizer })
}

// Finalizing reports whether the finalize hook is called for parent in place of the sync hook: our finalizer is on it, and the
// parent is being deleted or is not selected any more.
func (b *Binding) Finalizing(parent *object.Object) bool {
	return b.HasFinalizer(parent) && (object.Deleting(parent) || !b.Selects(parent))
}

// collectorFinalizers are the finalizers with which the garbage collector first deletes, or orphans, the children of an object
// that is being deleted.
var collectorFinalizers = []string{"foregroundDeletion", "orphan"}

// FinalizesChildren reports whether the finalize hook decides about the children of parent, and not the garbage collector.
func (b *Binding) FinalizesChildren(parent *object.Object) bool {
	return b.Finalizing(parent) && !slices.ContainsFunc(parent.GetFinalizers(), func(f string) bool { return slices.Contains(collectorFinalizers, f) })
}

package binding

import (
	"context"
	"fmt"

	"metascript/controller/access"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
)

// CheckCurrent returns a kube.ErrRequeue if the Binding is Outdated: then nothing must be written for it any more, since the answer of a
// hook may have taken long, and whoever changed the account does not expect a write of the account before.
func (b *Binding) CheckCurrent() error {
	if b.Outdated != nil && b.Outdated() {
		return kube.Requeue(fmt.Errorf("%s was deleted or has another account since the reconcile began", b.ID))
	}
	return nil
}

// Shows reports whether texts about the controller may show that parent exists. There must be a rule for its kind.
func (b *Binding) Shows(parent *object.Object) bool {
	return b.Access == nil || b.Access.Shows(scopeOf(b.Rule(parent.GroupVersionKind()), parent))
}

// Has reports whether the controller has a parent: it reconciles the parent, and its account may read it.
func (b *Binding) Has(parent *object.Object) bool { return b.Reconciles(parent) && b.Shows(parent) }

// scopeOf returns the scope of the parents of a rule in the namespace of parent.
func scopeOf(rule *ParentResource, parent *object.Object) access.Scope {
	return access.Scope{GroupResource: rule.GroupResource(), Namespace: parent.GetNamespace()}
}

// MayReadParent returns an error if the account of the controller may not list and watch the parents in the namespace of parent.
func (b *Binding) MayReadParent(ctx context.Context, parent *object.Object) error {
	return b.Access.MayReadParents(ctx, scopeOf(b.Rule(parent.GroupVersionKind()), parent))
}

// MayReadChildren returns an error if the account may not list and watch a declared kind of children, or ControllerRevisions if
// there is a rolling update method, in the namespace of parent. Children of a cluster-scoped parent can be in any namespace.
func (b *Binding) MayReadChildren(ctx context.Context, parent *object.Object) error {
	scope := access.Scope{Namespace: parent.GetNamespace()}
	for _, child := range b.Children {
		scope.GroupResource = child.Informer.Spec().Resource.GroupResource()
		if err := b.Access.MayRead(ctx, scope); err != nil {
			return err
		}
	}
	if b.Revisions == nil {
		return nil
	}
	scope.GroupResource = v1alpha1.ControllerRevisions.GroupResource()
	return b.Access.MayRead(ctx, scope)
}

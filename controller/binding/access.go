package binding

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/access"
	"metascript/controller/account"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
)

// Access is what the account of a controller may read. The zero value is that of the server itself, which may read everything.
type Access struct {
	account.Account
	Reviewer *access.Reviewer // nil if Account is the server

	// parents has the result of the last MayReadParent, by access.Scope of the parent's namespace: true if it returned nil.
	parents sync.Map
}

// MayRead returns an error if the account may not list and watch objects, see [access.Reviewer.MayRead].
func (a *Access) MayRead(ctx context.Context, s access.Scope) error {
	if a.IsServer() {
		return nil
	}
	return a.Reviewer.MayRead(ctx, a.Account, s)
}

// MayReadParent returns an error if the account may not list and watch the parents in the namespace of parent.
func (b *Binding) MayReadParent(ctx context.Context, parent *object.Object) error {
	if b.Access.IsServer() {
		return nil
	}
	scope := b.scopeOf(parent)
	err := b.Access.MayRead(ctx, scope)
	b.Access.parents.Store(scope, err == nil)
	return err
}

func (b *Binding) scopeOf(parent *object.Object) access.Scope {
	return access.Scope{GroupResource: b.Rule(parent.GroupVersionKind()).GroupResource(), Namespace: parent.GetNamespace()}
}

// Shows reports whether the controller may show that parent exists: the last MayReadParent for its namespace returned nil.
// There must be a rule for its kind.
func (b *Binding) Shows(parent *object.Object) bool {
	if b.Access.IsServer() {
		return true
	}
	readable, _ := b.Access.parents.Load(b.scopeOf(parent))
	return readable == true
}

// MayReadChildren returns an error if the account may not list and watch a declared kind of children, or ControllerRevisions if
// there is a rolling update method, in the namespace of parent. Children of a cluster-scoped parent are in any namespace.
func (b *Binding) MayReadChildren(ctx context.Context, parent *object.Object) error {
	if b.Access.IsServer() {
		return nil
	}
	var kinds []schema.GroupResource
	for _, child := range b.Children {
		kinds = append(kinds, child.Informer.Resource().GroupResource())
	}
	if b.Revisions != nil {
		kinds = append(kinds, v1alpha1.ControllerRevisions.GroupResource())
	}
	for _, kind := range kinds {
		if err := b.Access.MayRead(ctx, access.Scope{GroupResource: kind, Namespace: parent.GetNamespace()}); err != nil {
			return err
		}
	}
	return nil
}

// AccessError returns why the account of the controller cannot do its work: it does not exist, or it may read no parents, or
// that cannot be found out. If there is no error, limited says that the account may not read the parents in all namespaces; it
// is "" if it may.
func (b *Binding) AccessError(ctx context.Context) (limited string, err error) {
	if b.Access.IsServer() {
		return "", nil
	}
	if err := b.Access.Reviewer.Exists(ctx, b.Access.Account); err != nil {
		return "", err
	}
	for _, rule := range b.Parents {
		err := b.Access.MayRead(ctx, access.Scope{GroupResource: rule.GroupResource()})
		if err == nil {
			continue
		}
		var denied *access.DeniedError
		if !rule.Namespaced || !errors.As(err, &denied) {
			return "", err
		}
		// It may be meant for some namespaces. If none is known, the one of the account is the most probable.
		own := access.Scope{GroupResource: rule.GroupResource(), Namespace: b.Access.Namespace}
		if err := b.Access.MayRead(ctx, own); err != nil && !b.Access.readsSome(rule.GroupResource()) {
			return "", err
		}
		limited = fmt.Sprintf("only parents in namespaces where %s may list and watch %s are reconciled", b.Access.Account, rule.GroupResource())
	}
	return limited, nil
}

// readsSome reports whether the account may read parents of a resource in at least one namespace that has some.
func (a *Access) readsSome(resource schema.GroupResource) bool {
	found := false
	a.parents.Range(func(scope, readable any) bool {
		found = readable == true && scope.(access.Scope).GroupResource == resource
		return !found
	})
	return found
}

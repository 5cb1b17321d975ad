package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/account"
)

// A Reader decides what one controller may read. A nil *Reader reads as the server itself, which may read everything. It is safe
// for concurrent use.
type Reader struct {
	who      account.Account
	reviewer *Reviewer
	kinds    []Kind // of the parents

	parents sync.Map // map[Scope]bool: whether the last MayReadParents for a scope returned nil
}

// Knows reports whether MayReadParents was called for a scope.
func (r *Reader) Knows(s Scope) bool {
	if r == nil {
		return true
	}
	_, known := r.parents.Load(s)
	return known
}

// Continue takes over what before knows, if it is of the same account.
func (r *Reader) Continue(before *Reader) {
	if r == nil || before == nil || r.who != before.who {
		return
	}
	before.parents.Range(func(scope, readable any) bool {
		r.parents.Store(scope, readable)
		return true
	})
}

// A Kind is a resource whose objects are parents.
type Kind struct {
	schema.GroupResource
	Namespaced bool
}

// NewReader returns the Reader of a controller with an account and with parents of these kinds; nil for the server itself.
func NewReader(who account.Account, reviewer *Reviewer, kinds ...Kind) *Reader {
	if who.IsServer() {
		return nil
	}
	return &Reader{who: who, reviewer: reviewer, kinds: kinds}
}

// Account returns the account of the controller.
func (r *Reader) Account() account.Account {
	if r == nil {
		return account.Account{}
	}
	return r.who
}

// MayRead returns an error if the account may not list and watch the objects of a scope, see [Reviewer.MayRead].
func (r *Reader) MayRead(ctx context.Context, s Scope) error {
	if r == nil {
		return nil
	}
	return r.reviewer.MayRead(ctx, r.who, s)
}

// MayReadParents is MayRead for a scope with parents. Its result is remembered for Shows.
func (r *Reader) MayReadParents(ctx context.Context, s Scope) error {
	if r == nil {
		return nil
	}
	err := r.MayRead(ctx, s)
	r.parents.Store(s, err == nil)
	return err
}

// Shows reports whether texts about the controller may show the parents in a scope: the last MayReadParents for it returned nil.
func (r *Reader) Shows(s Scope) bool {
	if r == nil {
		return true
	}
	readable, _ := r.parents.Load(s)
	return readable == true
}

// ShowsNamespace reports whether Shows is true for at least one kind of parents in a namespace; "" means cluster-scoped parents.
func (r *Reader) ShowsNamespace(namespace string) bool {
	return slices.ContainsFunc(r.kinds, func(kind Kind) bool { return r.Shows(Scope{GroupResource: kind.GroupResource, Namespace: namespace}) })
}

// Problem returns an error if the account does not exist, if it may read no parents, or if it cannot find that out. If there is
// no error, limited says that the account may read the parents in some namespaces only; it is "" if it may read all.
func (r *Reader) Problem(ctx context.Context) (limited string, err error) {
	if r == nil {
		return "", nil
	}
	if err := r.reviewer.Exists(ctx, r.who); err != nil {
		return "", err
	}
	for _, kind := range r.kinds {
		err := r.MayRead(ctx, Scope{GroupResource: kind.GroupResource})
		if err == nil {
			continue
		}
		var denied *DeniedError
		if !kind.Namespaced || !errors.As(err, &denied) {
			return "", err
		}
		// The account may be meant for some namespaces. If none is known, its own is the most probable.
		if err := r.MayRead(ctx, Scope{GroupResource: kind.GroupResource, Namespace: r.who.Namespace}); err != nil && !r.readsSome(kind.GroupResource) {
			return "", err
		}
		limited = fmt.Sprintf("only parents in namespaces where %s may list and watch %s are reconciled", r.who, kind.GroupResource)
	}
	return limited, nil
}

// readsSome reports whether the account may read parents of a resource in at least one namespace that has some.
func (r *Reader) readsSome(resource schema.GroupResource) bool {
	found := false
	r.parents.Range(func(scope, readable any) bool {
		found = readable == true && scope.(Scope).GroupResource == resource
		return !found
	})
	return found
}

package controller

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A Binding is what a controller object means, whichever of the kinds it is: which objects it is about, whom to ask
// what should be, how to know and update children, and as whom to write.
type Binding struct {
	Name       string         // of the controller object
	Kind       string         // of the controller object
	Controller *object.Object // as its hooks see it
	Generation int64

	Parent    kube.Resource
	Selector  labels.Selector // of parents
	Finalizer string          // its name

	Sync     hook.Hook
	Finalize hook.Hook // nil: there is none

	Owner  Owner
	Rules  plan.Rules
	Kinds  map[object.Kind]bool                                 // the declared child kinds; true: namespaced
	Labels func(parent *object.Object) map[string]string        // put on every child; nil: none
	Match  func(parent *object.Object) (labels.Selector, error) // what children match
	Write  Writer
	Live   func(ctx context.Context, o *object.Object) (*object.Object, error) // reads past the caches

	ResyncPeriod        time.Duration // zero: never
	IgnoreStatusChanges bool
	Workers             int

	versioned atomic.Pointer[map[object.Kind]bool] // see hook.Request; nil: none

	parents  *informer.Informer
	children []childCache
}

// close gives the caches back.
func (b *Binding) close() {
	b.parents.Close()
	for _, child := range b.children {
		child.cache.Close()
	}
}

// selects reports whether the controller is about parent.
func (b *Binding) selects(parent *object.Object) bool {
	return b.Selector.Matches(labels.Set(parent.GetLabels()))
}

// expect is what an answer about parent may hold.
func (b *Binding) expect(parent *object.Object) (hook.Expect, error) {
	selector, err := b.Match(parent)
	if err != nil && !object.Deleting(parent) {
		return hook.Expect{}, err
	}
	e := hook.Expect{Kinds: b.Kinds, Selector: selector}
	if b.Labels != nil {
		e.Labels = b.Labels(parent)
	}
	return e, nil
}

// cacheOf is the cache of the objects of kind, or nil.
func (b *Binding) cacheOf(kind object.Kind) *informer.Informer {
	if kind == b.Parent.ObjectKind() {
		return b.parents
	}
	for _, child := range b.children {
		if child.kind == kind {
			return child.cache
		}
	}
	return nil
}

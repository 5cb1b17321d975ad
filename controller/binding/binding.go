// Package binding has the Binding: all that package reconcile needs to know about one controller object, whether it is a
// CompositeController or a DecoratorController.
//
// binding.go has the Binding and makes one; parents.go says which parents it has, children.go which children. identitykinds.go
// is about what scripts may keep of objects between calls.
package binding

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/access"
	"metascript/controller/build"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/related"
	"metascript/controller/revisions"
	"metascript/controller/spec"
)

// A Binding is what a controller object means. It says which parents and children the controller has, which hooks are called,
// and how children are written. Bind fills in what the declaration says; package controller adds the hooks, caches and
// clients. No field changes while the controller runs, except RelatedKinds and versioned.
type Binding struct {
	spec.ID                   // of the controller object
	Tenant     string         // of the controller; see spec.Declaration.Tenant
	Controller *object.Object // the controller object as hooks see it
	Shape      hook.Shape     // composite or decorator

	Parents   []*ParentResource // the resources of its parents
	Finalizer string            // the name of the finalizer that the controller puts on parents

	// SeesParents reports whether the controller may see the parents in a namespace, which is "" for cluster-scoped ones: its
	// account may not see all that it selects, and the status must not tell of others. It may wait. Nil: it may see all.
	SeesParents func(namespace string) bool

	// Hooks are the hooks at the start. An edit of a script replaces them in package reconcile, not here.
	build.Hooks
	// RelatedScope limits the related objects of a parent.
	RelatedScope related.Scope
	// Discover finds the resources that the customize hook names.
	Discover kube.Finder
	// OnRelated is called with the rules of the customize hook for a parent, before the caches of their resources are opened. It may be
	// nil.
	OnRelated func(parent object.Ref, rules []related.Rule)
	// RelatedKinds has the kinds of related objects so far as its keys, of type object.Kind. A value is true if the kind has the status
	// subresource.
	RelatedKinds sync.Map

	// Claimer finds, adopts and releases the children of a parent.
	Claimer claim.Claimer
	// Rules say how children are updated, by their kind.
	Rules plan.Rules
	// Kinds are the declared kinds of children. The value is true for namespaced kinds.
	Kinds map[object.Kind]bool
	// Labels returns the labels that are added to all children of a parent. If it is nil, there are none.
	Labels func(parent *object.Object) map[string]string
	// ChildAnnotations are added to all children. Only objects with these annotations are children of the controller.
	ChildAnnotations map[string]string
	// Match returns the selector for the children of a parent. If it is nil, children can have any labels.
	Match func(parent *object.Object) (labels.Selector, error)
	// ChildLabel is the key of a label that each child has, so that the caches of Children may lack other objects; "" if there is none.
	// A CompositeController with generateSelector has one: what does not have the label of a generated selector is neither a child nor
	// adopted. Selectors in the specs of parents, and owner references, can be any: then the caches have all objects.
	ChildLabel string
	// Left has the children that may have lost ChildLabel; nil if there is no such label.
	Left *claim.Left
	// Children are the caches of the children, one for each kind.
	Children []claim.Cache
	// Revisions has the ControllerRevisions of parents. It is nil if no kind of children has a rolling update method.
	Revisions *revisions.Revisions

	// Access is what the account of the controller may read. Events, Write and GetLive act as the account.
	Access  *access.Reader
	Release func() // is called by Close; nil is not called
	// Outdated reports whether the controller object was deleted, or names another account by now. Nil: neither.
	Outdated func() bool
	// ReleaseLost removes a finalizer from a parent as the server itself, if the namespace of the parent is being deleted with the
	// account, so that the finalize hook can never be called. It reports whether it did.
	ReleaseLost func(ctx context.Context, parent *object.Object, finalizer string) (bool, error)

	Events       *kube.Events                                                        // records events about parents
	Write        plan.Writer                                                         // writes to the API server
	GetLive      func(ctx context.Context, o *object.Object) (*object.Object, error) // reads o from the API server
	ServerSide   bool                                                                // write children by server-side apply
	FieldManager string                                                              // of server-side apply
	DryRun       bool                                                                // Write stores nothing
	Only         func(object.Ref) bool                                               // reports whether a parent is reconciled; nil: all are

	ResyncPeriod time.Duration        // zero: no resync
	RetryPeriod  time.Duration        // how often values that the API server stored with another meaning are compared again; zero: never
	ProbeEvery   time.Duration        // how often broken scripts with a fallback are probed; zero: hook.ProbeEvery
	Workers      int                  // how many parents are reconciled at the same time
	Metrics      *metrics.Metrics     // nil: there are no metrics
	Clients      build.WebhookClients // of the webhooks among the hooks

	// versioned is the result of the last IdentityKinds.Update; nil before the first.
	versioned atomic.Pointer[map[object.Kind]bool]
}

// Sharer returns the name under which the controller shares what all controllers of a server share: that of its tenant, or its own without one.
func (b *Binding) Sharer() string { return cmp.Or(b.Tenant, b.Owner()) }

// maxWorkers is the maximum of maxConcurrentSyncs. The CustomResourceDefinition has the same maximum, but the one in the
// cluster may be older.
const maxWorkers = 1000

// Bind makes a Binding and fills in what follows from d alone. found are the resources that d names.
func Bind(d *spec.Declaration, found spec.Resolved) (*Binding, error) {
	b := &Binding{
		ID: d.ID(), Tenant: d.Tenant(), Shape: d.Shape, Finalizer: d.ID().Finalizer(),
		Rules: plan.Rules{}, Kinds: map[object.Kind]bool{},
		ResyncPeriod: resyncPeriod(d.ResyncPeriodSeconds),
	}
	b.RelatedScope.SameNamespace = build.VersionOf(d.Hook(hook.Customize), d.Script) != hook.V2
	rules, err := spec.ParentRules(d, found)
	if err != nil {
		return nil, err
	}
	for _, rule := range rules {
		b.Parents = append(b.Parents, &ParentResource{ParentRule: rule})
	}
	if n := d.Settings.MaxConcurrentSyncs; n != nil {
		b.Workers = min(max(int(*n), 0), maxWorkers)
	}
	switch {
	case d.Shape == hook.Decorator:
		b.ChildAnnotations = map[string]string{claim.DecoratorAnnotation: d.Object.Name}
	case d.GenerateSelector:
		b.Match, b.Labels = claim.GeneratedSelector, claim.GeneratedLabels
		b.ChildLabel, b.Left = ChildLabel(d), &claim.Left{}
	default:
		b.Match = claim.SpecSelector
	}
	for _, rule := range found.Children {
		b.Rules[rule.ObjectKind()] = rule.Method // the last rule of a kind counts
		b.Kinds[rule.ObjectKind()] = rule.Namespaced
	}
	if b.Revisions, err = revisions.New(d, found); b.Revisions != nil {
		b.Revisions.Match, b.Revisions.Labels = b.Match, b.Labels
	}
	return b, err
}

// ChildLabel returns the ChildLabel of the Binding of d.
func ChildLabel(d *spec.Declaration) string {
	if d.GenerateSelector {
		return claim.GeneratedLabel
	}
	return ""
}

func resyncPeriod(seconds *int32) time.Duration {
	if seconds == nil {
		return 0
	}
	return time.Duration(max(*seconds, 1)) * time.Second
}

// Close closes the caches and the webhook clients.
func (b *Binding) Close() {
	for _, cache := range b.Caches() {
		cache.Close()
	}
	b.Clients.Close()
	if b.Release != nil {
		b.Release()
	}
}

// Caches returns the caches: first those of children and revisions, then those of parents.
func (b *Binding) Caches() []*informer.Informer {
	var all []*informer.Informer
	for _, child := range b.Children {
		all = append(all, child.Informer)
	}
	if b.Revisions != nil {
		all = append(all, b.Revisions.Cache)
	}
	for _, parent := range b.Parents {
		all = append(all, parent.Cache)
	}
	return all
}

// CacheOf returns the cache of the objects of that kind, or nil if there is none.
func (b *Binding) CacheOf(kind object.Kind) *informer.Informer {
	if parent := b.Rule(kind); parent != nil {
		return parent.Cache
	}
	for _, child := range b.Children {
		if child.Kind == kind {
			return child.Informer
		}
	}
	if b.Revisions != nil && kind == revisions.Kind {
		return b.Revisions.Cache
	}
	return nil
}

// CacheError returns why caches are not filled or not kept up to date, or nil if nothing is known to be wrong.
func (b *Binding) CacheError() error {
	var failed []error
	for _, cache := range b.Caches() {
		failed = append(failed, cache.SyncError(), cache.Stale())
	}
	return errors.Join(failed...)
}

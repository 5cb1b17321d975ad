package binding

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/build"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/controller/plan"
	"metascript/controller/revisions"
	"metascript/controller/selection"
	"metascript/controller/spec"
)

// A Binding is what a controller object means, whichever of the kinds it is: which objects it is about, whom to ask
// what should be, how to know and update children, and as whom to write.
type Binding struct {
	spec.ID                   // of the controller object
	Controller *object.Object // as its hooks see it
	Generation int64
	Shape      hook.Shape

	Parents   []*ParentResource
	Finalizer string // its name

	build.Hooks                     // that it begins with
	HomeOnly    bool                // a namespaced parent sees related objects of its own namespace only
	Discover    kube.Finder         // of the resources that Customize names
	SeesRelated func(kube.Resource) // is told of each use of a resource, before its cache is opened; nil: nobody is told

	Owner  claim.Claimer
	Rules  plan.Rules
	Kinds  map[object.Kind]bool                                 // the declared child kinds; true: namespaced
	Labels func(parent *object.Object) map[string]string        // put on every child; nil: none
	Marks  map[string]string                                    // annotations put on every child, by which it is known
	Match  func(parent *object.Object) (labels.Selector, error) // what children match; nil: they need not match anything
	Write  plan.Writer
	Live   func(ctx context.Context, o *object.Object) (*object.Object, error) // reads past the caches

	ServerSide   bool   // write children by server-side apply
	FieldManager string // of server-side apply

	Only   func(object.Ref) bool // the parents that are reconciled; nil: all
	DryRun bool                  // what is written is not stored

	ResyncPeriod time.Duration // zero: never
	ProbeEvery   time.Duration // of scripts in whose place webhooks answer; zero: hook.ProbeEvery
	Workers      int
	Metrics      *metrics.Metrics // nil: none are kept

	versioned    atomic.Pointer[map[object.Kind]bool] // see hook.Request; nil: none
	RelatedKinds sync.Map                             // of the related objects there were so far

	Children  []claim.Cache
	Revisions *revisions.Revisions // nil: no kind rolls
	Clients   build.WebhookClients
}

// Bind is as much of a Binding as the declaration alone says.
func Bind(d *spec.Declaration, found spec.Resolved) (*Binding, error) {
	b := &Binding{
		ID: d.ID(), Generation: d.Object.Generation, Shape: d.Shape, Finalizer: d.ID().Finalizer(),
		Rules: plan.Rules{}, Kinds: map[object.Kind]bool{},
		ResyncPeriod: resyncPeriod(d.ResyncPeriodSeconds),
	}
	b.HomeOnly = build.VersionOf(d.Hook(hook.Customize), d.Script) != hook.V2
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
		b.Marks = map[string]string{claim.DecoratorAnnotation: d.Object.Name}
	case d.GenerateSelector:
		b.Match, b.Labels = claim.GeneratedSelector, claim.GeneratedLabels
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

// maxWorkers bounds maxConcurrentSyncs, as the definition does, which may be an older one.
const maxWorkers = 1000

func resyncPeriod(seconds *int32) time.Duration {
	if seconds == nil {
		return 0
	}
	return time.Duration(max(*seconds, 1)) * time.Second
}

// Close gives the caches back.
func (b *Binding) Close() {
	for _, cache := range b.Caches() {
		cache.Close()
	}
	b.Clients.Close()
}

// Caches are those of children and revisions, then those of parents.
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

// Rule is the one about parents of that kind, or nil.
func (b *Binding) Rule(kind object.Kind) *ParentResource {
	at := slices.IndexFunc(b.Parents, func(r *ParentResource) bool { return r.ObjectKind() == kind })
	if at < 0 {
		return nil
	}
	return b.Parents[at]
}

// Parent is the parent of that name as its cache has it, or nil.
func (b *Binding) Parent(ref object.Ref) *object.Object { return b.Rule(ref.Kind).Cache.Get(ref.Key) }

// IsAbout reports whether parents are of a resource in group.
func (b *Binding) IsAbout(group string) bool {
	return slices.ContainsFunc(b.Parents, func(r *ParentResource) bool { return r.Group == group })
}

// Selects reports whether the controller is about parent.
func (b *Binding) Selects(parent *object.Object) bool {
	return b.Rule(parent.GroupVersionKind()).Selects(parent)
}

// Findable is an error when there is no telling which children are parent's.
func (b *Binding) Findable(parent *object.Object) error {
	if b.Match == nil || object.Deleting(parent) {
		return nil // one that goes adopts and releases nothing
	}
	_, err := b.Match(parent)
	return err
}

// Expect is what an answer about parent may hold.
func (b *Binding) Expect(parent *object.Object) (hook.Expect, error) {
	e := hook.Expect{Kinds: b.Kinds, Annotations: b.Marks}
	if b.Match != nil {
		var err error
		if e.Selector, err = b.Match(parent); err != nil && !object.Deleting(parent) {
			return e, err
		}
	}
	if b.Labels != nil {
		e.Labels = b.Labels(parent)
	}
	return e, nil
}

// CacheOf is the cache of the objects of kind, or nil.
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

// OwnerOf names the parent that controls a child, from the reference alone: the parent itself may not be cached yet.
func (b *Binding) OwnerOf(child *object.Object) (object.Ref, bool) {
	ref := object.ControllerOf(child)
	if ref == nil || !claim.HasAnnotations(child, b.Marks) {
		return object.Ref{}, false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return object.Ref{}, false
	}
	for _, parent := range b.Parents {
		if parent.Kind == ref.Kind && parent.Group == gv.Group {
			key := object.Key{Name: ref.Name}
			if parent.Namespaced {
				key.Namespace = child.GetNamespace()
			}
			return object.Ref{Kind: parent.ObjectKind(), Key: key}, true
		}
	}
	return object.Ref{}, false
}

// A ParentResource is a resource whose objects are parents, with the cache of its objects.
type ParentResource struct {
	*spec.ParentRule
	Cache *informer.Informer
}

// selected are the objects that are selected, each once, in no order.
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

// Selected are the parents that the controller selects, each once.
func (b *Binding) Selected() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		for _, rule := range b.Parents {
			for _, o := range rule.selected() {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// Own are the parents that the controller looks after: those that it selects, and those that have its finalizer.
func (b *Binding) Own() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		for o := range b.Selected() {
			if !yield(o) {
				return
			}
		}
		for _, rule := range b.Parents {
			for _, o := range rule.Cache.WithFinalizer(b.Finalizer) {
				if !rule.Selects(o) && !yield(o) {
					return
				}
			}
		}
	}
}

// IsOurs reports whether the controller has to do with parent: it selects it, or it once did and has yet to let go.
func (b *Binding) IsOurs(parent *object.Object) bool {
	return b.Selects(parent) || b.HasFinalizer(parent)
}

func (b *Binding) HasFinalizer(parent *object.Object) bool {
	return slices.Contains(parent.GetFinalizers(), b.Finalizer)
}

func (b *Binding) OtherFinalizers(parent *object.Object) []string {
	return slices.DeleteFunc(slices.Clone(parent.GetFinalizers()), func(f string) bool { return f == b.Finalizer })
}

// Finalizing reports whether it is the finalize hook's turn: the parent is going, or is none of ours any more.
func (b *Binding) Finalizing(parent *object.Object) bool {
	return b.HasFinalizer(parent) && (object.Deleting(parent) || !b.Selects(parent))
}

// CleansUp reports whether a parent that is going has a finalize hook, and not the garbage collector, to look after
// its children.
func (b *Binding) CleansUp(parent *object.Object) bool {
	return b.Finalizing(parent) && !slices.ContainsFunc(parent.GetFinalizers(), func(f string) bool { return slices.Contains(collectorFinalizers, f) })
}

// Count gives how many parents the controller selects.
func (b *Binding) Count() int {
	n := 0
	for range b.Selected() {
		n++
	}
	return n
}

// Trouble is what keeps the caches from being filled, or up to date, as far as it is known.
func (b *Binding) Trouble() error {
	var failed []error
	for _, cache := range b.Caches() {
		failed = append(failed, cache.Trouble(), cache.Stale())
	}
	return errors.Join(failed...)
}

// Owned is what was applied to a child, as its cache knows.
func (b *Binding) Owned(child *object.Object) ownership.Fields {
	cache := b.CacheOf(child.GroupVersionKind())
	if cache == nil {
		return ownership.Fields{}
	}
	return cache.Owned(child.GetUID())
}

// The finalizers with which the garbage collector deletes, or orphans, the children of an object before it goes.
var collectorFinalizers = []string{"foregroundDeletion", "orphan"}

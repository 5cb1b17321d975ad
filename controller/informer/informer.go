// Package informer keeps local caches of Kubernetes objects: one watch per resource, shared and counted.
//
// [Factory.Open] gives a handle to the cache of a resource; the first handle starts its watch and the last one
// closed ends it. Caches hold objects without managedFields, which are often half of an object; what one field manager
// applied to it is kept beside it, see [Factory.Ownership]. They are indexed by the controller that owns an object and, for those that have none, by namespace.
// Indexes by the labels that selectors require are made when such a question first comes, so that neither claiming
// children nor looking for related objects goes through all objects of a kind.
//
// Objects in a cache are shared and must not be changed.
package informer

import (
	"context"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"metascript/controller/object"
	"metascript/controller/ownership"
)

// A Spec says what a cache holds.
type Spec struct {
	Resource  schema.GroupVersionResource
	Namespace string // "" is all
	Selector  string // of labels; "" is all
	Name      string // of the one object; "" is all

	// MetadataOnly keeps nothing of an object but what names and versions it.
	MetadataOnly bool

	// Listed fills the cache from one list request. A streaming list, which is what fills it otherwise, needs less memory
	// for many objects, but the API server ends it only with its next bookmark, up to 1.25 s later.
	Listed bool
}

// A Factory shares caches among those who need the same one. It is safe for concurrent use.
type Factory struct {
	client dynamic.Interface
	log    *slog.Logger

	// Ownership reads what is kept of the managedFields of an object; nil keeps nothing. It is set before the first Open.
	Ownership func(*object.Object) ownership.Fields

	mu     sync.Mutex
	shared map[Spec]*shared
}

// shared is one running watch and the number of handles to it.
type shared struct {
	cache.SharedIndexInformer
	handles int
	stop    context.CancelFunc
	done    chan struct{}
	trouble atomic.Pointer[trouble] // the last with the watch
	owned   owned

	mu      sync.Mutex
	lookups map[string]bool // the indexes that were made because of a question, by name
}

// NewFactory gives a Factory without caches.
func NewFactory(client dynamic.Interface, log *slog.Logger) *Factory {
	return &Factory{client: client, log: log, shared: map[Spec]*shared{}}
}

// Open gives a handle to the cache that spec describes, and starts its watch when it is the first.
func (f *Factory) Open(spec Spec) *Informer {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shared[spec]
	if s == nil {
		s = f.start(spec)
		f.shared[spec] = s
	}
	s.handles++
	return &Informer{spec: spec, shared: s, factory: f}
}

// Running counts the watches, for tests and metrics.
func (f *Factory) Running() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.shared)
}

// Sizes counts the objects in the caches.
func (f *Factory) Sizes() map[schema.GroupVersionResource]int {
	f.mu.Lock()
	all := maps.Clone(f.shared)
	f.mu.Unlock()
	sizes := map[schema.GroupVersionResource]int{}
	for spec, s := range all {
		sizes[spec.Resource] += len(s.GetStore().ListKeys())
	}
	return sizes
}

func (f *Factory) start(spec Spec) *shared {
	inf := dynamicinformer.NewFilteredDynamicInformer(spec.through(f.client), spec.Resource, spec.Namespace, 0,
		cache.Indexers{byOwner: ownerIndex, byOrphan: orphanIndex},
		spec.narrow).Informer()
	ctx, stop := context.WithCancel(context.Background())
	s := &shared{SharedIndexInformer: inf, stop: stop, done: make(chan struct{}), lookups: map[string]bool{}}
	s.owned.read = f.Ownership
	// The setters fail only on an informer that has been started, or has ended.
	_ = inf.SetTransform(func(obj any) (any, error) {
		s.owned.note(obj)
		return spec.strip(obj)
	})
	_, _ = inf.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: s.owned.forget})
	_ = inf.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		s.trouble.Store(&trouble{err, time.Now(), inf.LastSyncResourceVersion()})
		f.log.Info("watch interrupted, trying again", "resource", spec.Resource.String(), "error", err)
	})
	go func() {
		defer close(s.done)
		inf.RunWithContext(ctx)
	}()
	return s
}

// through is the client to use, which says whether lists are streamed.
func (s Spec) through(client dynamic.Interface) dynamic.Interface {
	if s.Listed {
		return listing{client}
	}
	return client
}

// listing is a client whose lists are not streamed.
type listing struct{ dynamic.Interface }

// IsWatchListSemanticsUnSupported is what client-go asks a client for.
func (listing) IsWatchListSemanticsUnSupported() bool { return true }

// narrow asks the API server for no more than spec says.
func (s Spec) narrow(o *metav1.ListOptions) {
	o.LabelSelector = s.Selector
	if s.Name != "" {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.Name).String()
	}
}

// release counts a handle off, and ends the watch with the last one.
func (f *Factory) release(spec Spec, s *shared) {
	f.mu.Lock()
	s.handles--
	last := s.handles == 0
	if last {
		delete(f.shared, spec)
	}
	f.mu.Unlock()
	if last {
		s.stop()
		<-s.done
	}
}

// The indexes.
const (
	byOwner  = "owner"  // the UID of the controller reference
	byOrphan = "orphan" // the namespace, and everywhere, of what has no controller reference
)

// everywhere is the value under which orphans of all namespaces are indexed; no namespace is called so.
const everywhere = "*"

func ownerIndex(obj any) ([]string, error) {
	if ref := object.ControllerOf(obj.(*object.Object)); ref != nil {
		return []string{string(ref.UID)}, nil
	}
	return nil, nil
}

// orphanage is the value for the orphans of a namespace, "" being all.
func orphanage(namespace string) string {
	if namespace == "" {
		return everywhere
	}
	return namespace
}

func orphanIndex(obj any) ([]string, error) {
	o := obj.(*object.Object)
	if object.ControllerOf(o) != nil {
		return nil, nil
	}
	return []string{o.GetNamespace(), everywhere}, nil
}

// strip drops what the cache does not keep.
func (s Spec) strip(obj any) (any, error) {
	o, ok := obj.(*object.Object)
	if !ok {
		return obj, nil
	}
	o.SetManagedFields(nil)
	if s.MetadataOnly {
		for field := range o.Object {
			if field != "apiVersion" && field != "kind" && field != "metadata" {
				delete(o.Object, field)
			}
		}
	}
	return o, nil
}

// An Informer is a handle to a shared cache. It is safe for concurrent use, except Close, which comes once and last.
type Informer struct {
	spec    Spec
	shared  *shared
	factory *Factory

	mu            sync.Mutex
	registrations []cache.ResourceEventHandlerRegistration
}

// Again gives another handle to the same cache.
func (i *Informer) Again() *Informer { return i.factory.Open(i.spec) }

// Resource is what the cache is of.
func (i *Informer) Resource() schema.GroupVersionResource { return i.spec.Resource }

// Handle calls on for every change of an object, one at a time, after the cache has it: on(nil, o) when o is there
// (also for those that were there before), on(old, o) when it changed, on(old, nil) when it is gone.
//
// A panic in on is logged: it must not take the watch, and with it every other controller, down.
func (i *Informer) Handle(handler func(old, current *object.Object)) error {
	on := func(old, current *object.Object) {
		defer func() {
			if r := recover(); r != nil {
				i.factory.log.Error("panic in an event handler, please report it", "resource", i.spec.Resource.String(), "panic", r, "stack", string(debug.Stack()))
			}
		}()
		handler(old, current)
	}
	r, err := i.shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { on(nil, o.(*object.Object)) },
		UpdateFunc: func(old, o any) { on(old.(*object.Object), o.(*object.Object)) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if last, ok := o.(*object.Object); ok {
				on(last, nil)
			}
		},
	})
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.registrations = append(i.registrations, r)
	return nil
}

// Synced waits until the cache is filled and every handler of this Informer has seen what is in it, or until ctx is
// done; it reports which.
func (i *Informer) Synced(ctx context.Context) bool {
	i.mu.Lock()
	waits := []cache.InformerSynced{i.shared.HasSynced}
	for _, r := range i.registrations {
		waits = append(waits, r.HasSynced)
	}
	i.mu.Unlock()
	return cache.WaitForCacheSync(ctx.Done(), waits...)
}

// Settled waits until the cache is filled or there is trouble with it, or until ctx is done.
func (i *Informer) Settled(ctx context.Context) {
	cache.WaitForCacheSync(ctx.Done(), func() bool { return i.Filled() || i.Trouble() != nil })
}

// Filled reports whether the cache is, so that what is not in it does not exist.
func (i *Informer) Filled() bool { return i.shared.HasSynced() }

// Trouble is why the cache is not filled yet, as far as it is known: the last error of its watch.
func (i *Informer) Trouble() error {
	if last := i.shared.trouble.Load(); last != nil && !i.shared.HasSynced() {
		return last.err
	}
	return nil
}

// Stale is why the cache, once filled, is not kept up to date, if that is no passing thing: its watch is not permitted
// any more, or what it is about is not served.
func (i *Informer) Stale() error {
	if last := i.shared.trouble.Load(); last != nil && i.shared.HasSynced() && last.lasts(i.shared.LastSyncResourceVersion()) {
		return last.err
	}
	return nil
}

// A trouble is an error of a watch.
type trouble struct {
	err error
	at  time.Time

	version string // of the cache
}

// afresh is how long an error of a watch counts: it is tried again at least every minute.
const afresh = 2 * time.Minute

// lasts reports whether the watch is still in trouble, most likely, now that the cache has that version.
func (t *trouble) lasts(version string) bool {
	return version == t.version && time.Since(t.at) < afresh && (apierrors.IsForbidden(t.err) || apierrors.IsUnauthorized(t.err) || apierrors.IsNotFound(t.err))
}

// Close takes the handlers off and gives the handle back.
func (i *Informer) Close() {
	for _, r := range i.registrations {
		_ = i.shared.RemoveEventHandler(r) // fails only for what is not a handler of it
	}
	i.factory.release(i.spec, i.shared)
}

// Get is the object of that name, or nil.
func (i *Informer) Get(key object.Key) *object.Object {
	o, found, err := i.shared.GetIndexer().GetByKey(key.String())
	if err != nil || !found {
		return nil
	}
	return o.(*object.Object)
}

// List gives all objects, in no order.
func (i *Informer) List() []*object.Object { return objects(i.shared.GetIndexer().List()) }

// OwnedBy gives the objects whose controller is the one with that UID, in no order.
func (i *Informer) OwnedBy(uid types.UID) []*object.Object { return i.indexed(byOwner, string(uid)) }

// CaughtUp reports whether the cache is as new as resourceVersion, which a write to this resource returned.
func (i *Informer) CaughtUp(resourceVersion string) bool {
	seen := i.shared.GetIndexer().LastStoreSyncResourceVersion()
	order, err := resourceversion.CompareResourceVersion(seen, resourceVersion)
	return err != nil || order >= 0 // what cannot be compared is not waited for
}

func (i *Informer) indexed(index, value string) []*object.Object {
	found, err := i.shared.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil // only for an index that does not exist
	}
	return objects(found)
}

func objects(items []any) []*object.Object {
	list := make([]*object.Object, len(items))
	for n, item := range items {
		list[n] = item.(*object.Object)
	}
	return list
}

// Package informer has caches of Kubernetes objects, with one shared watch for each resource.
//
// [Factory.Open] returns a handle to the cache of a resource. The first handle starts the watch, and closing the last one stops
// it. A handle that needs only the objects with a label may get a cache of these; see Spec.Label.
//
// Objects are packed when they are read from the connection (decode.go), so that no map is made of them. They are cached without
// managedFields, which are often half of an object; the fields that one field manager owns are stored beside the object, see
// [Informer.Owned].
//
// Objects are indexed by the UID in their controller owner reference, and orphans by their namespace. Indexes by labels are added when a
// selector first needs them, so that neither claiming children nor selecting related objects reads all objects of a kind.
//
// Objects in a cache are shared and must not be changed.
package informer

import (
	"context"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/controller/selection"
)

// A Spec says which objects a cache has. Caches are shared between handles with equal Specs.
type Spec struct {
	Resource  schema.GroupVersionResource
	Namespace string // "" is all namespaces, or with Namespaced those of the Factory
	Selector  string // of labels; "" selects all
	Name      string // of a single object; "" is all objects

	// Label is the key of a label without which the objects are not needed; "" needs all. The cache may have them nevertheless: it is
	// that of the handles that need all, if they have one, so that no object is stored twice. If such a handle is opened later, the
	// others use its cache too as soon as it has synced, and until they are closed; see Factory.Widened. Two different labels of one
	// resource would have two caches: there is only one label that is used, that of generated selectors.
	Label string

	// Namespaced says that the resource has namespaces, so that Factory.Namespaces limits the cache.
	Namespaced bool

	// MetadataOnly needs no fields of an object but apiVersion, kind and metadata, and the API server is asked for no others. If a cache of
	// the whole objects is open already, the handle uses that one, so that their metadata is not stored twice. A cache of the whole objects
	// that is opened later does not replace the one of metadata, which is small.
	MetadataOnly bool
	Kind         string // of the objects, with MetadataOnly: the API server does not send it

	// Listed fills the cache with a list request instead of a streaming list. A streaming list needs less memory for many
	// objects, but the API server ends it with its next bookmark, up to 1.25 s later.
	Listed bool
}

// A Factory opens caches and shares them between handles. It is safe for concurrent use.
type Factory struct {
	client dynamic.Interface
	log    *slog.Logger

	// REST, if set, is the client for lists and watches, see wire.NewClient: their responses are decoded straight into packed objects. With
	// nil, the objects of the other client are converted. It is set before the first Open.
	REST rest.Interface

	// Ownership reads the JSON text of the managedFields of an object, for [Informer.Owned]. nil: they are dropped. It is set before
	// the first Open.
	Ownership func(managedFields []byte) ownership.Fields

	// Namespaces limits the caches of resources with namespaces, which then have a watch for each; nil: all. It is set before the first
	// Open.
	Namespaces selection.Namespaces

	// Widened is called after handles that need only the objects with a label have begun to use the cache of all objects of a resource.
	// Handlers then got all objects again, but some deletions may not have been passed: who depends on them looks at the cache again. Nil
	// is not called. It is set before the first Open.
	Widened func(schema.GroupVersionResource)

	mu     sync.Mutex // guards shared, and handles of each
	shared map[Spec]*shared
}

// shared is a running cache and its watch.
type shared struct {
	cache.SharedIndexInformer
	spec     Spec
	handles  map[*Informer]bool
	stop     context.CancelFunc         // stops the watch
	done     chan struct{}              // closed when the watch has stopped
	watchErr atomic.Pointer[watchError] // the last error of the watch

	mu      sync.Mutex      // guards lookups, and adding indexes
	lookups map[string]bool // the names of the indexes that were added for a selector
}

// NewFactory returns a Factory without caches.
func NewFactory(client dynamic.Interface, log *slog.Logger) *Factory {
	return &Factory{client: client, log: log, shared: map[Spec]*shared{}}
}

// Open returns a handle to the cache that spec describes. It starts the cache if this is its first handle. The caller must close
// the handle.
func (f *Factory) Open(spec Spec) *Informer {
	i := &Informer{spec: spec, factory: f}
	namespaces := []string{spec.Namespace}
	if spec.Namespaced && spec.Namespace == "" {
		namespaces = f.Namespaces.Requests()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make(parts, 0, len(namespaces))
	for _, namespace := range namespaces {
		part := f.part(spec.in(namespace))
		part.handles[i] = true
		all = append(all, part)
	}
	i.open.Store(&all)
	return i
}

// part returns the cache for another handle with a spec. The caller has locked mu.
func (f *Factory) part(spec Spec) *shared {
	if s := f.shared[spec]; s != nil {
		return s
	}
	for _, other := range []Spec{spec.wide(), spec.full()} {
		if s := f.shared[other]; s != nil {
			return s
		}
	}
	s := f.start(spec)
	f.shared[spec] = s
	for other, narrow := range f.shared {
		if narrow != s && other.wide() == spec {
			go f.widen(narrow, s) // ends when s has synced or was stopped
		}
	}
	return s
}

// in returns the spec of the cache of one namespace; "" is all.
func (s Spec) in(namespace string) Spec {
	s.Namespace, s.Namespaced = namespace, false
	return s
}

// Running returns how many watches run.
func (f *Factory) Running() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.shared)
}

// Secrets returns the Secrets that any cache has. One that two caches have is there twice.
func (f *Factory) Secrets() []*object.Object {
	f.mu.Lock()
	all := maps.Clone(f.shared)
	f.mu.Unlock()
	var objects []*object.Object
	for spec, s := range all {
		if spec.Resource.GroupResource() == secrets && !spec.MetadataOnly {
			for _, o := range s.GetStore().List() {
				objects = append(objects, objectOf(o))
			}
		}
	}
	return objects
}

// A State is the state of the caches of one resource.
type State struct {
	Objects int
	Stale   bool // one of them gets no updates; see Informer.Stale
}

// States returns the state of the caches of each resource.
func (f *Factory) States() map[schema.GroupVersionResource]State {
	f.mu.Lock()
	all := maps.Clone(f.shared)
	f.mu.Unlock()
	states := map[schema.GroupVersionResource]State{}
	for spec, s := range all {
		state := states[spec.Resource]
		state.Objects += len(s.GetStore().ListKeys())
		state.Stale = state.Stale || s.stale() != nil
		states[spec.Resource] = state
	}
	return states
}

// start starts the cache that spec describes.
func (f *Factory) start(spec Spec) *shared {
	s := &shared{spec: spec, done: make(chan struct{}), handles: map[*Informer]bool{}, lookups: map[string]bool{}}
	s.SharedIndexInformer = cache.NewSharedIndexInformer(f.source(spec), &cached{}, 0, cache.Indexers{byOwner: ownerIndex, byOrphan: orphanIndex})
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	// The setter fails only on an informer that has been started.
	_ = s.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		s.watchErr.Store(&watchError{err, time.Now(), s.LastSyncResourceVersion()})
		f.log.Info("watch interrupted, trying again", "resource", spec.Resource.String(), "error", err)
	})
	go func() {
		defer close(s.done)
		s.RunWithContext(ctx)
	}()
	return s
}

// secrets is the resource of Secrets.
var secrets = schema.GroupResource{Resource: "secrets"}

// limitRequest limits a list or watch request to the objects of the spec.
func (s Spec) limitRequest(o *metav1.ListOptions) {
	o.LabelSelector = strings.Join(slices.DeleteFunc([]string{s.Selector, s.Label}, func(part string) bool { return part == "" }), ",")
	switch {
	case s.Name != "":
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.Name).String()
	case s.Resource.GroupResource() == secrets: // those of the server itself are not for hooks
		o.FieldSelector = fields.OneTermNotEqualSelector("type", object.PrivateSecret).String()
	}
}

// release removes a handle, unless it was removed. If it is the last one, release stops the watch and waits until it has stopped.
func (f *Factory) release(s *shared, i *Informer) {
	f.mu.Lock()
	last := s.handles[i] && len(s.handles) == 1
	delete(s.handles, i)
	if last {
		delete(f.shared, s.spec)
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
	byOrphan = "orphan" // the namespace, and everywhere, of objects without a controller reference
)

// everywhere is the index value of the orphans of all namespaces. It is not a valid name of a namespace.
const everywhere = "*"

// copies returns texts of an object as the values of an index. An index keeps a value as long as any object has it, which may be longer than
// it keeps the object. So the values are copies, which do not keep the object in memory.
func copies(texts ...string) []string {
	for i, text := range texts {
		texts[i] = strings.Clone(text)
	}
	return texts
}

// ownerIndex implements cache.IndexFunc.
func ownerIndex(obj any) ([]string, error) {
	if ref := object.OwnerOf(objectOf(obj)); ref != nil {
		return copies(string(ref.UID)), nil
	}
	return nil, nil
}

// orphanValue returns the index value of the orphans of a namespace; "" is all namespaces.
func orphanValue(namespace string) string {
	if namespace == "" {
		return everywhere
	}
	return namespace
}

// orphanIndex implements cache.IndexFunc.
func orphanIndex(obj any) ([]string, error) {
	o := objectOf(obj)
	if object.OwnerOf(o) != nil {
		return nil, nil
	}
	return []string{strings.Clone(o.GetNamespace()), everywhere}, nil
}

// An Informer is a handle to a shared cache. It is safe for concurrent use, except Close, which must be the last call.
type Informer struct {
	spec    Spec
	open    atomic.Pointer[parts]
	factory *Factory

	mu       sync.Mutex // guards handlers and closed, and changes of open
	handlers []handler
	closed   bool
}

// parts are the caches of a handle: usually one; one for each of Factory.Namespaces.
type parts []*shared

func (i *Informer) parts() parts { return *i.open.Load() }

// A handler is an event handler of a part.
type handler struct {
	part *shared
	cache.ResourceEventHandlerRegistration
	events cache.ResourceEventHandler
}

// Again returns another handle to the same cache.
func (i *Informer) Again() *Informer { return i.factory.Open(i.spec) }

// Spec returns the spec of the handle.
func (i *Informer) Spec() Spec { return i.spec }

// Handle calls handler for each change of an object, one at a time, after the cache has the change: handler(nil, o) after o was
// added, also for each object that is in the cache already; handler(old, o) after it was updated; handler(old, nil) after it
// was deleted.
//
// A panic in handler is logged. It stops neither the watch nor the other handlers.
func (i *Informer) Handle(handle func(old, current *object.Object)) error {
	var one sync.Mutex // at a time, if there are several parts
	on := func(old, current *object.Object) {
		one.Lock()
		defer one.Unlock()
		defer func() {
			if r := recover(); r != nil {
				i.factory.log.Error("panic in an event handler, please report it", "resource", i.spec.Resource.String(), "panic", r, "stack", string(debug.Stack()))
			}
		}()
		handle(old, current)
	}
	events := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { on(nil, objectOf(o)) },
		UpdateFunc: func(old, o any) { on(objectOf(old), objectOf(o)) },
		DeleteFunc: func(o any) {
			if deleted, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = deleted.Obj
			}
			if last, ok := o.(*cached); ok {
				on(&last.Object, nil)
			}
		},
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, part := range i.parts() {
		r, err := part.AddEventHandler(events)
		if err != nil {
			return err
		}
		i.handlers = append(i.handlers, handler{part, r, events})
	}
	return nil
}

// WaitForSync waits until the cache has synced and each handler of this Informer was called for the objects in it. It returns false if
// ctx is done before.
func (i *Informer) WaitForSync(ctx context.Context) bool {
	i.mu.Lock()
	waits := []cache.InformerSynced{i.HasSynced}
	for _, h := range i.handlers {
		waits = append(waits, h.HasSynced)
	}
	i.mu.Unlock()
	return cache.WaitForCacheSync(ctx.Done(), waits...)
}

// WaitForSyncOrError waits until the cache has synced, or its watch has failed, or ctx is done.
func (i *Informer) WaitForSyncOrError(ctx context.Context) {
	cache.WaitForCacheSync(ctx.Done(), func() bool { return i.HasSynced() || i.SyncError() != nil })
}

// HasSynced reports whether the cache has synced. Before that, objects that exist may be missing.
func (i *Informer) HasSynced() bool {
	return !slices.ContainsFunc(i.parts(), func(s *shared) bool { return !s.HasSynced() })
}

// SyncError returns the last error of the watch if the cache has not synced yet, and nil otherwise.
func (i *Informer) SyncError() error {
	for _, s := range i.parts() {
		if last := s.watchErr.Load(); last != nil && !s.HasSynced() {
			return last.err
		}
	}
	return nil
}

// Stale returns the last error of the watch if the cache has synced but gets no updates since then, because the watch is not
// permitted or the resource is not served any more. It returns nil otherwise, also after other errors, which are temporary.
func (i *Informer) Stale() error {
	for _, s := range i.parts() {
		if err := s.stale(); err != nil {
			return err
		}
	}
	return nil
}

// stale implements Stale for one cache.
func (s *shared) stale() error {
	if last := s.watchErr.Load(); last != nil && s.HasSynced() && last.lasts(s.LastSyncResourceVersion()) {
		return last.err
	}
	return nil
}

// A watchError is an error of a watch.
type watchError struct {
	err     error
	at      time.Time
	version string // the resourceVersion of the cache at that time
}

// errorAge is how long an error of a watch is reported. client-go retries the watch at least every minute.
const errorAge = 2 * time.Minute

// lasts reports whether the watch probably still fails. version is the current resourceVersion of the cache.
func (e *watchError) lasts(version string) bool {
	return version == e.version && time.Since(e.at) < errorAge && (apierrors.IsForbidden(e.err) || apierrors.IsUnauthorized(e.err) || apierrors.IsNotFound(e.err))
}

// Close removes the handlers of this Informer and closes the handle. It must be called once.
func (i *Informer) Close() {
	i.mu.Lock()
	i.closed = true
	for _, h := range i.handlers {
		_ = h.part.RemoveEventHandler(h.ResourceEventHandlerRegistration) // fails only for a handler of another informer
	}
	i.mu.Unlock()
	for _, s := range i.parts() {
		i.factory.release(s, i)
	}
}

// part returns the cache that has the objects of a namespace; nil if none has.
func (i *Informer) part(namespace string) *shared {
	for _, s := range i.parts() {
		if s.spec.Namespace == "" || s.spec.Namespace == namespace {
			return s
		}
	}
	return nil
}

// Get returns the object with this name, or nil.
func (i *Informer) Get(key object.Key) *object.Object {
	if c := i.part(key.Namespace).get(key); c != nil {
		return &c.Object
	}
	return nil
}

// get returns what is stored of the object with this name, or nil. s may be nil.
func (s *shared) get(key object.Key) *cached {
	if s == nil {
		return nil
	}
	o, found, err := s.GetIndexer().GetByKey(key.String())
	if err != nil || !found {
		return nil
	}
	return o.(*cached)
}

// List returns all objects, in no order.
func (i *Informer) List() []*object.Object {
	return i.parts().collect(func(s *shared) []any { return s.GetIndexer().List() })
}

// OwnedBy returns the objects whose controller has this UID, in no order.
func (i *Informer) OwnedBy(uid types.UID) []*object.Object { return i.indexed(byOwner, string(uid)) }

// CaughtUp reports whether the cache is at least as new as resourceVersion, which a write to an object in this namespace returned. It
// is true if the versions cannot be compared, or if the cache does not have the objects of this namespace.
func (i *Informer) CaughtUp(namespace, resourceVersion string) bool {
	s := i.part(namespace)
	if s == nil {
		return true
	}
	seen := s.GetIndexer().LastStoreSyncResourceVersion()
	order, err := resourceversion.CompareResourceVersion(seen, resourceVersion)
	return err != nil || order >= 0
}

// indexed returns the objects with a value in an index; nil if there is no such index.
func (i *Informer) indexed(index, value string) []*object.Object {
	return i.parts().collect(func(s *shared) []any {
		found, err := s.GetIndexer().ByIndex(index, value)
		if err != nil {
			return nil
		}
		return found
	})
}

// collect returns the objects that from returns for each part.
func (p parts) collect(from func(*shared) []any) []*object.Object {
	var list []*object.Object
	for _, s := range p {
		items := from(s)
		list = slices.Grow(list, len(items))
		for _, item := range items {
			list = append(list, objectOf(item))
		}
	}
	return list
}

package controller

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/bodies"
	"metascript/controller/build"
	"metascript/controller/finalizers"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/lease"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/controller/reconcile"
	"metascript/controller/references"
	"metascript/controller/spec"
	"metascript/controller/static"
	"metascript/scripts"
)

// Options configure a Server. Only Config and an engine in Sandbox are needed.
type Options struct {
	Config            *rest.Config
	Sandbox           build.Sandbox
	Workers           int                   // per controller; default 8
	DiscoveryInterval time.Duration         // how long an answer of discovery is used; default 30s
	DeletionGrace     time.Duration         // how long a controller object is gone before its finalizers are; default 1m
	ProbeEvery        time.Duration         // of scripts in whose place webhooks answer; default hook.ProbeEvery
	FlushInterval     time.Duration         // after which every parent is reconciled; zero: never
	Selector          labels.Selector       // of controller objects; nil is all
	Events            kube.EventBudget      // of events about one object
	Metrics           prometheus.Registerer // nil: metrics are not kept
	Log               *slog.Logger          // nil drops

	ApplyStrategy v1alpha1.ApplyStrategy // of controllers that do not say theirs; default DynamicApply
	FieldManager  string                 // under which server-side apply owns fields; default kube.FieldManager

	WebhookMemory   int64                    // bytes of webhooks' answers in flight; default bodies.Default
	MissingChildren v1alpha1.MissingChildren // of webhooks that do not say theirs; default Delete

	Folders *scripts.Folders // where scripts in files are; nil: nowhere

	Given    *static.Source        // the controller objects; nil: those in the cluster
	Only     func(object.Ref) bool // the parents that are reconciled; nil: all
	Observer reconcile.Observer    // is told what is done; nil: nobody is
	DryRun   bool                  // everything is only tried, and nothing stored in the cluster

	Election  *lease.Election // nil: no other server runs beside this one
	Namespace string          // the server's own; default metacontroller
}

// A Server runs the controllers of a cluster: one loop for each controller object, started, replaced and stopped as
// the objects come, change and go.
type Server struct {
	Options
	sandbox   *build.Sandbox
	client    dynamic.Interface
	resources *kube.Resources
	caches    *informer.Factory
	events    *kube.Events
	write     *kube.Writer
	outlines  metadata.Interface
	opened    atomic.Bool // the caches of controller objects are
	known     atomic.Bool // the controller objects are
	ready     atomic.Bool // see Waiting
	waitedFor recent

	firsts       *reconcile.IdentityKinds
	statusPruned atomic.Bool  // the API server does not store a status for controllers
	definedAt    atomic.Int64 // when, in ns, the definition of a kind of controllers changed while we looked
	seen         sync.Map     // ids of controller objects that have been loaded, or tried to
	met          sync.Map     // UID of a controller object -> when it was seen first
	told         sync.Map     // id of a controller object -> what the log and its events said of it last
	departed     sync.Map     // id of a controller object -> departure

	references *references.Watcher // ConfigMaps with scripts, and what webhooks refer to
	filed      sync.Map            // ids of controller objects with scripts in files
	edited     chan struct{}
	sights     sync.Map // id of a controller object -> what its scripts were read as
	stuck      sync.Map // id of a controller object -> *throttle.LoadBackoff
	goods      sync.Map // id of a controller object -> *goodVersion
	rejects    sync.Map // id of a controller object -> *rejection
	judged     sync.Map // UIDs of controller objects of which this server knows, better than their status, what was given up
	warned     sync.Map // why good versions are not kept, as far as it was told

	bodies *bodies.Budget // of webhooks' answers in flight
	kept   *bodies.Budget // of those that are kept by their ETags

	unfinalized *finalizers.BlockedReporter // parents that wait for a controller that does not run

	controllers map[string]static.Objects // by kind
	crds        static.Objects            // the CustomResourceDefinitions
	queue       workqueue.TypedRateLimitingInterface[spec.ID]
	order       *metrics.Shared[spec.ID] // of queue, for its metrics

	shared    *reconcile.Shared
	leading   *lease.Gate      // opened when the server begins to work
	candidate *lease.Candidate // nil: there is no Election
	metrics   *metrics.Metrics // nil: none are kept

	mu      sync.Mutex
	running map[spec.ID]*running
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// defaultNamespace is where Metacontroller is at home.
const defaultNamespace = "metacontroller"

// New connects to a cluster; nothing runs before Run.
func New(o Options) (*Server, error) {
	if o.Workers <= 0 {
		o.Workers = 8
	}
	if o.DiscoveryInterval <= 0 {
		o.DiscoveryInterval = 30 * time.Second
	}
	if o.DeletionGrace <= 0 {
		o.DeletionGrace = time.Minute
	}
	if o.Selector == nil {
		o.Selector = labels.Everything()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Namespace = cmp.Or(o.Namespace, defaultNamespace)
	counts, err := o.count()
	if err != nil {
		return nil, err
	}
	var candidate *lease.Candidate
	if o.Election != nil {
		candidate = &lease.Candidate{Election: *o.Election, Config: o.Config, Fence: lease.New(lease.RenewDeadline), Log: o.Log}
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Wrap(candidate.Fence.Wrap)
	}
	client, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	typed, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	outlines, err := metadata.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	resources := kube.NewResources(discoverer, o.DiscoveryInterval)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[spec.ID](time.Second, o.DiscoveryInterval)
	order := metrics.NewShared(counts, func(of spec.ID) string { return loadQueues[of.Kind] }, slices.Collect(maps.Values(loadQueues))...)
	s := &Server{
		Options:   o,
		sandbox:   o.Sandbox.WithDefaults(),
		client:    client,
		resources: resources,
		firsts:    reconcile.NewIdentityKinds(),
		caches:    informer.NewFactory(client, o.Log),
		events:    kube.NewEvents(typed, o.Events),
		write:     &kube.Writer{Client: client, Resources: resources, Manager: o.FieldManager, DryRun: o.DryRun},
		outlines:  outlines,
		queue:     queueOf(limiter, order),
		order:     order,
		running:   map[spec.ID]*running{},

		controllers: map[string]static.Objects{},
		shared:      reconcile.NewShared(),
		leading:     lease.NewGate(),
		candidate:   candidate,
		metrics:     counts,
	}
	s.caches.Ownership = func(of *object.Object) ownership.Fields {
		return ownership.Of(of, s.write.Applier(), kube.FieldManager)
	}
	s.shared.Related.Log = s.Log
	s.shared.Related.Open = func(resource kube.Resource) *informer.Informer {
		return s.caches.Open(informer.Spec{Resource: resource.GroupVersionResource})
	}
	s.edited = make(chan struct{}, 1)
	s.bodies = bodies.New(o.WebhookMemory)
	s.kept = bodies.New(s.bodies.Size() / 2)
	s.unfinalized = finalizers.NewBlockedReporter(s.caches, resources, s.events)
	s.references = references.NewWatcher(s.caches)
	s.events.Divert = s.divert
	return s, s.collect()
}

// loaders is how many controller objects are loaded at the same time: a script may take its whole timeout to
// compile, and a loop that is replaced may take a while to end, and must not keep the others waiting.
const loaders = 32

// Run follows the controller objects until ctx is done; then it lets what is under way finish.
func (s *Server) Run(ctx context.Context) error {
	defer s.events.Shutdown()
	if s.candidate != nil {
		s.events.Mute(true)
		return s.candidate.Run(ctx, lease.Callbacks{Lead: s.lead, Lose: func() { s.events.Mute(true) }, Serve: s.run})
	}
	s.leading.Open()
	return s.run(ctx)
}

func (s *Server) run(ctx context.Context) error {
	defer s.queue.ShutDown() // also when it ends before it begins
	for kind := range spec.Resources {
		s.controllers[kind] = s.open(kind)
		defer s.controllers[kind].Close()
	}
	s.crds = s.caches.Open(informer.Spec{Resource: definitions, MetadataOnly: true, Listed: true})
	defer s.crds.Close()
	for kind := range spec.Resources {
		if err := s.controllers[kind].Handle(s.onController); err != nil {
			return err
		}
	}
	if err := s.crds.Handle(s.onDefinition); err != nil {
		return err
	}
	if s.Folders != nil {
		defer s.Folders.Follow(s.onFiles)()
	}
	defer s.references.Close()
	defer s.unfinalized.Close()
	s.opened.Store(true)
	for kind := range spec.Resources {
		if !s.controllers[kind].Synced(ctx) {
			return nil // ctx is done
		}
	}
	if !s.crds.Synced(ctx) {
		return nil
	}
	s.known.Store(true)
	var workers sync.WaitGroup
	workers.Go(func() { s.tellAll(ctx) })
	workers.Go(func() { s.watchRunaways(ctx) })
	if s.Given == nil { // else there are others in the cluster, whose scripts are not ours to remove
		workers.Go(func() { s.sweep(ctx) })
	}
	if s.Folders != nil {
		workers.Go(func() { s.Folders.Run(ctx) })
		workers.Go(func() { s.lookAtFiles(ctx) })
	}
	for range loaders {
		workers.Go(func() { s.work(ctx) })
	}
	<-ctx.Done()
	s.queue.ShutDown()
	workers.Wait()
	s.stopAll()
	return nil
}

// open gives the controller objects of a kind. It tells what a watch that fails for ever would not tell well.
func (s *Server) open(kind string) static.Objects {
	if s.Given != nil {
		return s.Given.Of(kind)
	}
	resource := spec.Resources[kind]
	if _, err := s.resources.ByName(v1alpha1.GroupVersion.String(), resource.Resource); err != nil {
		s.Log.Warn("the API server does not serve "+kind+"s; apply manifests/crds; waiting", "error", err)
	}
	return s.caches.Open(informer.Spec{Resource: resource, Selector: s.Selector.String(), Listed: true})
}

func (s *Server) onController(old, current *object.Object) {
	switch {
	case current == nil:
		s.met.Delete(old.GetUID())
		s.judged.Delete(old.GetUID())
		s.departed.Store(spec.IDOf(old), departure{old, time.Now()})
		s.queue.Add(spec.IDOf(old))
	case old == nil || old.GetUID() != current.GetUID() || old.GetGeneration() != current.GetGeneration():
		s.queue.Add(spec.IDOf(current))
	case reconcile.RemovesFinalizers(old) != reconcile.RemovesFinalizers(current):
		s.queue.Add(spec.IDOf(current))
	case !s.leads() && givenUpBy(old) != givenUpBy(current):
		s.queue.Add(spec.IDOf(current)) // not to try it again when this server leads
	} // anything else is our own status, which must not lead to the next one
}

// object is the controller object of that name, or nil.
func (s *Server) object(name spec.ID) *object.Object {
	return s.controllers[name.Kind].Get(object.Key{Name: name.Name})
}

// onDefinition looks at every controller again when a kind appears, changes or goes, since it may be theirs. It does so
// a second time when the API server serves what the definition says.
func (s *Server) onDefinition(old, current *object.Object) {
	if !s.known.Load() {
		return // it was there before us, and no controller has been looked at
	}
	edited := old != nil && (current == nil || old.GetGeneration() != current.GetGeneration())
	if current == nil {
		current = old
	}
	group := groupOf(current.GetName())
	s.resources.Forget(group)
	if group == v1alpha1.Group && edited {
		s.definedAt.Store(time.Now().UnixNano())
		s.statusPruned.Store(false)
	}
	if edited {
		s.firsts.Changed(group)
	}
	for _, r := range s.all() {
		if r.loop.IsAbout(group) {
			r.loop.RetryStatus()
		}
		if edited {
			s.firsts.Update(r.loop.Binding)
		}
		r.loop.Rediscover(group)
	}
	for _, controllers := range s.controllers {
		for _, o := range controllers.List() {
			s.queue.Add(spec.IDOf(o))
			s.queue.AddAfter(spec.IDOf(o), reconcile.UntilServed)
		}
	}
}

// groupOf is the group in the name of a CustomResourceDefinition, which is <plural>.<group>.
func groupOf(name string) string {
	for i, r := range name {
		if r == '.' {
			return name[i+1:]
		}
	}
	return ""
}

// loadQueues are the names of the queues of controller objects in metrics, by kind. They are Metacontroller's.
var loadQueues = map[string]string{
	v1alpha1.KindCompositeController: "composite-metacontroller",
	v1alpha1.KindDecoratorController: "decorator-metacontroller",
}

// queueOf gives the one queue of controller objects of both kinds.
func queueOf(limiter workqueue.TypedRateLimiter[spec.ID], order workqueue.Queue[spec.ID]) workqueue.TypedRateLimitingInterface[spec.ID] {
	inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[spec.ID]{Queue: order})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[spec.ID]{Queue: inner})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[spec.ID]{DelayingQueue: delaying})
}

func (s *Server) work(ctx context.Context) {
	for {
		name, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() == nil {
			began := time.Now()
			s.process(ctx, name)
			s.order.Worked(name, began)
		}
		s.queue.Done(name)
	}
}

// How often the status of a controller that runs is looked at, for the count of its parents, and of one whose caches
// are being filled or in trouble. When there are many controllers, each is looked at less often, so that there are not
// more looks a second in all.
const (
	refresh         = time.Minute
	whileFilled     = 5 * time.Second
	refreshesSecond = 5
)

// refreshAfter is when n controllers are each looked at again.
func refreshAfter(n int) time.Duration {
	return max(refresh, time.Duration(n)*time.Second/refreshesSecond)
}

// process loads one controller object and decides when to look again.
func (s *Server) process(ctx context.Context, name spec.ID) {
	err := s.guarded(ctx, name)
	if s.object(name) != nil {
		s.seen.Store(name, true)
	}
	if err != nil && ctx.Err() == nil {
		s.order.Retried(name)
		s.queue.AddRateLimited(name)
		return
	}
	s.queue.Forget(name)
	if r := s.get(name); r != nil && (!r.loop.Filled() || r.loop.Trouble() != nil) {
		s.queue.AddAfter(name, whileFilled)
	} else if s.object(name) != nil {
		s.queue.AddAfter(name, refreshAfter(s.count()))
	}
}

func (s *Server) guarded(ctx context.Context, name spec.ID) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.Log.Error("panic while a controller was loaded, please report it", "controller", name.Name, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return s.load(ctx, name)
}

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
)

// Options configure a Server. Only Config and an engine in Sandbox are needed.
type Options struct {
	Config            *rest.Config
	Sandbox           Sandbox
	Workers           int             // per controller; default 8
	DiscoveryInterval time.Duration   // how long an answer of discovery is used; default 30s
	Selector          labels.Selector // of controller objects; nil is all
	Log               *slog.Logger    // nil drops
}

// A Server runs the controllers of a cluster: one loop for each controller object, started, replaced and stopped as
// the objects come, change and go.
type Server struct {
	Options
	sandbox   *Sandbox
	client    dynamic.Interface
	resources *kube.Resources
	caches    *informer.Factory
	events    *kube.Events
	write     *kube.Writer
	ready     atomic.Bool

	firsts       *firsts
	statusPruned atomic.Bool // the API server does not store a status for controllers
	told         sync.Map    // name of a controller object -> what the log and its events said of it last

	controllers *informer.Informer
	queue       workqueue.TypedRateLimitingInterface[string]

	mu      sync.Mutex
	running map[string]*running
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// New connects to a cluster; nothing runs before Run.
func New(o Options) (*Server, error) {
	if o.Workers <= 0 {
		o.Workers = 8
	}
	if o.DiscoveryInterval <= 0 {
		o.DiscoveryInterval = 30 * time.Second
	}
	if o.Selector == nil {
		o.Selector = labels.Everything()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
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
	resources := kube.NewResources(discoverer, o.DiscoveryInterval)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, o.DiscoveryInterval)
	return &Server{
		Options:   o,
		sandbox:   o.Sandbox.withDefaults(),
		client:    client,
		resources: resources,
		firsts:    newFirsts(),
		caches:    informer.NewFactory(client, o.Log),
		events:    kube.NewEvents(typed, kube.EventBudget{}),
		write:     &kube.Writer{Client: client, Resources: resources},
		queue:     workqueue.NewTypedRateLimitingQueue(limiter),
		running:   map[string]*running{},
	}, nil
}

// Ready reports whether the controllers' own caches are filled.
func (s *Server) Ready() bool { return s.ready.Load() }

// loaders is how many controller objects are loaded at the same time: a script may take its whole timeout to
// compile, and a loop that is replaced may take a while to end, and must not keep the others waiting.
const loaders = 32

// Run follows the controller objects until ctx is done; then it lets what is under way finish.
func (s *Server) Run(ctx context.Context) error {
	defer s.events.Shutdown()
	s.warnIfMissing()
	s.controllers = s.caches.Open(informer.Spec{Resource: v1alpha1.CompositeControllers, Selector: s.Selector.String()})
	defer s.controllers.Close()
	crds := s.caches.Open(informer.Spec{Resource: definitions, MetadataOnly: true})
	defer crds.Close()
	decorators := s.caches.Open(informer.Spec{Resource: v1alpha1.DecoratorControllers, Selector: s.Selector.String(), MetadataOnly: true})
	defer decorators.Close()
	if err := s.controllers.Handle(s.onController); err != nil {
		return err
	}
	if err := decorators.Handle(s.onDecorator); err != nil {
		return err
	}
	if err := crds.Handle(s.onDefinition); err != nil {
		return err
	}
	if !s.controllers.Synced(ctx) || !crds.Synced(ctx) {
		return nil
	}
	s.ready.Store(true)
	var workers sync.WaitGroup
	for range loaders {
		workers.Go(func() { s.work(ctx) })
	}
	<-ctx.Done()
	s.queue.ShutDown()
	workers.Wait()
	s.stopAll()
	return nil
}

// warnIfMissing tells, at the start, what a watch that fails for ever would not tell well.
func (s *Server) warnIfMissing() {
	if _, err := s.resources.ByName(v1alpha1.GroupVersion.String(), v1alpha1.CompositeControllers.Resource); err != nil {
		s.Log.Warn("the API server does not serve CompositeControllers; apply manifests/crds; waiting", "error", err)
	}
}

func (s *Server) onController(old, current *object.Object) {
	switch {
	case current == nil:
		s.queue.Add(old.GetName())
	case old == nil || old.GetUID() != current.GetUID() || old.GetGeneration() != current.GetGeneration():
		s.queue.Add(current.GetName())
	} // anything else is our own status, which must not lead to the next one
}

// onDecorator tells that DecoratorControllers are not run, since silence would be taken for work.
func (s *Server) onDecorator(old, current *object.Object) {
	if old == nil {
		s.Log.Warn("DecoratorControllers are not supported by this version: it is not run", "decoratorcontroller", current.GetName())
		s.events.Warning(current, "CreateError", "DecoratorControllers are not supported by this version: it is not run")
	}
}

// onDefinition looks at every controller again when a kind appears, changes or goes, since it may be theirs.
func (s *Server) onDefinition(old, current *object.Object) {
	edited := old != nil && (current == nil || old.GetGeneration() != current.GetGeneration())
	if current == nil {
		current = old
	}
	group := groupOf(current.GetName())
	s.resources.Forget(group)
	s.statusPruned.Store(false)
	if edited {
		s.firsts.forget(group)
	}
	for _, r := range s.all() {
		if r.loop.Parent.Group == group {
			r.loop.retryStatus()
		}
		if edited {
			s.firsts.count(r.loop.Binding)
		}
	}
	for _, o := range s.controllers.List() {
		s.queue.Add(o.GetName())
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

func (s *Server) work(ctx context.Context) {
	for {
		name, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() == nil {
			s.process(ctx, name)
		}
		s.queue.Done(name)
	}
}

// How often the status of a controller that runs is looked at, for the count of its parents, and of one whose caches
// are being filled.
const (
	refresh     = time.Minute
	whileFilled = 5 * time.Second
)

// process loads one controller object and decides when to look again.
func (s *Server) process(ctx context.Context, name string) {
	err := s.guarded(ctx, name)
	if err != nil && ctx.Err() == nil {
		s.queue.AddRateLimited(name)
		return
	}
	s.queue.Forget(name)
	if r := s.get(name); r != nil && !r.loop.filled.Load() {
		s.queue.AddAfter(name, whileFilled)
	} else if s.controllers.Get(object.Key{Name: name}) != nil {
		s.queue.AddAfter(name, refresh)
	}
}

func (s *Server) guarded(ctx context.Context, name string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.Log.Error("panic while a controller was loaded, please report it", "controller", name, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return s.load(ctx, name)
}

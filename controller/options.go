package controller

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"metascript/controller/access"
	"metascript/controller/account"
	"metascript/controller/accounts"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/apiserver"
	"metascript/controller/binding"
	"metascript/controller/bodies"
	"metascript/controller/build"
	"metascript/controller/guard"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/lease"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/ownership"
	"metascript/controller/random"
	"metascript/controller/reach"
	"metascript/controller/reconcile"
	"metascript/controller/references"
	"metascript/controller/related"
	"metascript/controller/selection"
	"metascript/controller/shadow"
	"metascript/controller/spec"
	"metascript/controller/static"
	"metascript/controller/strays"
	"metascript/controller/wire"
	"metascript/scripts"
)

// Options configure a Server. Only Config and an engine in Sandbox are needed.
type Options struct {
	Config            *rest.Config
	Kubeconfig        kube.Kubeconfig // the file of Config
	Sandbox           build.Sandbox
	Workers           int                   // per controller; default 8
	DiscoveryInterval time.Duration         // how long a result of discovery is cached; default 30s
	DeletionGrace     time.Duration         // how long after a controller object was deleted its finalizers are removed from parents; default 1m
	ProbeEvery        time.Duration         // how often broken scripts with a fallback are probed; default hook.ProbeEvery
	FlushInterval     time.Duration         // period in which every parent is reconciled; zero: never
	Selector          labels.Selector       // of controller objects; nil selects all
	Events            kube.EventBudget      // limit of the events about one object
	Metrics           prometheus.Registerer // nil: there are no metrics
	Log               *slog.Logger          // nil: nothing is logged

	ApplyStrategy v1alpha1.ApplyStrategy // of controllers that do not set it; default DynamicApply
	FieldManager  string                 // of server-side apply; default kube.FieldManager

	WebhookMemory   int64                    // limit in bytes for the webhook responses that are processed concurrently; default bodies.Default
	WebhookNetworks *reach.Networks          // where webhooks of controllers with an account are called; nil: everywhere
	MissingChildren v1alpha1.MissingChildren // of webhooks that do not set it; default Delete
	AlwaysResync    bool                     // call scripts also if nothing that they read changed since the last call

	RequireServiceAccount bool     // refuse controllers without an account
	ScriptNamespaces      []string // from which controllers with an account may load scripts, beside that of the account; * is all

	Folders *scripts.Folders // the directories with scripts; nil: there are none

	Static   *static.Source        // the controller objects; nil: those in the cluster
	Only     func(object.Ref) bool // reports whether a parent is reconciled; nil: all are
	Observer observe.Observer      // is called with what the server does; may be nil
	Sinks    []observe.Sink        // are told of each reconcile
	DryRun   bool                  // no write is stored in the cluster

	// OnRelated is called with the rules that the customize hook of a controller returned for a parent, before the objects that they
	// select are read. It may be called concurrently. It may be nil.
	OnRelated func(of spec.ID, parent object.Ref, rules []related.Rule)

	Election        *lease.Election      // nil: no other server runs at the same time
	Namespace       string               // of the server; default metacontroller
	WatchNamespaces selection.Namespaces // of parents, children and accounts; nil: all
}

func (o *Options) setDefaults() {
	o.Workers = cmp.Or(max(o.Workers, 0), 8)
	o.DiscoveryInterval = cmp.Or(max(o.DiscoveryInterval, 0), 30*time.Second)
	o.DeletionGrace = cmp.Or(max(o.DeletionGrace, 0), time.Minute)
	o.Namespace = cmp.Or(o.Namespace, "metacontroller") // in which Metacontroller is installed
	if o.Selector == nil {
		o.Selector = labels.Everything()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// An environment is what all parts of a Server use. Its fields do not change after New, and are safe for concurrent use.
type environment struct {
	Options
	sandbox *build.Sandbox
	client  dynamic.Interface

	connection     *apiserver.Connection
	unfenced       *rest.Config         // for requests that a server sends that does not lead; they store nothing
	unfencedClient kubernetes.Interface // for such requests

	outlines      metadata.Interface
	resources     *kube.Resources
	caches        *informer.Factory
	references    *references.Watcher // of ConfigMaps with scripts, and of what webhooks refer to
	events        *kube.Events
	write         *kube.Writer // as the server itself
	accounts      *accounts.Accounts
	shared        *reconcile.Shared
	guards        guard.Options
	identityKinds *binding.IdentityKinds
	shadows       *shadow.Shadows
	counts        *metrics.Metrics // nil: there are no metrics

	webhookResponses *bodies.Budget // for webhook responses that are processed concurrently
	cachedResponses  *bodies.Budget // for webhook responses that are cached by their ETags

	leading   *lease.Gate      // open when the server leads
	candidate *lease.Candidate // nil if Election is nil

	records *records
	strays  *strays.Finder
	queue   workqueue.TypedRateLimitingInterface[spec.ID] // the controllers to load
	order   *metrics.Order[spec.ID]                       // the order of queue, which counts its metrics
}

// newEnvironment connects to the cluster.
func newEnvironment(o Options) (*environment, error) {
	o.setDefaults()
	counts, config, err := metrics.Register(o.Metrics, o.Config)
	if err != nil {
		return nil, err
	}
	o.Config = rest.CopyConfig(config)
	o.Config.WarningHandlerWithContext = kube.WarningHandler{Next: cmp.Or[rest.WarningHandlerWithContext](config.WarningHandlerWithContext, rest.WarningLogger{})}
	e := &environment{counts: counts, leading: lease.NewGate(), records: newRecords(), strays: strays.New()}
	e.connection = apiserver.New(o.Log)
	noted := rest.CopyConfig(o.Config)
	noted.Wrap(e.connection.Note)
	o.Config.Wrap(e.connection.Hold)
	e.unfenced = rest.CopyConfig(config)
	e.unfenced.Wrap(e.connection.Hold)
	if o.Election != nil {
		e.candidate = &lease.Candidate{Election: *o.Election, Config: noted, Fence: lease.New(lease.RenewDeadline), Log: o.Log}
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Wrap(e.candidate.Fence.Wrap)
	}
	if e.connection.Check, err = apiserver.Checker(noted); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	e.connection.Turned = e.connectionTurned
	e.Options, e.sandbox = o, o.Sandbox.WithDefaults()
	if err := e.connect(); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	e.shareAmongReconcilers()
	e.queue, e.order = newQueue(counts, o.DiscoveryInterval)
	e.shadows = shadow.New(shadow.Options{
		References: e.references, Related: &e.shared.Related, MayLoad: e.accounts.MayLoad, Events: e.events, Counts: counts, Sinks: o.Sinks, Changed: e.queue.Add, Log: e.Log,
	})
	e.Sinks = append(slices.Clone(o.Sinks), e.shadows)
	return e, nil
}

// connect makes the clients, and the parts that use them.
func (e *environment) connect() (err error) {
	if e.client, err = dynamic.NewForConfig(e.Config); err != nil {
		return err
	}
	typed, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		return err
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(e.Config)
	if err != nil {
		return err
	}
	if e.outlines, err = metadata.NewForConfig(e.Config); err != nil {
		return err
	}
	e.resources = kube.NewResources(discoverer, e.DiscoveryInterval)
	objects, err := wire.NewClient(e.Config)
	if err != nil {
		return err
	}
	e.write = &kube.Writer{Client: objects, Resources: e.resources, Manager: e.FieldManager, DryRun: e.DryRun}
	e.events = kube.NewEvents(typed, e.Options.Events)
	e.events.Intercept = e.intercept
	e.caches = informer.NewFactory(e.client, e.Log)
	e.caches.REST, e.caches.Namespaces, e.caches.Widened = objects, e.WatchNamespaces, e.strays.Cached
	e.strays.Client, e.strays.Namespaces, e.strays.Log, e.strays.Owners, e.strays.Leads = objects, e.WatchNamespaces, e.Log, e.strayOwners, e.leads
	e.references = references.NewWatcher(e.caches)
	e.caches.Ownership = func(managedFields []byte) ownership.Fields {
		return ownership.Of(managedFields, e.write.Applier(), kube.FieldManager)
	}
	if e.sandbox.Random == nil {
		e.sandbox.Random = &random.Store{
			Namespace: e.Namespace, Watcher: e.references, Writer: e.write, GetLive: e.write.Get, Leads: e.leads, DryRun: e.DryRun,
			Changed: e.redraw, Log: e.Log,
		}
	}
	if e.unfencedClient, err = kubernetes.NewForConfig(e.unfenced); err != nil {
		return err
	}
	e.accounts = &accounts.Accounts{
		Actors:   kube.NewActors(e.Config, &kube.Actor{Writer: e.write, Events: e.events}),
		Reviewer: access.New(e.unfencedClient.AuthorizationV1().SubjectAccessReviews(), e.caches, e.accountChanged),
		Client:   e.client, Log: e.Log, Finalizers: &kube.Finalizers{Client: e.outlines, Write: e.write, Namespaces: e.WatchNamespaces},
		Required: e.RequireServiceAccount, ScriptNamespaces: e.ScriptNamespaces, Watched: e.WatchNamespaces,
	}
	return nil
}

// redraw calls scripts again that have drawn random values, since the key has changed.
func (e *environment) redraw() {
	for _, r := range e.records.running() {
		r.Redraw()
	}
}

// accountChanged queues the controllers that act as an account, since what it may do may have changed. It queues them again when
// the API server certainly uses the new roles, and after changes that were not notified.
func (e *environment) accountChanged(who account.Account) {
	for _, m := range e.records.all() {
		if acts := m.account.Load(); acts != nil && *acts == who {
			e.queue.AddAfter(m.id, accountDelay)
			e.queue.AddAfter(m.id, access.Settling)
			e.queue.AddAfter(m.id, 2*access.Settling)
		}
	}
}

// connectionTurned has the status of each controller report the state of the connection, and parents that failed tried when the API server
// answers again. Both are spread, since the API server may have asked to wait.
func (e *environment) connectionTurned(now apiserver.State) {
	for i, m := range e.records.all() {
		e.queue.AddAfter(m.id, time.Duration(i)*turnedPace)
		if r := m.active.Load(); r != nil && now.Condition == apiserver.Well {
			r.RetryFailed()
		}
	}
}

// turnedPace is the time between two controllers that report the state of the connection.
const turnedPace = 50 * time.Millisecond

// accountDelay is how long several changes of one account are collected.
const accountDelay = 300 * time.Millisecond

// shareAmongReconcilers makes what all Reconcilers share.
func (e *environment) shareAmongReconcilers() {
	e.identityKinds = binding.NewIdentityKinds()
	e.shared = reconcile.NewShared(e.Workers)
	e.shared.Related.Log = e.Log
	e.guards = guard.Options{Caches: &e.shared.Related, Turns: guard.NewTurns()}
	e.shared.Related.Open = func(resource kube.Resource) *informer.Informer {
		return e.caches.Open(informer.Spec{Resource: resource.GroupVersionResource, Namespaced: resource.Namespaced})
	}
	e.webhookResponses = bodies.New(e.WebhookMemory)
	e.cachedResponses = bodies.New(e.webhookResponses.Size() / 2)
}

// strayOwners returns the controllers that run.
func (e *environment) strayOwners() []strays.Owner {
	var all []strays.Owner
	for _, r := range e.records.running() {
		all = append(all, r.Strays)
	}
	return all
}

// leads reports whether this server leads.
func (e *environment) leads() bool { return e.leading.IsOpen() }

// intercept calls the Observer with an event. It reports whether the event must not be recorded in the cluster: because this
// is a dry run, or because the event is on a controller object that is not in the cluster.
func (e *environment) intercept(o *object.Object, event kube.Event) bool {
	if e.Observer != nil {
		e.Observer.Event(o, event)
	}
	_, isController := spec.Resources[o.GetKind()]
	return e.DryRun || e.Static != nil && isController
}

// newQueue returns the queue for controller objects of both kinds, and its order, which counts the metrics. longest is the
// longest back-off.
func newQueue(counts *metrics.Metrics, longest time.Duration) (workqueue.TypedRateLimitingInterface[spec.ID], *metrics.Order[spec.ID]) {
	order := metrics.NewOrder(counts, func(of spec.ID) string { return loadQueues[of.Kind] }, slices.Collect(maps.Values(loadQueues))...)
	inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[spec.ID]{Queue: order})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[spec.ID]{Queue: inner})
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[spec.ID](time.Second, longest)
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[spec.ID]{DelayingQueue: delaying}), order
}

// loadQueues are the names of the queues of controller objects in metrics, by kind. They are the same as Metacontroller's.
var loadQueues = map[string]string{
	v1alpha1.KindCompositeController: "composite-metacontroller",
	v1alpha1.KindDecoratorController: "decorator-metacontroller",
}

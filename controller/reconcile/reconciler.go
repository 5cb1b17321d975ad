// Package reconcile reconciles the parents of one controller.
//
// A [Reconciler] does this for a [binding.Binding], which says what a controller object means. The manager of controllers
// creates it with New, starts and stops it with Begin and End, replaces its hooks with Swap, and reads with Snapshot what the
// status of the controller object reports.
//
// The files, in the order in which one reconcile uses them:
//
//   - access.go ends the reconcile of a parent that the account of the controller may not read
//   - events.go turns the events of objects into keys of parents in the queue
//   - reconcile.go takes a key from the queue and reconciles the parent. Each step of it is a type of its own
//   - state.go is what is remembered of each parent between its reconciles, and says what guards it
//   - finalizers.go adds and removes our finalizer. Package claim lists the children, adopts and releases
//   - roller.go finds the desired state by calling the hooks, once for each revision of the parent if kinds of children roll
//   - package children plans and does the writes to children
//   - package parents writes the status, and the labels and annotations of decorated objects
//   - retry.go decides when the parent is reconciled again
//   - large.go limits how many large answers are planned at the same time
//   - tracker.go passes each write on, notes what the caches will have to show, and tells the Sinks of a reconcile that has ended
//   - redefine.go queues parents after a definition has changed
//   - redact.go keeps the values of Secrets out of all texts
//   - fallback.go reports when a webhook is called in place of a script, overlap.go finds other controllers that select the same
//     parents, and remember.go decides whether a reconcile need not be done
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/children"
	"metascript/controller/delays"
	"metascript/controller/dispatch"
	"metascript/controller/failures"
	"metascript/controller/finalizers"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/lease"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/parents"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/recovery"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/remember"
	"metascript/controller/throttle"
	"metascript/controller/turns"
	"metascript/controller/work"
	"metascript/engine/tree"
)

// A Reconciler reconciles the parents of one Binding. All Reconcilers of a server share the workers and the watches, so that
// one that has nothing to do costs memory only. It is safe for concurrent use, except where a method says otherwise.
type Reconciler struct {
	// These fields do not change after New.

	binding       *binding.Binding
	shared        *Shared
	states        *states
	queue         *queue.Queue
	events        *parentEvents
	metrics       *metrics.Controller
	Strays        Strays
	changed       func()           // see Options.Changed; not nil
	observer      observe.Observer // nil if there is none
	sinks         []observe.Sink   // see Options.Sinks
	causes        *observe.Causes  // nil without sinks
	leading       *lease.Gate      // the workers begin once it is open; nil is open
	dryRuns       *rate.Limiter    // see children.Writer.DryRuns; nil with an observer, which waits for no write
	extraWrites   *children.Extra  // see children.Writer.Extra; nil with an observer, which sees the writes in their order then
	delays        *delays.Meter
	initialReason queue.Reason // why each parent is reconciled at first: Resync or ScriptChanged

	// These fields change.

	current   atomic.Pointer[call.Version]  // the current version of the hooks; Swap replaces it
	object    atomic.Pointer[object.Object] // the controller object as hooks see it; SetMetadata replaces it
	hasSynced atomic.Bool                   // whether the caches are filled and the parents in them are queued; Begin sets it
	stops     []func()                      // functions that stop what Begin started; Begin adds them, and End calls them after Begin has returned
	overlap   overlap                       // the last result of findOverlap, the only one that uses it

	// These are the parts with a state that all parents share; see reconciliation for the others.

	redactors  *redactors
	finalizers finalizerKeeper
	kinds      parents.Kinds
	worker     worker
	handler    eventHandler
	fallbacks  fallbackReporter
	recovery   recovery.Tracker
	epoch      remember.Epoch // of what is remembered of all parents
}

// Options are what a Reconciler needs in addition to its Binding. Events and Log are required.
type Options struct {
	Events           *kube.Events // about parents
	ControllerEvents *kube.Events // about the controller object; nil: the same
	Log              *slog.Logger

	// Changed is called when the status of the controller object has something else to report: when the script is held for the
	// first parent, or for none any more; when the first parent is denied something or fails, or none is or does any more; when all
	// parents were synced once; when the error that most parents share has changed; when parents begin or end to wait because of slow
	// hooks; and when a webhook is called in place of a script, or the script is called again. It must not block. Nil is not called.
	Changed func()

	Observer observe.Observer // is called with what is done; nil is not called
	Sinks    []observe.Sink   // are told of each reconcile
	Shared   *Shared          // is shared by all Reconcilers of a server; nil stands for one that is not shared
	Leading  *lease.Gate      // the workers begin once it is open; nil is open

	Loaded             *build.Loaded // what the hooks of the Binding were made of; nil if it is not known
	Before             *Reconciler   // the Reconciler that this one replaces; nil if there is none
	FinalizersReleased bool          // the initial value for ReleaseFinalizers
}

// New returns a Reconciler for b. It does nothing before Begin. End must be called after Begin.
func New(b *binding.Binding, o Options) *Reconciler {
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Shared == nil {
		o.Shared = NewShared(b.Workers)
	}
	r := &Reconciler{
		binding: b, shared: o.Shared, states: newStates(o.Changed), queue: queue.New(o.Shared.pool, b.QueueName(), b.Tenant, b.Metrics.QueueMetrics()),
		metrics: b.Metrics.Controller(b.Kind, b.Name), changed: o.Changed, observer: o.Observer, sinks: o.Sinks, leading: o.Leading, initialReason: queue.Resync,
	}
	if len(o.Sinks) > 0 {
		r.causes = observe.NewCauses()
	}
	if o.Observer == nil {
		r.extraWrites = &o.Shared.extraWrites
		r.dryRuns = rate.NewLimiter(dryRunsPerSecond, dryRunsAtOnce)
	}
	r.delays = &delays.Meter{Waiting: r.Waiting, Changed: o.Changed}
	r.redactors = &redactors{binding: b, states: r.states}
	log := slog.New(redact.Handler(o.Log.Handler(), r.redactors.forRecord)).With("controller", b.Name)
	r.redactors.handler = log.Handler()
	r.events = &parentEvents{o.Events, r.redactors, log}
	r.fallbacks.events = &parentEvents{cmp.Or(o.ControllerEvents, o.Events), r.redactors, log}
	r.finalizers.binding, r.finalizers.events = b, r.events
	r.finalizers.released.Store(o.FinalizersReleased)
	r.worker.r, r.handler.r, r.fallbacks.r, r.Strays.r = r, r, r, r
	r.fallbacks.reported = map[string]bool{}
	if o.Before != nil {
		r.initialReason, r.fallbacks.reported = queue.ScriptChanged, o.Before.fallbacks.wereReported()
	}
	first := call.NewVersion(b.Hooks, b.Revisions, o.Changed)
	first.Loaded = o.Loaded
	r.fallbacks.follow(first)
	r.current.Store(first)
	r.object.Store(b.Controller)
	return r
}

// SetMetadata has the hooks see the metadata of the controller object as they are now in o, from the next reconcile of each parent on. No
// parent is reconciled because of it, as in Metacontroller. The spec that they see stays that of the version that runs.
func (r *Reconciler) SetMetadata(o *object.Object) {
	before := r.object.Load()
	if before == nil || SameMetadata(before, o) {
		return
	}
	now := object.Copy(before)
	now.Map()["metadata"] = object.Copy(o).Map()["metadata"]
	now.SetManagedFields(nil)
	now.SetGeneration(before.GetGeneration())
	r.object.Store(now)
	r.epoch.Begin() // what was remembered was of the metadata before: a reconcile reads the epoch before the object
}

// SameMetadata reports whether two versions of an object have the same metadata, apart from what the API server changes with each write.
func SameMetadata(a, b *object.Object) bool {
	for range plan.Changes(metadataOnly(a), metadataOnly(b)) {
		return false
	}
	return true
}

func metadataOnly(o *object.Object) *object.Object {
	metadata, _ := o.At("metadata")
	return object.New(map[string]any{"metadata": tree.Native(metadata)})
}

// Binding returns the Binding that was given to New. It must not be changed.
func (r *Reconciler) Binding() *binding.Binding { return r.binding }

// Current returns the current version of the hooks.
func (r *Reconciler) Current() *call.Version { return r.current.Load() }

// HasSynced reports whether the caches are filled and the parents in them are queued.
func (r *Reconciler) HasSynced() bool { return r.hasSynced.Load() }

// AddSecrets adds to a Redactor the Secrets that a text about a parent may have values of, as far as they are known: those of the reconcile
// that is running or of the last one, and those of webhooks.
func (r *Reconciler) AddSecrets(to *redact.Redactor, parent *object.Object) {
	secrets, texts := r.redactors.last(object.RefOf(parent)).Secrets()
	to.Add(parent)
	to.AddPublic(parent)
	to.Add(secrets...)
	to.Add(r.binding.Clients.Credentials.Secrets()...)
	to.AddTexts(texts...)
}

// Waiting returns how many parents are in the queue, and how long the first of them has waited. That is zero without metrics.
func (r *Reconciler) Waiting() (n int, longest time.Duration) {
	return r.queue.Len(), r.queue.OldestWait()
}

// Shared is what all Reconcilers of a server have in common.
type Shared struct {
	pool    *work.Pool                // the workers
	Hub     dispatch.Hub[*Reconciler] // passes events to the Reconcilers that they concern
	Related related.Caches            // of the objects that customize hooks request

	replacements children.Replacements
	extraWrites  children.Extra
	plans        turns.Memory
}

// NewShared returns a Shared with a pool of its own, and with the size of its children.Extra. Its Related.Open must be set before a
// customize hook is called.
func NewShared(extraWrites int) *Shared {
	return &Shared{pool: work.NewPool(), extraWrites: children.Extra{Most: extraWrites}, plans: turns.Memory{Size: plansMemory}}
}

// stopTimeout is how long reconciles may go on after End was called.
const stopTimeout = 20 * time.Second

// After a restart, a child that differs, and that may only be stored in another form, is compared by a dry run.
// A controller does dryRunsAtOnce of them at once, and then so many in a second.
const (
	dryRunsPerSecond = 100
	dryRunsAtOnce    = 100
)

// Begin fills the caches, waits until the server leads, starts the workers, and returns. It calls begun before the workers
// start. It also returns, without an error, when ctx is done. End must be called in each case.
func (r *Reconciler) Begin(ctx context.Context, begun func()) error {
	if err := r.binding.Clients.Register(); err != nil {
		r.events.log.Warn("metrics of webhooks are not kept", "error", err)
	}
	if err := r.watch(); err != nil {
		return err
	}
	if !r.waitForSync(ctx) {
		return nil // ctx is done
	}
	r.states.expect(r.binding.ReconciledKeys())
	r.handler.queueAll()
	r.hasSynced.Store(true)
	if !r.leading.Wait(ctx) {
		return nil // ctx is done
	}
	begun()
	r.fallbacks.reportAll()
	// Reconciles that have begun may end after ctx is done. End cancels their context when the time is over.
	reconcileCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.queue.Serve(r.binding.Workers, func(key object.Ref) {
		if why := r.queue.Take(key); why != 0 { // none: it was postponed, and reconciled earlier for another reason
			r.worker.process(reconcileCtx, key, why)
		}
	})
	r.stops = append(r.stops, cancel, work.Every(r.fallbacks.probePeriod(), r.fallbacks.probe))
	if r.binding.ResyncPeriod > 0 {
		r.stops = append(r.stops, work.Every(r.binding.ResyncPeriod, r.worker.resync))
	}
	if r.binding.RetryPeriod > 0 {
		r.stops = append(r.stops, work.Every(r.binding.RetryPeriod, r.retryStored))
	}
	return nil
}

// End stops what Begin started, waits until it has ended, and closes the Reconciler. It is called once, after Begin has returned
// and ctx, the context of Begin, is done or Begin has failed.
func (r *Reconciler) End(ctx context.Context) {
	r.queue.ShutDown()
	r.delays.Stop()
	stop := func() {
		for _, f := range r.stops {
			f()
		}
	}
	timer := time.AfterFunc(stopTimeoutAfter(ctx), stop)
	r.queue.Wait()
	timer.Stop()
	stop()
	r.close()
}

// close releases the watches and the caches. No reconcile may be running.
func (r *Reconciler) close() {
	r.shared.Hub.Leave(r)
	r.shared.Related.Leave(r)
	r.shared.plans.ForgetAll(r)
	r.binding.Close()
}

// watch registers the handlers for the events of parents, children, ControllerRevisions and credentials.
func (r *Reconciler) watch() error {
	var parents []dispatch.Parents
	for _, rule := range r.binding.Parents {
		parents = append(parents, dispatch.Parents{
			Cache: rule.Cache, Kind: rule.ObjectKind(), Namespaced: rule.Namespaced, Restricted: r.binding.SeesParents != nil,
			Queries: rule.Queries(), Finalizer: r.binding.Finalizer, On: r.handler.onParent,
		})
	}
	var children []dispatch.Children
	for _, child := range r.binding.Children {
		children = append(children, dispatch.Children{Cache: child.Informer, On: r.handler.onChild, Adopt: r.handler.onOrphan})
	}
	if r.binding.Revisions != nil {
		children = append(children, dispatch.Children{Cache: r.binding.Revisions.Cache, On: r.handler.onRevision, Adopt: r.handler.onOrphan})
	}
	if err := r.shared.Hub.Join(r, parents, children); err != nil {
		return fmt.Errorf("watch parents and children: %w", err)
	}
	return r.binding.Clients.Credentials.OnChange(r.handler.onCredential)
}

// waitForSync waits until all caches are filled, and reports whether they are. It returns false if ctx is done before. A child
// that is not in the cache yet must not be taken for missing.
func (r *Reconciler) waitForSync(ctx context.Context) bool {
	for _, cache := range r.binding.Caches() {
		if !cache.WaitForSync(ctx) {
			return false
		}
	}
	if !r.shared.Hub.WaitForSync(ctx, r) {
		return false
	}
	r.binding.Clients.Credentials.WaitForSyncOrError(ctx)
	return true
}

// ProbeLocks locks and unlocks each lock of the Reconciler. It blocks if one is never released, which health checks detect.
func (r *Reconciler) ProbeLocks() {
	r.queue.Probe()
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
}

// Unsynced describes the caches that are being filled, in one text. It returns nil when the caches are filled, and when one
// of them cannot be filled.
func (r *Reconciler) Unsynced() []string {
	if r.hasSynced.Load() || r.binding.CacheError() != nil {
		return nil
	}
	var resources []string
	check := func(resource string, cache *informer.Informer) {
		if !cache.HasSynced() {
			resources = append(resources, resource)
		}
	}
	for _, parent := range r.binding.Parents {
		check(parent.GroupResource().String(), parent.Cache)
	}
	for _, child := range r.binding.Children {
		check(child.Kind.Kind, child.Informer)
	}
	if len(resources) == 0 {
		return []string{fmt.Sprintf("%s is about to start", r.binding.ID)}
	}
	return []string{fmt.Sprintf("the caches of %s are being filled: %s", r.binding.ID, strings.Join(resources, ", "))}
}

// stopTimeoutAfter returns how long reconciles may go on after ctx is done. It is zero if the lease was lost, because another
// server may lead then.
func stopTimeoutAfter(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), lease.ErrLost) {
		return 0
	}
	return stopTimeout
}

// A Snapshot is what the status of a controller object reports of its Reconciler.
type Snapshot struct {
	Synced     bool          // whether the caches are filled
	CacheError error         // why the caches are not filled, or not up to date; nil if they are
	Parents    int           // how many parents the controller selects and sees
	Held       throttle.Held // the parents for which the script is held
	Denied     Denied
	Failing    failures.Summary
	NotStored  failures.Summary      // what the API server did not store of the last writes for the parents
	Delays     delays.Report         // the parents that wait because of slow hooks
	Workers    int                   // how many parents are reconciled at the same time at most
	Fallbacks  []build.NamedFallback // the hooks that have both a script and a webhook
	Finalizers finalizers.Held
	Warnings   []string // about overlapping controllers, and webhooks that cannot be called
}

// Snapshot returns the current state. It must not be called concurrently.
func (r *Reconciler) Snapshot() Snapshot {
	version, overlap := r.current.Load(), r.findOverlap()
	s := Snapshot{
		Synced: r.hasSynced.Load(), CacheError: r.binding.CacheError(), Parents: overlap.parents, Held: version.Held(), Denied: r.states.deniedParents(),
		Delays: r.delays.Report(), Workers: r.binding.Workers,
		Fallbacks: version.Fallbacks(), Finalizers: r.finalizers.held(version), Warnings: overlap.warnings,
	}
	has := func(key object.Ref) bool {
		parent := r.binding.Parent(key)
		return parent != nil && r.binding.Has(parent)
	}
	s.Failing, s.NotStored = r.states.failures(has), r.states.incomplete(has)
	if s.Failing.Known {
		s.Failing.Parents = s.Parents
	}
	if s.Synced {
		s.Warnings = append(s.Warnings, r.binding.Clients.Problems()...)
	}
	return s
}

// ReleaseFinalizers sets whether our finalizer is removed from parents when a scripted controller has no finalize hook. When
// that changes and there is no finalize hook, all parents are reconciled.
func (r *Reconciler) ReleaseFinalizers(release bool) {
	if r.finalizers.released.Swap(release) != release && r.current.Load().Finalize == nil {
		r.enqueueAll(queue.ScriptChanged)
	}
}

// Rediscover queues the parents whose customize hook requested resources of an API group. It is called when a definition of
// the group has changed.
func (r *Reconciler) Rediscover(group string) {
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	for parent, state := range r.states.all {
		if state.customize.NamesGroup(group) {
			r.queue.Enqueue(parent, queue.RelatedChanged)
		}
	}
}

// EnqueueParent implements related.Controller.
func (r *Reconciler) EnqueueParent(parent object.Ref, old, current *object.Object) {
	if old != nil || current != nil {
		r.causes.Of(queue.RelatedChanged, old, current).For(parent)
	}
	r.queue.Enqueue(parent, queue.RelatedChanged)
}

// forget drops what is remembered of a parent that the controller does not have any more:
//
//   - its back-off in the queue, and the reasons for which it is reconciled later
//   - its failures and results in the breakers, the canary and the tallies of the fallbacks, of the current version
//   - its children that may have lost their labels, and its parentState
//   - the responses of the customize hook, and its queries in related.Caches
//
// Two things are dropped elsewhere: its Redactor when the reconcile ends, by redactors, and its queries in the Hub when an event
// shows that it is gone, by updateAdopter.
func (r *Reconciler) forget(key object.Ref) {
	r.queue.Drop(key)
	r.worker.try(r.recovery.Forget(key))
	r.causes.Take(key)
	r.current.Load().Forget(key)
	r.binding.Left.Forget(key)
	r.forgetRelated(key)
	r.states.forget(key)
	r.shared.plans.Forget(r.asker(key))
}

// forgetRelated drops the responses of the customize hook about a parent, and what the parent watches because of them.
func (r *Reconciler) forgetRelated(parent object.Ref) {
	if state := r.states.find(parent); state != nil {
		state.customize.Forget()
	}
	r.shared.Related.Forget(related.Parent{Controller: r, Ref: parent})
}

// Swap replaces the version of the hooks. Reconciles that have begun end with the version that they began with. All parents are
// reconciled again.
func (r *Reconciler) Swap(v *call.Version) {
	r.fallbacks.follow(v)
	r.current.Store(v)
	if r.leading.IsOpen() {
		r.fallbacks.reportAll()
	}
	r.states.expect(r.binding.ReconciledKeys())
	r.requeueAll(queue.ScriptChanged)
}

// requeueAll queues all parents because something else is called for a hook than before: what the hooks returned is dropped
// from their states.
func (r *Reconciler) requeueAll(why queue.Reason) {
	r.states.outdate()
	r.enqueueAll(why)
}

// enqueueAll queues all parents, spread over some time if there are many, and resets their back-off.
func (r *Reconciler) enqueueAll(why queue.Reason) {
	r.queue.EnqueueAll(slices.Collect(r.binding.ReconciledKeys()), why)
}

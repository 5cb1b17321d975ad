// Package reconcile reconciles the parents of one controller.
//
// A [Reconciler] does so for a [Binding], which says what a controller object means. What the manager of controllers needs of
// it is New, Begin and End, Swap for other hooks, and Snapshot for the status.
//
// In the order of a reconcile: events.go turns the events of objects into keys of parents. worker.go takes a key from the
// queue, and afterwards decides when the parent is reconciled again. reconcile.go is the reconcile as one sentence, of which
// each part is a type of its own: the finalizer keeper, the claimer (package claim), the roller, which finds the desired
// state by the caller of the hooks, the applier, and the status writer. Each write goes through the tracker, which notes
// what caches will have to show. state.go is what is remembered of a parent.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/dispatch"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/lease"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/work"
)

// A Reconciler reconciles the parents of one Binding. Its workers, and the watches that tell it of events, are shared with
// all others: one that has nothing to do costs memory only.
type Reconciler struct {
	b       *binding.Binding
	shared  *Shared
	current atomic.Pointer[call.Version] // the hooks that answer
	states  *states
	queue   *queue.Queue
	events  *parentEvents
	counts  *metrics.Controller

	changed  func()       // see Options.Changed
	observer Observer     // nil: nobody is told
	leading  *lease.Gate  // the workers work once it is open
	because  queue.Reason // why all parents are reconciled at first: Resync or ScriptChanged
	filled   atomic.Bool  // the caches are filled, and the workers work or stand by
	ends     []func()     // what ends what Begin began
	overlap  Overlap      // with other controllers, as it was last; only Snapshot uses it

	redactors  *redactors
	finalizers finalizerKeeper
	applier    applier
	status     statusWriter
	worker     worker
	handler    eventHandler
	fallbacks  fallbackReporter
}

// Options are what a Reconciler needs beside its Binding.
type Options struct {
	Events *kube.Events
	Log    *slog.Logger

	// Changed is called when the status of the controller has something else to report: when the script begins to be held for
	// parents, and when it is held for none any more; when a webhook begins to answer in place of a script, and when the script
	// does again. It must not block. Nil: nobody is told.
	Changed func()

	Observer           Observer       // is told what is done; nil: nobody is
	Shared             *Shared        // with all Reconcilers of a server; nil: it has its own
	Leading            *lease.Gate    // the workers work once it is open
	Loaded             *build.Version // what the hooks of the Binding were made of; nil: it is not known
	Before             *Reconciler    // the one that this one takes the place of; nil: there is none
	FinalizersReleased bool           // see Reconciler.ReleaseFinalizers
}

// New returns a Reconciler for b, which does nothing before Begin.
func New(b *binding.Binding, o Options) *Reconciler {
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Shared == nil {
		o.Shared = NewShared()
	}
	l := &Reconciler{
		b: b, shared: o.Shared, states: newStates(o.Changed), queue: queue.New(o.Shared.Pool, b.QueueName(), b.Metrics.QueueMetrics()),
		counts: b.Metrics.Controller(b.Kind, b.Name), changed: o.Changed, observer: o.Observer, leading: o.Leading, because: queue.Resync,
	}
	l.redactors = &redactors{b: b, states: l.states}
	log := slog.New(redact.Handler(o.Log.Handler(), l.redactors.ofRecord)).With("controller", b.Name)
	l.redactors.handler = log.Handler()
	l.events = &parentEvents{o.Events, l.redactors, log}
	l.finalizers.b, l.finalizers.events = b, l.events
	l.finalizers.released.Store(o.FinalizersReleased)
	l.applier = applier{b: b, events: l.events, states: l.states}
	l.status = statusWriter{
		b: b, events: l.events, states: l.states, queue: l.queue,
		withoutTransitionTimes: map[object.Kind]bool{}, withoutStatus: map[object.Kind]bool{},
	}
	l.worker.r, l.handler.r, l.fallbacks.r = l, l, l
	l.fallbacks.reported = map[string]bool{}
	if o.Before != nil {
		l.because, l.fallbacks.reported = queue.ScriptChanged, o.Before.fallbacks.reported
	}
	first := call.NewVersion(b.Hooks, b.Revisions, o.Changed)
	first.Loaded = o.Loaded
	l.fallbacks.followFallbacks(first)
	l.current.Store(first)
	return l
}

// Binding is what the Reconciler was made of. It must not be changed.
func (l *Reconciler) Binding() *binding.Binding { return l.b }

// Waiting is how many parents wait to be reconciled.
func (l *Reconciler) Waiting() int { return l.queue.Len() }

// Shared is what the loops of a server have in common.
type Shared struct {
	Pool *work.Pool
	Hub  dispatch.Hub[*Reconciler]

	Related related.Caches
}

func NewShared() *Shared { return &Shared{Pool: work.NewPool(work.Options{})} }

// grace is how long a reconcile may go on after its controller was told to stop.
const stopTimeout = 20 * time.Second

// Begin returns when workers of the pool reconcile what the queue gives, or ctx is done. In either case end comes after it.
func (l *Reconciler) Begin(ctx context.Context, begun func()) error {
	if err := l.b.Clients.Register(); err != nil {
		l.events.log.Warn("metrics of webhooks are not kept", "error", err)
	}
	if err := l.listen(); err != nil {
		return err
	}
	if !l.Synced(ctx) {
		return nil // ctx is done
	}
	l.handler.queueAll()
	l.filled.Store(true)
	if !l.leading.Wait(ctx) {
		return nil
	}
	begun()
	l.fallbacks.reportFallbacks()
	// What is under way when ctx ends is let finish, for a while.
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.queue.Serve(l.b.Workers, func(key object.Ref) { l.worker.process(working, key) })
	l.ends = append(l.ends, cancel, work.Every(l.fallbacks.probePeriod(), l.fallbacks.probe))
	if l.b.ResyncPeriod > 0 {
		l.ends = append(l.ends, work.Every(l.b.ResyncPeriod, l.handler.resync))
	}
	return nil
}

// End ends what begin began, after ctx is done or because begin failed, and gives the caches back.
func (l *Reconciler) End(ctx context.Context) {
	l.queue.ShutDown()
	abort := func() {
		for _, end := range l.ends {
			end()
		}
	}
	late := time.AfterFunc(graceAfter(ctx), abort)
	l.queue.Wait()
	late.Stop()
	abort()
	l.Close()
}

// Close gives the caches back. Nothing reconciles any more.
func (l *Reconciler) Close() {
	l.shared.Hub.Leave(l)
	l.shared.Related.Leave(l)
	l.b.Close()
}

// listen has the loop told of what concerns it.
func (l *Reconciler) listen() error {
	var parents []dispatch.Parents
	for _, rule := range l.b.Parents {
		parents = append(parents, dispatch.Parents{
			Cache: rule.Cache, Kind: rule.ObjectKind(), Namespaced: rule.Namespaced,
			Queries: rule.Queries(), Finalizer: l.b.Finalizer, On: l.handler.onParent,
		})
	}
	var children []dispatch.Children
	for _, child := range l.b.Children {
		children = append(children, dispatch.Children{Cache: child.Informer, On: l.handler.onChild, Adopt: l.handler.onOrphan})
	}
	if l.b.Revisions != nil {
		children = append(children, dispatch.Children{Cache: l.b.Revisions.Cache, On: l.handler.onRevision})
	}
	if err := l.shared.Hub.Join(l, parents, children); err != nil {
		return fmt.Errorf("watch parents and children: %w", err)
	}
	return l.b.Clients.Credentials.OnChange(l.handler.onKey)
}

// Synced waits for every cache: a child that is not cached yet must not be taken for missing.
func (l *Reconciler) Synced(ctx context.Context) bool {
	for _, cache := range l.b.Caches() {
		if !cache.Synced(ctx) {
			return false
		}
	}
	if !l.shared.Hub.Synced(ctx, l) {
		return false
	}
	l.b.Clients.Credentials.Settled(ctx)
	return true
}

// ProbeLocks takes each lock of the controller and releases it, so that a lock that is never released shows.
func (l *Reconciler) ProbeLocks() {
	l.queue.Probe()
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
}

// Unfilled says which caches are being filled, without those that cannot be.
func (l *Reconciler) Unfilled() []string {
	if l.filled.Load() || l.b.CacheError() != nil {
		return nil
	}
	var resources []string
	note := func(resource string, cache *informer.Informer) {
		if !cache.Filled() {
			resources = append(resources, resource)
		}
	}
	for _, parent := range l.b.Parents {
		note(parent.GroupResource().String(), parent.Cache)
	}
	for _, child := range l.b.Children {
		note(child.Kind.Kind, child.Informer)
	}
	if len(resources) == 0 {
		return []string{fmt.Sprintf("%s is about to start", l.b.ID)}
	}
	return []string{fmt.Sprintf("the caches of %s are being filled: %s", l.b.ID, strings.Join(resources, ", "))}
}

// graceAfter is how long what is under way may go on when ctx is done: not at all when another server may work.
func graceAfter(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), lease.ErrLost) {
		return 0
	}
	return stopTimeout
}

// ReleaseFinalizers says whether finalizers are taken off for which there is no finalize hook. All parents are looked at again
// when that changes.
func (l *Reconciler) ReleaseFinalizers(on bool) {
	if l.finalizers.released.Swap(on) != on && l.current.Load().Finalize == nil {
		l.queueSpread(queue.ScriptChanged)
	}
}

// forgetRelated drops what a parent looked for.
func (l *Reconciler) forgetRelated(parent object.Ref) {
	if state := l.states.find(parent); state != nil {
		state.customize.Forget()
	}
	l.shared.Related.Forget(related.Parent{Controller: l, Ref: parent})
}

// Rediscover queues the parents whose customize hook asked for resources of a group in which a definition changed.
func (l *Reconciler) Rediscover(group string) {
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	for parent, state := range l.states.all {
		if state.customize.AsksFor(group) {
			l.queue.Enqueue(parent, queue.RelatedChanged)
		}
	}
}

// QueueRelated implements related.Controller.
func (l *Reconciler) QueueRelated(parent object.Ref) { l.queue.Enqueue(parent, queue.RelatedChanged) }

// RetryStatus forgets which statuses were not stored, or not written, since the definition of the parents' kind changed, and
// queues their parents.
func (l *Reconciler) RetryStatus() { l.status.retry() }

// forget drops what is remembered of a parent that is gone.
func (l *Reconciler) forget(key object.Ref) {
	l.queue.Forget(key)
	l.current.Load().Forget(key)
	l.forgetRelated(key)
	l.states.forget(key)
}

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"metascript/controller/bodies"
	"metascript/controller/build"
	"metascript/controller/dispatch"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/lease"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/related"
	"metascript/controller/throttle"
	"metascript/controller/work"
	"metascript/engine"
)

// How long, and how often at first and at last, a reconcile waits for the caches to show what the one before it wrote.
// It is a courtesy and no guarantee: after the wait it goes on with what there is, since every write is safe with
// stale caches.
const (
	maxCacheDelay  = 5 * time.Second
	firstCachePoll = 5 * time.Millisecond
	lastCachePoll  = 250 * time.Millisecond
)

// soonest is the least time after which a hook is called again because it asks for it.
const minResync = 100 * time.Millisecond

// A reconcile that finds the world changed under it backs off no longer than this, and is told of like a failure
// after so many in a row: then what it waits for does not come.
const (
	maxRequeue           = 10 * time.Second
	requeuesBeforeReport = 8
)

// grace is how long a reconcile may go on after its controller was told to stop.
const stopTimeout = 20 * time.Second

// A loop reconciles the parents of one Binding: its queue, its resyncs. It alone decides about retrying. Its workers, and the
// watches that tell it of events, are shared by all loops: one that has nothing to do costs its memory alone.
type Reconciler struct {
	*Binding
	finalizersReleased atomic.Bool // see loop.release

	Queue   *queue.Queue
	counts  *metrics.Controller
	current atomic.Pointer[Version]
	denials *denials
	events  parentEvents
	log     *slog.Logger
	filled  atomic.Bool  // the caches are, and the workers work, or stand by
	changed func()       // is called when the status of the controller has something to tell
	leading *lease.Gate  // the workers work once it is open
	because queue.Reason // why all parents are reconciled at first: Resync or ScriptChanged

	overlap Overlap // with others, as it was last; only who loads the controller uses it

	relatedCaches *related.Caches // that of shared
	ends          []func()        // what ends what begin began

	adopting sync.Mutex // see readAdopter

	mu       sync.Mutex
	pending  map[object.Ref]*pendingWrites // what the last reconcile of a parent wrote
	unstored map[object.Ref]unstoredStatus
	kept     map[object.Ref]*parentState

	withoutTransitionTimes map[object.Kind]bool    // of parents whose schema has no lastTransitionTime
	withoutStatus          map[object.Kind]bool    // of parents that have lost their status subresource
	failures               map[object.Ref]*failure // the failures that the log has of a parent
	redactors              sync.Map                // object.Ref of the parents that are being reconciled -> *redact.Redactor
	redacted               sync.Map                // and of those whose last reconcile saw Secrets
	fallbackReported       map[string]bool         // the hooks of which was told that their webhooks answer in place of scripts
}

// wrote remembers what caches must show before a parent's next reconcile.
type pendingWrites struct {
	since time.Time
	shown []func() bool
}

// Options are what a Reconciler needs beside its Binding.
type Options struct {
	Events *kube.Events
	Log    *slog.Logger

	// Changed is called when the status of the controller has something else to report: when the script begins to be held for
	// parents, and when it is held for none any more; when a webhook begins to answer in place of a script, and when the script
	// does again. It must not block. Nil: nobody is told.
	Changed func()

	Leading            *lease.Gate    // the workers work once it is open
	Loaded             *build.Version // what the hooks of the Binding were made of; nil: it is not known
	Before             *Reconciler    // the one that this one takes the place of; nil: there is none
	FinalizersReleased bool           // see Reconciler.ReleaseFinalizers
}

// New returns a Reconciler for b, which does nothing before Begin.
func New(b *Binding, o Options) *Reconciler {
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if b.Shared == nil {
		b.Shared = NewShared()
	}
	l := &Reconciler{
		Binding:       b,
		Queue:         queue.New(b.Shared.Pool, b.QueueName(), b.Metrics.QueueMetrics()),
		counts:        b.Metrics.Controller(b.Kind, b.Name),
		denials:       newDenials(o.Changed),
		because:       queue.Resync,
		relatedCaches: &b.Shared.Related,
		changed:       o.Changed,
		leading:       o.Leading,
		pending:       map[object.Ref]*pendingWrites{},
		unstored:      map[object.Ref]unstoredStatus{},
		kept:          map[object.Ref]*parentState{},

		withoutTransitionTimes: map[object.Kind]bool{},
		withoutStatus:          map[object.Kind]bool{},
		failures:               map[object.Ref]*failure{},
		fallbackReported:       map[string]bool{},
	}
	l.events = parentEvents{o.Events, l}
	l.log = slog.New(redact.Handler(o.Log.Handler(), l.redactorOf)).With("controller", b.Name)
	l.finalizersReleased.Store(o.FinalizersReleased)
	if o.Before != nil {
		l.because, l.fallbackReported = queue.ScriptChanged, o.Before.fallbackReported
	}
	first := NewVersion(b.Hooks, b.Revisions, o.Changed)
	first.Loaded = o.Loaded
	l.followFallbacks(first)
	l.current.Store(first)
	return l
}

// shared is what the loops of a server have in common.
type Shared struct {
	Pool *work.Pool
	Hub  dispatch.Hub[*Reconciler]

	Related related.Caches
}

func NewShared() *Shared { return &Shared{Pool: work.NewPool(work.Options{})} }

// run reconciles until ctx is done, lets what is under way end, and gives the caches back. It calls begun when the
// caches are filled.
func (l *Reconciler) run(ctx context.Context, begun func()) error {
	defer l.End(ctx)
	if err := l.Begin(ctx, begun); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// begin returns when workers of the pool reconcile what the queue gives, or ctx is done. In either case end comes after it.
func (l *Reconciler) Begin(ctx context.Context, begun func()) error {
	if err := l.Clients.Register(); err != nil {
		l.log.Warn("metrics of webhooks are not kept", "error", err)
	}
	if err := l.listen(); err != nil {
		return err
	}
	if !l.Synced(ctx) {
		return nil // ctx is done
	}
	l.queueAll()
	l.filled.Store(true)
	if !l.leading.Wait(ctx) {
		return nil
	}
	begun()
	l.reportFallbacks()
	// What is under way when ctx ends is let finish, for a while.
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.Queue.Serve(l.Workers, func(key object.Ref) { l.process(working, key) })
	l.ends = append(l.ends, cancel, work.Every(l.probePeriod(), l.probe))
	if l.ResyncPeriod > 0 {
		l.ends = append(l.ends, work.Every(l.ResyncPeriod, l.resync))
	}
	return nil
}

// end ends what begin began, after ctx is done or because begin failed, and gives the caches back.
func (l *Reconciler) End(ctx context.Context) {
	l.Queue.ShutDown()
	abort := func() {
		for _, end := range l.ends {
			end()
		}
	}
	late := time.AfterFunc(graceAfter(ctx), abort)
	l.Queue.Wait()
	late.Stop()
	abort()
	l.Close()
}

// close gives the caches back. Nothing reconciles any more.
func (l *Reconciler) Close() {
	l.Shared.Hub.Leave(l)
	l.relatedCaches.Leave(l)
	l.Binding.close()
}

// listen has the loop told of what concerns it.
func (l *Reconciler) listen() error {
	var parents []dispatch.Parents
	for _, rule := range l.Parents {
		parents = append(parents, dispatch.Parents{
			Cache: rule.Cache, Kind: rule.ObjectKind(), Namespaced: rule.Namespaced,
			Queries: rule.Queries(), Finalizer: l.Finalizer, On: l.onParent,
		})
	}
	var children []dispatch.Children
	for _, child := range l.Children {
		children = append(children, dispatch.Children{Cache: child.Informer, On: l.onChild, Adopt: l.onOrphan})
	}
	if l.Revisions != nil {
		children = append(children, dispatch.Children{Cache: l.Revisions.Cache, On: l.onRevision})
	}
	if err := l.Shared.Hub.Join(l, parents, children); err != nil {
		return fmt.Errorf("watch parents and children: %w", err)
	}
	return l.Clients.Credentials.Listen(l.onKey)
}

// synced waits for every cache: a child that is not cached yet must not be taken for missing.
func (l *Reconciler) Synced(ctx context.Context) bool {
	for _, cache := range l.caches() {
		if !cache.Synced(ctx) {
			return false
		}
	}
	if !l.Shared.Hub.Synced(ctx, l) {
		return false
	}
	l.Clients.Credentials.Settled(ctx)
	return true
}

// queueOwn takes the parents that the caches held before the loop was told of events.
func (l *Reconciler) queueAll() {
	for parent := range l.own() {
		l.onParent(nil, parent)
	}
}

// resync queues every parent. It is called once a period.
func (l *Reconciler) resync() {
	for parent := range l.own() {
		l.Queue.Enqueue(object.RefOf(parent), queue.Resync)
	}
}

// process reconciles one parent and decides when to come again.
func (l *Reconciler) process(ctx context.Context, key object.Ref) {
	why := l.Queue.Take(key)
	if l.Only != nil && !l.Only(key) {
		l.Queue.Forget(key)
		return
	}
	l.renew(key)
	if wait := max(l.cacheDelay(key), l.churnDelay(key, why)); wait > 0 {
		l.Queue.Postpone(key, why, wait)
		return
	}
	ctx, done := l.redacting(ctx, key)
	defer done()
	began := time.Now()
	again, err := l.guarded(ctx, key)
	l.counts.Synced(time.Since(began))
	l.log.Debug("reconciled", "kind", key.Kind.Kind, "parent", key, "why", why.String(), "took", time.Since(began), "error", err)
	l.denials.note(key, err)
	l.reportReconciled(key, err)
	l.endChurn(key)
	if l.DryRun {
		again = l.forgetDryRun(key, again)
	}
	l.decide(ctx, key, again, err)
}

// guarded turns a panic into an error of this one reconcile.
func (l *Reconciler) guarded(ctx context.Context, key object.Ref) (again time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil {
			l.log.Error("panic in a reconcile, please report it", "kind", key.Kind.Kind, "parent", key, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
		err = redact.In(ctx).Error(err)
	}()
	ctx, release := bodies.Hold(ctx)
	defer release()
	return l.reconcile(ctx, key)
}

// decide is the one place that knows about retrying: forget, come again after a while, or back off.
func (l *Reconciler) decide(ctx context.Context, key object.Ref, again time.Duration, err error) {
	var later *hook.RetryAfter
	var held *throttle.HeldError
	var pause *throttle.PauseError
	if again > 0 {
		l.Queue.EnqueueAfter(key, queue.Resync, max(again, minResync)) // also when a write failed, unless a retry comes first
	}
	switch {
	case err == nil:
		l.Queue.Forget(key)
		l.forgetFailure(key)
	case ctx.Err() != nil: // stopping
	case errors.As(err, &held): // a change of the parent, or of the script, is what comes next
		if held.New {
			l.report(key, "ScriptHeld", err)
		}
		l.Queue.Forget(key)
	case errors.As(err, &pause) && pause.New:
		l.report(key, "SyncError", err)
		l.Queue.Retry(key, pause.Wait)
	case errors.As(err, &pause):
		l.Queue.EnqueueAfter(key, queue.Retry, pause.Wait)
	case errors.As(err, &later) && later.Unsaid:
		l.Queue.Retry(key, later.After)
	case errors.As(err, &later):
		l.Queue.Forget(key)
		l.Queue.EnqueueAfter(key, queue.Resync, later.After)
	case errors.Is(err, kube.ErrRequeue):
		if l.Queue.NumRequeues(key) >= requeuesBeforeReport {
			l.report(key, "SyncError", err)
		}
		l.Queue.EnqueueAfter(key, queue.Retry, min(l.Queue.Backoff(key), maxRequeue))
	default:
		l.report(key, "SyncError", err)
		l.Queue.Retry(key, 0)
	}
}

// request has a parent reconciled at once, as if it had never failed.
func (l *Reconciler) request(key object.Ref) {
	l.Queue.Forget(key)
	l.current.Load().forgive(key)
	l.Queue.Enqueue(key, queue.Requested)
}

// prefixes are how the messages of events begin, which is as in Metacontroller.
var prefixes = map[string]string{"SyncError": "Sync error: "}

// report tells of a failed reconcile: whole in the log, on one line in an event on the parent. The log has the same
// failure of the same parent ever more seldom; events have their budget.
func (l *Reconciler) report(key object.Ref, reason string, err error) {
	if times := l.countFailure(key, err); times&(times-1) == 0 {
		l.log.Warn("reconcile failed", "kind", key.Kind.Kind, "parent", key, "times", times, "error", engine.DetailOf(err))
	}
	if parent := l.parent(key); parent != nil {
		l.events.Warning(parent, reason, "%s%s", prefixes[reason], err.Error())
	}
}

// A saying is a failure and how often in a row it came.
type failure struct {
	text  string
	times int
}

// repeated gives how often in a row a parent failed like this.
func (l *Reconciler) countFailure(key object.Ref, err error) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.failures[key]; s == nil || s.text != err.Error() {
		l.failures[key] = &failure{text: err.Error()}
	}
	l.failures[key].times++
	return l.failures[key].times
}

// worked notes that a parent's reconcile did not fail.
func (l *Reconciler) forgetFailure(key object.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, key)
}

// lags gives how long to wait, zero for not at all, because the caches have yet to show what the last reconcile of key
// wrote. Without waiting the next one would do the same again, in vain: write a status twice, create a child that is
// there.
func (l *Reconciler) cacheDelay(key object.Ref) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.pending[key]
	if w == nil {
		return 0
	}
	for len(w.shown) > 0 && w.shown[0]() {
		w.shown = w.shown[1:]
	}
	if waited := time.Since(w.since); len(w.shown) > 0 && waited < maxCacheDelay {
		return min(max(waited/2, firstCachePoll), lastCachePoll)
	}
	delete(l.pending, key)
	return 0
}

// A tracker is the Writer of one reconcile: it notes what caches will have to show.
type tracker struct {
	*Reconciler
	key object.Ref
}

// Do implements Writer.
func (t tracker) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	before := t.before(op)
	stored, err := t.Write.Do(ctx, op)
	t.report(Write{op, before, stored, err, redact.In(ctx)})
	t.log.Debug("wrote", "kind", t.key.Kind.Kind, "parent", t.key, "op", op.String(), "error", err)
	if err == nil {
		t.expect(t.shownBy(op, stored))
		_, isChild := t.Kinds[op.Object.GroupVersionKind()]
		t.parentState(t.key).churn.Note(op, isChild)
	}
	return stored, err
}

func (t tracker) expect(shown func() bool) {
	if shown == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.pending[t.key]
	if w == nil {
		w = &pendingWrites{}
		t.pending[t.key] = w
	}
	w.since = time.Now()
	w.shown = append(w.shown, shown)
}

// shows gives a function that reports whether the cache of op's object knows of it; nil when there is no cache.
func (t tracker) shownBy(op plan.Op, stored *object.Object) func() bool {
	cache := t.cacheOf(stored.GroupVersionKind())
	if cache == nil {
		return nil
	}
	if op.Verb != plan.Delete {
		version := stored.GetResourceVersion()
		return func() bool { return cache.CaughtUp(version) }
	}
	key, uid := object.KeyOf(stored), stored.GetUID()
	return func() bool {
		o := cache.Get(key)
		return o == nil || o.GetUID() != uid || object.Deleting(o)
	}
}

// selected are the parents that the controller selects, each once.
func (l *Reconciler) selected() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		for _, rule := range l.Parents {
			for _, o := range rule.selected() {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// own are the parents that the controller looks after: those that it selects, and those that have its finalizer.
func (l *Reconciler) own() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		for o := range l.selected() {
			if !yield(o) {
				return
			}
		}
		for _, rule := range l.Parents {
			for _, o := range rule.Cache.WithFinalizer(l.Finalizer) {
				if !rule.Selects(o) && !yield(o) {
					return
				}
			}
		}
	}
}

// trouble is what keeps the caches from being filled, or up to date, as far as it is known.
func (l *Reconciler) Trouble() error {
	var failed []error
	for _, cache := range l.caches() {
		failed = append(failed, cache.Trouble(), cache.Stale())
	}
	return errors.Join(failed...)
}

// count gives how many parents the controller selects.
func (l *Reconciler) Count() int {
	n := 0
	for range l.selected() {
		n++
	}
	return n
}

// probeLocks takes each lock of the controller and releases it, so that a lock that is never released shows.
func (l *Reconciler) ProbeLocks() {
	l.Queue.Probe()
	l.mu.Lock()
	defer l.mu.Unlock()
}

// unfilled says which caches are being filled, without those that cannot be.
func (l *Reconciler) Unfilled() []string {
	if l.filled.Load() || l.Trouble() != nil {
		return nil
	}
	var resources []string
	note := func(resource string, cache *informer.Informer) {
		if !cache.Filled() {
			resources = append(resources, resource)
		}
	}
	for _, parent := range l.Parents {
		note(parent.GroupResource().String(), parent.Cache)
	}
	for _, child := range l.Children {
		note(child.Kind.Kind, child.Informer)
	}
	if len(resources) == 0 {
		return []string{fmt.Sprintf("%s is about to start", l.ID)}
	}
	return []string{fmt.Sprintf("the caches of %s are being filled: %s", l.ID, strings.Join(resources, ", "))}
}

// graceAfter is how long what is under way may go on when ctx is done: not at all when another server may work.
func graceAfter(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), lease.ErrLost) {
		return 0
	}
	return stopTimeout
}

package controller

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
	"metascript/controller/dispatch"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/lease"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/plan"
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
	lagWait   = 5 * time.Second
	firstPoll = 5 * time.Millisecond
	lastPoll  = 250 * time.Millisecond
)

// soonest is the least time after which a hook is called again because it asks for it.
const soonest = 100 * time.Millisecond

// A reconcile that finds the world changed under it backs off no longer than this, and is told of like a failure
// after so many in a row: then what it waits for does not come.
const (
	lastLook    = 10 * time.Second
	looksBefore = 8
)

// grace is how long a reconcile may go on after its controller was told to stop.
const grace = 20 * time.Second

// A loop reconciles the parents of one Binding: its queue, its resyncs. It alone decides about retrying. Its workers, and the
// watches that tell it of events, are shared by all loops: one that has nothing to do costs its memory alone.
type loop struct {
	*Binding
	released atomic.Bool // see loop.release

	queue   *queue
	counts  *metrics.Controller
	current atomic.Pointer[version]
	denials *denials
	events  parentEvents
	log     *slog.Logger
	filled  atomic.Bool // the caches are, and the workers work, or stand by
	changed func()      // is called when the status of the controller has something to tell
	leading *lease.Gate // the workers work once it is open
	because Reason      // why all parents are reconciled at first: Resync or ScriptChanged

	overlap overlap // with others, as it was last; only who loads the controller uses it

	relatedCaches *related.Caches // that of shared
	ends          []func()        // what ends what begin began

	adopting sync.Mutex // see readAdopter

	mu      sync.Mutex
	written map[object.Ref]*wrote // what the last reconcile of a parent wrote
	pruned  map[object.Ref]unstored
	kept    map[object.Ref]*kept

	timeless   map[object.Kind]bool   // of parents whose schema has no lastTransitionTime
	statusless map[object.Kind]bool   // of parents that have lost their status subresource
	said       map[object.Ref]*saying // the failures that the log has of a parent
	redactors  sync.Map               // object.Ref of the parents that are being reconciled -> *redact.Redactor
	redacted   sync.Map               // and of those whose last reconcile saw Secrets
	standing   map[string]bool        // the hooks of which was told that their webhooks answer in place of scripts
}

// wrote remembers what caches must show before a parent's next reconcile.
type wrote struct {
	since time.Time
	shown []func() bool
}

// newLoop gives a loop for b. It calls changed when the script begins to be held for parents, and when it is for none any
// more, and when a webhook takes over from a script, or the other way round.
func newLoop(b *Binding, events *kube.Events, log *slog.Logger, changed func()) *loop {
	if b.shared == nil {
		b.shared = newShared()
	}
	l := &loop{
		Binding:       b,
		queue:         newQueue(b.shared.pool, b.queue(), b.Metrics.QueueMetrics()),
		counts:        b.Metrics.Controller(b.Kind, b.Name),
		denials:       newDenials(changed),
		because:       Resync,
		relatedCaches: &b.shared.related,
		changed:       changed,
		written:       map[object.Ref]*wrote{},
		pruned:        map[object.Ref]unstored{},
		kept:          map[object.Ref]*kept{},

		timeless:   map[object.Kind]bool{},
		statusless: map[object.Kind]bool{},
		said:       map[object.Ref]*saying{},
		standing:   map[string]bool{},
	}
	l.events = parentEvents{events, l}
	l.log = slog.New(redact.Handler(log.Handler(), l.redactorOf)).With("controller", b.Name)
	first := newVersion(b.Hooks, b.revisions, changed)
	l.follow(first)
	l.current.Store(first)
	return l
}

// shared is what the loops of a server have in common.
type shared struct {
	pool *work.Pool
	hub  dispatch.Hub[*loop]

	related related.Caches
}

func newShared() *shared { return &shared{pool: work.NewPool(work.Options{})} }

// run reconciles until ctx is done, lets what is under way end, and gives the caches back. It calls begun when the
// caches are filled.
func (l *loop) run(ctx context.Context, begun func()) error {
	defer l.end(ctx)
	if err := l.begin(ctx, begun); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// begin returns when workers of the pool reconcile what the queue gives, or ctx is done. In either case end comes after it.
func (l *loop) begin(ctx context.Context, begun func()) error {
	if err := l.links.register(); err != nil {
		l.log.Warn("metrics of webhooks are not kept", "error", err)
	}
	if err := l.listen(); err != nil {
		return err
	}
	if !l.synced(ctx) {
		return nil // ctx is done
	}
	l.queueOwn()
	l.filled.Store(true)
	if !l.leading.Wait(ctx) {
		return nil
	}
	begun()
	l.tellFallbacks()
	// What is under way when ctx ends is let finish, for a while.
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.queue.Serve(l.Workers, func(key object.Ref) { l.process(working, key) })
	l.ends = append(l.ends, cancel, work.Every(l.probePeriod(), l.probe))
	if l.ResyncPeriod > 0 {
		l.ends = append(l.ends, work.Every(l.ResyncPeriod, l.resync))
	}
	return nil
}

// end ends what begin began, after ctx is done or because begin failed, and gives the caches back.
func (l *loop) end(ctx context.Context) {
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
	l.close()
}

// close gives the caches back. Nothing reconciles any more.
func (l *loop) close() {
	l.shared.hub.Leave(l)
	l.relatedCaches.Leave(l)
	l.Binding.close()
}

// listen has the loop told of what concerns it.
func (l *loop) listen() error {
	var parents []dispatch.Parents
	for _, rule := range l.Parents {
		parents = append(parents, dispatch.Parents{
			Cache: rule.cache, Kind: rule.ObjectKind(), Namespaced: rule.Namespaced,
			Queries: rule.queries(), Finalizer: l.Finalizer, On: l.onParent,
		})
	}
	var children []dispatch.Children
	for _, child := range l.children {
		children = append(children, dispatch.Children{Cache: child.cache, On: l.onChild, Adopt: l.onOrphan})
	}
	if l.revisions != nil {
		children = append(children, dispatch.Children{Cache: l.revisions.cache, On: l.onRevision})
	}
	if err := l.shared.hub.Join(l, parents, children); err != nil {
		return fmt.Errorf("watch parents and children: %w", err)
	}
	return l.links.keys.listen(l.onKey)
}

// synced waits for every cache: a child that is not cached yet must not be taken for missing.
func (l *loop) synced(ctx context.Context) bool {
	for _, cache := range l.caches() {
		if !cache.Synced(ctx) {
			return false
		}
	}
	if !l.shared.hub.Synced(ctx, l) {
		return false
	}
	l.links.keys.settled(ctx)
	return true
}

// queueOwn takes the parents that the caches held before the loop was told of events.
func (l *loop) queueOwn() {
	for parent := range l.own() {
		l.onParent(nil, parent)
	}
}

// resync queues every parent. It is called once a period.
func (l *loop) resync() {
	for parent := range l.own() {
		l.queue.add(object.RefOf(parent), Resync)
	}
}

// process reconciles one parent and decides when to come again.
func (l *loop) process(ctx context.Context, key object.Ref) {
	why := l.queue.take(key)
	if l.Only != nil && !l.Only(key) {
		l.queue.Forget(key)
		return
	}
	l.renew(key)
	if wait := max(l.lags(key), l.rests(key, why)); wait > 0 {
		l.queue.postpone(key, why, wait)
		return
	}
	ctx, done := l.redacting(ctx, key)
	defer done()
	began := time.Now()
	again, err := l.guarded(ctx, key)
	l.counts.Synced(time.Since(began))
	l.log.Debug("reconciled", "kind", key.Kind.Kind, "parent", key, "why", why.String(), "took", time.Since(began), "error", err)
	l.denials.note(key, err)
	l.reconciled(key, err)
	l.endRound(key)
	if l.DryRun {
		again = l.unremember(key, again)
	}
	l.decide(ctx, key, again, err)
}

// guarded turns a panic into an error of this one reconcile.
func (l *loop) guarded(ctx context.Context, key object.Ref) (again time.Duration, err error) {
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
func (l *loop) decide(ctx context.Context, key object.Ref, again time.Duration, err error) {
	var later *hook.RetryAfter
	var held *throttle.HeldError
	var pause *throttle.PauseError
	if again > 0 {
		l.queue.addAfter(key, Resync, max(again, soonest)) // also when a write failed, unless a retry comes first
	}
	switch {
	case err == nil:
		l.queue.Forget(key)
		l.worked(key)
	case ctx.Err() != nil: // stopping
	case errors.As(err, &held): // a change of the parent, or of the script, is what comes next
		if held.New {
			l.report(key, "ScriptHeld", err)
		}
		l.queue.Forget(key)
	case errors.As(err, &pause) && pause.New:
		l.report(key, "SyncError", err)
		l.queue.retry(key, pause.Wait)
	case errors.As(err, &pause):
		l.queue.addAfter(key, Retry, pause.Wait)
	case errors.As(err, &later) && later.Unsaid:
		l.queue.retry(key, later.After)
	case errors.As(err, &later):
		l.queue.Forget(key)
		l.queue.addAfter(key, Resync, later.After)
	case errors.Is(err, kube.ErrRequeue):
		if l.queue.NumRequeues(key) >= looksBefore {
			l.report(key, "SyncError", err)
		}
		l.queue.addAfter(key, Retry, min(l.queue.backOff(key), lastLook))
	default:
		l.report(key, "SyncError", err)
		l.queue.retry(key, 0)
	}
}

// request has a parent reconciled at once, as if it had never failed.
func (l *loop) request(key object.Ref) {
	l.queue.Forget(key)
	l.current.Load().forgive(key)
	l.queue.add(key, Requested)
}

// prefixes are how the messages of events begin, which is as in Metacontroller.
var prefixes = map[string]string{"SyncError": "Sync error: "}

// report tells of a failed reconcile: whole in the log, on one line in an event on the parent. The log has the same
// failure of the same parent ever more seldom; events have their budget.
func (l *loop) report(key object.Ref, reason string, err error) {
	if times := l.repeated(key, err); times&(times-1) == 0 {
		l.log.Warn("reconcile failed", "kind", key.Kind.Kind, "parent", key, "times", times, "error", engine.DetailOf(err))
	}
	if parent := l.parent(key); parent != nil {
		l.events.Warning(parent, reason, "%s%s", prefixes[reason], err.Error())
	}
}

// A saying is a failure and how often in a row it came.
type saying struct {
	text  string
	times int
}

// repeated gives how often in a row a parent failed like this.
func (l *loop) repeated(key object.Ref, err error) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.said[key]; s == nil || s.text != err.Error() {
		l.said[key] = &saying{text: err.Error()}
	}
	l.said[key].times++
	return l.said[key].times
}

// worked notes that a parent's reconcile did not fail.
func (l *loop) worked(key object.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.said, key)
}

// lags gives how long to wait, zero for not at all, because the caches have yet to show what the last reconcile of key
// wrote. Without waiting the next one would do the same again, in vain: write a status twice, create a child that is
// there.
func (l *loop) lags(key object.Ref) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.written[key]
	if w == nil {
		return 0
	}
	for len(w.shown) > 0 && w.shown[0]() {
		w.shown = w.shown[1:]
	}
	if waited := time.Since(w.since); len(w.shown) > 0 && waited < lagWait {
		return min(max(waited/2, firstPoll), lastPoll)
	}
	delete(l.written, key)
	return 0
}

// A tracker is the Writer of one reconcile: it notes what caches will have to show.
type tracker struct {
	*loop
	key object.Ref
}

// Do implements Writer.
func (t tracker) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	before := t.observed(op)
	stored, err := t.Write.Do(ctx, op)
	t.wrote(Write{op, before, stored, err, redact.In(ctx)})
	t.log.Debug("wrote", "kind", t.key.Kind.Kind, "parent", t.key, "op", op.String(), "error", err)
	if err == nil {
		t.note(t.shows(op, stored))
		_, isChild := t.Kinds[op.Object.GroupVersionKind()]
		t.keptOf(t.key).churn.Note(op, isChild)
	}
	return stored, err
}

func (t tracker) note(shown func() bool) {
	if shown == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.written[t.key]
	if w == nil {
		w = &wrote{}
		t.written[t.key] = w
	}
	w.since = time.Now()
	w.shown = append(w.shown, shown)
}

// shows gives a function that reports whether the cache of op's object knows of it; nil when there is no cache.
func (t tracker) shows(op plan.Op, stored *object.Object) func() bool {
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
func (l *loop) selected() iter.Seq[*object.Object] {
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
func (l *loop) own() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		for o := range l.selected() {
			if !yield(o) {
				return
			}
		}
		for _, rule := range l.Parents {
			for _, o := range rule.cache.WithFinalizer(l.Finalizer) {
				if !rule.selects(o) && !yield(o) {
					return
				}
			}
		}
	}
}

// trouble is what keeps the caches from being filled, or up to date, as far as it is known.
func (l *loop) trouble() error {
	var failed []error
	for _, cache := range l.caches() {
		failed = append(failed, cache.Trouble(), cache.Stale())
	}
	return errors.Join(failed...)
}

// count gives how many parents the controller selects.
func (l *loop) count() int {
	n := 0
	for range l.selected() {
		n++
	}
	return n
}

// probeLocks takes each lock of the controller and releases it, so that a lock that is never released shows.
func (l *loop) probeLocks() {
	l.queue.probe()
	l.mu.Lock()
	defer l.mu.Unlock()
}

// unfilled says which caches are being filled, without those that cannot be.
func (l *loop) unfilled() []string {
	if l.filled.Load() || l.trouble() != nil {
		return nil
	}
	var resources []string
	note := func(resource string, cache *informer.Informer) {
		if !cache.Filled() {
			resources = append(resources, resource)
		}
	}
	for _, parent := range l.Parents {
		note(parent.GroupResource().String(), parent.cache)
	}
	for _, child := range l.children {
		note(child.kind.Kind, child.cache)
	}
	if len(resources) == 0 {
		return []string{fmt.Sprintf("%s is about to start", l.id)}
	}
	return []string{fmt.Sprintf("the caches of %s are being filled: %s", l.id, strings.Join(resources, ", "))}
}

// graceAfter is how long what is under way may go on when ctx is done: not at all when another server may work.
func graceAfter(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), lease.ErrLost) {
		return 0
	}
	return grace
}

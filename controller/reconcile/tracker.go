package reconcile

import (
	"context"
	"strings"
	"sync"
	"time"

	"metascript/controller/binding"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/spans"
)

// A tracker is the plan.Writer of one reconcile. It passes each write on, and records in the state of the parent what the caches
// have to show before the next reconcile.
type tracker struct {
	binding  *binding.Binding
	events   *parentEvents
	observer observe.Observer   // nil if there is none
	done     *observe.Reconcile // gets the writes; nil if there is no Sink
	state    *parentState
	key      object.Ref // of the parent

	mu *sync.Mutex // is locked while state is used, and the observer called: writes to children are sent at the same time
}

// Do implements plan.Writer. It writes nothing if the Binding is outdated.
func (t tracker) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	if err := t.binding.CheckCurrent(); err != nil {
		return nil, err
	}
	w := observe.Write{Op: op, Before: t.begin(op), Redactor: redact.FromContext(ctx), Began: time.Now()}
	if t.done != nil {
		ctx, w.Span = spans.Start(ctx, string(op.Verb))
	}
	stored, err := t.binding.Write.Do(ctx, op)
	w.Took, w.Stored, w.Err = time.Since(w.Began), stored, err
	t.end(w)
	return stored, err
}

// begin notes that a write begins. It returns the object as it was before, for the Observer.
func (t tracker) begin(op plan.Op) *object.Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.memory.Wrote(op.String(), op.Verb == plan.UpdateStatus)
	return t.before(op)
}

// end notes the result of a write.
func (t tracker) end(w observe.Write) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.observe(w)
	if t.events.debugs() {
		t.events.log.Debug("wrote", "kind", t.key.Kind.Kind, "parent", t.key, "op", w.Op.String(), "error", w.Err)
	}
	if w.Err == nil {
		t.expect(t.cacheShows(w.Op, w.Stored))
		_, isChild := t.binding.Kinds[w.Op.Object.GroupVersionKind()]
		t.state.churn.Note(w.Op, isChild)
		t.state.inputs.Wrote(w.Op, w.Stored)
		if w.Op.Verb == plan.UpdateStatus {
			t.state.memory.WroteStatus(w.Stored.GetResourceVersion())
		}
	}
}

// expect adds a write to the pending writes of the parent. shown reports whether a cache shows it; nil adds nothing.
func (t tracker) expect(shown func() bool) {
	if shown == nil {
		return
	}
	pending := &t.state.pending
	pending.since = time.Now()
	pending.shown = append(pending.shown, shown)
}

// cacheShows returns a function that reports whether the cache of op's object shows op; nil if no cache will have the object.
func (t tracker) cacheShows(op plan.Op, stored *object.Object) func() bool {
	cache := t.binding.CacheOf(stored.GroupVersionKind())
	if cache == nil || cache.Lacks(stored) {
		return nil
	}
	if op.Verb != plan.Delete {
		namespace, version := strings.Clone(stored.GetNamespace()), strings.Clone(stored.GetResourceVersion())
		return func() bool { return cache.CaughtUp(namespace, version) }
	}
	key, uid := object.RefOf(stored).Clone().Key, object.UIDOf(stored)
	return func() bool {
		o := cache.Get(key)
		return o == nil || o.GetUID() != uid || object.Deleting(o)
	}
}

// before returns op's object as it was before the write, for the Observer. It must be called before the write, since the cache
// may show the write before it returns.
func (t tracker) before(op plan.Op) *object.Object {
	cache := t.binding.CacheOf(op.Object.GroupVersionKind())
	if t.observer == nil && t.done == nil || cache == nil {
		return op.Observed
	}
	return cache.Get(object.KeyOf(op.Object))
}

// observe calls the Observer after a write, and keeps it for the Sinks.
func (t tracker) observe(write observe.Write) {
	if t.done != nil {
		t.done.Writes = append(t.done.Writes, write)
	}
	if t.observer != nil {
		t.observer.Wrote(aboutParent(t.binding, t.key), write)
	}
}

// aboutParent names a parent of a controller for an Observer or a Sink.
func aboutParent(b *binding.Binding, key object.Ref) observe.About {
	return observe.About{Kind: b.Kind, Controller: b.Name, Parent: key}
}

// observe begins to collect what the reconcile does, if there is a Sink. It returns the context for the reconcile, which has the span
// of a Tracer.
func (c *reconciliation) observe(ctx context.Context, why queue.Reason, began time.Time) context.Context {
	if len(c.sinks) == 0 {
		return ctx
	}
	c.done = &observe.Reconcile{About: aboutParent(c.binding, c.key), Why: why, Began: began}
	c.done.Causes, c.done.Missed = c.causes.Take(c.key)
	if parent := c.binding.Parent(c.key); parent != nil {
		c.done.UID = parent.GetUID()
	}
	if c.done.Loaded = c.version.Loaded; c.done.Loaded != nil {
		c.done.Script = c.version.Loaded.Built.Digest
	}
	c.caller.Observe = func(call observe.Call) { c.done.Calls = append(c.done.Calls, call) }
	for _, sink := range c.sinks {
		if tracer, ok := sink.(observe.Tracer); ok {
			ctx, c.done.Span = tracer.Start(ctx)
		}
	}
	return ctx
}

// tellSinks tells the Sinks of a reconcile that has ended.
func (c *reconciliation) tellSinks(redactor *redact.Redactor, again, retry time.Duration, err error) {
	if c.done == nil {
		return
	}
	c.done.Took, c.done.Source, c.done.Err = time.Since(c.done.Began), c.source, err
	c.done.Again, c.done.Retry, c.done.Unseen, c.done.Redactor = again, retry, len(c.state.pending.shown), redactor
	for _, sink := range c.sinks {
		sink.Reconciled(c.done)
	}
}

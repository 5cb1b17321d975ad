package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"metascript/controller/bodies"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/throttle"
	"metascript/engine"
)

// A worker takes parents from the queue of a controller, and is the only one that decides about retrying.
type worker struct{ r *Reconciler }

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

// prefixes are how the messages of events begin, which is as in Metacontroller.
var prefixes = map[string]string{"SyncError": "Sync error: "}

// process reconciles one parent and decides when to come again.
func (w *worker) process(ctx context.Context, key object.Ref) {
	why := w.r.queue.Take(key)
	if w.r.b.Only != nil && !w.r.b.Only(key) {
		w.r.queue.Forget(key)
		return
	}
	w.r.states.renew(key)
	state := w.r.states.find(key)
	if wait := max(w.cacheDelay(state), w.churnDelay(state, why)); wait > 0 {
		w.r.queue.Postpone(key, why, wait)
		return
	}
	ctx, done := w.r.redactors.begin(ctx, key)
	defer done()
	began := time.Now()
	again, err := w.guarded(ctx, key)
	w.r.counts.Synced(time.Since(began))
	w.r.events.log.Debug("reconciled", "kind", key.Kind.Kind, "parent", key, "why", why.String(), "took", time.Since(began), "error", err)
	w.r.states.note(key, err)
	w.reportReconciled(key, err)
	w.endChurn(key)
	if w.r.b.DryRun {
		again = w.forgetDryRun(key, again)
	}
	w.decide(ctx, key, again, err)
}

// guarded turns a panic into an error of this one reconcile.
func (w *worker) guarded(ctx context.Context, key object.Ref) (again time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil {
			w.r.events.log.Error("panic in a reconcile, please report it", "kind", key.Kind.Kind, "parent", key, "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
		err = redact.In(ctx).Error(err)
	}()
	ctx, release := bodies.Hold(ctx)
	defer release()
	return w.r.reconcile(ctx, key)
}

// decide is the one place that knows about retrying: forget, come again after a while, or back off.
func (w *worker) decide(ctx context.Context, key object.Ref, again time.Duration, err error) {
	var later *hook.RetryAfter
	var held *throttle.HeldError
	var pause *throttle.PauseError
	if again > 0 {
		w.r.queue.EnqueueAfter(key, queue.Resync, max(again, minResync)) // also when a write failed, unless a retry comes first
	}
	switch {
	case err == nil:
		w.r.queue.Forget(key)
		w.r.states.forgetFailure(key)
	case ctx.Err() != nil: // stopping
	case errors.As(err, &held): // a change of the parent, or of the script, is what comes next
		if held.New {
			w.report(key, "ScriptHeld", err)
		}
		w.r.queue.Forget(key)
	case errors.As(err, &pause) && pause.New:
		w.report(key, "SyncError", err)
		w.r.queue.Retry(key, pause.Wait)
	case errors.As(err, &pause):
		w.r.queue.EnqueueAfter(key, queue.Retry, pause.Wait)
	case errors.As(err, &later) && later.Unsaid:
		w.r.queue.Retry(key, later.After)
	case errors.As(err, &later):
		w.r.queue.Forget(key)
		w.r.queue.EnqueueAfter(key, queue.Resync, later.After)
	case errors.Is(err, kube.ErrRequeue):
		if w.r.queue.NumRequeues(key) >= requeuesBeforeReport {
			w.report(key, "SyncError", err)
		}
		w.r.queue.EnqueueAfter(key, queue.Retry, min(w.r.queue.Backoff(key), maxRequeue))
	default:
		w.report(key, "SyncError", err)
		w.r.queue.Retry(key, 0)
	}
}

// report tells of a failed reconcile: whole in the log, on one line in an event on the parent. The log has the same
// failure of the same parent ever more seldom; events have their budget.
func (w *worker) report(key object.Ref, reason string, err error) {
	if times := w.r.states.countFailure(key, err); times&(times-1) == 0 {
		w.r.events.log.Warn("reconcile failed", "kind", key.Kind.Kind, "parent", key, "times", times, "error", engine.DetailOf(err))
	}
	if parent := w.r.b.Parent(key); parent != nil {
		w.r.events.Warning(parent, reason, "%s%s", prefixes[reason], err.Error())
	}
}

// cacheDelay returns how long to wait, zero for not at all, since the caches do not show yet what the last reconcile of a
// parent wrote. Without waiting the next one would write the same once more: a status, or a child that is there.
func (w *worker) cacheDelay(state *parentState) time.Duration {
	if state == nil {
		return 0
	}
	p := &state.pending
	for len(p.shown) > 0 && p.shown[0]() {
		p.shown = p.shown[1:]
	}
	if waited := time.Since(p.since); len(p.shown) > 0 && waited < maxCacheDelay {
		return min(max(waited/2, firstCachePoll), lastCachePoll)
	}
	*p = pendingWrites{}
	return 0
}

// churnDelay returns how long a parent is not to be reconciled, since its hook wants something else each time. A request by
// annotation is not delayed.
func (w *worker) churnDelay(state *parentState, why queue.Reason) time.Duration {
	if state == nil || why&queue.Requested != 0 {
		return 0
	}
	return state.churn.Delay(time.Now())
}

// endChurn ends the round of a parent that was just reconciled, and tells when it does not come to rest.
func (w *worker) endChurn(key object.Ref) {
	parent := w.r.b.Parent(key)
	if parent == nil || !w.r.b.IsOurs(parent) {
		return // nothing is kept for it
	}
	if often := w.r.states.of(key).churn.End(parent, time.Now()); often != "" {
		text := fmt.Sprintf("%s was written %d times in a row for one generation of this object: the hook returns something else each time it is called. It must not use the time, random numbers or its own earlier answers. Until then the reconciles of this object are delayed by up to %s", often, throttle.ChurnLimit, throttle.LastChurnDelay)
		w.r.events.log.Warn("write loop", "kind", key.Kind.Kind, "parent", key, "field", often, "detail", text)
		w.r.events.Warning(parent, "WriteLoop", "%s", text)
	}
}

// reportReconciled tells that a reconcile has ended.
func (w *worker) reportReconciled(key object.Ref, err error) {
	if w.r.observer == nil {
		return
	}
	about := About{w.r.b.Name, key}
	w.r.observer.Reconciled(about, err)
	if parent := w.r.b.Parent(key); parent == nil || !w.r.b.IsOurs(parent) {
		w.r.observer.Passed(about)
	}
}

// forgetDryRun forgets, after a reconcile of which nothing was stored, what it did: what is remembered of writes would be
// wrong. It gives the time after which to come again.
func (w *worker) forgetDryRun(key object.Ref, again time.Duration) time.Duration {
	if state := w.r.states.find(key); state != nil {
		customize := state.customize // the answers are as true as before
		state.applied, state.pending, state.hookState = plan.Memory{}, pendingWrites{}, newHookState()
		state.customize = customize
	}
	if again > 0 {
		again = max(again, dryRest)
	}
	return again
}

// dryRest is the least time after which a dry run is repeated because it asks for it.
const dryRest = time.Second

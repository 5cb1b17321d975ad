package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"metascript/controller/apiserver"
	"metascript/controller/failures"
	"metascript/controller/hook"
	"metascript/controller/inputs"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/recovery"
	"metascript/controller/throttle"
	"metascript/engine"
)

// A reconcile waits up to maxCacheDelay until the caches show what the previous one wrote. The caches are checked after
// firstCachePoll, and then at longer and longer intervals, up to lastCachePoll. The wait only saves writes: every write is
// correct with stale caches too.
const (
	maxCacheDelay  = 5 * time.Second
	firstCachePoll = 5 * time.Millisecond
	lastCachePoll  = 250 * time.Millisecond
)

// minDryRunResync is the throttle.MinResync of a dry run.
const minDryRunResync = time.Second

// A reconcile that fails with kube.ErrRequeue is retried after at most maxRequeueDelay. It is reported as a failure after
// requeuesBeforeReport retries in a row, since it is unlikely by then that the cause is a stale cache.
const (
	maxRequeueDelay      = 10 * time.Second
	requeuesBeforeReport = 8
)

// eventPrefixes are the prefixes of event messages by reason. They are those of Metacontroller.
var eventPrefixes = map[string]string{"SyncError": "Sync error: "}

// scheduleNext decides when a parent is reconciled next, after a reconcile that returned again and err. No other code decides
// what follows from an error. The time in again is the shortest delay that the hook, the roller, the writer of children or the status writer
// requested. Before a reconcile begins, process may postpone it, by cacheDelay and churnDelay. large is the size of the
// plan of its answer; zero if that is small, or if there was none.
//
// It returns after which time a reconcile that failed is repeated; zero if it is not.
func (w *worker) scheduleNext(ctx context.Context, key object.Ref, again time.Duration, large int64, err error) (retry time.Duration) {
	var retryAfter *hook.RetryAfter
	var held *throttle.HeldError
	var pause *throttle.PauseError
	if again > 0 && err != nil {
		again = max(again, delayOf(large))
	}
	if again > 0 {
		w.r.queue.EnqueueAfter(key, queue.Resync, max(again, throttle.MinResync)) // also after an error: a retry may come earlier or later
	}
	switch {
	case err == nil:
		w.r.queue.Forget(key)
		w.r.states.forgetFailure(key)
		w.try(w.r.recovery.Succeeded(key))
	case ctx.Err() != nil: // the Reconciler is stopping
	case errors.As(err, &held): // the script is called again after the parent or the script has changed
		if held.New {
			w.reportFailure(key, "ScriptHeld", err)
		}
		w.r.queue.Forget(key)
		w.try(w.r.recovery.Forget(key))
	case errors.As(err, &pause) && pause.New:
		w.try(w.r.recovery.Forget(key))
		w.reportFailure(key, "SyncError", err)
		return w.r.queue.Retry(key, pause.Wait)
	case errors.As(err, &pause):
		w.r.queue.EnqueueAfter(key, queue.Retry, pause.Wait)
		return pause.Wait
	case errors.As(err, &retryAfter) && retryAfter.Unspecified: // the webhook sent no Retry-After header, or one that is not valid
		return w.retry(key, retryAfter.After, err)
	case errors.As(err, &retryAfter):
		w.r.queue.Forget(key)
		w.r.queue.EnqueueAfter(key, queue.Resync, retryAfter.After)
		return retryAfter.After
	case errors.Is(err, errLargeAnswers): // the parent is reconciled when its turn has come
		if w.r.states.noteRefused(key) {
			w.reportFailure(key, "SyncError", err)
		}
	case errors.Is(err, kube.ErrRequeue):
		if w.r.queue.NumRequeues(key) >= requeuesBeforeReport {
			w.reportFailure(key, "SyncError", err)
		}
		retry = min(w.r.queue.Backoff(key), maxRequeueDelay)
		w.r.queue.EnqueueAfter(key, queue.Retry, retry)
	case apiserver.Held(err) != nil:
		return w.awaitAPIServer(key, apiserver.Held(err), err)
	default:
		w.reportFailure(key, "SyncError", err)
		return w.retry(key, delayOf(large), err)
	}
	return retry
}

// retry queues a parent that failed after its back-off, or after least if that is longer. If others may have failed of the same cause, one
// of them may be tried earlier; see package recovery. It returns how long the parent waits.
func (w *worker) retry(key object.Ref, least time.Duration, err error) time.Duration {
	cause := failures.CauseOf(err, key.Namespace)
	if cause == "" {
		w.try(w.r.recovery.Forget(key))
		return w.r.queue.Retry(key, least)
	}
	wait, others := w.r.recovery.Failed(key, cause, time.Now(), func() time.Duration { return w.r.queue.Backoff(key) })
	w.r.queue.EnqueueAfter(key, queue.Retry, max(wait, least))
	w.try(others)
	return max(wait, least)
}

// RetryFailed tries one parent of each cause of failures, of which others recover when it does. It is called when the API server answers
// again, which it finds out earlier than a parent whose back-off is long.
func (r *Reconciler) RetryFailed() { r.worker.try(r.recovery.OfEach()) }

func (w *worker) try(parents []recovery.Try) {
	for _, p := range parents {
		w.r.queue.EnqueueAfter(p.Parent, queue.Retry, p.After)
	}
}

// awaitAPIServer has a parent whose requests are held reconciled when they would be sent. This is no back-off of the parent, so that it
// waits no longer than the others. The log has one line about the API server and none about each parent, and short waits have no event.
func (w *worker) awaitAPIServer(key object.Ref, held *apiserver.HeldError, err error) time.Duration {
	if times := w.r.states.countFailure(key, err); times&(times-1) == 0 && held.IsLong() {
		w.warnParent(key, "SyncError", err)
	}
	w.try(w.r.recovery.Forget(key))
	wait := held.Wait()
	w.r.queue.EnqueueAfter(key, queue.Retry, wait)
	return wait
}

// heldFor returns how long the requests of a parent would still be held, if it is only retried because they were; zero otherwise. So
// the hook of each parent is not called whenever the API server asks to wait again.
func (w *worker) heldFor(key object.Ref, why queue.Reason) time.Duration {
	state := w.r.states.find(key)
	if why&queue.Retry == 0 || why&^(queue.Retry|queue.Resync) != 0 || state == nil || state.held == nil {
		return 0
	}
	return state.held.Wait()
}

// reportFailure logs the error of a reconcile, with its details, and records an event on the parent, with one line. The same
// error of the same parent is logged the 1st, 2nd, 4th, 8th time and so on. Package kube limits the events.
func (w *worker) reportFailure(key object.Ref, reason string, err error) {
	if times := w.r.states.countFailure(key, err); times&(times-1) == 0 {
		w.r.events.log.Warn("reconcile failed", "kind", key.Kind.Kind, "parent", key, "times", times, "error", engine.DetailOf(err))
	}
	w.warnParent(key, reason, err)
}

// warnParent records an event about the error of a reconcile.
func (w *worker) warnParent(key object.Ref, reason string, err error) {
	if parent := w.r.binding.Parent(key); parent != nil {
		w.r.events.Warning(parent, reason, "%s%s", eventPrefixes[reason], err.Error())
	}
}

// cacheDelay returns how long a parent has to wait because the caches do not yet show what its last reconcile wrote; zero if
// it does not wait. It also removes the pending writes that the caches show from the state, and all when it returns zero. Without
// the wait the next reconcile would repeat writes, such as the status or the creation of a child.
func (w *worker) cacheDelay(state *parentState) time.Duration {
	pending := &state.pending
	for len(pending.shown) > 0 && pending.shown[0]() {
		pending.shown = pending.shown[1:]
	}
	if waited := time.Since(pending.since); len(pending.shown) > 0 && waited < maxCacheDelay {
		return min(max(waited/2, firstCachePoll), lastCachePoll)
	}
	*pending = pendingWrites{}
	return 0
}

// churnDelay returns how long a parent has to wait because its hook returns something else each time; zero if it does not
// wait. A reconcile that was requested by annotation does not wait.
func (w *worker) churnDelay(state *parentState, why queue.Reason) time.Duration {
	if why&queue.Requested != 0 {
		return 0
	}
	wait, loops := state.churn.Delay(time.Now())
	if loops {
		w.r.metrics.Looped()
	}
	return wait
}

// endChurnRound ends the round of a reconcile in the Churn of its parent, and reports a write loop.
func (w *worker) endChurnRound(c *reconciliation) {
	parent := w.r.binding.Parent(c.key)
	if parent == nil || !w.r.binding.Has(parent) {
		return // its state is dropped
	}
	if c.state.churn.Watches() {
		c.state.inputs.Read(c.caller.Recorder)
	}
	if field := c.state.churn.End(parent, c.state.inputs.Changes(), time.Now()); field != "" {
		text := fmt.Sprintf("%s was written %d times in a row for one generation of this object, while nobody else changed what the hook gets: its answer depends on something else, such as the time, random numbers or its own earlier answers. Until the answer stays the same, the reconciles of this object are delayed by up to %s", field, throttle.ChurnLimit, throttle.LastChurnDelay)
		w.r.events.log.Warn("write loop", "kind", c.key.Kind.Kind, "parent", c.key, "field", field, "detail", text)
		w.r.events.Warning(parent, "WriteLoop", "%s", text)
	}
	if !c.state.churn.Watches() {
		c.state.inputs = inputs.Watch{}
	}
}

// observeReconciled calls the Observer after a reconcile.
func (w *worker) observeReconciled(key object.Ref, err error) {
	if w.r.observer == nil {
		return
	}
	about := aboutParent(w.r.binding, key)
	w.r.observer.Reconciled(about, err)
	if parent := w.r.binding.Parent(key); parent == nil || !w.r.binding.Has(parent) {
		w.r.observer.Dropped(about)
	}
}

// forgetDryRun drops what a dry run recorded of its writes, since none of them was stored. It returns the time after which the
// parent is to be reconciled again.
func (w *worker) forgetDryRun(key object.Ref, again time.Duration) time.Duration {
	w.r.states.forgetWrites(key)
	if again > 0 {
		again = max(again, minDryRunResync)
	}
	return again
}

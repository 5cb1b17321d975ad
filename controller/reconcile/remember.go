package reconcile

import (
	"context"
	"math/rand/v2"
	"time"

	"metascript/controller/binding"
	"metascript/controller/call"
	"metascript/controller/etags"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/remember"
	"metascript/controller/throttle"
)

// changeReasons are the reasons of a reconcile that need not be done if nothing of what the last one used has changed.
const changeReasons = queue.Resync | queue.Control | queue.ParentChanged | queue.ChildChanged | queue.RelatedChanged

// answerOf returns where the answer of a reconcile for the reasons why comes from. It is Computed unless the reconcile need not be done,
// because nothing that matters changed since the last one, which had nothing to do; see package remember. control says that it is done
// nevertheless. What the account may read is checked too.
func (w *worker) answerOf(ctx context.Context, key object.Ref, why queue.Reason) (source remember.Source, control bool) {
	version := w.r.current.Load()
	state, parent := w.r.states.begin(key, version), w.r.binding.Parent(key)
	if why&^changeReasons != 0 || why == 0 || !version.Remembers || !w.remembers(version) || state == nil || parent == nil {
		return remember.Computed, false
	}
	var related func() ([]*object.Object, bool)
	if why&queue.RelatedChanged != 0 || state.customize.Selects(key.Kind) { // an event of the parent itself is no RelatedChanged
		related = func() ([]*object.Object, bool) { return w.r.newReconciliation(key).caller.Reselect(parent) }
	}
	if source = state.memory.Holds(binding.Observed(w.r.binding, parent, w.r.epoch.Now()), related); source == remember.Computed {
		return source, false
	}
	if result, _ := version.Canary.Outcome(time.Now()); result != throttle.Good || w.r.binding.MayReadParent(ctx, parent) != nil || w.r.binding.MayReadChildren(ctx, parent) != nil {
		return remember.Computed, false
	}
	if why&queue.Control != 0 || version.Remember.Control() {
		return remember.Computed, true
	}
	return source, false
}

// looksAgain says that in a resync one in so many parents that rest is queued nevertheless, so that what the caches have is compared.
const looksAgain = 16

// resync queues all parents, except for most of those that rest. It is called once in each resync period.
func (w *worker) resync() {
	version, epoch := w.r.current.Load(), w.r.epoch.Now()
	result, _ := version.Canary.Outcome(time.Now())
	mayRest := w.r.observer == nil && w.r.binding.Access == nil && version.Remembers && w.remembers(version) && result == throttle.Good
	rested := 0
	for key := range w.r.binding.ReconciledKeys() {
		switch {
		case !mayRest || rand.N(looksAgain) == 0 || !w.r.states.rests(key, version, epoch):
			w.r.queue.Enqueue(key, queue.Resync)
		case version.Remember.Control():
			w.r.queue.Enqueue(key, queue.Resync|queue.Control)
		default:
			rested++
			w.logRemembered(key, queue.Resync, remember.NothingChanged)
		}
	}
	w.r.metrics.Remembered(string(remember.NothingChanged), rested)
}

// remembers reports whether reconciles with a version of the hooks are remembered: to skip calls, or only plans. With an account, the
// related objects may be others when the account may read others, so that they are selected in each resync.
func (w *worker) remembers(version *call.Version) bool {
	return (version.Remembers || version.Tagged) && version.Remember.On() && !w.r.binding.DryRun && (w.r.binding.Access == nil || version.Customize == nil)
}

// endRemembered ends a reconcile that is not done.
func (w *worker) endRemembered(key object.Ref, why queue.Reason, source remember.Source) {
	if source == remember.NothingReadChanged {
		w.r.current.Load().Remember.Used()
	}
	w.r.metrics.Remembered(string(source), 1)
	w.logRemembered(key, why, source)
	w.observeReconciled(key, nil)
	w.r.causes.Drop(key)
	for _, sink := range w.r.sinks {
		sink.Remembered(aboutParent(w.r.binding, key), why, source)
	}
}

// logRemembered logs a reconcile that is not done.
func (w *worker) logRemembered(key object.Ref, why queue.Reason, source remember.Source) {
	if w.r.events.debugs() {
		w.r.events.log.Debug("nothing changed", "kind", key.Kind.Kind, "parent", key, "why", why.String(), "answer", source)
	}
}

// note remembers the response of a hook. settled reports that nothing has to be written because of it; again is the time after which the
// parent is to be reconciled again then. A response of a webhook that is not cached is not remembered.
func (c *reconciliation) note(response *hook.Response) (again time.Duration, settled bool) {
	if !c.worker.remembers(c.version) || c.version.Tagged && response.Cached == 0 {
		return 0, false
	}
	if settled = c.state.memory.Answered(response, c.caller.Recorder, c.version.Customize != nil); settled {
		c.source = remember.SameAnswer
	}
	return c.state.memory.Again(), settled
}

// beginMemory is called before a reconcile reads anything.
func (w *worker) beginMemory(c *reconciliation, control bool) {
	var now remember.Snapshot
	remembers := w.remembers(c.version)
	if c.version.Revisions == nil && (remembers || c.version.Scripted) {
		c.caller.Recorder = &object.Recorder{Whole: c.version.Tagged, OnlyParent: !c.version.Remember.Records() && !c.state.churn.Watches()}
	}
	if c.state.churn.Watches() {
		c.caller.Calling = c.state.inputs.Called
	}
	if parent := w.r.binding.Parent(c.key); parent != nil && remembers && !c.writer.Requested {
		now = binding.Observed(w.r.binding, parent, w.r.epoch.Now())
		c.caller.Settled = func(cached etags.ID) bool { return c.state.memory.Settled(cached, c.caller.Recorder) }
	}
	c.state.memory.Begin(now, control, func() bool { return w.r.queue.Pending(c.key)&^queue.Resync != 0 })
}

// endMemory is called after a reconcile, with its results. If a control had something to do, nothing is remembered any more with this
// version of the hooks.
func (w *worker) endMemory(c *reconciliation, again time.Duration, err error) {
	parent := w.r.binding.Parent(c.key)
	if parent == nil || !w.remembers(c.version) {
		return
	}
	c.state.memory.End(err == nil && c.isQuiet(parent), again)
	wrong := c.state.memory.Mismatch()
	if wrong == "" || err != nil {
		return
	}
	c.version.Remember.TurnOff()
	w.r.metrics.Forgot()
	w.r.events.log.Warn("a reconcile had something to do although nothing that matters to it changed: from now on the script is called each time, until it is edited. Does it use the time?", "kind", c.key.Kind.Kind, "parent", c.key, "difference", wrong)
}

// isQuiet reports whether the state of a parent has nothing that a later reconcile would use or report again.
func (c *reconciliation) isQuiet(parent *object.Object) bool {
	now := time.Now()
	if c.binding.Finalizing(parent) || object.Deleting(parent) || !c.state.children.Quiet(now) || !c.state.parent.Quiet(now) {
		return false
	}
	c.states.mu.Lock()
	defer c.states.mu.Unlock()
	return c.state.notStored == ""
}

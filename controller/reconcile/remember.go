package reconcile

import (
	"context"
	"time"

	"metascript/controller/binding"
	"metascript/controller/call"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/remember"
	"metascript/controller/throttle"
)

// isRemembered reports whether a reconcile for the reasons why need not be done, because nothing changed since the last one, which had
// nothing to do; see package remember. control says that it is done nevertheless. What the account may read is checked in any case.
func (w *worker) isRemembered(ctx context.Context, key object.Ref, why queue.Reason) (remembered, control bool) {
	version := w.r.current.Load()
	if why != queue.Resync || !w.remembers(version) {
		return false, false
	}
	state, parent := w.r.states.ofVersion(key, version), w.r.binding.Parent(key)
	if state == nil || parent == nil || !state.memory.Holds(binding.Observed(w.r.binding, parent, w.r.epoch.State())) {
		return false, false
	}
	if result, _ := version.Canary.Outcome(time.Now()); result != throttle.Good || w.r.binding.MayReadParent(ctx, parent) != nil || w.r.binding.MayReadChildren(ctx, parent) != nil {
		return false, false
	}
	return true, version.Remember.Control()
}

// remembers reports whether reconciles with a version of the hooks are remembered. With an account, the related objects may be
// others when the account may read others, so that they are selected in each resync.
func (w *worker) remembers(version *call.Version) bool {
	return version.Remembers && version.Remember.On() && !w.r.binding.DryRun && (w.r.binding.Access == nil || version.Customize == nil)
}

// endRemembered ends a reconcile that is not done.
func (w *worker) endRemembered(key object.Ref) {
	w.r.metrics.Remembered()
	w.r.events.log.Debug("nothing changed", "kind", key.Kind.Kind, "parent", key)
	w.observeReconciled(key, nil)
}

// note remembers the response of a hook.
func (c *reconciliation) note(response *hook.Response) {
	if !c.worker.remembers(c.version) {
		return
	}
	if c.state.memory.Answered(remember.AnswerOf(response)); len(response.Warnings) > 0 {
		c.state.memory.Unsettled()
	}
}

// beginMemory is called before a reconcile reads anything.
func (w *worker) beginMemory(c *reconciliation, control bool) {
	now := w.r.epoch.State()
	if parent := w.r.binding.Parent(c.key); parent != nil && w.remembers(c.version) {
		now = binding.Observed(w.r.binding, parent, now)
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
	c.state.memory.End(err == nil && again == 0 && c.isQuiet(parent))
	wrong := c.state.memory.Mismatch()
	if wrong == "" || err != nil {
		return
	}
	c.version.Remember.TurnOff()
	w.r.metrics.Forgot()
	w.r.events.log.Warn("a reconcile had something to do although nothing changed: from now on the script is called in each resync, until it is edited. Does it use the time?", "kind", c.key.Kind.Kind, "parent", c.key, "difference", wrong)
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

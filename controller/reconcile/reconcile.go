package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/apiserver"
	"metascript/controller/binding"
	"metascript/controller/bodies"
	"metascript/controller/call"
	"metascript/controller/children"
	"metascript/controller/failures"
	"metascript/controller/hook"
	"metascript/controller/inputs"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/parents"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/remember"
	"metascript/controller/throttle"
)

// A worker reconciles the parents that the queue of a Reconciler gives, and decides when each is reconciled again; see
// retry.go. Its methods are called concurrently, but not for the same parent.
type worker struct{ r *Reconciler }

// process reconciles one parent that was taken from the queue, for the reasons why.
func (w *worker) process(ctx context.Context, key object.Ref, why queue.Reason) {
	if w.r.binding.Only != nil && !w.r.binding.Only(key) {
		w.r.queue.Forget(key)
		w.r.causes.Take(key)
		w.r.states.noteSynced(key)
		return
	}
	if wait := w.heldFor(key, why); wait > 0 {
		w.r.queue.Postpone(key, why, wait)
		return
	}
	epoch := w.r.epoch.Now()
	source, control := w.answerOf(ctx, key, why)
	if source != remember.Computed {
		state := w.r.states.of(key)
		w.cacheDelay(state)                                          // drops what the caches show by now
		state.churn, state.inputs = throttle.Churn{}, inputs.Watch{} // nothing was written
		w.endRemembered(key, why, source)
		w.r.states.rest(key, epoch)
		return
	}
	c := w.r.newReconciliation(key)
	c.writer.Requested = why&queue.Requested != 0
	if wait := max(w.cacheDelay(c.state), w.churnDelay(c.state, why)); wait > 0 {
		w.r.queue.Postpone(key, why, wait)
		return
	}
	ctx, done := w.r.redactors.begin(ctx, key)
	defer done()
	ctx = c.observe(ctx, why, c.began)
	w.beginMemory(c, control)
	again, err := w.reconcileRecovering(ctx, c)
	w.endMemory(c, again, err)
	c.state.held = apiserver.Held(err)
	w.r.metrics.Synced(time.Since(c.began), failures.ResultOf(err), string(c.source))
	if w.r.events.debugs() {
		w.r.events.log.Debug("reconciled", "kind", key.Kind.Kind, "parent", key, "why", why.String(), "took", time.Since(c.began), "error", err)
	}
	w.r.states.noteDenied(key, err)
	w.observeReconciled(key, err)
	w.endChurnRound(c)
	if w.r.binding.DryRun {
		again = w.forgetDryRun(key, again)
	}
	retry := w.scheduleNext(ctx, key, again, c.large.size, err)
	c.tellSinks(redact.FromContext(ctx), again, retry, err)
	if c.status.Left {
		c.version.Remember.Used()
		w.r.queue.Postpone(key, queue.ChildChanged, firstCachePoll)
	}
	// Another version is called for the parent next, and a reconcile that only waits, for a cache for example, says nothing.
	if waits := errors.Is(err, kube.ErrRequeue) && w.r.queue.NumRequeues(key) < requeuesBeforeReport; c.version == w.r.Current() && !waits {
		w.r.states.noteSynced(key)
	}
}

// reconcileRecovering calls reconcile. It turns a panic into an error, and redacts the error.
func (w *worker) reconcileRecovering(ctx context.Context, c *reconciliation) (again time.Duration, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			w.r.events.log.Error("panic in a reconcile, please report it", "kind", c.key.Kind.Kind, "parent", c.key, "panic", recovered, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", recovered)
		}
		err = redact.FromContext(ctx).Error(err)
	}()
	ctx, release := bodies.WithLease(ctx)
	defer release()
	defer c.giveBackMemory()
	return c.reconcile(ctx)
}

// A reconciliation is one reconcile of one parent. It uses one version of the hooks from its beginning to its end, even if
// Swap replaces the version meanwhile.
type reconciliation struct {
	*Reconciler
	version *call.Version
	key     object.Ref
	began   time.Time
	state   *parentState
	source  remember.Source // of the answer
	caller  *call.Caller
	roller  *roller
	writer  *children.Writer
	status  *parents.Writer
	large   large
	done    *observe.Reconcile // what the Sinks are told of it; nil without one
}

// newReconciliation returns a reconciliation with the current version of the hooks.
func (r *Reconciler) newReconciliation(key object.Ref) *reconciliation {
	c := &reconciliation{Reconciler: r, version: r.current.Load(), key: key, began: time.Now(), source: remember.Computed}
	c.state = r.states.forVersion(key, c.version)
	c.caller = &call.Caller{Binding: r.binding, Object: r.object.Load, Version: c.version, Events: r.events, Log: r.events.log, Customized: c.state.customize, Caches: &r.shared.Related, Controller: r, Delays: r.delays}
	c.writer = &children.Writer{Binding: r.binding, Events: r.events, Log: r.events.log, Memory: c.state.children, Compared: &c.state.compared, Extra: r.extraWrites, DryRuns: r.dryRuns, Replacements: &r.shared.replacements, Lost: c.state.children.Losses(), Metrics: r.metrics}
	c.status = &parents.Writer{Binding: r.binding, Events: r.events, Memory: &c.state.parent, Kinds: &r.kinds}
	c.roller = &roller{binding: r.binding, version: c.version, caller: c.caller, writer: c.writer, status: c.status, events: r.events, memory: &c.state.memory}
	if planned, ok := r.observer.(observe.PlanObserver); ok {
		about := aboutParent(r.binding, key)
		c.roller.rolling = func(writes []observe.Write) { planned.Rolling(about, writes) }
		c.writer.Suppressed = func(left []plan.Op) { planned.Suppressed(about, left) }
	}
	return c
}

// reconcile makes the children and the status of the parent what its hook wants. It returns the time after which the parent is
// to be reconciled again although nothing changed; zero for none.
func (c *reconciliation) reconcile(ctx context.Context) (time.Duration, error) {
	parent := c.binding.Parent(c.key)
	if parent == nil || !c.binding.Reconciles(parent) {
		c.forget(c.key)
		return 0, nil
	}
	if err := c.binding.MayReadParent(ctx, parent); err != nil {
		return c.withoutAccess(ctx, parent, err)
	}
	c.state.shown = true
	if binding.IsPaused(parent) {
		c.finalizers.reportPaused(parent)
		return 0, nil
	}
	// Without this check we could add a finalizer that we cannot remove later.
	if err := c.binding.CheckSelector(parent); err != nil {
		return 0, err
	}
	if err := c.binding.MayReadChildren(ctx, parent); err != nil {
		return 0, err
	}
	return c.run(ctx, parent)
}

// run adds our finalizer, claims the children, calls the hook, writes the children and the status, and removes our finalizer
// once the hook has finalized the parent. An error before the children are planned ends it, and nothing is deleted. It
// returns the time after which the parent is to be reconciled again; zero for none.
func (c *reconciliation) run(ctx context.Context, parent *object.Object) (time.Duration, error) {
	write := tracker{c.binding, c.events, c.observer, c.done, c.state, c.key, &sync.Mutex{}}
	ctxBeforeHooks := c.redactors.beforeHooks(ctx, c.version, c.state)
	parent, err := c.finalizers.update(ctxBeforeHooks, c.version, parent, write)
	if err != nil || c.isDone(parent) {
		return 0, err
	}
	observed, err := c.binding.Claimer.Claim(ctxBeforeHooks, parent, write)
	if err != nil {
		return 0, kube.Join(err, c.status.WriteLeft(ctx, parent, write))
	}
	c.state.compared.Begin(parent, observed.Len())
	defer c.state.compared.End()
	response, observed, err := c.desiredState(ctx, parent, observed, write)
	if err != nil {
		return 0, kube.Join(err, c.status.WriteLeft(ctx, parent, write))
	}
	if again, settled := c.note(response); settled {
		return again, nil
	}
	if err := c.takeMemory(response); err != nil {
		return 0, cmp.Or(c.status.WriteLeft(ctx, parent, write), err) // an error of the write is retried, and the parent waits nevertheless
	}
	if c.writer.Requested {
		c.state.parent.ForgetUnstored()
	}
	c.reportUnread(parent, response)
	// A decorated object is written before its attachments.
	parent, decorationDelay, err := c.status.Decorate(ctx, parent, response, write)
	if err != nil {
		return response.ResyncAfter, err
	}
	began := time.Now()
	changes, planErr := c.writer.Plan(ctx, parent, observed, response)
	c.metrics.Planned(time.Since(began))
	suppressed, confirmDelay := c.writer.ReportSuppressed(ctx, parent, changes.Suppressed, write)
	if len(suppressed) > 0 || confirmDelay > 0 {
		c.state.memory.Suppressed()
	}
	pending := len(c.state.pending.shown)
	childDelay, applyErr := c.writer.Apply(ctx, parent, changes.Ops, write)
	if childDelay > 0 {
		c.state.memory.Unsettled() // the answer may be the same, also its ResyncAfter
	}
	followed := len(c.state.pending.shown) > pending // by a reconcile, when the caches show the children
	statusDelay, err := c.finish(ctx, parent, response, followed, write, kube.Join(planErr, applyErr))
	c.states.noteNotStored(c.state, cmp.Or(c.state.children.NotStored(), c.state.parent.NotStored()))
	childDelay = throttle.Shorter(childDelay, confirmDelay)
	return throttle.Shorter(throttle.Shorter(response.ResyncAfter, decorationDelay), throttle.Shorter(childDelay, statusDelay)), err
}

// reportUnread reports that the children are deleted for no reason that the script has read, once until another answer.
func (c *reconciliation) reportUnread(parent *object.Object, response *hook.Response) {
	if response.Unread != nil && !c.state.unread && !object.Deleting(parent) {
		c.events.Warning(parent, "AllChildrenDeleted", "%v", response.Unread)
	}
	c.state.unread = response.Unread != nil
}

// desiredState calls the hook. It returns its response, and the observed children to which the plan applies. If kinds of children
// roll, the response has the children of the next step of the rollout.
func (c *reconciliation) desiredState(ctx context.Context, parent *object.Object, children *object.Set, write plan.Writer) (*hook.Response, *object.Set, error) {
	if c.version.Revisions != nil && (!object.Deleting(parent) || c.binding.FinalizesChildren(parent)) {
		return c.roller.roll(ctx, parent, children, write)
	}
	response, err := c.caller.CallHook(ctx, parent, children)
	return response, children, err
}

// isDone reports whether a reconcile ends after the finalizer was added or removed: because the API server deletes the parent
// now, or because the version has no hook to call for it.
func (c *reconciliation) isDone(parent *object.Object) bool {
	switch finalizing := c.binding.Finalizing(parent); {
	case !c.binding.Reconciles(parent) || object.Deleting(parent) && len(parent.GetFinalizers()) == 0:
		return true
	case finalizing && c.version.Finalize == nil:
		c.finalizers.reportHeld(c.version, parent)
		return true
	case !finalizing && c.version.Sync == nil:
		// The controller has a finalize hook only. Before the deletion of the parent no child is written or adopted.
		c.forgetRelated(c.key) // the version before may have had a customize hook
		c.version.Canary.Note(c.key, nil, time.Now())
		return true
	}
	return false
}

// finish writes the status, also if writes to children failed. followed says that another reconcile follows, to which the status may be
// left if the hook does not read it. It removes our finalizer if the hook has finalized the parent and nothing failed. It returns failed
// joined with its own errors, and how long the status has to wait because something else writes it too; zero if it does not wait.
func (c *reconciliation) finish(ctx context.Context, parent *object.Object, response *hook.Response, followed bool, write plan.Writer, failed error) (time.Duration, error) {
	var mayLeave func(*object.Object) bool
	// A parent that is being deleted may be gone before there is another reconcile.
	if followed && failed == nil && !object.Deleting(parent) && !c.binding.DryRun {
		mayLeave = c.caller.Recorder.ReadsTheSame
	}
	stored, wait, err := c.status.WriteStatus(ctx, parent, response, mayLeave, write)
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		stored = parent // a status that the API server does not accept must not block the deletion of the parent
	case err != nil:
		return wait, kube.Join(failed, err)
	}
	if failed != nil || !response.Finalized || !c.binding.Finalizing(stored) {
		return wait, kube.Join(failed, err)
	}
	_, finalizerErr := c.finalizers.set(ctx, stored, c.binding.OtherFinalizers(stored), "the hook has finalized", write)
	return wait, kube.Join(err, finalizerErr)
}

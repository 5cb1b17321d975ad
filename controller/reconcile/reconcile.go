package reconcile

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/call"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A turn is one reconcile of one parent. The version that there was when it began answers to the end of it, whatever takes
// its place meanwhile.
type turn struct {
	*Reconciler
	version *call.Version
	key     object.Ref
	state   *parentState
	caller  *call.Caller
	roller  *roller
}

// turn begins a reconcile of a parent.
func (l *Reconciler) turn(key object.Ref) *turn {
	t := &turn{Reconciler: l, version: l.current.Load(), key: key, state: l.states.of(key)}
	t.caller = &call.Caller{Binding: l.b, Version: t.version, Events: l.events, Log: l.events.log, Customized: t.state.customize, Caches: &l.shared.Related, Controller: l}
	t.roller = &roller{b: l.b, v: t.version, caller: t.caller, applier: &l.applier, status: &l.status, events: l.events}
	return t
}

// reconcile brings the children of a parent to what its hook says they should be. It returns the time after which to
// reconcile again, zero for none.
func (l *Reconciler) reconcile(ctx context.Context, key object.Ref) (time.Duration, error) {
	parent := l.b.Parent(key)
	if parent == nil || !l.b.IsOurs(parent) {
		l.forget(key)
		return 0, nil
	}
	if paused(parent) {
		l.finalizers.reportPaused(parent)
		return 0, nil
	}
	if err := l.b.CheckSelector(parent); err != nil {
		return 0, err // before a finalizer is put on that could not be taken off
	}
	return l.turn(key).reconcile(ctx, parent)
}

// reconcile is what is done about a parent that there is.
func (t *turn) reconcile(ctx context.Context, parent *object.Object) (time.Duration, error) {
	write := tracker{t.b, t.events, t.observer, t.state, t.key}
	early := t.redactors.early(ctx, t.version, t.state)
	parent, err := t.finalizers.keep(early, t.version, parent, write)
	if err != nil || t.nothingToDo(parent) {
		return 0, err
	}
	children, err := t.b.Owner.Claim(early, parent, write)
	if err != nil {
		return 0, err
	}
	answer, children, err := t.roller.desiredState(ctx, parent, children, write)
	if err != nil {
		return 0, err
	}
	if parent, err = t.status.decorate(ctx, parent, answer, write); err != nil {
		return answer.ResyncAfter, err // attachments must not be ahead of what they are attached to
	}
	todo, unplanned := t.applier.plan(parent, children, answer)
	t.applier.reportSuppressed(parent, todo.Left)
	again, unwritten := t.applier.apply(ctx, parent, todo.Ops, write)
	later, err := t.finish(ctx, parent, answer, write, kube.Join(unplanned, unwritten))
	return soonerOf(answer.ResyncAfter, soonerOf(again, later)), err
}

// nothingToDo reports whether a reconcile ends after the finalizer was seen to: our finalizer was all that was left of the
// parent, or the version has no hook for it.
func (t *turn) nothingToDo(parent *object.Object) bool {
	switch finalizing := t.b.Finalizing(parent); {
	case !t.b.IsOurs(parent) || object.Deleting(parent) && len(parent.GetFinalizers()) == 0:
		return true
	case finalizing && t.version.Finalize == nil:
		t.finalizers.reportHeld(t.version, parent)
		return true
	case !finalizing && t.version.Sync == nil: // it is finalized, once it is deleted; none of its children is touched, not even adopted
		t.forgetRelated(t.key) // that the version before asked for
		t.version.Canary.Note(t.key, nil, time.Now())
		return true
	}
	return false
}

// finish writes the status, whatever else failed, and takes our finalizer off when the hook has finalized a parent and nothing
// failed. It returns all that failed, and how long the status has to wait because somebody else writes it too.
func (t *turn) finish(ctx context.Context, parent *object.Object, answer *hook.Response, write plan.Writer, failed error) (time.Duration, error) {
	stored, wait, err := t.status.writeStatus(ctx, parent, answer, write)
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		stored = parent // a status that the API server does not accept must not keep a parent from being deleted
	case err != nil:
		return wait, kube.Join(failed, err)
	}
	if failed != nil || !answer.Finalized || !t.b.Finalizing(stored) {
		return wait, kube.Join(failed, err)
	}
	_, released := t.finalizers.set(ctx, stored, t.b.OtherFinalizers(stored), "the hook has finalized", write)
	return wait, kube.Join(err, released)
}

// soonerOf is the shorter of two times to wait, of which zero is none.
func soonerOf(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

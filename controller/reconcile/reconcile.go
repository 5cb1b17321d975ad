package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/controller/plan"
)

// reconcile brings the parent's children to what its hook says they should be. It gives the time after which to
// come again, zero for none.
func (t *turn) reconcile(ctx context.Context, key object.Ref) (time.Duration, error) {
	parent := t.parent(key)
	if parent == nil || !t.isOurs(parent) {
		return 0, t.Reconciler.forget(key)
	}
	if paused(parent) {
		t.reportPaused(parent)
		return 0, nil
	}
	if err := t.findable(parent); err != nil {
		return 0, err // before a finalizer is on that could not come off
	}
	write, early := tracker{t.Reconciler, key}, t.early(ctx, key)
	parent, err := t.keepFinalizer(early, parent, write)
	if err != nil {
		return 0, err
	}
	if !t.isOurs(parent) || object.Deleting(parent) && len(parent.GetFinalizers()) == 0 {
		return 0, nil // our finalizer was all that was left of it
	}
	if t.Finalize == nil && t.finalizing(parent) {
		t.reportHeldFinalizer(parent)
		return 0, nil
	}
	if t.Sync == nil && !t.finalizing(parent) {
		return 0, t.leaveAlone(key)
	}
	children, err := t.Owner.Claim(early, parent, write)
	if err != nil {
		return 0, err
	}
	answer, children, err := t.desiredState(ctx, parent, children, write)
	if err != nil {
		return 0, err
	}
	if parent, err = t.decorate(ctx, parent, answer, write); err != nil {
		return answer.ResyncAfter, err // attachments must not be ahead of what they are attached to
	}
	todo, unplanned := t.plan(parent, children, answer)
	t.reportSuppressed(parent, todo.Left)
	again, unwritten := t.apply(ctx, parent, todo.Ops, write)
	later, err := t.finish(ctx, parent, answer, write, kube.Join(unplanned, unwritten))
	return soonerOf(answer.ResyncAfter, soonerOf(again, later)), err
}

// leaveAlone is for a parent that a controller without a sync hook has nothing to do for: it is to be finalized, once it
// goes. None of its children is touched, not even adopted.
func (t *turn) leaveAlone(key object.Ref) error {
	t.forgetRelated(key) // that the version before asked for
	t.Canary.Note(key, nil, time.Now())
	return nil
}

// mine reports whether the controller has to do with parent: it selects it, or it once did and has yet to let go.
func (l *Reconciler) isOurs(parent *object.Object) bool {
	return l.selects(parent) || l.hasFinalizer(parent)
}

// forget drops what is kept for a parent that is gone.
func (l *Reconciler) forget(key object.Ref) error {
	l.Queue.Forget(key)
	l.current.Load().forget(key)
	l.forgetRelated(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, key)
	delete(l.unstored, key)
	delete(l.kept, key)
	delete(l.failures, key)
	return nil
}

// keepFinalizer adds our finalizer while there is a finalize hook to call, and takes it off when there is none any
// more, unless it is held. While the script is not loaded that would say whether there is one, it stays as it is. The reconcile goes on with the object that came back, since neither may cause an event.
func (t *turn) keepFinalizer(ctx context.Context, parent *object.Object, write plan.Writer) (*object.Object, error) {
	has := t.hasFinalizer(parent)
	_, unknown := t.Finalize.(build.UnloadedHook)
	wants := t.Finalize != nil && (has || !unknown && !object.Deleting(parent) && t.selects(parent))
	switch {
	case has == wants:
		return parent, nil
	case wants:
		return t.setFinalizers(ctx, parent, append(slices.Clone(parent.GetFinalizers()), t.Finalizer), "there is a finalize hook", write)
	case t.holdsFinalizers(t.Version):
		return parent, nil
	}
	return t.setFinalizers(ctx, parent, t.otherFinalizers(parent), "there is no finalize hook", write)
}

func (l *Reconciler) setFinalizers(ctx context.Context, parent *object.Object, finalizers []string, why string, write plan.Writer) (*object.Object, error) {
	changed := object.Copy(parent)
	changed.SetFinalizers(finalizers)
	stored, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: changed, Why: "finalizers: " + why})
	if kube.Outdated(err) {
		return nil, kube.Requeue(err)
	}
	return stored, err
}

func (l *Reconciler) hasFinalizer(parent *object.Object) bool {
	return slices.Contains(parent.GetFinalizers(), l.Finalizer)
}

func (l *Reconciler) otherFinalizers(parent *object.Object) []string {
	return slices.DeleteFunc(slices.Clone(parent.GetFinalizers()), func(f string) bool { return f == l.Finalizer })
}

// finalizing reports whether it is the finalize hook's turn: the parent is going, or is none of ours any more.
func (l *Reconciler) finalizing(parent *object.Object) bool {
	return l.hasFinalizer(parent) && (object.Deleting(parent) || !l.selects(parent))
}

// pass records what an answer has to say to people.
func (l *Reconciler) recordEvents(parent *object.Object, answer *hook.Response) {
	for _, warning := range answer.Warnings {
		l.events.Warning(parent, "HookWarning", "%s", warning)
	}
	for _, event := range answer.Events {
		l.events.Asked(parent, event.Type, event.Reason, event.Message)
	}
}

// plan gives the writes to the children: none when the parent is going and they are not ours to tidy up. A child
// that cannot be planned for is in the error, and the others in the plan.
func (l *Reconciler) plan(parent *object.Object, children *object.Set, answer *hook.Response) (plan.Plan, error) {
	if object.Deleting(parent) && !l.cleansUp(parent) {
		return plan.Plan{}, nil
	}
	l.parentState(object.RefOf(parent)).prune(children)
	planned, err := plan.Children(children, answer.Children, l.policy(parent))
	if answer.Finalized && object.Deleting(parent) {
		planned.Ops = slices.DeleteFunc(planned.Ops, plan.Op.Creates) // the parent goes at once, and they with it
	}
	return planned, err
}

// policy says how the parent's children are updated and written.
func (l *Reconciler) policy(parent *object.Object) plan.Policy {
	return plan.Policy{
		Rules: l.Rules, ServerSide: l.ServerSide, Memory: l.parentState(object.RefOf(parent)).applied,
		Mark:  func(child *object.Object) error { return l.Owner.Mark(parent, child) },
		Owned: l.owned,
	}
}

// owned is what was applied to a child, as its cache knows.
func (l *Reconciler) owned(child *object.Object) ownership.Fields {
	cache := l.cacheOf(child.GroupVersionKind())
	if cache == nil {
		return ownership.Fields{}
	}
	return cache.Owned(child.GetUID())
}

// The finalizers with which the garbage collector deletes, or orphans, the children of an object before it goes.
var collected = []string{"foregroundDeletion", "orphan"}

// tidiesUp reports whether a parent that is going has a finalize hook, and not the garbage collector, to look after
// its children.
func (l *Reconciler) cleansUp(parent *object.Object) bool {
	return l.finalizing(parent) && !slices.ContainsFunc(parent.GetFinalizers(), func(f string) bool { return slices.Contains(collected, f) })
}

// apply carries out the writes. One that fails does not keep the others from being tried. It gives the time after
// which to try those that were put off, zero for none.
func (l *Reconciler) apply(ctx context.Context, parent *object.Object, ops []plan.Op, write plan.Writer) (time.Duration, error) {
	var again time.Duration
	var failed []error
	for _, op := range ops {
		wait, err := l.carryOut(ctx, parent, op, write)
		again, failed = soonerOf(again, wait), append(failed, err)
	}
	return again, kube.Join(failed...)
}

// soonerOf is the shorter of two times to wait, of which zero is none.
func soonerOf(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// carryOut does one write, and what a dry run leads to, unless it has to wait.
func (l *Reconciler) carryOut(ctx context.Context, parent *object.Object, op plan.Op, write plan.Writer) (time.Duration, error) {
	if wait := max(l.delayUpdate(ctx, parent, op), l.delayDelete(parent, op)); wait > 0 {
		return wait, nil
	}
	stored, err := write.Do(ctx, op)
	switch {
	case op.Creates() && kube.NamespaceTerminating(err):
		return l.awaitNamespace(parent, op), nil
	case errors.Is(err, plan.ErrFixed):
		return l.carryOut(ctx, parent, plan.Fixed(op), write)
	case err != nil:
		return 0, l.writeError(ctx, parent, op, err)
	}
	l.countWrite(parent, op)
	if op.Verb == plan.DryRun {
		if next := plan.Tried(op, stored); next != nil {
			return l.carryOut(ctx, parent, *next, write)
		}
	}
	if op.Verb == plan.DryRun || op.Verb == plan.Apply {
		return l.requeueRollout(op, stored), l.parentState(object.RefOf(parent)).applied.Note(stored, op.Object)
	}
	return 0, nil
}

// untilGone is how often it is looked whether a namespace that is being deleted is gone.
const untilGone = 30 * time.Second

// namespaceGoes says that op has to wait, since the namespace of a child to be created is being deleted: trying again
// before it is gone is in vain. Most often the parent goes with it.
func (l *Reconciler) awaitNamespace(parent *object.Object, op plan.Op) time.Duration {
	l.log.Debug("namespace is being deleted", "parent", object.RefOf(parent), "op", op.String())
	if parent.GetNamespace() != op.Object.GetNamespace() { // there could be no event in it
		l.events.Warning(parent, "NamespaceTerminating", "%s is not created, since its namespace is being deleted", object.Describe(op.Object))
	}
	return untilGone
}

// lookAgain gives the time after which a rollout is to go on that waited for a child of which an apply has shown that
// it is as it should be: nothing changed, so that nothing else calls for a reconcile.
func (l *Reconciler) requeueRollout(op plan.Op, stored *object.Object) time.Duration {
	if !l.Rules[stored.GroupVersionKind()].Rolls() || op.Creates() || stored.GetResourceVersion() != op.Observed.GetResourceVersion() {
		return 0
	}
	return minResync
}

// unwritten says what it means that op failed with err.
func (l *Reconciler) writeError(ctx context.Context, parent *object.Object, op plan.Op, err error) error {
	switch {
	case apierrors.IsAlreadyExists(err):
		return l.nameTaken(ctx, parent, op.Object)
	case op.Verb == plan.Delete && apierrors.IsNotFound(err):
		return nil // as it should be
	case !op.Creates() && kube.Outdated(err):
		return kube.Requeue(err)
	}
	return err
}

// occupied says who has the name of a child that could not be created: the parent itself, when only our cache did
// not know, or somebody else.
func (l *Reconciler) nameTaken(ctx context.Context, parent, child *object.Object) error {
	there, err := l.Live(ctx, child)
	if apierrors.IsNotFound(err) {
		return kube.ErrRequeue
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", object.Describe(child), err)
	}
	ref := object.ControllerOf(there)
	_, declared := l.Kinds[child.GroupVersionKind()]
	expect, err := l.Expect(parent)
	switch {
	case ref != nil && ref.UID == parent.GetUID() && !declared:
		return nil // a kind that is not watched is created once
	case object.Deleting(there):
		return fmt.Errorf("%s is still being deleted: %w", object.Describe(there), kube.ErrRequeue)
	case ref != nil && ref.UID == parent.GetUID():
		return kube.ErrRequeue // only our cache did not know
	case ref != nil && ref.Kind == parent.GetKind() && ref.Name == parent.GetName():
		return fmt.Errorf("%s belongs to an earlier %s: %w", object.Describe(there), object.Describe(parent), kube.ErrRequeue)
	case ref != nil:
		return fmt.Errorf("create %s: it exists already and belongs to %s %s: delete it, or give the child another name", object.Describe(child), ref.Kind, ref.Name)
	case err == nil && expect.Selector != nil && expect.Selector.Matches(labels.Set(there.GetLabels())):
		return kube.ErrRequeue // it will be adopted
	}
	return fmt.Errorf("create %s: it exists already, and is not adopted since its labels do not match: delete it, or give the child another name", object.Describe(child))
}

// settle writes the status, whatever else failed, and takes our finalizer off when the hook is done with a parent
// that goes and nothing failed. It gives all that failed, and how long a status has to wait that is fought over.
func (l *Reconciler) finish(ctx context.Context, parent *object.Object, answer *hook.Response, write plan.Writer, failed error) (time.Duration, error) {
	stored, wait, err := l.writeStatus(ctx, parent, answer, write)
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		stored = parent // a status that the API server does not take must not keep a parent from going
	case err != nil:
		return wait, kube.Join(failed, err)
	}
	if failed != nil || !answer.Finalized || !l.finalizing(stored) {
		return wait, kube.Join(failed, err)
	}
	_, letGo := l.setFinalizers(ctx, stored, l.otherFinalizers(stored), "the hook has finalized", write)
	return wait, kube.Join(err, letGo)
}

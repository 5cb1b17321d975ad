package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"k8s.io/apimachinery/pkg/util/duration"

	"metascript/controller/binding"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// An applier plans the writes to the children of a parent, and carries them out.
type applier struct {
	b      *binding.Binding
	events *parentEvents
	states *states
}

// plan gives the writes to the children: none when the parent is going and they are not ours to tidy up. A child
// that cannot be planned for is in the error, and the others in the plan.
func (a *applier) plan(parent *object.Object, children *object.Set, answer *hook.Response) (plan.Plan, error) {
	if object.Deleting(parent) && !a.b.FinalizesChildren(parent) {
		return plan.Plan{}, nil
	}
	a.states.of(object.RefOf(parent)).prune(children, time.Now())
	planned, err := plan.Children(children, answer.Children, a.policy(parent))
	if answer.Finalized && object.Deleting(parent) {
		planned.Ops = slices.DeleteFunc(planned.Ops, plan.Op.Creates) // the parent goes at once, and they with it
	}
	return planned, err
}

// policy says how the parent's children are updated and written.
func (a *applier) policy(parent *object.Object) plan.Policy {
	return plan.Policy{
		Rules: a.b.Rules, ServerSide: a.b.ServerSide, Memory: a.states.of(object.RefOf(parent)).applied,
		Mark:  func(child *object.Object) error { return a.b.Owner.Mark(parent, child) },
		Owned: a.b.Owned,
	}
}

// apply carries out the writes. One that fails does not keep the others from being tried. It gives the time after
// which to try those that were put off, zero for none.
func (a *applier) apply(ctx context.Context, parent *object.Object, ops []plan.Op, write plan.Writer) (time.Duration, error) {
	var again time.Duration
	var failed []error
	for _, op := range ops {
		wait, err := a.carryOut(ctx, parent, op, write)
		again, failed = soonerOf(again, wait), append(failed, err)
	}
	return again, kube.Join(failed...)
}

// carryOut does one write, and what a dry run leads to, unless it has to wait.
func (a *applier) carryOut(ctx context.Context, parent *object.Object, op plan.Op, write plan.Writer) (time.Duration, error) {
	if wait := max(a.delayUpdate(ctx, parent, op), a.delayDelete(parent, op)); wait > 0 {
		return wait, nil
	}
	stored, err := write.Do(ctx, op)
	switch {
	case op.Creates() && kube.NamespaceTerminating(err):
		return a.awaitNamespace(parent, op), nil
	case errors.Is(err, plan.ErrFixed):
		return a.carryOut(ctx, parent, plan.Fixed(op), write)
	case err != nil:
		return 0, a.writeError(ctx, parent, op, err)
	}
	a.countWrite(parent, op)
	if op.Verb == plan.DryRun {
		if next := plan.Tried(op, stored); next != nil {
			return a.carryOut(ctx, parent, *next, write)
		}
	}
	if op.Verb == plan.DryRun || op.Verb == plan.Apply {
		return a.requeueRollout(op, stored), a.states.of(object.RefOf(parent)).applied.Note(stored, op.Object)
	}
	return 0, nil
}

// awaitNamespace says that op has to wait, since the namespace of a child to be created is being deleted: trying again
// before it is gone is in vain. Most often the parent goes with it.
func (a *applier) awaitNamespace(parent *object.Object, op plan.Op) time.Duration {
	a.events.log.Debug("namespace is being deleted", "parent", object.RefOf(parent), "op", op.String())
	if parent.GetNamespace() != op.Object.GetNamespace() { // there could be no event in it
		a.events.Warning(parent, "NamespaceTerminating", "%s is not created, since its namespace is being deleted", object.Describe(op.Object))
	}
	return untilGone
}

// requeueRollout gives the time after which a rollout is to go on that waited for a child of which an apply has shown that
// it is as it should be: nothing changed, so that nothing else calls for a reconcile.
func (a *applier) requeueRollout(op plan.Op, stored *object.Object) time.Duration {
	if !a.b.Rules[stored.GroupVersionKind()].Rolls() || op.Creates() || stored.GetResourceVersion() != op.Observed.GetResourceVersion() {
		return 0
	}
	return minResync
}

// writeError says what it means that op failed with err.
func (a *applier) writeError(ctx context.Context, parent *object.Object, op plan.Op, err error) error {
	switch {
	case apierrors.IsAlreadyExists(err):
		return a.nameTaken(ctx, parent, op.Object)
	case op.Verb == plan.Delete && apierrors.IsNotFound(err):
		return nil // as it should be
	case !op.Creates() && kube.Outdated(err):
		return kube.Requeue(err)
	}
	return err
}

// nameTaken says who has the name of a child that could not be created: the parent itself, when only our cache did
// not know, or somebody else.
func (a *applier) nameTaken(ctx context.Context, parent, child *object.Object) error {
	there, err := a.b.Live(ctx, child)
	if apierrors.IsNotFound(err) {
		return kube.ErrRequeue
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", object.Describe(child), err)
	}
	ref := object.ControllerOf(there)
	_, declared := a.b.Kinds[child.GroupVersionKind()]
	expect, err := a.b.Expect(parent)
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

// delayUpdate gives how long op has to wait, zero for not at all, since the same was written too often before. The way on
// is to mend the hook, or to call the other side off.
func (a *applier) delayUpdate(ctx context.Context, parent *object.Object, op plan.Op) time.Duration {
	if op.Differs == nil {
		return 0
	}
	all, child := a.states.of(object.RefOf(parent)).contentions, object.RefOf(op.Object)
	f := all[child]
	if f == nil || !op.Again || f.Forgotten(time.Now()) {
		f = &throttle.Contention{}
		all[child] = f
	}
	wait, news := f.Delay(time.Now())
	if news {
		a.reportFieldConflict(ctx, parent, op, f.Writes())
	}
	return wait
}

// countWrite notes that op was carried out.
func (a *applier) countWrite(parent *object.Object, op plan.Op) {
	if f := a.states.of(object.RefOf(parent)).contentions[object.RefOf(op.Object)]; f != nil && op.Differs != nil && op.Verb != plan.DryRun {
		f.Count(time.Now())
	}
}

// reportFieldConflict tells which field of which child is fought over, and with whom, in the log and in an event on parent.
func (a *applier) reportFieldConflict(ctx context.Context, parent *object.Object, op plan.Op, rounds int) {
	done := "updated"
	if op.Verb == plan.Delete || op.Verb == plan.DryRun {
		done = "recreated"
	}
	text := fmt.Sprintf("%s was %s %d times, and %s differs again from what the hook returned: %s. Have the hook return it as it is stored, or without this field. %s", object.Describe(op.Object), done, rounds, op.Differs, a.opponents(ctx, op), nextWrites)
	a.events.log.Warn("field conflict", "parent", object.RefOf(parent), "child", object.RefOf(op.Object), "field", op.Differs.String(), "detail", text)
	a.events.Warning(parent, "FieldConflict", "%s", text)
}

// nextWrites is the end of each report of a conflict.
var nextWrites = fmt.Sprintf("Until then the same write is delayed, at first by %s, and later by up to %s",
	duration.HumanDuration(throttle.FirstContentionDelay), duration.HumanDuration(throttle.LastContentionDelay))

// opponents says who changes the field in which op's child differs, as the API server knows at this moment.
func (a *applier) opponents(ctx context.Context, op plan.Op) string {
	live, err := a.b.Live(ctx, op.Object)
	if err != nil {
		return "the object could not be read to find out who changes it: " + err.Error()
	}
	var names []string
	for _, m := range plan.Managers(live, op.Differs) {
		if !slices.Contains([]string{kube.FieldManager, a.b.FieldManager}, m.Name) {
			names = append(names, m.String())
		}
	}
	if len(names) == 0 {
		return "no other field manager owns it, so that the API server or an admission webhook changes it, or somebody removes it"
	}
	return "it is changed by the field manager " + strings.Join(names, " and ")
}

// delayDelete gives how long a deletion has to wait, since the same child was deleted too often before.
func (a *applier) delayDelete(parent *object.Object, op plan.Op) time.Duration {
	f := a.states.of(object.RefOf(parent)).deletedAgain(op)
	if f == nil {
		return 0
	}
	wait, news := f.Delay(time.Now())
	if news {
		a.events.conflict(parent, object.Describe(op.Object), fmt.Sprintf("it was deleted %d times, since the hook does not return it, and somebody creates it again as a child of this object: does another controller select the same objects? %s", f.Writes(), nextWrites))
	}
	if wait == 0 {
		f.Count(time.Now())
	}
	return wait
}

// reportSuppressed records, once for each child, field and content, that its method keeps a difference from being mended.
func (a *applier) reportSuppressed(parent *object.Object, left []plan.Left) {
	k := a.states.of(object.RefOf(parent))
	told := make(map[object.Ref]string, len(left))
	for _, d := range left {
		child, what := object.RefOf(d.Child), d.Field.String()+" "+d.Wanted
		if k.suppressed[child] != what {
			a.events.Normal(parent, "UpdateSuppressed", "%s: %s differs from what the hook wants, and is left as it is, since the update method is OnDelete: delete the child, or set another method", object.Describe(d.Child), d.Field)
		}
		told[child] = what
	}
	k.suppressed = told
}

// deletedAgain gives how often the undesired child that op deletes was deleted before, although somebody made it again;
// nil when op is something else. One that the hook itself wanted meanwhile does not count.
func (k *parentState) deletedAgain(op plan.Op) *throttle.Contention {
	child := object.RefOf(op.Object)
	if op.Creates() {
		delete(k.recreatedChildren, child)
	}
	if op.Verb != plan.Delete || op.Differs != nil {
		return nil
	}
	f := k.recreatedChildren[child]
	if f == nil || f.Forgotten(time.Now()) {
		f = &throttle.Contention{}
		k.recreatedChildren[child] = f
	}
	return f
}

// untilGone is how often it is looked whether a namespace that is being deleted is gone.
const untilGone = 30 * time.Second

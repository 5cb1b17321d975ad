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

// An applier plans and does the writes to the children of one parent in one reconcile.
type applier struct {
	binding *binding.Binding
	events  *parentEvents
	state   *parentState
}

// plan returns the writes that make the children what the hook returned. It returns none if the parent is being deleted and the
// controller does not delete the children itself. The error is about the children that cannot be planned; the plan has the
// others.
func (a *applier) plan(parent *object.Object, children *object.Set, response *hook.Response) (plan.Plan, error) {
	if object.Deleting(parent) && !a.binding.FinalizesChildren(parent) {
		return plan.Plan{}, nil
	}
	a.state.prune(children, time.Now())
	planned, err := plan.Children(children, response.Children, a.policy(parent))
	if response.Finalized && object.Deleting(parent) {
		// The parent is about to be gone, and the garbage collector would delete what we create.
		planned.Ops = slices.DeleteFunc(planned.Ops, plan.Op.Creates)
	}
	return planned, err
}

// policy returns how the children of a parent are compared and written.
func (a *applier) policy(parent *object.Object) plan.Policy {
	return plan.Policy{
		Rules: a.binding.Rules, ServerSide: a.binding.ServerSide, Memory: a.state.applied,
		SetControllerReference: func(child *object.Object) error { return a.binding.Claimer.SetControllerReference(parent, child) },
		Owned:                  a.binding.Owned,
	}
}

// apply does all ops, also after one has failed. It returns the time after which to try again those that were delayed; zero if
// none was.
func (a *applier) apply(ctx context.Context, parent *object.Object, ops []plan.Op, write plan.Writer) (time.Duration, error) {
	var again time.Duration
	var errs []error
	for _, op := range ops {
		wait, err := a.applyOne(ctx, parent, op, write)
		again, errs = shorterDelay(again, wait), append(errs, err)
	}
	return again, kube.Join(errs...)
}

// applyOne does op, and the write that follows if op is a dry run that shows a difference. If op has to wait, it does nothing
// and returns how long.
func (a *applier) applyOne(ctx context.Context, parent *object.Object, op plan.Op, write plan.Writer) (time.Duration, error) {
	if wait := max(a.delayUpdate(ctx, parent, op), a.delayDelete(parent, op)); wait > 0 {
		return wait, nil
	}
	stored, err := write.Do(ctx, op)
	switch {
	case op.Creates() && kube.NamespaceTerminating(err):
		return a.namespaceDelay(parent, op), nil
	case errors.Is(err, plan.ErrImmutable):
		return a.applyOne(ctx, parent, plan.RecreateImmutable(op), write)
	case err != nil:
		return 0, a.writeError(ctx, parent, op, err)
	}
	a.countWrite(op)
	if op.Verb == plan.DryRun {
		if next := plan.AfterDryRun(op, stored); next != nil {
			return a.applyOne(ctx, parent, *next, write)
		}
	}
	if op.Verb == plan.DryRun || op.Verb == plan.Apply {
		return a.rolloutDelay(op, stored), a.state.applied.Note(stored, op.Object)
	}
	return 0, nil
}

// namespacePollInterval is how often the creation of a child is tried while its namespace is being deleted.
const namespacePollInterval = 30 * time.Second

// namespaceDelay returns how long op has to wait because the namespace of the child that it creates is being deleted. It records
// an event if the parent is in another namespace; none can be recorded in this one, and the parent is most often deleted too.
func (a *applier) namespaceDelay(parent *object.Object, op plan.Op) time.Duration {
	a.events.log.Debug("namespace is being deleted", "parent", object.RefOf(parent), "op", op.String())
	if parent.GetNamespace() != op.Object.GetNamespace() {
		a.events.Warning(parent, "NamespaceTerminating", "%s is not created, since its namespace is being deleted", object.Describe(op.Object))
	}
	return namespacePollInterval
}

// rolloutDelay returns the time after which to reconcile again because op has shown that a child of a kind that rolls is up to
// date; zero otherwise. The rollout may go on then, and no event queues the parent because nothing changed.
func (a *applier) rolloutDelay(op plan.Op, stored *object.Object) time.Duration {
	if !a.binding.Rules[stored.GroupVersionKind()].Rolls() || op.Creates() || stored.GetResourceVersion() != op.Observed.GetResourceVersion() {
		return 0
	}
	return minResync
}

// writeError returns the error of a reconcile in which op failed with err; nil if the failure does not matter.
func (a *applier) writeError(ctx context.Context, parent *object.Object, op plan.Op, err error) error {
	switch {
	case apierrors.IsAlreadyExists(err):
		return a.alreadyExists(ctx, parent, op.Object)
	case op.Verb == plan.Delete && apierrors.IsNotFound(err):
		return nil // it was to be deleted
	case !op.Creates() && kube.Outdated(err):
		return kube.Requeue(err)
	}
	return err
}

// alreadyExists returns why a child could not be created although the cache does not have it: either the cache is stale, and
// the error is a kube.ErrRequeue, or the object of this name is not the parent's.
func (a *applier) alreadyExists(ctx context.Context, parent, child *object.Object) error {
	existing, err := a.binding.GetLive(ctx, child)
	if apierrors.IsNotFound(err) {
		return kube.ErrRequeue
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", object.Describe(child), err)
	}
	ref := object.ControllerOf(existing)
	_, declared := a.binding.Kinds[child.GroupVersionKind()]
	expect, err := a.binding.Expect(parent)
	switch {
	case ref != nil && ref.UID == parent.GetUID() && !declared:
		return nil // a kind that is not watched is created once
	case object.Deleting(existing):
		return fmt.Errorf("%s is still being deleted: %w", object.Describe(existing), kube.ErrRequeue)
	case ref != nil && ref.UID == parent.GetUID():
		return kube.ErrRequeue // the cache is stale
	case ref != nil && ref.Kind == parent.GetKind() && ref.Name == parent.GetName():
		return fmt.Errorf("%s belongs to an earlier %s: %w", object.Describe(existing), object.Describe(parent), kube.ErrRequeue)
	case ref != nil:
		return fmt.Errorf("create %s: it exists already and belongs to %s %s: delete it, or give the child another name", object.Describe(child), ref.Kind, ref.Name)
	case err == nil && expect.Selector != nil && expect.Selector.Matches(labels.Set(existing.GetLabels())):
		return kube.ErrRequeue // the next reconcile adopts it
	}
	return fmt.Errorf("create %s: it exists already, and is not adopted since its labels do not match: delete it, or give the child another name", object.Describe(child))
}

// delayUpdate returns how long op has to wait because the same content was written too often before; zero if it does not
// wait. Something else changes the child each time, and only an edit of the hook or of the other controller can end that. It also
// begins a new count of the writes of the child, if there is none, if op writes other content than before, or if the last write
// was long ago; and it reports a conflict when a delay begins. countWrite counts op.
func (a *applier) delayUpdate(ctx context.Context, parent *object.Object, op plan.Op) time.Duration {
	if op.Differs == nil {
		return 0
	}
	contentions, child := a.state.contentions, object.RefOf(op.Object)
	contention := contentions[child]
	if contention == nil || !op.Again || contention.Forgotten(time.Now()) {
		contention = &throttle.Contention{}
		contentions[child] = contention
	}
	wait, report := contention.Delay(time.Now())
	if report {
		a.reportFieldConflict(ctx, parent, op, contention.Writes())
	}
	return wait
}

// countWrite counts op, which was done, for delayUpdate.
func (a *applier) countWrite(op plan.Op) {
	if contention := a.state.contentions[object.RefOf(op.Object)]; contention != nil && op.Differs != nil && op.Verb != plan.DryRun {
		contention.Count(time.Now())
	}
}

// reportFieldConflict reports, in the log and by an event on parent, which field of a child is written again and again, and
// which other field managers write it.
func (a *applier) reportFieldConflict(ctx context.Context, parent *object.Object, op plan.Op, writes int) {
	done := "updated"
	if op.Verb == plan.Delete || op.Verb == plan.DryRun {
		done = "recreated"
	}
	text := fmt.Sprintf("%s was %s %d times, and %s differs again from what the hook returned: %s. Have the hook return it as it is stored, or without this field. %s", object.Describe(op.Object), done, writes, op.Differs, a.otherManagers(ctx, op), delayText)
	a.events.log.Warn("field conflict", "parent", object.RefOf(parent), "child", object.RefOf(op.Object), "field", op.Differs.String(), "detail", text)
	a.events.Warning(parent, "FieldConflict", "%s", text)
}

// delayText is the last sentence of each report of a field conflict.
var delayText = fmt.Sprintf("Until then the same write is delayed, at first by %s, and later by up to %s",
	duration.HumanDuration(throttle.FirstContentionDelay), duration.HumanDuration(throttle.LastContentionDelay))

// otherManagers describes the field managers that own the field in which the child of op differs, other than ours. It reads
// the child from the API server.
func (a *applier) otherManagers(ctx context.Context, op plan.Op) string {
	live, err := a.binding.GetLive(ctx, op.Object)
	if err != nil {
		return "the object could not be read to find out who changes it: " + err.Error()
	}
	var names []string
	for _, m := range plan.Managers(live, op.Differs) {
		if !slices.Contains([]string{kube.FieldManager, a.binding.FieldManager}, m.Name) {
			names = append(names, m.String())
		}
	}
	if len(names) == 0 {
		return "no other field manager owns it, so that the API server or an admission webhook changes it, or somebody removes it"
	}
	return "it is changed by the field manager " + strings.Join(names, " and ")
}

// delayDelete returns how long op has to wait because it deletes a child that was deleted too often before; zero if it does not
// wait. It also counts op, if that deletes and does not wait, and reports a conflict when a delay begins. deletionContention
// begins and ends the count.
func (a *applier) delayDelete(parent *object.Object, op plan.Op) time.Duration {
	contention := a.state.deletionContention(op)
	if contention == nil {
		return 0
	}
	wait, report := contention.Delay(time.Now())
	if report {
		a.events.reportConflict(parent, object.Describe(op.Object), fmt.Sprintf("it was deleted %d times, since the hook does not return it, and somebody creates it again as a child of this object: does another controller select the same objects? %s", contention.Writes(), delayText))
	}
	if wait == 0 {
		contention.Count(time.Now())
	}
	return wait
}

// deletionContention returns the count of the deletions of the child that op deletes because the hook does not return it; nil if
// op does something else. It creates the count if there is none, or if the last deletion was long ago, and removes it when the hook
// has the child created.
func (s *parentState) deletionContention(op plan.Op) *throttle.Contention {
	child := object.RefOf(op.Object)
	if op.Creates() {
		delete(s.recreatedChildren, child)
	}
	if op.Verb != plan.Delete || op.Differs != nil {
		return nil
	}
	contention := s.recreatedChildren[child]
	if contention == nil || contention.Forgotten(time.Now()) {
		contention = &throttle.Contention{}
		s.recreatedChildren[child] = contention
	}
	return contention
}

// reportSuppressed records an event for each child with a difference that its update method does not permit to fix, unless the
// last reconcile had the same difference.
func (a *applier) reportSuppressed(parent *object.Object, left []plan.Suppressed) {
	reported := make(map[object.Ref]string, len(left))
	for _, l := range left {
		child, difference := object.RefOf(l.Child), l.Field.String()+" "+l.Wanted
		if a.state.suppressed[child] != difference {
			a.events.Normal(parent, "UpdateSuppressed", "%s: %s differs from what the hook wants, and is left as it is, since the update method is OnDelete: delete the child, or set another method", object.Describe(l.Child), l.Field)
		}
		reported[child] = difference
	}
	a.state.suppressed = reported
}

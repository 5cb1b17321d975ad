package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/call"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/rollout"
	"metascript/controller/transition"
	"metascript/engine"
)

// A roller finds what the children of a parent should be now. When some of their kinds roll, it takes the next step of the
// rollout.
type roller struct {
	b       *binding.Binding
	v       *call.Version
	caller  *call.Caller
	applier *applier
	status  *statusWriter
	events  *parentEvents
}

// desiredState asks the hook what should be, and gives the children about which something is to be done. When kinds roll, it
// asks once for each revision of the parent, takes the next step, and stores it: before any child is touched, so that
// nothing is forgotten by dying.
func (r *roller) desiredState(ctx context.Context, parent *object.Object, children *object.Set, write plan.Writer) (*hook.Response, *object.Set, error) {
	if r.v.Revisions == nil || object.Deleting(parent) && !r.b.FinalizesChildren(parent) {
		answer, err := r.caller.CallHook(ctx, parent, children)
		return answer, children, err
	}
	latest, older, err := r.v.Revisions.Read(ctx, parent, write)
	if err != nil {
		return nil, nil, err
	}
	variants, err := r.variants(ctx, parent, older)
	if err != nil {
		return nil, nil, err
	}
	answers, err := r.caller.CallRevisions(ctx, parent, children, variants)
	if err != nil {
		return nil, nil, kube.Join(err, r.reportBlockedRollout(ctx, parent, err, write))
	}
	latest.Desired = answers[0].Children
	for i := range older {
		older[i].Desired = r.recognised(parent, answers[i+1].Children)
	}
	step, doubtful := r.step(parent, latest, older, children)
	if err := r.v.Revisions.Store(ctx, parent, step, write); err != nil {
		return nil, nil, err
	}
	answer := r.merge(parent, answers, step)
	if doubtful && step.Condition.Reason == rollout.Waiting {
		answer.ResyncAfter = minResync // what follows asks the API server, and it may be that nothing changes then
	}
	return answer, step.Observed, nil
}

// reportBlockedRollout has the condition tell that the rollout waits for a hook that does not answer about an older revision. What
// it said before is not so any more.
func (r *roller) reportBlockedRollout(ctx context.Context, parent *object.Object, why error, write plan.Writer) error {
	var about *call.RevisionError
	if !errors.As(why, &about) {
		return nil
	}
	status := r.withUpdated(parent, nil, rollout.Condition{Reason: rollout.Waiting, Message: engine.Clip(why.Error(), v1alpha1.MaxConditionMessage)})
	_, _, err := r.status.writeStatus(ctx, parent, &hook.Response{Shape: r.b.Shape, Status: status}, write)
	return err
}

// step is what to aim for now. It is doubtful when it was not clear whether some child is as it should be.
func (r *roller) step(parent *object.Object, latest rollout.Revision, older []rollout.Revision, children *object.Set) (step rollout.Step, doubtful bool) {
	rules, policy := r.v.Revisions.Rules, r.applier.policy(parent)
	rules.Differs = func(have, want *object.Object) (string, error) {
		what, unclear, err := policy.Differs(have, want)
		doubtful = doubtful || unclear
		return what, err
	}
	return rollout.Next(latest, older, children, rules), doubtful
}

// variants are the parent as it is and as its older revisions have it.
func (r *roller) variants(ctx context.Context, parent *object.Object, older []rollout.Revision) ([]call.Variant, error) {
	variants := []call.Variant{r.caller.Latest(parent)}
	for _, revision := range older {
		then, err := rollout.Apply(parent, revision.Patch, r.v.Revisions.Paths)
		if err != nil {
			return nil, fmt.Errorf("ControllerRevision %s: %w", revision.Name, err)
		}
		asked, err := r.hooksOf(ctx, revision)
		if err != nil {
			return nil, err
		}
		asked.Parent, asked.Revision = then, revision.Name
		variants = append(variants, asked)
	}
	return variants, nil
}

// hooksOf are who answers about an older revision: the script that it was made with, when that is part of it.
func (r *roller) hooksOf(ctx context.Context, revision rollout.Revision) (call.Variant, error) {
	v, scripts := r.caller.Latest(nil), r.v.Revisions.Scripts
	if scripts == nil || revision.Script == "" || revision.Script == scripts.Digest {
		return v, nil
	}
	then, err := scripts.Hooks(ctx, revision)
	v.Customize = then.Customize
	if then.Sync != nil {
		v.Sync = then.Sync
	}
	if then.Finalize != nil {
		v.Finalize = then.Finalize
	}
	return v, err
}

// recognised are the children that the parent, as it is now, would recognise. An older revision may want others, of the
// time before the parent's selector was changed: these are none any more.
func (r *roller) recognised(parent *object.Object, wanted *object.Set) *object.Set {
	selector, err := r.b.Match(parent)
	if err != nil {
		return wanted // one that is being deleted recognises what it owns
	}
	set := &object.Set{}
	for o := range wanted.Added() {
		if selector.Matches(labels.Set(o.GetLabels())) {
			set.Put(o)
		}
	}
	return set
}

// merge gives what is to be done after a step as one answer, about the parent as it is: its status and its events are
// the latest answer's, it comes back when the first of all wants to, and is done when all are.
func (r *roller) merge(parent *object.Object, answers []*hook.Response, step rollout.Step) *hook.Response {
	merged := *answers[0]
	merged.Children = step.Desired
	merged.Status = r.withUpdated(parent, merged.Status, step.Condition)
	for _, a := range answers[1:] {
		merged.Finalized = merged.Finalized && a.Finalized
		merged.ResyncAfter = soonerOf(merged.ResyncAfter, a.ResyncAfter)
	}
	return &merged
}

// withUpdated is status, or the parent's when there is none, with the condition that tells how far the rollout is. A
// status whose conditions are no list is left alone.
func (r *roller) withUpdated(parent *object.Object, status map[string]any, c rollout.Condition) map[string]any {
	before, _ := parent.Object["status"].(map[string]any)
	if status == nil {
		status, _ = object.CopyValue(parent.Object["status"]).(map[string]any)
	}
	if status == nil {
		status = map[string]any{}
	}
	list, ok := status["conditions"].([]any)
	if !ok && status["conditions"] != nil {
		return status
	}
	updated := map[string]any{"type": rollout.UpdatedCondition, "status": "False", "reason": c.Reason, "message": r.events.redactors.of(object.RefOf(parent)).Text(c.Message)}
	if c.Status {
		updated["status"] = "True"
	}
	if !r.status.hasNoTransitionTimes(parent) {
		transition.Fill(map[string]any{"conditions": []any{updated}}, before, time.Now())
	}
	others := slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		condition, _ := item.(map[string]any)
		return condition["type"] == rollout.UpdatedCondition
	})
	status["conditions"] = append(others, updated)
	return status
}

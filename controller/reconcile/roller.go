package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/call"
	"metascript/controller/children"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/parents"
	"metascript/controller/plan"
	"metascript/controller/remember"
	"metascript/controller/revisions"
	"metascript/controller/rollout"
	"metascript/controller/throttle"
	"metascript/controller/transition"
	"metascript/engine"
)

// A roller takes the next step of the rollout of the children of one parent in one reconcile.
type roller struct {
	binding *binding.Binding
	version *call.Version
	caller  *call.Caller
	writer  *children.Writer
	status  *parents.Writer
	events  *parentEvents
	memory  *remember.Memory      // of the parent
	rolling func([]observe.Write) // see observe.PlanObserver; nil if there is none
}

// roll calls the hook for each revision of the parent, and stores the next step in the ControllerRevisions. That must come before
// any write to a child, so that a server that stops in between continues with the same step. It returns the response with the
// children of the step, and the observed children to which the plan applies.
func (r *roller) roll(ctx context.Context, parent *object.Object, children *object.Set, write plan.Writer) (*hook.Response, *object.Set, error) {
	latest, older, err := r.version.Revisions.Read(ctx, parent, write)
	if err != nil {
		return nil, nil, err
	}
	if len(older) > 0 {
		r.memory.Unsettled() // the rollout goes on
	}
	variants, err := r.variants(ctx, parent, older)
	if err != nil {
		return nil, nil, kube.Join(err, r.reportBlockedRollout(ctx, parent, err, write))
	}
	responses, err := r.caller.CallRevisions(ctx, parent, children, variants)
	if err != nil {
		return nil, nil, kube.Join(err, r.reportBlockedRollout(ctx, parent, err, write))
	}
	latest.Desired = responses[0].Children
	for i := range older {
		older[i].Desired = r.selectedChildren(parent, responses[i+1].Children)
	}
	if r.rolling != nil {
		r.rolling(r.writer.Rolling(ctx, parent, children, responses[0]))
	}
	step := rollout.Next(latest, older, children, r.rules(parent))
	if err := r.version.Revisions.Store(ctx, parent, step, write); err != nil {
		return nil, nil, err
	}
	return r.merge(parent, responses, step), step.Observed, nil
}

// variants returns the parent as it is, and as it is in each of its older revisions, with the hooks to call for it.
func (r *roller) variants(ctx context.Context, parent *object.Object, older []rollout.Revision) ([]call.Variant, error) {
	variants := []call.Variant{r.caller.Latest(parent)}
	for _, revision := range older {
		olderParent, err := r.version.Revisions.At(ctx, parent, revision)
		if err != nil {
			return nil, err
		}
		variant, err := r.hooksOf(ctx, revision)
		if err != nil {
			return nil, err
		}
		variant.Parent, variant.Revision = olderParent, revision.Name
		variants = append(variants, variant)
	}
	return variants, nil
}

// hooksOf returns a variant with the hooks of an older revision: those of its script, if revisions include the script, and
// otherwise the current ones.
func (r *roller) hooksOf(ctx context.Context, revision rollout.Revision) (call.Variant, error) {
	variant, scripts := r.caller.Latest(nil), r.version.Revisions.Scripts
	if scripts == nil || revision.Script == "" || revision.Script == scripts.Digest {
		return variant, nil
	}
	hooks, err := scripts.Hooks(ctx, revision)
	variant.Customize = hooks.Customize
	if hooks.Sync != nil {
		variant.Sync = hooks.Sync
	}
	if hooks.Finalize != nil {
		variant.Finalize = hooks.Finalize
	}
	return variant, err
}

// reportBlockedRollout sets the condition Updated to say that the rollout waits because the hook failed for an older revision, or because
// that is not valid. It does nothing if why is another error.
func (r *roller) reportBlockedRollout(ctx context.Context, parent *object.Object, why error, write plan.Writer) error {
	var failed *call.RevisionError
	var invalid *revisions.InvalidError
	if !errors.As(why, &failed) && !errors.As(why, &invalid) {
		return nil
	}
	status := r.withUpdatedCondition(parent, nil, rollout.Condition{Reason: rollout.Waiting, Message: engine.Clip(why.Error(), v1alpha1.MaxConditionMessage)})
	_, _, err := r.status.WriteStatus(ctx, parent, &hook.Response{Shape: r.binding.Shape, Status: status}, nil, write)
	return err
}

// selectedChildren returns the children that the selector of the parent, as it is now, matches. An older revision may have
// another selector and so return others, which are not children of the parent any more.
func (r *roller) selectedChildren(parent *object.Object, children *object.Set) *object.Set {
	selector, err := r.binding.Match(parent)
	if err != nil {
		return children // a parent that is being deleted needs no valid selector: its children are those that it owns
	}
	selected := &object.Set{}
	for o := range children.Added() {
		if selector.Matches(object.LabelsOf(o)) {
			selected.Put(o)
		}
	}
	return selected
}

// rules returns the rules of the rollout. A child of which only the API server can tell whether it is up to date counts as different until the
// writer of children has found that out.
func (r *roller) rules(parent *object.Object) rollout.Rules {
	rules, policy := r.version.Revisions.Rules, r.writer.Policy(parent, nil)
	rules.Differs = func(have, want *object.Object) (string, error) {
		difference, _, err := policy.Differs(have, want)
		return difference, err
	}
	return rules
}

// merge returns one response for all revisions: the status and the events of the latest one, the children of the step, the
// shortest ResyncAfter, and Finalized if all are.
func (r *roller) merge(parent *object.Object, responses []*hook.Response, step rollout.Step) *hook.Response {
	merged := responses[0].With(step.Desired)
	merged.Status = r.withUpdatedCondition(parent, maps.Clone(merged.Status), step.Condition) // the answer of the hook stays as it is
	for _, response := range responses[1:] {
		merged.Finalized = merged.Finalized && response.Finalized
		merged.ResyncAfter = throttle.Shorter(merged.ResyncAfter, response.ResyncAfter)
		merged.Holders = merged.Holders.With(response.Holders)
	}
	return merged
}

// withUpdatedCondition returns status with the condition Updated, which says how far the rollout is. If status is nil, it uses the
// parent's. It adds nothing if the field conditions is not a list.
func (r *roller) withUpdatedCondition(parent *object.Object, status map[string]any, c rollout.Condition) map[string]any {
	before := parents.StatusOf(parent)
	if status == nil {
		status, _ = object.CopyValue(object.StatusOf(parent)["status"]).(map[string]any)
	}
	if status = maps.Clone(status); status == nil { // a Sink may keep the response
		status = map[string]any{}
	}
	conditions, ok := status["conditions"].([]any)
	if !ok && status["conditions"] != nil {
		return status
	}
	updated := map[string]any{"type": rollout.UpdatedCondition, "status": "False", "reason": c.Reason, "message": r.events.redactors.of(object.RefOf(parent)).Text(c.Message)}
	if c.Status {
		updated["status"] = "True"
	}
	if !r.status.Kinds.LacksTransitionTimes(parent.GroupVersionKind()) {
		transition.Fill(map[string]any{"conditions": []any{updated}}, before, time.Now())
	}
	others := slices.DeleteFunc(slices.Clone(conditions), func(item any) bool {
		condition, _ := item.(map[string]any)
		return condition["type"] == rollout.UpdatedCondition
	})
	status["conditions"] = append(others, updated)
	return status
}

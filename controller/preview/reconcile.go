package preview

import (
	"context"
	"slices"
	"time"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/children"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/parents"
	"metascript/controller/plan"
	"metascript/controller/restarts"
	"metascript/controller/rollout"
)

// A previewing computes the Result for one parent. Its steps are those of the reconciliation in package reconcile.
type previewing struct {
	*Previewer
	result *Result
	state  State

	asked    func(observe.Call) // is called after each call of a hook, and nothing is planned; nil: the writes are planned
	patience time.Duration      // how long caches of related objects are waited for; zero: until they are filled
}

// reconcile does the steps before the hooks are called, and calls plan.
func (p *previewing) reconcile(ctx context.Context, parent *object.Object) error {
	b := p.binding
	if err := b.MayReadParent(ctx, parent); err != nil {
		if !b.Shows(parent) {
			p.result.Skipped = NotReadable
			return nil
		}
		return err
	}
	if p.result.Skipped = p.skips(parent); p.result.Skipped != "" {
		return nil
	}
	if err := b.CheckSelector(parent); err != nil {
		return err
	}
	if err := b.MayReadChildren(ctx, parent); err != nil {
		return err
	}
	parent = p.finalizer(parent)
	if p.result.Skipped = p.done(parent); p.result.Skipped != "" {
		return nil
	}
	observed, err := p.claimer.Claim(ctx, parent, pretend{})
	if err != nil {
		return err
	}
	p.result.Observed = observed
	response, err := p.caller().CallHook(ctx, parent, observed)
	if err != nil {
		return err
	}
	p.result.Response = response
	if p.asked != nil {
		return nil
	}
	return p.plan(ctx, parent, observed, response)
}

// skips returns why a parent is not reconciled; "" if it is.
func (p *previewing) skips(parent *object.Object) Skip {
	switch {
	case !p.binding.Reconciles(parent):
		return NotSelected
	case binding.IsPaused(parent):
		return Paused
	}
	return ""
}

// finalizer returns parent with our finalizer if there is a finalize hook. It is removed only if all hooks are webhooks; of scripts the
// function was most often lost by mistake.
func (p *previewing) finalizer(parent *object.Object) *object.Object {
	has := p.binding.HasFinalizer(parent)
	_, unknown := p.hooks.Finalize.(build.UnloadedHook)
	_, without := p.hooks.Sync.(build.InvalidHook)
	switch {
	case p.hooks.Finalize != nil && !has && !unknown && !object.Deleting(parent) && p.binding.Selects(parent):
		return p.setFinalizers(parent, append(slices.Clone(parent.GetFinalizers()), p.binding.Finalizer))
	case p.hooks.Finalize == nil && has && !p.hooks.Scripted && !without:
		return p.setFinalizers(parent, p.binding.OtherFinalizers(parent))
	}
	return parent
}

func (p *previewing) setFinalizers(parent *object.Object, finalizers []string) *object.Object {
	changed := object.Copy(parent)
	changed.SetFinalizers(finalizers)
	p.result.add(Write{Op: plan.Op{Verb: plan.Update, Object: changed, Why: "finalizers"}, Effect: UpdateParent, Field: "metadata.finalizers"})
	return changed
}

// done returns why a reconcile ends before the children are claimed; "" if it goes on.
func (p *previewing) done(parent *object.Object) Skip {
	switch finalizing := p.binding.Finalizing(parent); {
	case !p.binding.Reconciles(parent) || object.Deleting(parent) && len(parent.GetFinalizers()) == 0:
		return NotSelected
	case finalizing && p.hooks.Finalize == nil || !finalizing && p.hooks.Sync == nil:
		return NoHook
	}
	return ""
}

// plan adds the writes that follow from the response of the hooks.
func (p *previewing) plan(ctx context.Context, parent *object.Object, observed *object.Set, response *hook.Response) error {
	record := &recorder{}
	status := &parents.Writer{Binding: p.binding, Events: silent{}, Memory: &parents.Memory{}, Kinds: &p.kinds}
	decorated, _, err := status.Decorate(ctx, parent, response, record)
	if err != nil {
		return err
	}
	for _, op := range record.ops {
		p.result.add(Write{Op: op, Effect: UpdateParent, Field: plan.ObjectDifference(parent, op.Object)})
	}
	planErr := p.planChildren(decorated, observed, response)
	record.ops = nil
	if p.binding.Revisions != nil {
		response = withUpdated(parent, response)
	}
	if _, _, err := status.WriteStatus(ctx, decorated, response, nil, record); err != nil {
		return err
	}
	for _, op := range record.ops {
		p.result.add(Write{Op: op, Effect: UpdateStatus, Field: plan.Difference(object.StatusOf(parent), object.StatusOf(op.Object))})
	}
	if planErr == nil && response.Finalized && p.binding.Finalizing(decorated) {
		p.setFinalizers(decorated, p.binding.OtherFinalizers(decorated))
	}
	return planErr
}

// Children returns what a response to a request would write to the children in it, without adoptions and releases. An error of planning
// is in the Result.
func Children(b *binding.Binding, req *hook.Request, response *hook.Response) *Result {
	r := &Result{Parent: object.RefOf(req.Parent), Observed: req.Children, Response: response}
	if r.Observed == nil {
		return r
	}
	if response.Children == nil {
		copied := *response
		copied.Children, response = &object.Set{}, &copied
	}
	one := &previewing{Previewer: &Previewer{binding: b}, result: r, state: State{Children: children.NewMemory()}}
	r.Err = one.planChildren(req.Parent, req.Children, response)
	return r
}

// planChildren adds the writes to children.
func (p *previewing) planChildren(parent *object.Object, observed *object.Set, response *hook.Response) error {
	if object.Deleting(parent) && !p.binding.FinalizesChildren(parent) {
		return nil // the garbage collector deletes them
	}
	writer := &children.Writer{Binding: p.binding, Memory: p.state.Children}
	policy := writer.Policy(parent, response.Holders)
	planned, err := plan.Children(observed, response.Children, policy)
	p.result.Suppressed = planned.Suppressed
	for _, op := range planned.Ops {
		if op.Creates() && response.Finalized && object.Deleting(parent) {
			continue // the garbage collector would delete it
		}
		kind := op.Object.GroupVersionKind()
		want := response.Children.Get(kind, object.KeyOf(op.Object))
		w := Write{Op: op, Field: op.Differs.String(), Rolls: p.binding.Rules[kind].Rolls() && want != nil && !op.Creates(), Wanted: want}
		w.Effect = EffectOf(op, want)
		w.Doubtful = isDoubtful(op, want, policy)
		w.Restarts = restartsOf(w, observed.Get(kind, object.KeyOf(op.Object)))
		p.result.add(w)
	}
	return err
}

// EffectOf returns the effect of a write to a child. want is the child as it is desired; nil if it is not.
func EffectOf(op plan.Op, want *object.Object) Effect {
	switch {
	case op.Creates():
		return Create
	case op.Verb == plan.Delete && want == nil:
		return Delete
	case op.Verb == plan.Delete || op.Verb == plan.DryRun: // of a DryRun, if it shows a difference
		return Recreate
	}
	return Update
}

// restartsOf returns how many Pods restart because of a write to an existing child.
func restartsOf(w Write, have *object.Object) int {
	if have == nil {
		return 0
	}
	var how restarts.How
	var pods *int
	switch {
	case w.Effect == Recreate:
		how, pods = restarts.OfRecreate(have)
	case w.Effect == Update && w.Verb == plan.Apply:
		how, pods = restarts.OfUpdate(have, restarts.Applied(have, w.Object))
	case w.Effect == Update:
		how, pods = restarts.OfUpdate(have, w.Object)
	}
	switch {
	case !how.Restarts():
		return 0
	case pods == nil:
		return 1
	}
	return *pods
}

// isDoubtful reports whether only the API server can tell that a write changes something.
func isDoubtful(op plan.Op, want *object.Object, policy plan.Policy) bool {
	if op.Observed == nil || want == nil {
		return false
	}
	_, doubtful, err := policy.Differs(op.Observed, want)
	return doubtful || err != nil || op.Verb == plan.DryRun && op.Differs == nil
}

// withUpdated returns a response with the condition Updated that parent has, which the reconciles of a rollout add.
func withUpdated(parent *object.Object, response *hook.Response) *hook.Response {
	before, _ := parents.StatusOf(parent)["conditions"].([]any)
	at := slices.IndexFunc(before, isUpdated)
	conditions, isList := response.Status["conditions"].([]any)
	if at < 0 || response.Status == nil || !isList && response.Status["conditions"] != nil {
		return response
	}
	changed := *response
	changed.Status = map[string]any{}
	for key, value := range response.Status {
		changed.Status[key] = value
	}
	changed.Status["conditions"] = append(slices.DeleteFunc(slices.Clone(conditions), isUpdated), before[at])
	return &changed
}

func isUpdated(condition any) bool {
	m, _ := condition.(map[string]any)
	return m["type"] == rollout.UpdatedCondition
}

// A recorder is a plan.Writer that keeps operations and does none.
type recorder struct{ ops []plan.Op }

// Do implements plan.Writer. The object is stored as it is written.
func (r *recorder) Do(_ context.Context, op plan.Op) (*object.Object, error) {
	r.ops = append(r.ops, op)
	return op.Object, nil
}

// pretend is a plan.Writer for adoptions and releases, which are not part of a Result.
type pretend struct{}

// Do implements plan.Writer.
func (pretend) Do(_ context.Context, op plan.Op) (*object.Object, error) { return op.Object, nil }

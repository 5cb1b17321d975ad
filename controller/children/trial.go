package children

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A trial finds out by dry runs whether a child differs.
type trial struct {
	w      *Writer
	parent *object.Object
	try    plan.Op // a DryRun or DryUpdate
	to     plan.Writer
}

// confirm does the dry run that has to show that op, which writes or recreates the child, is needed. done means that it is not: the child
// has what the API server would store. Without a result of the dry run nothing is deleted.
func (t *trial) confirm(ctx context.Context, op *plan.Op) (wait time.Duration, done bool, err error) {
	result, warnings, err := t.w.do(ctx, t.parent, t.try, t.to)
	differs, needed := op.Differs, true
	switch {
	case errors.Is(err, plan.ErrImmutable) && t.retries() && !t.try.Recreates:
		needed, err = false, nil // it cannot be repaired
	case errors.Is(err, plan.ErrImmutable):
		needed, err = t.immutableDiffers(ctx)
	case err != nil:
		err = t.w.writeError(ctx, t.parent, t.try, err, t.to)
	default:
		differs, err = t.changes(ctx, result)
		needed = differs != nil
	}
	switch {
	case err != nil:
		return 0, false, err
	case !needed:
		next, err := t.w.Policy(t.parent, nil).AfterConfirm(t.try)
		if err != nil {
			return 0, false, err
		}
		if next != nil {
			wait, err = t.w.applyOne(ctx, t.parent, *next, t.to)
			return wait, true, err
		}
		return t.w.rolloutDelay(t.try, t.try.Observed), true, t.w.noteWritten(ctx, t.parent, t.try, t.try.Observed, warnings)
	case op.Verb == plan.Delete:
		op.Why = "to be recreated: " + differs.String() + " differs"
	}
	op.Differs = differs
	return 0, false, nil
}

// recreateImmutable recreates the child, after the dry run has failed because a field is immutable, unless that shows no difference.
func (t *trial) recreateImmutable(ctx context.Context) (time.Duration, error) {
	if differs, err := t.immutableDiffers(ctx); err != nil {
		return 0, err
	} else if !differs {
		return t.w.rolloutDelay(t.try, t.try.Observed), t.w.noteWritten(ctx, t.parent, t.try, t.try.Observed, nil)
	}
	return t.w.applyOne(ctx, t.parent, plan.RecreateImmutable(t.try), t.to)
}

// immutableDiffers reports whether the child differs after the dry run has failed because a field is immutable. If the hook returned the
// same when the child was last written, or that is not known, the field may be stored in another form than the hook returns.
func (t *trial) immutableDiffers(ctx context.Context) (bool, error) {
	if !t.try.Answered && !t.try.Doubtful {
		return true, nil
	}
	differs, err := t.decide(ctx, t.try.Unsure(), nil, false)
	return differs != nil, err
}

// storedAsReturned reports whether a dry run shows that the child is as a new one would be stored, and remembers it then. Otherwise it
// returns the field that differs, if that is known.
func (t *trial) storedAsReturned(ctx context.Context) (differs plan.Path, same bool) {
	differs, err := t.decide(ctx, t.try.Unsure(), nil, false)
	return differs, differs == nil && err == nil && t.w.noteWritten(ctx, t.parent, t.try, t.try.Observed, nil) == nil
}

// changes returns the field of the child that the dry run, with this result, would change; nil if none.
func (t *trial) changes(ctx context.Context, result *object.Object) (plan.Path, error) {
	policy := t.w.Policy(t.parent, nil)
	policy.Requested = policy.Requested || t.retries()
	differs, lost, unsure, err := policy.Changes(t.try, result)
	if differs != nil || err != nil {
		return differs, err
	}
	if !t.wouldStoreMore(result, false) {
		return nil, nil
	}
	return t.decide(ctx, unsure, lost, true)
}

// decide returns the first of the fields that differs: a new child would have another value. If a dry run does not show this, it is the
// first that another field manager has written; of a child that is updated in place, if it is not known whether the hook returned the same
// before, the first of all. If there is none, and a child that would be recreated has lost a field, or may be as it was written before or
// not, that is an error. accepted says that the dry run of the update was accepted, so that it would change all of the fields. If it was
// refused, because one of them is immutable, and the hook may have returned something else, the fields may also be equal in meaning.
func (t *trial) decide(ctx context.Context, fields []plan.Path, lost plan.Path, accepted bool) (plan.Path, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	first, known, err := t.wouldCreate(ctx, 1)
	if known && t.try.CreatedOtherwise(first, first, fields) == nil {
		return nil, nil
	}
	var second *object.Object
	if known {
		second, known, err = t.wouldCreate(ctx, 2)
	}
	switch {
	case known && !t.wouldStoreMore(first, true):
		return nil, nil
	case known:
		return t.try.CreatedOtherwise(first, second, fields), nil
	case t.retries() && t.try.Recreates && !t.w.Requested:
		return nil, nil
	case !t.try.Answered && !t.try.Recreates:
		return fields[0], nil
	case t.try.Answered || accepted:
		if differs, failed := t.changedByOthers(ctx, fields); differs != nil || failed != nil || t.try.Answered && lost == nil {
			return differs, failed
		}
	}
	if lost == nil {
		lost = fields[0]
	}
	return nil, fmt.Errorf("%s is not recreated: whether a new one would have another %s is not known, since the dry run that creates one, under another name, has failed. Delete it to replace it: %w", object.Describe(t.try.Observed), lost, cmp.Or(err, errNotShown))
}

var errNotShown = errors.New("a dry run does not show how a new object would be stored")

// wouldCreate returns how a new child in place of the existing one would be stored, and whether a dry run shows that. Warnings of the API server
// are not reported: they are about an object of another name, and are those of the write.
func (t *trial) wouldCreate(ctx context.Context, round int) (created *object.Object, known bool, err error) {
	create := t.try.Create(round)
	ctx, _ = kube.CollectWarnings(ctx)
	created, err = t.w.send(ctx, create, t.to)
	return created, err == nil && created.GetName() == create.Object.GetName(), err
}

// changedByOthers returns the first of the fields that another field manager has written; nil if there is none.
func (t *trial) changedByOthers(ctx context.Context, fields []plan.Path) (plan.Path, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	live, err := t.w.Binding.GetLive(ctx, t.try.Observed)
	if err != nil {
		return nil, fmt.Errorf("read %s to find out who changed %s: %w", object.Describe(t.try.Observed), fields[0], err)
	}
	for _, field := range fields {
		if len(t.w.othersIn(live, field)) > 0 {
			return field, nil
		}
	}
	return nil, nil
}

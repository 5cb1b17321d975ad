package reconcile

import (
	"context"
	"maps"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// decorate gives a parent the labels and annotations of the answer and, where its resource has no status subresource,
// the status. It writes only a difference, and gives the parent as it then is.
func (l *Reconciler) decorate(ctx context.Context, parent *object.Object, answer *hook.Response, write plan.Writer) (*object.Object, error) {
	if l.Shape != hook.Decorator {
		return parent, nil
	}
	changed := object.Copy(parent)
	changed.SetLabels(change(parent.GetLabels(), answer.Labels))
	changed.SetAnnotations(change(parent.GetAnnotations(), answer.Annotations))
	inStatus := answer.Status != nil && !l.hasStatus(parent)
	if inStatus {
		changed = l.withStatus(changed, answer)
	}
	if inStatus && l.known(parent, changed) {
		changed.Object["status"] = parent.Object["status"]
	}
	differs := plan.Difference(parent.Object, changed.Object)
	if differs == "" {
		return parent, nil
	}
	stored, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: changed, Why: "the hook's answer: " + differs + " differs"})
	if kube.Outdated(err) {
		return nil, kube.Requeue(err)
	}
	if err == nil && inStatus {
		l.noteStored(stored, changed, answer.FillTimes)
	}
	return stored, err
}

// change gives have with the changes made.
func change(have map[string]string, changes hook.Changes) map[string]string {
	all := maps.Clone(have)
	for key, value := range changes {
		switch {
		case value == nil:
			delete(all, key)
		case all == nil:
			all = map[string]string{key: *value}
		default:
			all[key] = *value
		}
	}
	return all
}

package reconcile

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/binding"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/spec"
	"metascript/controller/throttle"
	"metascript/controller/transition"
)

// A statusWriter writes the statuses of parents, and what a decorator's hook says of the parents themselves.
type statusWriter struct {
	b      *binding.Binding
	events *parentEvents
	states *states
	queue  *queue.Queue

	withoutTransitionTimes map[object.Kind]bool // the kinds of parents whose schema has no lastTransitionTime; guarded by states.mu
	withoutStatus          map[object.Kind]bool // the kinds of parents that have lost their status subresource; guarded by states.mu
}

// writeStatus writes the status, through the subresource, if it differs from the parent's; it gives the parent as it then
// is, and how long the status has to wait when it is fought over.
func (w *statusWriter) writeStatus(ctx context.Context, parent *object.Object, answer *hook.Response, write plan.Writer) (*object.Object, time.Duration, error) {
	if answer.Status == nil {
		answer = w.keepStatus(parent, answer)
	}
	if answer.Status == nil || !w.hasStatus(parent) {
		return parent, 0, nil
	}
	changed := w.withStatus(parent, answer)
	if plan.Difference(object.StatusOf(parent), object.StatusOf(changed)) == "" || w.known(parent, changed) {
		return parent, 0, nil
	}
	if wait := w.delayStatus(parent, changed, answer); wait > 0 {
		return parent, wait, nil
	}
	stored, err := write.Do(ctx, plan.Op{Verb: plan.UpdateStatus, Object: changed, Why: "the hook's answer"})
	if w.noteStatusLost(parent, err) {
		return parent, 0, nil
	}
	if kube.Outdated(err) {
		return nil, 0, kube.Requeue(err)
	}
	if err != nil {
		return nil, 0, err
	}
	w.states.of(object.RefOf(parent)).statusContention.Count(time.Now())
	w.noteStored(stored, changed, answer.FillTimes || w.b.Revisions != nil)
	return stored, 0, nil
}

// keepStatus is an answer without a status with the one that parent has, if that has an observedGeneration: it is ours, and an
// old one would say that the parent waits for its controller.
func (w *statusWriter) keepStatus(parent *object.Object, answer *hook.Response) *hook.Response {
	status, _ := parent.Object["status"].(map[string]any)
	if w.b.Shape != hook.Composite || status["observedGeneration"] == nil {
		return answer
	}
	same := *answer
	same.Status, same.FillTimes = status, false
	return &same
}

// hasStatus reports whether parents of this kind have the status subresource.
func (w *statusWriter) hasStatus(parent *object.Object) bool {
	kind := parent.GroupVersionKind()
	w.states.mu.Lock()
	defer w.states.mu.Unlock()
	return w.b.Rule(kind).HasStatus && !w.withoutStatus[kind]
}

// withStatus is a copy of parent with the status of the answer.
func (w *statusWriter) withStatus(parent *object.Object, answer *hook.Response) *object.Object {
	changed := object.Copy(parent)
	status := plan.WithoutNulls(answer.Status)
	if before, _ := parent.Object["status"].(map[string]any); answer.FillTimes && !w.hasNoTransitionTimes(parent) {
		transition.Fill(status, before, time.Now())
	}
	if w.b.Shape == hook.Composite {
		status["observedGeneration"] = parent.GetGeneration()
	}
	changed.Object["status"] = status
	return changed
}

// noteStored remembers a status that the API server did not store as it was written, because the schema of the
// parent's kind lacks a field, and says so once. Writing it again on every reconcile would be in vain. Times of
// transitions that nobody but us asked for are left out from then on, without a word.
func (w *statusWriter) noteStored(stored, written *object.Object, filled bool) {
	key := object.RefOf(written)
	lost := plan.Difference(object.StatusOf(stored), object.StatusOf(written))
	w.states.mu.Lock()
	defer w.states.mu.Unlock()
	if filled && transition.Lost(stored, written) {
		w.withoutTransitionTimes[key.Kind], lost = true, ""
	}
	if lost == "" {
		if state := w.states.all[key]; state != nil {
			state.unstored = nil
		}
		return
	}
	state := w.states.locked(key)
	told := state.unstored != nil && state.unstored.uid == stored.GetUID()
	state.unstored = &unstoredStatus{stored.GetUID(), object.StatusOf(written), object.StatusOf(stored)}
	if !told && lost != "status.observedGeneration" {
		w.events.Warning(stored, "StatusNotStored", "%s", w.notStored(stored, lost))
	}
}

// notStored says which field of the status of a parent is lost.
func (w *statusWriter) notStored(parent *object.Object, field string) string {
	kind := w.b.Rule(parent.GroupVersionKind()).GroupResource()
	if w.b.Revisions != nil && field == "status.conditions" {
		return fmt.Sprintf("the API server does not store status.conditions, where the condition Updated tells how far a rollout is: give the schema of %s the field", kind)
	}
	return fmt.Sprintf("the API server does not store %s as the hook returned it: does the schema of %s have the field?", field, kind)
}

// known reports whether writing the status of changed was tried before and led to what parent has now.
func (w *statusWriter) known(parent, changed *object.Object) bool {
	w.states.mu.Lock()
	defer w.states.mu.Unlock()
	state := w.states.all[object.RefOf(parent)]
	if state == nil || state.unstored == nil {
		return false
	}
	known := state.unstored
	return known.uid == parent.GetUID() &&
		plan.Difference(known.tried, object.StatusOf(changed)) == "" && plan.Difference(known.stored, object.StatusOf(parent)) == ""
}

// noteStatusLost notes that there is no status subresource any more for parents of this kind, if that is why err says that
// parent is not found, and tells it once. Nothing is written to it until the definition changes. A parent is also not found
// when it is gone, or while its kind is not served: discovery tells which.
func (w *statusWriter) noteStatusLost(parent *object.Object, err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	kind := parent.GroupVersionKind()
	now, err := w.b.Discover.ByName(kind.GroupVersion().String(), w.b.Rule(kind).Resource.Resource)
	if err != nil || now.HasStatus {
		return false
	}
	w.states.mu.Lock()
	w.withoutStatus[kind] = true
	w.states.mu.Unlock()
	w.events.Warning(parent, "StatusNotStored", "%v: no status is written until it is; children are looked after", &spec.NoStatusError{Resource: now})
	return true
}

// hasNoTransitionTimes reports whether the schema of parent's kind is known to lack lastTransitionTime.
func (w *statusWriter) hasNoTransitionTimes(parent *object.Object) bool {
	w.states.mu.Lock()
	defer w.states.mu.Unlock()
	return w.withoutTransitionTimes[parent.GroupVersionKind()]
}

// delayStatus gives how long a status has to wait, since the very same was written too often before, and somebody
// changed it each time.
func (w *statusWriter) delayStatus(parent, changed *object.Object, answer *hook.Response) time.Duration {
	k := w.states.of(object.RefOf(parent))
	said := map[string]any{"status": answer.Status, "generation": parent.GetGeneration()}
	if f := k.statusContention; f == nil || plan.Difference(k.status, said) != "" || f.Forgotten(time.Now()) {
		k.status, k.statusContention = said, &throttle.Contention{}
	}
	wait, news := k.statusContention.Delay(time.Now())
	if news {
		field := plan.Difference(object.StatusOf(parent), object.StatusOf(changed))
		w.events.conflict(parent, field, fmt.Sprintf("the status was written %d times, and somebody changes it each time: does another controller select the same objects? %s", k.statusContention.Writes(), nextWrites))
	}
	return wait
}

// decorate gives a parent the labels and annotations of the answer and, where its resource has no status subresource,
// the status. It writes only a difference, and gives the parent as it then is.
func (w *statusWriter) decorate(ctx context.Context, parent *object.Object, answer *hook.Response, write plan.Writer) (*object.Object, error) {
	if w.b.Shape != hook.Decorator {
		return parent, nil
	}
	changed := object.Copy(parent)
	changed.SetLabels(change(parent.GetLabels(), answer.Labels))
	changed.SetAnnotations(change(parent.GetAnnotations(), answer.Annotations))
	inStatus := answer.Status != nil && !w.hasStatus(parent)
	if inStatus {
		changed = w.withStatus(changed, answer)
	}
	if inStatus && w.known(parent, changed) {
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
		w.noteStored(stored, changed, answer.FillTimes)
	}
	return stored, err
}

// retry forgets which statuses were not stored, or not written, since the definition of the parents' kind changed,
// and has their parents reconciled.
func (w *statusWriter) retry() {
	w.states.mu.Lock()
	defer w.states.mu.Unlock()
	for key, state := range w.states.all {
		if state.unstored != nil {
			w.queue.EnqueueAfter(key, queue.Resync, UntilServed)
			state.unstored = nil
		}
	}
	for parent := range w.b.Own() {
		if w.withoutStatus[parent.GroupVersionKind()] {
			w.queue.EnqueueAfter(object.RefOf(parent), queue.Resync, UntilServed)
		}
	}
	clear(w.withoutTransitionTimes)
	clear(w.withoutStatus)
}

// untilServed is how long an API server may take to serve what a definition says by now.
const UntilServed = 5 * time.Second

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

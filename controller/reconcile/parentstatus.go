package reconcile

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/spec"
)

// writeStatus writes the status, through the subresource, if it differs from the parent's; it gives the parent as it then
// is, and how long the status has to wait when it is fought over.
func (l *Reconciler) writeStatus(ctx context.Context, parent *object.Object, answer *hook.Response, write plan.Writer) (*object.Object, time.Duration, error) {
	if answer.Status == nil {
		answer = l.keepStatus(parent, answer)
	}
	if answer.Status == nil || !l.hasStatus(parent) {
		return parent, 0, nil
	}
	changed := l.withStatus(parent, answer)
	if plan.Difference(object.StatusOf(parent), object.StatusOf(changed)) == "" || l.known(parent, changed) {
		return parent, 0, nil
	}
	if wait := l.delayStatus(parent, changed, answer); wait > 0 {
		return parent, wait, nil
	}
	stored, err := write.Do(ctx, plan.Op{Verb: plan.UpdateStatus, Object: changed, Why: "the hook's answer"})
	if l.noteStatusLost(parent, err) {
		return parent, 0, nil
	}
	if kube.Outdated(err) {
		return nil, 0, kube.Requeue(err)
	}
	if err != nil {
		return nil, 0, err
	}
	l.parentState(object.RefOf(parent)).statusContention.Count(time.Now())
	l.noteStored(stored, changed, answer.FillTimes || l.Revisions != nil)
	return stored, 0, nil
}

// asItIs is an answer without a status with the one that parent has, if that has an observedGeneration: it is ours, and an
// old one would say that the parent waits for its controller.
func (l *Reconciler) keepStatus(parent *object.Object, answer *hook.Response) *hook.Response {
	status, _ := parent.Object["status"].(map[string]any)
	if l.Shape != hook.Composite || status["observedGeneration"] == nil {
		return answer
	}
	same := *answer
	same.Status, same.FillTimes = status, false
	return &same
}

// hasStatus reports whether parents of this kind have the status subresource.
func (l *Reconciler) hasStatus(parent *object.Object) bool {
	kind := parent.GroupVersionKind()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Rule(kind).HasStatus && !l.withoutStatus[kind]
}

// withStatus is a copy of parent with the status of the answer.
func (l *Reconciler) withStatus(parent *object.Object, answer *hook.Response) *object.Object {
	changed := object.Copy(parent)
	status := plan.WithoutNulls(answer.Status)
	if before, _ := parent.Object["status"].(map[string]any); answer.FillTimes && !l.hasNoTransitionTimes(parent) {
		fillTransitionTimes(status, before, time.Now())
	}
	if l.Shape == hook.Composite {
		status["observedGeneration"] = parent.GetGeneration()
	}
	changed.Object["status"] = status
	return changed
}

// noteStored remembers a status that the API server did not store as it was written, because the schema of the
// parent's kind lacks a field, and says so once. Writing it again on every reconcile would be in vain. Times of
// transitions that nobody but us asked for are left out from then on, without a word.
func (l *Reconciler) noteStored(stored, written *object.Object, filled bool) {
	key := object.RefOf(written)
	lost := plan.Difference(object.StatusOf(stored), object.StatusOf(written))
	l.mu.Lock()
	defer l.mu.Unlock()
	if filled && losesTransitionTimes(stored, written) {
		l.withoutTransitionTimes[key.Kind], lost = true, ""
	}
	if lost == "" {
		delete(l.unstored, key)
		return
	}
	before, told := l.unstored[key]
	told = told && before.uid == stored.GetUID()
	l.unstored[key] = unstoredStatus{stored.GetUID(), object.StatusOf(written), object.StatusOf(stored)}
	if !told && lost != "status.observedGeneration" {
		l.events.Warning(stored, "StatusNotStored", "%s", l.notStored(stored, lost))
	}
}

// notStored says which field of the status of a parent is lost.
func (l *Reconciler) notStored(parent *object.Object, field string) string {
	kind := l.Rule(parent.GroupVersionKind()).GroupResource()
	if l.Revisions != nil && field == "status.conditions" {
		return fmt.Sprintf("the API server does not store status.conditions, where the condition Updated tells how far a rollout is: give the schema of %s the field", kind)
	}
	return fmt.Sprintf("the API server does not store %s as the hook returned it: does the schema of %s have the field?", field, kind)
}

// An unstored status is one that the API server did not store as it was written.
type unstoredStatus struct {
	uid           types.UID // of the parent
	tried, stored map[string]any
}

// unstorable reports whether writing the status of changed was tried before and led to what parent has now.
func (l *Reconciler) known(parent, changed *object.Object) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, found := l.unstored[object.RefOf(parent)]
	return found && known.uid == parent.GetUID() &&
		plan.Difference(known.tried, object.StatusOf(changed)) == "" && plan.Difference(known.stored, object.StatusOf(parent)) == ""
}

// untilServed is how long an API server may take to serve what a definition says by now.
const UntilServed = 5 * time.Second

// retryStatus forgets which statuses were not stored, or not written, since the definition of the parents' kind changed,
// and has their parents reconciled.
func (l *Reconciler) RetryStatus() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.unstored {
		l.Queue.EnqueueAfter(key, queue.Resync, UntilServed)
	}
	for parent := range l.own() {
		if l.withoutStatus[parent.GroupVersionKind()] {
			l.Queue.EnqueueAfter(object.RefOf(parent), queue.Resync, UntilServed)
		}
	}
	clear(l.unstored)
	clear(l.withoutTransitionTimes)
	clear(l.withoutStatus)
}

// losesStatus notes that there is no status subresource any more for parents of this kind, if that is why err says that
// parent is not found, and tells it once. Nothing is written to it until the definition changes. A parent is also not found
// when it is gone, or while its kind is not served: discovery tells which.
func (l *Reconciler) noteStatusLost(parent *object.Object, err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	kind := parent.GroupVersionKind()
	now, err := l.Discover.ByName(kind.GroupVersion().String(), l.Rule(kind).Resource.Resource)
	if err != nil || now.HasStatus {
		return false
	}
	l.mu.Lock()
	l.withoutStatus[kind] = true
	l.mu.Unlock()
	l.events.Warning(parent, "StatusNotStored", "%v: no status is written until it is; children are looked after", &spec.NoStatusError{Resource: now})
	return true
}

// isTimeless reports whether the schema of parent's kind is known to lack lastTransitionTime.
func (l *Reconciler) hasNoTransitionTimes(parent *object.Object) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.withoutTransitionTimes[parent.GroupVersionKind()]
}

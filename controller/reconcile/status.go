package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
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

// A statusWriter writes the status of one parent in one reconcile, and the labels and annotations of a parent that a
// DecoratorController decorates.
type statusWriter struct {
	binding *binding.Binding
	events  *parentEvents
	states  *states
	state   *parentState
	kinds   *statusKinds
}

// statusKinds are what the definitions of the parents' kinds lack. The reconciles of all parents read it and add to it, and
// Reconciler.RetryStatus clears it.
type statusKinds struct {
	mu                     sync.Mutex           // guards the fields below; states.mu may be locked before it
	withoutTransitionTimes map[object.Kind]bool // the kinds whose schema has no lastTransitionTime
	withoutStatus          map[object.Kind]bool // the kinds that have lost their status subresource
}

// UntilServed is how long an API server may take until it serves a definition that was changed.
const UntilServed = 5 * time.Second

// writeStatus writes the status through the subresource, if it differs from the parent's. It returns the parent as it is stored
// afterwards, and how long the status has to wait because of a field conflict; zero if it does not wait.
func (w *statusWriter) writeStatus(ctx context.Context, parent *object.Object, response *hook.Response, write plan.Writer) (*object.Object, time.Duration, error) {
	if response.Status == nil {
		response = w.withCurrentStatus(parent, response)
	}
	if response.Status == nil || !w.hasStatus(parent) {
		return parent, 0, nil
	}
	changed := w.withStatus(parent, response)
	if plan.Difference(object.StatusOf(parent), object.StatusOf(changed)) == "" {
		w.forgetUnstored()
		return parent, 0, nil
	}
	if w.isUnstored(parent, changed) {
		return parent, 0, nil
	}
	if wait := w.delayStatus(parent, changed, response); wait > 0 {
		return parent, wait, nil
	}
	stored, err := write.Do(ctx, plan.Op{Verb: plan.UpdateStatus, Object: changed, Why: "the hook's answer"})
	if w.noteStatusRemoved(parent, err) {
		return parent, 0, nil
	}
	if kube.Outdated(err) {
		return nil, 0, kube.Requeue(err)
	}
	if field, refused := kube.Refused(err); refused {
		err = response.Locate(response.StatusField(hook.Field{Path: field}), err)
	}
	if err != nil {
		return nil, 0, err
	}
	w.state.statusContention.Count(time.Now())
	w.noteStored(stored, changed, response)
	return stored, 0, nil
}

// withCurrentStatus returns a response without a status with the status of the parent, if a CompositeController has written it:
// then it has an observedGeneration. That has to be updated, since tools wait until it equals the generation.
func (w *statusWriter) withCurrentStatus(parent *object.Object, response *hook.Response) *hook.Response {
	status := statusOf(parent)
	if w.binding.Shape != hook.Composite || status["observedGeneration"] == nil {
		return response
	}
	changed := *response
	changed.Status, changed.FillTimes = status, false
	return &changed
}

// statusOf returns the status of an object; nil if it has none, or one that is not an object.
func statusOf(o *object.Object) map[string]any {
	status, _ := object.StatusOf(o)["status"].(map[string]any)
	return status
}

// hasStatus reports whether the kind of parent has the status subresource.
func (w *statusWriter) hasStatus(parent *object.Object) bool {
	kind := parent.GroupVersionKind()
	w.kinds.mu.Lock()
	defer w.kinds.mu.Unlock()
	return w.binding.Rule(kind).HasStatus && !w.kinds.withoutStatus[kind]
}

// withStatus returns a copy of parent with the status of the response.
func (w *statusWriter) withStatus(parent *object.Object, response *hook.Response) *object.Object {
	changed := object.Copy(parent)
	status := plan.WithoutNulls(response.Status)
	if before := statusOf(parent); response.FillTimes && !w.hasNoTransitionTimes(parent) {
		transition.Fill(status, before, time.Now())
	}
	if w.binding.Shape == hook.Composite {
		status["observedGeneration"] = parent.GetGeneration()
	}
	changed.Map()["status"] = status
	return changed
}

// hasNoTransitionTimes reports whether the schema of the kind of parent is known to have no lastTransitionTime.
func (w *statusWriter) hasNoTransitionTimes(parent *object.Object) bool {
	w.kinds.mu.Lock()
	defer w.kinds.mu.Unlock()
	return w.kinds.withoutTransitionTimes[parent.GroupVersionKind()]
}

// forgetUnstored drops the status that was not stored: what the hook returns now is.
func (w *statusWriter) forgetUnstored() {
	w.states.mu.Lock()
	defer w.states.mu.Unlock()
	w.state.unstored = nil
}

// isUnstored reports whether the status of changed was written before, and the API server stored what parent has now.
func (w *statusWriter) isUnstored(parent, changed *object.Object) bool {
	w.states.mu.Lock()
	defer w.states.mu.Unlock()
	unstored := w.state.unstored
	return unstored != nil && unstored.uid == parent.GetUID() &&
		plan.Difference(unstored.written, object.StatusOf(changed)) == "" && plan.Difference(unstored.stored, object.StatusOf(parent)) == ""
}

// delayStatus returns how long a status has to wait because the same status was written too often before, and something else
// changed it each time; zero if it does not wait. It also begins a new count if the status is another one or the last write was
// long ago, and reports a conflict when a delay begins.
func (w *statusWriter) delayStatus(parent, changed *object.Object, response *hook.Response) time.Duration {
	state := w.state
	wanted := map[string]any{"status": response.Status, "generation": parent.GetGeneration()}
	if c := state.statusContention; c == nil || plan.Difference(state.status, wanted) != "" || c.Forgotten(time.Now()) {
		state.status, state.statusContention = wanted, &throttle.Contention{}
	}
	wait, report := state.statusContention.Delay(time.Now())
	if report {
		field := plan.Difference(object.StatusOf(parent), object.StatusOf(changed))
		w.events.reportConflict(parent, field, fmt.Sprintf("the status was written %d times, and somebody changes it each time: does another controller select the same objects? %s", state.statusContention.Writes(), throttle.ContentionText))
	}
	return wait
}

// noteStatusRemoved reports whether err, from a write of the status, says that the kind of parent has no status subresource any
// more. If so, it reports that once, and no status is written until the definition changes. A parent is also not
// found when it is gone, or while its kind is not served. Discovery tells these cases apart.
func (w *statusWriter) noteStatusRemoved(parent *object.Object, err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	kind := parent.GroupVersionKind()
	resource, err := w.binding.Discover.ByName(kind.GroupVersion().String(), w.binding.Rule(kind).Resource.Resource)
	if err != nil || resource.HasStatus {
		return false
	}
	w.kinds.mu.Lock()
	w.kinds.withoutStatus[kind] = true
	w.kinds.mu.Unlock()
	w.events.Warning(parent, "StatusNotStored", "%v: the status is not written until it is; children are reconciled as usual", &spec.NoStatusError{Resource: resource})
	return true
}

// noteStored remembers a status that the API server did not store as it was written, because the schema of the parent's kind has
// not all of its fields, so that it is not written again in each reconcile. It reports that once. Transition times that
// only we added are left out from then on, and that is not reported.
func (w *statusWriter) noteStored(stored, written *object.Object, response *hook.Response) {
	lost := plan.StatusDifferences(stored, written)
	if addedTimes := response.FillTimes || w.binding.Revisions != nil; addedTimes && transition.Lost(stored, written) {
		w.kinds.mu.Lock()
		w.kinds.withoutTransitionTimes[written.GroupVersionKind()] = true
		w.kinds.mu.Unlock()
		lost = nil
	}
	w.states.mu.Lock()
	defer w.states.mu.Unlock()
	before := w.state.unstored
	if len(lost) == 0 {
		w.state.unstored = nil
		return
	}
	w.state.unstored = &unstoredStatus{uid: stored.GetUID(), written: object.StatusOf(written), stored: object.StatusOf(stored)}
	if before != nil && before.uid == stored.GetUID() {
		w.state.unstored.reported, w.state.unstored.text = before.reported, before.text
	}
	// The hook did not return observedGeneration. Metacontroller adds it too, so that many schemas lack it.
	lost = slices.DeleteFunc(lost, func(field string) bool { return field == "status.observedGeneration" })
	if slices.ContainsFunc(lost, func(field string) bool { return !slices.Contains(w.state.unstored.reported, field) }) {
		text, at := w.notStoredMessage(stored, lost), response.StatusField(hook.Field{Path: lost[0], Key: true})
		w.state.unstored.reported, w.state.unstored.text = lost, response.Locate(at, errors.New(text)).Error()
		w.events.Warning(stored, "StatusNotStored", "%v", response.Problem(at, text, ""))
	}
}

// maxLostFields is how many fields a message names.
const maxLostFields = 10

// notStoredMessage says that fields of the status of a parent are not stored.
func (w *statusWriter) notStoredMessage(parent *object.Object, fields []string) string {
	kind, progress := w.binding.Rule(parent.GroupVersionKind()).GroupResource(), ""
	if w.binding.Revisions != nil && slices.Contains(fields, "status.conditions") {
		progress = fmt.Sprintf("the API server does not store status.conditions, where the condition Updated shows the progress of a rollout: add the field to the schema of %s", kind)
		if fields = slices.DeleteFunc(slices.Clone(fields), func(field string) bool { return field == "status.conditions" }); len(fields) == 0 {
			return progress
		}
		progress = "; " + progress
	}
	if len(fields) == 1 {
		return fmt.Sprintf("the API server does not store %s as the hook returned it: does the schema of %s have the field?%s", fields[0], kind, progress)
	}
	more := ""
	if n := len(fields) - maxLostFields; n > 0 {
		fields, more = fields[:maxLostFields], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("the API server does not store %s%s as the hook returned them: does the schema of %s have these fields?%s", strings.Join(fields, ", "), more, kind, progress)
}

// RetryStatus queues the parents whose status was not stored as it was written, or not written, and forgets that. It is called
// when the definition of the parents' kind has changed.
func (r *Reconciler) RetryStatus() {
	r.epoch.Begin()
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	r.statusKinds.mu.Lock()
	defer r.statusKinds.mu.Unlock()
	for key, state := range r.states.all {
		if state.unstored != nil {
			r.queue.EnqueueAfter(key, queue.Retry, UntilServed)
			state.unstored = nil
		}
	}
	for parent := range r.binding.ReconciledParents() {
		if r.statusKinds.withoutStatus[parent.GroupVersionKind()] {
			r.queue.EnqueueAfter(object.RefOf(parent), queue.Retry, UntilServed)
		}
	}
	clear(r.statusKinds.withoutTransitionTimes)
	clear(r.statusKinds.withoutStatus)
}

// RetryChildren queues the parents with children of which the API server did not store a field, and forgets that. It is called when
// a definition of an API group has changed. If the group has a declared kind of children, it does this when the API server certainly
// serves the new definition.
func (r *Reconciler) RetryChildren(group string) {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(r.binding.Kinds)), func(kind object.Kind) bool { return kind.Group == group }) {
		return
	}
	time.AfterFunc(UntilServed, func() {
		r.epoch.Begin()
		r.states.mu.Lock()
		defer r.states.mu.Unlock()
		for key, state := range r.states.all {
			if state.children.Redefine() {
				r.queue.Enqueue(key, queue.Retry)
			}
		}
	})
}

// decorate writes the labels and annotations that the hook of a DecoratorController returned, and the status if the kind of parent
// has no status subresource. It writes only if something differs, and returns the parent as it is stored afterwards.
func (w *statusWriter) decorate(ctx context.Context, parent *object.Object, response *hook.Response, write plan.Writer) (*object.Object, error) {
	if w.binding.Shape != hook.Decorator {
		return parent, nil
	}
	changed := object.Copy(parent)
	changed.SetLabels(plan.Changed(parent.GetLabels(), response.Labels))
	changed.SetAnnotations(plan.Changed(parent.GetAnnotations(), response.Annotations))
	withStatus := response.Status != nil && !w.hasStatus(parent)
	if withStatus {
		changed = w.withStatus(changed, response)
	}
	if withStatus && w.isUnstored(parent, changed) {
		changed.Map()["status"] = object.StatusOf(parent)["status"]
	}
	differs := plan.ObjectDifference(parent, changed)
	if differs == "" {
		return parent, nil
	}
	stored, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: changed, Why: "the hook's answer: " + differs + " differs"})
	if kube.Outdated(err) {
		return nil, kube.Requeue(err)
	}
	if err == nil && withStatus {
		w.noteStored(stored, changed, response)
	}
	return stored, err
}

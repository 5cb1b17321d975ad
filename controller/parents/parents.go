// Package parents writes the status of a parent, and the labels and annotations of one that a DecoratorController decorates: [Writer].
// What it remembers between the reconciles of the parent is a [Memory], and what it remembers of the kinds of parents is [Kinds].
package parents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/binding"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/spec"
	"metascript/controller/throttle"
	"metascript/controller/transition"
)

// A Writer writes the status of one parent in one reconcile, and the labels and annotations of a parent that a DecoratorController
// decorates.
type Writer struct {
	Binding *binding.Binding
	Events  Events
	Memory  *Memory // of the parent
	Kinds   *Kinds

	// Left says that the status was left to the next reconcile, which must follow; see WriteStatus.
	Left bool
}

// Events records events on parents.
type Events interface {
	Warning(parent *object.Object, reason, format string, args ...any)
	// Conflict reports what both this controller and something else write again and again.
	Conflict(parent *object.Object, what, detail string)
}

// WriteStatus writes the status through the subresource, if it differs from the parent's. It returns the parent as it is stored
// afterwards, and how long the status has to wait because of a field conflict; zero if it does not wait.
//
// If mayLeave is not nil, the next reconcile follows as soon as the caches show the writes of this one. Most often the hook returns
// another status then, so that this one is left to it, if mayLeave permits it for the parent with the status; Left says so. The status of every
// second reconcile is written in any case, also if the hook returns none; if it has to wait, or the write fails, it is left again.
func (w *Writer) WriteStatus(ctx context.Context, parent *object.Object, response *hook.Response, mayLeave func(*object.Object) bool, write plan.Writer) (*object.Object, time.Duration, error) {
	left := w.Memory.left
	w.Memory.left = nil
	if response.Status == nil {
		response = w.withKnownStatus(parent, left, response)
	}
	if response.Status == nil || !w.hasStatus(parent) {
		return parent, 0, nil
	}
	changed := w.withStatus(parent, response)
	if plan.SameStatus(parent, changed) {
		w.Memory.ForgetUnstored()
		return parent, 0, nil
	}
	if w.Memory.isUnstored(parent, changed) {
		return parent, 0, nil
	}
	wait := w.delay(parent, changed, response)
	if left != nil {
		w.Memory.left = changed // until it is written
	}
	if wait > 0 {
		return parent, wait, nil
	}
	if mayLeave != nil && left == nil && mayLeave(changed) {
		w.Memory.left, w.Left = changed, true
		return parent, 0, nil
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
	w.Memory.left = nil
	w.Memory.status.Count(time.Now())
	w.noteStored(stored, changed, response)
	return stored, 0, nil
}

// WriteLeft writes the status that was left to this reconcile, which has failed before its hook has answered. It does nothing if there is
// none, or if it is that of another generation of the parent.
func (w *Writer) WriteLeft(ctx context.Context, parent *object.Object, write plan.Writer) error {
	if left := w.Memory.left; left == nil || left.GetGeneration() != parent.GetGeneration() {
		return nil
	}
	_, _, err := w.WriteStatus(ctx, parent, &hook.Response{Shape: w.Binding.Shape}, nil, write)
	return err
}

// withKnownStatus returns a response without a status with the status that was left to this reconcile, in the parent left; or else with the
// status of the parent, if a CompositeController has written it: then it has an observedGeneration. That has to be updated, since tools
// wait until it equals the generation.
func (w *Writer) withKnownStatus(parent, left *object.Object, response *hook.Response) *hook.Response {
	status := StatusOf(parent)
	switch {
	case left != nil && left.GetUID() == parent.GetUID():
		status = StatusOf(left)
	case w.Binding.Shape != hook.Composite || status["observedGeneration"] == nil:
		return response
	}
	changed := *response
	changed.Status, changed.FillTimes = status, false
	return &changed
}

// StatusOf returns the status of an object; nil if it has none, or one that is not an object.
func StatusOf(o *object.Object) map[string]any {
	status, _ := object.StatusOf(o)["status"].(map[string]any)
	return status
}

// hasStatus reports whether the kind of parent has the status subresource.
func (w *Writer) hasStatus(parent *object.Object) bool {
	kind := parent.GroupVersionKind()
	return w.Binding.Rule(kind).HasStatus && !w.Kinds.LacksStatus(kind)
}

// withStatus returns a copy of parent with the status of the response.
func (w *Writer) withStatus(parent *object.Object, response *hook.Response) *object.Object {
	changed := object.Copy(parent)
	status := plan.WithoutNulls(response.Status)
	if before := StatusOf(parent); response.FillTimes && !w.Kinds.LacksTransitionTimes(parent.GroupVersionKind()) {
		transition.Fill(status, before, time.Now())
	}
	if w.Binding.Shape == hook.Composite {
		status["observedGeneration"] = parent.GetGeneration()
	}
	changed.Map()["status"] = status
	return changed
}

// delay returns how long the status of changed has to wait because something else changes it; zero if it does not wait. It reports a
// conflict when a delay begins.
func (w *Writer) delay(parent, changed *object.Object, response *hook.Response) time.Duration {
	wait, report := w.Memory.status.delay(map[string]any{"status": response.Status, "generation": parent.GetGeneration()})
	if report {
		field := plan.Difference(object.StatusOf(parent), object.StatusOf(changed))
		w.Events.Conflict(parent, field, fmt.Sprintf("the status was written %d times, and somebody changes it each time: does another controller select the same objects? %s", w.Memory.status.Writes(), throttle.ContentionText))
	}
	return wait
}

// noteStatusRemoved reports whether err, from a write of the status, says that the kind of parent has no status subresource any
// more. If so, it reports that once, and no status is written until the definition changes. A parent is also not
// found when it is gone, or while its kind is not served. Discovery tells these cases apart.
func (w *Writer) noteStatusRemoved(parent *object.Object, err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	kind := parent.GroupVersionKind()
	resource, err := w.Binding.Discover.ByName(kind.GroupVersion().String(), w.Binding.Rule(kind).Resource.Resource)
	if err != nil || resource.HasStatus {
		return false
	}
	w.Kinds.withoutStatus.add(kind)
	w.Events.Warning(parent, "StatusNotStored", "%v: the status is not written until it is; children are reconciled as usual", &spec.NoStatusError{Resource: resource})
	return true
}

// noteStored remembers a status that the API server did not store as it was written, because the schema of the parent's kind has
// not all of its fields, so that it is not written again in each reconcile. It reports that once. Transition times that
// only we added are left out from then on, and that is not reported.
func (w *Writer) noteStored(stored, written *object.Object, response *hook.Response) {
	lost := plan.StatusDifferences(stored, written)
	if addedTimes := response.FillTimes || w.Binding.Revisions != nil; len(lost) > 0 && addedTimes && transition.Lost(stored, written) {
		w.Kinds.withoutTransitionTimes.add(written.GroupVersionKind())
		lost = nil
	}
	w.Memory.mu.Lock()
	defer w.Memory.mu.Unlock()
	before := w.Memory.unstored
	if plan.SameStatus(stored, written) {
		w.Memory.unstored = nil
		return
	}
	w.Memory.unstored = &unstored{uid: stored.GetUID(), written: object.StatusOf(written), stored: object.StatusOf(stored)}
	if before != nil && before.uid == stored.GetUID() {
		w.Memory.unstored.reported, w.Memory.unstored.text = before.reported, before.text
	}
	// The hook did not return observedGeneration. Metacontroller adds it too, so that many schemas lack it.
	lost = slices.DeleteFunc(lost, func(field string) bool { return field == "status.observedGeneration" })
	if hasOther(lost, w.Memory.unstored.reported) {
		text, at := w.notStoredMessage(stored, lost), response.StatusField(hook.Field{Path: lost[0], Key: true})
		w.Memory.unstored.reported, w.Memory.unstored.text = lost, response.Locate(at, errors.New(text)).Error()
		w.Events.Warning(stored, "StatusNotStored", "%v", response.Problem(at, text, ""))
	}
}

// hasOther reports whether a field is not among those that were reported.
func hasOther(fields, reported []string) bool {
	known := make(map[string]bool, len(reported))
	for _, field := range reported {
		known[field] = true
	}
	return slices.ContainsFunc(fields, func(field string) bool { return !known[field] })
}

// maxLostFields is how many fields a message names.
const maxLostFields = 10

// notStoredMessage says that fields of the status of a parent are not stored.
func (w *Writer) notStoredMessage(parent *object.Object, fields []string) string {
	kind, progress := w.Binding.Rule(parent.GroupVersionKind()).GroupResource(), ""
	if w.Binding.Revisions != nil && slices.Contains(fields, "status.conditions") {
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

// Decorate writes the labels and annotations that the hook of a DecoratorController returned, and the status if the kind of parent
// has no status subresource. It writes only if something differs, and returns the parent as it is stored afterwards, and how long the
// write has to wait because of a field conflict; zero if it does not wait.
func (w *Writer) Decorate(ctx context.Context, parent *object.Object, response *hook.Response, write plan.Writer) (*object.Object, time.Duration, error) {
	if w.Binding.Shape != hook.Decorator {
		return parent, 0, nil
	}
	changed := object.Copy(parent)
	changed.SetLabels(plan.Changed(parent.GetLabels(), response.Labels))
	changed.SetAnnotations(plan.Changed(parent.GetAnnotations(), response.Annotations))
	withStatus := response.Status != nil && !w.hasStatus(parent)
	if withStatus {
		changed = w.withStatus(changed, response)
	}
	if withStatus && w.Memory.isUnstored(parent, changed) {
		changed.Map()["status"] = object.StatusOf(parent)["status"]
	}
	differs := plan.ObjectDifference(parent, changed)
	if differs == "" {
		return parent, 0, nil
	}
	if wait := w.delayDecoration(parent, response, differs); wait > 0 {
		return parent, wait, nil
	}
	stored, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: changed, Why: "the hook's answer: " + differs + " differs"})
	if kube.Outdated(err) {
		return nil, 0, kube.Requeue(err)
	}
	if err != nil {
		return stored, 0, err
	}
	w.Memory.decoration.Count(time.Now())
	if withStatus {
		w.noteStored(stored, changed, response)
	}
	return stored, 0, nil
}

// delayDecoration is delay for what the hook of a DecoratorController returns for the parent itself.
func (w *Writer) delayDecoration(parent *object.Object, response *hook.Response, differs string) time.Duration {
	wait, report := w.Memory.decoration.delay(map[string]any{"labels": values(response.Labels), "annotations": values(response.Annotations), "status": response.Status})
	if report {
		w.Events.Conflict(parent, differs, fmt.Sprintf("it was written %d times, and somebody changes it each time: does another controller return it too? %s", w.Memory.decoration.Writes(), throttle.ContentionText))
	}
	return wait
}

// values returns labels or annotations as a hook returned them: nil removes a key.
func values(changes map[string]*string) map[string]any {
	all := make(map[string]any, len(changes))
	for key, value := range changes {
		if all[key] = nil; value != nil {
			all[key] = *value
		}
	}
	return all
}

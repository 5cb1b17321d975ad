package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
)

// known are the events on a controller that its status tells better, or that are of no interest.
var known = []string{"Starting", "Started", "Stopping", "Stopped", "CreateError", "ScriptReloaded", "ScriptRejected"}

// controllerEvent tells of an event on a controller.
func (t *teller) controllerEvent(o *object.Object, kind, reason, note string) {
	if !slices.Contains(known, reason) {
		t.say(t.paint.strong(object.Describe(o)), t.paint.event(kind, reason, note))
	}
}

// Loaded implements controller.Observer.
func (t *teller) Loaded(o *object.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what := ": runs"
	if t.loads[o.GetName()] > 0 {
		what = ": reloaded"
	}
	t.loads[o.GetName()]++
	delete(t.said, object.Describe(o))
	t.print(t.paint.strong(object.Describe(o)) + what)
}

// status tells what is news in the status of a controller: why it does not run as it is written, what is doubtful, and
// which hooks there are.
func (t *teller) status(o *object.Object) {
	var status v1alpha1.ControllerStatus
	m, _ := o.Object["status"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &status); err != nil {
		t.say(err.Error())
		return
	}
	name := t.paint.strong(object.Describe(o))
	if what, why := t.trouble(status.Conditions); what != "" {
		t.sayOnce(object.Describe(o), name+what, t.paint.failure(why))
	} else if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
		t.mended(o)
	}
	for _, c := range status.Conditions {
		subject, text := object.Describe(o)+" "+c.Type, ""
		if doubtful(c) {
			text = t.paint.warning(fmt.Sprintf("%s: %s", c.Type, c.Message))
		}
		t.sayOnce(subject, text)
	}
	if script := status.Script; script != nil {
		t.noteHooks(script.Hooks)
		t.sayOnce(object.Describe(o)+" hooks", fmt.Sprintf("%s: hooks %s", name, strings.Join(script.Hooks, ", ")))
	}
}

// noteHooks keeps in mind whether there are finalizers.
func (t *teller) noteHooks(hooks []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finalizes = t.finalizes || slices.Contains(hooks, hook.Finalize)
}

// farewell says what stays behind.
func (t *teller) farewell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	var below []string
	if t.finalizes && !t.dryRun {
		below = append(below, "objects with a finalizer of a controller that does not run cannot go; metascript gc takes it off")
	}
	t.print("stopped", below...)
}

// mended tells that there is no trouble any more, if that is news.
func (t *teller) mended(o *object.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, told := t.said[object.Describe(o)]; told {
		delete(t.said, object.Describe(o))
		t.print(t.paint.strong(object.Describe(o)) + ": runs as it is written again")
	}
}

// trouble says what keeps a controller from running as it is written, and why.
func (t *teller) trouble(conditions []metav1.Condition) (what, why string) {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	script := meta.FindStatusCondition(conditions, v1alpha1.ConditionScriptReady)
	switch {
	case ready == nil:
		return "", ""
	case ready.Reason == v1alpha1.ReasonPaused:
		return ": paused", ready.Message
	case ready.Reason == v1alpha1.ReasonStarting && !strings.Contains(ready.Message, ": "), ready.Status == metav1.ConditionTrue:
		return "", "" // it only takes its time
	case script != nil && script.Status == metav1.ConditionFalse:
		return ": the script does not load (" + script.Reason + ")", script.Message
	}
	return ": " + ready.Reason, ready.Message
}

// doubtful reports whether a condition beside Ready and ScriptReady says that something is not as it should be.
func doubtful(c metav1.Condition) bool {
	switch c.Type {
	case v1alpha1.ConditionSpecSound, v1alpha1.ConditionPermitted:
		return c.Status == metav1.ConditionFalse
	case v1alpha1.ConditionScriptsHeld, v1alpha1.ConditionScriptRunaway, v1alpha1.ConditionFallbackActive:
		return c.Status == metav1.ConditionTrue
	}
	return false
}

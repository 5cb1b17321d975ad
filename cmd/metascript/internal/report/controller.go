package report

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

// covered are the reasons of events on a controller that are not printed: its status has the same information and more, or an author
// does not need it.
var covered = []string{"Starting", "Started", "Stopping", "Stopped", "CreateError", "ScriptReloaded", "ScriptRejected"}

// Loaded implements observe.Observer. A problem that the controller still has is printed again, since the author has just tried to
// fix it.
func (r *Reporter) Loaded(o *object.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what := ": runs"
	if r.loads[o.GetName()] > 0 {
		what = ": reloaded"
	}
	r.loads[o.GetName()]++
	delete(r.printed, object.Describe(o))
	r.print(r.Style.Strong(object.Describe(o)) + what)
}

// Status prints what is new in the status of a controller: why the latest version of the controller does not run, warnings, and the
// names of its hooks.
func (r *Reporter) Status(o *object.Object) {
	var status v1alpha1.ControllerStatus
	m, _ := o.Object["status"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &status); err != nil {
		r.Print(err.Error())
		return
	}
	name := r.Style.Strong(object.Describe(o))
	if what, why := problem(status.Conditions); what != "" {
		r.PrintNew(object.Describe(o), name+what, r.Style.Failure(why))
	} else if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
		r.fixed(o)
	}
	for _, c := range status.Conditions {
		subject, text := object.Describe(o)+" "+c.Type, ""
		if isWarning(c) {
			text = r.Style.Warning(fmt.Sprintf("%s: %s", c.Type, c.Message))
		}
		r.PrintNew(subject, text)
	}
	if script := status.Script; script != nil {
		r.noteHooks(script.Hooks)
		r.PrintNew(object.Describe(o)+" hooks", fmt.Sprintf("%s: hooks %s", name, strings.Join(script.Hooks, ", ")))
	}
}

// noteHooks records whether there is a finalize hook, for Stopped.
func (r *Reporter) noteHooks(hooks []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finalizes = r.finalizes || slices.Contains(hooks, hook.Finalize)
}

// fixed prints that the latest version of a controller runs, if a problem was printed before. It prints nothing after a reload that
// fixed the problem, since Loaded has printed the reload.
func (r *Reporter) fixed(o *object.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, reported := r.printed[object.Describe(o)]; reported {
		delete(r.printed, object.Describe(o))
		r.print(r.Style.Strong(object.Describe(o)) + ": the latest version runs again")
	}
}

// problem returns what prevents the latest version of a controller from running, and why. It returns "" if there is no problem, also
// while the controller is starting.
func problem(conditions []metav1.Condition) (what, why string) {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	script := meta.FindStatusCondition(conditions, v1alpha1.ConditionScriptReady)
	switch {
	case ready == nil:
		return "", ""
	case ready.Reason == v1alpha1.ReasonPaused:
		return ": paused", ready.Message
	case ready.Reason == v1alpha1.ReasonStarting && !strings.Contains(ready.Message, ": "), ready.Status == metav1.ConditionTrue:
		return "", "" // it is starting: the message of an error has a colon
	case script != nil && script.Status == metav1.ConditionFalse:
		return ": the script does not load (" + script.Reason + ")", script.Message
	}
	return ": " + ready.Reason, ready.Message
}

// isWarning reports whether a condition is about a problem with which the controller runs nevertheless.
func isWarning(c metav1.Condition) bool {
	switch c.Type {
	case v1alpha1.ConditionSpecSound, v1alpha1.ConditionPermitted:
		return c.Status == metav1.ConditionFalse
	case v1alpha1.ConditionScriptsHeld, v1alpha1.ConditionScriptRunaway, v1alpha1.ConditionFallbackActive:
		return c.Status == metav1.ConditionTrue
	}
	return false
}

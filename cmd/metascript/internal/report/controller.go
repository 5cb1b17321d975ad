package report

import (
	"fmt"
	"iter"
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
var covered = []string{"Starting", "Started", "Stopping", "Stopped", "CreateError", "ScriptReloaded", "ScriptRejected", "ParentsFailing", "ParentsSynced", "AnswersNotStored"}

// Loaded implements observe.Observer. A problem that the controller still has is printed again, since the author has just tried to
// fix it.
func (r *Reporter) Loaded(o *object.Object, _ iter.Seq[*object.Object]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what := ": runs"
	if r.loads[o.GetName()] > 0 {
		what = ": reloaded"
	}
	r.loads[o.GetName()]++
	delete(r.printed, object.Describe(o))
	r.print(r.Style.Strong(object.Describe(o)) + what)
	if line := r.hooks[object.Describe(o)]; line != "" {
		r.printNew(object.Describe(o)+" hooks", line)
	}
}

// Ready returns the condition Ready in the status of a controller; nil if there is none yet.
func Ready(o *object.Object) *metav1.Condition {
	status, err := statusOf(o)
	if err != nil {
		return nil // Status prints the error
	}
	return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
}

// Problem returns what prevents the latest version of a controller from running, as Status prints it; "" if nothing does, or if it is
// paused.
func Problem(o *object.Object) string { return problemWith(o, func(why string) string { return why }) }

// Problem is the function Problem, with the place of the script in its file.
func (r *Reporter) Problem(o *object.Object) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return problemWith(o, func(why string) string { return r.controllers.located(o.GetName(), why) })
}

// problemWith is Problem with a function that changes the text that says why.
func problemWith(o *object.Object, located func(why string) string) string {
	status, err := statusOf(o)
	if err != nil {
		return err.Error()
	}
	if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason == v1alpha1.ReasonPaused {
		return ""
	}
	what, why := problem(status.Conditions)
	if what == "" {
		return ""
	}
	return object.Describe(o) + what + "\n" + located(why)
}

// statusOf returns the status of a controller.
func statusOf(o *object.Object) (status v1alpha1.ControllerStatus, err error) {
	m, _ := o.Map()["status"].(map[string]any)
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(m, &status)
	return status, err
}

// Status prints what is new in the status of a controller: why the latest version of the controller does not run, warnings, and the
// names of its hooks.
func (r *Reporter) Status(o *object.Object) {
	status, err := statusOf(o)
	if err != nil {
		r.Print(err.Error())
		return
	}
	name := r.Style.Strong(object.Describe(o))
	if what, why := problem(status.Conditions); what != "" {
		r.mu.Lock()
		why = r.controllers.located(o.GetName(), why)
		r.mu.Unlock()
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
		r.printHooks(o, script.Hooks)
	}
}

// printHooks prints the names of the hooks of a controller. If the controller does not run yet, Loaded prints them. It records whether
// there is a finalize hook, for Stopped.
func (r *Reporter) printHooks(o *object.Object, hooks []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finalizes = r.finalizes || slices.Contains(hooks, hook.Finalize)
	about := object.Describe(o)
	r.hooks[about] = fmt.Sprintf("%s: hooks %s", r.Style.Strong(about), strings.Join(hooks, ", "))
	if r.loads[o.GetName()] > 0 {
		r.printNew(about+" hooks", r.hooks[about])
	}
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
	guard := meta.FindStatusCondition(conditions, v1alpha1.ConditionGuardPassed)
	switch {
	case ready == nil:
		return "", ""
	case ready.Reason == v1alpha1.ReasonPaused:
		return ": paused", ready.Message
	case ready.Reason == v1alpha1.ReasonStarting && !strings.Contains(ready.Message, ": "), ready.Status == metav1.ConditionTrue:
		return "", "" // it is starting: the message of an error has a colon
	case guard != nil && guard.Reason == v1alpha1.ReasonGuardRunning:
		return "", "" // it is known in a moment
	case guard != nil && guard.Status == metav1.ConditionFalse:
		return ": the guard holds this version (" + guard.Reason + ")", guard.Message
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

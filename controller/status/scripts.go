package status

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/guard"
	"metascript/controller/hook"
	"metascript/controller/spec"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// scriptReady has the position of the error in its message, and what runs in place of the script. A controller without
// scripts is True: nothing has to be loaded, and a wait for all controllers must end.
func scriptReady(d *spec.Declaration, r *Result) metav1.Condition {
	switch {
	case r.ScriptErr != nil:
		return condition(metav1.ConditionFalse, scriptReason(r.ScriptErr), scriptMessage(d, r))
	case !d.HasScript() && r.SpecErr == nil: // a spec that cannot be read looks as if it had none
		return condition(metav1.ConditionTrue, v1alpha1.ReasonNoScript, "the controller has no script")
	case !d.HasScript(), len(r.Built.Names) == 0:
		return notChecked()
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonLoaded, "hooks: "+strings.Join(r.Built.Names, ", "))
}

// inConfigMap begins the line of a message that names the ConfigMaps of the script.
const inConfigMap = "in ConfigMap "

func scriptMessage(d *spec.Declaration, r *Result) string {
	message := engine.DetailOf(r.ScriptErr)
	if len(r.ConfigMaps) > 0 {
		message += "\n" + inConfigMap + strings.Join(r.ConfigMaps, ", ")
	}
	if r.Active != nil {
		message += "\n" + whatRuns(d, r.Active)
	}
	return message
}

// GivenUpReason returns why a version was given up, from the condition ScriptReady that an earlier server wrote: the message
// that scriptMessage made, without the lines that it added. It returns "" if no version was given up.
func GivenUpReason(conditions []metav1.Condition) string {
	before := meta.FindStatusCondition(conditions, v1alpha1.ConditionScriptReady)
	if before == nil || before.Reason != v1alpha1.ReasonRolledBack {
		return ""
	}
	_, reason, _ := strings.Cut(before.Message, throttle.NotTriedAgain+": ")
	lines := strings.Split(reason, "\n")
	if len(lines) > 1 {
		lines = lines[:len(lines)-1] // what keeps running
	}
	for len(lines) > 1 && strings.HasPrefix(lines[len(lines)-1], inConfigMap) {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}

func scriptReason(err error) string {
	var fault *engine.Error
	var source *scripts.Error
	switch {
	case throttle.IsGivenUp(err):
		return v1alpha1.ReasonRolledBack
	case guard.Holds(err):
		return guard.Reason(err)
	case errors.As(err, &source) && source.Reason == scripts.NotFound:
		return v1alpha1.ReasonSourceNotFound
	case errors.As(err, &source):
		return v1alpha1.ReasonSourceInvalid
	case !errors.As(err, &fault):
		return v1alpha1.ReasonFunctionNotFound
	case fault.Kind.Limit():
		return v1alpha1.ReasonLimitExceeded
	}
	return v1alpha1.ReasonCompileError
}

// whatRuns says what runs in place of what is written.
func whatRuns(d *spec.Declaration, active *build.Loaded) string {
	if active.Built.Missing != "" {
		return fmt.Sprintf("generation %d runs with webhooks in place of scripts", active.LatestGeneration())
	}
	if active.LatestGeneration() != d.Object.Generation || active.Built.Status.Digest == "" {
		return fmt.Sprintf("generation %d keeps running", active.LatestGeneration())
	}
	return fmt.Sprintf("the version loaded at %s, %s, keeps running", active.LoadedAt.UTC().Format(time.RFC3339), build.ShortDigest(active.Built.Status.Digest))
}

// PreviousScriptRuns reports whether an older version of the scripts runs with the spec that was last written, because the
// current version of the scripts cannot be used.
func (r *Result) PreviousScriptRuns(d *spec.Declaration) bool {
	return r.ScriptErr != nil && r.SpecErr == nil && r.Active != nil && r.Active.LatestGeneration() == d.Object.Generation && r.Active.Built.Missing == "" && !throttle.IsGivenUp(r.ScriptErr)
}

// fallbackActive says what answers for the hooks that have both a script and a webhook.
func fallbackActive(r *Result) metav1.Condition {
	switch {
	case r.Active == nil:
		return notRunning()
	case len(r.Fallbacks) == 0:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonNoFallback, "no hook has a webhook that answers in place of its script")
	}
	reason, active := "", []string(nil)
	for _, f := range r.Fallbacks {
		if on, why := f.Active(); on {
			reason = cmp.Or(reason, fallbackReason(f, why))
			active = append(active, fmt.Sprintf("the webhook answers for the hook %s: %s", f.Name, r.textOf(why)))
		}
	}
	if len(active) > 0 {
		return condition(metav1.ConditionTrue, reason, strings.Join(active, "\n"))
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonScriptAnswers, "the scripts of all hooks answer")
}

// fallbackReason is the reason for which a webhook answers.
func fallbackReason(f build.NamedFallback, why error) string {
	var fault *engine.Error
	switch {
	case f.Script == nil:
		return v1alpha1.ReasonScriptNotLoaded
	case errors.As(why, &fault) && hook.Unavailable(fault.Kind):
		return v1alpha1.ReasonScriptUnavailable
	}
	return v1alpha1.ReasonScriptFailing
}

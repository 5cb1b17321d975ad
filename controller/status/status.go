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
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/spec"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// statusFor is the status of a controller object after a verdict.
func Of(d *spec.Declaration, v *Result) *v1alpha1.ControllerStatus {
	status := d.Status.DeepCopy()
	status.ObservedGeneration = d.Object.Generation
	status.ActiveGeneration, status.Parents, status.Script = 0, nil, nil
	if v.Active != nil {
		parents := int32(v.Parents)
		status.ActiveGeneration, status.Parents = v.Active.Generation, &parents
	}
	if d.HasScript() {
		status.Script = scriptStatus(d.Status.Script, v)
	}
	for _, kind := range []string{v1alpha1.ConditionResourcesDiscovered, v1alpha1.ConditionScriptReady, v1alpha1.ConditionScriptsHeld, v1alpha1.ConditionScriptRunaway, v1alpha1.ConditionFallbackActive, v1alpha1.ConditionFinalizersHeld, v1alpha1.ConditionPermitted, v1alpha1.ConditionSpecSound, v1alpha1.ConditionReady} {
		if c := conditionOf(kind, d, v); c.Status != "" {
			c.Type, c.ObservedGeneration = kind, d.Object.Generation
			c.Message = engine.Clip(c.Message, v1alpha1.MaxConditionMessage)
			meta.SetStatusCondition(&status.Conditions, c)
		} else {
			meta.RemoveStatusCondition(&status.Conditions, kind)
		}
	}
	return status
}

func scriptStatus(before *v1alpha1.ScriptStatus, v *Result) *v1alpha1.ScriptStatus {
	if v.Active == nil || v.Active.Built.Status.Digest == "" {
		if before == nil || before.LastGood == "" && len(before.Hooks) == 0 {
			return nil
		}
		return &v1alpha1.ScriptStatus{Hooks: before.Hooks, LastGood: before.LastGood, GivenUp: before.GivenUp} // what is needed to go on
	}
	status := v.Active.Built.Status.DeepCopy()
	at := build.LoadedAt(before, status.Digest, v.Active.LoadedAt)
	status.LoadedAt, status.LastGood = &metav1.Time{Time: at.UTC().Truncate(1e9)}, v.LastGood
	if v.GivenUp != "" {
		status.GivenUp = "sha256:" + v.GivenUp
	}
	if before != nil && status.LastGood == "" {
		status.LastGood = before.LastGood
	}
	return status
}

// conditionOf gives status, reason and message of one condition; no status when there is no such condition.
func conditionOf(kind string, d *spec.Declaration, v *Result) metav1.Condition {
	switch kind {
	case v1alpha1.ConditionResourcesDiscovered:
		return resourcesCondition(v)
	case v1alpha1.ConditionScriptReady:
		return scriptCondition(d, v)
	case v1alpha1.ConditionScriptsHeld:
		return heldCondition(v)
	case v1alpha1.ConditionScriptRunaway:
		return runawayCondition(v)
	case v1alpha1.ConditionFallbackActive:
		return fallbackCondition(v.Fallbacks)
	case v1alpha1.ConditionFinalizersHeld:
		return finalizersCondition(d, v)
	case v1alpha1.ConditionPermitted:
		return permittedCondition(v)
	case v1alpha1.ConditionSpecSound:
		return soundCondition(v)
	}
	return readyCondition(d, v)
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Status: status, Reason: reason, Message: message}
}

func resourcesCondition(v *Result) metav1.Condition {
	var notServed *kube.NotServedError
	var noStatus *spec.NoStatusError
	switch {
	case !v.Discovered:
		return metav1.Condition{} // it was not tried
	case v.Resources == nil, errors.As(v.Resources, &noStatus):
		return condition(metav1.ConditionTrue, v1alpha1.ReasonDiscovered, "the API server serves every resource that the spec names")
	case errors.As(v.Resources, &notServed):
		return condition(metav1.ConditionFalse, v1alpha1.ReasonResourceNotFound, v.Resources.Error()+"; work starts by itself when it appears")
	}
	return condition(metav1.ConditionUnknown, v1alpha1.ReasonDiscoveryFailed, v.Resources.Error())
}

func scriptCondition(d *spec.Declaration, v *Result) metav1.Condition {
	switch {
	case !d.HasScript():
		return metav1.Condition{}
	case v.Script == nil && len(v.Built.Names) == 0:
		return metav1.Condition{} // it was not tried
	case v.Script == nil:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonLoaded, "hooks: "+strings.Join(v.Built.Names, ", "))
	}
	message := engine.DetailOf(v.Script)
	if len(v.ConfigMaps) > 0 {
		message += "\nin ConfigMap " + strings.Join(v.ConfigMaps, ", ")
	}
	if v.Active != nil {
		message += "\n" + v.whatRuns(d)
	}
	return condition(metav1.ConditionFalse, scriptReason(v.Script), message)
}

// replaced reports whether something else than what is written runs because of the scripts alone.
func (v *Result) PreviousScriptRuns(d *spec.Declaration) bool {
	return v.Script != nil && v.Spec == nil && v.Active != nil && v.Active.Generation == d.Object.Generation && v.Active.Built.Missing == "" && !throttle.IsGivenUp(v.Script)
}

// stays says what runs in place of what is written.
func (v *Result) whatRuns(d *spec.Declaration) string {
	if v.Active.Built.Missing != "" {
		return fmt.Sprintf("generation %d runs with webhooks in place of scripts", v.Active.Generation)
	}
	if v.Active.Generation != d.Object.Generation || v.Active.Built.Status.Digest == "" {
		return fmt.Sprintf("generation %d keeps running", v.Active.Generation)
	}
	return fmt.Sprintf("the version loaded at %s, %s, keeps running", v.Active.LoadedAt.UTC().Format(time.RFC3339), build.ShortDigest(v.Active.Built.Status.Digest))
}

func scriptReason(err error) string {
	var e *engine.Error
	var source *scripts.Error
	switch {
	case throttle.IsGivenUp(err):
		return v1alpha1.ReasonRolledBack
	case errors.As(err, &source) && source.Reason == scripts.NotFound:
		return v1alpha1.ReasonSourceNotFound
	case errors.As(err, &source):
		return v1alpha1.ReasonSourceInvalid
	case !errors.As(err, &e):
		return v1alpha1.ReasonFunctionNotFound
	case e.Kind.Limit():
		return v1alpha1.ReasonLimitExceeded
	}
	return v1alpha1.ReasonCompileError
}

func soundCondition(v *Result) metav1.Condition {
	if len(v.Warnings) == 0 {
		return metav1.Condition{}
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonDoubtful, strings.Join(v.Warnings, "; "))
}

func heldCondition(v *Result) metav1.Condition {
	if v.Held.Parents == 0 {
		return metav1.Condition{}
	}
	parents := "one parent,"
	if v.Held.Parents > 1 {
		parents = fmt.Sprintf("%d parents, the first of them", v.Held.Parents)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonLimitExceeded, fmt.Sprintf("the script is not run for %s %s, before the parent's spec or the script changes, since it hit a limit %d times in a row: %s",
		parents, v.Held.First, throttle.StrikesAllowed, engine.DetailOf(v.Held.Err)))
}

func readyCondition(d *spec.Declaration, v *Result) metav1.Condition {
	err := v.Err()
	switch {
	case err == nil && d.Settings.Paused:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonPaused, "spec.paused is set: no hook runs, and nothing is written")
	case err == nil && v.Active == nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "the controller is about to start")
	case err == nil && !v.Filled && v.Trouble != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "its caches are being filled: "+v.Trouble.Error())
	case err == nil && !v.Filled:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "its caches are being filled")
	case err == nil && v.Trouble != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonCachesStale, "changes go unnoticed: "+v.Trouble.Error())
	case err == nil:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonRunning, fmt.Sprintf("generation %d runs", v.Active.Generation))
	case v.Active != nil && (v.Active.Generation != d.Object.Generation || v.Active.UID != d.Object.UID):
		return condition(metav1.ConditionFalse, v1alpha1.ReasonRunningPreviousVersion,
			fmt.Sprintf("generation %d does not load, and generation %d keeps running: %s", d.Object.Generation, v.Active.Generation, err))
	case v.Active != nil && v.Script != nil && v.Active.Built.Missing != "":
		return condition(metav1.ConditionFalse, v1alpha1.ReasonScriptNotReady, fmt.Sprintf("%s: %s", v.whatRuns(d), err))
	case v.Active != nil && v.Script != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonRunningPreviousVersion, fmt.Sprintf("the script as it is now cannot be used, and %s: %s", v.whatRuns(d), err))
	}
	if v.Active != nil {
		return condition(metav1.ConditionFalse, readyReason(v), fmt.Sprintf("%v; what was started before keeps running", err))
	}
	return condition(metav1.ConditionFalse, readyReason(v), err.Error())
}

func readyReason(v *Result) string {
	var noStatus *spec.NoStatusError
	var isolation *build.IsolationError
	switch {
	case errors.Is(v.Spec, build.ErrNoHooks):
		return v1alpha1.ReasonNoHooks
	case errors.As(v.Spec, &isolation):
		return v1alpha1.ReasonIsolationUnavailable
	case v.Spec != nil:
		return v1alpha1.ReasonInvalidSpec
	case errors.As(v.Resources, &noStatus):
		return v1alpha1.ReasonNoStatusSubresource
	case v.Resources != nil:
		return v1alpha1.ReasonResourcesNotDiscovered
	}
	return v1alpha1.ReasonScriptNotReady
}

// permittedCondition is there only while something is not permitted. The API server's text names the verb and the
// resource.
func permittedCondition(v *Result) metav1.Condition {
	if denied := kube.Forbidden(v.Trouble); denied != nil {
		return condition(metav1.ConditionFalse, v1alpha1.ReasonForbidden, denied.Error())
	}
	if v.Denied.Parents == 0 {
		return metav1.Condition{}
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonForbidden,
		fmt.Sprintf("parents for which something is not permitted: %d; for %s: %v", v.Denied.Parents, v.Denied.First, v.Denied.Err))
}

// fallbackCondition says who answers for the hooks that have both a script and a webhook.
func fallbackCondition(of []build.NamedFallback) metav1.Condition {
	if len(of) == 0 {
		return metav1.Condition{}
	}
	reason, said := "", []string(nil)
	for _, f := range of {
		if active, why := f.Active(); active {
			reason = cmp.Or(reason, fallbackReason(f, why))
			said = append(said, fmt.Sprintf("the webhook answers for the hook %s: %s", f.Name, engine.DetailOf(why)))
		}
	}
	if len(said) > 0 {
		return condition(metav1.ConditionTrue, reason, strings.Join(said, "\n"))
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonScriptAnswers, "the scripts of all hooks answer")
}

// reason is that of the condition while the webhook answers.
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

// runawayCondition tells of what runs on, and what to do.
func runawayCondition(v *Result) metav1.Condition {
	if len(v.Runaways) == 0 {
		return metav1.Condition{}
	}
	more := ""
	if n := len(v.Runaways) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonNotStopped, fmt.Sprintf(
		"%s%s runs on although its time is up, keeps a processor of the server busy, and cannot be stopped: its text is refused; edit the script, and restart the server to end what runs; spec.isolation: Process ends such scripts", v.Runaways[0], more))
}

func finalizersCondition(d *spec.Declaration, v *Result) metav1.Condition {
	if v.Finalizers.Parents == 0 {
		return metav1.Condition{}
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonNoFinalizeHook, v.Finalizers.Message(d.ID()))
}

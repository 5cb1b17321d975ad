package controller

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// statusFor is the status of a controller object after a verdict.
func statusFor(d *declaration, v *verdict) *v1alpha1.ControllerStatus {
	status := d.Status.DeepCopy()
	status.ObservedGeneration = d.Object.Generation
	status.ActiveGeneration, status.Parents, status.Script = 0, nil, nil
	if v.active != nil {
		parents := int32(v.parents)
		status.ActiveGeneration, status.Parents = v.active.generation, &parents
	}
	if d.hasScript() {
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

func scriptStatus(before *v1alpha1.ScriptStatus, v *verdict) *v1alpha1.ScriptStatus {
	if v.active == nil || v.active.hooks.status.Digest == "" {
		if before == nil || before.LastGood == "" && len(before.Hooks) == 0 {
			return nil
		}
		return &v1alpha1.ScriptStatus{Hooks: before.Hooks, LastGood: before.LastGood, GivenUp: before.GivenUp} // what is needed to go on
	}
	status := v.active.hooks.status.DeepCopy()
	at := loadedAt(before, status.Digest, v.active.at)
	status.LoadedAt, status.LastGood = &metav1.Time{Time: at.UTC().Truncate(1e9)}, v.lastGood
	if v.givenUp != "" {
		status.GivenUp = "sha256:" + v.givenUp
	}
	if before != nil && status.LastGood == "" {
		status.LastGood = before.LastGood
	}
	return status
}

// conditionOf gives status, reason and message of one condition; no status when there is no such condition.
func conditionOf(kind string, d *declaration, v *verdict) metav1.Condition {
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
		return fallbackCondition(v.fallbacks)
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

func resourcesCondition(v *verdict) metav1.Condition {
	var notServed *kube.NotServedError
	var noStatus *noStatusError
	switch {
	case !v.asked:
		return metav1.Condition{} // it was not tried
	case v.resources == nil, errors.As(v.resources, &noStatus):
		return condition(metav1.ConditionTrue, v1alpha1.ReasonDiscovered, "the API server serves every resource that the spec names")
	case errors.As(v.resources, &notServed):
		return condition(metav1.ConditionFalse, v1alpha1.ReasonResourceNotFound, v.resources.Error()+"; work starts by itself when it appears")
	}
	return condition(metav1.ConditionUnknown, v1alpha1.ReasonDiscoveryFailed, v.resources.Error())
}

func scriptCondition(d *declaration, v *verdict) metav1.Condition {
	switch {
	case !d.hasScript():
		return metav1.Condition{}
	case v.script == nil && len(v.hooks.names) == 0:
		return metav1.Condition{} // it was not tried
	case v.script == nil:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonLoaded, "hooks: "+strings.Join(v.hooks.names, ", "))
	}
	message := engine.DetailOf(v.script)
	if len(v.from) > 0 {
		message += "\nin ConfigMap " + strings.Join(v.from, ", ")
	}
	if v.active != nil {
		message += "\n" + v.stays(d)
	}
	return condition(metav1.ConditionFalse, scriptReason(v.script), message)
}

// replaced reports whether something else than what is written runs because of the scripts alone.
func (v *verdict) replaced(d *declaration) bool {
	return v.script != nil && v.spec == nil && v.active != nil && v.active.generation == d.Object.Generation && v.active.hooks.lacks == "" && !throttle.IsGivenUp(v.script)
}

// stays says what runs in place of what is written.
func (v *verdict) stays(d *declaration) string {
	if v.active.hooks.lacks != "" {
		return fmt.Sprintf("generation %d runs with webhooks in place of scripts", v.active.generation)
	}
	if v.active.generation != d.Object.Generation || v.active.hooks.status.Digest == "" {
		return fmt.Sprintf("generation %d keeps running", v.active.generation)
	}
	return fmt.Sprintf("the version loaded at %s, %s, keeps running", v.active.at.UTC().Format(time.RFC3339), short(v.active.hooks.status.Digest))
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

func soundCondition(v *verdict) metav1.Condition {
	if len(v.doubts) == 0 {
		return metav1.Condition{}
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonDoubtful, strings.Join(v.doubts, "; "))
}

func heldCondition(v *verdict) metav1.Condition {
	if v.held.Parents == 0 {
		return metav1.Condition{}
	}
	parents := "one parent,"
	if v.held.Parents > 1 {
		parents = fmt.Sprintf("%d parents, the first of them", v.held.Parents)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonLimitExceeded, fmt.Sprintf("the script is not run for %s %s, before the parent's spec or the script changes, since it hit a limit %d times in a row: %s",
		parents, v.held.First, throttle.StrikesAllowed, engine.DetailOf(v.held.Err)))
}

func readyCondition(d *declaration, v *verdict) metav1.Condition {
	err := v.err()
	switch {
	case err == nil && d.Settings.Paused:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonPaused, "spec.paused is set: no hook runs, and nothing is written")
	case err == nil && v.active == nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "the controller is about to start")
	case err == nil && !v.filled && v.trouble != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "its caches are being filled: "+v.trouble.Error())
	case err == nil && !v.filled:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "its caches are being filled")
	case err == nil && v.trouble != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonCachesStale, "changes go unnoticed: "+v.trouble.Error())
	case err == nil:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonRunning, fmt.Sprintf("generation %d runs", v.active.generation))
	case v.active != nil && (v.active.generation != d.Object.Generation || v.active.uid != d.Object.UID):
		return condition(metav1.ConditionFalse, v1alpha1.ReasonRunningPreviousVersion,
			fmt.Sprintf("generation %d does not load, and generation %d keeps running: %s", d.Object.Generation, v.active.generation, err))
	case v.active != nil && v.script != nil && v.active.hooks.lacks != "":
		return condition(metav1.ConditionFalse, v1alpha1.ReasonScriptNotReady, fmt.Sprintf("%s: %s", v.stays(d), err))
	case v.active != nil && v.script != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonRunningPreviousVersion, fmt.Sprintf("the script as it is now cannot be used, and %s: %s", v.stays(d), err))
	}
	if v.active != nil {
		return condition(metav1.ConditionFalse, readyReason(v), fmt.Sprintf("%v; what was started before keeps running", err))
	}
	return condition(metav1.ConditionFalse, readyReason(v), err.Error())
}

func readyReason(v *verdict) string {
	var noStatus *noStatusError
	var isolation *isolationError
	switch {
	case errors.Is(v.spec, errNoHooks):
		return v1alpha1.ReasonNoHooks
	case errors.As(v.spec, &isolation):
		return v1alpha1.ReasonIsolationUnavailable
	case v.spec != nil:
		return v1alpha1.ReasonInvalidSpec
	case errors.As(v.resources, &noStatus):
		return v1alpha1.ReasonNoStatusSubresource
	case v.resources != nil:
		return v1alpha1.ReasonResourcesNotDiscovered
	}
	return v1alpha1.ReasonScriptNotReady
}

// permittedCondition is there only while something is not permitted. The API server's text names the verb and the
// resource.
func permittedCondition(v *verdict) metav1.Condition {
	if denied := kube.Forbidden(v.trouble); denied != nil {
		return condition(metav1.ConditionFalse, v1alpha1.ReasonForbidden, denied.Error())
	}
	if v.denied.parents == 0 {
		return metav1.Condition{}
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonForbidden,
		fmt.Sprintf("parents for which something is not permitted: %d; for %s: %v", v.denied.parents, v.denied.first, v.denied.err))
}

// fallbackCondition says who answers for the hooks that have both a script and a webhook.
func fallbackCondition(of []fallback) metav1.Condition {
	if len(of) == 0 {
		return metav1.Condition{}
	}
	reason, said := "", []string(nil)
	for _, f := range of {
		if active, why := f.Active(); active {
			reason = cmp.Or(reason, fallbackReason(f, why))
			said = append(said, fmt.Sprintf("the webhook answers for the hook %s: %s", f.name, engine.DetailOf(why)))
		}
	}
	if len(said) > 0 {
		return condition(metav1.ConditionTrue, reason, strings.Join(said, "\n"))
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonScriptAnswers, "the scripts of all hooks answer")
}

// reason is that of the condition while the webhook answers.
func fallbackReason(f fallback, why error) string {
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
func runawayCondition(v *verdict) metav1.Condition {
	if len(v.runaways) == 0 {
		return metav1.Condition{}
	}
	more := ""
	if n := len(v.runaways) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonNotStopped, fmt.Sprintf(
		"%s%s runs on although its time is up, keeps a processor of the server busy, and cannot be stopped: its text is refused; edit the script, and restart the server to end what runs; spec.isolation: Process ends such scripts", v.runaways[0], more))
}

func finalizersCondition(d *declaration, v *verdict) metav1.Condition {
	if v.finalizers.parents == 0 {
		return metav1.Condition{}
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonNoFinalizeHook, v.finalizers.message(d.id()))
}

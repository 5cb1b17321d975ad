package status

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/access"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/apiserver"
	"metascript/controller/build"
	"metascript/controller/guard"
	"metascript/controller/kube"
	"metascript/controller/spec"
	"metascript/controller/throttle"
)

// conditions returns one condition of every type, in the order of the first status.
func conditions(d *spec.Declaration, r *Result) []metav1.Condition {
	all := []metav1.Condition{
		typed(v1alpha1.ConditionResourcesDiscovered, resourcesDiscovered(r)),
		typed(v1alpha1.ConditionScriptReady, scriptReady(d, r)),
		typed(v1alpha1.ConditionGuardPassed, guardPassed(d, r)),
		typed(v1alpha1.ConditionScriptsHeld, scriptsHeld(r)),
		typed(v1alpha1.ConditionScriptRunaway, scriptRunaway(r)),
		typed(v1alpha1.ConditionFallbackActive, fallbackActive(r)),
		typed(v1alpha1.ConditionFinalizersHeld, finalizersHeld(d, r)),
		typed(v1alpha1.ConditionPermitted, permitted(d, r)),
		typed(v1alpha1.ConditionParentsSynced, parentsSynced(d, r)),
		typed(v1alpha1.ConditionAnswersStored, answersStored(r)),
		typed(v1alpha1.ConditionParentsWaiting, parentsWaiting(r)),
		typed(v1alpha1.ConditionSpecSound, specSound(r)),
		typed(v1alpha1.ConditionAPIServerAnswers, apiServerAnswers(r)),
		typed(v1alpha1.ConditionReady, ready(d, r)),
	}
	if r.Shadow != nil {
		all = append(all, typed(v1alpha1.ConditionShadowAgrees, shadowAgrees(d, r.Shadow)))
	}
	return all
}

func typed(kind string, c metav1.Condition) metav1.Condition {
	c.Type = kind
	return c
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Status: status, Reason: reason, Message: message}
}

// notChecked is a condition about the spec or the script while they were not looked at as a whole.
func notChecked() metav1.Condition {
	return condition(metav1.ConditionUnknown, v1alpha1.ReasonNotChecked, "not checked, see the condition Ready")
}

// notRunning is a condition about what runs while nothing does.
func notRunning() metav1.Condition {
	return condition(metav1.ConditionUnknown, v1alpha1.ReasonNotRunning, "nothing of this controller runs, see the condition Ready")
}

// starting is a condition about the parents while they are not known yet.
func starting() metav1.Condition {
	return condition(metav1.ConditionUnknown, v1alpha1.ReasonStarting, "its caches are being filled")
}

func resourcesDiscovered(r *Result) metav1.Condition {
	var notServed *kube.NotServedError
	switch {
	case !r.Discovered:
		return notChecked()
	case r.ResourcesErr == nil, spec.LacksStatus(r.ResourcesErr):
		return condition(metav1.ConditionTrue, v1alpha1.ReasonDiscovered, "the API server serves every resource that the spec names")
	case errors.As(r.ResourcesErr, &notServed):
		text := r.ResourcesErr.Error()
		if notServed.MayAppear() {
			text += "; the controller starts by itself when it is served"
		}
		return condition(metav1.ConditionFalse, v1alpha1.ReasonResourceNotFound, text)
	}
	return condition(metav1.ConditionUnknown, v1alpha1.ReasonDiscoveryFailed, r.ResourcesErr.Error())
}

// scriptsHeld counts the parents for which the script is not called.
func scriptsHeld(r *Result) metav1.Condition {
	if r.Active == nil {
		return notRunning()
	}
	if r.Held.Parents == 0 {
		return condition(metav1.ConditionFalse, v1alpha1.ReasonNoneHeld, "no script is held for any parent")
	}
	parents := "one parent, " + r.Held.First.String()
	switch {
	case r.public:
		parents = fmt.Sprintf("some parents (%d)", r.Held.Parents)
	case r.Held.Parents > 1:
		parents = fmt.Sprintf("%d parents, the first of them %s", r.Held.Parents, r.Held.First)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonLimitExceeded, fmt.Sprintf("the script is not run for %s, until the parent's spec or the script changes, since it hit a limit %d times in a row: %s",
		parents, throttle.StrikesAllowed, r.textOf(r.Held.Err)))
}

// scriptRunaway names one script that cannot be stopped, and what to do. It is known whether or not the controller runs.
func scriptRunaway(r *Result) metav1.Condition {
	if len(r.Runaways) == 0 {
		return condition(metav1.ConditionFalse, v1alpha1.ReasonNoRunaway, "no script runs after its timeout")
	}
	more := ""
	if n := len(r.Runaways) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonNotStopped, fmt.Sprintf(
		"%s%s still runs after its timeout, uses one CPU of the server, and cannot be stopped: calls of the same script are refused; edit the script, and restart the server to end it; with spec.isolation: Process such scripts are ended", r.Runaways[0], more))
}

func finalizersHeld(d *spec.Declaration, r *Result) metav1.Condition {
	switch {
	case r.Active == nil:
		return notRunning()
	case r.Finalizers.Parents > 0:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonNoFinalizeHook, r.Finalizers.Message(d.ID()))
	case !r.Synced:
		return starting()
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonNoneHeld, "no finalizer is held on any parent")
}

// permitted has the error of the API server, which names the verb and the resource.
func permitted(d *spec.Declaration, r *Result) metav1.Condition {
	switch denied := kube.Forbidden(r.CacheError); {
	case d.Settings.ServiceAccount != nil && kube.Forbidden(r.Err()) != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonForbidden, r.Err().Error())
	case r.Active == nil:
		return notRunning()
	case r.AccessErr != nil:
		return condition(metav1.ConditionFalse, accessReason(r.AccessErr), r.AccessErr.Error())
	case denied != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonForbidden, denied.Error())
	case r.Denied.Parents > 0 && r.public:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonForbidden, fmt.Sprintf("parents for which something is not permitted: %d; for one of them: %v", r.Denied.Parents, r.Denied.Err))
	case r.Denied.Parents > 0:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonForbidden,
			fmt.Sprintf("parents for which something is not permitted: %d; for %s: %v", r.Denied.Parents, r.Denied.First, r.Denied.Err))
	case !r.Synced:
		return starting()
	}
	message := "no request is refused for lack of a permission"
	if r.AccessLimited != "" {
		message += "; " + r.AccessLimited
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonNothingForbidden, message)
}

// parentsSynced has the error that most parents share. Until it is known, as after a restart, the condition stays as it is.
func parentsSynced(d *spec.Declaration, r *Result) metav1.Condition {
	before := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionParentsSynced)
	switch f := r.Failing; {
	case r.Active == nil:
		return notRunning()
	case r.Parents == 0 && r.AccessErr != nil: // the account may not read parents, so that they are not shown
		return condition(metav1.ConditionUnknown, accessReason(r.AccessErr), "no parent is known, see the condition Permitted")
	case !f.Known && before != nil && before.ObservedGeneration == d.Object.Generation && before.Reason != v1alpha1.ReasonNotRunning:
		if before.Status == metav1.ConditionFalse && d.Settings.ServiceAccount != nil { // an earlier server may have written names
			return condition(before.Status, before.Reason, "parents failed, and not every parent was synced again since")
		}
		return condition(before.Status, before.Reason, before.Message)
	case !f.Known:
		return condition(metav1.ConditionUnknown, v1alpha1.ReasonStarting, "not every parent was synced yet")
	case f.Failing == 0:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonAllSynced, "the last sync of no parent failed")
	case r.public:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonSyncError, fmt.Sprintf("the last sync failed for %d of %d parents; for %d of them with the same error: %s", f.Failing, f.Parents, f.Shared, f.Kind))
	case f.Failing == 1:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonSyncError, fmt.Sprintf("the last sync failed for 1 of %d parents, %s: %s", f.Parents, f.First, f.Text))
	default:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonSyncError,
			fmt.Sprintf("the last sync failed for %d of %d parents; for %d of them, such as %s, with this error: %s", f.Failing, f.Parents, f.Shared, f.First, f.Text))
	}
}

// answersStored has what most parents share of what is not stored.
func answersStored(r *Result) metav1.Condition {
	switch n := r.NotStored; {
	case r.Active == nil:
		return notRunning()
	case n.Failing > 0 && r.public:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonFieldsNotStored, fmt.Sprintf("parents for which fields are not stored: %d", n.Failing))
	case n.Failing == 1:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonFieldsNotStored, fmt.Sprintf("for the parent %s: %s", n.First, n.Text))
	case n.Failing > 1:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonFieldsNotStored, fmt.Sprintf("for %d parents; for %d of them, such as %s: %s", n.Failing, n.Shared, n.First, n.Text))
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonAllStored, "no schema lacks a field that was returned")
}

// parentsWaiting says how slow the hooks are and how many parents wait for them.
func parentsWaiting(r *Result) metav1.Condition {
	switch n := r.Delays; {
	case r.Active == nil:
		return notRunning()
	case n.Waiting > 0:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonSlowHooks, fmt.Sprintf(
			"parents that wait: %d, the first of them for %s; a call of the hook %s takes %s, and %d parents are reconciled at the same time at most: make the hook faster, or raise spec.maxConcurrentSyncs",
			n.Waiting, n.Longest.Round(time.Second), n.Hook, n.Took.Round(10*time.Millisecond), r.Workers))
	}
	return condition(metav1.ConditionFalse, v1alpha1.ReasonNoneWaiting, "no parent waits long because of slow hooks")
}

// failingStatus sums up the parents that fail. Until it is known whether there are some, as after a restart, it stays as it is; and so does
// the time at which a cause was first seen, while the cause is the same.
func failingStatus(d *spec.Declaration, r *Result) *v1alpha1.FailingStatus {
	before, f := d.Status.Failing, r.Failing
	synced := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionParentsSynced)
	switch {
	case r.Active == nil || r.Parents == 0 && r.AccessErr != nil || f.Known && f.Failing == 0:
		return nil
	case !f.Known && synced != nil && synced.ObservedGeneration == d.Object.Generation:
		return before
	case !f.Known:
		return nil
	}
	now := &v1alpha1.FailingStatus{Parents: int32(f.Failing), Cause: f.Line}
	if d.Settings.ServiceAccount != nil {
		now.Cause = f.Kind
	}
	if !f.Since.IsZero() {
		now.Since = &metav1.Time{Time: f.Since.UTC().Truncate(time.Second)}
	}
	if before != nil && before.Cause == now.Cause && before.Since != nil && (now.Since == nil || before.Since.Before(now.Since)) {
		now.Since = before.Since
	}
	return now
}

// apiServerAnswers is the same for all controllers, and names no object and no account. While the API server answers nothing, it cannot
// be written; then it is in the log, the metrics and the health probe of the server.
func apiServerAnswers(r *Result) metav1.Condition {
	text := r.APIServer.Text()
	if r.APIServer.Code > 0 {
		text += fmt.Sprintf(" (status %d)", r.APIServer.Code)
	}
	switch r.APIServer.Condition {
	case apiserver.Throttled:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonThrottled, text)
	case apiserver.Unauthorized:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonUnauthorized, text)
	case apiserver.Unreachable:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonUnreachable, text)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonAnswering, text)
}

// accessReason is the reason of the condition Permitted while the account of the controller cannot do its work.
func accessReason(err error) string {
	var denied *access.DeniedError
	switch {
	case !errors.As(err, &denied):
		return v1alpha1.ReasonNotReviewed
	case denied.Missing:
		return v1alpha1.ReasonServiceAccountNotFound
	}
	return v1alpha1.ReasonForbidden
}

// specSound is True only if the spec and the scripts were checked as a whole, and the parents that other controllers select
// too are known, since each can have warnings.
func specSound(r *Result) metav1.Condition {
	switch {
	case len(r.Warnings) > 0:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonDoubtful, strings.Join(r.Warnings, "; "))
	case !r.Discovered || r.SpecErr != nil || r.ScriptErr != nil:
		return notChecked()
	case r.Active != nil && !r.Synced:
		return starting()
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonNoWarnings, "the spec and the scripts have no setting without effect")
}

// guardPassed says what the guard decided about the version that was last written. After a restart of the server it stays as it is,
// since a version that runs is not checked again.
func guardPassed(d *spec.Declaration, r *Result) metav1.Condition {
	before := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionGuardPassed)
	switch {
	case guard.IsPending(r.ScriptErr):
		return condition(metav1.ConditionUnknown, guard.Reason(r.ScriptErr), r.ScriptErr.Error())
	case guard.Holds(r.ScriptErr):
		return condition(metav1.ConditionFalse, guard.Reason(r.ScriptErr), r.ScriptErr.Error())
	case r.SpecErr != nil && !r.Discovered: // a spec that cannot be read looks as if it had no guard
		return notChecked()
	case d.Script == nil || d.Script.Guard == nil:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonNoGuard, guard.NoGuard)
	case r.Active == nil, r.Err() != nil:
		return notChecked()
	case r.GuardPassed != nil:
		return condition(metav1.ConditionTrue, r.GuardPassed.Reason, r.GuardPassed.Message)
	case before != nil && before.Status == metav1.ConditionTrue && before.ObservedGeneration == d.Object.Generation && d.Settings.ServiceAccount == nil: // else an earlier server may have written names
		return condition(before.Status, before.Reason, before.Message)
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonWithinGuard, "this version ran before the server was started")
}

// ready says whether the object runs as it is written, and if not, what runs in its place.
func ready(d *spec.Declaration, r *Result) metav1.Condition {
	if err := r.Err(); err != nil {
		return notReady(d, r, err)
	}
	switch {
	case d.Settings.Paused:
		return condition(metav1.ConditionTrue, v1alpha1.ReasonPaused, "spec.paused is set: no hook runs, and nothing is written")
	case r.Active == nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "the controller is about to start")
	case !r.Synced && r.CacheError != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, "its caches are being filled: "+r.CacheError.Error())
	case !r.Synced:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonStarting, starting().Message)
	case r.CacheError != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonCachesStale, "changes are not observed: "+r.CacheError.Error())
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonRunning, fmt.Sprintf("generation %d runs", r.Active.LatestGeneration()))
}

// notReady is the condition Ready of an object that cannot run as it is written because of err.
func notReady(d *spec.Declaration, r *Result, err error) metav1.Condition {
	if spec.LacksStatus(err) { // its own text is that of Metacontroller
		err = fmt.Errorf("%w: add subresources: {status: {}} to the version in the CustomResourceDefinition", err)
	}
	switch {
	case r.Active == nil && guard.IsIdle(err): // the reason says that nothing must be started
		return condition(metav1.ConditionFalse, v1alpha1.ReasonNotRunning, "nothing runs since the controller was paused: "+err.Error())
	case r.Active == nil:
		return condition(metav1.ConditionFalse, notReadyReason(d, r), err.Error())
	case guard.Holds(err):
		return condition(metav1.ConditionFalse, v1alpha1.ReasonRunningPreviousVersion, fmt.Sprintf("%s, and generation %d is not in use: %s", whatRuns(d, r.Active), d.Object.Generation, err))
	case r.Active.LatestGeneration() != d.Object.Generation || r.Active.UID != d.Object.UID:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonRunningPreviousVersion,
			fmt.Sprintf("generation %d does not load, and generation %d keeps running: %s", d.Object.Generation, r.Active.LatestGeneration(), err))
	case r.ScriptErr != nil && r.Active.Built.Missing != "":
		return condition(metav1.ConditionFalse, v1alpha1.ReasonScriptNotReady, fmt.Sprintf("%s: %s", whatRuns(d, r.Active), err))
	case r.ScriptErr != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonRunningPreviousVersion, fmt.Sprintf("the script as it is now cannot be used, and %s: %s", whatRuns(d, r.Active), err))
	}
	return condition(metav1.ConditionFalse, notReadyReason(d, r), fmt.Sprintf("%v; what was started before keeps running", err))
}

// notReadyReason names which of the errors of r is the first.
func notReadyReason(d *spec.Declaration, r *Result) string {
	var isolation *build.IsolationError
	switch {
	case errors.Is(r.SpecErr, build.ErrNoHooks):
		return v1alpha1.ReasonNoHooks
	case errors.As(r.SpecErr, &isolation):
		return v1alpha1.ReasonIsolationUnavailable
	case d.Settings.ServiceAccount != nil && kube.Forbidden(r.SpecErr) != nil:
		return v1alpha1.ReasonForbidden
	case r.SpecErr != nil:
		return v1alpha1.ReasonInvalidSpec
	case spec.LacksStatus(r.ResourcesErr):
		return v1alpha1.ReasonNoStatusSubresource
	case r.ResourcesErr != nil:
		return v1alpha1.ReasonResourcesNotDiscovered
	}
	return v1alpha1.ReasonScriptNotReady
}

// NewlyForbidden returns the condition Permitted of a status, if the account of the controller is not permitted something and the
// status before does not say the same; nil otherwise.
func NewlyForbidden(d *spec.Declaration, written *v1alpha1.ControllerStatus) *metav1.Condition {
	before := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionPermitted)
	now := meta.FindStatusCondition(written.Conditions, v1alpha1.ConditionPermitted)
	if d.Settings.ServiceAccount == nil || now == nil || now.Status != metav1.ConditionFalse || before != nil && before.Status == now.Status && before.Message == now.Message {
		return nil
	}
	return now
}

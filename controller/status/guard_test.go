package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/guard"
	"metascript/controller/spec/spectest"
)

// guardedSpec is the spec of a controller with a guard.
var guardedSpec = strings.Replace(withScript("def sync(parent):\n    return {}\n"), "script: {", "script: {guard: {maxDeletes: 10%}, ", 1)

func TestGuardHoldsVersion(t *testing.T) {
	cc := spectest.Composite(t, guardedSpec)
	for _, c := range []struct {
		pending bool
		idle    bool
		runs    int64
		want    []string
		ready   string
	}{
		{false, false, 3, []string{"GuardPassed: False GuardExceeded", "ScriptReady: False GuardExceeded", "SpecSound: Unknown NotChecked", "Ready: False RunningPreviousVersion"}, "generation 3 keeps running, and generation 7 is not in use: it would delete all"},
		{true, false, 3, []string{"GuardPassed: Unknown GuardExceeded", "ScriptReady: False GuardExceeded", "SpecSound: Unknown NotChecked", "Ready: False RunningPreviousVersion"}, "generation 3 keeps running, and generation 7 is not in use: it would delete all"},
		{false, false, 0, append([]string{"GuardPassed: False GuardExceeded", "ScriptReady: False GuardExceeded", "SpecSound: Unknown NotChecked", "Ready: False ScriptNotReady"}, idle...), "it would delete all"},
		{false, true, 0, append([]string{"GuardPassed: False GuardExceeded", "ScriptReady: False GuardExceeded", "SpecSound: Unknown NotChecked", "Ready: False NotRunning"}, idle...), "nothing runs since the controller was paused: it would delete all"},
	} {
		r := resultOf(t, cc, nil, nil)
		if c.runs > 0 {
			r = resultOf(t, cc, nil, runningVersion(c.runs, build.Built{}))
		}
		r.Built = build.Built{}
		r.SetError(&guard.Error{Reason: v1alpha1.ReasonGuardExceeded, Message: "it would delete all", Pending: c.pending, Idle: c.idle})
		status := Of(cc, r)
		if diff := cmp.Diff(sorted(c.want), differing(status)); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
		if message := messageOf(t, status, v1alpha1.ConditionReady); message != c.ready {
			t.Errorf("the message of Ready is %q, want %q", message, c.ready)
		}
		if r.PreviousScriptRuns(cc) {
			t.Error("the version is taken for one that does not load")
		}
	}
}

// What the guard has let through is known from the status after a restart.
func TestGuardPassed(t *testing.T) {
	cc := spectest.Composite(t, guardedSpec)
	r := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
	reason := func() string {
		condition := meta.FindStatusCondition(Of(cc, r).Conditions, v1alpha1.ConditionGuardPassed)
		return string(condition.Status) + " " + condition.Reason + ": " + condition.Message
	}
	if got := reason(); got != "True WithinGuard: this version ran before the server was started" {
		t.Error(got)
	}
	r.GuardPassed = &guard.Passed{Reason: v1alpha1.ReasonGuardApproved, Message: "an annotation"}
	if got := reason(); got != "True GuardApproved: an annotation" {
		t.Error(got)
	}
	cc.Status = *Of(cc, r)
	r.GuardPassed = nil
	if got := reason(); got != "True GuardApproved: an annotation" {
		t.Errorf("after a restart: %s", got)
	}
	cc.Script.Guard = nil
	if got := reason(); got != "True NoGuard: "+guard.NoGuard {
		t.Error(got)
	}
}

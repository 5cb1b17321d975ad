package status

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/object/objecttest"
	"metascript/controller/reconcile"
	"metascript/controller/spec/spectest"
	"metascript/controller/throttle"
	"metascript/engine"
)

func TestScriptReadyHasPositionOfScriptError(t *testing.T) {
	cc := spectest.Composite(t, withScript("def sync(parent):\n    return {\"children\": [}\n"))
	at := regexp.MustCompile(`^sync\.star:2:\d+: .+\n {8}return \{"children": \[\}\n +\^\n  hint: .+$`)

	status := Of(cc, resultOf(t, cc, nil, nil))
	if message := messageOf(t, status, v1alpha1.ConditionScriptReady); !at.MatchString(message) {
		t.Errorf("the message of ScriptReady is\n%s", message)
	}
	if diff := cmp.Diff(sorted(idle, []string{"ScriptReady: False CompileError", "SpecSound: Unknown NotChecked", "Ready: False ScriptNotReady"}), differing(status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}

	status = Of(cc, resultOf(t, cc, nil, runningVersion(3, build.Built{})))
	excerpt, rest, _ := strings.Cut(messageOf(t, status, v1alpha1.ConditionScriptReady), "\ngeneration")
	if !at.MatchString(excerpt) || rest != " 3 keeps running" {
		t.Errorf("the message of ScriptReady is\n%s\nand its last line goes on with %q", excerpt, rest)
	}
	if diff := cmp.Diff(sorted([]string{"ScriptReady: False CompileError", "SpecSound: Unknown NotChecked", "Ready: False RunningPreviousVersion"}), differing(status)); diff != "" {
		t.Errorf("conditions while generation 3 runs (-want +got):\n%s", diff)
	}
	if message := messageOf(t, status, v1alpha1.ConditionReady); strings.Contains(message, "\n") || !strings.Contains(message, "sync.star:2:") {
		t.Errorf("the message of Ready is %q, want one line with the position", message)
	}
}

func TestPausedControllerNeedsNoScript(t *testing.T) {
	cc := spectest.Composite(t, webhookSpec+"paused: true")
	status := Of(cc, resultOf(t, cc, nil, nil))
	if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionScriptReady) || !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("the conditions are %v", differing(status))
	}
}

// An answer is a hook that returns nothing, or fails.
type answer func() error

func (a answer) Call(context.Context, *hook.Request) (*hook.Response, error) {
	return &hook.Response{}, a()
}

func TestFallbackActiveCondition(t *testing.T) {
	late, mistake := &engine.Error{Kind: engine.KindTimeout, Msg: "late"}, &engine.Error{Kind: engine.KindRuntime, Msg: "mistake"}
	aboutWidget := &hook.Request{Parent: objecttest.Widget(nil)}
	silent := answer(func() error { return nil })
	broken := func(err error) *hook.Fallback {
		f := &hook.Fallback{Script: answer(func() error { return err }), Webhook: silent, OnError: true}
		for range 2 {
			_, _ = f.Call(t.Context(), aboutWidget)
		}
		return f
	}
	unloaded := &hook.Fallback{Unloaded: errors.New("no file"), Webhook: silent}
	for _, c := range []struct {
		name  string
		hooks build.Hooks
		want  metav1.Condition
	}{
		{"no hook has both", build.Hooks{Sync: silent}, condition("False", "NoFallback", "no hook has a webhook that answers in place of its script")},
		{"the script answers", build.Hooks{Sync: silent, Finalize: broken(nil)}, condition("False", "ScriptAnswers", "the scripts of all hooks answer")},
		{"not loaded", build.Hooks{Sync: unloaded}, condition("True", "ScriptNotLoaded", "the webhook answers for the hook sync: no file")},
		{"late", build.Hooks{Sync: broken(late)}, condition("True", "ScriptUnavailable", "the webhook answers for the hook sync: the script failed for 1 of 1 parents, last for default/w: late")},
		{"mistaken", build.Hooks{Sync: broken(nil), Customize: broken(mistake)}, condition("True", "ScriptFailing", "the webhook answers for the hook customize: the script failed for 1 of 1 parents, last for default/w: mistake")},
		{"both", build.Hooks{Sync: broken(mistake), Finalize: unloaded}, condition("True", "ScriptFailing",
			"the webhook answers for the hook sync: the script failed for 1 of 1 parents, last for default/w: mistake\nthe webhook answers for the hook finalize: no file")},
	} {
		if diff := cmp.Diff(c.want, fallbackActive(&Result{Active: &build.Loaded{}, Snapshot: reconcile.Snapshot{Fallbacks: c.hooks.Fallbacks()}})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestRejectionReasonIsReadFromCondition(t *testing.T) {
	for _, c := range []struct{ reason, message, want string }{
		{"RolledBack", throttle.NotTriedAgain + ": it failed for 2 of 2\nat a.js:1\ngeneration 3 keeps running", "it failed for 2 of 2\nat a.js:1"},
		{"RolledBack", throttle.NotTriedAgain + ": it failed\nat a.js:1\nin ConfigMap ns/a/a.js\ngeneration 3 keeps running", "it failed\nat a.js:1"},
		{"RolledBack", throttle.NotTriedAgain + ": it failed\nin ConfigMap ns/a/a.js\nin ConfigMap ns/a/a.js\ngeneration 3 keeps running", "it failed"},
		{"RolledBack", throttle.NotTriedAgain, ""},
		{"CompileError", throttle.NotTriedAgain + ": x\ny", ""},
	} {
		if got := GivenUpReason([]metav1.Condition{{Type: "ScriptReady", Reason: c.reason, Message: c.message}}); got != c.want {
			t.Errorf("of %s %q: got %q, want %q", c.reason, c.message, got, c.want)
		}
	}
	if got := GivenUpReason(nil); got != "" {
		t.Errorf("of no condition: got %q", got)
	}
}

package status

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/object/objecttest"
	"metascript/controller/reconcile"
	"metascript/engine"
)

// An answer is a hook that answers nothing, or fails.
type answer func() error

func (a answer) Call(context.Context, *hook.Request) (*hook.Response, error) {
	return &hook.Response{}, a()
}

func TestTheConditionSaysWhoAnswers(t *testing.T) {
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
		if diff := cmp.Diff(c.want, fallbackActive(&Result{Active: &build.Version{}, Snapshot: reconcile.Snapshot{Fallbacks: c.hooks.Fallbacks()}})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

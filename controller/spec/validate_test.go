package spec

import (
	"strings"
	"testing"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/plan"
)

func TestScriptRevisionsWithoutEffectAreAWarning(t *testing.T) {
	rolls := []Child{{Method: plan.RollingInPlace}}
	for want, d := range map[string]*Declaration{
		"": {ScriptRevisions: true, Hooks: []NamedHook{{Name: "sync", Hook: &v1alpha1.Hook{Script: &v1alpha1.HookScript{}}}}, Children: rolls},
		"parentResource.revisionHistory.scriptRevisions has no effect, since no hook is a script":                           {ScriptRevisions: true, Children: rolls},
		"parentResource.revisionHistory.scriptRevisions has no effect, since no child resource has a rolling update method": {ScriptRevisions: true, Script: &v1alpha1.ControllerScript{}},
	} {
		if got := strings.Join(d.Warnings(), "; "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestResyncPeriodBelowOneIsAWarning(t *testing.T) {
	for seconds, want := range map[int32]string{
		-1: "resyncPeriodSeconds is -1, which means 1: to reconcile only after changes, leave it out",
		0:  "resyncPeriodSeconds is 0, which means 1: to reconcile only after changes, leave it out",
		1:  "",
	} {
		if got := strings.Join((&Declaration{ResyncPeriodSeconds: &seconds}).Warnings(), "; "); got != want {
			t.Errorf("%d: got %q, want %q", seconds, got, want)
		}
	}
}

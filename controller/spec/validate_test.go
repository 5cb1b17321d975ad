package spec

import (
	"strings"
	"testing"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/plan"
)

func TestScriptRevisionsWithoutEffectAreDoubtful(t *testing.T) {
	rolls := []Child{{Method: plan.RollingInPlace}}
	for want, d := range map[string]*Declaration{
		"": {ScriptRevisions: true, Script: &v1alpha1.ControllerScript{}, Children: rolls},
		"parentResource.revisionHistory.scriptRevisions has no effect without spec.script":                                  {ScriptRevisions: true, Children: rolls},
		"parentResource.revisionHistory.scriptRevisions has no effect, since no child resource has a rolling update method": {ScriptRevisions: true, Script: &v1alpha1.ControllerScript{}},
	} {
		if got := strings.Join(d.Warnings(), "; "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

package status

import (
	"slices"
	"testing"
	"time"

	"metascript/controller/apiserver"
	"metascript/controller/build"
	"metascript/controller/spec/spectest"
)

func TestAPIServerAnswers(t *testing.T) {
	for state, want := range map[apiserver.Condition]string{
		apiserver.Throttled:    "APIServerAnswers: False Throttled",
		apiserver.Unauthorized: "APIServerAnswers: False Unauthorized",
		apiserver.Unreachable:  "APIServerAnswers: False Unreachable",
	} {
		cc := spectest.Composite(t, soundSpec)
		result := resultOf(t, cc, nil, runningVersion(7, build.Built{}))
		result.APIServer = apiserver.State{Condition: state, Code: 503, Since: time.Unix(1, 0), Resources: []string{"widgets.of.another"}}
		first := Of(cc, result)
		if got := differing(first); !slices.Contains(got, want) {
			t.Errorf("%s: %v", state, got)
		}
		// What changes while it lasts does not write the status of each controller again, and is not told to all of them.
		result.APIServer.Since, result.APIServer.Resources = time.Unix(2, 0), nil
		cc.Status = *first
		for i, c := range Of(cc, result).Conditions {
			if c != first.Conditions[i] {
				t.Errorf("%v is written in place of %v", c, first.Conditions[i])
			}
		}
	}
}

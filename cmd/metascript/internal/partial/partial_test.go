package partial

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func value(t *testing.T, text string) any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := utiljson.Unmarshal(asJSON, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDifferences(t *testing.T) {
	const pod = `{spec: {containers: [{name: a, image: x}, {name: b, image: w}], args: [1, 2]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`
	for _, c := range []struct {
		want string
		diff []string
	}{
		{`{}`, nil},
		{`{status: {phase: Running}}`, nil},
		{`{status: {phase: Failed, reason: Evicted}}`, []string{`status.phase: want "Failed", got "Running"`, `status.reason: want "Evicted", got nothing`}},
		{`{spec: {containers: [{image: w}, {name: a}]}}`, nil},
		{`{spec: {containers: [{name: b, image: z}]}}`, []string{`spec.containers[name=b].image: want "z", got "w"`}},
		{`{spec: {containers: [{image: z}]}}`, []string{`spec.containers: none of its 2 items has {"image":"z"}`}},
		{`{status: {conditions: [{status: "False"}]}}`, []string{`status.conditions[0].status: want "False", got "True"`}},
		{`{spec: {args: [1]}}`, []string{`spec.args: want [1], got [1,2]`}},
		{`{spec: {args: {}}}`, []string{`spec.args: want {}, got [1,2]`}},
		{`{status: null, more: null}`, []string{`status: want nothing, got {"conditions":[{"status":"True","type":"Ready"}],"phase":"Running"}`}},
	} {
		if diff := cmp.Diff(c.diff, Differences(value(t, c.want), value(t, pod))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.want, diff)
		}
	}
}

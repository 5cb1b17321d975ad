package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := utiljson.Unmarshal(asJSON, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// The texts are those of the API server; package answers has more of them, which a test compares with a real API server.
func TestValidate(t *testing.T) {
	for _, c := range []struct{ name, object, want string }{
		{"another kind", `{apiVersion: example.com/v1, kind: Pod, spec: {containers: []}}`, ""},
		{"not an object", `{apiVersion: v1, kind: Pod, spec: [1]}`, "spec.containers: Required value"},
		{"a Pod", `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: b, ports: [{containerPort: 1}, {containerPort: 65535}]}]}}`, ""},
		{"a port", `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: b, ports: [{containerPort: 70000}]}]}}`,
			"spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"},
		{"a claim", `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}}`, "spec.accessModes: Required value: at least 1 access mode is required"},
		{"an empty selector", `{apiVersion: apps/v1, kind: Deployment, spec: {selector: {}, template: {spec: {containers: [{name: a, image: b}]}}}}`,
			"spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
		{"an external name", `{apiVersion: v1, kind: Service, spec: {type: ExternalName}}`, "spec.externalName: Required value"},
	} {
		var got []string
		for _, err := range Validate(object(t, c.object)) {
			got = append(got, err.Error())
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestValidateUpdate(t *testing.T) {
	before := object(t, `{apiVersion: batch/v1, kind: Job, spec: {completions: 1, parallelism: 1}}`)
	after := object(t, `{apiVersion: batch/v1, kind: Job, spec: {completions: 2, parallelism: 2}}`)
	if got := ValidateUpdate(after, before).ToAggregate(); got == nil || got.Error() != "spec.completions: Invalid value: 2: field is immutable" {
		t.Errorf("the error is %v", got)
	}
	if got := ValidateUpdate(before, before); len(got) > 0 {
		t.Errorf("no change: %v", got)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		group, kind, name string
		valid             bool
	}{
		{"", "Pod", "a.b", true},
		{"", "Pod", "A", false},
		{"", "Service", "a.b", false},
		{"", "Namespace", "a.b", false},
		{"rbac.authorization.k8s.io", "Role", "a:B", true},
		{"rbac.authorization.k8s.io", "Role", "a/b", false},
		{"batch", "CronJob", strings.Repeat("a", 52), true},
		{"batch", "CronJob", strings.Repeat("a", 53), false},
	} {
		problems := Names(schema.GroupKind{Group: c.group, Kind: c.kind})(c.name, false)
		if valid := len(problems) == 0; valid != c.valid {
			t.Errorf("%s %s: %q", c.kind, c.name, problems)
		}
	}
}

func TestSchedule(t *testing.T) {
	for schedule, want := range map[string]string{
		"* * * * *":            "",
		"*/5 0-6,12 1 jan MON": "",
		"0 0 ? * *":            "",
		"@daily":               "",
		"@every 1h":            "",
		"@often":               "unrecognized descriptor: @often",
		"* * * *":              "expected exactly 5 fields, found 4: [* * * *]",
		"60 * * * *":           "end of range (60) above maximum (59): 60",
		"* * 0 * *":            "beginning of range (0) below minimum (1): 0",
		"5-1 * * * *":          "beginning of range (5) beyond end of range (1): 5-1",
		"*/0 * * * *":          "step of range should be a positive number: */0",
		"x * * * *":            `failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax`,
	} {
		got := ""
		if err := checkSchedule(schedule); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", schedule, got, want)
		}
	}
}

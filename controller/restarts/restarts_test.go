package restarts

import (
	"testing"

	"metascript/controller/object/objecttest"
)

// The ways in which updates restart Pods are tested with those of a plan.
func TestAppliedFieldsRestartPodsIfTemplateDiffers(t *testing.T) {
	before := objecttest.ParseObject(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 3, strategy: {type: RollingUpdate}, template: {spec: {
  terminationGracePeriodSeconds: 30, containers: [{name: side, image: s}, {name: main, image: a, ports: [{containerPort: 80, protocol: TCP}], args: [x]}]}}}, status: {replicas: 4}}`)
	for name, c := range map[string]struct {
		fields string
		how    How
	}{
		"the same":                  {"template: {spec: {containers: [{name: side, image: s}, {name: main, image: a, ports: [{containerPort: 80}], args: [x]}]}}", ""},
		"other replicas":            {"replicas: 9", ""},
		"an image":                  {"template: {spec: {containers: [{name: side, image: s}, {name: main, image: b}]}}", Replaced},
		"an argument":               {"template: {spec: {containers: [{name: side, image: s}, {name: main, args: [y]}]}}", Replaced},
		"another container":         {"template: {spec: {containers: [{name: side, image: s}, {name: main, image: a}, {name: new, image: n}]}}", Replaced},
		"an image, all at once":     {"strategy: {type: Recreate}, template: {spec: {containers: [{name: side, image: t}, {name: main, image: a}]}}", ReplacedAt},
		"a paused one, by an apply": {"paused: true, template: {spec: {containers: [{name: side, image: t}, {name: main, image: a}]}}", Held},
	} {
		applied := objecttest.ParseObject(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {"+c.fields+"}}")
		how, pods := OfUpdate(before, Applied(before, applied))
		if how != c.how || how.Restarts() && (pods == nil || *pods != 4) {
			t.Errorf("%s: %q, want %q", name, how, c.how)
		}
	}
	if how, pods := OfRecreate(before); how != Recreated || *pods != 4 || Pods(before) != 4 || Pods(objecttest.ConfigMap("c", nil)) != 0 {
		t.Errorf("recreated: %q with %v Pods", how, pods)
	}
}

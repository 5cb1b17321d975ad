package replay

import (
	"testing"

	"metascript/controller/binding"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/spec"
)

// Which updates restart Pods is decided by the rules of "metascript plan".
func TestRestarts(t *testing.T) {
	deployment := `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "web", "image": "v1"}]}}}}`
	pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "v1"}]}}`
	template := value(t, `{"spec": {"containers": [{"name": "web", "image": "v2"}]}}`)
	for _, c := range []struct {
		name, child string
		change      func(spec map[string]any)
		want        string
	}{
		{"the template of a Deployment", deployment, func(spec map[string]any) { spec["template"] = template }, wouldRestart},
		{"its replicas", deployment, func(spec map[string]any) { spec["replicas"] = int64(2) }, wouldUpdate},
		{"of one that is paused", deployment, func(spec map[string]any) { spec["template"], spec["paused"] = template, true }, wouldUpdate},
		{"the image of a Pod", pod, func(spec map[string]any) { spec["containers"] = []any{map[string]any{"name": "web", "image": "v2"}} }, wouldRestart},
		{"nothing", pod, func(map[string]any) {}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := object.New(value(t, c.child).(map[string]any))
			after := object.Copy(before)
			c.change(after.Map()["spec"].(map[string]any))
			controller := &loaded{Binding: &binding.Binding{Rules: plan.Rules{before.GroupVersionKind(): plan.InPlace}}, declaration: &spec.Declaration{}}
			for range 2 { // the second time, it is remembered
				if got := controller.verb(change{before, before, after}, true, false); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
			if got := controller.verb(change{before, before, nil}, true, false); got != wouldDelete {
				t.Errorf("removed: got %q", got)
			}
		})
	}
}

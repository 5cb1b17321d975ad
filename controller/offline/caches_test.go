package offline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/schemas"
)

// rule returns a rule for a resource.
func rule(apiVersion, resource string) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "resource": resource}
}

func TestCaches(t *testing.T) {
	composite := func(generate bool, parent map[string]any, children ...any) map[string]any {
		return map[string]any{
			"kind": "CompositeController", "metadata": map[string]any{"name": "c"},
			"spec": map[string]any{"parentResource": parent, "childResources": children, "generateSelector": generate},
		}
	}
	rolling := rule("v1", "pods")
	rolling["updateStrategy"] = map[string]any{"method": "RollingRecreate"}
	for _, c := range []struct {
		name       string
		controller map[string]any
		hooks      []string
		want       []string
	}{
		{"generated selectors", composite(true, rule("apps/v1", "deployments"), rule("v1", "pods"), rule("v1", "namespaces")), []string{hook.Sync},
			[]string{"deployments.apps in all namespaces", "pods with the label controller-uid in all namespaces", "namespaces with the label controller-uid"}},
		{"selectors of the parents", composite(false, rule("apps/v1", "deployments"), rule("v1", "pods")), []string{hook.Sync},
			[]string{"deployments.apps in all namespaces", "pods in all namespaces"}},
		{"a kind of parents and children", composite(true, rule("apps/v1", "deployments"), rule("apps/v1", "deployments")), []string{hook.Sync},
			[]string{"deployments.apps in all namespaces"}},
		{"a kind that is not known", composite(true, rule("example.com/v1", "widgets"), rule("example.com/v1", "gadgets")), []string{hook.Sync},
			[]string{"widgets.example.com", "gadgets.example.com with the label controller-uid"}},
		{"a rolling method and a customize hook", composite(true, rule("apps/v1", "deployments"), rolling), []string{hook.Customize, hook.Sync},
			[]string{
				"deployments.apps in all namespaces", "pods with the label controller-uid in all namespaces",
				"controllerrevisions.metacontroller.k8s.io in all namespaces", "each resource that the customize hook names",
			}},
		{"a decorator", map[string]any{
			"kind": "DecoratorController", "metadata": map[string]any{"name": "c"},
			"spec": map[string]any{"resources": []any{rule("v1", "pods")}, "attachments": []any{rule("v1", "services")}},
		}, []string{hook.Sync}, []string{"pods in all namespaces", "services in all namespaces"}},
		{"a resource that does not exist", composite(true, rule("apps/v1", "deployments"), rule("v1", "gadgets")), []string{hook.Sync}, nil},
		{"a spec that cannot be read", map[string]any{"kind": "CompositeController", "spec": map[string]any{"generateSelector": "yes"}}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.controller["apiVersion"] = "metacontroller.k8s.io/v1alpha1"
			if diff := cmp.Diff(c.want, Caches(object.New(c.controller), c.hooks, schemas.Kubernetes())); diff != "" {
				t.Errorf("caches (-want +got):\n%s", diff)
			}
		})
	}
}

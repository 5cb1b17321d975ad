package kinds

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var widget = Resource{
	APIVersion: "example.com/v1", Kind: "Widget", Plural: "widgets", Singular: "widget", ShortNames: []string{"wd"}, Namespaced: true,
	Subresources: []string{"scale", "status"}, Verbs: customVerbs,
}

func TestKubernetes(t *testing.T) {
	pod, ok := Kubernetes().ByKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if !ok || pod.Plural != "pods" || !pod.Namespaced || !pod.HasStatus() || pod.Rule() != "- {apiVersion: v1, resource: pods}" {
		t.Errorf("Pod is %+v", pod)
	}
	role, ok := Kubernetes().ByName("rbac.authorization.k8s.io/v1", "clusterroles")
	if !ok || role.Kind != "ClusterRole" || role.Namespaced || role.HasStatus() || role.GVR().Group != "rbac.authorization.k8s.io" {
		t.Errorf("clusterroles is %+v", role)
	}
	if KubernetesSource().Kubernetes == "" {
		t.Error("the version is not known")
	}
}

func TestEncodeIsDecoded(t *testing.T) {
	source := Source{"v1.2.3", "abc"}
	text, err := Encode(source, Table{widget})
	if err != nil {
		t.Fatal(err)
	}
	gotSource, got, err := Decode(text)
	if err != nil || gotSource != source {
		t.Errorf("source %v, error %v", gotSource, err)
	}
	if diff := cmp.Diff(Table{widget}, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	for _, damaged := range []string{"", "{}\n[]"} {
		if _, _, err := Decode([]byte(damaged)); err == nil {
			t.Errorf("no error for %q", damaged)
		}
	}
}

func TestDefinedAndDiscoveredAreTheSame(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", ShortNames: []string{"wd"}, Kind: "Widget"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v0"},
			{Name: "v1", Served: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}, Scale: &apiextensionsv1.CustomResourceSubresourceScale{}}},
		},
	}}
	if diff := cmp.Diff(Table{widget}, Defined(crd)); diff != "" {
		t.Errorf("defined (-want +got):\n%s", diff)
	}
	list := &metav1.APIResourceList{APIResources: []metav1.APIResource{
		{Name: "widgets/status", Kind: "Widget"}, {Name: "widgets/scale", Group: "autoscaling", Version: "v1", Kind: "Scale"},
		{Name: "widgets", SingularName: "widget", ShortNames: []string{"wd"}, Kind: "Widget", Namespaced: true, Verbs: []string{"watch", "update", "patch", "list", "get", "deletecollection", "delete", "create"}},
	}}
	if diff := cmp.Diff(Table{widget}, Discovered("example.com/v1", list)); diff != "" {
		t.Errorf("discovered (-want +got):\n%s", diff)
	}
}

func TestHints(t *testing.T) {
	table := append(Table{widget}, Kubernetes()...)
	for _, test := range []struct{ apiVersion, name, resource, kind string }{
		{"v1", "Pod", `did you mean "resource: pods"?`, ``},
		{"v1", "pod", `did you mean "resource: pods"?`, `did you mean "kind: Pod"?`},
		{"v1", "Pods", `did you mean "resource: pods"?`, `did you mean "kind: Pod"?`},
		{"v1", "po", `did you mean "resource: pods"?`, `did you mean "kind: Pod"?`},
		{"v1", "pdos", `did you mean "resource: pods"?`, ``},
		{"v1", "Pdo", ``, `did you mean "kind: Pod"?`},
		{"apps/v1", "Deploymnet", `did you mean "resource: deployments"?`, `did you mean "kind: Deployment"?`},
		{"v1", "Deployment", `did you mean "apiVersion: apps/v1, resource: deployments"?`, `did you mean "apiVersion: apps/v1"?`},
		{"v1", "deployments", `did you mean "apiVersion: apps/v1"?`, `did you mean "apiVersion: apps/v1, kind: Deployment"?`},
		{"extensions/v1beta1", "Deployment", `did you mean "apiVersion: apps/v1, resource: deployments"?`, `did you mean "apiVersion: apps/v1"?`},
		{"extensions/v1beta1", "Deploymnet", `did you mean "apiVersion: apps/v1, resource: deployments"?`, `did you mean "apiVersion: apps/v1, kind: Deployment"?`},
		{"apps", "Deployment", `did you mean "apiVersion: apps/v1, resource: deployments"?`, `did you mean "apiVersion: apps/v1"?`},
		{"app/v1", "deployments", `did you mean "apiVersion: apps/v1"?`, `did you mean "apiVersion: apps/v1, kind: Deployment"?`},
		{"autoscaling/v2beta2", "HorizontalPodAutoscaler", `did you mean "apiVersion: autoscaling/v2, resource: horizontalpodautoscalers"?`, `did you mean "apiVersion: autoscaling/v2"?`},
		{"batch/v1beta1", "CronJob", `did you mean "apiVersion: batch/v1, resource: cronjobs"?`, `did you mean "apiVersion: batch/v1"?`},
		{"v1", "xyzzy", ``, ``},
		{"example.com/v1", "Widgets", `did you mean "resource: widgets"?`, `did you mean "kind: Widget"?`},
		{"example.com/v2", "Widget", `did you mean "apiVersion: example.com/v1, resource: widgets"?`, `did you mean "apiVersion: example.com/v1"?`},
		{"example.org/v1", "Widget", ``, ``},
		{"example.org/v1", "Service", ``, ``},
		{"v1", "Widget", ``, ``},
		{"a/b/c", "Pod", ``, ``},
	} {
		if got := table.ResourceHint(test.apiVersion, test.name); got != test.resource {
			t.Errorf("resource %s in %s: %s, want %s", test.name, test.apiVersion, got, test.resource)
		}
		if test.kind == "" && test.name == "Pod" {
			continue
		}
		if got := table.KindHint(schema.FromAPIVersionAndKind(test.apiVersion, test.name)); got != test.kind {
			t.Errorf("kind %s in %s: %s, want %s", test.name, test.apiVersion, got, test.kind)
		}
	}
}

func TestMayExist(t *testing.T) {
	for apiVersion, want := range map[string]bool{
		"v1": false, "v2": false, "apps/v1": false, "extensions/v1beta1": false, "app/v1": false, "apps": false,
		"resource.k8s.io/v1beta1": true, "policy/v1beta1": true, "example.com/v1": true, "a/b/c": false, "gateway.networking.k8s.io/v1": true,
	} {
		if got := MayExist(apiVersion); got != want {
			t.Errorf("%s: %t", apiVersion, got)
		}
	}
}

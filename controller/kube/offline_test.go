package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/kinds"
	"metascript/controller/object"
)

// find is ByName for a test in which the resource is known: "Pod, namespaced".
func find(t *testing.T, f *Offline, apiVersion, plural string) string {
	t.Helper()
	found, err := f.ByName(apiVersion, plural)
	if err != nil {
		t.Errorf("%s in %s: %v", plural, apiVersion, err)
		return ""
	}
	if gv := found.GroupVersion().String(); gv != apiVersion || found.Resource != plural {
		t.Errorf("%s in %s: found %s in %s", plural, apiVersion, found.Resource, gv)
	}
	scope := ", cluster-scoped"
	if found.Namespaced {
		scope = ", namespaced"
	}
	return found.Kind + scope
}

func TestBuiltinResourcesAreKnown(t *testing.T) {
	for _, c := range []struct{ apiVersion, plural, want string }{
		{"v1", "pods", "Pod, namespaced"},
		{"v1", "services", "Service, namespaced"},
		{"v1", "configmaps", "ConfigMap, namespaced"},
		{"v1", "secrets", "Secret, namespaced"},
		{"v1", "endpoints", "Endpoints, namespaced"},
		{"v1", "persistentvolumeclaims", "PersistentVolumeClaim, namespaced"},
		{"v1", "persistentvolumes", "PersistentVolume, cluster-scoped"},
		{"v1", "namespaces", "Namespace, cluster-scoped"},
		{"v1", "nodes", "Node, cluster-scoped"},
		{"v1", "events", "Event, namespaced"},
		{"events.k8s.io/v1", "events", "Event, namespaced"},
		{"apps/v1", "deployments", "Deployment, namespaced"},
		{"apps/v1", "statefulsets", "StatefulSet, namespaced"},
		{"batch/v1", "jobs", "Job, namespaced"},
		{"batch/v1", "cronjobs", "CronJob, namespaced"},
		{"networking.k8s.io/v1", "ingresses", "Ingress, namespaced"},
		{"networking.k8s.io/v1", "networkpolicies", "NetworkPolicy, namespaced"},
		{"networking.k8s.io/v1", "ingressclasses", "IngressClass, cluster-scoped"},
		{"discovery.k8s.io/v1", "endpointslices", "EndpointSlice, namespaced"},
		{"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget, namespaced"},
		{"rbac.authorization.k8s.io/v1", "roles", "Role, namespaced"},
		{"rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole, cluster-scoped"},
		{"rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding, cluster-scoped"},
		{"storage.k8s.io/v1", "storageclasses", "StorageClass, cluster-scoped"},
		{"scheduling.k8s.io/v1", "priorityclasses", "PriorityClass, cluster-scoped"},
		{"autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler, namespaced"},
		{"admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration, cluster-scoped"},
		{"coordination.k8s.io/v1", "leases", "Lease, namespaced"},
		{"apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition, cluster-scoped"},
		{"apiregistration.k8s.io/v1", "apiservices", "APIService, cluster-scoped"},
	} {
		if got := find(t, &Offline{Kinds: kinds.Kubernetes()}, c.apiVersion, c.plural); got != c.want {
			t.Errorf("%s in %s is %s, want %s", c.plural, c.apiVersion, got, c.want)
		}
	}
}

func TestStatusOfBuiltinResources(t *testing.T) {
	for _, c := range []struct {
		apiVersion, plural string
		want               bool
	}{
		{"v1", "pods", true},
		{"v1", "namespaces", true},
		{"v1", "configmaps", false},
		{"v1", "secrets", false},
		{"v1", "serviceaccounts", false},
		{"apps/v1", "statefulsets", true},
		{"networking.k8s.io/v1", "networkpolicies", false},
		{"rbac.authorization.k8s.io/v1", "clusterroles", false},
		{"storage.k8s.io/v1", "csinodes", false},
		{"apiextensions.k8s.io/v1", "customresourcedefinitions", true},
	} {
		if found, err := (&Offline{Kinds: kinds.Kubernetes()}).ByName(c.apiVersion, c.plural); err != nil || found.HasStatus != c.want {
			t.Errorf("%s in %s: status subresource %t, want %t (error: %v)", c.plural, c.apiVersion, found.HasStatus, c.want, err)
		}
	}
}

// definition is of the namespaced CatSet, whose v1 has a status subresource and whose v1beta1 has none.
func definition(change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com",
		Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "catsets", Kind: "CatSet"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1beta1", Served: true},
			{Name: "v1", Served: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}},
			{Name: "v2", Served: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{}}},
		},
	}}
	if change != nil {
		change(crd)
	}
	return crd
}

// defined returns the resources of definitions.
func defined(crds ...*apiextensionsv1.CustomResourceDefinition) kinds.Table {
	var table kinds.Table
	for _, crd := range crds {
		table = append(table, kinds.Defined(crd)...)
	}
	return table
}

func TestResourceOfDefinition(t *testing.T) {
	f := &Offline{Kinds: defined(
		definition(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Group = "other.com" }),
		definition(nil),
		definition(func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Scope, crd.Spec.Names = apiextensionsv1.ClusterScoped, apiextensionsv1.CustomResourceDefinitionNames{Plural: "oxen", Kind: "Ox"}
		}),
	)}
	for apiVersion, status := range map[string]bool{"example.com/v1beta1": false, "example.com/v1": true, "example.com/v2": false, "other.com/v1": true} {
		got, err := f.ByName(apiVersion, "catsets")
		if err != nil {
			t.Errorf("%s: %v", apiVersion, err)
			continue
		}
		gv, _ := schema.ParseGroupVersion(apiVersion)
		want := Resource{gv.WithResource("catsets"), "CatSet", true, status}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("catsets in %s (-want +got):\n%s", apiVersion, diff)
		}
		if kind := got.ObjectKind(); kind != gv.WithKind("CatSet") {
			t.Errorf("catsets in %s are of kind %s", apiVersion, kind)
		}
	}
	if got, want := find(t, f, "example.com/v1", "oxen"), "Ox, cluster-scoped"; got != want {
		t.Errorf("oxen are %s, want %s", got, want)
	}
}

func TestDefinitionHasPrecedenceOverGuess(t *testing.T) {
	f := &Offline{
		Kinds: defined(definition(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Scope = apiextensionsv1.ClusterScoped })),
		Seen:  []object.Kind{{Group: "example.com", Version: "v1", Kind: "CatSet"}},
	}
	if got, want := find(t, f, "example.com/v1", "catsets"), "CatSet, cluster-scoped"; got != want {
		t.Errorf("catsets are %s, want %s", got, want)
	}
}

func TestResourceOfSeenKindIsGuessed(t *testing.T) {
	f := &Offline{}
	for _, kind := range []string{"Cat", "CatSet", "Policy", "PolicySet", "Bus", "Widget"} {
		f.Seen = append(f.Seen, object.Kind{Group: "other.com", Version: "v1", Kind: "Other" + kind}, object.Kind{Group: "example.com", Version: "v1", Kind: kind})
	}
	for plural, kind := range map[string]string{
		"cats": "Cat", "catsets": "CatSet", "policies": "Policy", "policysets": "PolicySet", "buses": "Bus", "widgets": "Widget",
	} {
		if got, want := find(t, f, "example.com/v1", plural), kind+", namespaced"; got != want {
			t.Errorf("%s are %s, want %s", plural, got, want)
		}
	}
}

func TestKnownKindOfResource(t *testing.T) {
	f := &Offline{
		Kinds: defined(definition(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Scope = apiextensionsv1.ClusterScoped })),
		Known: map[schema.GroupVersionResource]object.Kind{
			{Group: "example.com", Version: "v1", Resource: "oxen"}:    {Group: "example.com", Version: "v1", Kind: "Ox"},
			{Group: "example.com", Version: "v1", Resource: "series"}:  {Group: "example.com", Version: "v1", Kind: "Series"},
			{Group: "example.com", Version: "v1", Resource: "widgets"}: {Group: "example.com", Version: "v1", Kind: "Gadget"},
			{Group: "example.com", Version: "v1", Resource: "catsets"}: {Group: "example.com", Version: "v1", Kind: "Wrong"},
		},
		Seen: []object.Kind{{Group: "example.com", Version: "v1", Kind: "Widget"}},
	}
	for plural, want := range map[string]string{
		"oxen": "Ox, namespaced", "series": "Series, namespaced",
		"widgets": "Gadget, namespaced",     // what is said goes before what is guessed
		"catsets": "CatSet, cluster-scoped", // and a definition before both
	} {
		if got := find(t, f, "example.com/v1", plural); got != want {
			t.Errorf("%s are %s, want %s", plural, got, want)
		}
	}
}

func TestErrorForUnknownResource(t *testing.T) {
	f := &Offline{
		Kinds: append(defined(definition(nil)), kinds.Kubernetes()...),
		Seen:  []object.Kind{{Group: "example.com", Version: "v1", Kind: "Widget"}},
	}
	for _, c := range []struct{ apiVersion, plural, want string }{
		{"v1", "widgets", `there is no resource "widgets" in v1`},
		{"v1", "pod", `there is no resource "pod" in v1: did you mean "resource: pods"?`},
		{"v1", "Pod", `there is no resource "Pod" in v1: did you mean "resource: pods"?`},
		{"apps/v1", "pods", `there is no resource "pods" in apps/v1: did you mean "apiVersion: v1"?`},
		{"v1", "deployments", `there is no resource "deployments" in v1: did you mean "apiVersion: apps/v1"?`},
		{"extensions/v1beta1", "ingresses", `there is no resource "ingresses" in extensions/v1beta1: did you mean "apiVersion: networking.k8s.io/v1"?`},
		{"example.com/v2", "widgets", `what kind is resource "widgets" in example.com/v2? give its CustomResourceDefinition, or an object of it`},
		{"other.com/v1", "widgets", `what kind is resource "widgets" in other.com/v1? give its CustomResourceDefinition, or an object of it`},
		{"example.com/v3", "catsets", `what kind is resource "catsets" in example.com/v3? give its CustomResourceDefinition, or an object of it; did you mean "apiVersion: example.com/v2"?`},
		{"example.com/v1", "gadgets", `what kind is resource "gadgets" in example.com/v1? give its CustomResourceDefinition, or an object of it`},
		{"example.com/v1", "catset", `what kind is resource "catset" in example.com/v1? give its CustomResourceDefinition, or an object of it; did you mean "resource: catsets"?`},
		{"example.com/v1", "Widget", `there is no resource "Widget" in example.com/v1: did you mean "resource: widgets"?`},
		{"example.com/v1", "widget", `there is no resource "widget" in example.com/v1: did you mean "resource: widgets"?`},
		{"a/b/c", "pods", `apiVersion is "a/b/c", want one such as "v1" or "apps/v1"`},
	} {
		if _, err := f.ByName(c.apiVersion, c.plural); err == nil || err.Error() != c.want {
			t.Errorf("%s in %s: error %v, want %s", c.plural, c.apiVersion, err, c.want)
		}
	}
}

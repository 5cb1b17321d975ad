package uninstall

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"metascript/controller/kube"
)

// labelled returns an object with the label of a server, and its resource.
func labelled(group, resource, namespace, name string, annotations map[string]string) (kube.Resource, *metav1.PartialObjectMetadata) {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations, Labels: map[string]string{"app.kubernetes.io/name": "metascript"}}}
	return kube.Resource{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}}, o
}

func helm(name, namespace string) map[string]string {
	return map[string]string{helmRelease: name, helmNamespace: namespace}
}

// binding returns a client of a cluster with a ClusterRoleBinding for the ServiceAccount of a server in the namespace system.
func binding() *dynamicfake.FakeDynamicClient {
	return dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "server"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": "system", "name": "metascript"}},
	}})
}

// A tenant writes objects with the label of a server in its own namespace. No command has what it wrote.
func TestCommandsHaveNothingOfTenants(t *testing.T) {
	const evil = "metascript; kubectl create clusterrolebinding x --clusterrole=cluster-admin --serviceaccount=people:alice #"
	const rbac = "rbac.authorization.k8s.io"
	for name, c := range map[string]struct {
		objects func(s *servers)
		want    []string
	}{
		"only of tenants": {func(s *servers) {
			s.add(labelled("", "services", "team", "x", helm(evil, "x")))
			s.add(labelled("", "services", "team", "y", helm("metascript", "a; id")))
			s.add(labelled("apps", "deployments", "team", "metacontroller", helm("web", "system")))
			s.add(labelled(rbac, "roles", "team", "$(id)", nil))
		}, []string{}},
		"beside a server": {func(s *servers) {
			s.add(labelled("", "services", "team", "x", helm(evil, "team")))
			s.add(labelled("apps", "deployments", "team", "x", helm("web", "team")))
			s.add(labelled("apps", "deployments", "system", "metascript", nil))
			s.add(labelled(rbac, "clusterrolebindings", "", "server", nil))
		}, []string{"kubectl delete --namespace system deployments/metascript", "kubectl delete clusterrolebindings/server"}},
		"a release": {func(s *servers) {
			s.add(labelled("apps", "deployments", "system", "metascript", helm("web", "system")))
			s.add(labelled("", "services", "system", "metascript", helm(evil, "system")))
			s.add(labelled(rbac, "clusterrolebindings", "", "server", helm("web", "system")))
			s.add(labelled("", "services", "team", "x", helm("other", "team")))
			s.add(labelled(rbac, "clusterroles", "", "a;id", nil))
		}, []string{"helm uninstall web --namespace system", "kubectl delete --namespace system services/metascript", "kubectl delete 'clusterroles/a;id'"}},
	} {
		s := &servers{}
		c.objects(s)
		if err := s.locate(t.Context(), binding()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(c.want, s.commands()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

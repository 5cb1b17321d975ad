package devsession

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/object/objecttest"
)

const edited = someController + `
---
{apiVersion: metacontroller.k8s.io/v1alpha1, kind: DecoratorController, metadata: {name: d}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: sites.example.com}}
`

func parse(t *testing.T, text string) []manifest.Document {
	t.Helper()
	docs, err := manifest.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// holding returns a cluster with the objects in a text.
func holding(t *testing.T, text string) (*cluster, *fake.FakeDynamicClient) {
	var objects []runtime.Object
	for _, doc := range parse(t, text) {
		objects = append(objects, doc.Object)
	}
	lists := map[schema.GroupVersionResource]string{
		crdResource:                   manifest.KindCRD + "List",
		v1alpha1.CompositeControllers: v1alpha1.KindCompositeController + "List",
		v1alpha1.DecoratorControllers: v1alpha1.KindDecoratorController + "List",
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objecttest.ForClient(objects...)...)
	return &cluster{client: client, host: "https://x"}, client
}

func TestWarningsAboutMissingDefinitions(t *testing.T) {
	c, client := holding(t, "")
	c.kubectl = " --kubeconfig cluster.yaml"
	want := []string{"CustomResourceDefinition sites.example.com is not in the cluster; apply it: kubectl apply --kubeconfig cluster.yaml -f a.yaml"}
	if diff := cmp.Diff(want, c.missingDefinitions(t.Context(), parse(t, edited))); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(crdResource.GroupResource(), "sites.example.com", nil)
	})
	if got := c.missingDefinitions(t.Context(), parse(t, edited)); got != nil {
		t.Errorf("there are warnings although reading is forbidden: %q", got)
	}
	if c, _ := holding(t, edited); c.missingDefinitions(t.Context(), parse(t, edited)) != nil {
		t.Error("there is a warning about a definition that the cluster has")
	}
}

func TestWarningsAboutControllersThatRunInTheCluster(t *testing.T) {
	paused := strings.Replace(edited, "{name: d}", "{name: d}, spec: {paused: true}", 1)
	for _, c := range []struct {
		name, stored string
		dryRun       bool
		want         []string
	}{
		{"none", "", false, nil},
		{"one is paused", paused, false, []string{
			`CompositeController c is in the cluster too, whose server reverts what this one does; pause it there: kubectl patch compositecontrollers c --type=merge -p '{"spec":{"paused":true}}'`}},
		{"a dry run", edited, true, []string{"CompositeController c is in the cluster too", "DecoratorController d is in the cluster too"}},
	} {
		cluster, _ := holding(t, c.stored)
		if diff := cmp.Diff(c.want, cluster.runningControllers(t.Context(), parse(t, edited), c.dryRun)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestErrorOfConnectHasTheHost(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if _, err := connect(&rest.Config{Host: server.URL}, ""); err == nil || !strings.HasPrefix(err.Error(), "connect to the cluster at "+server.URL+": ") {
		t.Errorf("the error is %v", err)
	}
}

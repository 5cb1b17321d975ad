package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"metascript/controller/kinds"
	"metascript/controller/schemas"
	embed "metascript/test/schemas"
)

// sameVersion skips a test if the cluster is not of the version whose schemas are embedded.
func sameVersion(t *testing.T) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if embedded := kinds.KubernetesSource().Kubernetes; version.GitVersion != embedded {
		t.Skipf("the cluster is of version %s, and the embedded schemas are of %s", version.GitVersion, embedded)
	}
}

// "make schemas" would change nothing: the embedded kinds and schemas are those of the API server. Their checksum is in the same file
// as the kinds.
func TestEmbeddedSchemasAreThoseOfTheAPIServer(t *testing.T) {
	t.Parallel()
	sameVersion(t)
	got, err := embed.Read(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(root, "controller", "kinds", "kubernetes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got.Kinds) {
		t.Errorf("controller/kinds/kubernetes.jsonl differs from what the API server serves: run make schemas\n%s", got.Kinds)
	}
}

// No object of Kubernetes that the API server has stored is invalid by the embedded schemas.
func TestStoredObjectsAreValid(t *testing.T) {
	t.Parallel()
	sameVersion(t)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	known, checked := schemas.Kubernetes(), 0
	for _, r := range known.Kinds() {
		kind, err := known.Kind(r.GVK())
		if err != nil {
			t.Fatal(err)
		}
		list, err := client.Resource(r.GVR()).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			continue // it cannot be listed, such as a TokenReview
		}
		for _, o := range list.Items {
			checked++
			for _, p := range schemas.OfNew(kind.Validate(o.Object)) {
				t.Errorf("%s %s/%s: %s", r.Kind, o.GetNamespace(), o.GetName(), p)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d objects were checked", checked)
	}
}

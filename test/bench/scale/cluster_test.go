package scale

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// A cluster is a control plane that is stopped at the end of the benchmark.
type cluster struct {
	dynamic.Interface
	kubeconfig string
}

func newCluster(b *testing.B) *cluster {
	b.Helper()
	path, err := filepath.Abs(filepath.Join(root, "build", "cluster"))
	must(b, err)
	command := exec.Command(path, "run", "--until-eof")
	stdin, err := command.StdinPipe()
	must(b, err)
	stdout, err := command.StdoutPipe()
	must(b, err)
	if err := command.Start(); err != nil {
		b.Fatalf("start the test cluster (\"make cluster\" builds it): %v", err)
	}
	b.Cleanup(func() {
		stdin.Close()
		_ = command.Wait()
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if kubeconfig, found := strings.CutPrefix(lines.Text(), "KUBECONFIG="); found {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			must(b, err)
			config.QPS = -1
			client, err := dynamic.NewForConfig(config)
			must(b, err)
			return &cluster{client, kubeconfig}
		}
	}
	b.Fatal("the test cluster ended before it was ready")
	return nil
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

var (
	widgets     = schema.GroupVersionResource{Group: "bench.example.com", Version: "v1", Resource: "widgets"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	controllers = schema.GroupVersionResource{Group: "metacontroller.k8s.io", Version: "v1alpha1", Resource: "compositecontrollers"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.bench.example.com}
spec:
  group: bench.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// define installs the CustomResourceDefinitions of the controllers and of widgets.
func (c *cluster) define(b *testing.B) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(root, "manifests", "crds", "*.yaml"))
	must(b, err)
	texts := [][]byte{[]byte(widgetDefinition)}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(b, err)
		texts = append(texts, text)
	}
	for _, text := range texts {
		crd := &unstructured.Unstructured{}
		must(b, yaml.Unmarshal(text, &crd.Object))
		_, err := c.Resource(definitions).Create(b.Context(), crd, metav1.CreateOptions{})
		must(b, err)
		wait(b, func() bool {
			stored, err := c.Resource(definitions).Get(b.Context(), crd.GetName(), metav1.GetOptions{})
			return err == nil && strings.Contains(fmt.Sprint(stored.Object["status"]), "type:Established")
		})
	}
}

// wait waits until done returns true.
func wait(b *testing.B, done func() bool) {
	b.Helper()
	for end := time.Now().Add(10 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatal("timed out after 10 minutes")
		}
	}
}

// create creates a parent.
func (c *cluster) create(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	return c.Resource(widgets).Namespace("default").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "bench.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{"value": "first"},
	}}, metav1.CreateOptions{})
}

package scale

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"metascript/test/address"
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

// A server is a running server.
type server struct {
	process *exec.Cmd
	metrics string // the URL of its metrics
}

// build builds the program into dir.
func build(b *testing.B, dir string) (binary string) {
	b.Helper()
	binary = filepath.Join(dir, "metascript")
	command := exec.Command("go", "build", "-o", binary, "./cmd/metascript")
	command.Dir, command.Stderr = root, os.Stderr
	must(b, command.Run())
	return binary
}

func (c *cluster) serve(b *testing.B, binary string, flags ...string) *server {
	b.Helper()
	metrics, err := address.Free()
	must(b, err)
	health, err := address.Free()
	must(b, err)
	flags = append(flags, "--kubeconfig="+c.kubeconfig, "--metrics-address="+metrics, "--health-probe-bind-address="+health)
	command := exec.Command(binary, append([]string{"controller"}, flags...)...)
	var log bytes.Buffer
	command.Stderr = &log
	must(b, command.Start())
	b.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		if b.Failed() {
			b.Log(log.String())
		}
	})
	wait(b, func() bool {
		resp, err := http.Get("http://" + health + "/readyz")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	return &server{command, "http://" + metrics + "/metrics"}
}

// syncs returns the number of syncs since the start.
func (s *server) syncs(b *testing.B) float64 { return s.total(b, "metascript_sync_duration_seconds") }

// requests returns the number of requests of the server to the API server.
func (s *server) requests(b *testing.B) float64 { return s.total(b, "rest_client_requests_total") }

// total returns the sum of all series of a metric: the values of counters, and the sample counts of histograms.
func (s *server) total(b *testing.B, metric string) float64 {
	b.Helper()
	resp, err := http.Get(s.metrics)
	must(b, err)
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	must(b, err)
	n := 0.
	for _, m := range families[metric].GetMetric() {
		n += float64(m.GetHistogram().GetSampleCount()) + m.GetCounter().GetValue()
	}
	return n
}

// cpu returns the CPU time that the server has used, without its child processes.
func (s *server) cpu(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	must(b, err)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	must(b, err)
	system, err := strconv.Atoi(fields[12])
	must(b, err)
	return time.Duration(user+system) * 10 * time.Millisecond // the length of a tick on Linux
}

// resident returns the resident memory of the server, in bytes.
func (s *server) resident(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.process.Process.Pid))
	must(b, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	must(b, err)
	return float64(pages * os.Getpagesize())
}

func (c *cluster) create(ctx context.Context, name string) error {
	_, err := c.Resource(widgets).Namespace("default").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "bench.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{"value": "first"},
	}}, metav1.CreateOptions{})
	return err
}

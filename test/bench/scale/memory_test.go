package scale

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"metascript/test/bench/pods"
)

// BenchmarkMemory measures the memory of a controller of Pods while it fills its cache and after that. The Pods have managedFields, and
// belong to nobody. It does so for the reference, and for a server with a controller whose children are Pods, without and with
// generateSelector. With generateSelector there is a parent in the namespace of the Pods, which has no children: without one, Pods are not
// even listed. The results without Pods are those to subtract.
//
// If the variable PROFILES is set to a directory, a heap profile of each is stored there.
func BenchmarkMemory(b *testing.B) {
	dir := b.TempDir()
	programs := map[string]string{server: build(b, dir, server), reference: build(b, dir, reference)}
	c := newCluster(b)
	c.define(b)
	for _, n := range []int{0, 20_000, 40_000} {
		for _, by := range []string{"reference", "server", "generateSelector"} {
			b.Run(fmt.Sprintf("pods=%d/by=%s", n, by), func(b *testing.B) {
				for b.Loop() {
					measureMemory(b, c.withPods(b, n), by, programs, n)
				}
			})
		}
	}
}

func measureMemory(b *testing.B, c *cluster, by string, programs map[string]string, n int) {
	var p *process
	cached := n
	if by == "reference" {
		p = c.refer(b, programs[reference], "", "--children=pods.v1.")
	} else {
		c.controlPods(b, by == "generateSelector")
		p = c.serve(b, programs[server], "--namespace=default")
	}
	if by == "generateSelector" {
		cached = 0
	}
	wait(b, func() bool { return p.by(b, "metascript_cached_objects", "resource")["pods"] == float64(cached) })
	time.Sleep(3 * time.Second) // two seconds after its start, a server looks for owned Pods without the label of generateSelector
	p.settled(b)
	b.ReportMetric(p.cpu(b).Seconds(), "fill-cpu-s")
	b.ReportMetric(p.collect(b)/(1<<20), "heap-MiB")
	b.ReportMetric(p.steady(b)/(1<<20), "steady-MiB")
	b.ReportMetric(p.memory(b, "VmHWM")/(1<<20), "peak-MiB")
	if folder := os.Getenv("PROFILES"); folder != "" {
		must(b, os.WriteFile(filepath.Join(folder, fmt.Sprintf("heap-%s-%d.pprof", by, n)), p.heapProfile(b, "gc=1"), 0o644))
	}
}

// controlPods creates a controller whose children are Pods, until the end of the benchmark; with generateSelector also a parent.
func (c *cluster) controlPods(b *testing.B, generateSelector bool) {
	b.Helper()
	c.controlBy(b, map[string]any{
		"generateSelector": generateSelector,
		"childResources":   []any{map[string]any{"apiVersion": "v1", "resource": "pods"}},
		"script":           map[string]any{"language": "Starlark", "inline": "def sync(parent, children):\n    return {}\n"},
	})
	if generateSelector {
		_, err := c.create(b.Context(), "w0")
		must(b, err)
		b.Cleanup(func() {
			must(b, c.Resource(widgets).Namespace("default").Delete(context.Background(), "w0", metav1.DeleteOptions{}))
		})
	}
	b.Cleanup(func() { must(b, c.Resource(controllers).Delete(context.Background(), "bench", metav1.DeleteOptions{})) })
}

// withPods returns a cluster with n Pods: an API server that serves these, and passes all other requests on to the API server of c.
func (c *cluster) withPods(b *testing.B, n int) *cluster {
	b.Helper()
	served, err := pods.NewServer(n)
	must(b, err)
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	must(b, err)
	transport, err := rest.TransportFor(config)
	must(b, err)
	target, err := url.Parse(config.Host)
	must(b, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
	}
	mux := http.NewServeMux()
	mux.Handle("GET /api/v1/pods", served)
	mux.Handle("GET /api/v1/namespaces/default/pods", served)
	mux.Handle("/", proxy)
	front := httptest.NewUnstartedServer(mux)
	front.EnableHTTP2 = true
	front.StartTLS()
	b.Cleanup(front.Close)

	kubeconfig, err := clientcmd.LoadFromFile(c.kubeconfig)
	must(b, err)
	for _, at := range kubeconfig.Clusters {
		at.Server, at.CertificateAuthorityData = front.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	}
	file := filepath.Join(b.TempDir(), "kubeconfig")
	must(b, clientcmd.WriteToFile(*kubeconfig, file))
	return &cluster{c.Interface, file}
}

// collect collects garbage in the process, and returns the size of the heap, in bytes.
func (p *process) collect(b *testing.B) float64 {
	b.Helper()
	text := p.heapProfile(b, "gc=1&debug=1")
	found := regexp.MustCompile(`# HeapAlloc = (\d+)`).FindSubmatch(text)
	if found == nil {
		b.Fatal("the heap profile does not have the size of the heap")
	}
	size, err := strconv.Atoi(string(found[1]))
	must(b, err)
	return float64(size)
}

// heapProfile returns the heap profile of the process.
func (p *process) heapProfile(b *testing.B, query string) []byte {
	b.Helper()
	resp, err := http.Get(p.profile + "?" + query)
	must(b, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(b, err)
	return text
}

// steady waits until the process does not return memory to the system any more, and returns its resident memory, in bytes.
func (p *process) steady(b *testing.B) float64 {
	b.Helper()
	for {
		before := p.memory(b, "VmRSS")
		time.Sleep(5 * time.Second)
		if now := p.memory(b, "VmRSS"); now > before*0.99 {
			return now
		}
	}
}

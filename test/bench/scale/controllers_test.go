package scale

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// BenchmarkControllers measures a server that starts with many controllers for one kind, each of which selects one parent: the time until
// all controllers are ready and all parents are synced, and the CPU time and memory of the server after that.
func BenchmarkControllers(b *testing.B) {
	binary := build(b, b.TempDir(), server)
	for _, kind := range []string{"CompositeController", "DecoratorController"} {
		for _, n := range []int{50, 200, 1000} {
			b.Run(fmt.Sprintf("kind=%s/controllers=%d", kind, n), func(b *testing.B) {
				for b.Loop() {
					measureControllers(b, binary, kind, n)
				}
			})
		}
	}
}

// restOf returns how long a server with n controllers is measured after it has synced all parents. It includes the periodic check of each
// controller, which happens at most once a minute.
func restOf(n int) time.Duration {
	return 15*time.Second + max(time.Minute, time.Duration(n)*time.Second/5)
}

func measureControllers(b *testing.B, binary, kind string, n int) {
	c := newCluster(b)
	c.define(b)
	c.tenants(b, kind, n)
	ready, synced := c.all(b, resourceOf(kind), n, isReady), c.all(b, widgets, n, isSynced)
	begun := time.Now()
	p := c.serve(b, binary, "--namespace=default")
	must(b, <-ready)
	must(b, <-synced)
	b.ReportMetric(time.Since(begun).Seconds(), "ready-s")
	b.ReportMetric(p.cpu(b).Seconds(), "ready-cpu-s")
	p.settled(b)
	b.ReportMetric(p.total(b, requests)/float64(n), "requests/controller")

	cpu, begun := p.cpu(b), time.Now()
	time.Sleep(restOf(n))
	b.ReportMetric(100*(p.cpu(b)-cpu).Seconds()/time.Since(begun).Seconds(), "rest-%cpu")
	b.ReportMetric(p.memory(b, "VmRSS")/(1<<20), "rest-MiB")
}

// tenantScript returns one ConfigMap for each parent. With a DecoratorController the parent has no status, so an annotation shows that it
// was synced.
const tenantScript = `
def sync(%[1]s, %[2]s):
    name = %[1]s["metadata"]["name"]
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"name": name}}
    return {%[3]s, "%[2]s": [child]}
`

// tenants creates n controllers, and a parent for each of them.
func (c *cluster) tenants(b *testing.B, kind string, n int) {
	b.Helper()
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			labels := map[string]any{"tenant": fmt.Sprint(i)}
			_, err := c.Resource(resourceOf(kind)).Create(ctx, tenant(kind, fmt.Sprintf("c%d", i), labels), metav1.CreateOptions{})
			if err != nil {
				return err
			}
			_, err = c.Resource(widgets).Namespace("default").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "bench.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": fmt.Sprintf("w%d", i), "labels": labels},
			}}, metav1.CreateOptions{})
			return err
		})
	}
	must(b, group.Wait())
}

func resourceOf(kind string) schema.GroupVersionResource {
	resource := controllers
	resource.Resource = strings.ToLower(kind) + "s"
	return resource
}

// tenant returns a controller for the widgets with these labels.
func tenant(kind, name string, labels map[string]any) *unstructured.Unstructured {
	parents := map[string]any{"apiVersion": "bench.example.com/v1", "resource": "widgets", "labelSelector": map[string]any{"matchLabels": labels}}
	children := []any{map[string]any{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": map[string]any{"method": "InPlace"}}}
	spec := map[string]any{
		"generateSelector": true, "parentResource": parents, "childResources": children,
		"script": map[string]any{"language": "Starlark", "inline": fmt.Sprintf(tenantScript, "parent", "children", `"status": {"synced": True}`)},
	}
	if kind == "DecoratorController" {
		spec = map[string]any{
			"resources": []any{parents}, "attachments": children,
			"script": map[string]any{"language": "Starlark", "inline": fmt.Sprintf(tenantScript, "object", "attachments", `"annotations": {"synced": "true"}`)},
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func isReady(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}

func isSynced(o *unstructured.Unstructured) bool {
	synced, _, _ := unstructured.NestedBool(o.Object, "status", "synced")
	return synced || o.GetAnnotations()["synced"] != ""
}

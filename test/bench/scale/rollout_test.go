package scale

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// setOfPods returns as many Pods as its parent says, and a status with the number of those that are ready.
const setOfPods = `
def is_ready(pod):
    if "deletionTimestamp" in pod["metadata"]:
        return False
    for c in pod.get("status", {}).get("conditions", []):
        if c["type"] == "Ready":
            return c["status"] == "True"
    return False

def sync(parent, children):
    spec = parent["spec"]
    return {
        "status": {"ready": len([1 for pod in children["Pod.v1"].values() if is_ready(pod)])},
        "children": [{
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "%s-%d" % (parent["metadata"]["name"], i), "labels": {"app": "set"}},
            "spec": {
                "hostname": "%s-%d" % (parent["metadata"]["name"], i),
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "main", "image": spec["value"],
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    "ports": [{"containerPort": 80, "name": "http"}],
                    "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
                }],
            },
        } for i in range(spec["count"])],
    }
`

// replaced is how many Pods of a set are replaced while BenchmarkRollout measures.
const replaced = 40

var podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// BenchmarkRollout measures the CPU time of the server for each Pod that a rollout replaces, one after the other, in sets of some sizes. If
// the variable PROFILES is set to a directory, a CPU profile of each is stored there.
func BenchmarkRollout(b *testing.B) {
	binary := build(b, b.TempDir(), server)
	c := newCluster(b)
	c.define(b)
	c.controlBy(b, map[string]any{
		"generateSelector": true,
		"childResources": []any{map[string]any{
			"apiVersion": "v1", "resource": "pods", "updateStrategy": map[string]any{
				"method": "RollingRecreate", "statusChecks": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
			},
		}},
		"script": map[string]any{"language": "Starlark", "inline": setOfPods},
	})
	for _, n := range []int{50, 200, 1000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			for b.Loop() {
				measureRollout(b, c, binary, n)
			}
		})
	}
}

func measureRollout(b *testing.B, c *cluster, binary string, n int) {
	p := c.serve(b, binary, "--namespace=default")
	set := fmt.Sprintf("set%d", n)
	ready := c.all(b, widgets, 1, func(o *unstructured.Unstructured) bool {
		got, _, _ := unstructured.NestedInt64(o.Object, "status", "ready")
		return o.GetName() == set && got == int64(n)
	})
	parents := c.Resource(widgets).Namespace("default")
	_, err := parents.Create(b.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "bench.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": set}, "spec": map[string]any{"value": "one", "count": int64(n)},
	}}, metav1.CreateOptions{})
	must(b, err)
	must(b, <-ready)
	p.settled(b)

	// The first one also has to be compared with each other Pod, once.
	begin := c.all(b, podsResource, 1, isReplaced)
	end := c.all(b, podsResource, replaced+1, isReplaced)
	_, err = parents.Patch(b.Context(), set, types.MergePatchType, []byte(`{"spec":{"value":"two"}}`), metav1.PatchOptions{})
	must(b, err)
	must(b, <-begin)
	cpu, done, began, synced := p.cpu(b), p.profileCPU(b, fmt.Sprintf("cpu-rollout-%d.pprof", n)), time.Now(), p.total(b, "metascript_sync_duration_seconds")
	must(b, <-end)
	used := p.cpu(b) - cpu
	took := time.Since(began)
	done()
	b.ReportMetric(micro(used)/1000/replaced, "cpu-ms/pod")
	b.ReportMetric((p.total(b, "metascript_sync_duration_seconds")-synced)/replaced, "syncs/pod")
	b.ReportMetric(micro(took)/1000/replaced, "took-ms/pod")
	must(b, parents.Delete(context.Background(), set, metav1.DeleteOptions{}))
	p.stop()
	none := int64(0)
	must(b, c.Resource(podsResource).Namespace("default").DeleteCollection(b.Context(), metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{}))
}

// isReplaced reports whether a Pod is one of the second revision, and ready.
func isReplaced(o *unstructured.Unstructured) bool {
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "containers")
	if image, _ := containers[0].(map[string]any)["image"].(string); image != "two" {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if condition := c.(map[string]any); condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}
	return false
}

// profileCPU begins a CPU profile of the process, if the variable PROFILES is set. The function that it returns waits for it.
func (p *process) profileCPU(b *testing.B, file string) (wait func()) {
	folder := os.Getenv("PROFILES")
	if folder == "" {
		return func() {}
	}
	done := make(chan error, 1)
	go func() {
		resp, err := http.Get(strings.TrimSuffix(p.profile, "heap") + "profile?seconds=5")
		if err != nil {
			done <- err
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file), text, 0o644)
		}
		done <- err
	}()
	return func() { must(b, <-done) }
}

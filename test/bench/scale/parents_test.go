package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// oneChild returns one small ConfigMap for each parent.
const oneChild = `
def sync(parent, children):
    return {
        "status": {"observed": len(children["ConfigMap.v1"])},
        "children": [{
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": parent["metadata"]["name"]},
            "data": {"value": parent["spec"]["value"]},
        }],
    }
`

// BenchmarkParents measures the memory of a server for parents at rest, which have one small child each: 10,000, or the numbers in the
// variable PARENTS. The result without parents is the one to subtract. If the variable PROFILES is set to a directory, a heap profile of each
// is stored there.
func BenchmarkParents(b *testing.B) {
	binary := build(b, b.TempDir(), server)
	counts := []int{10_000}
	if os.Getenv("PARENTS") != "" {
		counts = sizes(b)
	}
	for _, n := range append([]int{0}, counts...) {
		b.Run(fmt.Sprintf("parents=%d", n), func(b *testing.B) {
			for b.Loop() {
				c := newCluster(b)
				c.define(b)
				c.controlBy(b, map[string]any{
					"generateSelector": true,
					"childResources":   []any{map[string]any{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": map[string]any{"method": "InPlace"}}},
					"script":           map[string]any{"language": "Starlark", "inline": oneChild},
				})
				measureParents(b, c, binary, n)
			}
		})
	}
}

func measureParents(b *testing.B, c *cluster, binary string, n int) {
	p := c.serve(b, binary, "--namespace=default")
	c.createAll(b, n)
	wait(b, func() bool { return p.by(b, "metascript_cached_objects", "resource")["configmaps"] == float64(n) })
	p.settled(b)
	time.Sleep(40 * time.Second) // until the server has given back what it does not use
	b.ReportMetric(p.steady(b)/(1<<20), "rss-MiB")
	b.ReportMetric(p.collect(b)/(1<<20), "heap-MiB")
	b.ReportMetric(p.memory(b, "VmHWM")/(1<<20), "peak-MiB")
	if folder := os.Getenv("PROFILES"); folder != "" {
		must(b, os.WriteFile(filepath.Join(folder, fmt.Sprintf("heap-parents-%d.pprof", n)), p.heapProfile(b, "gc=1"), 0o644))
	}
}

package scale

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"metascript/scripts/mounttest"
)

// edited is a script that does nothing but return its version.
const edited = `
def sync(parent):
    return {"status": {"version": %d}, "children": []}
`

// BenchmarkEdit measures the time from an edit of a script until it has changed the status of parents.
func BenchmarkEdit(b *testing.B) {
	binary := build(b, b.TempDir(), server)
	for _, source := range []string{"mounted", "ConfigMap"} {
		for _, size := range []struct{ parents, edits int }{{1, 30}, {1000, 10}} {
			b.Run(fmt.Sprintf("source=%s/parents=%d", source, size.parents), func(b *testing.B) {
				for b.Loop() {
					measureEdits(b, binary, source, size.parents, size.edits)
				}
			})
		}
	}
}

func measureEdits(b *testing.B, binary, source string, n, edits int) {
	c := newCluster(b)
	c.define(b)
	folder := b.TempDir()
	script, edit := c.editable(b, source, folder)
	edit(0)
	c.controlBy(b, map[string]any{"generateSelector": true, "script": script})
	c.serve(b, binary, "--scripts-dir="+folder, "--namespace=default")
	changes := c.watch(b, widgets, "")
	defer changes.Stop()
	c.createAll(b, n)
	effect(b, changes, 0, n)

	var first, all []time.Duration
	for version := range edits {
		time.Sleep(300 * time.Millisecond) // people do not edit faster, and the previous edit must be finished
		begun := time.Now()
		edit(version + 1)
		earliest, last := effect(b, changes, version+1, n)
		first, all = append(first, earliest.Sub(begun)), append(all, last.Sub(begun))
	}
	reportSpread(b, "first", first)
	reportSpread(b, "all", all)
}

// editable returns the reference to a script outside of its controller, and a function that changes its version. The script is in a
// ConfigMap that the kubelet mounts below folder, or in one that is read through the API.
func (c *cluster) editable(b *testing.B, source, folder string) (script map[string]any, edit func(version int)) {
	if source == "mounted" {
		return map[string]any{"file": "edited/sync.star"}, func(version int) {
			must(b, mounttest.Write(filepath.Join(folder, "edited"), map[string]string{"sync.star": fmt.Sprintf(edited, version)}))
		}
	}
	client := c.Resource(configMaps).Namespace("default")
	return map[string]any{"configMapRef": map[string]any{"namespace": "default", "name": "edited", "key": "sync.star"}}, func(version int) {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "edited"},
			"data": map[string]any{"sync.star": fmt.Sprintf(edited, version)},
		}}
		text, err := o.MarshalJSON()
		must(b, err)
		_, err = client.Patch(b.Context(), "edited", types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "bench"})
		must(b, err)
	}
}

// effect waits until n parents have that version, and returns the times of the first and of the last one.
func effect(b *testing.B, changes watch.Interface, version, n int) (first, last time.Time) {
	b.Helper()
	seen := map[string]bool{}
	for change := range changes.ResultChan() {
		parent, ok := change.Object.(*unstructured.Unstructured)
		if !ok {
			b.Fatalf("the watch failed: %v", change.Object)
		}
		if got, found, _ := unstructured.NestedInt64(parent.Object, "status", "version"); !found || got != int64(version) {
			continue
		}
		last = time.Now()
		if len(seen) == 0 {
			first = last
		}
		if seen[parent.GetName()] = true; len(seen) == n {
			return first, last
		}
	}
	b.Fatal("the watch ended")
	return first, last
}

// reportSpread reports the median and the maximum.
func reportSpread(b *testing.B, of string, all []time.Duration) {
	slices.Sort(all)
	b.ReportMetric(micro(all[len(all)/2])/1000, of+"-p50-ms")
	b.ReportMetric(micro(all[len(all)-1])/1000, of+"-p100-ms")
}

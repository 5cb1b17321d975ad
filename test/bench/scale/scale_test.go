package scale

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// parents is the number of parents, unless the variable PARENTS is set.
const parents = 5000

func count(b *testing.B) int {
	if text := os.Getenv("PARENTS"); text != "" {
		n, err := strconv.Atoi(text)
		must(b, err)
		return n
	}
	return parents
}

func BenchmarkScale(b *testing.B) {
	binary := build(b, b.TempDir())
	for _, by := range []string{"webhook", "Starlark", "JavaScript", "Jsonnet"} {
		b.Run("by="+by, func(b *testing.B) {
			for b.Loop() {
				measure(b, binary, by, count(b))
			}
		})
	}
}

// measure measures a server, beginning with its start.
func measure(b *testing.B, binary, by string, n int) {
	c := newCluster(b)
	c.define(b)
	c.control(b, by)
	s := c.serve(b, binary)
	empty := s.resident(b)

	begun := time.Now()
	c.createAll(b, n)
	c.converged(b, n)
	b.ReportMetric(time.Since(begun).Seconds(), "converge-s")
	s.settled(b)
	b.ReportMetric(micro(s.cpu(b))/s.syncs(b), "cpu-us/sync")
	b.ReportMetric(s.syncs(b)/float64(n), "syncs/parent")

	// A sync without changes: after an edit of the controller object all parents are synced.
	before, cpu := s.syncs(b), s.cpu(b)
	c.resync(b, 3600)
	wait(b, func() bool { return s.syncs(b) >= before+float64(n) })
	s.settled(b)
	b.ReportMetric(micro(s.cpu(b)-cpu)/(s.syncs(b)-before), "cpu-us/idle-sync")
	b.ReportMetric((s.resident(b)-empty)/float64(n*(1+childrenOfEach)), "B/object")

	b.ReportMetric(c.latency(b), "quiet-ms")
	c.resync(b, 1)
	before = s.syncs(b)
	wait(b, func() bool { return s.syncs(b) >= before+float64(n)/10 })
	b.ReportMetric(c.latency(b), "busy-ms")
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// control creates the controller, whose function is a script in a language, or a webhook.
func (c *cluster) control(b *testing.B, by string) {
	b.Helper()
	spec := map[string]any{
		"childResources": []any{map[string]any{
			"apiVersion": "v1", "resource": "configmaps", "updateStrategy": map[string]any{"method": "InPlace"},
		}},
	}
	if source, found := functions[by]; found {
		spec["script"] = map[string]any{"language": by, "inline": source}
	} else {
		server := serve()
		b.Cleanup(server.Close)
		spec["hooks"] = map[string]any{"sync": map[string]any{"webhook": map[string]any{"url": server.URL}}}
	}
	c.controlBy(b, spec)
}

// controlBy creates a controller with a spec, to which it adds widgets as parents.
func (c *cluster) controlBy(b *testing.B, spec map[string]any) {
	b.Helper()
	spec["generateSelector"] = true
	spec["parentResource"] = map[string]any{"apiVersion": "bench.example.com/v1", "resource": "widgets"}
	_, err := c.Resource(controllers).Create(b.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "metadata": map[string]any{"name": "bench"}, "spec": spec,
	}}, metav1.CreateOptions{})
	must(b, err)
}

func (c *cluster) createAll(b *testing.B, n int) {
	b.Helper()
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return c.create(ctx, fmt.Sprintf("w%d", i)) })
	}
	must(b, group.Wait())
}

// converged waits until the status of each parent shows that its children exist.
func (c *cluster) converged(b *testing.B, n int) {
	b.Helper()
	wait(b, func() bool {
		time.Sleep(time.Second) // listing all parents is expensive for the API server
		done, err := c.done(b.Context())
		must(b, err)
		return done == n
	})
}

func (c *cluster) done(ctx context.Context) (int, error) {
	list, err := c.Resource(widgets).Namespace("default").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, o := range list.Items {
		if observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observed"); observed == childrenOfEach {
			n++
		}
	}
	return n, nil
}

// settled waits until there are no syncs for a second.
func (s *server) settled(b *testing.B) {
	b.Helper()
	for last := -1.; last != s.syncs(b); time.Sleep(time.Second) {
		last = s.syncs(b)
	}
}

func (c *cluster) resync(b *testing.B, seconds int) {
	b.Helper()
	patch := fmt.Sprintf(`{"spec":{"resyncPeriodSeconds":%d}}`, seconds)
	_, err := c.Resource(controllers).Patch(b.Context(), "bench", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	must(b, err)
}

// latency returns the median of the times from a change of a parent to the change of its last child, in milliseconds.
func (c *cluster) latency(b *testing.B) float64 {
	b.Helper()
	last := fmt.Sprintf("w7-%d", childrenOfEach-1)
	watch, err := c.Resource(configMaps).Namespace("default").Watch(b.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + last})
	must(b, err)
	defer watch.Stop()
	var all []float64
	for range 21 {
		value := fmt.Sprint(time.Now().UnixNano())
		begun := time.Now()
		_, err := c.Resource(widgets).Namespace("default").Patch(b.Context(), "w7", types.MergePatchType, []byte(`{"spec":{"value":"`+value+`"}}`), metav1.PatchOptions{})
		must(b, err)
		for event := range watch.ResultChan() {
			if got, _, _ := unstructured.NestedString(event.Object.(*unstructured.Unstructured).Object, "data", "value"); got == value {
				break
			}
		}
		all = append(all, float64(time.Since(begun))/float64(time.Millisecond))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

package scale

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// sizes returns the numbers of parents: 500 and 2000, or those in the variable PARENTS, separated by commas.
func sizes(b *testing.B) []int {
	b.Helper()
	text := os.Getenv("PARENTS")
	if text == "" {
		return []int{500, 2000}
	}
	var all []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		must(b, err)
		all = append(all, n)
	}
	return all
}

// BenchmarkScale measures a server with many parents, and beside it what the same writes take without a controller (raw), and the
// reference with a webhook. Each has a control plane of its own, so that the objects of one do not make the next one slower.
func BenchmarkScale(b *testing.B) {
	dir := b.TempDir()
	programs := map[string]string{server: build(b, dir, server), reference: build(b, dir, reference)}
	for _, n := range sizes(b) {
		for _, by := range []string{"raw", "reference", "webhook", "Starlark", "JavaScript", "Jsonnet"} {
			b.Run(fmt.Sprintf("parents=%d/by=%s", n, by), func(b *testing.B) {
				for b.Loop() {
					c := newCluster(b)
					c.define(b)
					c.warm(b)
					if by == "raw" {
						measureRaw(b, c, n)
					} else {
						measure(b, &subject{c, by, programs, serveHook(b)}, n)
					}
				}
			})
		}
	}
}

// A subject is a controller that is measured.
type subject struct {
	*cluster
	by       string // reference, or what has the function of the server's controller: webhook, or a language
	programs map[string]string
	hook     string // the URL of the webhook
}

// start starts the subject.
func (s *subject) start(b *testing.B, flags ...string) *process {
	b.Helper()
	if s.by == "reference" {
		return s.refer(b, s.programs[reference], s.hook, append(flags, "--children=configmaps.v1.")...)
	}
	spec := map[string]any{
		"generateSelector": true, "childResources": []any{map[string]any{
			"apiVersion": "v1", "resource": "configmaps", "updateStrategy": map[string]any{"method": "InPlace"},
		}},
	}
	if source, found := functions[s.by]; found {
		spec["script"] = map[string]any{"language": s.by, "inline": source}
	} else {
		spec["hooks"] = map[string]any{"sync": map[string]any{"webhook": map[string]any{"url": s.hook}}}
	}
	s.controlBy(b, spec)
	return s.serve(b, s.programs[server], append(flags, "--namespace=default")...)
}

// resync makes the subject reconcile each parent every second. It returns the process, which may be another one.
func (s *subject) resync(b *testing.B, p *process) *process {
	b.Helper()
	if s.by == "reference" {
		p.stop()
		return s.start(b, "--resync=1s")
	}
	patch := []byte(`{"spec":{"resyncPeriodSeconds":1}}`)
	_, err := s.Resource(controllers).Patch(b.Context(), "bench", types.MergePatchType, patch, metav1.PatchOptions{})
	must(b, err)
	return p
}

// measure measures a subject, beginning with its start.
func measure(b *testing.B, s *subject, n int) {
	p := s.start(b)
	cpu, sent := p.cpu(b), p.by(b, requests, "method")
	begun, done := time.Now(), s.all(b, widgets, n, observesAll)
	s.createAll(b, n)
	must(b, <-done)
	b.ReportMetric(time.Since(begun).Seconds(), "converge-s")
	p.settled(b)
	b.ReportMetric((p.cpu(b) - cpu).Seconds(), "converge-cpu-s")
	all := p.by(b, requests, "method")
	for _, method := range []string{"GET", "POST", "PUT", "PATCH"} {
		b.ReportMetric((all[method]-sent[method])/float64(n), method+"/parent")
	}
	b.ReportMetric(p.memory(b, "VmRSS")/(1<<20), "rss-MiB")
	b.ReportMetric(p.memory(b, "VmHWM")/(1<<20), "peak-MiB")

	cpu = p.cpu(b)
	begun, done = time.Now(), s.all(b, configMaps, n*childrenOfEach, hasValue("second"))
	s.editAll(b, n, "second")
	must(b, <-done)
	b.ReportMetric(time.Since(begun).Seconds(), "edit-s")
	p.settled(b)
	b.ReportMetric((p.cpu(b) - cpu).Seconds(), "edit-cpu-s")
	s.reportLatency(b, "quiet")

	p = s.resync(b, p)
	time.Sleep(5 * time.Second) // until all parents are resynced
	cpu, begun = p.cpu(b), time.Now()
	time.Sleep(10 * time.Second)
	b.ReportMetric((p.cpu(b)-cpu).Seconds()/time.Since(begun).Seconds(), "resync-cpu-s/s")
	s.reportLatency(b, "busy")
}

// requests is the metric of the requests to the API server.
const requests = "rest_client_requests_total"

// controlBy creates a controller with a spec, to which it adds widgets as parents.
func (c *cluster) controlBy(b *testing.B, spec map[string]any) {
	b.Helper()
	spec["parentResource"] = map[string]any{"apiVersion": "bench.example.com/v1", "resource": "widgets"}
	_, err := c.Resource(controllers).Create(b.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "metadata": map[string]any{"name": "bench"}, "spec": spec,
	}}, metav1.CreateOptions{})
	must(b, err)
}

// each calls do for the names of n parents, 16 at a time.
func each(b *testing.B, n int, do func(ctx context.Context, name string) error) {
	b.Helper()
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return do(ctx, fmt.Sprintf("w%d", i)) })
	}
	must(b, group.Wait())
}

func (c *cluster) createAll(b *testing.B, n int) {
	b.Helper()
	each(b, n, func(ctx context.Context, name string) error { _, err := c.create(ctx, name); return err })
}

// editAll sets the value of n parents.
func (c *cluster) editAll(b *testing.B, n int, value string) {
	b.Helper()
	each(b, n, func(ctx context.Context, name string) error { return c.edit(ctx, name, value) })
}

// edit sets the value of a parent.
func (c *cluster) edit(ctx context.Context, name, value string) error {
	patch := []byte(`{"spec":{"value":"` + value + `"}}`)
	_, err := c.Resource(widgets).Namespace("default").Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// observesAll reports whether the status of a parent shows that its children exist.
func observesAll(o *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observed")
	return observed == childrenOfEach
}

// hasValue returns a function that reports whether a child has the value of its parent.
func hasValue(value string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		got, _, _ := unstructured.NestedString(o.Object, "data", "value")
		return got == value
	}
}

// all watches a resource. The channel gets nil when is has returned true for n objects, or the error of the watch.
func (c *cluster) all(b *testing.B, resource schema.GroupVersionResource, n int, is func(*unstructured.Unstructured) bool) <-chan error {
	b.Helper()
	changes := c.watch(b, resource, "")
	done := make(chan error, 1)
	go func() {
		defer changes.Stop()
		seen := map[string]bool{}
		for change := range changes.ResultChan() {
			if o, ok := change.Object.(*unstructured.Unstructured); ok && is(o) {
				if seen[o.GetName()] = true; len(seen) == n {
					done <- nil
					return
				}
			}
		}
		done <- errors.New("the watch ended")
	}()
	return done
}

// watch watches a resource from now on. It begins again where it ended, because the API server ends a watch whose events are not read fast
// enough.
func (c *cluster) watch(b *testing.B, resource schema.GroupVersionResource, selector string) watch.Interface {
	b.Helper()
	client := c.Resource(resource).Namespace(metav1.NamespaceAll)
	list, err := client.List(b.Context(), metav1.ListOptions{FieldSelector: selector, Limit: 1})
	must(b, err)
	changes, err := watchtools.NewRetryWatcherWithContext(b.Context(), list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return client.Watch(ctx, options)
		},
	})
	must(b, err)
	return changes
}

// reportLatency reports the time from a change of a parent to the change of its last child, in milliseconds.
func (c *cluster) reportLatency(b *testing.B, of string) {
	b.Helper()
	last := fmt.Sprintf("w7-%d", childrenOfEach-1)
	changes := c.watch(b, configMaps, "metadata.name="+last)
	defer changes.Stop()
	var all []time.Duration
	for range 41 {
		value := fmt.Sprint(time.Now().UnixNano())
		begun := time.Now()
		must(b, c.edit(b.Context(), "w7", value))
		awaitOne(b, changes, hasValue(value))
		all = append(all, time.Since(begun))
	}
	slices.Sort(all)
	b.ReportMetric(micro(all[len(all)/2])/1000, of+"-p50-ms")
	b.ReportMetric(micro(all[len(all)*95/100])/1000, of+"-p95-ms")
}

// awaitOne waits for a change to an object for which is returns true.
func awaitOne(b *testing.B, changes watch.Interface, is func(*unstructured.Unstructured) bool) {
	b.Helper()
	for change := range changes.ResultChan() {
		if o, ok := change.Object.(*unstructured.Unstructured); ok && is(o) {
			return
		}
	}
	b.Fatal("the watch ended")
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

package bench

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"metascript/controller/informer"
	"metascript/controller/wire"
	"metascript/test/bench/pods"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// cachedPods is how many Pods BenchmarkCache has in a cache.
const cachedPods = 20_000

// BenchmarkCache measures a cache of Pods with managedFields, which belong to nobody: its memory, and the CPU time of filling it and
// of events. The reference is the dynamic informer of client-go, with the index by owner that every controller needs. Both get the Pods
// as a streaming list from the same HTTP server, whose texts are made before.
func BenchmarkCache(b *testing.B) {
	server, err := pods.NewServer(cachedPods)
	must(b, err)
	listener := httptest.NewServer(server)
	b.Cleanup(listener.Close)
	config := &rest.Config{Host: listener.URL, QPS: -1}
	for name, open := range map[string]func(*testing.B, *rest.Config) cacheUnderTest{"packed": openPacked, "reference": openReference} {
		b.Run("cache="+name, func(b *testing.B) {
			for b.Loop() {
				before, began := heap(), cpuTime(b)
				c := open(b, config)
				filled := cpuTime(b) - began
				size := heap() - before
				began = cpuTime(b)
				const events = 5000
				for i := range events {
					server.Events <- server.Event("MODIFIED", i, 2)
				}
				c.wait(pods.Version(events-1, 2))
				took := cpuTime(b) - began
				b.ReportMetric(float64(size)/cachedPods, "heap-B/pod")
				b.ReportMetric(float64(filled.Microseconds())/cachedPods, "fill-cpu-us/pod")
				b.ReportMetric(float64(took.Microseconds())/events, "event-cpu-us")
				c.stop()
			}
		})
	}
}

// A cacheUnderTest is a cache that has synced.
type cacheUnderTest struct {
	wait func(version string) // until the cache has the object of that version
	stop func()
}

// openPacked fills a cache of this project.
func openPacked(b *testing.B, config *rest.Config) cacheUnderTest {
	client, err := wire.NewClient(config)
	must(b, err)
	factory := informer.NewFactory(nil, slog.New(slog.DiscardHandler))
	factory.REST = client
	i := factory.Open(informer.Spec{Resource: podResource})
	if !i.WaitForSync(b.Context()) {
		b.Fatal("the cache has not synced")
	}
	return cacheUnderTest{wait: func(version string) { until(func() bool { return i.CaughtUp("", version) }) }, stop: i.Close}
}

// openReference fills a cache of client-go.
func openReference(b *testing.B, config *rest.Config) cacheUnderTest {
	client, err := dynamic.NewForConfig(config)
	must(b, err)
	byOwner := func(obj any) ([]string, error) {
		var owners []string
		for _, ref := range obj.(*unstructured.Unstructured).GetOwnerReferences() {
			owners = append(owners, string(ref.UID))
		}
		return owners, nil
	}
	i := dynamicinformer.NewFilteredDynamicInformer(client, podResource, "", 0, cache.Indexers{"owner": byOwner}, nil).Informer()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); i.RunWithContext(ctx) }()
	if !cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
		b.Fatal("the cache has not synced")
	}
	return cacheUnderTest{
		wait: func(version string) { until(func() bool { return i.LastSyncResourceVersion() == version }) },
		stop: func() { cancel(); <-done },
	}
}

// until returns when a condition is true.
func until(is func() bool) {
	for !is() {
		time.Sleep(time.Millisecond)
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// heap returns the bytes of all objects in memory.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

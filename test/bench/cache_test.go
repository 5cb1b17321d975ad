package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
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
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// cachedPods is how many Pods BenchmarkCache has in a cache.
const cachedPods = 20_000

// BenchmarkCache measures a cache of Pods with managedFields, which belong to nobody: its memory, and the processor time of filling it and
// of events. The reference is the dynamic informer of client-go, with the index by owner that every controller needs. Both get the Pods
// as a streaming list from the same HTTP server, whose texts are made before.
func BenchmarkCache(b *testing.B) {
	server := newPodServer(b)
	for name, open := range map[string]func(*testing.B, *rest.Config) cacheUnderTest{"packed": openPacked, "reference": openReference} {
		b.Run("cache="+name, func(b *testing.B) {
			for b.Loop() {
				server.events = make(chan string)
				before, began := heap(), cpuTime(b)
				c := open(b, server.config)
				filled := cpuTime(b) - began
				size := heap() - before
				began = cpuTime(b)
				const events = 5000
				for i := range events {
					server.events <- server.event("MODIFIED", i, 2)
				}
				c.wait(server.version(events-1, 2))
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
	i := factory.Open(informer.Spec{Resource: pods})
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
	i := dynamicinformer.NewFilteredDynamicInformer(client, pods, "", 0, cache.Indexers{"owner": byOwner}, nil).Informer()
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

// A podServer serves a watch of Pods.
type podServer struct {
	config *rest.Config
	texts  []string    // of the Pods, before and after the version
	events chan string // are sent to the watch
}

func newPodServer(b *testing.B) *podServer {
	s := &podServer{}
	for i := range cachedPods {
		p := pod(podName(i), i)
		meta := p["metadata"].(map[string]any)
		meta["uid"], meta["resourceVersion"], meta["managedFields"] = uid("pod", i), "VERSION", managedFields()
		delete(meta, "ownerReferences")
		text, err := json.Marshal(p)
		must(b, err)
		s.texts = append(s.texts, string(text))
	}
	server := httptest.NewServer(s)
	b.Cleanup(server.Close)
	s.config = &rest.Config{Host: server.URL, QPS: -1}
	return s
}

// managedFields returns those of a Pod that the manager of its controller and the kubelet have written.
func managedFields() []any {
	fields := map[string]any{}
	for _, of := range []string{"spec", "status"} {
		in := map[string]any{}
		for i := range 20 {
			in[fmt.Sprintf("f:someFieldOfThePod%d", i)] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}}
		}
		fields["f:"+of] = in
	}
	entry := func(manager string) any {
		return map[string]any{"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": fields}
	}
	return []any{entry("kube-controller-manager"), entry("kubelet")}
}

// version returns the resourceVersion of a Pod, which grows with round and i.
func (s *podServer) version(i, round int) string { return fmt.Sprint(round*1_000_000 + i) }

// event returns the text of a watch event.
func (s *podServer) event(kind string, i, round int) string {
	text := s.texts[i]
	const placeholder = `"VERSION"`
	for at := 0; ; at++ {
		if text[at:at+len(placeholder)] == placeholder {
			return `{"type":"` + kind + `","object":` + text[:at] + `"` + s.version(i, round) + `"` + text[at+len(placeholder):] + "}\n"
		}
	}
}

// ServeHTTP sends all Pods as a streaming list, and then the events.
func (s *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		http.Error(w, "only streaming lists are served", http.StatusNotFound)
		return
	}
	for i := range s.texts {
		_, _ = w.Write([]byte(s.event("ADDED", i, 1)))
	}
	_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%s","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", s.version(cachedPods, 1))
	for {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case text := <-s.events:
			_, _ = w.Write([]byte(text))
		}
	}
}

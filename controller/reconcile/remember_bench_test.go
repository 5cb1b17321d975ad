package reconcile

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
	"metascript/engine/tree"
)

// BenchmarkResync processes resyncs of a parent with three children where nothing changed. The hook costs nothing.
func BenchmarkResync(b *testing.B) {
	for _, remembers := range []bool{false, true} {
		name := "done"
		if remembers {
			name = "remembered"
		}
		b.Run(name, func(b *testing.B) {
			parent := objecttest.Widget(func(o *object.Object) {
				o.Map()["status"] = map[string]any{"observed": int64(3), "observedGeneration": int64(1)}
			})
			objects := []runtime.Object{parent}
			for _, name := range []string{"a", "b", "c"} {
				objects = append(objects, objecttest.ConfigMap(name, parent))
			}
			r, write := newTestReconciler(b, wants("a", "b", "c"), nil, objects...)
			r.binding.Remembers = remembers
			reset(r)
			fillCaches(b, r)
			key := objecttest.WidgetRef("default", "w")
			for b.Loop() {
				r.queue.Enqueue(key, queue.Resync)
				taken, _ := r.queue.Get()
				r.worker.process(b.Context(), taken, r.queue.Take(taken))
				r.queue.Done(taken)
			}
			if wrote := write.Recorded(); len(wrote) > 0 {
				b.Errorf("%d writes, the first is %s", len(wrote), wrote[0])
			}
		})
	}
}

// BenchmarkChangeOfChild processes a change of the status of one of 100 children. The hook reads the data of each child, and costs nothing
// else.
func BenchmarkChangeOfChild(b *testing.B) {
	for _, remembers := range []bool{false, true} {
		name := "done"
		if remembers {
			name = "remembered"
		}
		b.Run(name, func(b *testing.B) { benchmarkChangeOfChild(b, remembers) })
	}
}

func benchmarkChangeOfChild(b *testing.B, remembers bool) {
	parent := objecttest.Widget(func(o *object.Object) {
		o.Map()["status"] = map[string]any{"observed": int64(100), "observedGeneration": int64(1)}
	})
	var names []string
	objects := []runtime.Object{parent}
	for i := range 100 {
		names = append(names, fmt.Sprint("c", i))
		objects = append(objects, objecttest.With(objecttest.ConfigMap(names[i], parent), func(o *object.Object) { o.SetResourceVersion("1") }))
	}
	sync := hookFunc(func(req *hook.Request) (*hook.Response, error) {
		req.Recorder.Parent(req.Parent)
		for o := range req.Children.All() {
			if content, ok := req.Recorder.Child(o).(tree.Map); ok {
				content.Get("data")
			}
		}
		return wants(names...)(req)
	})
	client := newTestClient(objects...)
	r, write := newTestReconcilerOver(b, client, sync, nil)
	r.binding.Remembers = remembers
	reset(r)
	fillCaches(b, r)
	key, changed := objecttest.WidgetRef("default", "w"), objecttest.ConfigMap("c42", parent)
	r.worker.process(b.Context(), key, queue.Resync)
	cache := r.binding.Children[0].Informer
	for n := 2; b.Loop(); n++ {
		b.StopTimer()
		changed.Map()["status"] = map[string]any{"n": int64(n)}
		changed.SetResourceVersion(strconv.Itoa(n))
		if _, err := client.Resource(objecttest.ConfigMaps).Namespace("default").Update(b.Context(), changed.Unstructured(), metav1.UpdateOptions{}); err != nil {
			b.Fatal(err)
		}
		for cache.Get(object.KeyOf(changed)).GetResourceVersion() != changed.GetResourceVersion() {
			time.Sleep(10 * time.Microsecond)
		}
		b.StartTimer()
		r.worker.process(b.Context(), key, queue.ChildChanged)
	}
	if wrote := write.Recorded(); len(wrote) > 0 {
		b.Errorf("%d writes, the first is %s", len(wrote), wrote[0])
	}
}

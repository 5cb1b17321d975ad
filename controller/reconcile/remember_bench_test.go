package reconcile

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
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

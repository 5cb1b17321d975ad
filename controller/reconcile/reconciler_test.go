package reconcile

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"metascript/controller/lease"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
)

func TestUnfilledBeforeAndAfterCachesAreFilled(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil, objecttest.Widget(nil))
	fillCaches(t, r)
	if diff := cmp.Diff([]string{"CompositeController c is about to start"}, r.Unsynced()); diff != "" {
		t.Errorf("Unfilled (-want +got):\n%s", diff)
	}
	r.hasSynced.Store(true)
	if waiting := r.Unsynced(); waiting != nil {
		t.Errorf("Unfilled returned %v", waiting)
	}
}

func TestStopTimeoutIsZeroAfterLostLease(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	inner, stop := context.WithCancel(ctx)
	defer stop()
	if got := stopTimeoutAfter(inner); got != stopTimeout {
		t.Errorf("timeout %s, want %s", got, stopTimeout)
	}
	cancel(lease.ErrLost)
	if got := stopTimeoutAfter(inner); got != 0 {
		t.Errorf("timeout %s after the lease was lost, want none", got)
	}
}

// BenchmarkSync processes a parent where nothing changed, with a hook that costs nothing, so that the metrics have the largest
// share of the time that they can have.
func BenchmarkSync(b *testing.B) {
	for _, counted := range []bool{false, true} {
		name := "without metrics"
		if counted {
			name = "with metrics"
		}
		b.Run(name, func(b *testing.B) {
			parent := objecttest.Widget(func(o *object.Object) {
				o.Map()["status"] = map[string]any{"observed": int64(1), "observedGeneration": int64(1)}
			})
			r, write := newTestReconciler(b, wants("a"), nil, parent, objecttest.ConfigMap("a", parent))
			if counted {
				m, err := metrics.New(prometheus.NewRegistry())
				if err != nil {
					b.Fatal(err)
				}
				r.queue.ShutDown()
				r.binding.Metrics = m
				r = New(r.binding, Options{Events: r.events.Events, Log: r.events.log})
			}
			fillCaches(b, r)
			observe := r.binding.Metrics.Controller(r.binding.Kind, r.binding.Name).Script("sync")
			for b.Loop() {
				r.queue.Enqueue(objecttest.WidgetRef("default", "w"), queue.ParentChanged)
				key, _ := r.queue.Get()
				r.worker.process(b.Context(), key, r.queue.Take(key))
				r.queue.Done(key)
				if observe != nil {
					observe(time.Millisecond, nil)
				}
			}
			if wrote := write.Recorded(); len(wrote) > 0 {
				b.Errorf("%d writes, the first is %s", len(wrote), wrote[0])
			}
		})
	}
}

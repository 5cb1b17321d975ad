package reconcile

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/throttle"
)

// telling is a hook whose answer makes the parent's status tell which version it is of, before and after it waits.
func telling(version string, began chan<- string, goOn <-chan bool) hook.Hook {
	return answer(func(*hook.Request) (*hook.Response, error) {
		if began != nil {
			began <- version
			<-goOn
		}
		return &hook.Response{Children: &object.Set{}, Status: map[string]any{"version": version}}, nil
	})
}

func TestReconcileUsesOneVersion(t *testing.T) {
	began, goOn := make(chan string), make(chan bool)
	r, write := newTestReconciler(t, telling("old", began, goOn), nil, objecttest.Widget(nil))
	t.Cleanup(r.Close)
	t.Cleanup(r.queue.ShutDown)
	if !r.Synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	key := object.RefOf(objecttest.Widget(nil))
	var under sync.WaitGroup
	under.Go(func() { r.worker.process(t.Context(), key) })
	<-began
	old := r.current.Load()
	r.Swap(call.NewVersion(build.Hooks{Sync: telling("new", nil, nil)}, nil, func() {}))
	if r.queue.Len() != 1 {
		t.Errorf("%d parents are queued after the swap, want the one", r.queue.Len())
	}
	goOn <- true
	under.Wait()
	r.worker.process(t.Context(), key)
	var told []string
	for _, o := range write.Written() {
		told = append(told, fmt.Sprint(o.Object["status"].(map[string]any)["version"]))
	}
	if fmt.Sprint(told) != "[old new]" {
		t.Errorf("the status told %v, want old and then new", told)
	}
	if r.current.Load() == old {
		t.Error("the old version is still there")
	}
}

func TestSwapResetsState(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil, objecttest.Widget(nil))
	t.Cleanup(r.Close)
	t.Cleanup(r.queue.ShutDown)
	if !r.Synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	key := object.RefOf(objecttest.Widget(nil))
	for range 9 {
		r.queue.Backoff(key)
	}
	update := plan.Op{Verb: plan.Update, Object: objecttest.ConfigMap("c", nil), Differs: plan.Path{"data"}}
	for range throttle.ChurnLimit {
		r.states.of(key).churn.Note(update, true)
		r.states.of(key).churn.End(objecttest.Widget(nil), time.Now())
	}
	if r.worker.churnDelay(r.states.find(key), queue.Retry) == 0 {
		t.Fatal("it is not delayed before the swap")
	}
	r.states.countFailure(key, fmt.Errorf("x"))
	r.Swap(call.NewVersion(build.Hooks{Sync: wants()}, nil, func() {}))
	r.states.resetOutdated(key)
	if n := r.queue.NumRequeues(key); n != 0 || r.worker.churnDelay(r.states.find(key), queue.Retry) != 0 || r.states.of(key).failure.times != 0 {
		t.Errorf("after a swap it backs off %d times, is delayed by %s and has said %d things", n, r.worker.churnDelay(r.states.find(key), queue.Retry), r.states.of(key).failure.times)
	}
}

func TestEnqueueAllSpreadsParents(t *testing.T) {
	for _, c := range []struct {
		n    int
		want time.Duration // when the last is queued
	}{{1, 0}, {spreadAtOnce, 0}, {spreadAtOnce + 1, 5 * time.Millisecond}, {10_000, 9900 * 5 * time.Millisecond}} {
		if got := spreadDelay(c.n-1, c.n); got != c.want {
			t.Errorf("the last of %d comes after %s, want %s", c.n, got, c.want)
		}
	}
	if last := spreadDelay(999_999, 1_000_000); last > spreadOver {
		t.Errorf("the last of a million comes after %s", last)
	}
	var objects []runtime.Object
	for i := range spreadAtOnce + 50 {
		objects = append(objects, objecttest.Widget(func(o *object.Object) { o.SetName(fmt.Sprint("w", i)) }))
	}
	r, _ := newTestReconciler(t, wants(), nil, objects...)
	t.Cleanup(r.Close)
	t.Cleanup(r.queue.ShutDown)
	if !r.Synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	r.enqueueAll(queue.ScriptChanged)
	seen := map[object.Ref]bool{}
	for len(seen) < len(objects) { // those that come later come by themselves
		key, _ := r.queue.Get()
		seen[key] = true
		if why := r.queue.Take(key); why != queue.ScriptChanged {
			t.Fatalf("%s was queued because of %q", key, why)
		}
		r.queue.Done(key)
	}
}

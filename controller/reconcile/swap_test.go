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
	"metascript/controller/inputs"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/throttle"
)

// versionHook returns a hook that returns a status with the version. If began is not nil, it sends the version to it when it
// is called, and then waits for goOn.
func versionHook(version string, began chan<- string, goOn <-chan bool) hook.Hook {
	return hookFunc(func(*hook.Request) (*hook.Response, error) {
		if began != nil {
			began <- version
			<-goOn
		}
		return &hook.Response{Children: &object.Set{}, Status: map[string]any{"version": version}}, nil
	})
}

func TestReconcileUsesOneVersion(t *testing.T) {
	began, goOn := make(chan string), make(chan bool)
	r, write := newTestReconciler(t, versionHook("old", began, goOn), nil, objecttest.Widget(nil))
	fillCaches(t, r)
	key := object.RefOf(objecttest.Widget(nil))
	var processing sync.WaitGroup
	processing.Go(func() { r.worker.process(t.Context(), key, queue.Retry) })
	<-began
	old := r.current.Load()
	r.Swap(call.NewVersion(build.Hooks{Sync: versionHook("new", nil, nil)}, nil, func() {}))
	if r.queue.Len() != 1 {
		t.Errorf("%d parents are queued after the swap, want one", r.queue.Len())
	}
	goOn <- true
	processing.Wait()
	r.worker.process(t.Context(), key, queue.Retry)
	var versions []string
	for _, o := range write.Written() {
		versions = append(versions, fmt.Sprint(o.Map()["status"].(map[string]any)["version"]))
	}
	if fmt.Sprint(versions) != "[old new]" {
		t.Errorf("the status had the versions %v, want old and then new", versions)
	}
	if r.current.Load() == old {
		t.Error("the old version is still the current one")
	}
}

// A swap, and a fallback that begins or ends, have something else called for a hook than before.
func TestStateIsResetWhenAnotherHookIsCalled(t *testing.T) {
	for name, change := range map[string]func(*Reconciler){
		"a swap":                   func(r *Reconciler) { r.Swap(call.NewVersion(build.Hooks{Sync: wants()}, nil, func() {})) },
		"a fallback that switches": func(r *Reconciler) { r.fallbacks.onSwitch(r.current.Load(), hook.Sync, false, nil) },
	} {
		r, _ := newTestReconciler(t, wants(), nil, objecttest.Widget(nil))
		fillCaches(t, r)
		key := object.RefOf(objecttest.Widget(nil))
		for range 9 {
			r.queue.Backoff(key)
		}
		delay := func() time.Duration {
			return r.worker.churnDelay(r.states.forVersion(key, r.current.Load()), queue.Retry)
		}
		update := plan.Op{Verb: plan.Update, Object: objecttest.ConfigMap("c", nil), Differs: plan.Path{"data"}}
		delay()
		for range 2 * throttle.ChurnLimit {
			r.states.of(key).churn.Note(update, true)
			r.states.of(key).churn.End(objecttest.Widget(nil), inputs.Changes{}, time.Now())
		}
		if delay() == 0 {
			t.Fatalf("it is not delayed before %s", name)
		}
		r.states.countFailure(key, fmt.Errorf("x"))
		change(r)
		if backoff, churn, failures := r.queue.NumRequeues(key), delay(), r.states.of(key).failure.times; backoff != 0 || churn != 0 || failures != 0 {
			t.Errorf("after %s the back-off counts %d failures, the delay is %s, and %d failures are counted", name, backoff, churn, failures)
		}
	}
}

func TestEnqueueAllSpreadsParents(t *testing.T) {
	var objects []runtime.Object
	for i := range 150 {
		objects = append(objects, objecttest.Widget(func(o *object.Object) { o.SetName(fmt.Sprint("w", i)) }))
	}
	r, _ := newTestReconciler(t, wants(), nil, objects...)
	fillCaches(t, r)
	r.enqueueAll(queue.ScriptChanged)
	seen := map[object.Ref]bool{}
	for len(seen) < len(objects) { // the others are queued after their delay
		key, _ := r.queue.Get()
		seen[key] = true
		if why := r.queue.Take(key); why != queue.ScriptChanged {
			t.Fatalf("%s was queued because of %q", key, why)
		}
		r.queue.Done(key)
	}
}

package reconcile

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
	"metascript/controller/turns"
)

// someChildren returns an answer with n small children.
func someChildren(n int) *hook.Response {
	children := &object.Set{}
	for i := range n {
		children.Put(objecttest.ConfigMap(fmt.Sprint("c", i), nil))
	}
	return &hook.Response{Children: children}
}

// A reconcile whose answer is dropped writes nothing, says so after some tries, and is done when there is memory.
func TestReconcileWithoutMemoryForItsPlan(t *testing.T) {
	r, write := newTestReconciler(t, hookFunc(func(*hook.Request) (*hook.Response, error) { return someChildren(2000), nil }), nil, objecttest.Widget(nil))
	fillCaches(t, r)
	key := objecttest.WidgetRef("default", "w")
	for range 2 {
		for _, other := range []string{"a", "b"} {
			r.shared.plans.Take(turns.Request{Asker: r.asker(objecttest.WidgetRef("other", other)), Sharer: other, N: plansMemory / 4})
		}
	}
	c := r.newReconciliation(key)
	if _, err := r.worker.reconcileRecovering(t.Context(), c); !errors.Is(err, errLargeAnswers) || !errors.Is(err, kube.ErrRequeue) || len(write.Recorded()) != 0 || c.large.size <= smallAnswer {
		t.Fatalf("error %v, %d writes, a plan of %d bytes", err, len(write.Recorded()), c.large.size)
	}
	r.shared.plans.GiveBack("a", plansMemory/4)
	if why := r.queue.Pending(key); why != queue.Retry {
		t.Errorf("it is queued for %q when there is memory", why)
	}
	if _, err := r.worker.reconcileRecovering(t.Context(), r.newReconciliation(key)); err != nil || len(write.Recorded()) < 2000 {
		t.Errorf("error %v, %d writes", err, len(write.Recorded()))
	}
	if sum := r.shared.plans.Held(); sum != 3*plansMemory/4 {
		t.Errorf("%d bytes are held, want those of the others", sum)
	}
}

// What is large is about the memory that it uses.
func TestSizeOfPlan(t *testing.T) {
	list := make([]any, 100000)
	for i := range list {
		list[i] = map[string]any{}
	}
	many := objecttest.ConfigMap("c", nil)
	many.Map()["x"] = list
	set := &object.Set{}
	set.Put(many)
	if got := sizeOfPlan(set) >> 20; got < 10 || got > 25 { // three copies of an interface and an empty map for each
		t.Errorf("100,000 empty objects need %d MiB", got)
	}
	if got := sizeOfPlan(someChildren(1000).Children) >> 10; got < 1000 || got > 6000 {
		t.Errorf("1,000 ConfigMaps need %d KiB", got)
	}
	if got := sizeOfPlan(someChildren(100).Children); got > smallAnswer {
		t.Errorf("100 ConfigMaps need %d bytes", got)
	}
}

// Parents whose reconciles are large and fail do not occupy the server: they are retried less often.
func TestLargeAnswersAreRetriedLessOften(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil)
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	for i, c := range []struct {
		large       int64
		least, most time.Duration
	}{
		{0, 0, time.Second},
		{retriedPerSecond / 2, time.Second / 2, time.Second / 2},
		{plansMemory, 16 * time.Second, 16 * time.Second},
		{100 * plansMemory, time.Minute, time.Minute},
	} {
		key := objecttest.WidgetRef("default", fmt.Sprint("w", i))
		if got := r.worker.scheduleNext(t.Context(), key, 0, c.large, errors.New("failed")); got < c.least || got > c.most {
			t.Errorf("after a plan of %d bytes it waits %s", c.large, got)
		}
	}

	// Not earlier either if the hook asks for it.
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestReconciler(t, wants(), nil)
		defer r.close()
		defer r.queue.ShutDown()
		begun := time.Now()
		r.worker.scheduleNext(t.Context(), objecttest.WidgetRef("default", "w"), 100*time.Millisecond, plansMemory, errors.New("failed"))
		if _, _ = r.queue.Get(); time.Since(begun) < 16*time.Second {
			t.Errorf("with resyncAfterSeconds it waits %s", time.Since(begun))
		}
	})
}

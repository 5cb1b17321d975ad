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
)

// someChildren returns an answer with n small children.
func someChildren(n int) *hook.Response {
	children := &object.Set{}
	for i := range n {
		children.Put(objecttest.ConfigMap(fmt.Sprint("c", i), nil))
	}
	return &hook.Response{Children: children}
}

// quarter is a quarter of the memory of plans.
const quarter = plansMemory / 4

// The sharers have their turns in the order in which they were refused, and none can have more than half.
func TestPlanMemoryIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &planMemory{}
		take := func(sharer string, parts int, want bool) {
			t.Helper()
			if got := p.take(sharer, int64(parts)*quarter, time.Second); got != want {
				t.Fatalf("%s gets %d quarters: %v", sharer, parts, got)
			}
		}
		take("a", 1, true)
		take("a", 1, true)
		take("a", 1, false) // it has half, and does not wait for others
		take("b", 1, true)
		take("b", 1, true)
		take("c", 1, false)
		take("d", 1, false)
		p.giveBack("a", quarter)
		take("a", 1, false) // it would be the turn of c
		take("d", 1, false)
		take("c", 1, true)
		p.giveBack("b", quarter)
		take("a", 1, false)
		time.Sleep(2 * time.Second) // d does not come back, nor a
		take("b", 1, true)
		for sharer, parts := range map[string]int64{"a": 1, "b": 2, "c": 1} {
			p.giveBack(sharer, parts*quarter)
		}
		if p.sum != 0 || len(p.held) != 0 {
			t.Errorf("not all was given back: %d, %v", p.sum, p.held)
		}
	})
}

// A reconcile whose answer is dropped writes nothing, says so after some tries, and is done when there is memory.
func TestReconcileWithoutMemoryForItsPlan(t *testing.T) {
	r, write := newTestReconciler(t, hookFunc(func(*hook.Request) (*hook.Response, error) { return someChildren(2000), nil }), nil, objecttest.Widget(nil))
	fillCaches(t, r)
	key := objecttest.WidgetRef("default", "w")
	for range 2 {
		for _, other := range []string{"a", "b"} {
			r.shared.plans.take(other, quarter, time.Second)
		}
	}
	c := r.newReconciliation(key)
	if _, err := r.worker.reconcileRecovering(t.Context(), c); !errors.Is(err, errLargeAnswers) || !errors.Is(err, kube.ErrRequeue) || len(write.Recorded()) != 0 || c.large.size <= smallAnswer {
		t.Fatalf("error %v, %d writes, a plan of %d bytes", err, len(write.Recorded()), c.large.size)
	}
	r.shared.plans.giveBack("a", quarter)
	if _, err := r.worker.reconcileRecovering(t.Context(), r.newReconciliation(key)); err != nil || len(write.Recorded()) < 2000 {
		t.Errorf("error %v, %d writes", err, len(write.Recorded()))
	}
	if sum := r.shared.plans.sum; sum != 3*quarter {
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

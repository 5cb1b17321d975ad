package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/bodies"
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

// Plans of large answers use the memory for them one after the other. An answer for which there is none is dropped, and the next reconcile
// takes it before the hook is called.
func TestLargeAnswersArePlannedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		size := sizeOfPlan(someChildren(5000).Children)
		plans := bodies.New(size * 3 / 2)
		begin := func() *large { return &large{share: plans.Share(), plans: plans} }

		small := begin()
		if n, err := small.fit(someChildren(100)); n != 0 || err != nil {
			t.Errorf("a small answer needs %d bytes, error %v", n, err)
		}
		first, second := begin(), begin()
		if n, err := first.fit(someChildren(5000)); n != size || err != nil {
			t.Fatalf("the first has %d bytes, want %d; error %v", n, size, err)
		}
		n, err := second.fit(someChildren(5000))
		if n != size || !errors.Is(err, kube.ErrRequeue) || !strings.Contains(err.Error(), "the answer is large") {
			t.Fatalf("the second has %d bytes, error %v", n, err)
		}
		second.end()

		again, begun := begin(), make(chan error, 1)
		go func() { begun <- again.begin(t.Context(), n) }()
		synctest.Wait()
		select {
		case err := <-begun:
			t.Fatalf("it does not wait: %v", err)
		default:
		}
		first.end()
		if err := <-begun; err != nil {
			t.Fatal(err)
		}
		if n, err := again.fit(someChildren(6000)); n <= size || err != nil { // the answer has grown
			t.Errorf("it has %d bytes, error %v", n, err)
		}
		again.end()

		// An answer that is larger than all memory has all of it.
		whole := begin()
		if n, err := whole.fit(someChildren(20000)); n != plans.Size() || err != nil {
			t.Errorf("the largest has %d of %d bytes, error %v", n, plans.Size(), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := begin().begin(ctx, n); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		whole.end()
		if !plans.TryTake(plans.Size()) {
			t.Error("not all memory was given back")
		}
	})
}

// A reconcile whose answer is dropped writes nothing, and is done when there is memory.
func TestReconcileWithoutMemoryForItsPlan(t *testing.T) {
	r, write := newTestReconciler(t, hookFunc(func(*hook.Request) (*hook.Response, error) { return someChildren(2000), nil }), nil, objecttest.Widget(nil))
	fillCaches(t, r)
	key := objecttest.WidgetRef("default", "w")
	free := plansMemory - int64(smallAnswer)
	if !r.shared.plans.TryTake(free) {
		t.Fatal("the memory is used")
	}
	c := r.newReconciliation(key)
	if _, err := r.worker.reconcileRecovering(t.Context(), c); !errors.Is(err, kube.ErrRequeue) || len(write.Recorded()) != 0 || c.state.large <= smallAnswer {
		t.Fatalf("error %v, %d writes, a plan of %d bytes", err, len(write.Recorded()), c.state.large)
	}
	r.shared.plans.GiveBack(free)
	if _, err := r.worker.reconcileRecovering(t.Context(), r.newReconciliation(key)); err != nil || len(write.Recorded()) < 2000 {
		t.Errorf("error %v, %d writes", err, len(write.Recorded()))
	}
	if !r.shared.plans.TryTake(plansMemory) {
		t.Error("not all memory was given back")
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
	} {
		key := objecttest.WidgetRef("default", fmt.Sprint("w", i))
		if got := r.worker.scheduleNext(t.Context(), key, 0, c.large, errors.New("failed")); got < c.least || got > c.most {
			t.Errorf("after a plan of %d bytes it waits %s", c.large, got)
		}
	}
}

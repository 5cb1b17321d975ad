package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
	"metascript/controller/work"
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

// A memoryTest has parents that ask for parts, each of a Reconciler of its own.
type memoryTest struct {
	planMemory
	t   *testing.T
	all map[string]*Reconciler
}

func (m *memoryTest) of(parent string) asker {
	if m.all[parent] == nil {
		m.all[parent] = &Reconciler{queue: queue.New(work.NewPool(), parent, "", nil)}
	}
	return asker{m.all[parent], objecttest.WidgetRef("default", parent)}
}

// take asks for quarters for a parent, whose name begins with that of its sharer.
func (m *memoryTest) take(parent string, parts int, want bool) {
	m.t.Helper()
	if got := m.planMemory.take(request{m.of(parent), parent[:1], int64(parts) * quarter, 0}); got != want {
		m.t.Fatalf("%s gets %d quarters: %v", parent, parts, got)
	}
}

func (m *memoryTest) giveBack(sharer string, parts int) {
	m.planMemory.giveBack(sharer, int64(parts)*quarter)
}

// woken checks that exactly these parents are queued.
func (m *memoryTest) woken(want ...string) {
	m.t.Helper()
	var got []string
	for parent, r := range m.all {
		if r.queue.Len() > 0 {
			got = append(got, parent)
			key, _ := r.queue.Get()
			r.queue.Done(key)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		m.t.Fatalf("%q are reconciled, want %q", got, want)
	}
}

func testMemory(t *testing.T, test func(*memoryTest)) {
	synctest.Test(t, func(t *testing.T) {
		m := &memoryTest{t: t, all: map[string]*Reconciler{}}
		test(m)
		for _, r := range m.all {
			r.queue.ShutDown()
		}
	})
}

// Parents have their turns in the order in which they were refused, and no sharer can have more than half.
func TestPlanMemoryIsShared(t *testing.T) {
	testMemory(t, func(m *memoryTest) {
		m.take("a1", 1, true)
		m.take("a2", 1, true)
		m.take("a3", 1, false) // a has half, and does not delay others
		m.take("b1", 1, true)
		m.take("b2", 1, true)
		m.take("c1", 1, false)
		m.take("d1", 1, false)
		m.woken()
		m.giveBack("a", 1)
		m.woken("a3") // it asked first
		m.take("d1", 1, false)
		m.take("a3", 1, true)
		m.giveBack("b", 1)
		m.woken("c1")
		m.take("b3", 1, false) // it is kept for c1
		time.Sleep(keptFor + time.Second)
		m.woken("d1") // and then for d1
		m.take("b3", 1, false)
		m.take("c1", 1, false) // it comes late, and has its turn before b3
		m.take("d1", 1, true)
		m.giveBack("d", 1)
		m.woken("c1")
		m.take("c1", 1, true)
		m.giveBack("a", 2)
		m.woken("b3")
		m.take("b3", 1, true)
		m.take("d1", 1, true)
		for _, sharer := range []string{"b", "b", "c", "d"} {
			m.giveBack(sharer, 1)
		}
		if m.sum != 0 || len(m.held) != 0 || len(m.waiting) != 0 {
			t.Errorf("not all was given back: %d, %v, %v", m.sum, m.held, m.waiting)
		}
	})
}

// A large answer has its turn beside small ones of the same sharer, also if these follow each other without end.
func TestLargeAnswersOfOneSharerHaveTurns(t *testing.T) {
	testMemory(t, func(m *memoryTest) {
		m.take("a1", 1, true)
		m.take("a2", 2, false)
		m.take("a3", 1, false)
		m.giveBack("a", 1)
		m.woken("a2")
		m.take("a1", 1, false)
		m.take("a2", 2, true)
		m.giveBack("a", 2)
		m.woken("a1", "a3")
	})
}

// Nothing is kept for parents that are gone, and a parent whose answer is another one uses what it needs.
func TestPlanMemoryOfParentsThatAreGone(t *testing.T) {
	testMemory(t, func(m *memoryTest) {
		for _, sharer := range []string{"a", "b"} {
			m.take(sharer, 2, true)
		}
		for _, parent := range []string{"x", "y", "z"} {
			m.take(parent, 2, false)
		}
		m.take("v", 1, false)
		m.giveBack("a", 2)
		m.giveBack("b", 2)
		m.woken("x", "y")
		x := m.of("x")
		m.forgetParent(x.of, x.parent)
		m.woken("z")
		m.forget(func(a asker) bool { return a.of == m.all["z"] || a.of == m.all["y"] })
		m.woken("v")
		m.take("v", 2, true) // more than was kept
		if m.sum != 2*quarter || len(m.waiting) != 0 {
			t.Errorf("%d bytes are held, and %v wait", m.sum, m.waiting)
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
			r.shared.plans.take(request{asker{r, objecttest.WidgetRef("other", other)}, other, quarter, 0})
		}
	}
	c := r.newReconciliation(key)
	if _, err := r.worker.reconcileRecovering(t.Context(), c); !errors.Is(err, errLargeAnswers) || !errors.Is(err, kube.ErrRequeue) || len(write.Recorded()) != 0 || c.large.size <= smallAnswer {
		t.Fatalf("error %v, %d writes, a plan of %d bytes", err, len(write.Recorded()), c.large.size)
	}
	r.shared.plans.giveBack("a", quarter)
	if why := r.queue.Pending(key); why != queue.Retry {
		t.Errorf("it is queued for %q when there is memory", why)
	}
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

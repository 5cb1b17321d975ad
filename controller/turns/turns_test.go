package turns

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// quarter is a quarter of the Memory.
const quarter = 1 << 20

// A memoryTest has parents that ask for parts, each of a Reconciler of its own.
type memoryTest struct {
	Memory
	t   *testing.T
	all map[string]*controller
}

// A controller counts how often its parent is reconciled.
type controller struct{ reconciled atomic.Int64 }

func (c *controller) RetryNow(object.Ref) { c.reconciled.Add(1) }

func (m *memoryTest) of(parent string) Asker {
	if m.all[parent] == nil {
		m.all[parent] = &controller{}
	}
	return Asker{m.all[parent], objecttest.WidgetRef("default", parent)}
}

// take asks for quarters for a parent, whose name begins with that of its sharer.
func (m *memoryTest) take(parent string, parts int, want bool) {
	m.t.Helper()
	if got := m.Take(Request{m.of(parent), parent[:1], int64(parts) * quarter, 0}); got != want {
		m.t.Fatalf("%s gets %d quarters: %v", parent, parts, got)
	}
}

func (m *memoryTest) giveBack(sharer string, parts int) {
	m.GiveBack(sharer, int64(parts)*quarter)
}

// woken checks that exactly these parents are queued.
func (m *memoryTest) woken(want ...string) {
	m.t.Helper()
	synctest.Wait()
	var got []string
	for parent, r := range m.all {
		if r.reconciled.Swap(0) > 0 {
			got = append(got, parent)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		m.t.Fatalf("%q are reconciled, want %q", got, want)
	}
}

func testMemory(t *testing.T, test func(*memoryTest)) {
	synctest.Test(t, func(t *testing.T) {
		m := &memoryTest{Memory: Memory{Size: 4 * quarter}, t: t, all: map[string]*controller{}}
		test(m)
	})
}

// Parents have their turns in the order in which they were refused, and no sharer can have more than half.
func TestMemoryIsShared(t *testing.T) {
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
		m.take("c1", 1, true) // it comes late, and has its turn before d1
		m.take("d1", 1, false)
		m.giveBack("c", 1)
		m.woken("d1")
		m.take("d1", 1, true)
		m.giveBack("a", 2)
		m.woken("b3")
		m.take("b3", 1, true)
		m.take("c1", 1, true)
		for _, sharer := range []string{"b", "b", "c", "d"} {
			m.giveBack(sharer, 1)
		}
		if m.sum != 0 || len(m.held) != 0 || len(m.waiting) != 0 {
			t.Errorf("not all was given back: %d, %v, %v", m.sum, m.held, m.waiting)
		}
	})
}

// A large part has its turn beside small ones of the same sharer, also if these follow each other without end.
func TestLargePartsOfOneSharerHaveTurns(t *testing.T) {
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
func TestParentsThatAreGone(t *testing.T) {
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
		m.Forget(m.of("x"))
		m.woken("z")
		m.ForgetAll(m.all["z"])
		m.ForgetAll(m.all["y"])
		m.woken("v")
		m.take("v", 2, true) // more than was kept
		if m.sum != 2*quarter || len(m.waiting) != 0 {
			t.Errorf("%d bytes are held, and %v wait", m.sum, m.waiting)
		}
	})
}

// Those that wait for another one of their sharer do not delay other sharers.
func TestOwnQueueDelaysNobody(t *testing.T) {
	testMemory(t, func(m *memoryTest) {
		m.take("a1", 2, true)
		for _, parent := range []string{"a2", "a3", "a4"} {
			m.take(parent, 1, false)
		}
		m.take("b1", 2, true)
		m.giveBack("b", 2)
		m.giveBack("a", 1)
		m.woken("a2")
		m.take("a2", 2, false) // more than before
		m.take("b1", 1, true)
	})
}

// On a server on which each parent comes later than its part is kept, parents get their parts nevertheless.
func TestLateParents(t *testing.T) {
	testMemory(t, func(m *memoryTest) {
		m.take("a1", 2, true)
		m.take("b1", 2, true)
		for _, parent := range []string{"c1", "d1", "e1", "f1", "g1", "h1"} {
			m.take(parent, 2, false)
		}
		m.giveBack("a", 2)
		m.giveBack("b", 2)
		m.woken("c1", "d1")
		time.Sleep(keptFor + time.Second)
		m.woken("e1", "f1")
		m.take("c1", 2, true)
		m.take("d1", 2, true)
		m.giveBack("c", 2)
		m.woken("e1")
		m.take("h1", 2, false) // e1 is before it
		m.take("e1", 2, true)
	})
}

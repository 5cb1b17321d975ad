package children

import (
	"slices"
	"sync"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// An Extra is how many writes a server sends at the same time in addition to one for each Writer that applies. The sharers, which are
// tenants or controllers, have equal parts of it, as long as they have something to write: the load of the API server does not grow with
// their number, and one with many writes does not delay those of the others. It is safe for concurrent use.
type Extra struct {
	Most int

	mu      sync.Mutex // guards the fields below
	now     int
	sharers map[string]*Sharer // those that write
}

// A Sharer is a tenant, or a controller without one, while it writes. A nil one has no part.
type Sharer struct {
	of      *Extra
	name    string
	writing int // calls of begin without an end
	now     int
}

// begin returns the Sharer of this name, which writes until end. With a nil Extra it returns nil.
func (e *Extra) begin(name string) *Sharer {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sharers[name]
	if s == nil {
		s = &Sharer{of: e, name: name}
		if e.sharers == nil {
			e.sharers = map[string]*Sharer{}
		}
		e.sharers[name] = s
	}
	s.writing++
	return s
}

// end ends what begin has begun.
func (s *Sharer) end() {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.writing--; s.writing == 0 {
		delete(s.of.sharers, s.name)
	}
}

// take reports whether another write may be sent now. The caller calls giveBack after it.
func (s *Sharer) take() bool {
	if s == nil {
		return false
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.now >= s.of.Most || s.now >= s.of.Most/len(s.of.sharers) {
		return false
	}
	s.now++
	s.of.now++
	return true
}

func (s *Sharer) giveBack() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.now--
	s.of.now--
}

// maxFailing is how many writes to children of one kind may fail one after the other before the others are left to the next reconcile. An
// answer with thousands of children that the API server refuses would occupy it at each retry.
const maxFailing = 100

// A turn is the order of the writes to children of one kind. If the reconcile before has left some of them, they begin, so that each is
// tried at some time.
type turn struct{ first, all int }

// turn returns the order of ops, which are not none. What is remembered of the ones that were left is dropped.
func (m *Memory) turn(ops []plan.Op) turn {
	kind := ops[0].Object.GroupVersionKind()
	left, some := m.left[kind]
	if !some {
		return turn{all: len(ops)}
	}
	delete(m.left, kind)
	first := slices.IndexFunc(ops, func(op plan.Op) bool { return object.RefOf(op.Object) == left })
	return turn{first: max(first, 0), all: len(ops)}
}

// at returns the index of the i-th write.
func (t turn) at(i int) int { return (t.first + i) % t.all }

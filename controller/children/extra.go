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

// A Sharer is a tenant, or a controller without one, while it writes. A nil Sharer sends no additional writes.
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

// maxFailing is how many writes of one block may fail one after the other, and maxFailingInAll how many at all, before the others are left to the next
// reconcile. An answer with thousands of children that the API server refuses would occupy it at each retry.
const (
	maxFailing      = 100
	maxFailingInAll = 1000
)

// A block is what the writes have in common that follow each other in a plan and may be done in another order: the kind of the children, and
// whether the hook does not return them, or they lose a random value.
type block struct {
	kind             object.Kind
	unwanted, losing bool
}

func blockOf(op plan.Op, losing bool) block {
	return block{op.Object.GroupVersionKind(), op.Verb == plan.Delete && op.Wanted == nil, losing}
}

// inTurn returns ops in the order in which they are done: if the reconcile before has left some of a block, they begin, so that each is tried at
// some time. It drops what is remembered of those that were left. of returns the block of each.
func (m *Memory) inTurn(ops []plan.Op, of func(plan.Op) block) []plan.Op {
	if len(m.left) == 0 {
		return ops
	}
	ordered := make([]plan.Op, 0, len(ops))
	for begin, end := 0, 0; begin < len(ops); begin = end {
		for end = begin + 1; end < len(ops) && of(ops[end]) == of(ops[begin]); end++ {
		}
		first := begin
		for _, left := range m.left[of(ops[begin])] {
			same := func(op plan.Op) bool { return object.RefOf(op.Object) == left }
			if at := slices.IndexFunc(ops[begin:end], same); at >= 0 {
				first += at
				break
			}
		}
		ordered = append(append(ordered, ops[first:end]...), ops[begin:first]...)
	}
	clear(m.left)
	return ordered
}

// mostLeft is how many of those that are left are remembered for each block: the first ones may not be there any more the next time.
const mostLeft = 16

// leave notes that op is left to the next reconcile.
func (m *Memory) leave(of block, op plan.Op) {
	if left := m.left[of]; len(left) < mostLeft {
		put(&m.left, of, append(left, object.RefOf(op.Object).Clone()))
	}
}

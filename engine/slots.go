package engine

import (
	"container/list"
	"context"
	"sync"
)

// slots limit how many evaluations run at the same time. Tenants who wait take turns, and in a turn of a tenant its owners take
// turns. The evaluations of one owner are served in the order in which they came. So a tenant with a thousand owners delays the
// only owner of another tenant by at most one evaluation, and an owner with a hundred evaluations delays the only one of another
// owner of its tenant by at most one. Quick scripts are served before the others, except for every fourth slot.
type slots struct {
	mu            sync.Mutex // guards the fields below, except size, which does not change
	size, free    int
	quick, others turnQueue
	quickInRow    int // how many slots in a row went to quick scripts while others waited
}

// maxQuickInRow is the maximum of quickInRow.
const maxQuickInRow = 3

func newSlots(n int) *slots {
	return &slots{size: n, free: n}
}

// tryAcquire takes a slot if one is free, without waiting.
func (s *slots) tryAcquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		return false
	}
	s.free--
	return true
}

// wanted reports whether another owner waits for a slot.
func (s *slots) wanted(owner ownerKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quick.another(owner.path()) || s.others.another(owner.path())
}

// wantedByQuick reports whether a quick script of another owner waits for a slot.
func (s *slots) wantedByQuick(owner ownerKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quick.another(owner.path())
}

// acquire waits for a slot. It returns the error of ctx if ctx is done first. precedence says that the script is a quick one.
func (s *slots) acquire(ctx context.Context, owner ownerKey, precedence bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return nil
	}
	granted, queue := make(chan struct{}), &s.others
	if precedence {
		queue = &s.quick
	}
	element := queue.add(owner.path(), granted)
	s.mu.Unlock()

	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-granted: // both happened at once: give the slot to the next evaluation
		s.giveNext()
	default:
		queue.remove(owner.path(), element)
	}
	return ctx.Err()
}

// release gives a slot to the next evaluation that waits, or makes it free.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveNext()
}

// giveNext gives a slot to the next evaluation that waits, or makes it free. The caller holds mu.
func (s *slots) giveNext() {
	switch others := !s.others.empty(); {
	case !s.quick.empty() && (!others || s.quickInRow < maxQuickInRow):
		s.quick.serve()
		s.quickInRow++
		if !others {
			s.quickInRow = 0
		}
	case others:
		s.others.serve()
		s.quickInRow = 0
	default:
		s.free++
	}
}

// stats returns the statistics of the lane with these slots.
func (s *slots) stats() LaneStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return LaneStats{Slots: s.size, Busy: s.size - s.free, Waiting: s.quick.len() + s.others.len()}
}

// An ownerKey identifies an owner: Env.Tenant and Env.Owner.
type ownerKey struct{ tenant, name string }

// path returns the names that take turns, from the outermost.
func (o ownerKey) path() []string { return []string{o.tenant, o.name} }

// A turnQueue is a queue of evaluations that wait. Each has a path of names, and at each level of the paths the names take turns.
// The zero value is empty.
type turnQueue struct {
	waiters list.List             // those whose path ends here: a chan struct{} for each, closed when it gets a slot
	within  map[string]*turnQueue // those with a longer path, by the next name; none is empty
	turns   list.List             // the names in within, the next one first
}

// empty reports whether no evaluation waits.
func (q *turnQueue) empty() bool { return q.waiters.Len() == 0 && len(q.within) == 0 }

// another reports whether an evaluation waits that has another path. All paths have the same length.
func (q *turnQueue) another(path []string) bool {
	if len(path) == 0 || len(q.within) == 0 {
		return false
	}
	same := q.within[path[0]]
	return same == nil || len(q.within) > 1 || same.another(path[1:])
}

// len returns how many evaluations wait.
func (q *turnQueue) len() int {
	n := q.waiters.Len()
	for _, inner := range q.within {
		n += inner.len()
	}
	return n
}

// serve gives a slot to the next evaluation. The queue must not be empty.
func (q *turnQueue) serve() {
	if waiter := q.waiters.Front(); waiter != nil {
		close(q.waiters.Remove(waiter).(chan struct{}))
		return
	}
	next := q.turns.Front()
	name := next.Value.(string)
	q.within[name].serve()
	q.turns.MoveToBack(next)
	q.dropEmpty(name)
}

// add adds a waiter after the others of its path.
func (q *turnQueue) add(path []string, waiter chan struct{}) *list.Element {
	if len(path) == 0 {
		return q.waiters.PushBack(waiter)
	}
	if q.within == nil {
		q.within = map[string]*turnQueue{}
	}
	inner := q.within[path[0]]
	if inner == nil {
		inner = &turnQueue{}
		q.within[path[0]] = inner
		q.turns.PushBack(path[0])
	}
	return inner.add(path[1:], waiter)
}

// remove removes a waiter that was not served.
func (q *turnQueue) remove(path []string, element *list.Element) {
	if len(path) == 0 {
		q.waiters.Remove(element)
		return
	}
	q.within[path[0]].remove(path[1:], element)
	q.dropEmpty(path[0])
}

// dropEmpty removes a name that has no waiter any more.
func (q *turnQueue) dropEmpty(name string) {
	if !q.within[name].empty() {
		return
	}
	delete(q.within, name)
	for turn := q.turns.Back(); turn != nil; turn = turn.Prev() {
		if turn.Value == name {
			q.turns.Remove(turn)
			return
		}
	}
}

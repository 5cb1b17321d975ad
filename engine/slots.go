package engine

import (
	"container/list"
	"context"
	"sync"
)

// slots limit how many evaluations run at the same time. Owners who wait take turns, and the evaluations of one owner are
// served in the order in which they came: an owner with a hundred evaluations delays the only one of another owner by at most
// one. Quick scripts are served before the others, except for every fourth slot.
type slots struct {
	mu            sync.Mutex // guards the fields below, except size, which does not change
	size, free    int
	quick, others ownerQueue
	quickInRow    int // how many slots in a row went to quick scripts while others waited
}

// maxQuickInRow is the maximum of quickInRow.
const maxQuickInRow = 3

func newSlots(n int) *slots {
	return &slots{size: n, free: n, quick: newOwnerQueue(), others: newOwnerQueue()}
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
func (s *slots) wanted(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quick.another(owner) || s.others.another(owner)
}

// wantedByQuick reports whether a quick script of another owner waits for a slot.
func (s *slots) wantedByQuick(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quick.another(owner)
}

// acquire waits for a slot. It returns the error of ctx if ctx is done first. precedence says that the script is a quick one.
func (s *slots) acquire(ctx context.Context, owner string, precedence bool) error {
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
	element := queue.add(owner, granted)
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
		queue.remove(owner, element)
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
	switch others := s.others.turns.Len() > 0; {
	case s.quick.turns.Len() > 0 && (!others || s.quickInRow < maxQuickInRow):
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

// An ownerQueue is a queue of evaluations that wait, in which owners take turns.
type ownerQueue struct {
	queues map[string]*list.List // by owner: a chan struct{} for each evaluation, closed when it gets a slot; no list is empty
	turns  list.List             // the owners in queues, the next one first
}

func newOwnerQueue() ownerQueue { return ownerQueue{queues: map[string]*list.List{}} }

// another reports whether an owner other than this one waits.
func (q *ownerQueue) another(owner string) bool {
	first := q.turns.Front()
	return first != nil && (first.Value != owner || q.turns.Len() > 1)
}

// len returns how many evaluations wait.
func (q *ownerQueue) len() int {
	n := 0
	for _, queue := range q.queues {
		n += queue.Len()
	}
	return n
}

// serve gives a slot to the next evaluation.
func (q *ownerQueue) serve() {
	next := q.turns.Front()
	owner := next.Value.(string)
	waiter := q.queues[owner].Front()
	close(waiter.Value.(chan struct{}))
	q.turns.MoveToBack(next)
	q.remove(owner, waiter)
}

// add adds a waiter after the others of its owner.
func (q *ownerQueue) add(owner string, waiter chan struct{}) *list.Element {
	if q.queues[owner] == nil {
		q.queues[owner] = list.New()
		q.turns.PushBack(owner)
	}
	return q.queues[owner].PushBack(waiter)
}

// remove removes a waiter, and its owner if it was the last one.
func (q *ownerQueue) remove(owner string, element *list.Element) {
	q.queues[owner].Remove(element)
	if q.queues[owner].Len() > 0 {
		return
	}
	delete(q.queues, owner)
	for turn := q.turns.Back(); turn != nil; turn = turn.Prev() {
		if turn.Value == owner {
			q.turns.Remove(turn)
			return
		}
	}
}

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
	mu            sync.Mutex
	size, free    int
	quick, others line
	quickInRow    int // how many slots in a row went to quick scripts while others waited
}

const maxQuickInRow = 3

func newSlots(n int) *slots {
	return &slots{size: n, free: n, quick: line{queues: map[string]*list.List{}}, others: line{queues: map[string]*list.List{}}}
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

// acquire takes a slot, or returns ctx's error when that is done first.
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
	mine, in := make(chan struct{}), &s.others
	if precedence {
		in = &s.quick
	}
	place := in.join(owner, mine)
	s.mu.Unlock()

	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-mine: // both happened at once: give the slot to the next
		s.giveNext()
	default:
		in.leave(owner, place)
	}
	return ctx.Err()
}

// release gives a slot to the next evaluation that waits, or makes it free.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveNext()
}

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

// stats returns the numbers of slots, of busy ones, and of evaluations that wait for one.
func (s *slots) stats() LaneStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return LaneStats{Slots: s.size, Busy: s.size - s.free, Waiting: s.quick.len() + s.others.len()}
}

// A line is a queue of owners that wait.
type line struct {
	queues map[string]*list.List // of chan struct{}, closed when the slot is theirs; none is empty
	turns  list.List             // of the owners in queues, next first
}

// another reports whether another owner waits.
func (l *line) another(owner string) bool {
	first := l.turns.Front()
	return first != nil && (first.Value != owner || l.turns.Len() > 1)
}

// len returns how many evaluations wait.
func (l *line) len() int {
	n := 0
	for _, queue := range l.queues {
		n += queue.Len()
	}
	return n
}

// serve gives a slot to the next evaluation.
func (l *line) serve() {
	next := l.turns.Front()
	owner := next.Value.(string)
	waiter := l.queues[owner].Front()
	close(waiter.Value.(chan struct{}))
	l.turns.MoveToBack(next)
	l.leave(owner, waiter)
}

// join adds a waiter after the others of its owner.
func (l *line) join(owner string, waiter chan struct{}) *list.Element {
	if l.queues[owner] == nil {
		l.queues[owner] = list.New()
		l.turns.PushBack(owner)
	}
	return l.queues[owner].PushBack(waiter)
}

// leave removes a waiter, and its owner if it was the last one.
func (l *line) leave(owner string, place *list.Element) {
	l.queues[owner].Remove(place)
	if l.queues[owner].Len() > 0 {
		return
	}
	delete(l.queues, owner)
	for turn := l.turns.Back(); turn != nil; turn = turn.Prev() {
		if turn.Value == owner {
			l.turns.Remove(turn)
			return
		}
	}
}

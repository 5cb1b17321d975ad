package engine

import (
	"container/list"
	"context"
	"sync"
)

// slots bounds how many evaluations run at once. Owners who wait take turns, and the evaluations of one owner are served in the
// order in which they came: an owner with a hundred evaluations delays the only one of another owner by one at most. Quick
// scripts are served before the others, except for every fourth slot.
type slots struct {
	mu          sync.Mutex
	size, free  int
	quick, rest line
	quickInRow  int // how many slots in a row went to quick scripts while others waited
}

const maxQuickInRow = 3

func newSlots(n int) *slots {
	return &slots{size: n, free: n, quick: line{queues: map[string]*list.List{}}, rest: line{queues: map[string]*list.List{}}}
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

// wanted reports whether another owner than this waits for a slot.
func (s *slots) wanted(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quick.another(owner) || s.rest.another(owner)
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
	mine, in := make(chan struct{}), &s.rest
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
	case <-mine: // both happened at once: pass the slot on
		s.passOn()
	default:
		in.leave(owner, place)
	}
	return ctx.Err()
}

// release returns a slot back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passOn()
}

func (s *slots) passOn() {
	switch others := s.rest.turns.Len() > 0; {
	case s.quick.turns.Len() > 0 && (!others || s.quickInRow < maxQuickInRow):
		s.quick.serve()
		s.quickInRow++
		if !others {
			s.quickInRow = 0
		}
	case others:
		s.rest.serve()
		s.quickInRow = 0
	default:
		s.free++
	}
}

// stats counts the slots, those that are taken, and who waits for one.
func (s *slots) stats() LaneStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return LaneStats{Slots: s.size, Busy: s.size - s.free, Waiting: s.quick.len() + s.rest.len()}
}

// A line is a queue of owners who wait.
type line struct {
	queues map[string]*list.List // of chan struct{}, closed when the slot is theirs; none is empty
	turns  list.List             // of the owners in queues, next first
}

// another reports whether another owner than this waits.
func (l *line) another(owner string) bool {
	first := l.turns.Front()
	return first != nil && (first.Value != owner || l.turns.Len() > 1)
}

// len counts who waits.
func (l *line) len() int {
	n := 0
	for _, queue := range l.queues {
		n += queue.Len()
	}
	return n
}

// serve returns a slot to who is next.
func (l *line) serve() {
	next := l.turns.Front()
	owner := next.Value.(string)
	waiter := l.queues[owner].Front()
	close(waiter.Value.(chan struct{}))
	l.turns.MoveToBack(next)
	l.leave(owner, waiter)
}

// join adds a waiter behind the others of its owner.
func (l *line) join(owner string, waiter chan struct{}) *list.Element {
	if l.queues[owner] == nil {
		l.queues[owner] = list.New()
		l.turns.PushBack(owner)
	}
	return l.queues[owner].PushBack(waiter)
}

// leave removes a waiter, and its owner after the last.
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

package engine

import (
	"container/list"
	"context"
	"sync"
)

// slots bounds how many evaluations run at once. Owners who wait take turns, and each owner's evaluations are served
// in the order of asking: who asks for a hundred makes another's single one wait for one of them at most.
type slots struct {
	mu     sync.Mutex
	free   int
	queues map[string]*list.List // of chan struct{}, closed when the slot is theirs; none is empty
	turns  list.List             // of the owners in queues, next first
}

func newSlots(n int) *slots { return &slots{free: n, queues: map[string]*list.List{}} }

// try takes a slot if one is free.
func (s *slots) try() bool {
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
	first := s.turns.Front()
	return first != nil && (first.Value != owner || s.turns.Len() > 1)
}

// acquire takes a slot, or returns ctx's error when that is done first.
func (s *slots) acquire(ctx context.Context, owner string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	place := s.join(owner, mine)
	s.mu.Unlock()

	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-mine: // it came at the same moment: pass it on
		s.handOn()
	default:
		s.leave(owner, place)
	}
	return ctx.Err()
}

// release gives a slot back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handOn()
}

func (s *slots) handOn() {
	next := s.turns.Front()
	if next == nil {
		s.free++
		return
	}
	owner := next.Value.(string)
	first := s.queues[owner].Front()
	close(first.Value.(chan struct{}))
	s.turns.MoveToBack(next)
	s.leave(owner, first)
}

// join adds a waiter behind the others of its owner.
func (s *slots) join(owner string, waiter chan struct{}) *list.Element {
	if s.queues[owner] == nil {
		s.queues[owner] = list.New()
		s.turns.PushBack(owner)
	}
	return s.queues[owner].PushBack(waiter)
}

// leave removes a waiter, and its owner after the last.
func (s *slots) leave(owner string, place *list.Element) {
	s.queues[owner].Remove(place)
	if s.queues[owner].Len() > 0 {
		return
	}
	delete(s.queues, owner)
	for turn := s.turns.Back(); turn != nil; turn = turn.Prev() {
		if turn.Value == owner {
			s.turns.Remove(turn)
			return
		}
	}
}

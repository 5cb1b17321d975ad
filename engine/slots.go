package engine

import (
	"container/list"
	"context"
	"sync"
)

// slots bounds how many evaluations run at once. Whoever waits is served in the order of asking.
type slots struct {
	mu      sync.Mutex
	free    int
	waiting list.List // of chan struct{}, closed when the slot is theirs
}

func newSlots(n int) *slots { return &slots{free: n} }

// acquire takes a slot, or returns ctx's error when that is done first.
func (s *slots) acquire(ctx context.Context) error {
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
	place := s.waiting.PushBack(mine)
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
		s.waiting.Remove(place)
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
	if first := s.waiting.Front(); first != nil {
		close(s.waiting.Remove(first).(chan struct{}))
		return
	}
	s.free++
}

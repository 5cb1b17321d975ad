package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/spec"
)

// Waiting says what the server waits for before it is ready; nothing once it is. It is ready once every controller
// object has been looked at, and the caches of those that run are filled, whether it leads or stands by. A controller
// whose resources cannot be watched is not waited for: its own status says so, and the others work. Once ready,
// the server stays so: controllers come and go.
func (s *Server) Waiting() []string {
	if s.ready.Load() {
		return nil
	}
	waiting := s.waiting.get(s.notReady)
	s.ready.Store(len(waiting) == 0)
	return waiting
}

func (s *Server) notReady() []string {
	if !s.watches.hasSynced.Load() {
		return s.watches.unknown()
	}
	var all []string
	for _, o := range s.watches.list() {
		id := spec.IDOf(o)
		if m := s.records.get(id); m == nil || m.uid != o.GetUID() || !m.loaded.Load() {
			all = append(all, id.String()+" is being loaded")
		} else if r := m.active.Load(); r != nil {
			all = append(all, r.Unsynced()...)
		}
	}
	slices.Sort(all)
	return all
}

// Healthy is an error when the server does not make progress, and would not without being started again: one of the locks
// that everything needs cannot be locked before ctx is done, or it works although its Lease has expired.
func (s *Server) Healthy(ctx context.Context) error {
	if s.candidate != nil {
		if err := s.candidate.Healthy(); err != nil {
			return err
		}
	}
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		s.probeLocks()
	}()
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return errors.New("a lock of the server's is held and not given back")
	}
}

// probeLocks locks and unlocks each lock that everything needs.
func (s *Server) probeLocks() {
	s.queue.Len()
	s.caches.Running()
	s.shared.Hub.Changes(schema.GroupKind{})
	s.shared.Related.Probe()
	for _, r := range s.records.running() {
		r.ProbeLocks()
	}
}

// A recent keeps an answer that took long to find, so that asking often, as probes do, costs no more than a twentieth of a
// processor. The zero value has none. It is safe for concurrent use.
type recent struct {
	mu     sync.Mutex // guards what follows
	answer []string
	until  time.Time
}

// keptFrom is what an answer takes at least that is kept.
const keptFrom = 200 * time.Microsecond

// get gives the answer of look, which may be some moments old if it took long.
func (r *recent) get(look func() []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := time.Now()
	if began.Before(r.until) {
		return r.answer
	}
	r.answer = look()
	if took := time.Since(began); took > keptFrom {
		r.until = time.Now().Add(19 * took)
	}
	return r.answer
}

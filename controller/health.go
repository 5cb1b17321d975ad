package controller

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/apiserver"
	"metascript/controller/spec"
)

// Waiting returns what the server waits for before it is ready; nil once it is ready. It is ready when every controller
// object was loaded and the caches of those that run have synced, whether or not the server leads. It does not wait for a
// controller whose resources cannot be watched, since its own status reports that and the others work. A server that is
// ready stays ready, also when controllers are added.
func (s *Server) Waiting() []string {
	if s.ready.Load() {
		return nil
	}
	waiting := s.waiting.Get(s.notReady)
	s.ready.Store(len(waiting) == 0)
	return waiting
}

// notReady computes the result of Waiting.
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

// Notes returns what an operator must know of a server that is ready: that the API server does not answer its requests as it should. It
// does not make the server unready: without an endpoint, nobody would read the metrics that tell it.
func (s *Server) Notes() []string {
	if now := s.connection.State(); now.Condition != apiserver.Well {
		return []string{now.String()}
	}
	return nil
}

// Healthy returns an error if the server must be restarted: one of the locks that everything needs cannot be locked before
// ctx is done, or the server works although its Lease has expired.
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
		return errors.New("a lock in the server is not released")
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

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"metascript/controller/spec"
	"metascript/controller/static"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Waiting says what the server waits for before it is ready; nothing once it is. It is ready once every controller
// object has been looked at, and the caches of those that run are filled, whether it leads or stands by. A controller
// whose resources cannot be watched is not waited for: its own status tells of it, and the others work. Once ready,
// the server stays so: controllers come and go.
func (s *Server) Waiting() []string {
	if s.ready.Load() {
		return nil
	}
	waiting := s.waitedFor.get(s.waiting)
	s.ready.Store(len(waiting) == 0)
	return waiting
}

func (s *Server) waiting() []string {
	if !s.known.Load() {
		return s.unknown()
	}
	var all []string
	for _, controllers := range s.controllers {
		for _, o := range controllers.List() {
			name := spec.IDOf(o)
			if _, seen := s.seen.Load(name); !seen {
				all = append(all, name.String()+" is being loaded")
			} else if r := s.get(name); r != nil {
				all = append(all, r.loop.Unfilled()...)
			}
		}
	}
	slices.Sort(all)
	return all
}

// unknown says what has to be read before controllers can be loaded, and what keeps it from being read.
func (s *Server) unknown() []string {
	if !s.opened.Load() {
		return []string{"the server is about to start"}
	}
	all := beingRead("CustomResourceDefinition", s.crds)
	for kind, cache := range s.controllers {
		all = append(all, beingRead(kind, cache)...)
	}
	if len(all) == 0 {
		return []string{"the controllers are about to be loaded"}
	}
	slices.Sort(all)
	return all
}

// beingRead says that objects are being read, and what keeps them from it, unless they are known.
func beingRead(kind string, cache static.Objects) []string {
	if err := cache.Trouble(); err != nil {
		return []string{fmt.Sprintf("the %ss are being read: %v", kind, err)}
	} else if !cache.Filled() {
		return []string{fmt.Sprintf("the %ss are being read", kind)}
	}
	return nil
}

// Healthy is an error when the server does not get on, and would not without being started again: one of the locks
// that everything needs is not to be had before ctx is done, or it works although its Lease has run out.
func (s *Server) Healthy(ctx context.Context) error {
	if s.candidate != nil {
		if err := s.candidate.Healthy(); err != nil {
			return err
		}
	}
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		s.pass()
	}()
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return errors.New("a lock of the server's is held and not given back")
	}
}

// pass takes each lock and gives it back.
func (s *Server) pass() {
	s.queue.Len()
	s.caches.Running()
	s.shared.Hub.Changes(schema.GroupKind{})
	s.shared.Related.Probe()
	for _, r := range s.all() {
		r.loop.ProbeLocks()
	}
}

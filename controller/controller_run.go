package controller

import (
	"context"

	"metascript/controller/lease"
	"metascript/controller/spec"
)

// leads reports whether this server is the one that works.
func (s *Server) leads() bool { return s.leading.IsOpen() }

// lead lets what stands by begin. It is called once.
func (s *Server) lead() {
	s.events.Mute(false)
	s.leading.Open()
}

// tellAll has every controller looked at again once the server leads, so that their status tells what came of them.
func (s *Server) tellAll(ctx context.Context) {
	if !s.leading.Wait(ctx) {
		return
	}
	for _, controllers := range s.controllers {
		for _, o := range controllers.List() {
			s.queue.Add(spec.IDOf(o))
		}
	}
}

// Election is an alias.
type Election = lease.Election

package controller

import (
	"context"
	"strings"
	"time"

	"metascript/controller/spec"
)

// runawayCheck is how often the server looks whether scripts have begun to run on, or have ended.
const runawayCheck = 2 * time.Second

// watchRunaways has the status of a controller say that its script runs on although its time is up, and that it does not
// any more.
func (s *Server) watchRunaways(ctx context.Context) {
	tick := time.NewTicker(runawayCheck)
	defer tick.Stop()
	before := map[spec.ID]int{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := s.countRunaways()
		for name := range now {
			if now[name] != before[name] {
				s.queue.Add(name)
			}
		}
		for name := range before {
			if now[name] == 0 {
				s.queue.Add(name)
			}
		}
		before = now
	}
}

// countRunaways counts what runs on, by the controller object.
func (s *Server) countRunaways() map[spec.ID]int {
	count := map[spec.ID]int{}
	for _, one := range s.sandbox.Runaways() {
		if kind, name, ok := strings.Cut(one.Owner, "/"); ok {
			count[spec.ID{Kind: kind, Name: name}]++
		}
	}
	return count
}

package controller

import (
	"errors"
	"time"

	"metascript/engine"
	"metascript/scripts"
)

// A stuck version is one that could not be loaded in time. It may be the fault of a busy machine, and is tried again by
// itself: at once, and then after pauses that double, since a script whose top level does not end takes its whole time from
// those who wait to be loaded.
type stuck struct {
	identity string
	err      error
	times    int // in a row
	until    time.Time
}

// The pauses before a version that could not be loaded in time is tried again.
const (
	firstStuck = 5 * time.Second
	lastStuck  = 5 * time.Minute
)

// passing reports whether err may be gone when the same is tried again: a script ran out of time, or files changed while they
// were read.
func passing(err error) bool {
	var e *engine.Error
	var source *scripts.Error
	return errors.As(err, &e) && (e.Kind == engine.KindTimeout || e.Kind == engine.KindCanceled) ||
		errors.As(err, &source) && source.Reason == scripts.Unsettled
}

// stuckAt is why c is not tried now, or nil.
func (s *Server) stuckAt(c *candidate, now time.Time) error {
	kept, _ := s.stuck.Load(c.id())
	if at, _ := kept.(*stuck); at != nil && at.identity == c.identity && now.Before(at.until) {
		return at.err
	}
	return nil
}

// noteStuck takes what came of loading c. It reports whether that is to be told: not the first time, if it may be gone the
// next time.
func (s *Server) noteStuck(c *candidate, err error, now time.Time) (tell bool) {
	if !passing(err) {
		s.stuck.Delete(c.id())
		return true
	}
	kept, _ := s.stuck.Load(c.id())
	last, _ := kept.(*stuck)
	switch {
	case last == nil || last.identity != c.identity:
		s.stuck.Store(c.id(), &stuck{identity: c.identity, err: err, times: 1})
		return false
	case now.Before(last.until):
		return true
	}
	pause := min(firstStuck<<min(last.times-1, 10), lastStuck)
	s.stuck.Store(c.id(), &stuck{c.identity, err, last.times + 1, now.Add(pause)})
	return true
}

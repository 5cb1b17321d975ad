package throttle

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"metascript/controller/object"
	"metascript/engine"
)

// A Canary decides once whether a new version of the scripts is good or is given up, by the results of its calls for
// different parents.
//
// The version is given up if it failed for more than percent of the parents for which it was called, as soon as these are
// enough parents. It is good if it was called for all parents, or for long enough, and was not given up.
//
// For each parent the last call counts. A parent for which the previous version failed too does not count, unless the new
// version succeeds for it. Errors of the API server, of webhooks and of caches never count.
//
// It is safe for concurrent use.
type Canary struct {
	percent int                 // of the parents for which the version may fail; below zero it is good from the start
	excused map[object.Ref]bool // the parents for which the version before failed
	parents func() int          // how many there are
	decided func()              // called once, when it is decided

	mu      sync.Mutex          // guards the fields below; parents is called with it locked, decided without it
	began   time.Time           // when it was run for a parent first; zero: never yet, since this server stands by
	failed  map[object.Ref]bool // for each parent for which it was run
	bad     int                 // how many of them failed
	wanted  int                 // how many were eligible when they were counted last
	result  Outcome
	why     string // it was given up
	example string // the last failure
}

// An Outcome is the decision of a Canary.
type Outcome int

// The outcomes.
const (
	Undecided Outcome = iota
	Good
	GivenUp
)

const (
	canaryParents = 10               // are enough to give a version up; or all, if there are fewer
	canaryTime    = 10 * time.Minute // is enough for a version to be good, though it was not run for some parents
)

// NewCanary returns a Canary. The version may fail for percent of the parents, whose number parents returns. excused are the
// parents for which the previous version failed. It calls decided once, when the outcome is known.
func NewCanary(percent int, excused map[object.Ref]bool, parents func() int, decided func()) *Canary {
	return &Canary{percent: percent, excused: excused, parents: parents, decided: decided, failed: map[object.Ref]bool{}}
}

// NoCanary returns the Canary of a version that is good from the start.
func NoCanary() *Canary { return NewCanary(-1, nil, nil, func() {}) }

// A GivenUpError says that a version of the scripts was given up. Reason is empty when another server gave it up and did not
// say why.
type GivenUpError struct{ Reason string }

// NotTriedAgain is how the message of a GivenUpError begins.
const NotTriedAgain = "this version was given up, and is not tried again before it is edited"

func (e *GivenUpError) Error() string {
	if e.Reason == "" {
		return NotTriedAgain
	}
	return NotTriedAgain + ": " + e.Reason
}

// IsGivenUp reports whether err is a GivenUpError.
func IsGivenUp(err error) bool {
	var given *GivenUpError
	return errors.As(err, &given)
}

// Note records the result of running the script for a parent.
func (c *Canary) Note(parent object.Ref, err error, now time.Time) {
	var fault *engine.Error
	if errors.As(err, &fault) && fault.Kind == engine.KindCanceled || err != nil && fault == nil {
		return
	}
	if c.count(parent, fault, now) {
		c.decided()
	}
}

// count records a result, and reports whether it decides the outcome.
func (c *Canary) count(parent object.Ref, fault *engine.Error, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.excused[parent] && fault != nil {
		return false
	}
	c.drop(parent)
	if c.failed[parent.Clone()] = fault != nil; c.began.IsZero() {
		c.began = now
	}
	if fault != nil {
		c.bad++
		c.example = fmt.Sprintf("%s: %s", parent, engine.DetailOf(fault))
	}
	if c.percent < 0 || c.result != Undecided {
		return false
	}
	tried, enough := len(c.failed), canaryParents
	if tried < enough { // else they need not be counted, which takes long when there are many
		enough = min(enough, c.eligible())
	}
	switch {
	case tried >= enough && c.bad*100 > c.percent*tried:
		c.result, c.why = GivenUp, fmt.Sprintf("it failed for %d of the first %d parents, last for %s", c.bad, tried, c.example)
	case tried >= c.wanted: // before that they need not be counted either
		if c.wanted = c.eligible(); tried >= c.wanted {
			c.result = Good
		}
	}
	return c.result != Undecided
}

// eligible returns for how many parents the version may be called.
func (c *Canary) eligible() int {
	all := c.parents()
	for parent := range c.excused {
		if _, tried := c.failed[parent]; !tried {
			all--
		}
	}
	return all
}

// GiveUp gives the version up because of why, unless the outcome is decided already.
func (c *Canary) GiveUp(why error) {
	c.mu.Lock()
	decided := c.percent >= 0 && c.result == Undecided
	if decided {
		c.result, c.why = GivenUp, engine.DetailOf(why)
	}
	c.mu.Unlock()
	if decided {
		c.decided()
	}
}

// Accept makes a version good that was given up, since there is none to roll back to.
func (c *Canary) Accept() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = Good
}

// Forget drops a parent that was deleted.
func (c *Canary) Forget(parent object.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(parent)
}

func (c *Canary) drop(parent object.Ref) {
	if c.failed[parent] {
		c.bad--
	}
	delete(c.failed, parent)
}

// Failing returns the parents for which the last call of the version failed, or that are excused.
func (c *Canary) Failing() map[object.Ref]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	failing := maps.Clone(c.failed)
	maps.DeleteFunc(failing, func(_ object.Ref, failed bool) bool { return !failed })
	for parent := range c.excused {
		if _, tried := c.failed[parent]; !tried {
			failing[parent] = true
		}
	}
	return failing
}

// Outcome returns the outcome so far. The error is a [*GivenUpError] when the version was given up, and nil otherwise.
func (c *Canary) Outcome(now time.Time) (Outcome, error) {
	if c == nil || c.percent < 0 {
		return Good, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.result == Undecided && (len(c.failed) >= c.eligible() || !c.began.IsZero() && now.Sub(c.began) > canaryTime) {
		c.result = Good
	}
	if c.result == GivenUp {
		return GivenUp, &GivenUpError{c.why}
	}
	return c.result, nil
}

package controller

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/engine"
)

// A breaker keeps a script from being run again and again in vain.
//
// A script that hits its limit of steps, memory, output or stack for a parent does so again, unless it is given
// something else: after the second time in a row it is held, that is not run for that parent, until the question
// changes. A script that runs out of time may be the victim of a busy machine: it is run again, after a pause that
// doubles each time. Other parents are not concerned. A new version of the controller has a new breaker, so that an
// edit of the script releases what is held; so does a restart.
//
// A breaker only judges; loop.go decides what to do. It is safe for concurrent use.
type breaker struct {
	notify func() // called when the first parent is held, and when none is any more

	mu      sync.Mutex
	parents map[object.Ref]*record
	held    int // how many parents are
	order   int // in which they came
}

const (
	strikesAllowed = 2
	firstPause     = 5 * time.Second
	lastPause      = 5 * time.Minute
)

// A question is what a script is asked about a parent, as far as the parent's owner has a say in it.
type question struct {
	uid     types.UID
	version string // of the spec
	hook    string
}

// questionAbout is the question that a parent poses. A kind without generations has no version but that of the whole
// object.
func questionAbout(parent *object.Object, hook string) question {
	version := parent.GetResourceVersion()
	if generation := parent.GetGeneration(); generation > 0 {
		version = strconv.FormatInt(generation, 10)
	}
	return question{parent.GetUID(), version, hook}
}

// A record is what came of asking a question, since the script last answered it.
type record struct {
	question
	strikes int       // how often it hit a limit
	late    int       // how often it ran out of time
	until   time.Time // the end of its pause
	err     error     // the last one
	place   int       // among those that are held; 0: it is not
}

// A heldError says that the script is not run for a parent.
type heldError struct {
	err  error // why: the limit that it hit
	news bool  // it was not held before
}

func (e *heldError) Error() string {
	return fmt.Sprintf("the script hit a limit %d times in a row and is not run for this object before its spec or the script changes: %v", strikesAllowed, e.err)
}

func (e *heldError) Unwrap() error { return e.err }

// A pauseError says that the script is not to be run for a parent for a while.
type pauseError struct {
	err  error // why: it ran out of time
	wait time.Duration
	news bool // it ran just now
}

func (e *pauseError) Error() string { return fmt.Sprintf("%v; it is tried again in %s", e.err, e.wait) }

func (e *pauseError) Unwrap() error { return e.err }

func newBreaker(notify func()) *breaker {
	return &breaker{notify: notify, parents: map[object.Ref]*record{}}
}

// admit gives nil when the script may be run for a parent now, or a *heldError or a *pauseError.
func (b *breaker) admit(parent object.Ref, q question, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.parents[parent]
	switch {
	case r == nil:
		return nil
	case r.question != q:
		b.drop(parent)
		return nil
	case r.place > 0:
		return &heldError{err: r.err}
	case now.Before(r.until):
		return &pauseError{err: r.err, wait: r.until.Sub(now)}
	}
	return nil
}

// note takes what came of running the script for a parent. It gives err, or the *heldError or *pauseError that follows
// from it.
func (b *breaker) note(parent object.Ref, q question, err error, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.parents[parent]
	if err == nil || r != nil && r.question != q {
		b.drop(parent)
		r = nil
	}
	late, strike := faultOf(err)
	if !late && !strike {
		return err
	}
	if r == nil {
		r = &record{question: q}
		b.parents[parent] = r
	}
	r.err = err
	if late {
		wait := min(firstPause<<min(r.late, 10), lastPause)
		r.late, r.until = r.late+1, now.Add(wait)
		return &pauseError{err: err, wait: wait, news: true}
	}
	if r.strikes++; r.strikes < strikesAllowed {
		return err
	}
	b.order++
	r.place = b.order
	if b.held++; b.held == 1 {
		b.notify()
	}
	return &heldError{err: err, news: true}
}

// faultOf reports whether err says that a script ran out of time, or that it hit another limit.
func faultOf(err error) (late, strike bool) {
	var e *engine.Error
	if !errors.As(err, &e) {
		return false, false
	}
	switch e.Kind {
	case engine.KindTimeout:
		return true, false
	case engine.KindSteps, engine.KindMemory, engine.KindOutput, engine.KindStack:
		return false, true
	}
	return false, false
}

// forget drops what is known of a parent that is gone.
func (b *breaker) forget(parent object.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(parent)
}

// clear drops what is known of all parents.
func (b *breaker) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for parent := range b.parents {
		b.drop(parent)
	}
}

func (b *breaker) drop(parent object.Ref) {
	r := b.parents[parent]
	delete(b.parents, parent)
	if r == nil || r.place == 0 {
		return
	}
	if b.held--; b.held == 0 {
		b.notify()
	}
}

// A holding says for how many parents the script is not run, which was the first, and why.
type holding struct {
	parents int
	first   object.Ref
	err     error
}

// holds gives the parents that are held.
func (b *breaker) holds() holding {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, place := holding{parents: b.held}, 0
	for parent, r := range b.parents {
		if r.place > 0 && (place == 0 || r.place < place) {
			h.first, h.err, place = parent, r.err, r.place
		}
	}
	return h
}

package controller

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"metascript/controller/object"
	"metascript/engine"
)

// A trial is how a version of the scripts does, parent by parent. It decides, once, whether the version is good or is
// given up: bad, when it failed for more than so many percent of the parents that it was tried for, as soon as it was
// tried for enough of them; good, when it was tried for all, or long enough, without that.
//
// A parent counts by how its script was called last. One for which the version before failed as well says nothing, unless
// it is well now. What the API server, a webhook or a cache is to blame for, counts nowhere.
//
// It is safe for concurrent use.
type trial struct {
	percent int                 // of the parents for which the version may fail; below zero it is good from the start
	excused map[object.Ref]bool // the parents for which the version before failed
	parents func() int          // how many there are
	decided func()              // called once, when it is

	mu      sync.Mutex
	began   time.Time           // when a parent was asked about first; zero: none was, since this server stands by
	failed  map[object.Ref]bool // by parent it was tried for
	bad     int                 // how many of them
	wanted  int                 // as many were eligible when they were counted last
	came    outcome
	why     string
	example string // the last failure
}

// An outcome is that of a trial.
type outcome int

const (
	undecided outcome = iota
	good
	givenUp
)

const (
	enoughTried = 10               // parents, before a version is given up; or all, if there are fewer
	longEnough  = 10 * time.Minute // for a version that was not given up to be good, though some parents were not seen
)

// newTrial gives a trial that begins with the first parent.
func newTrial(percent int, excused map[object.Ref]bool, parents func() int, decided func()) *trial {
	return &trial{percent: percent, excused: excused, parents: parents, decided: decided, failed: map[object.Ref]bool{}}
}

// unjudged is a trial of a version that is taken for good.
func unjudged() *trial { return newTrial(-1, nil, nil, func() {}) }

// A givenUpError says that a version of the scripts was given up. The reason is empty when it was the server before that
// knew it.
type givenUpError struct{ reason string }

func (e *givenUpError) Error() string {
	if e.reason == "" {
		return notTriedAgain
	}
	return notTriedAgain + ": " + e.reason
}

func isGivenUp(err error) bool {
	var given *givenUpError
	return errors.As(err, &given)
}

const notTriedAgain = "this version was given up, and is not tried again before it is edited"

// note takes what came of asking a script about a parent.
func (t *trial) note(parent object.Ref, err error) {
	var fault *engine.Error
	if errors.As(err, &fault) && fault.Kind == engine.KindCanceled || err != nil && fault == nil {
		return
	}
	if t.count(parent, fault) {
		t.decided()
	}
}

// count reports whether the trial is decided by this.
func (t *trial) count(parent object.Ref, fault *engine.Error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.excused[parent] && fault != nil {
		return false
	}
	t.drop(parent)
	if t.failed[parent] = fault != nil; t.began.IsZero() {
		t.began = time.Now()
	}
	if fault != nil {
		t.bad++
		t.example = fmt.Sprintf("%s: %s", parent, engine.DetailOf(fault))
	}
	if t.percent < 0 || t.came != undecided {
		return false
	}
	tried, enough := len(t.failed), enoughTried
	if tried < enough { // else there is no need to count them, which takes long when there are many
		enough = min(enough, t.eligible())
	}
	switch {
	case tried >= enough && t.bad*100 > t.percent*tried:
		t.came, t.why = givenUp, fmt.Sprintf("it failed for %d of the first %d parents, last for %s", t.bad, tried, t.example)
	case tried >= t.wanted: // before which there is no need to count them either
		if t.wanted = t.eligible(); tried >= t.wanted {
			t.came = good
		}
	}
	return t.came != undecided
}

// eligible is for how many parents the version may be tried.
func (t *trial) eligible() int {
	all := t.parents()
	for parent := range t.excused {
		if _, tried := t.failed[parent]; !tried {
			all--
		}
	}
	return all
}

// giveUp decides against the version, unless it was found good before: it is broken for most parents, as why says.
func (t *trial) giveUp(why error) {
	t.mu.Lock()
	decided := t.percent >= 0 && t.came == undecided
	if decided {
		t.came, t.why = givenUp, engine.DetailOf(why)
	}
	t.mu.Unlock()
	if decided {
		t.decided()
	}
}

// pardon takes a version that was given up for good after all, since there is none to go back to.
func (t *trial) pardon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.came = good
}

// forget drops a parent that is gone.
func (t *trial) forget(parent object.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(parent)
}

func (t *trial) drop(parent object.Ref) {
	if t.failed[parent] {
		t.bad--
	}
	delete(t.failed, parent)
}

// failing are the parents for which the version failed when it was asked last, or which it was excused for.
func (t *trial) failing() map[object.Ref]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	failing := maps.Clone(t.failed)
	maps.DeleteFunc(failing, func(_ object.Ref, failed bool) bool { return !failed })
	for parent := range t.excused {
		if _, tried := t.failed[parent]; !tried {
			failing[parent] = true
		}
	}
	return failing
}

// outcome is what the trial came to, and why when the version was given up.
func (t *trial) outcome() (outcome, error) {
	if t == nil || t.percent < 0 {
		return good, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.came == undecided && (len(t.failed) >= t.eligible() || !t.began.IsZero() && time.Since(t.began) > longEnough) {
		t.came = good
	}
	if t.came == givenUp {
		return givenUp, &givenUpError{t.why}
	}
	return t.came, nil
}

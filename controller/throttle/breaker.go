package throttle

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

// A Breaker prevents repeated calls of a script that cannot succeed.
//
// A script that exceeds its limit of steps, memory, output or stack for a parent exceeds it again unless its input changes.
// After the second time in a row it is held: it is not called for that parent until the [Input] changes. A script that runs
// out of time may do so because the machine is busy: it is called again after a pause, which doubles each time. Other
// parents are not affected. A new version of the controller has a new Breaker, so an edit of the script releases all
// parents; so does a restart.
//
// It is safe for concurrent use.
type Breaker struct {
	notify func() // called when the first parent is held, and when none is any more

	mu      sync.Mutex // guards the fields below; notify is called with it locked
	parents map[object.Ref]*record
	held    int // how many parents are
	order   int // of the parent that was held last
}

// StrikesAllowed is after how many exceeded limits in a row a script is held for a parent.
const StrikesAllowed = 2

// pauseBackoff is how long a script that ran out of time is not called.
var pauseBackoff = backoff{5 * time.Second, 5 * time.Minute}

// An Input identifies the input of a script for a parent, as far as the user determines it.
type Input struct {
	uid     types.UID
	version string // of the spec
	hook    string
}

// InputFor returns the current Input for a parent. For a kind without generations, the version is the resourceVersion.
func InputFor(parent *object.Object, hook string) Input {
	version := parent.GetResourceVersion()
	if generation := parent.GetGeneration(); generation > 0 {
		version = strconv.FormatInt(generation, 10)
	}
	return Input{parent.GetUID(), version, hook}
}

// A record is what happened with an Input since the script last succeeded.
type record struct {
	Input
	strikes  int       // how often the script exceeded a limit
	timeouts int       // how often it ran out of time
	until    time.Time // the end of its pause
	err      error     // the last one
	place    int       // in the order in which parents were held; 0: it is not held
}

// A HeldError says that the script is held for a parent.
type HeldError struct {
	err error // why: the limit that was exceeded
	New bool  // it was not held before
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("the script hit a limit %d times in a row and is not run for this object until its spec or the script changes: %v", StrikesAllowed, e.err)
}

func (e *HeldError) Unwrap() error { return e.err }

// A PauseError says that the script is not called for a parent for some time.
type PauseError struct {
	err  error // why: it ran out of time
	Wait time.Duration
	New  bool // it ran out of time just now
}

func (e *PauseError) Error() string { return fmt.Sprintf("%v; it is tried again in %s", e.err, e.Wait) }

func (e *PauseError) Unwrap() error { return e.err }

// NewBreaker returns a Breaker that holds nothing. It calls notify, which must not block and must not use the Breaker, when
// the first parent is held and when none is any more.
func NewBreaker(notify func()) *Breaker {
	return &Breaker{notify: notify, parents: map[object.Ref]*record{}}
}

// Admit returns nil if the script may be called for a parent now, and otherwise a [*HeldError] or a [*PauseError].
func (b *Breaker) Admit(parent object.Ref, q Input, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.parents[parent]
	switch {
	case r == nil:
		return nil
	case r.Input != q:
		b.drop(parent)
		return nil
	case r.place > 0:
		return &HeldError{err: r.err}
	case now.Before(r.until):
		return &PauseError{err: r.err, Wait: r.until.Sub(now)}
	}
	return nil
}

// Note records the result of a call for a parent. It returns err, or the [*HeldError] or [*PauseError] that results from it.
func (b *Breaker) Note(parent object.Ref, q Input, err error, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.parents[parent]
	if err == nil || r != nil && r.Input != q {
		b.drop(parent)
		r = nil
	}
	timeout, strike := classify(err)
	if !timeout && !strike {
		return err
	}
	if r == nil {
		r = &record{Input: q}
		b.parents[parent.Clone()] = r
	}
	r.err = err
	if timeout {
		wait := pauseBackoff.after(r.timeouts)
		r.timeouts, r.until = r.timeouts+1, now.Add(wait)
		return &PauseError{err: err, Wait: wait, New: true}
	}
	if r.strikes++; r.strikes < StrikesAllowed {
		return err
	}
	b.order++
	r.place = b.order
	if b.held++; b.held == 1 {
		b.notify()
	}
	return &HeldError{err: err, New: true}
}

// classify reports whether err says that a script ran out of time, or that it exceeded another limit.
func classify(err error) (timeout, strike bool) {
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

// Forget drops the record of a parent that was deleted, or for which the script is to be called again.
func (b *Breaker) Forget(parent object.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(parent)
}

// Clear drops the records of all parents.
func (b *Breaker) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for parent := range b.parents {
		b.drop(parent)
	}
}

func (b *Breaker) drop(parent object.Ref) {
	r := b.parents[parent]
	delete(b.parents, parent)
	if r == nil || r.place == 0 {
		return
	}
	if b.held--; b.held == 0 {
		b.notify()
	}
}

// Held says for how many parents a script is held, which parent was the first, and why.
type Held struct {
	Parents int
	First   object.Ref
	Err     error
}

// Held returns the parents that are held. The zero value is none.
func (b *Breaker) Held() Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, place := Held{Parents: b.held}, 0
	for parent, r := range b.parents {
		if r.place > 0 && (place == 0 || r.place < place) {
			h.First, h.Err, place = parent, r.err, r.place
		}
	}
	return h
}

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

// A Breaker keeps a script from being run again and again when it cannot succeed.
//
// A script that exceeds its limit of steps, memory, output or stack for a parent does so again, unless its input changes:
// after the second time in a row it is held, that is not run for that parent, until the [Question] changes. A script that
// runs out of time may do so because the machine is busy: it is run again, after a pause that doubles each time. Other
// parents are not concerned. A new version of the controller has a new Breaker, so that an edit of the script releases what
// is held; so does a restart.
//
// It is safe for concurrent use.
type Breaker struct {
	notify func() // called when the first parent is held, and when none is any more

	mu      sync.Mutex // guards what follows
	parents map[object.Ref]*record
	held    int // how many parents are
	order   int // of the parent that was held last
}

// StrikesAllowed is how often in a row a script may exceed a limit for a parent before it is held.
const StrikesAllowed = 2

// pauseBackoff is how long a script that ran out of time is not run.
var pauseBackoff = backoff{5 * time.Second, 5 * time.Minute}

// A Question is what a script is asked about a parent, as far as the owner of the parent determines it.
type Input struct {
	uid     types.UID
	version string // of the spec
	hook    string
}

// QuestionAbout is the question about a parent. An object of a kind without generations has no version but its
// resourceVersion.
func InputFor(parent *object.Object, hook string) Input {
	version := parent.GetResourceVersion()
	if generation := parent.GetGeneration(); generation > 0 {
		version = strconv.FormatInt(generation, 10)
	}
	return Input{parent.GetUID(), version, hook}
}

// A record is what happened with a question since the script answered it last.
type record struct {
	Input
	strikes  int       // how often the script exceeded a limit
	timeouts int       // how often it ran out of time
	until    time.Time // the end of its pause
	err      error     // the last one
	place    int       // in the order in which parents were held; 0: it is not held
}

// A HeldError says that the script is not run for a parent.
type HeldError struct {
	err error // why: the limit that was exceeded
	New bool  // it was not held before
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("the script hit a limit %d times in a row and is not run for this object before its spec or the script changes: %v", StrikesAllowed, e.err)
}

func (e *HeldError) Unwrap() error { return e.err }

// A PauseError says that the script is not run for a parent for a while.
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

// Admit returns nil when the script may be run for a parent now, or a [*HeldError] or a [*PauseError].
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

// Note records the result of running the script for a parent. It returns err, or the [*HeldError] or [*PauseError] that
// follows from it.
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
		b.parents[parent] = r
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

// Forget drops what is known of a parent, which is gone or is to be tried at once.
func (b *Breaker) Forget(parent object.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(parent)
}

// Clear drops what is known of all parents.
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

// Held says for how many parents a script is not run, which of them was the first, and why.
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

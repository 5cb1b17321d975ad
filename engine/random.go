package engine

import (
	"context"
	"fmt"
	"sync"
)

// Random gives a call the values of the library's functions random. They are derived from a key, so that the answer of a call stays a
// function of its request and of the key.
//
// A call that draws no value needs no key. So an Engine calls a script without one at first. If the script then draws a value, the error
// has KindKey; the Engine gets the key, and calls the script again. It remembers this for the program, so that this happens once.
type Random struct {
	// FindKey returns the key of this call. Its values are those of whoever has the key, so it must be the key of only one controller and
	// one parent. It is called without a slot of the Engine. If it fails, so does a call that draws a value, with KindCanceled, since this
	// is not a fault of the script. nil: there is no key.
	FindKey func(context.Context) ([]byte, error)
	// Key is the key. The Engine sets it.
	Key []byte
	// Known are values that are returned in place of derived ones, by their [Draw.Label].
	Known map[string]string
	// Drawn is called with each value that was derived, known or observed, perhaps several times, from the goroutine that runs the
	// script; nil is not called.
	Drawn func(Draw) error
}

// A Draw is a value that a script got.
type Draw struct {
	Label  string // the function, and the arguments on which the value depends
	Value  string // as text
	Secret bool   // the value must not be shown

	// Observed says that the value stood in an observed Secret, which the script passed, so that it was neither derived nor known. Then
	// there is no Label, and [MaxDraws] does not count it.
	Observed bool
}

// MaxDraws is how many different values one call may draw, besides those that it passes back.
const MaxDraws = 1000

// Draw calls Drawn. It does nothing if r is nil.
func (r *Random) Draw(d Draw) error {
	if r == nil || r.Drawn == nil {
		return nil
	}
	return r.Drawn(d)
}

// bounded returns a copy whose Drawn refuses more than MaxDraws values.
func (r *Random) bounded() *Random {
	if r == nil {
		return nil
	}
	var mu sync.Mutex // an attempt that was abandoned may still run
	drawn, labels := r.Drawn, map[string]bool{}
	limited := *r
	limited.Drawn = func(d Draw) error {
		mu.Lock()
		defer mu.Unlock()
		if !d.Observed {
			labels[d.Label] = true
		}
		if len(labels) > MaxDraws {
			return &Error{Kind: KindRuntime, Msg: fmt.Sprintf("more than %d random values in one call", MaxDraws)}
		}
		if drawn == nil {
			return nil
		}
		return drawn(d)
	}
	return &limited
}

// withKey returns a copy with the key.
func (r *Random) withKey(ctx context.Context) (*Random, error) {
	key, err := r.FindKey(ctx)
	if err != nil {
		return r, err
	}
	found := *r
	found.Key = key
	return &found, nil
}

// lacksKey reports whether a call has failed since there is a key that was not found yet.
func (r *Random) lacksKey(fault *Error) bool {
	return fault != nil && fault.Kind == KindKey && r != nil && r.FindKey != nil && r.Key == nil
}

// A Drawing program knows whether it draws random values. The programs of an [Engine] are Drawing.
type Drawing interface {
	// Draws reports whether a call has drawn a random value.
	Draws() bool
}

// Package virtualtime runs a program with a clock of its own, which advances only when the program has nothing else to do.
//
// [Run] uses the bubbles of testing/synctest. In a bubble, time passes when every goroutine of the bubble waits for something that
// only another goroutine of the bubble, or the clock, can cause. So an hour of waiting takes no time, and time.Sleep returns when
// everything that was to be done before has been done.
//
// A goroutine that waits for something else, such as the network, stops the clock. What needs the real time, such as the limit on
// the CPU time of a script, runs [Outside] the bubble.
package virtualtime

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Run calls f in a bubble whose time is start, and returns when f and the goroutines that it started have ended. start must not be
// before the year 2000. Channels, timers and contexts that f uses must be made by f.
//
// After f has returned, the goroutines have some time to end. Those that still wait then are abandoned.
func Run(start time.Time, f func(*Outside)) {
	outside := &Outside{calls: make(chan func())}
	var end sync.WaitGroup
	end.Go(func() {
		for call := range outside.calls {
			end.Go(call)
		}
	})
	var failed any // the panic of f
	defer func() {
		if recover() != nil {
			end.Wait() // goroutines that wait forever make synctest panic
		}
		if failed != nil {
			panic(failed)
		}
	}()
	// synctest.Test needs a T only to report that f failed a test, which it cannot do without a T.
	synctest.Test(new(testing.T), func(*testing.T) {
		time.Sleep(time.Until(start))
		func() {
			defer func() { failed = recover() }()
			f(outside)
		}()
		time.Sleep(grace)
		close(outside.calls)
	})
	end.Wait()
}

// grace is how long goroutines may take to end. After it the time of the bubble does not pass any more.
const grace = time.Minute

// Outside runs functions outside of the bubble. It is safe for concurrent use.
type Outside struct{ calls chan func() }

// Do calls f on a goroutine outside of the bubble, and returns when f has returned. Meanwhile the clock of the bubble stands still. f
// must not use channels, timers or contexts of the bubble.
func (o *Outside) Do(f func()) {
	var running sync.Mutex // a mutex, since a channel that is made here belongs to the bubble
	running.Lock()
	o.calls <- func() {
		defer running.Unlock()
		f()
	}
	running.Lock()
}

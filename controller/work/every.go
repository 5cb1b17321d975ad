package work

import (
	"sync"
	"time"
)

// Every calls do once per period, until stop is called. No goroutine runs between the calls. stop waits for a call that is in
// progress, and can be called several times. do must not call it.
func Every(period time.Duration, do func()) (stop func()) {
	var mu sync.Mutex // guards stopped and timer, and serializes do and stop; so do must not call stop
	stopped := false
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(period, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			do()
			timer.Reset(period)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

package work

import (
	"sync"
	"time"
)

// Every calls do once a period, and needs no goroutine in between. The function that it gives ends that, and waits for a
// call that is under way.
func Every(period time.Duration, do func()) (stop func()) {
	var mu sync.Mutex
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

package queue

import (
	"time"

	"metascript/controller/object"
)

// When many keys are queued at once, the first spreadAtOnce are queued at once, and the rest at spreadPerSecond, or faster if that would
// take longer than spreadOver. This limits the load on the API server, and how long other controllers wait for a worker.
const (
	spreadAtOnce    = 100
	spreadPerSecond = 200
	spreadOver      = 5 * time.Minute
)

// EnqueueAll adds many keys, spread over some time if there are many, and resets their back-off.
func (q *Queue) EnqueueAll(keys []object.Ref, why Reason) {
	for i, key := range keys {
		q.Forget(key)
		if wait := spreadDelay(i, len(keys)); wait > 0 {
			q.EnqueueAfter(key, why, wait)
		} else {
			q.Enqueue(key, why)
		}
	}
}

// spreadDelay returns after which time the i-th of n keys is queued. The first has the index 0.
func spreadDelay(i, n int) time.Duration {
	if i < spreadAtOnce {
		return 0
	}
	interval := min(time.Second/spreadPerSecond, spreadOver/time.Duration(n))
	return time.Duration(i-spreadAtOnce+1) * interval
}

// Package throttle decides when something that went wrong is done again, and how often.
//
//   - A [Breaker] keeps a script from being run again and again for a parent for which it exceeds a limit.
//   - A [Canary] decides whether a new version of the scripts is good, by the parents for which it was run first.
//   - A [Contention] delays a write that somebody else undoes each time.
//   - A [Churn] delays the reconciles of a parent whose hook wants something else each time.
//   - A [LoadBackoff] delays loading a version of a controller that could not be loaded.
//   - A [Recent] caches what takes long to compute.
//
// Nothing here waits, and only Recent reads a clock: the time is an argument, and the caller acts on the result.
package throttle

import "time"

// A backoff is a delay that doubles with each failure in a row, up to last.
type backoff struct{ first, last time.Duration }

// after returns the delay after a failure that followed n failures in a row.
func (b backoff) after(n int) time.Duration {
	const enough = 20 // doublings; more would overflow
	return min(b.first<<min(n, enough), b.last)
}

// MinResync is the shortest delay that a hook can request with resyncAfterSeconds.
const MinResync = 100 * time.Millisecond

// Shorter returns the shorter of two delays. Zero means no delay.
func Shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

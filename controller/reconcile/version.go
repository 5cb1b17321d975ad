package reconcile

import (
	"time"

	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/throttle"
)

// Swap puts a version in the place of the one there is. Turns under way end with that one; all parents come anew.
func (l *Reconciler) Swap(v *call.Version) {
	l.fallbacks.followFallbacks(v)
	l.current.Store(v)
	if l.leading.IsOpen() {
		l.fallbacks.reportFallbacks()
	}
	l.restart(queue.ScriptChanged)
}

// restart has all parents asked about anew, by others than before.
func (l *Reconciler) restart(why queue.Reason) {
	l.states.outdate()
	l.queueSpread(why)
}

// So many parents are queued at once when all are, and so many a second after that, unless it would take longer than
// spreadOver: the API server and the neighbours are to notice nothing of it.
const (
	spreadAtOnce    = 100
	spreadPerSecond = 200
	spreadOver      = 5 * time.Minute
)

// queueSpread queues every parent, as if none had ever failed, spread over some time if there are many.
func (l *Reconciler) queueSpread(why queue.Reason) {
	var all []object.Ref
	for parent := range l.b.Own() {
		all = append(all, object.RefOf(parent))
	}
	for i, key := range all {
		l.queue.Forget(key)
		if wait := spreadDelay(i, len(all)); wait > 0 {
			l.queue.EnqueueAfter(key, why, wait)
		} else {
			l.queue.Enqueue(key, why)
		}
	}
}

// spreadDelay is when the i-th of n parents is queued.
func spreadDelay(i, n int) time.Duration {
	if i < spreadAtOnce {
		return 0
	}
	step := min(time.Second/spreadPerSecond, spreadOver/time.Duration(n))
	return time.Duration(i-spreadAtOnce+1) * step
}

// A Snapshot is what the status of a controller reports of its Reconciler.
type Snapshot struct {
	Filled     bool  // the caches are
	Trouble    error // why the caches are not filled, or not kept up to date
	Parents    int   // that the controller selects
	Held       throttle.Held
	Denied     Denied
	Fallbacks  []build.NamedFallback
	Finalizers HeldFinalizers
	Warnings   []string // of controllers that overlap, and of webhooks that cannot be called
}

// Snapshot returns the state at the moment. It must not be called concurrently.
func (l *Reconciler) Snapshot() Snapshot {
	version, overlap := l.current.Load(), l.Overlap()
	s := Snapshot{
		Filled: l.filled.Load(), Trouble: l.b.CacheError(), Parents: overlap.Parents, Held: version.Held(), Denied: l.states.sum(),
		Fallbacks: version.Fallbacks(), Finalizers: l.finalizers.held(version), Warnings: overlap.Warnings,
	}
	if s.Filled {
		s.Warnings = append(s.Warnings, l.b.Clients.Problems()...)
	}
	return s
}

// Current is the version that answers now.
func (l *Reconciler) Current() *call.Version { return l.current.Load() }

// Filled reports whether the caches are filled, and the workers work or stand by.
func (l *Reconciler) Filled() bool { return l.filled.Load() }

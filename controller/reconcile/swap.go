package reconcile

import (
	"time"

	"metascript/controller/call"
	"metascript/controller/object"
	"metascript/controller/queue"
)

// Swap replaces the version of the hooks. Reconciles that have begun end with the version that they began with. All parents are
// reconciled again.
func (r *Reconciler) Swap(v *call.Version) {
	r.fallbacks.follow(v)
	r.current.Store(v)
	if r.leading.IsOpen() {
		r.fallbacks.reportAll()
	}
	r.states.expect(r.binding.ReconciledParents())
	r.requeueAll(queue.ScriptChanged)
}

// requeueAll queues all parents because something else is called for a hook than before: what the hooks returned is dropped
// from their states.
func (r *Reconciler) requeueAll(why queue.Reason) {
	r.states.outdate()
	r.enqueueAll(why)
}

// When all parents are queued, the first spreadAtOnce are queued at once, and the rest at spreadPerSecond, or faster if that would
// take longer than spreadOver. This limits the load on the API server, and how long other controllers wait for a worker.
const (
	spreadAtOnce    = 100
	spreadPerSecond = 200
	spreadOver      = 5 * time.Minute
)

// enqueueAll queues all parents, spread over some time if there are many, and resets their back-off.
func (r *Reconciler) enqueueAll(why queue.Reason) {
	var keys []object.Ref
	for parent := range r.binding.ReconciledParents() {
		keys = append(keys, object.RefOf(parent))
	}
	for i, key := range keys {
		r.queue.Forget(key)
		if wait := spreadDelay(i, len(keys)); wait > 0 {
			r.queue.EnqueueAfter(key, why, wait)
		} else {
			r.queue.Enqueue(key, why)
		}
	}
}

// spreadDelay returns after which time the i-th of n parents is queued. The first has the index 0.
func spreadDelay(i, n int) time.Duration {
	if i < spreadAtOnce {
		return 0
	}
	interval := min(time.Second/spreadPerSecond, spreadOver/time.Duration(n))
	return time.Duration(i-spreadAtOnce+1) * interval
}

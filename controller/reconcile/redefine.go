package reconcile

import (
	"maps"
	"slices"
	"time"

	"metascript/controller/object"
	"metascript/controller/queue"
)

// UntilServed is how long an API server may take until it serves a definition that was changed.
const UntilServed = 5 * time.Second

// RetryStatus queues the parents whose status was not stored as it was written, or not written, and forgets that. It is called
// when the definition of the parents' kind has changed, and does this when the API server certainly serves the new definition: a status
// that is written earlier may be stored as before.
func (r *Reconciler) RetryStatus() {
	retryWhenServed(r, func(state *parentState) bool { return state.parent.ForgetUnstored() }, func() {
		for parent := range r.binding.ReconciledParents() {
			if r.kinds.LacksStatus(parent.GroupVersionKind()) {
				r.queue.Enqueue(object.RefOf(parent), queue.Retry)
			}
		}
		r.kinds.Redefine()
	})
}

// RetryChildren queues the parents with children of which the API server did not store a field, and forgets that, and tries one parent
// for each cause of failures, which may have been that the kind was not served. It is called when a definition of an API group has changed. If the group has a declared kind of children, it does this when the API server certainly
// serves the new definition.
func (r *Reconciler) RetryChildren(group string) {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(r.binding.Kinds)), func(kind object.Kind) bool { return kind.Group == group }) {
		return
	}
	retryWhenServed(r, func(state *parentState) bool { return state.children.Redefine() }, r.RetryFailed)
}

// retryStored queues the parents with children of which the API server stored a value with another meaning than the hook returned, so that
// dry runs find out whether it would still do that: an admission webhook or a policy that changed it may be gone.
func (r *Reconciler) retryStored() {
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	for key, state := range r.states.all {
		if state.children.Retry() {
			r.queue.Enqueue(key, queue.Retry)
		}
	}
}

// Redraw queues all parents if a script has drawn random values, since it would get others now.
func (r *Reconciler) Redraw() {
	if r.Current().Draw() {
		r.epoch.Begin()
		r.requeueAll(queue.Retry)
	}
}

// retryWhenServed queues the parents for whose states forget returns true, and then calls also, when the API server certainly serves a
// definition that has just changed. Both are called with the lock of the states held.
func retryWhenServed(r *Reconciler, forget func(*parentState) bool, also func()) {
	time.AfterFunc(UntilServed, func() {
		r.epoch.Begin()
		r.states.mu.Lock()
		defer r.states.mu.Unlock()
		for key, state := range r.states.all {
			if forget(state) {
				r.queue.Enqueue(key, queue.Retry)
			}
		}
		also()
	})
}

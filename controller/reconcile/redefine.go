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
	time.AfterFunc(UntilServed, func() {
		r.epoch.Begin()
		r.states.mu.Lock()
		defer r.states.mu.Unlock()
		for key, state := range r.states.all {
			if state.parent.ForgetUnstored() {
				r.queue.Enqueue(key, queue.Retry)
			}
		}
		for parent := range r.binding.ReconciledParents() {
			if r.kinds.LacksStatus(parent.GroupVersionKind()) {
				r.queue.Enqueue(object.RefOf(parent), queue.Retry)
			}
		}
		r.kinds.Redefine()
	})
}

// RetryChildren queues the parents with children of which the API server did not store a field, and forgets that. It is called when
// a definition of an API group has changed. If the group has a declared kind of children, it does this when the API server certainly
// serves the new definition.
func (r *Reconciler) RetryChildren(group string) {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(r.binding.Kinds)), func(kind object.Kind) bool { return kind.Group == group }) {
		return
	}
	time.AfterFunc(UntilServed, func() {
		r.epoch.Begin()
		r.states.mu.Lock()
		defer r.states.mu.Unlock()
		for key, state := range r.states.all {
			if state.children.Redefine() {
				r.queue.Enqueue(key, queue.Retry)
			}
		}
	})
}

package reconcile

import (
	"context"
	"errors"
	"time"

	"metascript/controller/access"
	"metascript/controller/object"
	"metascript/controller/queue"
)

// accessRetry is the time after which a reconcile that could not find out what the account may read is tried again.
const accessRetry = 5 * time.Second

// withoutAccess ends a reconcile of a parent that the account of the controller may not read; err is why. If the account was
// never permitted to read it, the controller does not have this parent, and no text shows that it exists: it may belong to another
// tenant.
func (c *reconciliation) withoutAccess(ctx context.Context, parent *object.Object, err error) (time.Duration, error) {
	var denied *access.DeniedError
	isDenied := errors.As(err, &denied)
	if isDenied && denied.Missing && c.binding.HasFinalizer(parent) {
		released, releaseErr := c.binding.ReleaseLost(ctx, parent, c.binding.Finalizer)
		if released || releaseErr != nil {
			return 0, releaseErr
		}
	}
	switch {
	case c.state.shown:
		return 0, err
	case isDenied:
		c.forget(c.key)
		return 0, nil
	}
	return accessRetry, nil
}

// RetryDenied queues the parents whose last reconcile was denied something, and those that the account of the controller may not
// read. It is called when what the account may do may have changed.
func (r *Reconciler) RetryDenied() {
	r.epoch.Begin()
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	for parent := range r.binding.ReconciledParents() {
		key := object.RefOf(parent)
		if state := r.states.all[key]; !r.binding.Shows(parent) || state != nil && state.denied != nil {
			r.queue.Enqueue(key, queue.Retry)
		}
	}
}

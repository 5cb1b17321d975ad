package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"metascript/controller/access"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/queue"
)

// accessRetry is the time after which a reconcile is tried again that could not find out what the account may read.
const accessRetry = 5 * time.Second

// withoutAccess ends a reconcile of a parent that the account of the controller may not read; err is why. If the account was never
// permitted to read it, the controller does not have this parent, and no text shows that it exists: it may belong to somebody else.
func (c *reconciliation) withoutAccess(ctx context.Context, parent *object.Object, err error) (time.Duration, error) {
	var denied *access.DeniedError
	isDenied := errors.As(err, &denied)
	if isDenied && denied.Missing && c.finalizers.isLost(parent) {
		return 0, c.finalizers.release(ctx, parent)
	}
	switch {
	case c.state.shown:
		return 0, err
	case isDenied:
		c.forget(c.key)
		return 0, nil
	}
	c.events.log.Debug("not known whether the account may read the parent", "parent", c.key, "error", err)
	return accessRetry, nil
}

// isLost reports whether our finalizer blocks the deletion of a parent, and the account of the controller was in the same
// namespace. If that namespace is being deleted, the account can not be created again.
func (f *finalizerKeeper) isLost(parent *object.Object) bool {
	return object.Deleting(parent) && f.binding.HasFinalizer(parent) && parent.GetNamespace() == f.binding.Access.Namespace
}

// release removes our finalizer from a parent whose namespace is being deleted together with the account of the controller, as
// the server itself. Nothing else can: the finalize hook cannot be called without the account, and the objects in the namespace
// are deleted without it. It does nothing while the namespace is not being deleted.
func (f *finalizerKeeper) release(ctx context.Context, parent *object.Object) error {
	removed, err := f.binding.ReleaseLost(ctx, parent, f.binding.Finalizer)
	if kube.Outdated(err) {
		return kube.Requeue(err)
	}
	if removed {
		f.events.log.Warn("finalizer removed without calling the finalize hook, since the namespace is deleted with the account of the controller", "parent", object.RefOf(parent), "account", f.binding.Access.Account.String())
	}
	return err
}

// has reports whether the controller has a parent: it reconciles the parent, and its account may read it.
func (r *Reconciler) has(parent *object.Object) bool {
	return r.binding.Reconciles(parent) && r.binding.Shows(parent)
}

// RetryDenied queues the parents to whose reconcile something was denied, and those that the account of the controller may not
// read. It is called when what the account may do may have changed.
func (r *Reconciler) RetryDenied() {
	for _, parent := range slices.Concat(r.states.deniedKeys(), r.unreadable()) {
		r.queue.Enqueue(parent, queue.Retry)
	}
}

// unreadable returns the parents that the account may not read.
func (r *Reconciler) unreadable() []object.Ref {
	var keys []object.Ref
	if r.binding.Access.IsServer() || !r.hasSynced.Load() {
		return nil
	}
	for parent := range r.binding.ReconciledParents() {
		if !r.binding.Shows(parent) {
			keys = append(keys, object.RefOf(parent))
		}
	}
	return keys
}

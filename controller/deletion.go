package controller

import (
	"context"
	"time"

	"metascript/controller/account"
	"metascript/controller/finalizers"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/spec"
)

// A deleter finishes the deletion of controller objects.
type deleter struct{ *environment }

// finish removes the finalizers of a deleted controller object from its parents. It waits until the object has been missing
// for DeletionGrace, and checks with the API server that it does not exist. Nothing else would remove these finalizers, and
// the parents could not be deleted.
func (d *deleter) finish(ctx context.Context, id spec.ID) error {
	gone := d.records.deletionOf(id)
	if gone == nil {
		return nil
	}
	if wait := d.DeletionGrace - time.Since(gone.at); wait > 0 {
		d.queue.AddAfter(id, wait)
		return nil
	}
	if !d.leads() {
		d.queue.AddAfter(id, d.DeletionGrace) // the leader does it, which may be this server by then
		return nil
	}
	exists, err := finalizers.Exists(ctx, id, d.client)
	if err == nil && !exists {
		err = d.removeFinalizers(ctx, id, gone.object)
	}
	if err == nil {
		d.records.finishDeletion(id, gone)
	}
	return err
}

// removeFinalizers removes the finalizers of a deleted controller, as its account. o is the last state of its object. Another controller
// of the same name, with another account, may have left its finalizer on parents that this account may not change: it stays there.
func (d *deleter) removeFinalizers(ctx context.Context, id spec.ID, o *object.Object) error {
	declaration, err := spec.Read(o)
	if err != nil {
		d.Log.Warn("the controller is deleted, and its parents are not known: metascript gc removes its finalizers", "controller", id.Name, "error", err)
		return nil
	}
	who := account.Of(declaration.Settings.ServiceAccount)
	actor, err := d.accounts.Actors.Open(who)
	if err != nil {
		return err
	}
	defer d.accounts.Actors.Close(who)
	as, left := *d.accounts.Finalizers, 0
	as.Write = actor.Writer
	remover := finalizers.Remover{
		Resources: d.resources, Finalizers: &as, Only: d.Only,
		OnRemoved: func(parent *object.Object) { d.observeRemoved(id, parent) },
	}
	if !who.IsServer() {
		remover.OnForbidden = func(ctx context.Context, parent *object.Object, forbidden error) error {
			removed, err := d.accounts.ReleaseLost(ctx, who, parent, id.Finalizer())
			if err == nil && !removed {
				left++
				d.Log.Warn("the controller is deleted, and its account may not remove its finalizer from a parent", "controller", id.Name, "parent", object.RefOf(parent), "error", forbidden)
			}
			return err
		}
	}
	n, err := remover.Remove(ctx, declaration)
	if err != nil {
		d.Log.Warn("the controller is deleted, and not all of its finalizers could be removed; trying again", "controller", id.Name, "taken", n, "error", err)
		return err
	}
	if left > 0 {
		d.Log.Warn("the controller is deleted, and its finalizer stays on parents that its account may not change: metascript gc removes it", "controller", id.Name, "account", who.String(), "parents", left)
	}
	d.Log.Info("the controller is deleted; its finalizers are removed from its parents", "controller", id.Name, "parents", n)
	return nil
}

// observeRemoved calls the Observer with a parent from which the finalizer was removed.
func (d *deleter) observeRemoved(id spec.ID, parent *object.Object) {
	if d.Observer == nil {
		return
	}
	about := observe.About{Kind: id.Kind, Controller: id.Name, Parent: object.RefOf(parent)}
	d.Observer.Wrote(about, observe.Write{Op: plan.Op{Verb: plan.Update, Object: parent, Why: "finalizers: " + id.String() + " is gone"}, Stored: parent})
	d.Observer.Reconciled(about, nil)
	d.Observer.Dropped(about)
}

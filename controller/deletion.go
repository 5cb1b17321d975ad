package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/account"
	"metascript/controller/finalizers"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/spec"
)

// A deleter finishes the deletion of controller objects.
type deleter struct{ *environment }

// finish removes the finalizers of deleted controller objects of a name from their parents. It waits until an object has been missing
// for DeletionGrace, and checks with the API server that it does not exist. Nothing else would remove these finalizers, and
// the parents could not be deleted. If there is an object of this name with another account, the finalizers on its own parents stay.
func (d *deleter) finish(ctx context.Context, id spec.ID) error {
	var failed []error
	for _, gone := range d.records.deletionsOf(id) {
		failed = append(failed, d.finishOne(ctx, id, gone))
	}
	return errors.Join(failed...)
}

func (d *deleter) finishOne(ctx context.Context, id spec.ID, gone *deletion) error {
	other := d.records.get(id)
	switch {
	case other != nil && other.uid == gone.kept:
		return nil // when that is deleted, its parents are left
	case gone.kept != "": // it was deleted, or is being replaced
		gone.kept, gone.at = "", time.Now()
	case other != nil && other.active.Load() == nil && time.Since(other.firstSeen) < d.DeletionGrace:
		d.queue.AddAfter(id, d.DeletionGrace) // it is not known yet which parents are its own
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
	now, err := finalizers.Existing(ctx, id, d.client)
	kept := types.UID("")
	if err == nil && (now == nil || spec.AccountOf(now) != spec.AccountOf(gone.object)) {
		kept, err = d.removeFinalizers(ctx, id, gone.object)
	}
	switch {
	case err != nil:
	case kept != "":
		gone.kept = kept
	default:
		d.records.finishDeletion(id, gone)
	}
	return err
}

// keeps returns the UID of the controller because of which the finalizer of a deleted one stays on a parent: another one of the same name runs,
// which selects the parent and whose account may read it. It returns "" if there is none.
func (d *deleter) keeps(ctx context.Context, id spec.ID, parent *object.Object) types.UID {
	m := d.records.get(id)
	if m == nil {
		return ""
	}
	r := m.active.Load()
	if r == nil {
		return ""
	}
	b := r.Binding()
	if b.Rule(parent.GroupVersionKind()) == nil || !b.Selects(parent) || b.MayReadParent(ctx, parent) != nil {
		return ""
	}
	return m.uid
}

// removeFinalizers removes the finalizers of a deleted controller, as its account. o is the last state of its object. Another controller
// of the same name, with another account, may have left its finalizer on parents that this account may not change: it stays there. It returns
// the UID of another controller because of which the finalizer stays on some.
func (d *deleter) removeFinalizers(ctx context.Context, id spec.ID, o *object.Object) (kept types.UID, err error) {
	declaration, err := spec.Read(o)
	if err != nil {
		d.Log.Warn("the controller is deleted, and its parents are not known: metascript gc removes its finalizers", "controller", id.Name, "error", err)
		return "", nil
	}
	who := account.Of(declaration.Settings.ServiceAccount)
	actor, err := d.accounts.Actors.Open(who)
	if err != nil {
		return "", err
	}
	defer d.accounts.Actors.Close(who)
	as, left := *d.accounts.Finalizers, 0
	as.Write = actor.Writer
	remover := finalizers.Remover{
		Resources: d.resources, Finalizers: &as,
		Only: func(parent *object.Object) bool {
			if d.Only != nil && !d.Only(object.RefOf(parent)) {
				return false
			}
			other := d.keeps(ctx, id, parent)
			kept = cmp.Or(other, kept)
			return other == ""
		},
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
		return "", err
	}
	if left > 0 {
		d.Log.Warn("the controller is deleted, and its finalizer stays on parents that its account may not change: metascript gc removes it", "controller", id.Name, "account", who.String(), "parents", left)
	}
	d.Log.Info("the controller is deleted; its finalizers are removed from its parents", "controller", id.Name, "parents", n)
	return kept, nil
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

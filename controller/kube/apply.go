package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// unused is a resourceVersion that no object has. An apply that expects it only creates: what is there has another
// one, which is a conflict.
const unused = "1"

// apply carries out an apply, or tries it out.
func (w *Writer) apply(ctx context.Context, client dynamic.ResourceInterface, op plan.Op) (*object.Object, error) {
	version := unused
	if op.Observed != nil {
		version = op.Observed.GetResourceVersion()
	}
	if op.Migrate {
		migrated, err := w.migrate(ctx, client, op.Observed)
		if err != nil {
			return nil, fmt.Errorf("hand over to server-side apply: %w", err)
		}
		version = migrated.GetResourceVersion()
	}
	config := object.Copy(op.Object)
	config.SetResourceVersion(version)
	options := metav1.ApplyOptions{FieldManager: w.Applier(), Force: true, DryRun: w.dryRun()}
	if op.Verb == plan.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	stored, err := client.Apply(ctx, config.GetName(), config, options)
	switch {
	case op.Observed == nil && apierrors.IsConflict(err):
		return nil, apierrors.NewAlreadyExists(named(config), config.GetName())
	case op.Verb == plan.DryRun && apierrors.IsInvalid(err):
		return nil, w.anew(ctx, client, op.Object)
	}
	return stored, err
}

// anew says why an object that cannot be changed into config could not be made anew either; [plan.ErrImmutable] when it
// could. To create it is only tried, and fails in the end since its name is taken: until then it was looked at whole.
func (w *Writer) anew(ctx context.Context, client dynamic.ResourceInterface, config *object.Object) error {
	_, err := client.Create(ctx, config, metav1.CreateOptions{FieldManager: w.Applier(), DryRun: []string{metav1.DryRunAll}})
	switch {
	case apierrors.IsAlreadyExists(err), exceedsQuota(err): // which it will not once the old one is gone
		return plan.ErrImmutable
	case err == nil:
		return apierrors.NewNotFound(named(config), config.GetName()) // the old one is gone already
	}
	return err
}

// exceedsQuota tells by the words of the error, since it has no type of its own.
func exceedsQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// named is the resource of o, as errors name it.
func named(o *object.Object) schema.GroupResource {
	gvk := o.GroupVersionKind()
	return schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}
}

// Applier is the field manager of server-side apply.
func (w *Writer) Applier() string {
	if w.Manager == "" {
		return FieldManager
	}
	return w.Manager
}

// migrate hands over what dynamic apply owned of an object: its fields become the manager's, and what was last
// applied is forgotten. The object must be the one that was observed.
func (w *Writer) migrate(ctx context.Context, client dynamic.ResourceInterface, observed *object.Object) (*object.Object, error) {
	live, err := client.Get(ctx, observed.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if live.GetUID() != observed.GetUID() || live.GetResourceVersion() != observed.GetResourceVersion() {
		return nil, apierrors.NewConflict(named(live), live.GetName(), errors.New("it changed since it was observed"))
	}
	before := live.GetManagedFields()
	if err := csaupgrade.UpgradeManagedFields(live, sets.New(FieldManager, w.Applier()), w.Applier()); err != nil {
		return nil, err
	}
	annotations := live.GetAnnotations()
	_, remembers := annotations[plan.LastApplied]
	if !remembers && slices.EqualFunc(before, live.GetManagedFields(), sameEntry) {
		return live, nil
	}
	delete(annotations, plan.LastApplied)
	live.SetAnnotations(annotations)
	return client.Update(ctx, live, metav1.UpdateOptions{FieldManager: w.Applier(), DryRun: w.dryRun()})
}

// sameEntry reports whether an entry was left as it is.
func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
}

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
	"k8s.io/client-go/util/csaupgrade"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// unused is a resourceVersion that no object has. An apply with it can only create: if the object exists, its version is
// another one, and the result is a conflict.
const unused = "1"

// apply does an Apply or a DryRun.
func (w *Writer) apply(ctx context.Context, client objects, op plan.Op) (*object.Object, error) {
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
	if op.Cleared != nil {
		updated, err := client.update(ctx, op.Cleared, w.options())
		if err != nil {
			return nil, err
		}
		// What is written in between follows from this update, such as a status. The object must be the same one.
		config.SetUID(updated.GetUID())
		version = ""
	}
	config.SetResourceVersion(version)
	stored, err := client.apply(ctx, config, options{manager: w.Applier(), force: true, dryRun: w.DryRun || op.Verb == plan.DryRun})
	switch {
	case op.Observed == nil && apierrors.IsConflict(err):
		return nil, apierrors.NewAlreadyExists(named(config), config.GetName())
	case op.Verb == plan.DryRun:
		return stored, unconfirmed(err)
	}
	return stored, err
}

// unconfirmed returns the error of a dry run that has to show whether an object has to be recreated: plan.ErrImmutable if the API server
// refuses a field of it. Any other error, such as that of an admission webhook or of a quota, does not show that something differs.
func unconfirmed(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsInvalid(err) && namesField(err):
		return plan.ErrImmutable
	case lacksDryRun(err):
		return fmt.Errorf("%w: without a dry run it is not known whether the object differs, so that it is not deleted; set sideEffects: None or NoneOnDryRun in the configuration of the webhook", err)
	case Outdated(err):
		return err
	}
	return fmt.Errorf("%w; without a dry run it is not known whether the object differs, so that it is not deleted", err)
}

// namesField reports whether the validation of the API server names the fields that it refuses. Admission policies name none, and an
// error of an admission webhook, which may name some, says nothing about the field.
func namesField(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || strings.HasPrefix(status.Status().Message, "admission webhook ") {
		return false
	}
	causes := status.Status().Details.Causes
	return slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return c.Field != "" })
}

// named returns the resource of o for errors.
func named(o *object.Object) schema.GroupResource {
	gvk := o.GroupVersionKind()
	return schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}
}

// Applier returns the field manager of server-side apply.
func (w *Writer) Applier() string {
	if w.Manager == "" {
		return FieldManager
	}
	return w.Manager
}

// migrate prepares an object that dynamic apply wrote for server-side apply: its fields get the field manager of server-side
// apply, and the annotation plan.LastApplied is removed. The object must be unchanged since it was observed.
func (w *Writer) migrate(ctx context.Context, client objects, observed *object.Object) (*object.Object, error) {
	found, err := client.get(ctx, observed.GetName())
	if err != nil {
		return nil, err
	}
	live := found.Unstructured()
	if live.GetUID() != observed.GetUID() || live.GetResourceVersion() != observed.GetResourceVersion() {
		return nil, apierrors.NewConflict(named(observed), live.GetName(), errors.New("it changed since it was observed"))
	}
	before := live.GetManagedFields()
	if err := csaupgrade.UpgradeManagedFields(live, sets.New(FieldManager, w.Applier()), w.Applier()); err != nil {
		return nil, err
	}
	annotations := live.GetAnnotations()
	_, remembers := annotations[plan.LastApplied]
	if !remembers && slices.EqualFunc(before, live.GetManagedFields(), sameEntry) {
		return object.Of(live), nil
	}
	delete(annotations, plan.LastApplied)
	live.SetAnnotations(annotations)
	return client.update(ctx, object.Of(live), options{manager: w.Applier(), dryRun: w.DryRun})
}

// sameEntry reports whether two entries of managedFields have the same manager, operation and subresource.
func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
}

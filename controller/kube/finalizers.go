package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/selection"
)

// Finalizers finds the objects that have finalizers, and removes finalizers.
type Finalizers struct {
	Client     metadata.Interface
	Write      *Writer
	Namespaces selection.Namespaces // of the objects that Each visits
}

// pageSize is how many objects a list request returns at most, which limits the memory.
const pageSize = 500

// EachMetadata calls visit with the metadata of each object of a resource that has namespaces, in these, and that a selector of labels
// selects; "" selects all. The error is that of a list request.
func EachMetadata(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource, in selection.Namespaces, selector string, visit func(*metav1.PartialObjectMetadata)) error {
	for _, namespace := range in.Requests() {
		if err := eachMetadata(ctx, client.Resource(resource).Namespace(namespace), selector, visit); err != nil {
			return err
		}
	}
	return nil
}

func eachMetadata(ctx context.Context, client metadata.ResourceInterface, selector string, visit func(*metav1.PartialObjectMetadata)) error {
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := client.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// Each calls visit with each object of a resource that has finalizers. The objects have metadata only. It continues after an
// error of visit, and returns all errors joined.
func (f *Finalizers) Each(ctx context.Context, r Resource, visit func(o *object.Object) error) error {
	var failed []error
	err := EachMetadata(ctx, f.Client, r.GroupVersionResource, f.Namespaces, "", func(item *metav1.PartialObjectMetadata) {
		if len(item.Finalizers) > 0 {
			failed = append(failed, visit(outline(r, item.ObjectMeta)))
		}
	})
	if err != nil && !apierrors.IsNotFound(err) { // if the kind is not served any more, its objects were deleted too
		failed = append(failed, fmt.Errorf("list %s: %w", r.GroupResource(), err))
	}
	return errors.Join(failed...)
}

// outline returns an object with some of its metadata: what identifies it, and its finalizers.
func outline(r Resource, meta metav1.ObjectMeta) *object.Object {
	o := &object.Object{}
	o.SetGroupVersionKind(r.ObjectKind())
	o.SetNamespace(meta.Namespace)
	o.SetName(meta.Name)
	o.SetUID(meta.UID)
	o.SetResourceVersion(meta.ResourceVersion)
	o.SetFinalizers(meta.Finalizers)
	o.SetDeletionTimestamp(meta.DeletionTimestamp)
	return o
}

// Remove removes a finalizer from the current state of o, and reports whether o had it.
func (f *Finalizers) Remove(ctx context.Context, o *object.Object, finalizer, why string) (removed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := f.Write.Get(ctx, o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", object.Describe(o), err)
		}
		others := slices.DeleteFunc(slices.Clone(live.GetFinalizers()), func(name string) bool { return name == finalizer })
		if removed = len(others) < len(live.GetFinalizers()); !removed {
			return nil
		}
		live.SetFinalizers(others)
		_, err = f.Write.Do(ctx, plan.Op{Verb: plan.Update, Object: live, Why: "finalizers: " + why})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	return removed && err == nil, err
}

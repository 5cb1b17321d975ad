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
)

// Finalizers finds the objects that have finalizers, and takes those off.
type Finalizers struct {
	Client metadata.Interface
	Write  *Writer
}

// pageSize bounds what is in memory at a time.
const pageSize = 500

// EachMetadata calls visit for the metadata of each object of a resource. The error is the client's.
func EachMetadata(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource, visit func(*metav1.PartialObjectMetadata)) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.Resource(resource).List(ctx, options)
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

// Each calls visit for each object of a resource that has finalizers; objects hold their metadata only. An error of
// visit does not keep it from the others.
func (f *Finalizers) Each(ctx context.Context, r Resource, visit func(o *object.Object) error) error {
	var failed []error
	err := EachMetadata(ctx, f.Client, r.GroupVersionResource, func(item *metav1.PartialObjectMetadata) {
		if len(item.Finalizers) > 0 {
			failed = append(failed, visit(outline(r, item.ObjectMeta)))
		}
	})
	if err != nil && !apierrors.IsNotFound(err) { // a kind that is not served any more took its objects along
		failed = append(failed, fmt.Errorf("list %s: %w", r.GroupResource(), err))
	}
	return errors.Join(failed...)
}

// outline is an object of which nothing is known but what names it, and its finalizers.
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

// Remove takes a finalizer off o, as the API server has it by now, and reports whether it was there.
func (f *Finalizers) Remove(ctx context.Context, o *object.Object, finalizer, why string) (taken bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := f.Write.Get(ctx, o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", object.Describe(o), err)
		}
		others := slices.DeleteFunc(slices.Clone(live.GetFinalizers()), func(name string) bool { return name == finalizer })
		if taken = len(others) < len(live.GetFinalizers()); !taken {
			return nil
		}
		live.SetFinalizers(others)
		_, err = f.Write.Do(ctx, plan.Op{Verb: plan.Update, Object: live, Why: "finalizers: " + why})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	return taken && err == nil, err
}

package finalizers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/spec"
)

// A Remover removes the finalizer of a deleted controller from its parents.
type Remover struct {
	Resources  kube.Finder
	Finalizers *kube.Finalizers            // as the account of the controller
	Only       func(*object.Object) bool   // reports whether a parent is included; nil: all are
	OnRemoved  func(parent *object.Object) // called for each parent from which the finalizer was removed; may be nil

	// OnForbidden is called for each parent that the account may not change, with the error. It returns nil if the finalizer stays. If it
	// is nil, the error is one of Remove.
	OnForbidden func(ctx context.Context, parent *object.Object, err error) error
}

// Remove removes the finalizer of the controller that d describes from the objects of all its parent resources. It returns
// from how many. It continues after an error, and returns all errors joined.
func (r *Remover) Remove(ctx context.Context, d *spec.Declaration) (n int, err error) {
	var failed []error
	for _, rule := range d.Parents {
		removed, err := r.removeFrom(ctx, d.ID(), rule.ResourceRule)
		n, failed = n+removed, append(failed, err)
	}
	return n, errors.Join(failed...)
}

func (r *Remover) removeFrom(ctx context.Context, of spec.ID, rule v1alpha1.ResourceRule) (n int, err error) {
	resource, err := r.Resources.ByName(rule.APIVersion, rule.Resource)
	var notServed *kube.NotServedError
	if errors.As(err, &notServed) {
		return 0, nil // the parents were deleted with their CustomResourceDefinition
	}
	if err != nil {
		return 0, err
	}
	err = r.Finalizers.Each(ctx, resource, func(o *object.Object) error {
		if !slices.Contains(o.GetFinalizers(), of.Finalizer()) || r.Only != nil && !r.Only(o) {
			return nil
		}
		taken, err := r.Finalizers.Remove(ctx, o, of.Finalizer(), fmt.Sprintf("%s is deleted", of))
		if r.OnForbidden != nil && kube.Forbidden(err) != nil {
			return r.OnForbidden(ctx, o, err)
		}
		if taken {
			n++
			if r.OnRemoved != nil {
				r.OnRemoved(o)
			}
		}
		return err
	})
	return n, err
}

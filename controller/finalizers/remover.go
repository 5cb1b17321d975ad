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

// A Remover takes the finalizer of one controller off its parents, since the controller is gone.
type Remover struct {
	Resources  kube.Finder
	Finalizers *kube.Finalizers
	Only       func(object.Ref) bool       // the parents that are looked at; nil: all
	Removed    func(parent *object.Object) // is called for each that it was taken off; nil: nobody is told
}

// Remove takes the finalizer of the controller that d describes off the objects of all its parent resources. It returns
// how many had it. One that fails does not keep the others from being tried; the error is all that failed.
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
		return 0, nil // the parents were deleted with their kind
	}
	if err != nil {
		return 0, err
	}
	err = r.Finalizers.Each(ctx, resource, func(o *object.Object) error {
		if !slices.Contains(o.GetFinalizers(), of.Finalizer()) || r.Only != nil && !r.Only(object.RefOf(o)) {
			return nil
		}
		taken, err := r.Finalizers.TakeOff(ctx, o, of.Finalizer(), fmt.Sprintf("%s is deleted", of))
		if taken {
			n++
			if r.Removed != nil {
				r.Removed(o)
			}
		}
		return err
	})
	return n, err
}

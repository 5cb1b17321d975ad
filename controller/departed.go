package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
)

// A departure is a controller object that we do not see any more. It may have been deleted, be about to come back,
// since a replacement deletes first, or have lost the labels that made it ours.
type departure struct {
	object *object.Object // as it was last
	at     time.Time
}

// depart takes the finalizers of a controller object that is gone off its parents, once it has been gone for a while
// and the API server says so: nothing would ever take them off else, and no parent could go.
func (s *Server) depart(ctx context.Context, name id) error {
	known, found := s.departed.Load(name)
	if !found {
		return nil
	}
	gone := known.(departure)
	if wait := s.DeletionGrace - time.Since(gone.at); wait > 0 {
		s.queue.AddAfter(name, wait)
		return nil
	}
	if !s.leads() {
		s.queue.AddAfter(name, s.DeletionGrace) // whoever leads does it, and that may be us by then
		return nil
	}
	exists, err := name.exists(ctx, s.client)
	if err == nil && !exists {
		err = s.letGo(ctx, name, gone.object)
	}
	if err == nil {
		s.departed.CompareAndDelete(name, known)
	}
	return err
}

// exists asks the API server, past every cache, whether there is a controller object of that name.
func (i id) exists(ctx context.Context, client dynamic.Interface) (bool, error) {
	_, err := client.Resource(kinds[i.Kind]).Get(ctx, i.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func (s *Server) finalizers() *kube.Finalizers {
	return &kube.Finalizers{Client: s.outlines, Write: s.write}
}

// letGo takes the finalizers off.
func (s *Server) letGo(ctx context.Context, name id, o *object.Object) error {
	d, err := declare(o)
	if err != nil {
		s.Log.Warn("the controller is deleted, and there is no telling what its parents were: metascript gc takes its finalizers off", "controller", name.Name, "error", err)
		return nil
	}
	n, failed := 0, []error(nil)
	for _, rule := range d.Parents {
		taken, err := s.letGoOf(ctx, name, rule.ResourceRule)
		n, failed = n+taken, append(failed, err)
	}
	if err := errors.Join(failed...); err != nil {
		s.Log.Warn("the controller is deleted, and not all of its finalizers came off; trying again", "controller", name.Name, "taken", n, "error", err)
		return err
	}
	s.Log.Info("the controller is deleted; its finalizers are off its parents", "controller", name.Name, "parents", n)
	return nil
}

func (s *Server) letGoOf(ctx context.Context, name id, rule v1alpha1.ResourceRule) (n int, err error) {
	resource, err := s.resources.ByName(rule.APIVersion, rule.Resource)
	var notServed *kube.NotServedError
	if errors.As(err, &notServed) {
		return 0, nil // the parents went with their kind
	}
	if err != nil {
		return 0, err
	}
	finalizers := s.finalizers()
	err = finalizers.Each(ctx, resource, func(o *object.Object) error {
		if !slices.Contains(o.GetFinalizers(), name.finalizer()) || s.Only != nil && !s.Only(object.RefOf(o)) {
			return nil
		}
		taken, err := finalizers.TakeOff(ctx, o, name.finalizer(), fmt.Sprintf("%s is deleted", name))
		if taken {
			n++
			s.letWent(name, o)
		}
		return err
	})
	return n, err
}

package controller

import (
	"context"
	"time"

	"metascript/controller/finalizers"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/spec"
)

// A departure is a controller object that we do not see any more. It may have been deleted, be about to come back,
// since a replacement deletes first, or have lost the labels that made it ours.
type departure struct {
	object *object.Object // as it was last
	at     time.Time
}

// depart takes the finalizers of a controller object that is gone off its parents, once it has been gone for a while
// and the API server says so: nothing would ever take them off else, and no parent could go.
func (s *Server) depart(ctx context.Context, name spec.ID) error {
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
	exists, err := finalizers.Exists(ctx, name, s.client)
	if err == nil && !exists {
		err = s.letGo(ctx, name, gone.object)
	}
	if err == nil {
		s.departed.CompareAndDelete(name, known)
	}
	return err
}

// letGo takes the finalizers off.
func (s *Server) letGo(ctx context.Context, name spec.ID, o *object.Object) error {
	d, err := spec.Read(o)
	if err != nil {
		s.Log.Warn("the controller is deleted, and there is no telling what its parents were: metascript gc takes its finalizers off", "controller", name.Name, "error", err)
		return nil
	}
	remover := finalizers.Remover{
		Resources: s.resources, Finalizers: &kube.Finalizers{Client: s.outlines, Write: s.write}, Only: s.Only,
		Removed: func(parent *object.Object) { s.letWent(name, parent) },
	}
	n, err := remover.Remove(ctx, d)
	if err != nil {
		s.Log.Warn("the controller is deleted, and not all of its finalizers came off; trying again", "controller", name.Name, "taken", n, "error", err)
		return err
	}
	s.Log.Info("the controller is deleted; its finalizers are off its parents", "controller", name.Name, "parents", n)
	return nil
}

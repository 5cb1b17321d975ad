package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/claim"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/reconcile"
)

// A stray is an object that is owned by a parent of a controller with generateSelector, and does not have the label of its children.
// The parent releases it. The caches of such a controller lack the objects without the label, so they show only an object that
// loses the label. The others are found by a list of metadata: those that lost it while no server ran, those that an earlier version
// of the controller created without generateSelector, and those that somebody else created. Metacontroller releases the last ones
// at once.

const (
	strayPeriod = 10 * time.Minute // how often strays are looked for
	strayDelay  = 2 * time.Second  // how long it is waited for other controllers when one has begun
)

// wantStrays has strays looked for soon, since a controller has begun.
func (e *environment) wantStrays() {
	select {
	case e.strays <- struct{}{}:
	default: // they will be looked for
	}
}

// cacheWidened tells the Reconcilers that caches have all objects of a resource from now on.
func (e *environment) cacheWidened(resource schema.GroupVersionResource) {
	for _, r := range e.records.running() {
		r.CacheWidened(resource)
	}
}

// findStrays looks for strays periodically, and after controllers have begun, until ctx is done.
func (s *Server) findStrays(ctx context.Context) {
	tick := time.NewTicker(strayPeriod)
	defer tick.Stop()
	var soon <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.strays:
			soon = time.After(strayDelay)
			continue
		case <-soon:
		case <-tick.C:
		}
		if soon = nil; s.leads() {
			s.noteStrays(ctx)
		}
	}
}

// noteStrays lists the objects that may be strays once for all controllers.
func (s *Server) noteStrays(ctx context.Context) {
	caches, owners := map[schema.GroupVersionResource]claim.Cache{}, map[schema.GroupVersionResource][]*reconcile.Reconciler{}
	for _, r := range s.records.running() {
		for _, child := range r.NarrowChildren() {
			resource := child.Informer.Resource()
			caches[resource], owners[resource] = child, append(owners[resource], r.Reconciler)
		}
	}
	for resource, all := range owners {
		in := s.WatchNamespaces
		if !caches[resource].Informer.Spec().Namespaced {
			in = nil
		}
		err := kube.EachMetadata(ctx, s.outlines, resource, in, "!"+claim.GeneratedLabel, func(item *metav1.PartialObjectMetadata) {
			if metav1.GetControllerOfNoCopy(item) == nil || item.DeletionTimestamp != nil {
				return
			}
			o := owned(caches[resource].Kind, item)
			for _, r := range all {
				r.NoteStray(o)
			}
		})
		if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
			s.Log.Warn("children without the label "+claim.GeneratedLabel+" are not looked for; trying again", "resource", resource.String(), "error", err)
		}
	}
}

// owned returns an object with the names and the owner references of item.
func owned(kind object.Kind, item *metav1.PartialObjectMetadata) *object.Object {
	o := &object.Object{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(item.Namespace)
	o.SetName(item.Name)
	o.SetOwnerReferences(item.OwnerReferences)
	return o
}

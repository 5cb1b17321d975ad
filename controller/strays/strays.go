// Package strays looks for strays: objects that are owned by a parent of a controller with generateSelector, and do not have the label
// of its children. The parent releases them.
//
// The caches of such a controller lack the objects without the label, so they only show that an object loses it. The others are found
// by a list of metadata, which is not stored: those that lost the label while no server ran, those that an earlier version of the
// controller created without generateSelector, and those that somebody else created. Metacontroller releases the last ones at once.
package strays

import (
	"context"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"metascript/controller/claim"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/selection"
)

const (
	period = 10 * time.Minute // how often strays are looked for
	delay  = 2 * time.Second  // how long it is waited for other controllers when one has begun
)

// An Owner has parents that may own strays.
type Owner interface {
	Kinds() []claim.Cache  // the kinds of children whose caches lack the objects without the label
	Note(o *object.Object) // has an object that one of the parents owns released; o has its names and its owner references only

	Cached(schema.GroupVersionResource) // is called when the cache of children has all objects of a resource from now on
}

// A Finder looks for the strays of all Owners. Its fields do not change.
type Finder struct {
	Metadata   metadata.Interface
	Namespaces selection.Namespaces // that are watched
	Owners     func() []Owner
	Leads      func() bool // whether this server leads; another one releases nothing
	Log        *slog.Logger

	wanted chan struct{}
}

// New returns a Finder without its fields.
func New() *Finder { return &Finder{wanted: make(chan struct{}, 1)} }

// Cached tells all Owners that caches have all objects of a resource from now on; see informer.Factory.Widened.
func (f *Finder) Cached(resource schema.GroupVersionResource) {
	for _, owner := range f.Owners() {
		owner.Cached(resource)
	}
}

// Want has strays looked for soon, since a controller has begun. It does not block.
func (f *Finder) Want() {
	select {
	case f.wanted <- struct{}{}:
	default: // they will be looked for
	}
}

// Run looks for strays periodically, and after calls of Want, until ctx is done.
func (f *Finder) Run(ctx context.Context) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	var soon <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wanted:
			soon = time.After(delay)
			continue
		case <-soon:
		case <-tick.C:
		}
		if soon = nil; f.Leads() {
			f.find(ctx)
		}
	}
}

// find lists the objects that may be strays, once for all Owners.
func (f *Finder) find(ctx context.Context) {
	kinds, owners := map[schema.GroupVersionResource]claim.Cache{}, map[schema.GroupVersionResource][]Owner{}
	for _, owner := range f.Owners() {
		for _, child := range owner.Kinds() {
			resource := child.Informer.Spec().Resource
			kinds[resource], owners[resource] = child, append(owners[resource], owner)
		}
	}
	for resource, all := range owners {
		if err := f.list(ctx, kinds[resource], all); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
			f.Log.Warn("children without the label "+claim.GeneratedLabel+" are not looked for; trying again", "resource", resource.String(), "error", err)
		}
	}
}

// list lists the objects of a kind that do not have the label, and notes those that are owned.
func (f *Finder) list(ctx context.Context, of claim.Cache, owners []Owner) error {
	spec, in := of.Informer.Spec(), f.Namespaces
	if !spec.Namespaced {
		in = nil
	}
	return kube.EachMetadata(ctx, f.Metadata, spec.Resource, in, "!"+claim.GeneratedLabel, func(item *metav1.PartialObjectMetadata) {
		if metav1.GetControllerOfNoCopy(item) == nil || item.DeletionTimestamp != nil {
			return
		}
		o := outline(of.Kind, item)
		for _, owner := range owners {
			owner.Note(o)
		}
	})
}

// outline returns an object with the names and the owner references of item.
func outline(kind object.Kind, item *metav1.PartialObjectMetadata) *object.Object {
	o := &object.Object{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(item.Namespace)
	o.SetName(item.Name)
	o.SetOwnerReferences(item.OwnerReferences)
	return o
}

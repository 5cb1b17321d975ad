// Package strays looks for strays: objects that are owned by a parent of a controller with generateSelector, and do not have the label
// of its children. The parent releases them.
//
// The caches of such a controller lack the objects without the label, so they only show that an object loses it. The others are found
// by a list of metadata, which is not stored: those that lost the label while no server ran, those that an earlier version of the
// controller created without generateSelector, and those that somebody else created. Metacontroller releases the last ones at once.
//
// Most of the objects in such a list belong to others, so they must cost little: only namespaces with parents are listed, and of an
// object no more is read than the UIDs of its owners, unless one is a parent.
package strays

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"metascript/controller/claim"
	"metascript/controller/object"
	"metascript/controller/selection"
	"metascript/controller/wire"
)

const (
	period = 10 * time.Minute // how often strays are looked for
	delay  = 2 * time.Second  // how long it is waited for other controllers when one has begun

	pageSize      = 500 // how many objects an answer has at most, which limits the memory
	maxNamespaces = 10  // if there are parents in more of them, all objects are listed, since each costs a request
)

// An Owner has parents that may own strays.
type Owner interface {
	Kinds() []claim.Cache              // the kinds of children whose caches lack the objects without the label
	Parents() iter.Seq[*object.Object] // those that release children
	Note(o *object.Object)             // has an object that one of the parents owns released; o has its names and its owner references only

	Cached(schema.GroupVersionResource) // is called when the cache of children has all objects of a resource from now on
}

// A Finder looks for the strays of all Owners. Its fields do not change.
type Finder struct {
	Client     rest.Interface       // see wire.NewClient
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

// A search looks for the strays of one kind.
type search struct {
	of         claim.Cache
	owners     []Owner
	parents    map[types.UID]bool // of the owners
	namespaces map[string]bool    // of the parents; "" if they are objects of the cluster
}

// find looks for the strays of each kind, once for all Owners.
func (f *Finder) find(ctx context.Context) {
	for resource, s := range f.searches() {
		if err := f.list(ctx, s); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
			f.Log.Warn("children without the label "+claim.GeneratedLabel+" are not looked for; trying again", "resource", resource.String(), "error", err)
		}
	}
}

// searches returns the searches for the kinds of children of parents that exist.
func (f *Finder) searches() map[schema.GroupVersionResource]*search {
	all := map[schema.GroupVersionResource]*search{}
	for _, owner := range f.Owners() {
		for _, child := range owner.Kinds() {
			resource := child.Informer.Spec().Resource
			s := all[resource]
			if s == nil {
				s = &search{of: child, parents: map[types.UID]bool{}, namespaces: map[string]bool{}}
				all[resource] = s
			}
			s.owners = append(s.owners, owner)
			for parent := range owner.Parents() {
				s.parents[parent.GetUID()], s.namespaces[parent.GetNamespace()] = true, true
			}
		}
	}
	return all
}

// list lists the objects of a kind that do not have the label, and notes those that are owned.
func (f *Finder) list(ctx context.Context, s *search) error {
	for _, namespace := range s.requests(f.Namespaces) {
		if err := f.listIn(ctx, s, namespace); err != nil {
			return err
		}
	}
	return nil
}

// requests returns the namespaces of the requests that list all children of the parents: "" is all.
func (s *search) requests(watched selection.Namespaces) []string {
	switch {
	case len(s.parents) == 0:
		return nil
	case !s.of.Informer.Spec().Namespaced:
		return []string{""}
	case s.namespaces[""] || len(s.namespaces) > maxNamespaces:
		return watched.Requests()
	}
	return slices.Sorted(maps.Keys(s.namespaces))
}

// listIn lists the objects in a namespace; "" is all.
func (f *Finder) listIn(ctx context.Context, s *search, namespace string) error {
	var answer bytes.Buffer
	for next := ""; ; {
		if err := f.page(ctx, s, namespace, next, &answer); err != nil {
			if next = continueOf(err); next != "" {
				continue
			}
			return err
		}
		var err error
		if next, err = eachOwned(answer.Bytes(), s.parents, s.note); err != nil || next == "" {
			return err
		}
	}
}

// page requests a part of a list.
func (f *Finder) page(ctx context.Context, s *search, namespace, next string, answer *bytes.Buffer) error {
	request := f.Client.Get().AbsPath(wire.Path(s.of.Informer.Spec().Resource, namespace)...).SetHeader("Accept", accepted).
		Param("labelSelector", "!"+claim.GeneratedLabel).Param("limit", strconv.Itoa(pageSize))
	if next != "" {
		request.Param("continue", next)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	answer.Reset()
	_, err = answer.ReadFrom(body)
	return err
}

// continueOf returns how to go on with a list after an error: the API server may have dropped the state that the list began with, and
// offers the rest in the current state. It returns "" if the list cannot go on.
func continueOf(err error) string {
	var status apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}

// note notes an object that names a parent as its owner.
func (s *search) note(item *metav1.PartialObjectMetadata) {
	if object.OwnerOfMetadata(item) == nil || item.DeletionTimestamp != nil {
		return
	}
	o := outline(s.of.Kind, item)
	for _, owner := range s.owners {
		owner.Note(o)
	}
}

// outline returns an object with the names and the owner references of item.
func outline(kind object.Kind, item *metav1.PartialObjectMetadata) *object.Object {
	o := &object.Object{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(item.Namespace)
	o.SetName(item.Name)
	o.SetOwnerReferences(item.OwnerReferences)
	if owner := item.Annotations[object.OwnerAnnotation]; owner != "" {
		o.SetAnnotations(map[string]string{object.OwnerAnnotation: owner})
	}
	return o
}

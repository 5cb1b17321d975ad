package revisions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/selection"
	"metascript/controller/spec"
)

// A Sweeper deletes the ControllerRevisions of parents whose controllers have no rolling update method any more.
//
// It keeps the ControllerRevisions of a parent resource if they may be needed: if no CompositeController in the cluster has
// that parent resource, if one of them has a rolling update method, or if this server does not run the current spec of each
// of them.
//
// It is not safe for concurrent use.
type Sweeper struct {
	Client    dynamic.Interface    // lists all CompositeControllers, also those of other servers
	Metadata  metadata.Interface   // lists ControllerRevisions, without their content
	Watched   selection.Namespaces // of the ControllerRevisions
	Resources kube.Finder
	Writer    plan.Writer                          // deletes
	Runs      func(controller *object.Object) bool // reports whether this server runs the current spec of a controller

	// swept are the parent resources without ControllerRevisions. None is created while their controllers do not change.
	swept map[schema.GroupResource]parents
}

// parents describes a parent resource whose controllers have no rolling update method.
type parents struct {
	kind        string
	controllers string // names, UIDs and generations of the controllers; changes if one of them does
}

// Sweep deletes the ControllerRevisions that are not needed now. The error is that of a request to the API server.
func (s *Sweeper) Sweep(ctx context.Context) error {
	all, err := s.withoutRolling(ctx)
	if err != nil {
		return err
	}
	for resource, p := range all {
		if s.swept[resource] == p {
			continue
		}
		if err := s.sweepResource(ctx, resource, p); err != nil {
			return err
		}
	}
	return nil
}

// sweepResource deletes the ControllerRevisions of a resource, unless its controllers changed while they were listed.
func (s *Sweeper) sweepResource(ctx context.Context, resource schema.GroupResource, p parents) error {
	found, err := s.list(ctx, resource, p.kind)
	if err != nil {
		return fmt.Errorf("list ControllerRevisions of %s: %w", resource, err)
	}
	if len(found) == 0 {
		if s.swept == nil {
			s.swept = map[schema.GroupResource]parents{}
		}
		s.swept[resource] = p
		return nil
	}
	again, err := s.withoutRolling(ctx)
	if err != nil || again[resource] != p {
		return err
	}
	for _, o := range found {
		if err := s.remove(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// list returns the ControllerRevisions whose controller is an object of a resource. It leaves out orphans.
func (s *Sweeper) list(ctx context.Context, resource schema.GroupResource, kind string) ([]*metav1.PartialObjectMetadata, error) {
	var found []*metav1.PartialObjectMetadata
	selector := labels.Set{GroupLabel: resource.Group, ResourceLabel: resource.Resource}.String()
	for _, namespace := range s.Watched.Requests() {
		pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return s.Metadata.Resource(v1alpha1.ControllerRevisions).Namespace(namespace).List(ctx, options)
		})
		err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(o runtime.Object) error {
			revision := o.(*metav1.PartialObjectMetadata)
			if isOf(metav1.GetControllerOf(revision), resource.Group, kind) {
				found = append(found, revision)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// isOf reports whether owner is an object of a kind. It is false if owner is nil.
func isOf(owner *metav1.OwnerReference, group, kind string) bool {
	if owner == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == group && owner.Kind == kind
}

// remove deletes a ControllerRevision, unless it has changed since it was listed.
func (s *Sweeper) remove(ctx context.Context, listed *metav1.PartialObjectMetadata) error {
	o := &object.Object{}
	o.SetGroupVersionKind(Kind)
	o.SetNamespace(listed.Namespace)
	o.SetName(listed.Name)
	o.SetUID(listed.UID)
	o.SetResourceVersion(listed.ResourceVersion)
	_, err := s.Writer.Do(ctx, plan.Op{Verb: plan.Delete, Object: o, Why: "no controller of the parent has a rolling method"})
	if err != nil && !kube.Outdated(err) {
		return err
	}
	return nil
}

// withoutRolling returns the parent resources whose controllers need no ControllerRevisions: none, if a CompositeController cannot
// be read.
func (s *Sweeper) withoutRolling(ctx context.Context) (map[schema.GroupResource]parents, error) {
	list, err := s.Client.Resource(v1alpha1.CompositeControllers).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", v1alpha1.KindCompositeController, err)
	}
	all, needed := map[schema.GroupResource]parents{}, map[schema.GroupResource]bool{}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	for i := range list.Items {
		o := object.Of(&list.Items[i])
		d, err := spec.Read(o)
		if err != nil {
			return nil, nil // it may be about any resource
		}
		gv, err := schema.ParseGroupVersion(d.Parents[0].APIVersion)
		if err != nil {
			return nil, nil
		}
		resource := gv.WithResource(d.Parents[0].Resource).GroupResource()
		found, err := s.Resources.ByName(gv.String(), resource.Resource)
		before := all[resource].controllers
		all[resource] = parents{found.Kind, fmt.Sprintf("%s%s %s of generation %d; ", before, o.GetName(), o.GetUID(), o.GetGeneration())}
		needed[resource] = needed[resource] || err != nil || rolls(d) || !s.Runs(o)
	}
	maps.DeleteFunc(all, func(resource schema.GroupResource, _ parents) bool { return needed[resource] })
	return all, nil
}

// rolls reports whether a kind of children has a rolling update method.
func rolls(d *spec.Declaration) bool {
	return slices.ContainsFunc(d.Children, func(c spec.Child) bool { return c.Method.Rolls() })
}

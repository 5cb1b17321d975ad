package revisions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"metascript/controller/spec"
)

// A Sweeper deletes the ControllerRevisions of parents whose controllers have no rolling method any more.
//
// The ControllerRevisions of a parent resource stay if there is any doubt: if no CompositeController in the cluster has that
// parent resource, if one of them has a rolling method, or if this server does not run each of them as it is written.
//
// It is not safe for concurrent use.
type Sweeper struct {
	Client    dynamic.Interface  // lists all CompositeControllers, also those that are not for this server
	Metadata  metadata.Interface // lists ControllerRevisions, without their content
	Resources kube.Finder
	Writer    plan.Writer                          // deletes
	Runs      func(controller *object.Object) bool // reports whether this server runs a controller as it is written

	// swept are the parent resources of which there are no ControllerRevisions. None comes while the controllers are the same.
	swept map[schema.GroupResource]parents
}

// parents are those of a resource of which no controller has a rolling method.
type parents struct {
	kind        string
	controllers string // with their generations
}

// Sweep looks once. The error is the API server's, or says what could not be listed.
func (s *Sweeper) Sweep(ctx context.Context) error {
	all, err := s.withoutRolling(ctx)
	if err != nil {
		return err
	}
	for resource, of := range all {
		if s.swept[resource] == of {
			continue
		}
		if err := s.sweepResource(ctx, resource, of); err != nil {
			return err
		}
	}
	return nil
}

// sweepResource deletes the ControllerRevisions of a resource, unless its controllers changed while they were listed.
func (s *Sweeper) sweepResource(ctx context.Context, resource schema.GroupResource, of parents) error {
	found, err := s.list(ctx, resource, of.kind)
	if err != nil {
		return fmt.Errorf("list ControllerRevisions of %s: %w", resource, err)
	}
	if len(found) == 0 {
		if s.swept == nil {
			s.swept = map[schema.GroupResource]parents{}
		}
		s.swept[resource] = of
		return nil
	}
	again, err := s.withoutRolling(ctx)
	if err != nil || again[resource] != of {
		return err
	}
	for _, o := range found {
		if err := s.remove(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// list returns the ControllerRevisions of a resource's objects that still have an owner.
func (s *Sweeper) list(ctx context.Context, resource schema.GroupResource, kind string) ([]*metav1.PartialObjectMetadata, error) {
	var found []*metav1.PartialObjectMetadata
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return s.Metadata.Resource(v1alpha1.ControllerRevisions).List(ctx, options)
	})
	selector := labels.Set{GroupLabel: resource.Group, ResourceLabel: resource.Resource}.String()
	err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(o runtime.Object) error {
		revision := o.(*metav1.PartialObjectMetadata)
		if isOf(metav1.GetControllerOf(revision), resource.Group, kind) {
			found = append(found, revision)
		}
		return nil
	})
	return found, err
}

// isOf reports whether an owner, if there is one, is of that kind.
func isOf(owner *metav1.OwnerReference, group, kind string) bool {
	if owner == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == group && owner.Kind == kind
}

// remove deletes a ControllerRevision, unless it was changed since it was listed.
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

// withoutRolling returns the parent resources whose controllers need no ControllerRevisions.
func (s *Sweeper) withoutRolling(ctx context.Context) (map[schema.GroupResource]parents, error) {
	list, err := s.Client.Resource(v1alpha1.CompositeControllers).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %ss: %w", v1alpha1.KindCompositeController, err)
	}
	all, needed := map[schema.GroupResource]parents{}, map[schema.GroupResource]bool{}
	slices.SortFunc(list.Items, func(a, b object.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	for i := range list.Items {
		o := &list.Items[i]
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

// rolls reports whether a kind of children has a rolling method.
func rolls(d *spec.Declaration) bool {
	return slices.ContainsFunc(d.Children, func(c spec.Child) bool { return c.Method.Rolls() })
}

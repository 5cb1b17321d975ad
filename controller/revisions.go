package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/rollout"
)

// The labels by which the ControllerRevisions of a kind are told from those of others.
const (
	groupLabel    = "metacontroller.k8s.io/apiGroup"
	resourceLabel = "metacontroller.k8s.io/resource"
)

// revisionKind is the kind in which rollouts are kept.
var revisionKind = v1alpha1.GroupVersion.WithKind(v1alpha1.KindControllerRevision)

// revisions know the ControllerRevisions of a controller's parents. Only a controller with kinds that roll has them.
type revisions struct {
	rules   rollout.Rules
	paths   []string        // the revisioned fields
	scripts *scriptVersions // nil: an edit of the script makes no revision
	parent  kube.Resource

	labels func(parent *object.Object) map[string]string // of children that are known by them; nil: they have others
	match  func(parent *object.Object) (labels.Selector, error)
	live   func(ctx context.Context, o *object.Object) (*object.Object, error)
	cache  *informer.Informer
}

// rolling gives the revisions of a controller, without a cache, or nil when no kind of children rolls.
func rolling(d *declaration, found resolved) (*revisions, error) {
	r := &revisions{rules: rollout.Rules{Kinds: map[object.Kind]rollout.Rule{}}}
	for i, rule := range d.Children {
		kind := found.children[i].ObjectKind()
		delete(r.rules.Kinds, kind) // the last rule of a kind counts
		if rule.Method.Rolls() {
			r.rules.Kinds[kind] = rollout.Rule{InPlace: rule.Method == plan.RollingInPlace, Checks: checks(rule.Checks)}
		}
	}
	if len(r.rules.Kinds) == 0 {
		return nil, nil
	}
	if r.parent = found.parents[0]; !r.parent.Namespaced {
		return nil, fmt.Errorf("%s %s is cluster-scoped, and its children cannot roll: how far they are is kept in ControllerRevisions, which are in the namespace of the parent; use method Recreate or InPlace", d.Parents[0].Field, r.parent.Resource)
	}
	r.paths, _ = rollout.Paths(d.FieldPaths)
	return r, nil
}

func checks(declared []v1alpha1.StatusConditionCheck) []rollout.Check {
	var all []rollout.Check
	for _, c := range declared {
		all = append(all, rollout.Check{Type: c.Type, Status: c.Status, Reason: c.Reason})
	}
	return all
}

// read gives the latest revision of parent, which may not be stored yet, and the others. Those of a parent are known by
// its controller reference, whatever their labels, since labels follow the parent's template and need not match its
// selector. Orphans that match are adopted.
func (r *revisions) read(ctx context.Context, parent *object.Object, write plan.Writer) (rollout.Revision, []rollout.Revision, error) {
	var latest rollout.Revision
	found, err := r.claim(ctx, parent, write)
	if err != nil {
		return latest, nil, err
	}
	var stored []rollout.Revision
	var failed []error
	for _, o := range object.Sorted(found) {
		revision, err := rollout.Decode(o)
		if r.scripts == nil {
			revision.Script = "" // the one that runs serves all
		}
		stored, failed = append(stored, revision), append(failed, err)
	}
	if err := errors.Join(failed...); err != nil {
		return latest, nil, err
	}
	if latest.Patch, err = rollout.Patch(parent, r.paths); err != nil {
		return latest, nil, err
	}
	if r.scripts != nil {
		latest.Script = r.scripts.digest
	}
	if latest.Name, err = rollout.Name(r.parent.GroupResource(), string(parent.GetUID()), latest.Patch, latest.Script); err != nil {
		return latest, nil, fmt.Errorf("%s: %w", object.Describe(parent), err)
	}
	return rollout.Arrange(latest, stored)
}

// claim gives the ControllerRevisions of parent, as the cache has them.
func (r *revisions) claim(ctx context.Context, parent *object.Object, write plan.Writer) ([]*object.Object, error) {
	mine := slices.Clone(r.cache.OwnedBy(parent.GetUID()))
	owner := &claim{live: r.live}
	selector, err := r.selector(parent)
	if err != nil || object.Deleting(parent) {
		return mine, nil // it adopts nothing
	}
	adopt := owner.adopter(parent, write)
	for _, o := range owner.orphans(parent, r.cache, selector) {
		adopted, err := adopt(ctx, o)
		if err != nil {
			return nil, err
		}
		mine = append(mine, adopted)
	}
	return mine, nil
}

// selector matches what parent may adopt.
func (r *revisions) selector(parent *object.Object) (labels.Selector, error) {
	selector, err := r.match(parent)
	if err != nil {
		return nil, err
	}
	ours, _ := labels.SelectorFromSet(labels.Set{groupLabel: r.parent.Group, resourceLabel: r.parent.GroupVersionResource.Resource}).Requirements()
	return selector.Add(ours...), nil
}

// blank is a new ControllerRevision of parent, without name and content. Its labels are those of the parent's template,
// as for Metacontroller, and what the parent's selector asks for by name, so that it can be found if it is orphaned.
func (r *revisions) blank(parent *object.Object) *object.Object {
	o := &object.Object{}
	o.SetGroupVersionKind(revisionKind)
	o.SetNamespace(parent.GetNamespace())
	all := map[string]string{}
	if r.labels != nil {
		maps.Copy(all, r.labels(parent))
	} else {
		template, _, _ := unstructured.NestedStringMap(parent.Object, "spec", "template", "metadata", "labels")
		selected, _, _ := unstructured.NestedStringMap(parent.Object, "spec", "selector", "matchLabels")
		maps.Copy(all, template)
		maps.Copy(all, selected)
	}
	all[groupLabel], all[resourceLabel] = r.parent.Group, r.parent.GroupVersionResource.Resource
	o.SetLabels(all)
	o.SetOwnerReferences(controlledBy(parent, nil))
	return o
}

// store writes the revisions of a step, all of them or as many as come before one that fails. That the world changed
// under it is no failure: the caches will tell.
func (r *revisions) store(ctx context.Context, parent *object.Object, step rollout.Step, write plan.Writer) error {
	writes := step.Writes(r.blank(parent))
	if r.scripts != nil && len(writes) > 0 {
		if err := r.scripts.keep(ctx); err != nil {
			return err
		}
	}
	for _, op := range writes {
		_, err := write.Do(ctx, op)
		switch {
		case err == nil:
		case op.Verb == plan.Delete && apierrors.IsNotFound(err):
		case apierrors.IsAlreadyExists(err):
			return r.occupied(ctx, parent, op.Object)
		case kube.Outdated(err):
			return kube.Requeue(err)
		default:
			return err
		}
	}
	return nil
}

// occupied says who has the name of a ControllerRevision that could not be created.
func (r *revisions) occupied(ctx context.Context, parent, o *object.Object) error {
	there, err := r.live(ctx, o)
	switch {
	case apierrors.IsNotFound(err):
		return kube.ErrRequeue
	case err != nil:
		return fmt.Errorf("read %s: %w", object.Describe(o), err)
	case object.Deleting(there):
		return fmt.Errorf("%s is still being deleted: %w", object.Describe(there), kube.ErrRequeue)
	}
	if ref := object.ControllerOf(there); ref != nil && ref.UID == parent.GetUID() {
		return kube.ErrRequeue // only our cache did not know
	}
	return fmt.Errorf("create %s: it exists already, and %s is not its controller: delete it", object.Describe(o), object.Describe(parent))
}

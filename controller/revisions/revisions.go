// Package revisions keeps the revisions of the parents of one controller in ControllerRevisions, for rolling updates. Which
// child is updated next is decided by package rollout.
package revisions

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
	"metascript/controller/claim"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/rollout"
	"metascript/controller/spec"
	"metascript/controller/store"
)

// The labels by which the ControllerRevisions of a kind are told from those of others.
const (
	GroupLabel    = "metacontroller.k8s.io/apiGroup"
	ResourceLabel = "metacontroller.k8s.io/resource"
)

// Kind is the kind in which revisions are stored.
var Kind = v1alpha1.GroupVersion.WithKind(v1alpha1.KindControllerRevision)

// Revisions reads and writes the ControllerRevisions of a controller's parents. Only a controller with a rolling update method
// has one.
type Revisions struct {
	Rules   rollout.Rules
	Paths   []string              // the revisioned fields
	Scripts *store.ScriptVersions // nil: an edit of a script makes no revision
	Parent  kube.Resource

	Labels func(parent *object.Object) map[string]string // of children, if selectors are generated; nil: the parent's template has the labels
	Match  func(parent *object.Object) (labels.Selector, error)
	Live   func(ctx context.Context, o *object.Object) (*object.Object, error)
	Cache  *informer.Informer
}

// New returns the Revisions of a controller, without a cache, or nil if no kind of children has a rolling update method.
func New(d *spec.Declaration, found spec.Resolved) (*Revisions, error) {
	r := &Revisions{Rules: rollout.Rules{Kinds: map[object.Kind]rollout.Rule{}}}
	for i, rule := range d.Children {
		kind := found.Children[i].ObjectKind()
		delete(r.Rules.Kinds, kind) // the last rule of a kind counts
		if rule.Method.Rolls() {
			r.Rules.Kinds[kind] = rollout.Rule{InPlace: rule.Method == plan.RollingInPlace, Checks: checks(rule.Checks)}
		}
	}
	if len(r.Rules.Kinds) == 0 {
		return nil, nil
	}
	if r.Parent = found.Parents[0]; !r.Parent.Namespaced {
		return nil, fmt.Errorf("%s %s is cluster-scoped, and its children cannot roll: how far they are is kept in ControllerRevisions, which are in the namespace of the parent; use method Recreate or InPlace", d.Parents[0].Field, r.Parent.Resource)
	}
	r.Paths, _ = rollout.Paths(d.FieldPaths)
	return r, nil
}

func checks(declared []v1alpha1.StatusConditionCheck) []rollout.Check {
	var all []rollout.Check
	for _, c := range declared {
		all = append(all, rollout.Check{Type: c.Type, Status: c.Status, Reason: c.Reason})
	}
	return all
}

// Read returns the latest revision of parent, which may not be stored yet, and the others. A ControllerRevision belongs to the
// parent in its controller reference, whatever its labels, since these follow the parent's template and need not match the
// selector. Orphans that match are adopted.
func (r *Revisions) Read(ctx context.Context, parent *object.Object, write plan.Writer) (rollout.Revision, []rollout.Revision, error) {
	var latest rollout.Revision
	found, err := r.claim(ctx, parent, write)
	if err != nil {
		return latest, nil, err
	}
	var stored []rollout.Revision
	var failed []error
	for _, o := range object.Sorted(found) {
		revision, err := rollout.Decode(o)
		if r.Scripts == nil {
			revision.Script = "" // the scripts that run are called for all
		}
		stored, failed = append(stored, revision), append(failed, err)
	}
	if err := errors.Join(failed...); err != nil {
		return latest, nil, err
	}
	if latest.Patch, err = rollout.Patch(parent, r.Paths); err != nil {
		return latest, nil, err
	}
	if r.Scripts != nil {
		latest.Script = r.Scripts.Digest
	}
	if latest.Name, err = rollout.Name(r.Parent.GroupResource(), string(parent.GetUID()), latest.Patch, latest.Script); err != nil {
		return latest, nil, fmt.Errorf("%s: %w", object.Describe(parent), err)
	}
	return rollout.Arrange(latest, stored)
}

// claim returns the ControllerRevisions of parent, as the cache has them.
func (r *Revisions) claim(ctx context.Context, parent *object.Object, write plan.Writer) ([]*object.Object, error) {
	mine := slices.Clone(r.Cache.OwnedBy(parent.GetUID()))
	claimer := &claim.BySelector{Live: r.Live}
	selector, err := r.selector(parent)
	if err != nil || object.Deleting(parent) {
		return mine, nil // it adopts nothing
	}
	adopt := claimer.Adopter(parent, write)
	for _, o := range claimer.Orphans(parent, r.Cache, selector) {
		adopted, err := adopt(ctx, o)
		if err != nil {
			return nil, err
		}
		mine = append(mine, adopted)
	}
	return mine, nil
}

// selector matches what parent may adopt.
func (r *Revisions) selector(parent *object.Object) (labels.Selector, error) {
	selector, err := r.Match(parent)
	if err != nil {
		return nil, err
	}
	ours, _ := labels.SelectorFromSet(labels.Set{GroupLabel: r.Parent.Group, ResourceLabel: r.Parent.GroupVersionResource.Resource}).Requirements()
	return selector.Add(ours...), nil
}

// Blank returns a new ControllerRevision of parent, without name and content. Its labels are those of the parent's template,
// as in Metacontroller, and the matchLabels of its selector, so that it can be found if it is orphaned.
func (r *Revisions) Blank(parent *object.Object) *object.Object {
	o := &object.Object{}
	o.SetGroupVersionKind(Kind)
	o.SetNamespace(parent.GetNamespace())
	all := map[string]string{}
	if r.Labels != nil {
		maps.Copy(all, r.Labels(parent))
	} else {
		template, _, _ := unstructured.NestedStringMap(parent.Object, "spec", "template", "metadata", "labels")
		selected, _, _ := unstructured.NestedStringMap(parent.Object, "spec", "selector", "matchLabels")
		maps.Copy(all, template)
		maps.Copy(all, selected)
	}
	all[GroupLabel], all[ResourceLabel] = r.Parent.Group, r.Parent.GroupVersionResource.Resource
	o.SetLabels(all)
	o.SetOwnerReferences(claim.ControlledBy(parent, nil))
	return o
}

// Store writes the revisions of a step, all of them or as many as come before one that fails. If an object was changed
// meanwhile the error is a kube.ErrRequeue: the caches will have the change.
func (r *Revisions) Store(ctx context.Context, parent *object.Object, step rollout.Step, write plan.Writer) error {
	writes := step.Writes(r.Blank(parent))
	if r.Scripts != nil && len(writes) > 0 {
		if err := r.Scripts.Keep(ctx); err != nil {
			return err
		}
	}
	for _, op := range writes {
		_, err := write.Do(ctx, op)
		switch {
		case err == nil:
		case op.Verb == plan.Delete && apierrors.IsNotFound(err):
		case apierrors.IsAlreadyExists(err):
			return r.nameTaken(ctx, parent, op.Object)
		case kube.Outdated(err):
			return kube.Requeue(err)
		default:
			return err
		}
	}
	return nil
}

// nameTaken is the error of a ControllerRevision that could not be created since another object has its name.
func (r *Revisions) nameTaken(ctx context.Context, parent, o *object.Object) error {
	there, err := r.Live(ctx, o)
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

// Package revisions stores the revisions of parents in ControllerRevisions, for rolling updates. Package rollout decides which
// child is updated next.
//
//   - [Revisions] reads and writes the ControllerRevisions of the parents of one controller.
//   - [Schemas] has the schemas that the fields of revisions must match
//   - A [Sweeper] deletes the ControllerRevisions of controllers that do not use rolling updates any more.
package revisions

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/claim"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/rollout"
	"metascript/controller/schemas"
	"metascript/controller/spec"
	"metascript/controller/store"
)

// The labels of a ControllerRevision with the resource of its parent, as in Metacontroller.
const (
	GroupLabel    = "metacontroller.k8s.io/apiGroup"
	ResourceLabel = "metacontroller.k8s.io/resource"
)

// Kind is the kind ControllerRevision of Metacontroller, not that of Kubernetes.
var Kind = v1alpha1.GroupVersion.WithKind(v1alpha1.KindControllerRevision)

// Revisions reads and writes the ControllerRevisions of the parents of one controller. A controller without a rolling update
// method has none. It is safe for concurrent use, for different parents.
type Revisions struct {
	Rules   rollout.Rules         // the kinds of children with a rolling update method
	Paths   []string              // the fields of the parent that are part of a revision
	Scripts *store.ScriptVersions // nil: scripts are not part of a revision
	Parent  kube.Resource

	// Labels returns the labels of children, if the controller generates selectors. nil: see blank.
	Labels func(parent *object.Object) map[string]string

	Match   func(parent *object.Object) (labels.Selector, error)                // returns the selector of the parent's children
	GetLive func(ctx context.Context, o *object.Object) (*object.Object, error) // gets an object from the API server
	Cache   *informer.Informer                                                  // of ControllerRevisions; set by the caller of New
	Schema  func(ctx context.Context) (*schemas.Kind, error)                    // returns that of the parents; nil, also as a result: revisions are not validated
}

// New returns the Revisions of a controller, with Rules, Paths and Parent; the caller sets the other fields. It returns nil if no
// kind of children has a rolling update method, and an error if the parent is cluster-scoped.
func New(d *spec.Declaration, resolved spec.Resolved) (*Revisions, error) {
	r := &Revisions{Rules: rollout.Rules{Kinds: map[object.Kind]rollout.Rule{}}}
	for i, rule := range d.Children {
		kind := resolved.Children[i].ObjectKind()
		delete(r.Rules.Kinds, kind) // the last rule of a kind applies
		if rule.Method.Rolls() {
			r.Rules.Kinds[kind] = rollout.Rule{InPlace: rule.Method == plan.RollingInPlace, Checks: checks(rule.Checks)}
		}
	}
	if len(r.Rules.Kinds) == 0 {
		return nil, nil
	}
	if r.Parent = resolved.Parents[0]; !r.Parent.Namespaced {
		return nil, fmt.Errorf("%s %s is cluster-scoped, and its children cannot have a rolling update method: the progress of a rolling update is stored in ControllerRevisions, which are in the namespace of the parent; use method Recreate or InPlace", d.Parents[0].Field, r.Parent.Resource)
	}
	r.Paths, _ = rollout.Paths(d.FieldPaths)
	return r, nil
}

// checks converts the status checks of a kind of children.
func checks(declared []v1alpha1.StatusConditionCheck) []rollout.Check {
	var all []rollout.Check
	for _, c := range declared {
		all = append(all, rollout.Check{Type: c.Type, Status: c.Status, Reason: c.Reason})
	}
	return all
}

// Read returns the latest revision of parent, which may not be stored yet, and the older ones. A ControllerRevision belongs to
// the parent in its controller reference, whatever its labels: they are those of the parent's template, which need not match
// the selector. Read adopts orphans that match the selector, unless parent is being deleted. A ControllerRevision that cannot
// be decoded is an error.
func (r *Revisions) Read(ctx context.Context, parent *object.Object, write plan.Writer) (rollout.Revision, []rollout.Revision, error) {
	var latest rollout.Revision
	found, err := r.claim(ctx, parent, write)
	if err != nil {
		return latest, nil, err
	}
	return r.arrange(parent, found)
}

// Stored returns the same as Read, and adopts nothing.
func (r *Revisions) Stored(parent *object.Object) (rollout.Revision, []rollout.Revision, error) {
	return r.arrange(parent, claim.Owned(r.Cache, parent))
}

// arrange returns the latest revision of parent and the older ones among its ControllerRevisions.
func (r *Revisions) arrange(parent *object.Object, found []*object.Object) (rollout.Revision, []rollout.Revision, error) {
	var latest rollout.Revision
	var stored []rollout.Revision
	var errs []error
	for _, o := range object.Sorted(found) {
		revision, err := rollout.Decode(o)
		if r.Scripts == nil {
			revision.Script = "" // the current scripts are called for all revisions
		}
		stored, errs = append(stored, revision), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return latest, nil, err
	}
	var err error
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

// claim returns the ControllerRevisions of parent from the cache, after it has adopted the orphans that match.
func (r *Revisions) claim(ctx context.Context, parent *object.Object, write plan.Writer) ([]*object.Object, error) {
	owned := claim.Owned(r.Cache, parent)
	claimer := &claim.BySelector{GetLive: r.GetLive}
	selector, err := r.selector(parent)
	if err != nil || object.Deleting(parent) {
		return owned, nil // it adopts nothing
	}
	adopt := claimer.Adopter(parent, write)
	for _, o := range claimer.Orphans(parent, claim.Cache{Informer: r.Cache}, selector) {
		adopted, err := adopt(ctx, o)
		if err != nil {
			return nil, err
		}
		owned = append(owned, adopted)
	}
	return owned, nil
}

// selector returns the selector of the ControllerRevisions that parent may adopt.
func (r *Revisions) selector(parent *object.Object) (labels.Selector, error) {
	selector, err := r.Match(parent)
	if err != nil {
		return nil, err
	}
	resource, _ := labels.SelectorFromSet(labels.Set{GroupLabel: r.Parent.Group, ResourceLabel: r.Parent.GroupVersionResource.Resource}).Requirements()
	return selector.Add(resource...), nil
}

// blank returns a new ControllerRevision of parent, without name and content. Its labels are those that Labels returns. If Labels
// is nil, they are those of the parent's template, as in Metacontroller, and the matchLabels of the parent's selector, so that
// the selector matches it if it is orphaned.
func (r *Revisions) blank(parent *object.Object) *object.Object {
	o := &object.Object{}
	o.SetGroupVersionKind(Kind)
	o.SetNamespace(parent.GetNamespace())
	all := map[string]string{}
	if r.Labels != nil {
		maps.Copy(all, r.Labels(parent))
	} else {
		maps.Copy(all, parent.TextsAt("spec", "template", "metadata", "labels"))
		maps.Copy(all, parent.TextsAt("spec", "selector", "matchLabels"))
	}
	all[GroupLabel], all[ResourceLabel] = r.Parent.Group, r.Parent.GroupVersionResource.Resource
	o.SetLabels(all)
	o.SetOwnerReferences(claim.ControlledBy(parent, nil))
	return o
}

// Store writes the revisions of a step in order, until a write fails. It stores the current scripts first, if they are part of
// revisions. If the API server has a newer version of a ControllerRevision than the cache, the error is a kube.ErrRequeue.
func (r *Revisions) Store(ctx context.Context, parent *object.Object, step rollout.Step, write plan.Writer) error {
	writes := step.Writes(r.blank(parent))
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

// nameTaken returns the error for a ControllerRevision that could not be created because one of its name exists.
func (r *Revisions) nameTaken(ctx context.Context, parent, o *object.Object) error {
	existing, err := r.GetLive(ctx, o)
	switch {
	case apierrors.IsNotFound(err):
		return kube.ErrRequeue
	case err != nil:
		return fmt.Errorf("read %s: %w", object.Describe(o), err)
	case object.Deleting(existing):
		return fmt.Errorf("%s is still being deleted: %w", object.Describe(existing), kube.ErrRequeue)
	}
	if ref := object.ControllerOf(existing); ref != nil && ref.UID == parent.GetUID() {
		return kube.ErrRequeue // it is not in the cache yet
	}
	return fmt.Errorf("create %s: it exists already, and %s is not its controller: delete it", object.Describe(o), object.Describe(parent))
}

// Package claim finds the children of a parent. Children of a CompositeController are adopted and released as a ReplicaSet does
// with Pods; children of a DecoratorController are identified by an annotation.
package claim

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// A Claimer finds the children of parents.
type Claimer interface {
	// Claim returns the children of parent from the caches, with a group for every declared kind. It uses write to adopt and
	// release.
	Claim(ctx context.Context, parent *object.Object, write plan.Writer) (*object.Set, error)
	// SetControllerReference makes parent the controller of a child that is about to be created, or only its owner if the rule says so.
	SetControllerReference(parent, child *object.Object) error
}

// A Cache is a declared kind of children and the cache of its objects.
type Cache struct {
	Kind     object.Kind
	Informer *informer.Informer
	Adoption v1alpha1.AdoptionPolicy
	Plain    bool // the parent is the owner of the children, but not their controller; see object.OwnerAnnotation
}

// BySelector claims by owner reference and label selector: it adopts a matching object without an owner or a controller, and
// releases a child that does not match any more. The attachments of DecoratorControllers to the parent are left to these.
type BySelector struct {
	Children []Cache
	Selector func(parent *object.Object) (labels.Selector, error)
	GetLive  func(ctx context.Context, o *object.Object) (*object.Object, error) // reads an object from the API server
	Left     *Left                                                               // of the Children, if their caches may lack objects without labels
}

// SetControllerReference implements Claimer.
func (c *BySelector) SetControllerReference(parent, child *object.Object) error {
	return RuleOf(c.Children, child).prepare(parent, child)
}

// Claim implements Claimer. A parent that is being deleted adopts and releases nothing.
func (c *BySelector) Claim(ctx context.Context, parent *object.Object, write plan.Writer) (*object.Set, error) {
	selector, err := c.Selector(parent)
	if err != nil && !object.Deleting(parent) {
		return nil, err // a parent that is being deleted needs no selector
	}
	set, failed := &object.Set{}, []error(nil)
	adopt := c.Adopter(parent, write)
	for _, child := range c.Children {
		set.Declare(child.Kind)
		left, unread := c.left(ctx, parent, child)
		owned, unchanged := child.owned(ctx, parent, write, nil)
		failed = append(append(failed, unread...), unchanged...)
		var mine []*object.Object
		for _, o := range owned {
			matches := selector != nil && selector.Matches(object.LabelsOf(o))
			switch {
			case matches || object.Deleting(parent) && !isAttachment(o):
				mine = append(mine, o)
			case isAttachment(o):
			default:
				if err := release(ctx, parent, o, write); err != nil && !kube.Outdated(err) { // an event follows
					failed = append(failed, err)
				}
			}
		}
		for _, l := range left {
			isMine, err := c.settle(ctx, parent, l, selector, write)
			if err != nil {
				failed = append(failed, err)
			} else if isMine {
				mine = append(mine, l.live)
			}
		}
		for _, o := range c.Orphans(parent, child, selector) {
			adopted, err := adopt(ctx, o)
			if err != nil {
				failed = append(failed, err)
			} else if adopted != nil {
				mine = append(mine, adopted)
			}
		}
		for _, o := range object.Sorted(mine) {
			set.Put(o)
		}
	}
	return set, kube.Join(failed...)
}

// Owned returns the objects in cache whose owner is parent; see object.OwnerOf. It leaves out parent itself, and objects in another namespace than a
// namespaced parent: they have no valid owner reference, and the garbage collector deletes them.
func Owned(cache *informer.Informer, parent *object.Object) []*object.Object {
	return slices.DeleteFunc(cache.OwnedBy(parent.GetUID()), func(o *object.Object) bool {
		return o.GetUID() == parent.GetUID() || parent.GetNamespace() != "" && o.GetNamespace() != parent.GetNamespace()
	})
}

// Orphans returns the objects of a kind that parent may adopt.
func (c *BySelector) Orphans(parent *object.Object, child Cache, selector labels.Selector) []*object.Object {
	if object.Deleting(parent) || child.Adoption == v1alpha1.AdoptNever {
		return nil
	}
	var found []*object.Object
	for _, o := range child.Informer.Orphans(parent.GetNamespace(), selector) {
		if !object.Deleting(o) && o.GetUID() != parent.GetUID() {
			found = append(found, o)
		}
	}
	return object.Sorted(found)
}

// Adopter returns a function that adopts an object for parent. Before the first object it reads the parent from the API
// server, since a parent that does not exist any more, or is being deleted, must not adopt. The function returns nil for the
// other objects if the parent must not adopt: the error is returned once.
func (c *BySelector) Adopter(parent *object.Object, write plan.Writer) func(context.Context, *object.Object) (*object.Object, error) {
	checked, may := false, error(nil)
	return func(ctx context.Context, o *object.Object) (*object.Object, error) {
		if !checked {
			checked, may = true, mayAdopt(ctx, c.GetLive, parent)
			if may != nil {
				return nil, may // returned once, also if there are several orphans
			}
		}
		if may != nil {
			return nil, nil
		}
		mine := object.Copy(o)
		if err := RuleOf(c.Children, mine).own(parent, mine); err != nil {
			return nil, err
		}
		stored, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: mine, Why: "adopted by " + object.Describe(parent)})
		if kube.Outdated(err) {
			return nil, kube.Requeue(err)
		}
		return stored, err
	}
}

func mayAdopt(ctx context.Context, live func(context.Context, *object.Object) (*object.Object, error), parent *object.Object) error {
	fresh, err := live(ctx, parent)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s no longer exists: %w", object.Describe(parent), kube.ErrRequeue)
	case err != nil:
		return fmt.Errorf("read %s before the adoption: %w", object.Describe(parent), err)
	case fresh.GetUID() != parent.GetUID():
		return fmt.Errorf("%s: its uid is now %s: %w", object.Describe(parent), fresh.GetUID(), kube.ErrRequeue)
	case object.Deleting(fresh):
		return fmt.Errorf("%s: it is now being deleted: %w", object.Describe(parent), kube.ErrRequeue)
	}
	return nil
}

// release removes the owner reference to parent from o.
func release(ctx context.Context, parent, o *object.Object, write plan.Writer) error {
	if object.Deleting(o) {
		return nil
	}
	free := object.Copy(o)
	refs := free.GetOwnerReferences()[:0]
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID != parent.GetUID() {
			refs = append(refs, ref)
		}
	}
	free.SetOwnerReferences(refs)
	dropMark(free, parent.GetUID())
	_, err := write.Do(ctx, plan.Op{Verb: plan.Update, Object: free, Why: "released by " + object.Describe(parent) + ", whose selector it does not match"})
	return err
}

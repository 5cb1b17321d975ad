package claim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// Left has children that may have left a cache of the objects with a label only, by losing the label: such a cache shows this in the
// same way as a deletion. A child that lost its label and still exists is released, like one that does not match the selector in a
// cache of all objects. A nil *Left has none. It is safe for concurrent use.
type Left struct {
	mu sync.Mutex // guards of
	of map[object.Ref]map[object.Ref]*object.Object
}

// Note adds a child of a parent. The next Claim for the parent reads it from the API server.
func (l *Left) Note(parent object.Ref, child *object.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[object.Ref]map[object.Ref]*object.Object{}
	}
	if l.of[parent] == nil {
		l.of[parent] = map[object.Ref]*object.Object{}
	}
	l.of[parent][object.RefOf(child)] = child
}

// Forget removes all children of a parent.
func (l *Left) Forget(parent object.Ref) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, parent)
}

// children returns the children of a parent that are of a kind.
func (l *Left) children(parent object.Ref, kind object.Kind) []*object.Object {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Values(l.of[parent]))
	return slices.DeleteFunc(all, func(o *object.Object) bool { return o.GroupVersionKind() != kind })
}

// remove removes a child, unless it was noted again in another state.
func (l *Left) remove(parent object.Ref, child *object.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[parent][object.RefOf(child)] != child {
		return
	}
	if delete(l.of[parent], object.RefOf(child)); len(l.of[parent]) == 0 {
		delete(l.of, parent)
	}
}

// A leftChild is a child that is noted in Left: as it was then, and as it is now.
type leftChild struct{ noted, live *object.Object }

// left returns the children of parent that are noted in Left. Those that are deleted, that are not owned by parent any more, that are
// attachments, or that are in the cache are removed from Left and not returned. If some cannot be read, the others are returned nevertheless.
func (c *BySelector) left(ctx context.Context, parent *object.Object, cache Cache) (found []leftChild, failed []error) {
	key := object.RefOf(parent)
	for _, noted := range c.Left.children(key, cache.Kind) {
		live, err := c.GetLive(ctx, noted)
		if err != nil && !apierrors.IsNotFound(err) {
			if apierrors.IsForbidden(err) {
				c.Left.remove(key, noted) // so that the parent is reconciled nevertheless when it is tried again
			}
			failed = append(failed, fmt.Errorf("read %s, which may have lost its labels: %w", object.Describe(noted), err))
			continue
		}
		if err != nil || !isOwned(live, parent.GetUID()) || isAttachment(live) || !cache.Informer.Lacks(live) {
			c.Left.remove(key, noted)
			continue
		}
		live.SetManagedFields(nil) // as in a cache
		found = append(found, leftChild{noted, live})
	}
	return found, failed
}

// settle releases a leftChild if the selector does not match it, and reports whether it is still a child of parent. A child stays noted
// until it is released, since no event follows if that fails, and while parent is being deleted.
func (c *BySelector) settle(ctx context.Context, parent *object.Object, child leftChild, selector labels.Selector, write plan.Writer) (mine bool, err error) {
	if object.Deleting(parent) {
		return true, nil
	}
	if mine = selector.Matches(object.LabelsOf(child.live)); !mine {
		if err := release(ctx, parent, child.live, write); kube.Outdated(err) {
			return false, kube.Requeue(err)
		} else if err != nil {
			return false, err
		}
	}
	c.Left.remove(object.RefOf(parent), child.noted)
	return mine, nil
}

// isOwned reports whether the controller of o has this UID.
func isOwned(o *object.Object, by types.UID) bool {
	ref := object.OwnerOf(o)
	return ref != nil && ref.UID == by
}

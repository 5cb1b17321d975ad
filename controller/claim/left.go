package claim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
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

// left returns the children of parent that are noted in Left, without those that are deleted, that are not owned by parent any more, or
// that are in the cache. They are removed from Left, unless parent is being deleted: then they are not released, and are its children
// in the next Claim too.
func (c *BySelector) left(ctx context.Context, parent *object.Object, cache Cache) ([]*object.Object, error) {
	var found []*object.Object
	key := object.RefOf(parent)
	for _, noted := range c.Left.children(key, cache.Kind) {
		live, err := c.GetLive(ctx, noted)
		if err != nil && !apierrors.IsNotFound(err) {
			if apierrors.IsForbidden(err) {
				c.Left.remove(key, noted) // so that the parent is reconciled nevertheless when it is tried again
			}
			return nil, fmt.Errorf("read %s, which may have lost its labels: %w", object.Describe(noted), err)
		}
		owned := err == nil && isOwned(live, parent.GetUID()) && cache.Informer.Lacks(live)
		if !owned || !object.Deleting(parent) {
			c.Left.remove(key, noted)
		}
		if owned {
			live.SetManagedFields(nil) // as in a cache
			found = append(found, live)
		}
	}
	return found, nil
}

// isOwned reports whether the controller of o has this UID.
func isOwned(o *object.Object, by types.UID) bool {
	ref := object.ControllerOf(o)
	return ref != nil && ref.UID == by
}

package binding

import (
	"metascript/controller/object"
	"metascript/controller/remember"
)

// Observed adds a parent of b to now, and the objects in the caches of children and ControllerRevisions that it owns.
func Observed(b *Binding, parent *object.Object, now remember.State) remember.State {
	now.Add(parent)
	for _, child := range b.Children {
		now.Add(child.Informer.OwnedBy(parent.GetUID())...)
	}
	if b.Revisions != nil {
		now.Add(b.Revisions.Cache.OwnedBy(parent.GetUID())...)
	}
	return now
}

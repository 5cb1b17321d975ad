package binding

import (
	"metascript/controller/object"
	"metascript/controller/remember"
)

// Observed returns what the caches have of a parent, for a comparison with what is remembered of it.
func Observed(b *Binding, parent *object.Object, epoch uint64) remember.Snapshot {
	s := remember.Snapshot{Epoch: epoch, Parent: parent, Fields: b.Owned, Selected: b.Selects(parent) && !IsPaused(parent)}
	for _, child := range b.Children {
		s.Owned = append(s.Owned, child.Informer.OwnedBy(parent.GetUID())...)
	}
	if b.Revisions != nil {
		s.Owned = append(s.Owned, b.Revisions.Cache.OwnedBy(parent.GetUID())...)
	}
	return s
}

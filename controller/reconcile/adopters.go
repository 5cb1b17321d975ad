package reconcile

import (
	"metascript/controller/object"
	"metascript/controller/queue"
	"metascript/controller/selection"
)

// followAdopter takes a change of a parent, so that the event of an orphan goes through no parent that it does not
// concern. A parent that is not known yet finds its orphans in its own first reconcile.
func (l *Reconciler) followAdopter(old, current *object.Object) {
	switch {
	case l.Match == nil:
	case current == nil:
		l.readAdopter(object.RefOf(old))
	case old != nil && l.isOurs(old) && l.isOurs(current) && sameSelector(old, current):
	default:
		l.readAdopter(object.RefOf(current))
	}
}

// readAdopter sets what a parent may adopt as its cache has the parent now, and not as the caller has it: while the loop
// begins, what it took from the caches may be older than an event that was handled meanwhile. A cache has each change
// before its event comes, and one call reads and sets after the other, so that the last change of a parent is what counts.
func (l *Reconciler) readAdopter(key object.Ref) {
	l.adopting.Lock()
	defer l.adopting.Unlock()
	var queries []selection.Query
	if parent := l.parent(key); parent != nil && l.isOurs(parent) {
		queries = l.adopts(parent)
	}
	l.Shared.Hub.Adopts(l, key, queries...)
}

// sameSelector reports whether two versions of a parent surely select the same.
func sameSelector(old, current *object.Object) bool {
	return old.GetUID() == current.GetUID() && current.GetGeneration() > 0 && old.GetGeneration() == current.GetGeneration()
}

// adopts is the query for what a parent may adopt; none when its selector cannot be read.
func (l *Reconciler) adopts(parent *object.Object) []selection.Query {
	selector, err := l.Match(parent)
	if err != nil {
		return nil
	}
	return []selection.Query{{Namespace: parent.GetNamespace(), Labels: selector}}
}

// onOrphan queues the parents that may adopt an object.
func (l *Reconciler) onOrphan(adopters []object.Ref) {
	for _, parent := range adopters {
		l.Queue.Enqueue(parent, l.news(queue.ChildChanged))
	}
}

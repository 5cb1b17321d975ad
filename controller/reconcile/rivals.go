package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"metascript/controller/hook"
	"metascript/controller/object"
)

// Two CompositeControllers about one parent are rivals: each takes the other's children for its own, since they belong
// to the parent, and deletes them as not desired; each overwrites the other's status. That is told where people look,
// and both go at it ever more slowly.

// An overlap is what is known of a loop's parents, and of other CompositeControllers that select them too, at a moment.
type Overlap struct {
	changes  uint64 // of who selects what, up to then; 0: it has never been looked
	Parents  int
	Warnings []string
}

// How many other controllers are named, and how many are looked at, each once for each parent that both select. Beyond
// that they are only counted, or said to be more: when all select everything, everything is not compared.
const (
	othersNamed  = 10
	othersLooked = 10_000
)

// refreshOverlap looks at the parents again if it may be that others are selected than before, or by others.
func (l *Reconciler) Overlap() *Overlap {
	changes := uint64(1)
	for _, rule := range l.b.Parents {
		changes += l.shared.Hub.Changes(rule.ObjectKind().GroupKind())
	}
	if l.overlap.changes == changes {
		return &l.overlap
	}
	parents := slices.SortedFunc(l.b.Selected(), func(a, b *object.Object) int {
		return strings.Compare(object.KeyOf(a).String(), object.KeyOf(b).String())
	})
	l.overlap = Overlap{changes: changes, Parents: len(parents)}
	if l.b.Shape == hook.Composite {
		l.overlap.Warnings = l.tellShared(l.sharedWith(parents))
	}
	return &l.overlap
}

// sharedWith gives the other CompositeControllers that select one of these parents, each with the first of them. There may
// be more when the second result says so.
func (l *Reconciler) sharedWith(parents []*object.Object) (first map[*Reconciler]*object.Object, more bool) {
	first = map[*Reconciler]*object.Object{}
	looked := 0
	for _, parent := range parents {
		if looked > othersLooked {
			return first, true
		}
		for _, other := range l.shared.Hub.Selecting(parent) {
			looked++
			if other.b.ID != l.b.ID && other.b.Shape == hook.Composite && first[other] == nil {
				first[other] = parent
			}
		}
	}
	return first, false
}

// tellShared says with whom parents are shared, by the names of the others.
func (l *Reconciler) tellShared(first map[*Reconciler]*object.Object, more bool) []string {
	others := slices.SortedFunc(maps.Keys(first), func(a, b *Reconciler) int { return strings.Compare(a.b.Name, b.b.Name) })
	var told []string
	for _, other := range others[:min(len(others), othersNamed)] {
		parent := first[other]
		told = append(told, fmt.Sprintf("%s is about %s too, such as %s: each overwrites the other's status and deletes the other's children; keep one, or give them label selectors", other.b.ID, l.b.Rule(parent.GroupVersionKind()).Resource.Resource, object.RefOf(parent)))
	}
	if unnamed := len(others) - len(told); unnamed > 0 && more {
		told = append(told, fmt.Sprintf("so are %d other CompositeControllers or more", unnamed))
	} else if unnamed > 0 {
		told = append(told, fmt.Sprintf("so are %d other CompositeControllers", unnamed))
	}
	return told
}

package reconcile

import (
	"fmt"
	"strings"

	"metascript/controller/dispatch"
	"metascript/controller/hook"
)

// Two CompositeControllers that select the same parent work against each other: each takes the other's children for its own,
// since they belong to the parent, and deletes those that it does not desire; each overwrites the other's status. The warnings
// of both report it, and the writes of both are delayed as for every field conflict.

// An Overlap is what is known of the parents of a Reconciler, and of other CompositeControllers that select them too.
type Overlap struct {
	changes  uint64 // of who selects what, when this was found; 0: never
	Parents  int
	Warnings []string
}

// othersNamed is how many other controllers the warnings name.
const othersNamed = 10

// Overlap returns what is known now. It must not be called concurrently.
func (l *Reconciler) Overlap() *Overlap {
	changes := uint64(1)
	for _, rule := range l.b.Parents {
		changes += l.shared.Hub.Changes(rule.ObjectKind().GroupKind())
	}
	if l.overlap.changes != changes {
		found := l.shared.Hub.Overlap(l, func(other *Reconciler) bool { return worksAgainst(l, other) }, byName, othersNamed)
		l.overlap = Overlap{changes, found.Parents, overlapWarnings(l, found)}
	}
	return &l.overlap
}

// worksAgainst reports whether two controllers that select the same parent disturb each other.
func worksAgainst(l, other *Reconciler) bool {
	return l.b.Shape == hook.Composite && other.b.Shape == hook.Composite && other.b.ID != l.b.ID
}

func byName(a, b *Reconciler) int { return strings.Compare(a.b.Name, b.b.Name) }

func overlapWarnings(l *Reconciler, found dispatch.Overlap[*Reconciler]) []string {
	var warnings []string
	for _, other := range found.Others {
		warnings = append(warnings, fmt.Sprintf("%s is about %s too, such as %s: each overwrites the other's status and deletes the other's children; keep one, or give them label selectors",
			other.Who.b.ID, l.b.Rule(other.Parent.Kind).Resource.Resource, other.Parent))
	}
	if found.More > 0 {
		warnings = append(warnings, fmt.Sprintf("so are %d other CompositeControllers", found.More))
	}
	return warnings
}

package reconcile

import (
	"fmt"
	"strings"

	"metascript/controller/dispatch"
	"metascript/controller/hook"
)

// Two CompositeControllers that select the same parent disturb each other. Each claims the other's children, since they belong to
// the parent, and deletes those that its own hook does not return. Each overwrites the other's status. The warnings of both
// report it, and the writes of both are delayed as for every field conflict.

// An overlap is the number of parents that a Reconciler selects, and the other controllers that select some of them. The zero
// value means that this was never computed.
type overlap struct {
	changes  uint64 // 1 + dispatch.Hub.Changes of all kinds of parents, when this was computed
	parents  int
	warnings []string
}

// maxNamedControllers is how many other controllers the warnings name.
const maxNamedControllers = 10

// findOverlap returns the current overlap. It computes it only if it may have changed. It must not be called concurrently.
func (r *Reconciler) findOverlap() *overlap {
	changes := uint64(1)
	for _, rule := range r.binding.Parents {
		changes += r.shared.Hub.Changes(rule.ObjectKind().GroupKind())
	}
	if r.overlap.changes != changes {
		found := r.shared.Hub.Overlap(r, func(other *Reconciler) bool { return disturbEachOther(r, other) }, compareNames, maxNamedControllers)
		r.overlap = overlap{changes, found.Parents, overlapWarnings(r, found)}
	}
	return &r.overlap
}

// disturbEachOther reports whether two controllers disturb each other if they select the same parent.
func disturbEachOther(r, other *Reconciler) bool {
	return r.binding.Shape == hook.Composite && other.binding.Shape == hook.Composite && other.binding.ID != r.binding.ID
}

func compareNames(a, b *Reconciler) int { return strings.Compare(a.binding.Name, b.binding.Name) }

func overlapWarnings(r *Reconciler, found dispatch.Overlap[*Reconciler]) []string {
	var warnings []string
	for _, other := range found.Others {
		warnings = append(warnings, fmt.Sprintf("%s selects %s too, such as %s: each overwrites the other's status and deletes the other's children; keep one, or give them label selectors",
			other.Who.binding.ID, r.binding.Rule(other.Parent.Kind).Resource.Resource, other.Parent))
	}
	if found.More > 0 {
		warnings = append(warnings, fmt.Sprintf("so do %d other CompositeControllers", found.More))
	}
	return warnings
}

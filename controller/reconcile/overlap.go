package reconcile

import (
	"fmt"
	"strings"

	"metascript/controller/dispatch"
	"metascript/controller/hook"
	"metascript/controller/object"
)

// Two CompositeControllers that select the same parent disturb each other. Each claims the other's children, since they belong to
// the parent, and deletes those that its own hook does not return. Each overwrites the other's status. The warnings of both
// report it, and the writes of both are delayed as for every field conflict.
//
// The warnings are about parents that both may see, and do not name or count controllers of other tenants. That there is one is no
// secret: everybody who sees the parent sees that its children are deleted.

// An overlap is the number of parents that a Reconciler selects and sees, and the other controllers that select some of them. The
// zero value means that this was never computed.
type overlap struct {
	changes  uint64 // 1 + dispatch.Hub.Changes of all kinds of parents, when this was computed
	parents  int
	warnings []string
}

// maxNamedControllers is how many other controllers the warnings name.
const maxNamedControllers = 10

// findOverlap returns the current overlap. It computes it only if it may have changed. It must not be called concurrently.
func (r *Reconciler) findOverlap() *overlap {
	if sees := r.binding.SeesParents; sees != nil {
		r.shared.Hub.See(r, sees)
	}
	changes := uint64(1)
	for _, rule := range r.binding.Parents {
		changes += r.shared.Hub.Changes(rule.ObjectKind().GroupKind())
	}
	if r.overlap.changes != changes {
		found := r.shared.Hub.Overlap(r, dispatch.OverlapQuery[*Reconciler]{
			Counts: func(other *Reconciler) bool {
				return r.binding.Shape == hook.Composite && other.binding.Shape == hook.Composite && other.binding.ID != r.binding.ID
			},
			Names: func(other *Reconciler) bool { return other.binding.Tenant == r.binding.Tenant },
			Order: func(a, b *Reconciler) int { return strings.Compare(a.binding.Name, b.binding.Name) },
			Limit: maxNamedControllers,
		})
		r.overlap = overlap{changes, found.Parents, overlapWarnings(r, found)}
	}
	return &r.overlap
}

func overlapWarnings(r *Reconciler, found dispatch.Overlap[*Reconciler]) []string {
	var warnings []string
	warn := func(who any, parent object.Ref) {
		warnings = append(warnings, fmt.Sprintf("%s selects %s too, such as %s: each overwrites the other's status and deletes the other's children; keep one, or give them label selectors",
			who, r.binding.Rule(parent.Kind).Resource.Resource, parent))
	}
	for _, other := range found.Others {
		warn(other.Who.binding.ID, other.Parent)
	}
	if found.More > 0 {
		warnings = append(warnings, fmt.Sprintf("so do %d other CompositeControllers", found.More))
	}
	if found.Unnamed != (object.Ref{}) {
		warn("a CompositeController of another tenant", found.Unnamed)
	}
	return warnings
}

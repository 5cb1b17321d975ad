package reconcile

import (
	"maps"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// kept is what a loop remembers of one parent's children from one reconcile to the next. A restart forgets it.
type parentState struct {
	applied     plan.Memory
	contentions map[object.Ref]*throttle.Contention
	suppressed  map[object.Ref]string // the differences that were told of

	recreatedChildren map[object.Ref]*throttle.Contention // children that were deleted and that somebody made again
	status            map[string]any                      // what was last to be the parent's status
	statusContention  *throttle.Contention

	churn throttle.Churn

	outdated bool // the hooks are others now: only what was applied still counts
}

// keptOf gives what is kept for a parent, of which only one reconcile runs at a time.
func (l *Reconciler) parentState(parent object.Ref) *parentState {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kept[parent]
	if k == nil {
		k = newKept(plan.Memory{})
		l.kept[parent] = k
	}
	return k
}

// renew forgets, before a reconcile, what is outdated. In the midst of one it is needed.
func (l *Reconciler) renew(parent object.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.kept[parent]; k != nil && k.outdated {
		l.kept[parent] = newKept(k.applied)
	}
}

func newKept(applied plan.Memory) *parentState {
	return &parentState{applied: applied, contentions: map[object.Ref]*throttle.Contention{}, recreatedChildren: map[object.Ref]*throttle.Contention{}}
}

// prune forgets about children that are gone. A fight outlives its child, which is recreated.
func (k *parentState) prune(observed *object.Set) {
	k.applied.Keep(observed)
	for _, fights := range []map[object.Ref]*throttle.Contention{k.contentions, k.recreatedChildren} {
		maps.DeleteFunc(fights, func(_ object.Ref, f *throttle.Contention) bool { return f.Forgotten(time.Now()) })
	}
}

// tellLeft records, once for each child, field and content, that its method keeps a difference from being mended.
func (l *Reconciler) reportSuppressed(parent *object.Object, left []plan.Left) {
	k := l.parentState(object.RefOf(parent))
	told := make(map[object.Ref]string, len(left))
	for _, d := range left {
		child, what := object.RefOf(d.Child), d.Field.String()+" "+d.Wanted
		if k.suppressed[child] != what {
			l.events.Normal(parent, "UpdateSuppressed", "%s: %s differs from what the hook wants, and is left as it is, since the update method is OnDelete: delete the child, or set another method", object.Describe(d.Child), d.Field)
		}
		told[child] = what
	}
	k.suppressed = told
}

package controller

import (
	"maps"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// kept is what a loop remembers of one parent's children from one reconcile to the next. A restart forgets it.
type kept struct {
	applied plan.Memory
	fights  map[object.Ref]*fight
	left    map[object.Ref]string // the differences that were told of

	strangers   map[object.Ref]*fight // children that were deleted and that somebody made again
	status      map[string]any        // what was last to be the parent's status
	statusFight *fight

	pace pace
}

// keptOf gives what is kept for a parent, of which only one reconcile runs at a time.
func (l *loop) keptOf(parent object.Ref) *kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kept[parent]
	if k == nil {
		k = &kept{applied: plan.Memory{}, fights: map[object.Ref]*fight{}, strangers: map[object.Ref]*fight{}}
		l.kept[parent] = k
	}
	return k
}

// prune forgets about children that are gone. A fight outlives its child, which is recreated.
func (k *kept) prune(observed *object.Set) {
	k.applied.Keep(observed)
	for _, fights := range []map[object.Ref]*fight{k.fights, k.strangers} {
		maps.DeleteFunc(fights, func(_ object.Ref, f *fight) bool { return time.Since(f.last) > fightForgiven })
	}
}

// tellLeft records, once for each child, field and content, that its method keeps a difference from being mended.
func (l *loop) tellLeft(parent *object.Object, left []plan.Left) {
	k := l.keptOf(object.RefOf(parent))
	told := make(map[object.Ref]string, len(left))
	for _, d := range left {
		child, what := object.RefOf(d.Child), d.Field.String()+" "+d.Wanted
		if k.left[child] != what {
			l.events.Normal(parent, "UpdateSuppressed", "%s: %s differs from what the hook wants, and is left as it is, since the update method is OnDelete: delete the child, or set another method", object.Describe(d.Child), d.Field)
		}
		told[child] = what
	}
	k.left = told
}

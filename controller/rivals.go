package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// Two CompositeControllers about one parent are rivals: each takes the other's children for its own, since they belong
// to the parent, and deletes them as not desired; each overwrites the other's status. That is told where people look,
// and both go at it ever more slowly.

// An overlap is what is known of a loop's parents, and of other CompositeControllers that select them too, at a moment.
type overlap struct {
	changes uint64 // of who selects what, up to then; 0: it has never been looked
	parents int
	told    []string
}

// How many other controllers are named, and how many are looked at, each once for each parent that both select. Beyond
// that they are only counted, or said to be more: when all select everything, everything is not compared.
const (
	othersNamed  = 10
	othersLooked = 10_000
)

// refreshOverlap looks at the parents again if it may be that others are selected than before, or by others.
func (l *loop) refreshOverlap() *overlap {
	changes := uint64(1)
	for _, rule := range l.Parents {
		changes += l.shared.hub.Changes(rule.ObjectKind().GroupKind())
	}
	if l.overlap.changes == changes {
		return &l.overlap
	}
	parents := slices.SortedFunc(l.selected(), func(a, b *object.Object) int {
		return strings.Compare(object.KeyOf(a).String(), object.KeyOf(b).String())
	})
	l.overlap = overlap{changes: changes, parents: len(parents)}
	if l.Shape == hook.Composite {
		l.overlap.told = l.tellShared(l.sharedWith(parents))
	}
	return &l.overlap
}

// sharedWith gives the other CompositeControllers that select one of these parents, each with the first of them. There may
// be more when the second result says so.
func (l *loop) sharedWith(parents []*object.Object) (first map[*loop]*object.Object, more bool) {
	first = map[*loop]*object.Object{}
	looked := 0
	for _, parent := range parents {
		if looked > othersLooked {
			return first, true
		}
		for _, other := range l.shared.hub.Selecting(parent) {
			looked++
			if other.id != l.id && other.Shape == hook.Composite && first[other] == nil {
				first[other] = parent
			}
		}
	}
	return first, false
}

// tellShared says with whom parents are shared, by the names of the others.
func (l *loop) tellShared(first map[*loop]*object.Object, more bool) []string {
	others := slices.SortedFunc(maps.Keys(first), func(a, b *loop) int { return strings.Compare(a.Name, b.Name) })
	var told []string
	for _, other := range others[:min(len(others), othersNamed)] {
		parent := first[other]
		told = append(told, fmt.Sprintf("%s is about %s too, such as %s: each overwrites the other's status and deletes the other's children; keep one, or give them label selectors", other.id, l.rule(parent.GroupVersionKind()).Resource.Resource, object.RefOf(parent)))
	}
	if unnamed := len(others) - len(told); unnamed > 0 && more {
		told = append(told, fmt.Sprintf("so are %d other CompositeControllers or more", unnamed))
	} else if unnamed > 0 {
		told = append(told, fmt.Sprintf("so are %d other CompositeControllers", unnamed))
	}
	return told
}

// deletedAgain gives how often the undesired child that op deletes was deleted before, although somebody made it again;
// nil when op is something else. One that the hook itself wanted meanwhile does not count.
func (k *kept) deletedAgain(op plan.Op) *fight {
	child := object.RefOf(op.Object)
	if op.Creates() {
		delete(k.strangers, child)
	}
	if op.Verb != plan.Delete || op.Differs != nil {
		return nil
	}
	f := k.strangers[child]
	if f == nil || time.Since(f.last) > fightForgiven {
		f = &fight{}
		k.strangers[child] = f
	}
	return f
}

// strange gives how long a deletion has to wait, since the same child was deleted too often before.
func (l *loop) strange(parent *object.Object, op plan.Op) time.Duration {
	f := l.keptOf(object.RefOf(parent)).deletedAgain(op)
	if f == nil {
		return 0
	}
	wait, news := f.weigh()
	if news {
		l.tellFight(parent, object.Describe(op.Object), fmt.Sprintf("it was deleted %d times, since the hook does not want it, and somebody makes it again as a child of this object: is another controller about the same objects? It is deleted ever more slowly", f.rounds))
	}
	if wait == 0 {
		f.count()
	}
	return wait
}

// statusInVain gives how long a status has to wait, since the very same was written too often before, and somebody
// changed it each time.
func (l *loop) statusInVain(parent, changed *object.Object, answer *hook.Response) time.Duration {
	k := l.keptOf(object.RefOf(parent))
	said := map[string]any{"status": answer.Status, "generation": parent.GetGeneration()}
	if f := k.statusFight; f == nil || plan.Difference(k.status, said) != "" || time.Since(f.last) > fightForgiven {
		k.status, k.statusFight = said, &fight{}
	}
	wait, news := k.statusFight.weigh()
	if news {
		field := plan.Difference(statusOf(parent), statusOf(changed))
		l.tellFight(parent, field, fmt.Sprintf("the status was written %d times, and somebody changes it each time: is another controller about the same objects? It is written ever more slowly", k.statusFight.rounds))
	}
	return wait
}

// tellFight tells what is fought over, in the log and in an event on parent.
func (l *loop) tellFight(parent *object.Object, what, detail string) {
	l.log.Warn("fight", "parent", object.RefOf(parent), "over", what, "detail", detail)
	l.events.Warning(parent, "Fight", "%s: %s", what, detail)
}

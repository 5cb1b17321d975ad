package controller

import (
	"fmt"
	"slices"
	"time"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// Two CompositeControllers about one parent are rivals: each takes the other's children for its own, since they belong
// to the parent, and deletes them as not desired; each overwrites the other's status. That is told where people look,
// and both go at it ever more slowly.

// rivals names the other CompositeControllers here that are about a parent of l's too.
func (s *Server) rivals(l *loop) []string {
	if l.Shape != hook.Composite {
		return nil
	}
	var told []string
	for _, r := range s.all() {
		other := r.loop
		if other.id == l.id || other.Shape != hook.Composite {
			continue
		}
		if parent := l.shares(other); parent != nil {
			told = append(told, fmt.Sprintf("%s is about %s too, such as %s: each overwrites the other's status and deletes the other's children; keep one, or give them label selectors", other.id, l.rule(parent.GroupVersionKind()).Resource.Resource, object.RefOf(parent)))
		}
	}
	slices.Sort(told)
	return told
}

// shares gives the first parent, by its key, that both look after, or nil.
func (l *loop) shares(other *loop) *object.Object {
	var first *object.Object
	if !slices.ContainsFunc(l.Parents, func(r *parentRule) bool { return other.isAbout(r.ObjectKind()) }) {
		return nil // most do not: no parent need be looked at
	}
	for parent := range l.candidates() {
		if !other.looksAfter(parent) || !l.selects(parent) {
			continue
		}
		if first == nil || object.KeyOf(parent).String() < object.KeyOf(first).String() {
			first = parent
		}
	}
	return first
}

// isAbout reports whether objects of that kind, in whatever version, may be parents of l.
func (l *loop) isAbout(kind object.Kind) bool {
	return slices.ContainsFunc(l.Parents, func(r *parentRule) bool { return r.ObjectKind().GroupKind() == kind.GroupKind() })
}

// looksAfter reports whether o is a parent of l, in whatever version it comes.
func (l *loop) looksAfter(o *object.Object) bool {
	kind := o.GroupVersionKind().GroupKind()
	return slices.ContainsFunc(l.Parents, func(r *parentRule) bool { return r.ObjectKind().GroupKind() == kind && r.selects(o) })
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

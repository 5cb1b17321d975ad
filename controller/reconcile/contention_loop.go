package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// inVain gives how long op has to wait, zero for not at all, since the same was written too often before. The way on
// is to mend the hook, or to call the other side off.
func (l *Reconciler) delayUpdate(ctx context.Context, parent *object.Object, op plan.Op) time.Duration {
	if op.Differs == nil {
		return 0
	}
	all, child := l.parentState(object.RefOf(parent)).contentions, object.RefOf(op.Object)
	f := all[child]
	if f == nil || !op.Again || f.Forgotten(time.Now()) {
		f = &throttle.Contention{}
		all[child] = f
	}
	wait, news := f.Delay(time.Now())
	if news {
		l.reportFieldConflict(ctx, parent, op, f.Writes())
	}
	return wait
}

// countRound notes that op was carried out.
func (l *Reconciler) countWrite(parent *object.Object, op plan.Op) {
	if f := l.parentState(object.RefOf(parent)).contentions[object.RefOf(op.Object)]; f != nil && op.Differs != nil && op.Verb != plan.DryRun {
		f.Count(time.Now())
	}
}

// nextWrites is the end of each report of a conflict.
var nextWrites = fmt.Sprintf("Until then the same write is delayed, at first by %s, and later by up to %s",
	duration.HumanDuration(throttle.FirstContentionDelay), duration.HumanDuration(throttle.LastContentionDelay))

// reportFieldConflict reports which field of which child somebody else changes, and who, in the log and in an event on parent.
func (l *Reconciler) reportFieldConflict(ctx context.Context, parent *object.Object, op plan.Op, rounds int) {
	done := "updated"
	if op.Verb == plan.Delete || op.Verb == plan.DryRun {
		done = "recreated"
	}
	text := fmt.Sprintf("%s was %s %d times, and %s differs again from what the hook returned: %s. Have the hook return it as it is stored, or without this field. %s", object.Describe(op.Object), done, rounds, op.Differs, l.opponents(ctx, op), nextWrites)
	l.log.Warn("field conflict", "parent", object.RefOf(parent), "child", object.RefOf(op.Object), "field", op.Differs.String(), "detail", text)
	l.events.Warning(parent, "FieldConflict", "%s", text)
}

// opponents says who changes the field in which op's child differs, as the API server knows at this moment.
func (l *Reconciler) opponents(ctx context.Context, op plan.Op) string {
	live, err := l.Live(ctx, op.Object)
	if err != nil {
		return "the object could not be read to find out who changes it: " + err.Error()
	}
	var names []string
	for _, m := range plan.Managers(live, op.Differs) {
		if !slices.Contains([]string{kube.FieldManager, l.FieldManager}, m.Name) {
			names = append(names, m.String())
		}
	}
	if len(names) == 0 {
		return "no other field manager owns it, so that the API server or an admission webhook changes it, or somebody removes it"
	}
	return "it is changed by the field manager " + strings.Join(names, " and ")
}

// deletedAgain gives how often the undesired child that op deletes was deleted before, although somebody made it again;
// nil when op is something else. One that the hook itself wanted meanwhile does not count.
func (k *parentState) deletedAgain(op plan.Op) *throttle.Contention {
	child := object.RefOf(op.Object)
	if op.Creates() {
		delete(k.recreatedChildren, child)
	}
	if op.Verb != plan.Delete || op.Differs != nil {
		return nil
	}
	f := k.recreatedChildren[child]
	if f == nil || f.Forgotten(time.Now()) {
		f = &throttle.Contention{}
		k.recreatedChildren[child] = f
	}
	return f
}

// strange gives how long a deletion has to wait, since the same child was deleted too often before.
func (l *Reconciler) delayDelete(parent *object.Object, op plan.Op) time.Duration {
	f := l.parentState(object.RefOf(parent)).deletedAgain(op)
	if f == nil {
		return 0
	}
	wait, news := f.Delay(time.Now())
	if news {
		l.reportConflict(parent, object.Describe(op.Object), fmt.Sprintf("it was deleted %d times, since the hook does not return it, and somebody creates it again as a child of this object: does another controller select the same objects? %s", f.Writes(), nextWrites))
	}
	if wait == 0 {
		f.Count(time.Now())
	}
	return wait
}

// statusInVain gives how long a status has to wait, since the very same was written too often before, and somebody
// changed it each time.
func (l *Reconciler) delayStatus(parent, changed *object.Object, answer *hook.Response) time.Duration {
	k := l.parentState(object.RefOf(parent))
	said := map[string]any{"status": answer.Status, "generation": parent.GetGeneration()}
	if f := k.statusContention; f == nil || plan.Difference(k.status, said) != "" || f.Forgotten(time.Now()) {
		k.status, k.statusContention = said, &throttle.Contention{}
	}
	wait, news := k.statusContention.Delay(time.Now())
	if news {
		field := plan.Difference(object.StatusOf(parent), object.StatusOf(changed))
		l.reportConflict(parent, field, fmt.Sprintf("the status was written %d times, and somebody changes it each time: does another controller select the same objects? %s", k.statusContention.Writes(), nextWrites))
	}
	return wait
}

// reportConflict reports what somebody else changes, in the log and in an event on parent.
func (l *Reconciler) reportConflict(parent *object.Object, what, detail string) {
	l.log.Warn("field conflict", "parent", object.RefOf(parent), "over", what, "detail", detail)
	l.events.Warning(parent, "FieldConflict", "%s: %s", what, detail)
}

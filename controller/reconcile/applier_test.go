package reconcile

import (
	"testing"
	"time"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// writeTimes does op n times, and fails if one of them has to wait.
func writeTimes(t *testing.T, a *applier, parent *object.Object, op plan.Op, n int) {
	t.Helper()
	for i := range n {
		if wait := a.delayUpdate(t.Context(), parent, op); wait > 0 {
			t.Fatalf("write %d has to wait for %s", i, wait)
		}
		a.countWrite(op)
	}
}

func TestRepeatedWritesOfChildAreDelayed(t *testing.T) {
	for _, verb := range []plan.Verb{plan.Update, plan.Apply, plan.Delete} {
		t.Run(string(verb), func(t *testing.T) {
			r, _ := newTestReconciler(t, wants(), nil)
			t.Cleanup(r.close)
			t.Cleanup(r.queue.ShutDown)
			parent, field := objecttest.Widget(nil), plan.Path{"data"}
			a := r.newReconciliation(object.RefOf(parent)).applier
			again := plan.Op{Verb: verb, Object: objecttest.ConfigMap("c", nil), Differs: field, Again: true}
			writeTimes(t, a, parent, again, throttle.ContentionAllowed)
			if wait := a.delayUpdate(t.Context(), parent, again); wait <= 0 || wait > 10*time.Second {
				t.Fatalf("after %d writes it waits %s, want up to 10s", throttle.ContentionAllowed, wait)
			}
			for name, op := range map[string]plan.Op{
				"another child":                    {Verb: verb, Object: objecttest.ConfigMap("d", nil), Differs: field, Again: true},
				"a deletion of an undesired child": {Verb: plan.Delete, Object: objecttest.ConfigMap("c", nil)},
				"other content":                    {Verb: verb, Object: objecttest.ConfigMap("c", nil), Differs: field},
			} {
				if wait := a.delayUpdate(t.Context(), parent, op); wait > 0 {
					t.Errorf("%s waits %s", name, wait)
				}
			}
			// After a write of other content the count begins anew.
			writeTimes(t, a, parent, again, throttle.ContentionAllowed)
		})
	}
}

func TestPruneDropsOldContentions(t *testing.T) {
	counted := func(at time.Time) *throttle.Contention {
		c := &throttle.Contention{}
		c.Count(at)
		return c
	}
	state := &parentState{applied: plan.Memory{}, hookState: hookState{contentions: map[object.Ref]*throttle.Contention{
		{Key: object.Key{Name: "old"}}: counted(time.Now().Add(-2 * throttle.ContentionForgotten)),
		{Key: object.Key{Name: "new"}}: counted(time.Now()),
	}}}
	for _, name := range []string{"c", "gone"} {
		if err := state.applied.Note(objecttest.ConfigMap(name, objecttest.Widget(nil)), objecttest.ConfigMap(name, nil)); err != nil {
			t.Fatal(err)
		}
	}
	observed := &object.Set{}
	observed.Put(objecttest.ConfigMap("c", objecttest.Widget(nil)))
	state.prune(observed, time.Now())
	if _, found := state.applied["uid-of-c"]; len(state.contentions) != 1 || len(state.applied) != 1 || !found {
		t.Errorf("after pruning there are the contentions %v and the memory %v", state.contentions, state.applied)
	}
}

// deletion returns the deletion of a child that the hook does not return.
func deletion(name string) plan.Op {
	return plan.Op{Verb: plan.Delete, Object: objecttest.ConfigMap(name, objecttest.Widget(nil))}
}

func TestDeletionsOfRecreatedChildAreDelayed(t *testing.T) {
	state := &parentState{hookState: newHookState()}
	for range throttle.ContentionAllowed {
		contention := state.deletionContention(deletion("a"))
		if wait, _ := contention.Delay(time.Now()); wait != 0 {
			t.Fatalf("after %d deletions it waits %s", contention.Writes(), wait)
		}
		contention.Count(time.Now())
	}
	if wait, report := state.deletionContention(deletion("a")).Delay(time.Now()); wait <= 0 || !report {
		t.Errorf("got wait %s, report %t", wait, report)
	}
	if wait, report := state.deletionContention(deletion("a")).Delay(time.Now()); wait <= 0 || report {
		t.Errorf("it is reported again: wait %s, report %t", wait, report)
	}
	if wait, _ := state.deletionContention(deletion("b")).Delay(time.Now()); wait != 0 {
		t.Errorf("another child waits %s", wait)
	}
	state.deletionContention(plan.Op{Verb: plan.Create, Object: objecttest.ConfigMap("a", nil)}) // the hook returns it now
	if wait, _ := state.deletionContention(deletion("a")).Delay(time.Now()); wait != 0 {
		t.Errorf("the deletion of a child that the hook created waits %s", wait)
	}
}

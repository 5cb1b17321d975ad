package reconcile

import (
	"testing"
	"time"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// rounds carries op out so often, and fails if it has to wait before.
func rounds(t *testing.T, r *Reconciler, parent *object.Object, op plan.Op, n int) {
	t.Helper()
	for round := range n {
		if wait := r.applier.delayUpdate(t.Context(), parent, op); wait > 0 {
			t.Fatalf("round %d has to wait for %s", round, wait)
		}
		r.applier.countWrite(parent, op)
	}
}

func TestRepeatedWritesOfChildAreDelayed(t *testing.T) {
	for _, verb := range []plan.Verb{plan.Update, plan.Apply, plan.Delete} {
		t.Run(string(verb), func(t *testing.T) {
			r, _ := newTestReconciler(t, wants(), nil)
			t.Cleanup(r.Close)
			t.Cleanup(r.queue.ShutDown)
			parent, field := objecttest.Widget(nil), plan.Path{"data"}
			again := plan.Op{Verb: verb, Object: objecttest.ConfigMap("c", nil), Differs: field, Again: true}
			rounds(t, r, parent, again, throttle.ContentionAllowed)
			if wait := r.applier.delayUpdate(t.Context(), parent, again); wait <= 0 || wait > 10*time.Second {
				t.Fatalf("after %d rounds it waits %s, want up to 10s", throttle.ContentionAllowed, wait)
			}
			for name, op := range map[string]plan.Op{
				"another child":          {Verb: verb, Object: objecttest.ConfigMap("d", nil), Differs: field, Again: true},
				"one that is not wanted": {Verb: plan.Delete, Object: objecttest.ConfigMap("c", nil)},
				"other content":          {Verb: verb, Object: objecttest.ConfigMap("c", nil), Differs: field},
			} {
				if wait := r.applier.delayUpdate(t.Context(), parent, op); wait > 0 {
					t.Errorf("%s waits %s", name, wait)
				}
			}
			// After other content was tried, it begins anew.
			rounds(t, r, parent, again, throttle.ContentionAllowed)
		})
	}
}

func TestPruneDropsOldContentions(t *testing.T) {
	counted := func(at time.Time) *throttle.Contention {
		c := &throttle.Contention{}
		c.Count(at)
		return c
	}
	k := &parentState{applied: plan.Memory{}, hookState: hookState{contentions: map[object.Ref]*throttle.Contention{
		{Key: object.Key{Name: "old"}}: counted(time.Now().Add(-2 * throttle.ContentionForgotten)),
		{Key: object.Key{Name: "new"}}: counted(time.Now()),
	}}}
	for _, name := range []string{"c", "gone"} {
		if err := k.applied.Note(objecttest.ConfigMap(name, objecttest.Widget(nil)), objecttest.ConfigMap(name, nil)); err != nil {
			t.Fatal(err)
		}
	}
	observed := &object.Set{}
	observed.Put(objecttest.ConfigMap("c", objecttest.Widget(nil)))
	k.prune(observed, time.Now())
	if _, there := k.applied["uid-of-c"]; len(k.contentions) != 1 || len(k.applied) != 1 || !there {
		t.Errorf("after pruning there are the fights %v and the memory %v", k.contentions, k.applied)
	}
}

// deletion is of a child that is not desired.
func deletion(name string) plan.Op {
	return plan.Op{Verb: plan.Delete, Object: objecttest.ConfigMap(name, objecttest.Widget(nil))}
}

func TestDeletionsOfRecreatedChildAreDelayed(t *testing.T) {
	k := &parentState{hookState: newHookState()}
	for range throttle.ContentionAllowed {
		f := k.deletionContention(deletion("a"))
		if wait, _ := f.Delay(time.Now()); wait != 0 {
			t.Fatalf("after %d rounds it waits %s", f.Writes(), wait)
		}
		f.Count(time.Now())
	}
	if wait, news := k.deletionContention(deletion("a")).Delay(time.Now()); wait <= 0 || !news {
		t.Errorf("got wait %s, news %t", wait, news)
	}
	if wait, news := k.deletionContention(deletion("a")).Delay(time.Now()); wait <= 0 || news {
		t.Errorf("it is told again: wait %s, news %t", wait, news)
	}
	if wait, _ := k.deletionContention(deletion("b")).Delay(time.Now()); wait != 0 {
		t.Errorf("another child waits %s", wait)
	}
	k.deletionContention(plan.Op{Verb: plan.Create, Object: objecttest.ConfigMap("a", nil)}) // the hook wants it by now
	if wait, _ := k.deletionContention(deletion("a")).Delay(time.Now()); wait != 0 {
		t.Errorf("what the hook made itself waits %s", wait)
	}
}

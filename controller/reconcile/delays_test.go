package reconcile

import (
	"testing"
	"time"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// deletion is of a child that is not desired.
func deletion(name string) plan.Op {
	return plan.Op{Verb: plan.Delete, Object: objecttest.ConfigMap(name, objecttest.Widget(nil))}
}

func TestAnUndesiredChildThatComesAgainIsDeletedEverMoreSlowly(t *testing.T) {
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

func TestAStatusThatIsChangedEachTimeIsWrittenEverMoreSlowly(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil)
	defer r.Close()
	defer r.queue.ShutDown()
	parent, answer := objecttest.Widget(nil), &hook.Response{Status: map[string]any{"by": "one"}}
	changed := object.Copy(parent)
	changed.Object["status"] = answer.Status
	for range throttle.ContentionAllowed {
		if wait := r.status.delayStatus(parent, changed, answer); wait != 0 {
			t.Fatalf("it waits %s", wait)
		}
		r.states.of(object.RefOf(parent)).statusContention.Count(time.Now())
	}
	if wait := r.status.delayStatus(parent, changed, answer); wait <= 0 {
		t.Error("it does not wait")
	}
	edited := objecttest.Widget(func(o *object.Object) { o.SetGeneration(2) })
	if wait := r.status.delayStatus(edited, changed, answer); wait != 0 {
		t.Errorf("after an edit it waits %s", wait)
	}
}

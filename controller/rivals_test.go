package controller

import (
	"testing"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// deletion is of a child that is not desired.
func deletion(name string) plan.Op {
	return plan.Op{Verb: plan.Delete, Object: configMap(name, widget(nil))}
}

func TestAnUndesiredChildThatComesAgainIsDeletedEverMoreSlowly(t *testing.T) {
	k := &kept{strangers: map[object.Ref]*fight{}}
	for range fightsAllowed {
		f := k.deletedAgain(deletion("a"))
		if wait, _ := f.weigh(); wait != 0 {
			t.Fatalf("after %d rounds it waits %s", f.rounds, wait)
		}
		f.count()
	}
	if wait, news := k.deletedAgain(deletion("a")).weigh(); wait <= 0 || !news {
		t.Errorf("got wait %s, news %t", wait, news)
	}
	if wait, news := k.deletedAgain(deletion("a")).weigh(); wait <= 0 || news {
		t.Errorf("it is told again: wait %s, news %t", wait, news)
	}
	if wait, _ := k.deletedAgain(deletion("b")).weigh(); wait != 0 {
		t.Errorf("another child waits %s", wait)
	}
	k.deletedAgain(plan.Op{Verb: plan.Create, Object: configMap("a", nil)}) // the hook wants it by now
	if wait, _ := k.deletedAgain(deletion("a")).weigh(); wait != 0 {
		t.Errorf("what the hook made itself waits %s", wait)
	}
}

func TestAStatusThatIsChangedEachTimeIsWrittenEverMoreSlowly(t *testing.T) {
	l, _ := newTestLoop(t, wants(), nil)
	defer l.close()
	defer l.queue.ShutDown()
	parent, answer := widget(nil), &hook.Response{Status: map[string]any{"by": "one"}}
	changed := object.Copy(parent)
	changed.Object["status"] = answer.Status
	for range fightsAllowed {
		if wait := l.statusInVain(parent, changed, answer); wait != 0 {
			t.Fatalf("it waits %s", wait)
		}
		l.keptOf(object.RefOf(parent)).statusFight.count()
	}
	if wait := l.statusInVain(parent, changed, answer); wait <= 0 {
		t.Error("it does not wait")
	}
	edited := widget(func(o *object.Object) { o.SetGeneration(2) })
	if wait := l.statusInVain(edited, changed, answer); wait != 0 {
		t.Errorf("after an edit it waits %s", wait)
	}
}

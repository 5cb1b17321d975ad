package controller

import (
	"testing"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// rounds carries op out so often, and fails if it has to wait before.
func rounds(t *testing.T, l *loop, parent *object.Object, op plan.Op, n int) {
	t.Helper()
	for round := range n {
		if wait := l.inVain(t.Context(), parent, op); wait > 0 {
			t.Fatalf("round %d has to wait for %s", round, wait)
		}
		l.countRound(parent, op)
	}
}

func TestAChildIsNotWrittenInVainForEver(t *testing.T) {
	for _, verb := range []plan.Verb{plan.Update, plan.Apply, plan.Delete} {
		t.Run(string(verb), func(t *testing.T) {
			l, _ := newTestLoop(t, wants(), nil)
			t.Cleanup(l.close)
			t.Cleanup(l.queue.ShutDown)
			parent, field := widget(nil), plan.Path{"data"}
			again := plan.Op{Verb: verb, Object: configMap("c", nil), Differs: field, Again: true}
			rounds(t, l, parent, again, fightsAllowed)
			if wait := l.inVain(t.Context(), parent, again); wait <= 0 || wait > firstTruce {
				t.Fatalf("after %d rounds it waits %s, want up to %s", fightsAllowed, wait, firstTruce)
			}
			for name, op := range map[string]plan.Op{
				"another child":          {Verb: verb, Object: configMap("d", nil), Differs: field, Again: true},
				"one that is not wanted": {Verb: plan.Delete, Object: configMap("c", nil)},
				"other content":          {Verb: verb, Object: configMap("c", nil), Differs: field},
			} {
				if wait := l.inVain(t.Context(), parent, op); wait > 0 {
					t.Errorf("%s waits %s", name, wait)
				}
			}
			// After other content was tried, it begins anew.
			rounds(t, l, parent, again, fightsAllowed)
		})
	}
}

func TestATruceGetsLongerAndNeverEndsItAll(t *testing.T) {
	l, _ := newTestLoop(t, wants(), nil)
	t.Cleanup(l.close)
	t.Cleanup(l.queue.ShutDown)
	parent, again := widget(nil), plan.Op{Verb: plan.Update, Object: configMap("c", nil), Differs: plan.Path{"data"}, Again: true}
	rounds(t, l, parent, again, fightsAllowed)
	f := l.keptOf(object.RefOf(parent)).fights[object.RefOf(again.Object)]
	for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, lastTruce, lastTruce} {
		if wait := l.inVain(t.Context(), parent, again); wait <= 0 || f.truce != want {
			t.Fatalf("the truce is %s and waits %s, want %s", f.truce, wait, want)
		}
		f.until = time.Time{}
		rounds(t, l, parent, again, 1)
	}
	f.last = time.Now().Add(-2 * fightForgiven)
	rounds(t, l, parent, again, fightsAllowed)
}

func TestAFightIsForgottenAfterAWhile(t *testing.T) {
	k := &kept{applied: plan.Memory{}, fights: map[object.Ref]*fight{
		{Key: object.Key{Name: "old"}}: {last: time.Now().Add(-2 * fightForgiven)},
		{Key: object.Key{Name: "new"}}: {last: time.Now()},
	}}
	for _, name := range []string{"c", "gone"} {
		if err := k.applied.Note(configMap(name, widget(nil)), configMap(name, nil)); err != nil {
			t.Fatal(err)
		}
	}
	observed := &object.Set{}
	observed.Put(configMap("c", widget(nil)))
	k.prune(observed)
	if _, there := k.applied["uid-of-c"]; len(k.fights) != 1 || len(k.applied) != 1 || !there {
		t.Errorf("after pruning there are the fights %v and the memory %v", k.fights, k.applied)
	}
}

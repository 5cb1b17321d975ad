package controller

import (
	"strings"
	"testing"
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
)

func TestAChildIsNotRecreatedInVainForEver(t *testing.T) {
	l, _ := newTestLoop(t, wants(), nil)
	t.Cleanup(l.close)
	t.Cleanup(l.queue.ShutDown)
	parent := object.RefOf(widget(nil))
	again := plan.Op{Verb: plan.Delete, Object: configMap("c", nil), Differs: "data", Again: true}
	for round := range fightsAllowed {
		if err := l.inVain(parent, again); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	err := l.inVain(parent, again)
	if err == nil || !strings.HasPrefix(err.Error(), "ConfigMap default/c was recreated 5 times, and data differs again") {
		t.Fatalf("after %d rounds: got error %v", fightsAllowed, err)
	}
	for name, op := range map[string]plan.Op{
		"another child":          {Verb: plan.Delete, Object: configMap("d", nil), Differs: "data", Again: true},
		"one that is not wanted": {Verb: plan.Delete, Object: configMap("c", nil)},
		"other content":          {Verb: plan.Delete, Object: configMap("c", nil), Differs: "data"},
	} {
		if err := l.inVain(parent, op); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := l.inVain(parent, again); err != nil {
		t.Errorf("after other content was tried: %v", err)
	}
	f := l.fights[parent][object.RefOf(configMap("c", nil))]
	f.rounds, f.last = fightsAllowed, time.Now().Add(-2*fightForgiven)
	if err := l.inVain(parent, again); err != nil {
		t.Errorf("after a while: %v", err)
	}
}

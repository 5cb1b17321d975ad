package controller

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/engine"
)

// An attempt is one time that a parent's script may be run: what it would come to, and what is to come of it.
type attempt struct {
	after time.Duration // since the one before
	asked question      // zero: as before
	comes error         // of running the script
	want  string        // "runs" and what follows, or why it does not run
}

func TestBreaker(t *testing.T) {
	q, edited := question{"u1", "1", "sync"}, question{"u1", "2", "sync"}
	steps, memory := &engine.Error{Kind: engine.KindSteps, Msg: "steps"}, &engine.Error{Kind: engine.KindMemory, Msg: "memory"}
	output, stack := &engine.Error{Kind: engine.KindOutput, Msg: "output"}, &engine.Error{Kind: engine.KindStack, Msg: "stack"}
	late := &engine.Error{Kind: engine.KindTimeout, Msg: "late"}
	broken := &engine.Error{Kind: engine.KindRuntime, Msg: "broken"}
	for _, c := range []struct {
		name  string
		turns []attempt
	}{
		{"a script that answers is run again", []attempt{{want: "runs"}, {want: "runs"}}},
		{"one limit is forgiven", []attempt{{comes: steps, want: "runs: steps"}, {want: "runs"}, {comes: steps, want: "runs: steps"}, {want: "runs"}}},
		{"two in a row are not", []attempt{{comes: steps, want: "runs: steps"}, {comes: steps, want: "runs: held now: steps"}, {want: "held: steps"}, {after: 24 * time.Hour, want: "held: steps"}}},
		{"of whatever kinds", []attempt{{comes: output, want: "runs: output"}, {comes: stack, want: "runs: held now: stack"}, {want: "held: stack"}}},
		{"wrapped ones count", []attempt{{comes: fmt.Errorf("x: %w", memory), want: "runs: x: memory"}, {comes: memory, want: "runs: held now: memory"}}},
		{"other errors neither count nor forgive", []attempt{{comes: steps, want: "runs: steps"}, {comes: broken, want: "runs: broken"},
			{comes: errors.New("503"), want: "runs: 503"}, {comes: memory, want: "runs: held now: memory"}}},
		{"another spec is another question", []attempt{{comes: steps, want: "runs: steps"}, {comes: steps, want: "runs: held now: steps"},
			{asked: edited, comes: steps, want: "runs: steps"}, {comes: steps, want: "runs: held now: steps"}, {want: "held: steps"}}},
		{"so is another object of the same name", []attempt{{comes: steps, want: "runs: steps"}, {asked: question{"u2", "1", "sync"}, comes: steps, want: "runs: steps"}}},
		{"so is another hook", []attempt{{comes: steps, want: "runs: steps"}, {comes: steps, want: "runs: held now: steps"}, {asked: question{"u1", "1", "finalize"}, want: "runs"}}},
		{"a timeout pauses, longer each time", []attempt{{comes: late, want: "runs: pause of 5s begins: late"}, {want: "pause of 5s: late"}, {after: 2 * time.Second, want: "pause of 3s: late"},
			{after: 3 * time.Second, comes: late, want: "runs: pause of 10s begins: late"}, {after: 10 * time.Second, want: "runs"}, {comes: late, want: "runs: pause of 5s begins: late"}}},
		{"another spec ends a pause", []attempt{{comes: late, want: "runs: pause of 5s begins: late"}, {asked: edited, want: "runs"}}},
		{"timeouts are no strikes", []attempt{{comes: steps, want: "runs: steps"}, {comes: late, want: "runs: pause of 5s begins: late"},
			{after: time.Minute, comes: late, want: "runs: pause of 10s begins: late"}, {after: time.Minute, comes: steps, want: "runs: held now: steps"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, key := newBreaker(func() {}), widgetRef("default", "w")
			now, asked := time.Now(), q
			for i, turn := range c.turns {
				now = now.Add(turn.after)
				if turn.asked != (question{}) {
					asked = turn.asked
				}
				got := saidOf(b.admit(key, asked, now))
				if got == "" {
					got = strings.TrimSuffix("runs: "+saidOf(b.note(key, asked, turn.comes, now)), ": ")
				}
				if got != turn.want {
					t.Fatalf("turn %d: %s, want %s", i+1, got, turn.want)
				}
			}
		})
	}
}

func saidOf(err error) string {
	var held *heldError
	var pause *pauseError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &held) && held.news:
		return "held now: " + held.err.Error()
	case errors.As(err, &held):
		return "held: " + held.err.Error()
	case errors.As(err, &pause) && pause.news:
		return fmt.Sprintf("pause of %s begins: %v", pause.wait, pause.err)
	case errors.As(err, &pause):
		return fmt.Sprintf("pause of %s: %v", pause.wait, pause.err)
	}
	return err.Error()
}

func TestAPauseHasAnEnd(t *testing.T) {
	b, key, q, now := newBreaker(func() {}), widgetRef("", "w"), question{uid: "u"}, time.Now()
	var pause *pauseError
	for range 100 {
		if err := b.note(key, q, &engine.Error{Kind: engine.KindTimeout}, now); !errors.As(err, &pause) {
			t.Fatalf("got %v, want a pause", err)
		}
	}
	if pause.wait != lastPause {
		t.Errorf("after 100 timeouts the pause is %s, want %s", pause.wait, lastPause)
	}
}

func TestABreakerCountsWhatIsHeldAndTellsWhenThatBeginsAndEnds(t *testing.T) {
	told := 0
	b := newBreaker(func() { told++ })
	hold := func(name string) {
		for range strikesAllowed {
			_ = b.note(widgetRef("", name), question{}, &engine.Error{Kind: engine.KindSteps, Msg: "steps of " + name}, time.Now())
		}
	}
	for _, name := range []string{"b", "c", "a"} {
		hold(name)
	}
	if got := b.holds(); told != 1 || got.parents != 3 || got.first.Name != "b" || got.err.Error() != "steps of b" {
		t.Errorf("told %d times; it holds %+v, want 3 and b the first", told, got)
	}
	b.forget(widgetRef("", "b"))
	b.forget(widgetRef("", "b"))
	if got := b.holds(); told != 1 || got.parents != 2 || got.first.Name != "c" {
		t.Errorf("told %d times; it holds %+v, want 2 and c the first", told, got)
	}
	b.forget(widgetRef("", "a"))
	b.forget(widgetRef("", "c"))
	if got := b.holds(); told != 2 || !reflect.DeepEqual(got, holding{}) || len(b.parents) > 0 {
		t.Errorf("told %d times; it holds %+v and keeps %v, want nothing", told, got, b.parents)
	}
}

func TestTheVersionOfAQuestion(t *testing.T) {
	parent := widget(nil)
	if got := questionAbout(parent, hook.Sync); got != (question{"u1", "1", "sync"}) {
		t.Errorf("got %v", got)
	}
	parent.SetGeneration(0)
	parent.SetResourceVersion("77")
	if got := questionAbout(parent, hook.Sync); got.version != "77" {
		t.Errorf("the version of an object without generations is %s, want its resourceVersion", got.version)
	}
}

// What is held is not asked about again, whatever its children do, and costs nobody else.
func TestAHeldScriptIsNotRun(t *testing.T) {
	asked := map[string]int{}
	ask := func(req *hook.Request) (*hook.Response, error) {
		asked[req.Parent.GetName()]++
		if req.Parent.GetName() == "w" {
			return nil, &engine.Error{Kind: engine.KindSteps, Msg: "too many"}
		}
		return wants()(req)
	}
	parent := widget(nil)
	good := widget(func(o *object.Object) { o.SetName("good"); o.SetUID("u2") })
	l, write := newTestLoop(t, answer(ask), nil, parent, good, configMap("old", parent))
	t.Cleanup(l.close)
	t.Cleanup(l.queue.ShutDown)
	if !l.synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	bad, other := object.RefOf(parent), object.RefOf(good)
	for range 5 {
		l.process(t.Context(), bad)
	}
	l.process(t.Context(), other)
	if asked["w"] != strikesAllowed || asked["good"] != 1 {
		t.Errorf("asked %v, want %d times about w and once about good", asked, strikesAllowed)
	}
	if n := l.queue.NumRequeues(bad); n != 0 {
		t.Errorf("it backs off %d times, want that it is forgotten", n)
	}
	for _, op := range write.recorded() {
		if strings.Contains(op, "old") {
			t.Errorf("for the parent whose script is held it did: %s", op)
		}
	}
	if got := l.current.Load().breaker.holds(); got.parents != 1 || got.first != bad {
		t.Errorf("it holds %+v, want %s", got, bad)
	}
	if err := l.forget(bad); err != nil || l.current.Load().breaker.holds().parents != 0 {
		t.Errorf("a parent that is gone is held")
	}
}

// A timeout is told and tried again, and what comes in between waits.
func TestAScriptThatRanOutOfTimeIsPaused(t *testing.T) {
	asked := 0
	ask := func(*hook.Request) (*hook.Response, error) {
		asked++
		return nil, &engine.Error{Kind: engine.KindTimeout, Msg: "timed out"}
	}
	l, write := newTestLoop(t, answer(ask), nil, widget(nil))
	t.Cleanup(l.close)
	t.Cleanup(l.queue.ShutDown)
	if !l.synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	key := object.RefOf(widget(nil))
	for range 5 {
		l.process(t.Context(), key)
	}
	if asked != 1 || len(write.recorded()) > 0 || l.current.Load().breaker.holds().parents > 0 {
		t.Errorf("asked %d times, wrote %v, holds %+v; want that it pauses after the first time", asked, write.recorded(), l.current.Load().breaker.holds())
	}
	if n := l.queue.NumRequeues(key); n != 1 {
		t.Errorf("it backs off for %d failures, want one", n)
	}
}

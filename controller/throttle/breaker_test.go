package throttle

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"metascript/controller/object/objecttest"
	"metascript/engine"
)

// An attempt is one time that a parent's script may be run: what it would come to, and what is to come of it.
type attempt struct {
	after time.Duration // since the one before
	asked Input         // zero: as before
	comes error         // of running the script
	want  string        // "runs" and what follows, or why it does not run
}

func TestBreaker(t *testing.T) {
	q, edited := Input{"u1", "1", "sync"}, Input{"u1", "2", "sync"}
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
		{"so is another object of the same name", []attempt{{comes: steps, want: "runs: steps"}, {asked: Input{"u2", "1", "sync"}, comes: steps, want: "runs: steps"}}},
		{"so is another hook", []attempt{{comes: steps, want: "runs: steps"}, {comes: steps, want: "runs: held now: steps"}, {asked: Input{"u1", "1", "finalize"}, want: "runs"}}},
		{"a timeout pauses, longer each time", []attempt{{comes: late, want: "runs: pause of 5s begins: late"}, {want: "pause of 5s: late"}, {after: 2 * time.Second, want: "pause of 3s: late"},
			{after: 3 * time.Second, comes: late, want: "runs: pause of 10s begins: late"}, {after: 10 * time.Second, want: "runs"}, {comes: late, want: "runs: pause of 5s begins: late"}}},
		{"another spec ends a pause", []attempt{{comes: late, want: "runs: pause of 5s begins: late"}, {asked: edited, want: "runs"}}},
		{"timeouts are no strikes", []attempt{{comes: steps, want: "runs: steps"}, {comes: late, want: "runs: pause of 5s begins: late"},
			{after: time.Minute, comes: late, want: "runs: pause of 10s begins: late"}, {after: time.Minute, comes: steps, want: "runs: held now: steps"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, key := NewBreaker(func() {}), objecttest.WidgetRef("default", "w")
			now, asked := time.Now(), q
			for i, turn := range c.turns {
				now = now.Add(turn.after)
				if turn.asked != (Input{}) {
					asked = turn.asked
				}
				got := saidOf(b.Admit(key, asked, now))
				if got == "" {
					got = strings.TrimSuffix("runs: "+saidOf(b.Note(key, asked, turn.comes, now)), ": ")
				}
				if got != turn.want {
					t.Fatalf("turn %d: %s, want %s", i+1, got, turn.want)
				}
			}
		})
	}
}

func saidOf(err error) string {
	var held *HeldError
	var pause *PauseError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &held) && held.New:
		return "held now: " + held.err.Error()
	case errors.As(err, &held):
		return "held: " + held.err.Error()
	case errors.As(err, &pause) && pause.New:
		return fmt.Sprintf("pause of %s begins: %v", pause.Wait, pause.err)
	case errors.As(err, &pause):
		return fmt.Sprintf("pause of %s: %v", pause.Wait, pause.err)
	}
	return err.Error()
}

func TestPauseIsLimited(t *testing.T) {
	b, key, q, now := NewBreaker(func() {}), objecttest.WidgetRef("", "w"), Input{uid: "u"}, time.Now()
	var pause *PauseError
	for range 100 {
		if err := b.Note(key, q, &engine.Error{Kind: engine.KindTimeout}, now); !errors.As(err, &pause) {
			t.Fatalf("got %v, want a pause", err)
		}
	}
	if pause.Wait != pauseBackoff.last {
		t.Errorf("after 100 timeouts the pause is %s, want %s", pause.Wait, pauseBackoff.last)
	}
}

func TestBreakerCountsAndReportsHeldParents(t *testing.T) {
	told := 0
	b := NewBreaker(func() { told++ })
	hold := func(name string) {
		for range StrikesAllowed {
			_ = b.Note(objecttest.WidgetRef("", name), Input{}, &engine.Error{Kind: engine.KindSteps, Msg: "steps of " + name}, time.Now())
		}
	}
	for _, name := range []string{"b", "c", "a"} {
		hold(name)
	}
	if got := b.Held(); told != 1 || got.Parents != 3 || got.First.Name != "b" || got.Err.Error() != "steps of b" {
		t.Errorf("reported %d times; it holds %+v, want 3 with b first", told, got)
	}
	b.Forget(objecttest.WidgetRef("", "b"))
	b.Forget(objecttest.WidgetRef("", "b"))
	if got := b.Held(); told != 1 || got.Parents != 2 || got.First.Name != "c" {
		t.Errorf("reported %d times; it holds %+v, want 2 with c first", told, got)
	}
	b.Forget(objecttest.WidgetRef("", "a"))
	b.Forget(objecttest.WidgetRef("", "c"))
	if got := b.Held(); told != 2 || !reflect.DeepEqual(got, Held{}) || len(b.parents) > 0 {
		t.Errorf("reported %d times; it holds %+v and has %v, want nothing", told, got, b.parents)
	}
}

func TestInputFor(t *testing.T) {
	parent := objecttest.Widget(nil)
	if got := InputFor(parent, "sync"); got != (Input{"u1", "1", "sync"}) {
		t.Errorf("got %v", got)
	}
	parent.SetGeneration(0)
	parent.SetResourceVersion("77")
	if got := InputFor(parent, "sync"); got.version != "77" {
		t.Errorf("the version of an object without generations is %s, want its resourceVersion", got.version)
	}
}

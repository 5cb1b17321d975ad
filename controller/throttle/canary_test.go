package throttle

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/engine"
)

func TestCanaryIsDecidedByShareOfParents(t *testing.T) {
	fault, other := error(&engine.Error{Kind: engine.KindRuntime, Msg: "no such key"}), errors.New("the API server is away")
	for _, c := range []struct {
		name    string
		percent int
		parents int
		excused string // the numbers of parents, as letters
		asked   string // a letter for each answer: upper case fails, "!x" is no fault of the script
		want    Outcome
	}{
		{"one parent that fails is all", 20, 1, "", "A", GivenUp},
		{"one parent that is well", 20, 1, "", "a", Good},
		{"three parents are all seen before", 20, 3, "", "A", Undecided},
		{"all three", 20, 3, "", "AbC", GivenUp},
		{"a parent may recover", 20, 3, "", "Aab", Undecided},
		{"and all be well", 20, 3, "", "Aabc", Good},
		{"no more than the share", 20, 10, "", "ABcdefghij", Good},
		{"more than the share", 20, 10, "", "ABCdefghij", GivenUp},
		{"ten are enough of many", 20, 26, "", "ABCdefghij", GivenUp},
		{"nine are not", 20, 26, "", "ABCDEFGHI", Undecided},
		{"later is not too late", 20, 26, "", "abcdefghijABCD", GivenUp},
		{"none may fail", 0, 10, "", "abcdefghiJ", GivenUp},
		{"who failed before says nothing", 20, 3, "A", "ABc", GivenUp},
		{"and keeps nobody waiting", 20, 2, "A", "Ab", Good},
		{"unless it is well now", 20, 2, "A", "aB", GivenUp},
		{"what the script is not to blame for", 20, 1, "", "!a", Undecided},
		{"not judged", -1, 1, "", "AAA", Good},
	} {
		t.Run(c.name, func(t *testing.T) {
			excused, decided := map[object.Ref]bool{}, 0
			for _, letter := range strings.ToLower(c.excused) {
				excused[objecttest.WidgetRef("default", string(letter))] = true
			}
			canary := NewCanary(c.percent, excused, func() int { return c.parents }, func() { decided++ })
			err := fault
			for _, letter := range c.asked {
				who := objecttest.WidgetRef("default", strings.ToLower(string(letter)))
				switch {
				case letter == '!':
					err = other
					continue
				case letter >= 'a' && err == fault:
					canary.Note(who, nil, time.Now())
				default:
					canary.Note(who, fmt.Errorf("wrapped: %w", err), time.Now())
				}
				err = fault
			}
			got, why := canary.Outcome(time.Now())
			if got != c.want || (why != nil) != (c.want == GivenUp) || (decided == 1) != (c.want != Undecided && c.percent >= 0) {
				t.Errorf("outcome %d (%v), reported %d times, want %d", got, why, decided, c.want)
			}
			if why != nil && !strings.Contains(why.Error(), "no such key") {
				t.Errorf("the reason is %q", why)
			}
		})
	}
}

func TestGiveUpEndsCanary(t *testing.T) {
	told := 0
	canary := NewCanary(20, nil, func() int { return 30 }, func() { told++ })
	canary.Note(objecttest.WidgetRef("default", "a"), nil, time.Now())
	for range 2 {
		canary.GiveUp(errors.New("it is broken"))
	}
	if got, why := canary.Outcome(time.Now()); got != GivenUp || told != 1 || !strings.Contains(why.Error(), "it is broken") {
		t.Errorf("outcome %d (%v), reported %d times", got, why, told)
	}
	sound := NewCanary(20, nil, func() int { return 1 }, func() {})
	sound.Note(objecttest.WidgetRef("default", "a"), nil, time.Now())
	if got, _ := sound.Outcome(time.Now()); got != Good {
		t.Fatalf("outcome %d", got)
	}
	sound.GiveUp(errors.New("it is broken later"))
}

func TestCanaryReturnsFailingParents(t *testing.T) {
	fault := &engine.Error{Kind: engine.KindTimeout}
	a, b, c := objecttest.WidgetRef("default", "a"), objecttest.WidgetRef("default", "b"), objecttest.WidgetRef("default", "c")
	canary := NewCanary(20, map[object.Ref]bool{a: true, c: true}, func() int { return 30 }, func() {})
	canary.Note(a, nil, time.Now())
	canary.Note(b, fault, time.Now())
	canary.Note(c, &engine.Error{Kind: engine.KindCanceled}, time.Now())
	if got := canary.Failing(); len(got) != 2 || !got[b] || !got[c] {
		t.Errorf("it fails for %v, want b, and c that was not asked", got)
	}
	canary.Forget(b)
	if got := canary.Failing(); got[b] {
		t.Errorf("it fails for %v after b was forgotten", got)
	}
}

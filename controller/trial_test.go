package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"metascript/controller/object"
	"metascript/engine"
)

func TestATrialIsDecidedByTheShareOfParents(t *testing.T) {
	fault, other := error(&engine.Error{Kind: engine.KindRuntime, Msg: "no such key"}), errors.New("the API server is away")
	for _, c := range []struct {
		name    string
		percent int
		parents int
		excused string // the numbers of parents, as letters
		asked   string // a letter for each answer: upper case fails, "!x" is no fault of the script
		want    outcome
	}{
		{"one parent that fails is all", 20, 1, "", "A", givenUp},
		{"one parent that is well", 20, 1, "", "a", good},
		{"three parents are all seen before", 20, 3, "", "A", undecided},
		{"all three", 20, 3, "", "AbC", givenUp},
		{"a parent may recover", 20, 3, "", "Aab", undecided},
		{"and all be well", 20, 3, "", "Aabc", good},
		{"no more than the share", 20, 10, "", "ABcdefghij", good},
		{"more than the share", 20, 10, "", "ABCdefghij", givenUp},
		{"ten are enough of many", 20, 26, "", "ABCdefghij", givenUp},
		{"nine are not", 20, 26, "", "ABCDEFGHI", undecided},
		{"later is not too late", 20, 26, "", "abcdefghijABCD", givenUp},
		{"none may fail", 0, 10, "", "abcdefghiJ", givenUp},
		{"who failed before says nothing", 20, 3, "A", "ABc", givenUp},
		{"and keeps nobody waiting", 20, 2, "A", "Ab", good},
		{"unless it is well now", 20, 2, "A", "aB", givenUp},
		{"what the script is not to blame for", 20, 1, "", "!a", undecided},
		{"not judged", -1, 1, "", "AAA", good},
	} {
		t.Run(c.name, func(t *testing.T) {
			excused, decided := map[object.Ref]bool{}, 0
			for _, letter := range strings.ToLower(c.excused) {
				excused[widgetRef("default", string(letter))] = true
			}
			trial := newTrial(c.percent, excused, func() int { return c.parents }, func() { decided++ })
			err := fault
			for _, letter := range c.asked {
				who := widgetRef("default", strings.ToLower(string(letter)))
				switch {
				case letter == '!':
					err = other
					continue
				case letter >= 'a' && err == fault:
					trial.note(who, nil)
				default:
					trial.note(who, fmt.Errorf("wrapped: %w", err))
				}
				err = fault
			}
			got, why := trial.outcome()
			if got != c.want || (why != nil) != (c.want == givenUp) || (decided == 1) != (c.want != undecided && c.percent >= 0) {
				t.Errorf("it came to %d (%v), told %d times, want %d", got, why, decided, c.want)
			}
			if why != nil && !strings.Contains(why.Error(), "no such key") {
				t.Errorf("the reason is %q", why)
			}
		})
	}
}

func TestATrialIsOverWhenAWebhookHasToAnswer(t *testing.T) {
	told := 0
	trial := newTrial(20, nil, func() int { return 30 }, func() { told++ })
	trial.note(widgetRef("default", "a"), nil)
	for range 2 {
		trial.giveUp(errors.New("it is broken"))
	}
	if got, why := trial.outcome(); got != givenUp || told != 1 || !strings.Contains(why.Error(), "it is broken") {
		t.Errorf("it came to %d, %v, told %d times", got, why, told)
	}
	sound := newTrial(20, nil, func() int { return 1 }, func() {})
	sound.note(widgetRef("default", "a"), nil)
	if got, _ := sound.outcome(); got != good {
		t.Fatalf("it came to %d", got)
	}
	sound.giveUp(errors.New("it is broken later"))
}

func TestATrialKnowsWhoFails(t *testing.T) {
	fault := &engine.Error{Kind: engine.KindTimeout}
	a, b, c := widgetRef("default", "a"), widgetRef("default", "b"), widgetRef("default", "c")
	trial := newTrial(20, map[object.Ref]bool{a: true, c: true}, func() int { return 30 }, func() {})
	trial.note(a, nil)
	trial.note(b, fault)
	trial.note(c, &engine.Error{Kind: engine.KindCanceled})
	if got := trial.failing(); len(got) != 2 || !got[b] || !got[c] {
		t.Errorf("it fails for %v, want b, and c that was not asked", got)
	}
	trial.forget(b)
	if got := trial.failing(); got[b] {
		t.Errorf("it fails for %v, and b is gone", got)
	}
}

package recovery

import (
	"fmt"
	"testing"
	"time"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

func parent(i int) object.Ref { return objecttest.WidgetRef("default", fmt.Sprint("w", i)) }

func TestSameCauseDoublesBackoffOnce(t *testing.T) {
	var tr Tracker
	now, doubled := time.Now(), 0
	fail := func(cause string) time.Duration {
		wait, _ := tr.Failed(parent(1), cause, now, func() time.Duration {
			doubled++
			return time.Second / 2
		})
		return wait
	}
	if got := fail("a"); got != time.Second/2 || doubled != 1 {
		t.Fatalf("first: %s, %d back-offs", got, doubled)
	}
	now = now.Add(time.Second / 10)
	if got := fail("a"); got != 4*time.Second/10 || doubled != 1 {
		t.Errorf("by an event: %s, %d back-offs, want the rest of the same one", got, doubled)
	}
	if fail("b"); doubled != 2 {
		t.Errorf("another cause: %d back-offs, want another one", doubled)
	}
	now = now.Add(time.Second / 2)
	if fail("b"); doubled != 3 {
		t.Errorf("after its back-off: %d back-offs, want another one", doubled)
	}
}

func TestOneOfTheSameCauseIsTriedInTurn(t *testing.T) {
	var tr Tracker
	began := time.Now()
	hour := func() time.Duration { return time.Hour }
	for i := range 4 {
		wait, others := tr.Failed(parent(i), "a", began, hour)
		if want := map[bool]time.Duration{true: minInterval, false: time.Hour}[i == 0]; wait != want || others != nil {
			t.Fatalf("parent %d waits %s, others %v", i, wait, others)
		}
	}
	now, next, turns := began, parent(0), map[object.Ref]int{}
	tries := 0
	for now.Sub(began) < 10*time.Minute {
		turns[next]++
		tries++
		now = now.Add(time.Millisecond)
		_, others := tr.Failed(next, "a", now, hour)
		if len(others) > 1 {
			t.Fatalf("tries %v", others)
		}
		if len(others) == 0 {
			now = now.Add(minInterval)
			continue
		}
		next, now = others[0].Parent, now.Add(others[0].After)
	}
	if tries > 120 {
		t.Errorf("%d tries in 10 minutes", tries)
	}
	for i := range 4 {
		if turns[parent(i)] < tries/4-1 {
			t.Errorf("of %d tries parent %d got %d", tries, i, turns[parent(i)])
		}
	}
}

// All are tried soon after the first success, and a failure ends it.
func TestSlowStart(t *testing.T) {
	var tr Tracker
	now := time.Now()
	for i := range 100 {
		tr.Failed(parent(i), "a", now, func() time.Duration { return time.Hour })
	}
	tried := tr.Succeeded(parent(0))
	for round, want := range []int{2, 4, 8} {
		if len(tried) != want {
			t.Fatalf("round %d: %d are tried, want %d", round, len(tried), want)
		}
		var next []Try
		for _, one := range tried {
			if one.After != 0 {
				t.Fatalf("it is tried after %s", one.After)
			}
			next = append(next, tr.Succeeded(one.Parent)...)
		}
		tried = next
	}
	for _, one := range tried {
		if _, others := tr.Failed(one.Parent, "a", now, func() time.Duration { return time.Hour }); len(others) > 0 {
			t.Fatalf("after a failure %v are tried", others)
		}
	}
	if got := tr.Succeeded(parent(0)); got != nil {
		t.Errorf("a parent that had not failed has %v tried", got)
	}
}

func TestForget(t *testing.T) {
	var tr Tracker
	now := time.Now()
	for i := range 3 {
		tr.Failed(parent(i), "a", now, func() time.Duration { return time.Hour })
	}
	if got := tr.OfEach(); len(got) != 1 || got[0].After != 0 {
		t.Errorf("of each: %v", got)
	}
	if got := tr.Forget(parent(0)); len(got) != 1 || got[0].After != minInterval { // it was the one that is tried
		t.Errorf("instead of the one that is tried: %v", got)
	}
	for i := range 3 {
		tr.Forget(parent(i))
		if got := tr.Forget(parent(i)); got != nil {
			t.Errorf("of a parent that did not fail: %v", got)
		}
	}
	if got := tr.OfEach(); len(got) != 0 || len(tr.groups)+len(tr.parents) != 0 {
		t.Errorf("it keeps %v, %v", tr.groups, tr.parents)
	}
}

// With thousands of causes, each of one parent, no more are tried than their own back-offs permit.
func TestManyCauses(t *testing.T) {
	var tr Tracker
	now := time.Now()
	for i := range 3000 {
		tr.Failed(parent(i), fmt.Sprint("cause ", i), now, func() time.Duration { return 0 })
	}
	now = now.Add(time.Hour)
	if wait, _ := tr.Failed(parent(7), "cause 7", now, func() time.Duration { return 5 * time.Minute }); wait != 5*time.Minute {
		t.Errorf("it waits %s, want its own back-off", wait)
	}
	if some := tr.OfEach(); len(some) != 3000 || some[2999].After < 50*time.Second {
		t.Errorf("%d are tried, the last one after %s", len(some), some[len(some)-1].After)
	}
}

package eventbudget

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

func widget(name string) *object.Object {
	return objecttest.Widget(func(o *object.Object) { o.SetName(name) })
}

// taken returns how many of n events pass. The text of each is text, with the number of the event in place of #.
func taken(b *Budgets, name, reason, text string, n int) (passed int) {
	for i := range n {
		if b.Take(widget(name), reason, strings.ReplaceAll(text, "#", strconv.Itoa(i))) {
			passed++
		}
	}
	return passed
}

func expect(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d events pass, want %d", what, got, want)
	}
}

func TestObjectHasBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1./300, 25)
		expect(t, "all texts differ", taken(b, "a", "SyncError", "no #", 100), 25)
		expect(t, "another object", taken(b, "b", "SyncError", "no #", 100), 25)
		expect(t, "after the burst", taken(b, "a", "SyncError", "again #", 100), 0)
		time.Sleep(300 * time.Second)
		expect(t, "after five minutes", taken(b, "a", "SyncError", "later #", 100), 1)
	})
}

func TestRepeatedTextLeavesRoomForNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1./300, 25)
		expect(t, "one text", taken(b, "a", "SyncError", "no", 100), 20)
		expect(t, "another text", taken(b, "a", "SyncError", "quota", 100), 1)
		expect(t, "other texts", taken(b, "a", "SyncError", "no #", 100), 4)
	})
}

func TestFirstEventOfReasonPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1./300, 25)
		taken(b, "a", "SyncError", "no #", 100)
		expect(t, "another reason", taken(b, "a", "FieldConflict", "data #", 100), 1)
		expect(t, "a third reason", taken(b, "a", "WriteLoop", "status #", 100), 1)
		time.Sleep(299 * time.Second)
		expect(t, "soon after", taken(b, "a", "WriteLoop", "status #", 100), 0)
		time.Sleep(time.Second)
		expect(t, "one reason later", taken(b, "a", "SyncError", "no #", 100), 1)
		expect(t, "another reason later", taken(b, "a", "WriteLoop", "status #", 100), 1)
	})
}

func TestBurstOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(1, 1)
		expect(t, "one text", taken(b, "a", "SyncError", "no", 100), 1)
		time.Sleep(time.Second)
		expect(t, "a second later", taken(b, "a", "SyncError", "no", 100), 1)
	})
}

func TestMemoryIsLimited(t *testing.T) {
	b := New(1./300, 25)
	for i := range maxObjects + 10 {
		b.Take(widget(fmt.Sprint("w", i)), "SyncError", "no")
	}
	if n := b.byObject.Len(); n != maxObjects {
		t.Errorf("%d objects have a budget, want %d", n, maxObjects)
	}
	for i := range 10 * maxReasons {
		b.Take(widget("w"), fmt.Sprint("Reason", i), fmt.Sprint("no", i))
	}
	of := b.of(widget("w"))
	if len(of.passed) > maxReasons || len(of.texts) > maxTexts {
		t.Errorf("%d reasons and %d texts are remembered", len(of.passed), len(of.texts))
	}
}

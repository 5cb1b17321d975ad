package controller

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
	"metascript/controller/store"
	"metascript/controller/throttle"
	"metascript/scripts"
)

// controllerObject is a controller object c with that UID.
func controllerObject(uid types.UID) *object.Object {
	o := &object.Object{}
	o.SetKind("CompositeController")
	o.SetName("c")
	o.SetUID(uid)
	return o
}

var idOfC = spec.ID{Kind: "CompositeController", Name: "c"}

func TestAnotherObjectOfTheSameNameHasARecordOfItsOwn(t *testing.T) {
	r := newRecords()
	first, replaced := r.open(controllerObject("1"))
	if replaced != nil {
		t.Error("a record was replaced, and there was none")
	}
	first.reject("v", errors.New("it failed"))
	first.loaded.Store(true)
	if again, replaced := r.open(controllerObject("1")); again != first || replaced != nil {
		t.Error("the same object has another record than before")
	}
	second, replaced := r.open(controllerObject("2"))
	if replaced != first || second == first || r.get(idOfC) != second {
		t.Error("the other object did not take the place of the first")
	}
	if second.rejected("v") != nil || second.loaded.Load() || second.lastKnownGood.Load() != nil {
		t.Error("the other object has facts of the first")
	}
}

func TestARecordIsDroppedAsAWholeButItsDeletion(t *testing.T) {
	r := newRecords()
	m, _ := r.open(controllerObject("1"))
	m.reject("v", errors.New("it failed"))
	m.reported = "Running"
	m.sources.Store(&readSources{fingerprint: "f"})
	last := controllerObject("1")
	r.deleted(last)
	r.forget(idOfC)
	rest := r.get(idOfC)
	if rest == nil || rest == m || rest.rejection != nil || rest.reported != "" || rest.sources.Load() != nil {
		t.Fatalf("what is left is %+v", rest)
	}
	over := r.deletionOf(idOfC)
	if over == nil || over.object != last {
		t.Fatal("the object as it was last is not known any more")
	}
	r.drop(idOfC, over)
	if r.get(idOfC) != nil {
		t.Error("the record is still there after the deletion was finished")
	}
	r.forget(idOfC) // of which there is none
}

func TestADeletionIsKnownInTheOrderInWhichTheWatchTellsIt(t *testing.T) {
	exists, gone := true, false
	for _, c := range []struct {
		name string
		do   func(r *records)
		want bool
	}{
		{"deleted before it was loaded", func(r *records) { r.deleted(controllerObject("1")) }, gone},
		{"deleted and back", func(r *records) { r.deleted(controllerObject("1")); r.exists(idOfC) }, exists},
		{"deleted while it is loaded", func(r *records) {
			r.deleted(controllerObject("1"))
			r.open(controllerObject("1"))
		}, gone},
		{"deleted while the next of its name is loaded", func(r *records) {
			r.open(controllerObject("1"))
			r.deleted(controllerObject("2"))
			r.open(controllerObject("2"))
		}, gone},
		{"replaced, and the watch tells it late", func(r *records) {
			r.open(controllerObject("1"))
			r.open(controllerObject("2"))
			r.deleted(controllerObject("1"))
			r.exists(idOfC)
		}, exists},
		{"not loaded yet", func(r *records) { r.exists(idOfC) }, exists},
	} {
		r := newRecords()
		c.do(r)
		if got := r.deletionOf(idOfC) == nil; got != c.want {
			t.Errorf("%s: it exists: %t", c.name, got)
		}
	}
}

func TestADeletionThatIsNotTheLastDropsNothing(t *testing.T) {
	r := newRecords()
	r.deleted(controllerObject("1"))
	first := r.deletionOf(idOfC)
	r.deleted(controllerObject("2"))
	r.drop(idOfC, first)
	if r.deletionOf(idOfC) == nil {
		t.Error("the second deletion is not known any more")
	}
}

// run has m run a version of that identity.
func run(t *testing.T, m *managed, identity string, canary *throttle.Canary) {
	t.Helper()
	loaded := &build.Version{UID: m.uid, Identity: identity}
	binding := &binding.Binding{ID: m.id}
	reconciler := reconcile.New(binding, reconcile.Options{Log: slog.New(slog.DiscardHandler), Loaded: loaded})
	reconciler.Current().Canary = canary
	m.active.Store(&running{Reconciler: reconciler, stop: func() {}, end: func() {}})
}

func TestOnlyTheCandidateWithTheSameObjectAndScriptsRuns(t *testing.T) {
	m := newManaged(controllerObject("1"))
	c := &build.Candidate{Object: controllerObject("1"), Identity: "v"}
	if m.runs(c) != nil || !m.runsPartial() {
		t.Error("something runs, and nothing was started")
	}
	run(t, m, "v", nil)
	if m.runs(c) == nil || m.runsPartial() {
		t.Error("the candidate does not run")
	}
	edited := controllerObject("1")
	edited.SetGeneration(2)
	for _, other := range []*build.Candidate{{Object: c.Object, Identity: "w"}, {Object: edited, Identity: "v"}, {Object: controllerObject("2"), Identity: "v"}} {
		if m.runs(other) != nil {
			t.Errorf("%s of %s at generation %d is said to run", other.Identity, other.Object.GetUID(), other.Object.GetGeneration())
		}
	}
	m.active.Load().Current().Loaded.Built.Missing = "hooks.sync.script"
	if !m.runsPartial() {
		t.Error("what runs is said to be whole")
	}
}

func TestARejectionIsOfOneVersionUntilItIsEditedOrCleared(t *testing.T) {
	m := newManaged(controllerObject("1"))
	why := errors.New("it failed")
	m.reject("v", why)
	if m.rejected("v") != why || m.rejected("w") != nil || m.rejectedIdentity() != "v" {
		t.Error("not v alone is rejected")
	}
	m.clearIfEdited("v")
	if m.rejected("v") != why {
		t.Error("v is not rejected any more, and was not edited")
	}
	m.clearIfEdited("w")
	if m.rejectedIdentity() != "" {
		t.Error("v is still rejected after it was edited")
	}

	canary := throttle.NewCanary(0, nil, func() int { return 1 }, func() {})
	canary.GiveUp(why)
	run(t, m, "v", canary)
	m.reject("v", why)
	m.clearRollback()
	if outcome, _ := canary.Outcome(time.Now()); m.rejected("v") != nil || outcome != throttle.Good {
		t.Errorf("after it was cleared, the outcome of what runs is %d, and the rejection %v", outcome, m.rejected("v"))
	}
}

func TestTheNameOfWhatIsStored(t *testing.T) {
	m := newManaged(controllerObject("1"))
	if got := m.storedGood(); got != "" {
		t.Errorf("no version was good, and %s is stored", got)
	}
	g := &goodVersion{Candidate: build.Candidate{Identity: "v"}}
	m.lastKnownGood.Store(g)
	if got := m.storedGood(); got != "" {
		t.Errorf("%s is stored, which was not tried", got)
	}
	g.storedAt = time.Now()
	if got := m.storedGood(); got != store.NamePrefix+"v" {
		t.Errorf("%s is stored", got)
	}
}

func TestAVersionIsStoredAgainAfterAWhile(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name string
		g    goodVersion
		want bool
	}{
		{"new", goodVersion{}, true},
		{"stored", goodVersion{storedAt: now.Add(-storedFor)}, false},
		{"stored long ago", goodVersion{storedAt: now.Add(-storedFor - 1)}, true},
		{"just failed", goodVersion{triedAt: now.Add(-storeAgain)}, false},
		{"failed", goodVersion{triedAt: now.Add(-storeAgain - 1)}, true},
		{"too large", goodVersion{notStored: store.ErrTooLarge}, false},
	} {
		if got := c.g.toBeStored(now); got != c.want {
			t.Errorf("%s: it is to be stored: %t", c.name, got)
		}
	}
}

func TestTheStatusOfANewObjectWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManaged(controllerObject("1"))
		if got := m.statusDelay(); got != introduction {
			t.Errorf("it waits for %s", got)
		}
		time.Sleep(introduction)
		if got := m.statusDelay(); got > 0 {
			t.Errorf("it waits for %s more", got)
		}
	})
}

func TestSourcesThatAreInFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		of   *readSources
		want bool
	}{
		{"not read", nil, false},
		{"inline", &readSources{wanted: map[string]scripts.Wanted{"": {Inline: "x"}}}, false},
		{"a file", &readSources{wanted: map[string]scripts.Wanted{"": {Inline: "x"}, "sync": {File: "a.js"}}}, true},
		{"a library", &readSources{wanted: map[string]scripts.Wanted{"": {Inline: "x", Libraries: []scripts.Library{{File: "lib"}}}}}, true},
	} {
		if got := c.of.usesFiles(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestWhatEndedByItselfIsNotActiveAnyMore(t *testing.T) {
	s := newServer(t)
	m, _ := s.records.open(controllerObject("1"))
	run(t, m, "v", nil)
	ended := m.active.Load()
	ended.object = controllerObject("1")
	s.loader.activator.failed(m, ended, context.Canceled)
	if m.active.Load() != nil || len(s.records.running()) != 0 {
		t.Error("it is still active")
	}
	run(t, m, "w", nil)
	s.loader.activator.failed(m, ended, context.Canceled)
	if m.active.Load() == nil {
		t.Error("what took its place is not active any more")
	}
}

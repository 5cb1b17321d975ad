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

func TestObjectWithAnotherUIDHasItsOwnRecord(t *testing.T) {
	r := newRecords()
	first, replaced := r.open(controllerObject("1"))
	if replaced != nil {
		t.Error("a record was replaced, and there was none")
	}
	first.giveUp("v", errors.New("it failed"))
	first.loaded.Store(true)
	if again, replaced := r.open(controllerObject("1")); again != first || replaced != nil {
		t.Error("the same object has another record than before")
	}
	second, replaced := r.open(controllerObject("2"))
	if replaced != first || second == first || r.get(idOfC) != second {
		t.Error("the other object did not take the place of the first")
	}
	if second.givenUp("v") != nil || second.loaded.Load() || second.lastKnownGood.Load() != nil {
		t.Error("the other object has state of the first")
	}
}

func TestDeletionOutlivesRecord(t *testing.T) {
	r := newRecords()
	m, _ := r.open(controllerObject("1"))
	m.giveUp("v", errors.New("it failed"))
	last := controllerObject("1")
	r.noteDeleted(last)
	r.forget(idOfC)
	if r.get(idOfC) != nil || len(r.all()) > 0 {
		t.Error("the record is still there")
	}
	deletions := r.deletionsOf(idOfC)
	if len(deletions) != 1 || deletions[0].object != last {
		t.Fatal("the last state of the object is not known any more")
	}
	r.finishDeletion(idOfC, deletions[0])
	if len(r.deletionsOf(idOfC)) != 0 {
		t.Error("the deletion is still there after it was finished")
	}
	r.forget(idOfC) // of which there is none
}

func TestDeletionsFollowOrderOfWatch(t *testing.T) {
	exists, gone := true, false
	for _, c := range []struct {
		name string
		do   func(r *records)
		want bool
	}{
		{"deleted before it was loaded", func(r *records) { r.noteDeleted(controllerObject("1")) }, gone},
		{"deleted and created again", func(r *records) { r.noteDeleted(controllerObject("1")); r.noteExists(controllerObject("2")) }, exists},
		{"deleted while it is loaded", func(r *records) {
			r.noteDeleted(controllerObject("1"))
			r.open(controllerObject("1"))
		}, gone},
		{"deleted while the next of its name is loaded", func(r *records) {
			r.open(controllerObject("1"))
			r.noteDeleted(controllerObject("2"))
			r.open(controllerObject("2"))
		}, gone},
		{"replaced, and the watch reports it late", func(r *records) {
			r.open(controllerObject("1"))
			r.open(controllerObject("2"))
			r.noteDeleted(controllerObject("1"))
			r.noteExists(controllerObject("2"))
		}, exists},
		{"not loaded yet", func(r *records) { r.noteExists(controllerObject("2")) }, exists},
	} {
		r := newRecords()
		c.do(r)
		if got := len(r.deletionsOf(idOfC)) == 0; got != c.want {
			t.Errorf("%s: it exists: %t", c.name, got)
		}
	}
}

// Whoever takes the name of a deleted controller for another account does not take over its parents.
func TestDeletionsAreOfAccounts(t *testing.T) {
	of := func(namespace string) *object.Object {
		o := controllerObject("1")
		o.Map()["spec"] = map[string]any{"serviceAccount": map[string]any{"namespace": namespace, "name": "account"}}
		return o
	}
	r := newRecords()
	r.noteDeleted(of("bob"))
	r.noteExists(of("alice"))
	r.noteDeleted(of("alice"))
	r.noteDeleted(of("alice"))
	if all := r.deletionsOf(idOfC); len(all) != 2 || spec.AccountOf(all[0].object).Namespace != "bob" {
		t.Errorf("%d deletions are known", len(all))
	}
	r.noteExists(of("bob"))
	if all := r.deletionsOf(idOfC); len(all) != 1 || spec.AccountOf(all[0].object).Namespace != "alice" {
		t.Errorf("%d deletions are known", len(all))
	}
}

func TestFinishedDeletionKeepsLaterOne(t *testing.T) {
	r := newRecords()
	r.noteDeleted(controllerObject("1"))
	first := r.deletionsOf(idOfC)[0]
	r.noteDeleted(controllerObject("2"))
	r.finishDeletion(idOfC, first)
	if len(r.deletionsOf(idOfC)) == 0 {
		t.Error("the second deletion is not known any more")
	}
}

// run has m run a version of that identity.
func run(t *testing.T, m *managed, identity string, canary *throttle.Canary) {
	t.Helper()
	loaded := &build.Loaded{UID: m.uid, Identity: identity}
	binding := &binding.Binding{ID: m.id}
	reconciler := reconcile.New(binding, reconcile.Options{Log: slog.New(slog.DiscardHandler), Loaded: loaded})
	reconciler.Current().Canary = canary
	m.active.Store(&running{Reconciler: reconciler, stop: func() {}, end: func() {}})
}

func TestRunningAsComparesObjectAndScripts(t *testing.T) {
	m := newManaged(controllerObject("1"))
	c := &build.Candidate{Object: controllerObject("1"), Identity: "v"}
	if m.runningAs(c) != nil || !m.runsPartial() {
		t.Error("something runs, and nothing was started")
	}
	run(t, m, "v", nil)
	if m.runningAs(c) == nil || m.runsPartial() {
		t.Error("the candidate does not run")
	}
	edited := controllerObject("1")
	edited.SetGeneration(2)
	for _, other := range []*build.Candidate{{Object: c.Object, Identity: "w"}, {Object: edited, Identity: "v"}, {Object: controllerObject("2"), Identity: "v"}} {
		if m.runningAs(other) != nil {
			t.Errorf("runningAs returns a version for %s of %s at generation %d", other.Identity, other.Object.GetUID(), other.Object.GetGeneration())
		}
	}
	m.active.Load().Current().Loaded.Built.Missing = "hooks.sync.script"
	if !m.runsPartial() {
		t.Error("runsPartial is false for a partial version")
	}
}

func TestVersionIsGivenUpUntilEditedOrAccepted(t *testing.T) {
	m := newManaged(controllerObject("1"))
	why := errors.New("it failed")
	m.giveUp("v", why)
	if m.givenUp("v") != why || m.givenUp("w") != nil || m.givenUpIdentity() != "v" {
		t.Error("not v alone is rejected")
	}
	m.clearIfEdited("v")
	if m.givenUp("v") != why {
		t.Error("v is not rejected any more, and was not edited")
	}
	m.clearIfEdited("w")
	if m.givenUpIdentity() != "" {
		t.Error("v is still rejected after it was edited")
	}

	canary := throttle.NewCanary(0, nil, func() int { return 1 }, func() {})
	canary.GiveUp(why)
	run(t, m, "v", canary)
	m.giveUp("v", why)
	m.acceptGivenUp()
	if outcome, _ := canary.Outcome(time.Now()); m.givenUp("v") != nil || outcome != throttle.Good {
		t.Errorf("after it was cleared, the outcome of what runs is %d, and the rejection %v", outcome, m.givenUp("v"))
	}
}

func TestStoredGood(t *testing.T) {
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

func TestVersionIsStoredAgainLater(t *testing.T) {
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
		{"too large", goodVersion{failed: store.ErrTooLarge}, false},
	} {
		if got := c.g.toBeStored(now); got != c.want {
			t.Errorf("%s: it is to be stored: %t", c.name, got)
		}
	}
}

func TestStatusDelayOfNewObject(t *testing.T) {
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

func TestFailedVersionIsNotActive(t *testing.T) {
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

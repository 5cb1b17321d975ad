package reconcile

import (
	"strings"
	"testing"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/throttle"
	"metascript/engine"
)

// What is held is not asked about again, whatever its children do, and costs nobody else.
func TestHeldScriptIsNotCalled(t *testing.T) {
	asked := map[string]int{}
	ask := func(req *hook.Request) (*hook.Response, error) {
		asked[req.Parent.GetName()]++
		if req.Parent.GetName() == "w" {
			return nil, &engine.Error{Kind: engine.KindSteps, Msg: "too many"}
		}
		return wants()(req)
	}
	parent := objecttest.Widget(nil)
	good := objecttest.Widget(func(o *object.Object) { o.SetName("good"); o.SetUID("u2") })
	r, write := newTestReconciler(t, answer(ask), nil, parent, good, objecttest.ConfigMap("old", parent))
	t.Cleanup(r.Close)
	t.Cleanup(r.queue.ShutDown)
	if !r.Synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	bad, other := object.RefOf(parent), object.RefOf(good)
	for range 5 {
		r.worker.process(t.Context(), bad)
	}
	r.worker.process(t.Context(), other)
	if asked["w"] != throttle.StrikesAllowed || asked["good"] != 1 {
		t.Errorf("asked %v, want %d times about w and once about good", asked, throttle.StrikesAllowed)
	}
	if n := r.queue.NumRequeues(bad); n != 0 {
		t.Errorf("it backs off %d times, want that it is forgotten", n)
	}
	for _, op := range write.Recorded() {
		if strings.Contains(op, "old") {
			t.Errorf("for the parent whose script is held it did: %s", op)
		}
	}
	if got := r.current.Load().Breaker.Held(); got.Parents != 1 || got.First != bad {
		t.Errorf("it holds %+v, want %s", got, bad)
	}
	if r.forget(bad); r.current.Load().Breaker.Held().Parents != 0 {
		t.Errorf("a parent that is gone is held")
	}
}

// A timeout is told and tried again, and what comes in between waits.
func TestScriptIsPausedAfterTimeout(t *testing.T) {
	asked := 0
	ask := func(*hook.Request) (*hook.Response, error) {
		asked++
		return nil, &engine.Error{Kind: engine.KindTimeout, Msg: "timed out"}
	}
	r, write := newTestReconciler(t, answer(ask), nil, objecttest.Widget(nil))
	t.Cleanup(r.Close)
	t.Cleanup(r.queue.ShutDown)
	if !r.Synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	key := object.RefOf(objecttest.Widget(nil))
	for range 5 {
		r.worker.process(t.Context(), key)
	}
	if asked != 1 || len(write.Recorded()) > 0 || r.current.Load().Breaker.Held().Parents > 0 {
		t.Errorf("asked %d times, wrote %v, holds %+v; want that it pauses after the first time", asked, write.Recorded(), r.current.Load().Breaker.Held())
	}
	if n := r.queue.NumRequeues(key); n != 1 {
		t.Errorf("it backs off for %d failures, want one", n)
	}
}

package reconcile

import (
	"strings"
	"testing"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
	"metascript/controller/throttle"
	"metascript/engine"
)

// The script is not called for the parent for which it is held. It is called for other parents.
func TestHeldScriptIsNotCalled(t *testing.T) {
	calls := map[string]int{}
	testHook := func(req *hook.Request) (*hook.Response, error) {
		calls[req.Parent.GetName()]++
		if req.Parent.GetName() == "w" {
			return nil, &engine.Error{Kind: engine.KindSteps, Msg: "too many"}
		}
		return wants()(req)
	}
	parent := objecttest.Widget(nil)
	good := objecttest.Widget(func(o *object.Object) { o.SetName("good"); o.SetUID("u2") })
	r, write := newTestReconciler(t, hookFunc(testHook), nil, parent, good, objecttest.ConfigMap("old", parent))
	fillCaches(t, r)
	bad, goodKey := object.RefOf(parent), object.RefOf(good)
	for range 5 {
		r.worker.process(t.Context(), bad, queue.Retry)
	}
	r.worker.process(t.Context(), goodKey, queue.Retry)
	if calls["w"] != throttle.StrikesAllowed || calls["good"] != 1 {
		t.Errorf("the hook was called %v times, want %d times for w and once for good", calls, throttle.StrikesAllowed)
	}
	if n := r.queue.NumRequeues(bad); n != 0 {
		t.Errorf("the back-off counts %d failures, want none", n)
	}
	for _, op := range write.Recorded() {
		if strings.Contains(op, "old") {
			t.Errorf("a write for the parent for which the script is held: %s", op)
		}
	}
	if got := r.current.Load().Breaker.Held(); got.Parents != 1 || got.First != bad {
		t.Errorf("the script is held for %+v, want %s", got, bad)
	}
	if r.forget(bad); r.current.Load().Breaker.Held().Parents != 0 {
		t.Errorf("the script is held for a parent that is gone")
	}
}

// A timeout is retried after a pause. Until then the script is not called.
func TestScriptIsPausedAfterTimeout(t *testing.T) {
	calls := 0
	testHook := func(*hook.Request) (*hook.Response, error) {
		calls++
		return nil, &engine.Error{Kind: engine.KindTimeout, Msg: "timed out"}
	}
	r, write := newTestReconciler(t, hookFunc(testHook), nil, objecttest.Widget(nil))
	fillCaches(t, r)
	key := object.RefOf(objecttest.Widget(nil))
	for range 5 {
		r.worker.process(t.Context(), key, queue.Retry)
	}
	if calls != 1 || len(write.Recorded()) > 0 || r.current.Load().Breaker.Held().Parents > 0 {
		t.Errorf("called %d times, wrote %v, held for %+v; want a pause after the first call", calls, write.Recorded(), r.current.Load().Breaker.Held())
	}
	if n := r.queue.NumRequeues(key); n != 1 {
		t.Errorf("the back-off counts %d failures, want one", n)
	}
}

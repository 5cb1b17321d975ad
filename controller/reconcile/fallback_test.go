package reconcile

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/lease"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan/plantest"
	"metascript/controller/queue"
	"metascript/controller/revisions"
	"metascript/controller/store"
	"metascript/controller/throttle"
	"metascript/engine"
)

// A testScript is a script that fails with err, or does not fail if err is nil.
type testScript struct{ err error }

func (s *testScript) hook(names ...string) hookFunc {
	return func(req *hook.Request) (*hook.Response, error) {
		if s.err != nil {
			return nil, s.err
		}
		return wants(names...)(req)
	}
}

var errTimeout = &engine.Error{Kind: engine.KindTimeout, Msg: "late"}

// widgetRequest returns a request for a widget.
func widgetRequest() *hook.Request {
	return &hook.Request{Controller: &object.Object{}, Parent: objecttest.Widget(nil), Children: &object.Set{}}
}

// newFallbackReconciler returns a Reconciler of widgets with filled caches, and the number of calls of Options.Changed.
func newFallbackReconciler(t *testing.T, f *hook.Fallback, parents ...*object.Object) (*Reconciler, *plantest.Recorder, *int) {
	t.Helper()
	var objects []runtime.Object
	for _, p := range parents {
		objects = append(objects, p)
	}
	r, write := newTestReconciler(t, f, nil, objects...)
	changes := 0
	r.changed = func() { changes++ }
	fillCaches(t, r)
	return r, write, &changes
}

func other() *object.Object {
	return objecttest.Widget(func(o *object.Object) { o.SetName("other"); o.SetUID("u2") })
}

// After a switch to the webhook, a parent for which the script is paused is reconciled at once. After a switch back, the script is
// not paused.
func TestSwitchOfFallbackRequeuesAllParents(t *testing.T) {
	script := &testScript{errTimeout}
	clock := time.Now()
	f := &hook.Fallback{Script: script.hook("from-script"), Webhook: wants("from-webhook"), Now: func() time.Time { return clock }}
	r, write, changes := newFallbackReconciler(t, f, objecttest.Widget(nil), other())
	first, second := objecttest.WidgetRef("default", "w"), objecttest.WidgetRef("default", "other")
	r.worker.process(t.Context(), first, queue.Retry)
	r.worker.process(t.Context(), first, queue.Retry)
	if len(write.Recorded()) > 0 || *changes > 0 || len(queued(r)) > 0 {
		t.Fatalf("after a timeout it wrote %v, and the status changed %d times", write.Recorded(), *changes)
	}
	r.worker.process(t.Context(), second, queue.Retry)
	if got := queued(r); got["default/other"] != "script" || got["default/w"] != "script" || *changes != 1 {
		t.Errorf("at the switch %v are queued, and the status changed %d times", got, *changes)
	}
	r.worker.process(t.Context(), first, queue.Retry)
	want := []string{
		"create ConfigMap default/from-webhook", "update status Widget default/other",
		"create ConfigMap default/from-webhook", "update status Widget default/w",
	}
	if diff := cmp.Diff(want, write.Recorded()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}

	script.err, clock = nil, clock.Add(hook.ProbeEvery)
	r.states.of(first).pending = pendingWrites{}
	r.worker.process(t.Context(), first, queue.Retry)
	if got := queued(r); got["default/other"] != "script" || got["default/w"] != "script" || *changes != 2 {
		t.Errorf("at the switch back %v are queued, and the status changed %d times", got, *changes)
	}
	if err := r.current.Load().Breaker.Admit(first, throttle.InputFor(objecttest.Widget(nil), hook.Sync), time.Now()); err != nil {
		t.Errorf("the script is still paused: %v", err)
	}
}

func TestSwitchOfReplacedVersionIsIgnored(t *testing.T) {
	script := &testScript{errTimeout}
	f := &hook.Fallback{Script: script.hook(), Webhook: wants()}
	r, _, changes := newFallbackReconciler(t, f, objecttest.Widget(nil))
	before := r.newReconciliation(objecttest.WidgetRef("default", "w"))
	next := call.NewVersion(build.Hooks{Sync: &hook.Fallback{Script: wants(), Webhook: wants()}}, nil, func() {})
	r.Swap(next)
	queued(r)
	for range 2 {
		_, _ = before.caller.CallHook(t.Context(), objecttest.Widget(nil), &object.Set{})
		before.version.Breaker.Clear()
	}
	if active, _ := f.Active(); !active || *changes > 0 || len(queued(r)) > 0 {
		t.Errorf("the webhook of the old version is active: %t, and the status changed %d times", active, *changes)
	}
}

// Each switch is reported once, whether a new version or a failure of the script has caused it.
func TestEachSwitchIsReportedOnce(t *testing.T) {
	r, _, changes := newFallbackReconciler(t, &hook.Fallback{Unloaded: errors.New("no file"), Webhook: wants()})
	version := func(sync, finalize hook.Hook) {
		r.Swap(call.NewVersion(build.Hooks{Sync: sync, Finalize: finalize}, nil, func() {}))
	}
	loaded, unloaded := func() hook.Hook { return &hook.Fallback{Script: wants(), Webhook: wants()} }, &hook.Fallback{Unloaded: errors.New("no file"), Webhook: wants()}
	for _, c := range []struct {
		what string
		do   func()
		want int
	}{
		{"the script is not loaded at first", r.fallbacks.reportAll, 1},
		{"it is reported again", r.fallbacks.reportAll, 0},
		{"the script of another version is not loaded", func() { version(unloaded, nil) }, 0},
		{"the script is loaded", func() { version(loaded(), nil) }, 1},
		{"another script is loaded", func() { version(loaded(), nil) }, 0},
		{"the script of another hook is not loaded", func() { version(loaded(), unloaded) }, 1},
		{"the hook is removed", func() { version(wants(), nil) }, 1},
	} {
		*changes = 0
		if c.do(); *changes != c.want {
			t.Errorf("%s: the status changed %d times, want %d", c.what, *changes, c.want)
		}
	}
}

// A server that does not lead reports nothing.
func TestStandbyReportsNoSwitch(t *testing.T) {
	r, _, changes := newFallbackReconciler(t, &hook.Fallback{Script: wants(), Webhook: wants()})
	r.leading = lease.NewGate()
	r.Swap(call.NewVersion(build.Hooks{Sync: &hook.Fallback{Unloaded: errors.New("no file"), Webhook: wants()}}, nil, func() {}))
	if *changes > 0 {
		t.Errorf("the status changed %d times", *changes)
	}
}

// The fallbacks of scripts of older revisions are separate from those of the current version, and are not reported.
func TestFallbackOfOlderRevisionIsNotReported(t *testing.T) {
	script, olderScript := &testScript{}, &testScript{errTimeout}
	r, _, changes := newFallbackReconciler(t, &hook.Fallback{Script: script.hook(), Webhook: wants()}, objecttest.Widget(nil))
	clock := time.Now()
	older := &hook.Fallback{Script: olderScript.hook(), Webhook: wants(), Now: func() time.Time { return clock }}
	v := call.NewVersion(r.binding.Hooks, &revisions.Revisions{Scripts: &store.ScriptVersions{Older: map[string]build.Built{"older": {Sync: older}}}}, func() {})
	r.Swap(v)
	for range 2 {
		_, _ = older.Call(t.Context(), widgetRequest())
	}
	if active, _ := older.Active(); !active || *changes > 0 {
		t.Errorf("the webhook of the older script is active: %t; the status changed %d times", active, *changes)
	}
	r.forget(objecttest.WidgetRef("default", "w"))
	clock = clock.Add(hook.ProbeEvery)
	if parent, due := older.ProbeCandidate(); due {
		t.Errorf("%s is a candidate after it is gone", parent)
	}
}

// If a script and its webhook may both have been called for the revisions of a parent, no response is used.
func TestReconcileDoesNotMixScriptAndWebhookResponses(t *testing.T) {
	script := &testScript{errTimeout}
	f := &hook.Fallback{Script: script.hook("a"), Webhook: wants("a")}
	r, _, _ := newFallbackReconciler(t, f, objecttest.Widget(nil))
	parent, caller := objecttest.Widget(nil), r.newReconciliation(objecttest.WidgetRef("default", "w")).caller
	_, _ = f.Call(t.Context(), widgetRequest())
	older := caller.Latest(parent)
	older.Revision, older.Sync = "older", wants("a")
	variants := func() []call.Variant { return []call.Variant{caller.Latest(parent), older} }
	if _, err := caller.CallRevisions(t.Context(), parent, &object.Set{}, variants()); !errors.Is(err, kube.ErrRequeue) {
		t.Errorf("while it switches: %v", err)
	}
	if responses, err := caller.CallRevisions(t.Context(), parent, &object.Set{}, variants()); err != nil || len(responses) != 2 {
		t.Errorf("afterwards: %v", err)
	}
}

// The responses of a customize hook are dropped at a switch. A probe calls it although nothing changed.
func TestCustomizeHookIsCalledAgainAfterSwitch(t *testing.T) {
	c := newCustomizedReconciler(t)
	script, clock, calls := &testScript{}, time.Now(), map[string]int{}
	var mu sync.Mutex
	newHook := func(who string, s *testScript) hookFunc {
		return func(*hook.Request) (*hook.Response, error) {
			mu.Lock() // a probe calls both concurrently
			defer mu.Unlock()
			calls[who]++
			return &hook.Response{}, s.err
		}
	}
	c.binding.Customize = &hook.Fallback{Script: newHook("script", script), Webhook: newHook("webhook", &testScript{}), Now: func() time.Time { return clock }}
	first := call.NewVersion(c.binding.Hooks, nil, func() {})
	c.fallbacks.follow(first)
	c.current.Store(first)
	expectCalls := func(change func(*object.Object), want string) {
		t.Helper()
		_, _ = c.related(t, objecttest.Widget(change))
		if got := fmt.Sprint(calls); got != want {
			t.Errorf("the calls are %v, want %s", got, want)
		}
	}
	edited := func(n int64) func(*object.Object) { return func(o *object.Object) { o.SetGeneration(n) } }
	expectCalls(nil, "map[script:1]")
	expectCalls(nil, "map[script:1]")
	script.err = &engine.Error{Kind: engine.KindSteps}
	expectCalls(edited(2), "map[script:2]")
	expectCalls(edited(2), "map[script:3 webhook:1]")
	expectCalls(edited(2), "map[script:3 webhook:2]") // the response at the switch may be of the script or of the webhook
	expectCalls(edited(2), "map[script:3 webhook:2]")
	clock = clock.Add(hook.ProbeEvery)
	expectCalls(edited(2), "map[script:4 webhook:3]")
	expectCalls(edited(2), "map[script:4 webhook:3]")
	script.err, clock = nil, clock.Add(hook.ProbeEvery)
	expectCalls(edited(2), "map[script:5 webhook:4]")
	expectCalls(edited(2), "map[script:6 webhook:4]")
	expectCalls(edited(2), "map[script:6 webhook:4]")
}

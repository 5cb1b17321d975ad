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
	"metascript/controller/revisions"
	"metascript/controller/store"
	"metascript/controller/throttle"
	"metascript/engine"
)

// A mood is that of a script: what it fails with, if it does.
type mood struct{ err error }

func (m *mood) script(names ...string) answer {
	return func(req *hook.Request) (*hook.Response, error) {
		if m.err != nil {
			return nil, m.err
		}
		return wants(names...)(req)
	}
}

var late = &engine.Error{Kind: engine.KindTimeout, Msg: "late"}

// aboutWidget is a request about a widget.
func aboutWidget() *hook.Request {
	return &hook.Request{Controller: &object.Object{}, Parent: objecttest.Widget(nil), Children: &object.Set{}}
}

// newFallbackReconciler gives a loop about widgets, whose caches are filled, and how often the controller's status was to change.
func newFallbackReconciler(t *testing.T, f *hook.Fallback, parents ...*object.Object) (*Reconciler, *plantest.Recorder, *int) {
	t.Helper()
	var objects []runtime.Object
	for _, p := range parents {
		objects = append(objects, p)
	}
	r, write := newTestReconciler(t, f, nil, objects...)
	told := 0
	r.changed = func() { told++ }
	t.Cleanup(r.Close)
	t.Cleanup(r.queue.ShutDown)
	if !r.Synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	return r, write, &told
}

func other() *object.Object {
	return objecttest.Widget(func(o *object.Object) { o.SetName("other"); o.SetUID("u2") })
}

// What is paused is asked about at once when the webhook answers, and nothing is known against it when the script does.
func TestSwitchOfFallbackRequeuesAllParents(t *testing.T) {
	script := &mood{late}
	clock := time.Now()
	f := &hook.Fallback{Script: script.script("from-script"), Webhook: wants("from-webhook"), Now: func() time.Time { return clock }}
	r, write, told := newFallbackReconciler(t, f, objecttest.Widget(nil), other())
	first, second := objecttest.WidgetRef("default", "w"), objecttest.WidgetRef("default", "other")
	r.worker.process(t.Context(), first)
	r.worker.process(t.Context(), first)
	if len(write.Recorded()) > 0 || *told > 0 || len(queued(r)) > 0 {
		t.Fatalf("after a timeout it wrote %v, told %d times", write.Recorded(), *told)
	}
	r.worker.process(t.Context(), second)
	if got := queued(r); got["default/other"] != "script" || got["default/w"] != "script" || *told != 1 {
		t.Errorf("at the switch %v are queued, and it was told %d times", got, *told)
	}
	r.worker.process(t.Context(), first)
	want := []string{
		"create ConfigMap default/from-webhook", "update status Widget default/other",
		"create ConfigMap default/from-webhook", "update status Widget default/w",
	}
	if diff := cmp.Diff(want, write.Recorded()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}

	script.err, clock = nil, clock.Add(hook.ProbeEvery)
	r.states.of(first).pending = pendingWrites{}
	r.worker.process(t.Context(), first)
	if got := queued(r); got["default/other"] != "script" || got["default/w"] != "script" || *told != 2 {
		t.Errorf("at the switch back %v are queued, and it was told %d times", got, *told)
	}
	if err := r.current.Load().Breaker.Admit(first, throttle.QuestionAbout(objecttest.Widget(nil), hook.Sync), time.Now()); err != nil {
		t.Errorf("the pause of before is not over: %v", err)
	}
}

func TestSwitchOfReplacedVersionIsIgnored(t *testing.T) {
	script := &mood{late}
	f := &hook.Fallback{Script: script.script(), Webhook: wants()}
	r, _, told := newFallbackReconciler(t, f, objecttest.Widget(nil))
	before := r.newReconciliation(objecttest.WidgetRef("default", "w"))
	next := call.NewVersion(build.Hooks{Sync: &hook.Fallback{Script: wants(), Webhook: wants()}}, nil, func() {})
	r.Swap(next)
	queued(r)
	for range 2 {
		_, _ = before.caller.CallHook(t.Context(), objecttest.Widget(nil), &object.Set{})
		before.version.Breaker.Clear()
	}
	if active, _ := f.Active(); !active || *told > 0 || len(queued(r)) > 0 {
		t.Errorf("the old one's webhook answers: %t, told %d times", active, *told)
	}
}

// Each switch is told once, whether it came by a new version or by itself.
func TestEachSwitchIsReportedOnce(t *testing.T) {
	r, _, told := newFallbackReconciler(t, &hook.Fallback{Unloaded: errors.New("no file"), Webhook: wants()})
	version := func(sync, finalize hook.Hook) {
		r.Swap(call.NewVersion(build.Hooks{Sync: sync, Finalize: finalize}, nil, func() {}))
	}
	loaded, unloaded := func() hook.Hook { return &hook.Fallback{Script: wants(), Webhook: wants()} }, &hook.Fallback{Unloaded: errors.New("no file"), Webhook: wants()}
	for _, c := range []struct {
		what string
		do   func()
		want int
	}{
		{"it begins without a script", r.fallbacks.reportAll, 1},
		{"it is told again", r.fallbacks.reportAll, 0},
		{"another version without a script", func() { version(unloaded, nil) }, 0},
		{"the script is there", func() { version(loaded(), nil) }, 1},
		{"it is another one", func() { version(loaded(), nil) }, 0},
		{"another hook's is not", func() { version(loaded(), unloaded) }, 1},
		{"there is no such hook any more", func() { version(wants(), nil) }, 1},
	} {
		*told = 0
		if c.do(); *told != c.want {
			t.Errorf("%s: told %d times, want %d", c.what, *told, c.want)
		}
	}
}

// A server that stands by tells nothing before its time.
func TestStandbyReportsNoSwitch(t *testing.T) {
	r, _, told := newFallbackReconciler(t, &hook.Fallback{Script: wants(), Webhook: wants()})
	r.leading = lease.NewGate()
	r.Swap(call.NewVersion(build.Hooks{Sync: &hook.Fallback{Unloaded: errors.New("no file"), Webhook: wants()}}, nil, func() {}))
	if *told > 0 {
		t.Errorf("it was told %d times", *told)
	}
}

// Older scripts, which revisions of parents have, fall back by themselves, and tell nothing.
func TestFallbackOfOlderRevisionIsNotReported(t *testing.T) {
	now, then := &mood{}, &mood{late}
	r, _, told := newFallbackReconciler(t, &hook.Fallback{Script: now.script(), Webhook: wants()}, objecttest.Widget(nil))
	clock := time.Now()
	older := &hook.Fallback{Script: then.script(), Webhook: wants(), Now: func() time.Time { return clock }}
	v := call.NewVersion(r.binding.Hooks, &revisions.Revisions{Scripts: &store.ScriptVersions{Older: map[string]build.Built{"older": {Sync: older}}}}, func() {})
	r.Swap(v)
	for range 2 {
		_, _ = older.Call(t.Context(), aboutWidget())
	}
	if active, _ := older.Active(); !active || *told > 0 {
		t.Errorf("the older one's webhook answers: %t; told %d times", active, *told)
	}
	r.forget(objecttest.WidgetRef("default", "w"))
	clock = clock.Add(hook.ProbeEvery)
	if parent, due := older.Candidate(); due {
		t.Errorf("%s is known after it is gone", parent)
	}
}

// When some answers about the revisions of a parent may be the script's, and some the webhook's, none is used.
func TestReconcileDoesNotMixScriptAndWebhookResponses(t *testing.T) {
	script := &mood{late}
	f := &hook.Fallback{Script: script.script("a"), Webhook: wants("a")}
	r, _, _ := newFallbackReconciler(t, f, objecttest.Widget(nil))
	parent, caller := objecttest.Widget(nil), r.newReconciliation(objecttest.WidgetRef("default", "w")).caller
	_, _ = f.Call(t.Context(), aboutWidget())
	older := caller.Latest(parent)
	older.Revision, older.Sync = "older", wants("a")
	variants := func() []call.Variant { return []call.Variant{caller.Latest(parent), older} }
	if _, err := caller.CallRevisions(t.Context(), parent, &object.Set{}, variants()); !errors.Is(err, kube.ErrRequeue) {
		t.Errorf("while it switches: %v", err)
	}
	if answers, err := caller.CallRevisions(t.Context(), parent, &object.Set{}, variants()); err != nil || len(answers) != 2 {
		t.Errorf("afterwards: %v", err)
	}
}

// What a customize hook answered is not remembered beyond a switch, and a probe asks it although nothing changed.
func TestCustomizeHookIsCalledAgainAfterSwitch(t *testing.T) {
	c := newCustomizedReconciler(t)
	script, clock, asked := &mood{}, time.Now(), map[string]int{}
	var mu sync.Mutex
	ask := func(who string, m *mood) answer {
		return func(*hook.Request) (*hook.Response, error) {
			mu.Lock() // a probe asks both at a time
			defer mu.Unlock()
			asked[who]++
			return &hook.Response{}, m.err
		}
	}
	c.binding.Customize = &hook.Fallback{Script: ask("script", script), Webhook: ask("webhook", &mood{}), Now: func() time.Time { return clock }}
	first := call.NewVersion(c.binding.Hooks, nil, func() {})
	c.fallbacks.follow(first)
	c.current.Store(first)
	relate := func(change func(*object.Object), want string) {
		t.Helper()
		_, _ = c.seen(t, objecttest.Widget(change))
		if got := fmt.Sprint(asked); got != want {
			t.Errorf("asked %v, want %s", got, want)
		}
	}
	edited := func(n int64) func(*object.Object) { return func(o *object.Object) { o.SetGeneration(n) } }
	relate(nil, "map[script:1]")
	relate(nil, "map[script:1]")
	script.err = &engine.Error{Kind: engine.KindSteps}
	relate(edited(2), "map[script:2]")
	relate(edited(2), "map[script:3 webhook:1]")
	relate(edited(2), "map[script:3 webhook:2]") // what it answered at the switch may be of either side
	relate(edited(2), "map[script:3 webhook:2]")
	clock = clock.Add(hook.ProbeEvery)
	relate(edited(2), "map[script:4 webhook:3]")
	relate(edited(2), "map[script:4 webhook:3]")
	script.err, clock = nil, clock.Add(hook.ProbeEvery)
	relate(edited(2), "map[script:5 webhook:4]")
	relate(edited(2), "map[script:6 webhook:4]")
	relate(edited(2), "map[script:6 webhook:4]")
}

package call

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// relate calls Relate for the current parent.
func (c *Caller) relate(t *testing.T, change func(*object.Object)) error {
	t.Helper()
	parent := objecttest.Widget(change)
	return c.Relate(t.Context(), parent, []Variant{c.Latest(parent)})
}

func TestCustomizeHookIsCalledOncePerVersionOfParent(t *testing.T) {
	customize := &countedHook{}
	caller, _ := newCaller(build.Hooks{Sync: &countedHook{}, Customize: customize})
	version := func(uid string, generation int64, resourceVersion string) func(*object.Object) {
		return func(o *object.Object) {
			o.Map()["metadata"].(map[string]any)["uid"] = uid
			o.SetGeneration(generation)
			o.SetResourceVersion(resourceVersion)
		}
	}
	for _, step := range []struct {
		name   string
		change func(*object.Object)
		calls  int
	}{
		{"the first call", version("u1", 1, "1"), 1},
		{"nothing changed", version("u1", 1, "1"), 0},
		{"another status", version("u1", 1, "2"), 0},
		{"another spec", version("u1", 2, "3"), 1},
		{"another object of the same name", version("u2", 2, "4"), 1},
		{"a kind without generations", version("u2", 0, "5"), 1},
		{"a kind without generations, unchanged", version("u2", 0, "5"), 0},
		{"a kind without generations, another status", version("u2", 0, "6"), 1},
	} {
		if err := caller.relate(t, step.change); err != nil {
			t.Fatal(err)
		}
		if got := customize.calls(); got != step.calls {
			t.Errorf("%s: the hook was called %d times, want %d", step.name, got, step.calls)
		}
	}
	caller.Customized.Forget()
	if err := caller.relate(t, version("u2", 0, "6")); err != nil || customize.calls() != 1 {
		t.Errorf("after Forget: the hook was not called; error %v", err)
	}
}

func TestCustomizeResponseExpires(t *testing.T) {
	for _, c := range []struct {
		name         string
		customizeFor time.Duration
		after        time.Duration // since the first call
		calls        int
	}{
		{"a script", 0, 1000 * time.Hour, 0},
		{"a webhook, at once", 20 * time.Minute, 0, 0},
		{"a webhook, before the time", 20 * time.Minute, 20*time.Minute - 1, 0},
		{"a webhook, after the time", 20 * time.Minute, 20 * time.Minute, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				customize := &countedHook{}
				caller, _ := newCaller(build.Hooks{Customize: customize, CustomizeTTL: c.customizeFor})
				if err := caller.relate(t, nil); err != nil || customize.calls() != 1 {
					t.Fatalf("the first call: error %v", err)
				}
				time.Sleep(c.after)
				for i, want := range []int{c.calls, 0} { // a new response is cached again
					if err := caller.relate(t, nil); err != nil {
						t.Fatal(err)
					}
					if got := customize.calls(); got != want {
						t.Errorf("call %d after %s: the hook was called %d times, want %d", i, c.after, got, want)
					}
				}
			})
		})
	}
}

// A use of a cached response does not make it valid for longer.
func TestCachedResponseHasTimeOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		customize := &countedHook{}
		caller, _ := newCaller(build.Hooks{Customize: customize, CustomizeTTL: time.Minute})
		calls := 0
		for range 10 {
			if err := caller.relate(t, nil); err != nil {
				t.Fatal(err)
			}
			calls += customize.calls()
			time.Sleep(20 * time.Second)
		}
		if calls != 4 { // after 0s, 60s, 120s and 180s
			t.Errorf("the hook was called %d times, want 4", calls)
		}
	})
}

func TestCustomizeErrorIsNotCached(t *testing.T) {
	customize, sync := &countedHook{err: errors.New("refused")}, &countedHook{}
	caller, _ := newCaller(build.Hooks{Sync: sync, Customize: customize})
	for range 2 {
		if _, err := caller.call(t, nil); !errors.Is(err, customize.err) {
			t.Errorf("error %v, want that of the customize hook", err)
		}
		if got := customize.calls(); got != 1 {
			t.Errorf("the customize hook was called %d times, want once", got)
		}
	}
	if sync.calls() != 0 {
		t.Error("the sync hook was called after an error of the customize hook")
	}
	customize.err = nil
	if _, err := caller.call(t, nil); err != nil || customize.calls() != 1 || sync.calls() != 1 {
		t.Errorf("after the error: %v", err)
	}
	customize.err = errors.New("refused again")
	if _, err := caller.call(t, nil); err != nil || customize.calls() != 0 {
		t.Errorf("the cached response is not used: %v", err)
	}
}

// The customize hook has a breaker of its own, so that its errors do not hold the parent for the sync hook.
func TestCustomizeHookHasOwnBreaker(t *testing.T) {
	customize := &countedHook{err: tooManySteps}
	caller, _ := newCaller(build.Hooks{Sync: &countedHook{}, Customize: customize})
	for range 5 {
		if _, err := caller.call(t, nil); !errors.Is(err, tooManySteps) {
			t.Errorf("error %v, want that of the customize hook", err)
		}
	}
	if got := customize.calls(); got != 2 {
		t.Errorf("the customize hook was called %d times, want 2 before it is held", got)
	}
	if sync, custom := caller.Version.Breaker.Held().Parents, caller.Version.CustomizeBreaker.Held().Parents; sync != 0 || custom != 1 || caller.Version.Held().Parents != 1 {
		t.Errorf("%d parents are held for the sync hook and %d for the customize hook, want 0 and 1", sync, custom)
	}
}

func TestCustomizeHookIsCalledAgainAfterSwitch(t *testing.T) {
	script, webhook := &countedHook{}, &countedHook{}
	f := &hook.Fallback{Script: script, Webhook: webhook}
	caller, _ := newCaller(build.Hooks{Customize: f})
	if err := caller.relate(t, nil); err != nil {
		t.Fatal(err)
	}
	script.err = tooManySteps
	for range 2 {
		_, _ = f.Call(t.Context(), &hook.Request{Parent: objecttest.Widget(nil)})
	}
	script.calls()
	webhook.calls()
	for i, want := range []int{1, 0} {
		if err := caller.relate(t, nil); err != nil {
			t.Fatal(err)
		}
		if got := webhook.calls(); got != want || script.calls() != 0 {
			t.Errorf("call %d after the switch: the webhook was called %d times, want %d", i, got, want)
		}
	}
}

func TestCustomizeHookIsCalledForEachRevision(t *testing.T) {
	customize, older := &countedHook{}, &countedHook{}
	caller, _ := newCaller(build.Hooks{Sync: &countedHook{}, Customize: customize})
	parent := objecttest.Widget(nil)
	all := variants(caller, nil, nil)
	all[1].Customize, all[2].Customize = older, nil // the script of r2 has no customize hook
	for i, want := range []int{1, 0} {
		if err := caller.Relate(t.Context(), parent, all); err != nil {
			t.Fatal(err)
		}
		if current, r1 := customize.calls(), older.calls(); current != want || r1 != want {
			t.Errorf("call %d: the hooks were called %d and %d times, want %d", i, current, r1, want)
		}
	}
	for i, v := range all {
		if v.Related == nil || v.Related.Len() != 0 {
			t.Errorf("variant %d has the related objects %v, want an empty set", i, v.Related)
		}
	}
	if got := len(caller.Customized.Responses); got != 3 {
		t.Errorf("%d responses are cached, want one for each variant", got)
	}
	if err := caller.Relate(t.Context(), parent, all[:1]); err != nil || len(caller.Customized.Responses) != 1 {
		t.Errorf("%d responses are cached when there are no older revisions any more, want 1; error %v", len(caller.Customized.Responses), err)
	}
	older.err = errors.New("refused")
	var ofRevision *RevisionError
	if err := caller.Relate(t.Context(), parent, all); !errors.As(err, &ofRevision) || !errors.Is(err, older.err) {
		t.Errorf("error %v, want that of revision r1", err)
	}
}

func TestNoRelatedObjectsWithoutCustomizeHook(t *testing.T) {
	caller, _ := newCaller(build.Hooks{Sync: &countedHook{}})
	all := variants(caller, nil, nil)
	if err := caller.Relate(t.Context(), objecttest.Widget(nil), all); err != nil || all[0].Related != nil || caller.Customized.Selected {
		t.Errorf("related objects %v, shown %t, error %v", all[0].Related, caller.Customized.Selected, err)
	}
}

func TestRuleForUnservedResource(t *testing.T) {
	customize := &countedHook{response: hook.Response{Related: []hook.RelatedRule{{APIVersion: "example.org/v1", Resource: "gadgets"}}}}
	caller, _ := newCaller(build.Hooks{Sync: &countedHook{}, Customize: customize})
	for range 2 { // the response is cached; discovery is asked each time
		if err := caller.relate(t, nil); err == nil || !strings.HasPrefix(err.Error(), "relatedResources[0] of the customize hook: ") {
			t.Errorf("error %v, want one for the first rule", err)
		}
	}
	if got := customize.calls(); got != 1 {
		t.Errorf("the hook was called %d times, want once", got)
	}
	for group, want := range map[string]bool{"example.org": true, "example.com": false, "": false} {
		if got := caller.Customized.NamesGroup(group); got != want {
			t.Errorf("a cached response names a resource in the group %q: %t, want %t", group, got, want)
		}
	}
}

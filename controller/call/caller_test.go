package call

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/redact"
	"metascript/controller/throttle"
	"metascript/engine"
)

// guardCanary returns a canary for one parent: one reported success makes it good, and one reported error gives it up.
func guardCanary() *throttle.Canary {
	return throttle.NewCanary(50, nil, func() int { return 1 }, func() {})
}

func TestGuard(t *testing.T) {
	fails := errors.New("refused")
	for _, c := range []struct {
		name         string
		fallback     bool // the fallback is active when the call begins
		switches     bool // it switches during the call
		held         bool // the breaker holds the parent
		countSuccess bool
		err          error // of the call
		called       bool
		canary       throttle.Outcome // Undecided if nothing was reported
		heldAfter    bool
		want         error // that the returned error wraps; nil: there is none
	}{
		{name: "success", countSuccess: true, called: true, canary: throttle.Good},
		{name: "success that does not count", called: true, canary: throttle.Undecided},
		{name: "an error of the script", countSuccess: true, err: tooManySteps, called: true, canary: throttle.GivenUp, want: tooManySteps},
		{name: "an error of the script, success does not count", err: tooManySteps, called: true, canary: throttle.GivenUp, want: tooManySteps},
		{name: "an error that is not the script's", countSuccess: true, err: fails, called: true, canary: throttle.Undecided, want: fails},
		{name: "an error for an older revision", countSuccess: true, err: &RevisionError{"r1", tooManySteps}, called: true, canary: throttle.Undecided, want: tooManySteps},
		{name: "held", countSuccess: true, held: true, canary: throttle.Undecided, heldAfter: true, want: tooManySteps},
		{name: "the fallback is active", fallback: true, countSuccess: true, called: true, canary: throttle.Undecided},
		{name: "the fallback is active and the parent is held", fallback: true, held: true, countSuccess: true, called: true, canary: throttle.Undecided},
		{name: "the fallback is active and its webhook fails", fallback: true, countSuccess: true, err: fails, called: true, canary: throttle.Undecided, want: fails},
		{name: "the fallback switches and the webhook succeeds", switches: true, countSuccess: true, called: true, canary: throttle.Undecided},
		{name: "the fallback switches and the webhook fails", switches: true, countSuccess: true, err: fails, called: true, canary: throttle.Undecided, want: fails},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &hook.Fallback{Script: &countedHook{err: tooManySteps}, Webhook: &countedHook{}}
			if c.fallback {
				f.Script, f.Unloaded = nil, errors.New("no file")
			}
			caller, _ := newCaller(build.Hooks{Sync: f})
			parent := objecttest.Widget(nil)
			key, question, breaker := object.RefOf(parent), throttle.InputFor(parent, hook.Sync), caller.Version.Breaker
			caller.Version.Canary = guardCanary()
			if c.held {
				for range throttle.StrikesAllowed {
					_ = breaker.Note(key, question, tooManySteps, time.Now())
				}
			}
			called := false
			switched, err := caller.guard(hook.Sync, breaker, parent, c.countSuccess, func() error {
				called = true
				if c.switches { // it does after two failures in a row
					for range 2 {
						_, _ = f.Call(t.Context(), &hook.Request{Parent: parent})
					}
				}
				return c.err
			})
			if called != c.called {
				t.Errorf("the hook was called: %t, want %t", called, c.called)
			}
			if switched != c.switches {
				t.Errorf("it reports a switch: %t, want %t", switched, c.switches)
			}
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if got, _ := caller.Version.Canary.Outcome(time.Now()); got != c.canary {
				t.Errorf("the canary's outcome is %d, want %d", got, c.canary)
			}
			if got := breaker.Held().Parents > 0; got != c.heldAfter {
				t.Errorf("the parent is held afterwards: %t, want %t", got, c.heldAfter)
			}
		})
	}
}

// The canary is given the error of the script, and the breaker replaces it afterwards.
func TestBreakerHoldsParentAfterRepeatedErrors(t *testing.T) {
	script := &countedHook{err: tooManySteps}
	caller, _ := newCaller(build.Hooks{Sync: script})
	var held *throttle.HeldError
	for i := range throttle.StrikesAllowed + 2 {
		_, err := caller.call(t, nil)
		wantHeld, wantCalls := i >= throttle.StrikesAllowed-1, 1
		if i >= throttle.StrikesAllowed {
			wantCalls = 0
		}
		if errors.As(err, &held) != wantHeld || !errors.Is(err, tooManySteps) {
			t.Errorf("call %d: error %v; want a HeldError: %t", i, err, wantHeld)
		}
		if wantHeld && held.New != (wantCalls == 1) {
			t.Errorf("call %d: New is %t", i, held.New)
		}
		if got := script.calls(); got != wantCalls {
			t.Errorf("call %d: the hook was called %d times, want %d", i, got, wantCalls)
		}
	}
	if got := caller.Version.Held(); got.Parents != 1 || got.First != objecttest.WidgetRef("default", "w") {
		t.Errorf("held: %+v", got)
	}
	for name, release := range map[string]func() (*hook.Response, error){
		"another generation": func() (*hook.Response, error) {
			return caller.call(t, func(o *object.Object) { o.SetGeneration(2) })
		},
		"ResetFailures": func() (*hook.Response, error) {
			caller.Version.ResetFailures(objecttest.WidgetRef("default", "w"))
			return caller.call(t, nil)
		},
		"Forget": func() (*hook.Response, error) {
			caller.Version.Forget(objecttest.WidgetRef("default", "w"))
			return caller.call(t, nil)
		},
	} {
		for range throttle.StrikesAllowed {
			_, _ = caller.call(t, nil)
		}
		script.calls()
		if _, err := release(); script.calls() != 1 {
			t.Errorf("%s: the hook was not called: %v", name, err)
		}
	}
}

func TestTimeoutPausesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &countedHook{err: &engine.Error{Kind: engine.KindTimeout, Msg: "late"}}
		caller, _ := newCaller(build.Hooks{Sync: script})
		var pause *throttle.PauseError
		if _, err := caller.call(t, nil); !errors.As(err, &pause) || !pause.New {
			t.Fatalf("error %v, want a new PauseError", err)
		}
		wait := pause.Wait
		script.err = nil
		time.Sleep(wait - time.Second)
		if _, err := caller.call(t, nil); !errors.As(err, &pause) || pause.New || pause.Wait != time.Second {
			t.Errorf("before the end of the pause: error %v, want a PauseError of 1s", err)
		}
		if got := script.calls(); got != 1 {
			t.Errorf("the hook was called %d times, want once", got)
		}
		time.Sleep(time.Second)
		if _, err := caller.call(t, nil); err != nil || script.calls() != 1 {
			t.Errorf("after the pause: error %v", err)
		}
	})
}

// A Caller calls the hooks of the version that it was made with, and reports the results to it, whatever replaces it.
func TestVersionIsReplacedDuringCall(t *testing.T) {
	current, previous := &countedHook{}, 0
	var version *Version // that a Reconciler would use next
	caller, _ := newCaller(build.Hooks{Sync: hookFunc(func(*hook.Request) (*hook.Response, error) {
		previous++
		version = NewVersion(build.Hooks{Sync: current}, nil, func() { t.Error("the new version holds a parent") })
		version.Canary = guardCanary()
		return nil, tooManySteps
	})})
	version = caller.Version
	caller.Version.Canary = guardCanary()
	if _, err := caller.call(t, nil); !errors.Is(err, tooManySteps) {
		t.Fatalf("error %v, want that of the previous version", err)
	}
	if result, _ := caller.Version.Canary.Outcome(time.Now()); result != throttle.GivenUp {
		t.Errorf("the canary of the previous version: %d, want that it is given up", result)
	}
	if result, _ := version.Canary.Outcome(time.Now()); result != throttle.Undecided {
		t.Errorf("the canary of the new version: %d, want that it is undecided", result)
	}
	caller.Version.Canary = throttle.NoCanary()
	if _, err := caller.call(t, nil); err == nil || caller.Version.Held().Parents != 1 || version.Held().Parents != 0 {
		t.Errorf("error %v; %d parents are held in the previous version and %d in the new one, want 1 and 0", err, caller.Version.Held().Parents, version.Held().Parents)
	}
	if previous != 2 || current.calls() != 0 {
		t.Errorf("the hooks of the previous version were called %d times, want 2, and those of the new one none", previous)
	}
	caller.Version = version
	if _, err := caller.call(t, nil); err != nil || current.calls() != 1 {
		t.Errorf("a parent that the previous version held is held in the new one: %v", err)
	}
}

func TestHooksOfRejectedVersionAreNotCalled(t *testing.T) {
	sync := &countedHook{}
	caller, _ := newCaller(build.Hooks{Sync: sync})
	caller.Version.Canary = guardCanary()
	caller.Version.Canary.GiveUp(errors.New("too many errors"))
	_, err := caller.call(t, nil)
	if !errors.Is(err, kube.ErrRequeue) || !throttle.IsGivenUp(err) || sync.calls() != 0 {
		t.Errorf("error %v, want a kube.ErrRequeue and a GivenUpError", err)
	}
}

func TestWhichHookIsCalled(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*object.Object)
		want   string
	}{
		"a parent":                         {nil, "sync"},
		"deleted, without our finalizer":   {objecttest.Deleting, "sync"},
		"deleted, with another finalizer":  {objecttest.All(objecttest.WithFinalizers("other"), objecttest.Deleting), "sync"},
		"deleted, with our finalizer":      {objecttest.All(objecttest.WithFinalizers("example.com/f"), objecttest.Deleting), "finalize"},
		"not deleted, with our finalizer":  {objecttest.WithFinalizers("example.com/f"), "sync"},
		"not selected, with our finalizer": {objecttest.All(objecttest.WithFinalizers("example.com/f"), func(o *object.Object) { o.SetLabels(nil) }), "finalize"},
	} {
		sync, finalize := &countedHook{}, &countedHook{}
		caller, _ := newCaller(build.Hooks{Sync: sync, Finalize: finalize})
		caller.Binding.Parents[0].Selectors[0].Labels = labels.SelectorFromSet(labels.Set{"app": "w"})
		selected := func(o *object.Object) { o.SetLabels(map[string]string{"app": "w"}) }
		if c.change != nil {
			selected = objecttest.All(selected, c.change)
		}
		if _, err := caller.call(t, selected); err != nil {
			t.Fatal(err)
		}
		called, finalizing := "", false
		for which, h := range map[string]*countedHook{"sync": sync, "finalize": finalize} {
			for _, req := range h.requests {
				called, finalizing = called+which, req.Finalizing
			}
		}
		if called != c.want || finalizing != (c.want == "finalize") {
			t.Errorf("%s: called %q with finalizing %t, want %q", name, called, finalizing, c.want)
		}
	}
}

func TestEventsAreRecordedForSuccessfulCall(t *testing.T) {
	sync := &countedHook{response: hook.Response{Warnings: []error{errors.New("a % sign")}, Events: []hook.Event{{Type: "Normal", Reason: "Done", Message: "all"}}}}
	caller, recorded := newCaller(build.Hooks{Sync: sync})
	if _, err := caller.call(t, nil); err != nil {
		t.Fatal(err)
	}
	sync.err = errors.New("refused")
	if _, err := caller.call(t, nil); err == nil {
		t.Fatal("there is no error")
	}
	want := events{"Widget default/w Warning HookWarning: a % sign", "Widget default/w Normal Done: all"}
	if diff := cmp.Diff(want, *recorded); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// variants returns the current Widget and two older revisions of it, with these hooks.
func variants(caller *Caller, r1, r2 hook.Hook) []Variant {
	parent := objecttest.Widget(nil)
	all := []Variant{caller.Latest(parent), caller.Latest(parent), caller.Latest(parent)}
	all[1].Revision, all[1].Sync = "r1", r1
	all[2].Revision, all[2].Sync = "r2", r2
	return all
}

func TestCallRevisions(t *testing.T) {
	first, second, third := errors.New("first"), errors.New("second"), errors.New("third")
	for _, c := range []struct {
		name       string
		errs       [3]error
		want       error
		ofRevision string // in the RevisionError; "" if there is none
	}{
		{"all succeed", [3]error{}, nil, ""},
		{"the current parent fails", [3]error{first, nil, nil}, first, ""},
		{"an older revision fails", [3]error{nil, second, nil}, second, "r1"},
		{"both older revisions fail", [3]error{nil, second, third}, second, "r1"},
		{"all fail", [3]error{first, second, third}, first, ""},
	} {
		hooks := [3]*countedHook{}
		for i, err := range c.errs {
			hooks[i] = &countedHook{err: err, response: hook.Response{Status: map[string]any{"hook": i}, Warnings: []error{errors.New("warning")}}}
		}
		caller, recorded := newCaller(build.Hooks{Sync: hooks[0]})
		parent := objecttest.Widget(nil)
		responses, err := caller.CallRevisions(t.Context(), parent, &object.Set{}, variants(caller, hooks[1], hooks[2]))
		for i, h := range hooks {
			if got := h.calls(); got != 1 {
				t.Errorf("%s: hook %d was called %d times, want once", c.name, i, got)
			}
		}
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
		var ofRevision *RevisionError
		if errors.As(err, &ofRevision) != (c.ofRevision != "") || ofRevision != nil && !strings.Contains(err.Error(), "as in ControllerRevision "+c.ofRevision+": "+c.want.Error()+"; change the hook") {
			t.Errorf("%s: error %v, want one of revision %q", c.name, err, c.ofRevision)
		}
		if c.want != nil {
			if responses != nil || len(*recorded) > 0 {
				t.Errorf("%s: %d responses and events %v after an error", c.name, len(responses), *recorded)
			}
			continue
		}
		for i, response := range responses {
			if response.Status["hook"] != i {
				t.Errorf("%s: response %d is that of hook %v", c.name, i, response.Status["hook"])
			}
		}
		if len(responses) != 3 || len(*recorded) != 1 {
			t.Errorf("%s: %d responses, want 3; events %v, want only those of the current parent", c.name, len(responses), *recorded)
		}
	}
}

func TestRequestForOlderRevision(t *testing.T) {
	widget, other := objecttest.Widget(nil).GroupVersionKind(), object.Kind{Version: "v1", Kind: "Pod"}
	latest := hook.Request{
		Parent: objecttest.Widget(nil), Expect: hook.Expect{Selector: labels.Everything(), Labels: map[string]string{"a": "b"}},
		Versioned: map[object.Kind]bool{widget: true, other: true},
	}
	older := objecttest.Widget(func(o *object.Object) { o.Map()["spec"] = map[string]any{"version": "1"} })
	got := forRevision(latest, Variant{Parent: older, Revision: "r1"})
	if got.Parent != older || got.Expect.Selector != nil || got.Expect.Labels["a"] != "b" {
		t.Errorf("got the parent %v and %+v", got.Parent, got.Expect)
	}
	if diff := cmp.Diff(map[object.Kind]bool{other: true}, got.Versioned); diff != "" {
		t.Errorf("versioned kinds (-want +got):\n%s", diff)
	}
	if len(latest.Versioned) != 2 || latest.Expect.Selector == nil {
		t.Errorf("the request for the current parent was changed: %+v", latest)
	}
}

// If the fallback switches during calls for several revisions, their responses may be of different implementations.
func TestFallbackSwitchDuringCall(t *testing.T) {
	for _, several := range []bool{false, true} {
		script := &countedHook{err: tooManySteps}
		f := &hook.Fallback{Script: script, Webhook: &countedHook{response: hook.Response{Status: map[string]any{"from": "webhook"}}}}
		caller, _ := newCaller(build.Hooks{Sync: f})
		if _, err := f.Call(t.Context(), &hook.Request{Parent: objecttest.Widget(nil)}); err == nil {
			t.Fatal("the fallback is active after one failure")
		}
		revisions := variants(caller, &countedHook{}, &countedHook{})
		if !several {
			revisions = revisions[:1]
		}
		responses, err := caller.CallRevisions(t.Context(), objecttest.Widget(nil), &object.Set{}, revisions)
		if active, _ := f.Active(); !active {
			t.Fatal("the fallback is not active after two failures")
		}
		switch {
		case several && (responses != nil || !errors.Is(err, kube.ErrRequeue)):
			t.Errorf("several revisions: %d responses, error %v, want a kube.ErrRequeue", len(responses), err)
		case !several && (err != nil || responses[0].Status["from"] != "webhook"):
			t.Errorf("one revision: error %v, want the webhook's response", err)
		}
	}
}

func TestPanicInHookIsAnError(t *testing.T) {
	panics := hookFunc(func(*hook.Request) (*hook.Response, error) { panic("out of range") })
	for name, c := range map[string]struct{ current, older hook.Hook }{
		"for the current parent":    {panics, &countedHook{}},
		"for an older revision":     {&countedHook{}, panics},
		"for more than one of them": {panics, panics},
	} {
		caller, _ := newCaller(build.Hooks{Sync: c.current})
		_, err := caller.CallRevisions(t.Context(), objecttest.Widget(nil), &object.Set{}, variants(caller, c.older, &countedHook{}))
		if err == nil || !strings.Contains(err.Error(), "panic: out of range") {
			t.Errorf("%s: error %v, want the panic", name, err)
		}
	}
}

func TestErrorsDoNotContainSecrets(t *testing.T) {
	secret := objecttest.ParseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, stringData: {password: correct-horse-battery}}`)
	children := &object.Set{}
	children.Put(secret)
	failing := &countedHook{err: errors.New("cannot log in with correct-horse-battery")}
	caller, _ := newCaller(build.Hooks{Sync: failing})
	ctx := redact.NewContext(t.Context(), redact.New())
	_, err := caller.CallHook(ctx, objecttest.Widget(nil), children)
	if err == nil || strings.Contains(err.Error(), "correct-horse") || !strings.Contains(err.Error(), "cannot log in with") {
		t.Errorf("error %v, want it without the password", err)
	}
}

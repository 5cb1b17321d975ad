package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/related"
	"metascript/controller/spec"
	"metascript/controller/spec/spectest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A hookFunc is a hook that calls the function.
type hookFunc func(context.Context, *hook.Request) (*hook.Response, error)

func (f hookFunc) Call(ctx context.Context, req *hook.Request) (*hook.Response, error) {
	return f(ctx, req)
}

// The hooks of tests, by the identity of their version. Each parent has the child of its name.
var hooks = map[string]hookFunc{
	"one": keeps, "two": keeps,
	"typo": func(context.Context, *hook.Request) (*hook.Response, error) {
		return &hook.Response{Children: &object.Set{}}, nil
	},
	"fails": func(context.Context, *hook.Request) (*hook.Response, error) { return nil, errors.New("broken") },
	"hangs": func(ctx context.Context, _ *hook.Request) (*hook.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	},
}

// keeps returns the child of the name of the parent.
func keeps(_ context.Context, req *hook.Request) (*hook.Response, error) {
	set := &object.Set{}
	set.Put(objecttest.ConfigMap(req.Parent.GetName(), nil))
	return &hook.Response{Children: set}, nil
}

// A world is a controller with 20 Widgets, of which each has one ConfigMap.
type world struct {
	*testing.T
	Guard
	caches  *informer.Factory
	options Options
	changed chan struct{}
	opened  []string // the versions that were opened
}

func newWorld(t *testing.T, change ...func(parent *object.Object)) *world {
	t.Helper()
	var objects []runtime.Object
	for i := range 20 {
		parent := objecttest.Widget(func(o *object.Object) {
			o.SetName(fmt.Sprint("w", i))
			o.SetUID(types.UID(fmt.Sprint("uid-", i)))
			for _, f := range change {
				f(o)
			}
		})
		objects = append(objects, parent, objecttest.ConfigMap(parent.GetName(), parent))
	}
	kinds := map[schema.GroupVersionResource]string{objecttest.Widgets: "WidgetList", objecttest.ConfigMaps: "ConfigMapList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(objects...)...)
	w := &world{T: t, caches: informer.NewFactory(client, slog.New(slog.DiscardHandler)), changed: make(chan struct{}, 100)}
	w.options = Options{Caches: &related.Caches{}, Turns: NewTurns()}
	t.Cleanup(w.Stop)
	return w
}

// open opens the version of that identity.
func (w *world) open(c *build.Candidate) (*Side, error) {
	w.opened = append(w.opened, c.Identity)
	if hooks[c.Identity] == nil {
		return nil, errors.New("it does not load")
	}
	kind := object.Kind{Version: "v1", Kind: "ConfigMap"}
	b := &binding.Binding{
		ID: spec.ID{Kind: "CompositeController", Name: "c"}, Controller: object.New(map[string]any{}), Finalizer: "example.com/f",
		Parents: []*binding.ParentResource{{
			ParentRule: &spec.ParentRule{
				Resource:  kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true, HasStatus: true},
				Selectors: []spec.Selector{{Labels: labels.Everything()}},
			},
			Cache: w.caches.Open(informer.Spec{Resource: objecttest.Widgets, Namespaced: true}),
		}},
		Rules: plan.Rules{kind: plan.InPlace}, Kinds: map[object.Kind]bool{kind: true}, Match: claim.GeneratedSelector, Labels: claim.GeneratedLabels,
		Children: []claim.Cache{{Kind: kind, Informer: w.caches.Open(informer.Spec{Resource: objecttest.ConfigMaps, Namespaced: true})}},
	}
	b.Claimer = &claim.BySelector{Children: b.Children, Selector: b.Match}
	return &Side{b, build.Hooks{Sync: hooks[c.Identity], Finalize: hooks[c.Identity], Scripted: true}}, nil
}

const guarded = "{parentResource: {apiVersion: example.com/v1, resource: widgets}, script: {file: a.star, guard: {maxDeletes: 10%}}}"

// version returns the version of that identity, which would replace another one; "" is none.
func (w *world) version(identity, before string) *Version {
	w.Helper()
	d := spectest.Composite(w.T, guarded)
	v := &Version{
		Candidate: &build.Candidate{Declaration: d, Object: object.New(map[string]any{"kind": "CompositeController", "metadata": map[string]any{"name": "c", "generation": int64(7)}}), Identity: identity},
		Leads:     true, Open: w.open, Changed: func() { w.changed <- struct{}{} },
	}
	if before != "" {
		d.Status.ActiveGeneration, v.Runs = 6, true
		v.Before = &build.Candidate{Declaration: d, Object: v.Object, Identity: before}
	}
	return v
}

// decide checks a version until the guard has decided.
func (w *world) decide(v *Version) error {
	w.Helper()
	for {
		err := w.Check(w.Context(), v, w.options)
		if !IsPending(err) {
			return err
		}
		select {
		case <-w.changed:
		case <-time.After(time.Minute):
			w.Fatalf("nothing changes: %v", err)
		}
	}
}

func TestVersionIsHeldByWhatItWouldDo(t *testing.T) {
	for _, c := range []struct {
		now, before string
		reason      string // why it is held; "": it is let through
		text        string // in the message
	}{
		{"typo", "one", v1alpha1.ReasonGuardExceeded, "delete 20 of 20 children (maxDeletes: 10%, which is 2)"},
		{"one", "typo", "", "within the limits"},
		{"typo", "gone", v1alpha1.ReasonGuardExceeded, "delete 20 of 20"}, // the version before does not load any more
		{"typo", "fails", v1alpha1.ReasonGuardExceeded, "delete 20 of 20"},
		{"fails", "one", "", "its hooks fail for 20 parents"},
	} {
		t.Run(c.before+" to "+c.now, func(t *testing.T) {
			w := newWorld(t)
			v := w.version(c.now, c.before)
			err := w.decide(v)
			if c.reason == "" {
				if passed := w.PassedAs(c.now); err != nil || passed == nil || !strings.Contains(passed.Message, c.text) {
					t.Errorf("error %v, passed %+v", err, passed)
				}
				return
			}
			if err == nil || Reason(err) != c.reason || !strings.Contains(err.Error(), c.text) || IsIdle(err) {
				t.Fatalf("error %v", err)
			}
			opened := len(w.opened)
			if again := w.decide(w.version(c.now, c.before)); again == nil || len(w.opened) != opened {
				t.Errorf("it was computed again: %v", again)
			}
			v.Object.SetAnnotations(map[string]string{ApprovedAnnotation: Digest(c.now)})
			if err := w.decide(v); err != nil || w.PassedAs(c.now).Reason != v1alpha1.ReasonGuardApproved {
				t.Errorf("with the annotation: %v", err)
			}
			if err := w.decide(w.version(c.now, c.before)); err == nil {
				t.Error("without the annotation it is let through")
			}
		})
	}
}

// A version that is edited while it is computed what it would do is not decided about.
func TestEditEndsComputation(t *testing.T) {
	w := newWorld(t)
	if err := w.Check(t.Context(), w.version("hangs", "one"), w.options); !IsPending(err) || Reason(err) != v1alpha1.ReasonGuardRunning {
		t.Fatal(err)
	}
	if err := w.decide(w.version("typo", "one")); err == nil || !strings.Contains(err.Error(), "sha256:typo") {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	if err := w.Check(ctx, w.version("hangs", "one"), w.options); !IsPending(err) {
		t.Fatal(err)
	}
	stop() // the server ends
	w.Stop()
}

func TestComputationHasTimeLimit(t *testing.T) {
	w := newWorld(t)
	w.options.TimeLimit = 50 * time.Millisecond
	err := w.decide(w.version("hangs", "one"))
	if err == nil || Reason(err) != v1alpha1.ReasonGuardIncomplete || !strings.Contains(err.Error(), "it takes too long: the limit is 50ms; so far, for 0 parents") {
		t.Error(err)
	}
}

func TestGuardsTakeTurns(t *testing.T) {
	w := newWorld(t)
	for range cap(w.options.Turns) {
		w.options.Turns <- struct{}{}
	}
	v := w.version("typo", "one")
	for {
		err := w.Check(t.Context(), v, w.options)
		if !IsPending(err) {
			t.Fatal(err)
		}
		if strings.Contains(err.Error(), "new versions of other controllers") {
			break
		}
		<-w.changed
	}
	<-w.options.Turns
	if err := w.decide(v); err == nil {
		t.Error("it is let through")
	}
}

func TestVersionsThatAreNotComputed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Version)
		reason string // of the condition; "": it stays as it is
		held   bool
		idle   bool
	}{
		{"no guard", func(v *Version) { v.Script.Guard = nil }, v1alpha1.ReasonNoGuard, false, false},
		{"nothing is written", func(v *Version) { v.Unlimited = true }, v1alpha1.ReasonNoGuard, false, false},
		{"the first version", func(v *Version) { v.Before, v.Status.ActiveGeneration, v.Runs = nil, 0, false }, v1alpha1.ReasonNothingToCompare, false, false},
		{"it ran before the server started", func(v *Version) {
			v.Status.ActiveGeneration, v.Status.Script, v.Built.Status.Digest = 7, &v1alpha1.ScriptStatus{Digest: "d"}, "d"
		}, "", false, false},
		{"it is the last good one", func(v *Version) { v.Before.Identity = "typo" }, "", false, false},
		{"other scripts ran", func(v *Version) {
			v.Status.ActiveGeneration, v.Status.Script, v.Built.Status.Digest = 7, &v1alpha1.ScriptStatus{Digest: "d"}, "e"
			v.Leads = false
		}, v1alpha1.ReasonGuardRunning, true, false},
		{"another server decides", func(v *Version) { v.Leads = false }, v1alpha1.ReasonGuardRunning, true, false},
		{"nothing runs yet, and another server decides", func(v *Version) { v.Leads, v.Runs, v.Status.ActiveGeneration = false, false, 0 }, v1alpha1.ReasonGuardRunning, true, false},
		{"the controller was paused, and another server decides", func(v *Version) {
			v.Leads, v.Runs, v.Status = false, false, wasReady(v1alpha1.ReasonPaused)
		}, v1alpha1.ReasonGuardRunning, true, true},
		{"the last good version was activated again after a pause", func(v *Version) { v.Leads, v.Status = false, wasReady(v1alpha1.ReasonPaused) }, v1alpha1.ReasonGuardRunning, true, false},
	} {
		w := newWorld(t)
		v := w.version("typo", "one")
		c.change(v)
		err := w.Check(t.Context(), v, w.options)
		if (err != nil) != c.held || IsIdle(err) != c.idle || c.held && Reason(err) != c.reason {
			t.Errorf("%s: %v", c.name, err)
		}
		if passed := w.PassedAs("typo"); !c.held && (passed == nil) != (c.reason == "") || passed != nil && passed.Reason != c.reason {
			t.Errorf("%s: %+v", c.name, passed)
		}
		if len(w.opened) > 0 {
			t.Errorf("%s: %q were opened", c.name, w.opened)
		}
	}
}

// wasReady returns a status in which nothing runs, with the reason of the condition Ready.
func wasReady(reason string) v1alpha1.ControllerStatus {
	return v1alpha1.ControllerStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason}}}
}

// A version is the first one only if nothing shows that another version has run. Otherwise all that it would do counts.
func TestVersionBeforeIsLost(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Version)
		idle   bool
	}{
		{"it cannot be used", func(v *Version) { v.Lost = true }, false},
		{"the status has its generation", func(v *Version) { v.Status.ActiveGeneration = 6 }, false},
		{"the status has its hooks", func(v *Version) { v.Status.Script = &v1alpha1.ScriptStatus{Hooks: []string{"sync"}} }, false},
		{"it was held before the server started", func(v *Version) {
			v.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionGuardPassed, Reason: v1alpha1.ReasonGuardExceeded}}
		}, false},
		{"the controller was paused", func(v *Version) { v.Status, v.Lost = wasReady(v1alpha1.ReasonPaused), true }, true},
		{"it was held after a pause", func(v *Version) { v.Status, v.Lost = wasReady(v1alpha1.ReasonNotRunning), true }, true},
	} {
		w := newWorld(t)
		v := w.version("typo", "")
		c.change(v)
		if err := w.decide(v); err == nil || Reason(err) != v1alpha1.ReasonGuardExceeded || IsIdle(err) != c.idle {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

// After a pause nothing is started in place of a version that is held, until one was let through.
func TestPause(t *testing.T) {
	w := newWorld(t)
	w.Pause()
	v := w.version("typo", "one")
	v.Runs = false
	if err := w.decide(v); !IsIdle(err) {
		t.Fatal(err)
	}
	next := w.version("one", "typo")
	next.Runs = false
	if err := w.decide(next); err != nil {
		t.Fatal(err)
	}
	if err := w.decide(v); err == nil || IsIdle(err) {
		t.Errorf("after a version was let through: %v", err)
	}
}

// A version that was let through, but was not activated for some time, is computed again: the parents may be other ones.
func TestResultIsValidForSomeTime(t *testing.T) {
	w := newWorld(t)
	v := w.version("two", "one")
	for range 2 {
		if err := w.decide(v); err != nil || len(w.opened) != 2 {
			t.Fatalf("error %v, opened %q", err, w.opened)
		}
	}
	w.options.ValidFor = 1
	if err := w.Check(t.Context(), v, w.options); !IsPending(err) || len(w.opened) != 4 {
		t.Errorf("error %v, opened %q", err, w.opened)
	}
	if err := w.decide(v); err != nil {
		t.Error(err)
	}
}

// An annotation that names another version is reported.
func TestAnnotationOfAnotherVersion(t *testing.T) {
	w := newWorld(t)
	v := w.version("typo", "one")
	v.Object.SetAnnotations(map[string]string{ApprovedAnnotation: Digest("other")})
	err := w.decide(v)
	want := `
the annotation metacontroller.k8s.io/guard-approved has no effect on this version, since its value is "sha256:other"
if that is intended, let this version through: kubectl annotate --overwrite compositecontrollers c metacontroller.k8s.io/guard-approved=sha256:typo`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v\nwant at the end %s", err, want)
	}
}

// What is deleted because a parent is being deleted does not count.
func TestParentsThatAreBeingDeleted(t *testing.T) {
	w := newWorld(t, func(o *object.Object) {
		now := metav1.Now()
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers([]string{"example.com/f"})
	})
	if err := w.decide(w.version("typo", "one")); err != nil || !strings.Contains(w.PassedAs("typo").Message, "delete 0, recreate 0, update 0 and create 0 children, and change 20 of 20 parents") {
		t.Errorf("error %v, passed %+v", err, w.PassedAs("typo"))
	}
}

func TestVersionThatCannotBeOpened(t *testing.T) {
	w := newWorld(t)
	if err := w.Check(t.Context(), w.version("gone", "one"), w.options); err == nil || Holds(err) {
		t.Error(err)
	}
}

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/revisions"
	"metascript/controller/rollout"
	"metascript/controller/transition"
)

var configMapKind = object.Kind{Version: "v1", Kind: "ConfigMap"}

// roll makes ConfigMaps a kind that rolls, with these ControllerRevisions.
func roll(r *Reconciler, stored ...runtime.Object) {
	kinds := map[schema.GroupVersionResource]string{v1alpha1.ControllerRevisions: "ControllerRevisionList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(stored...)...)
	caches := informer.NewFactory(client, slog.New(slog.DiscardHandler))
	r.binding.Rules[configMapKind] = plan.RollingInPlace
	r.binding.Labels = claim.GeneratedLabels
	r.binding.Revisions = &revisions.Revisions{
		Rules: rollout.Rules{Kinds: map[object.Kind]rollout.Rule{configMapKind: {InPlace: true}}},
		Paths: rollout.DefaultPaths, Parent: r.binding.Parents[0].Resource,
		Labels: claim.GeneratedLabels, Match: claim.GeneratedSelector, GetLive: r.binding.GetLive,
		Cache: caches.Open(informer.Spec{Resource: v1alpha1.ControllerRevisions}),
	}
	reset(r)
}

// at returns a hook that returns ConfigMaps with the version in the parent's spec.
func at(names ...string) hookFunc {
	return func(req *hook.Request) (*hook.Response, error) {
		version := req.Parent.Map()["spec"].(map[string]any)["version"]
		set := &object.Set{}
		for _, name := range names {
			o := configMapAt(name, version, nil)
			o.SetLabels(req.Expect.Labels)
			set.Put(o)
		}
		return &hook.Response{Children: set, Status: map[string]any{"version": version}, Finalized: true}, nil
	}
}

func configMapAt(name string, version any, parent *object.Object) *object.Object {
	o := objecttest.ConfigMap(name, parent)
	o.Map()["data"] = map[string]any{"version": version}
	if parent != nil {
		want := configMapAt(name, version, nil)
		want.SetLabels(o.GetLabels())
		objecttest.Applied(o, want)
	}
	return o
}

func atVersion(version string) func(*object.Object) {
	return func(o *object.Object) { o.Map()["spec"] = map[string]any{"version": version} }
}

// revisionAt returns the ControllerRevision of the widget for a version.
func revisionAt(version string, children ...any) *object.Object {
	o := object.New(map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "ControllerRevision",
		"metadata":    map[string]any{"name": version, "namespace": "default", "resourceVersion": "1"},
		"parentPatch": map[string]any{"spec": map[string]any{"version": version}},
		"children":    []any{map[string]any{"apiGroup": "", "kind": "ConfigMap", "names": children}},
	})
	o.SetOwnerReferences([]metav1.OwnerReference{object.ControllerRef(objecttest.Widget(nil))})
	return o
}

// updatedOf returns the condition Updated in a status, such as "True OnLatestRevision".
func updatedOf(status map[string]any) string {
	for _, c := range transition.Conditions(status) {
		if c["type"] == rollout.UpdatedCondition {
			return fmt.Sprint(c["status"], " ", c["reason"])
		}
	}
	return ""
}

const firstRevision = "widgets.example.com-"

func TestRolloutStoresRevisionsBeforeChildren(t *testing.T) {
	parent := objecttest.Widget(atVersion("2"))
	for _, c := range []struct {
		name     string
		children []runtime.Object
		stored   []runtime.Object
		want     []string // without the name of the revision that is created, which is long
	}{
		{"the first time", nil, nil,
			[]string{"create ControllerRevision", "create ConfigMap default/a", "create ConfigMap default/b", "update status Widget default/w"}},
		{"the first step",
			[]runtime.Object{configMapAt("a", "1", parent), configMapAt("b", "1", parent)},
			[]runtime.Object{revisionAt("1", "a", "b")},
			[]string{"create ControllerRevision", "update ControllerRevision default/1", "update ConfigMap default/a", "update status Widget default/w"}},
		{"the last step",
			[]runtime.Object{configMapAt("a", "2", parent), configMapAt("b", "1", parent)},
			[]runtime.Object{revisionAt("1", "b"), revisionAt("2", "a")},
			[]string{"update ControllerRevision default/2", "delete ControllerRevision default/1", "update ConfigMap default/b", "update status Widget default/w"}},
		{"the end",
			[]runtime.Object{configMapAt("a", "2", parent), configMapAt("b", "2", parent)},
			[]runtime.Object{revisionAt("2", "a", "b")},
			[]string{"update status Widget default/w"}},
		{"an orphan of an earlier reconcile",
			[]runtime.Object{configMapAt("a", "2", parent), configMapAt("b", "2", parent)},
			[]runtime.Object{orphaned(revisionAt("2", "a", "b"))},
			[]string{"update ControllerRevision default/2", "update status Widget default/w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, write := newTestReconciler(t, at("a", "b"), nil, append(c.children, parent)...)
			roll(r, c.stored...)
			r.binding.GetLive = func(_ context.Context, o *object.Object) (*object.Object, error) { return o, nil }
			r.binding.Revisions.GetLive = r.binding.GetLive
			ops, err := reconcileOnce(t, r, write)
			for i, op := range ops {
				if at := strings.Index(op, " default/"+firstRevision); at > 0 {
					ops[i] = op[:at]
				}
			}
			if diff := cmp.Diff(c.want, ops); diff != "" || err != nil {
				t.Errorf("operations (-want +got), error %v:\n%s", err, diff)
			}
		})
	}
}

func orphaned(o *object.Object) *object.Object {
	o.SetOwnerReferences(nil)
	o.SetLabels(map[string]string{claim.GeneratedLabel: "u1", revisions.GroupLabel: "example.com", revisions.ResourceLabel: "widgets"})
	return o
}

func TestNoChildIsWrittenWhenRevisionIsNotStored(t *testing.T) {
	parent := objecttest.Widget(atVersion("2"))
	conflict := apierrors.NewConflict(schema.GroupResource{}, "x", nil)
	for _, c := range []struct {
		name    string
		err     error
		requeue bool
	}{
		{"a conflict", conflict, true},
		{"the cache is stale", apierrors.NewAlreadyExists(schema.GroupResource{}, "x"), true},
		{"it is forbidden", apierrors.NewForbidden(schema.GroupResource{}, "x", nil), false},
	} {
		r, write := newTestReconciler(t, at("a"), nil, parent, configMapAt("a", "1", parent))
		roll(r, revisionAt("1", "a"))
		write.Fail = func(plan.Op) error { return c.err }
		ops, err := reconcileOnce(t, r, write)
		if len(ops) != 1 || !strings.HasPrefix(ops[0], "create ControllerRevision") {
			t.Errorf("%s: operations %v, want only that of the revision", c.name, ops)
		}
		if err == nil || errors.Is(err, kube.ErrRequeue) != c.requeue {
			t.Errorf("%s: error %v, want ErrRequeue: %t", c.name, err, c.requeue)
		}
	}
}

func TestOnlyConditionIsWrittenWhenHookFailsForOlderRevision(t *testing.T) {
	parent := objecttest.Widget(atVersion("2"))
	failing := func(req *hook.Request) (*hook.Response, error) {
		if version := req.Parent.Map()["spec"].(map[string]any)["version"]; version == "1" {
			return nil, fmt.Errorf("version 1 is none of mine")
		}
		return at("a")(req)
	}
	for name, c := range map[string]struct {
		hook hookFunc
		want string
	}{
		"an error": {failing, "called for the object as in ControllerRevision 1: version 1 is none of mine; change the hook so that it supports this revision too, or delete that ControllerRevision"},
		"a panic": {func(req *hook.Request) (*hook.Response, error) {
			response, err := failing(req)
			if err != nil {
				panic("no")
			}
			return response, nil
		}, "panic: no"},
	} {
		r, write := newTestReconciler(t, c.hook, nil, parent, configMapAt("a", "1", parent))
		roll(r, revisionAt("1", "a"))
		ops, err := reconcileOnce(t, r, write)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
		if name == "an error" && !slices.Equal(ops, []string{"update status Widget default/w"}) || name == "a panic" && len(ops) > 0 {
			t.Errorf("%s: operations %v", name, ops)
		}
	}
}

func TestInvalidRevisionStopsReconcile(t *testing.T) {
	parent := objecttest.Widget(atVersion("2"))
	r, write := newTestReconciler(t, at("a"), nil, parent, configMapAt("a", "1", parent))
	damaged := revisionAt("1", "a")
	damaged.Map()["children"] = "a"
	roll(r, damaged)
	ops, err := reconcileOnce(t, r, write)
	if len(ops) > 0 || err == nil || !strings.Contains(err.Error(), `ControllerRevision default/1 cannot be used: children is "a", want a list; correct it, or delete it`) {
		t.Errorf("operations %v, error %v", ops, err)
	}
}

func TestMergeOfRevisionResponses(t *testing.T) {
	parent := objecttest.Widget(atVersion("3"))
	versions := make(chan string, 3)
	testHook := func(req *hook.Request) (*hook.Response, error) {
		version := req.Parent.Map()["spec"].(map[string]any)["version"].(string)
		versions <- version
		response, err := at("a", "b")(req)
		response.ResyncAfter = map[string]time.Duration{"1": time.Minute, "2": time.Second}[version]
		response.Finalized = version != "2"
		return response, err
	}
	r, write := newTestReconciler(t, hookFunc(testHook), nil, parent, configMapAt("a", "2", parent), configMapAt("b", "1", parent))
	roll(r, revisionAt("1", "b"), revisionAt("2", "a"))
	fillCaches(t, r)
	children, err := r.binding.Claimer.Claim(t.Context(), parent, write)
	if err != nil {
		t.Fatal(err)
	}
	got, observed, err := r.newReconciliation(object.RefOf(parent)).desiredState(t.Context(), parent, children, write)
	if err != nil {
		t.Fatal(err)
	}
	if got.ResyncAfter != time.Second || got.Finalized || got.Status["version"] != "3" || observed.Len() != 2 {
		t.Errorf("response %+v for %d children, want the status of the latest, ResyncAfter of a second, and not finalized", got, observed.Len())
	}
	if updated := updatedOf(got.Status); updated != "False RolloutProgressing" {
		t.Errorf("condition %s, want False RolloutProgressing", updated)
	}
	called := map[string]bool{<-versions: true, <-versions: true, <-versions: true}
	if len(called) != 3 {
		t.Errorf("called for %v, want all three versions", called)
	}
}

// An older revision may have another selector.
func TestChildrenThatSelectorDoesNotMatchAreDropped(t *testing.T) {
	r, _ := newTestReconciler(t, at("a"), nil)
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	r.binding.Match = func(*object.Object) (labels.Selector, error) { return labels.Parse("app=new") }
	old, selected := objecttest.ConfigMap("old", nil), objecttest.ConfigMap("new", nil)
	selected.SetLabels(map[string]string{"app": "new"})
	set := &object.Set{}
	set.Put(old)
	set.Put(selected)
	got := r.newReconciliation(objecttest.WidgetRef("default", "w")).roller.selectedChildren(objecttest.Widget(nil), set)
	if got.Len() != 1 || got.Group(configMapKind)[0] != selected {
		t.Errorf("%d children are selected, want one", got.Len())
	}
}

func TestUpdatedConditionKeepsTransitionTimeAndOtherConditions(t *testing.T) {
	parent := objecttest.Widget(func(o *object.Object) {
		o.Map()["status"] = map[string]any{"kept": true, "conditions": []any{
			map[string]any{"type": "Updated", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"},
		}}
	})
	r, _ := newTestReconciler(t, at(), nil)
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	for _, c := range []struct {
		name   string
		status map[string]any
		is     rollout.Condition
		same   bool // the transition time
		types  []any
	}{
		{"the status is the parent's", nil, rollout.Condition{Reason: rollout.Waiting}, true, []any{"Updated"}},
		{"the hook returns conditions", map[string]any{"conditions": []any{map[string]any{"type": "Updated"}, map[string]any{"type": "Ready"}}}, rollout.Condition{Reason: rollout.Progressing}, true, []any{"Ready", "Updated"}},
		{"the condition changes", map[string]any{}, rollout.Condition{Status: true, Reason: rollout.OnLatest}, false, []any{"Updated"}},
	} {
		status := r.newReconciliation(objecttest.WidgetRef("default", "w")).roller.withUpdatedCondition(parent, c.status, c.is)
		var types []any
		for _, condition := range transition.Conditions(status) {
			types = append(types, condition["type"])
			if condition["type"] == "Updated" && (condition["lastTransitionTime"] == "2020-01-01T00:00:00Z") != c.same {
				t.Errorf("%s: %v, want the same transition time: %t", c.name, condition, c.same)
			}
		}
		if diff := cmp.Diff(c.types, types); diff != "" {
			t.Errorf("%s: conditions (-want +got):\n%s", c.name, diff)
		}
		if (status["kept"] == true) != (c.status == nil) {
			t.Errorf("%s: status %v", c.name, status)
		}
	}
	if status := r.newReconciliation(objecttest.WidgetRef("default", "w")).roller.withUpdatedCondition(parent, map[string]any{"conditions": "none"}, rollout.Condition{}); status["conditions"] != "none" {
		t.Errorf("conditions that are not a list were replaced: %v", status)
	}
}

// Our own changes of a ControllerRevision queue no parent. Other changes may.
func TestRevisionEvents(t *testing.T) {
	valid, invalid, notOwned := revisionAt("1", "a"), revisionAt("1", int64(1)), revisionAt("1", "a")
	notOwned.SetOwnerReferences(nil)
	for _, c := range []struct {
		name         string
		old, current *object.Object
		queued       int
	}{
		{"it is created", nil, valid, 0},
		{"its children change", valid, revisionAt("1", "b"), 0},
		{"its patch changes", valid, revisionAt("2", "a"), 1},
		{"it becomes invalid", valid, invalid, 1},
		{"it becomes valid", invalid, valid, 1},
		{"it is deleted", valid, nil, 1},
		{"one without an owner is deleted", notOwned, nil, 0},
	} {
		r, _ := newTestReconciler(t, at(), nil)
		t.Cleanup(r.close)
		t.Cleanup(r.queue.ShutDown)
		r.handler.onRevision(c.old, c.current)
		if got := r.queue.Len(); got != c.queued {
			t.Errorf("%s: %d parents are queued, want %d", c.name, got, c.queued)
		}
	}
}

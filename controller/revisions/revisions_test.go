package revisions

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/claim"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/plan/plantest"
	"metascript/controller/rollout"
	"metascript/controller/spec"
	"metascript/controller/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// widget returns the parent of all tests, with this version in its spec.
func widget(version string) *object.Object {
	return objecttest.Widget(func(o *object.Object) { o.Map()["spec"] = map[string]any{"version": version} })
}

// stored returns a ControllerRevision for a version of widget and a script. Its controller is owner, unless that is nil.
func stored(name, version, script string, owner *object.Object) *object.Object {
	o := object.New(map[string]any{"parentPatch": map[string]any{"spec": map[string]any{"version": version}}})
	o.SetGroupVersionKind(Kind)
	o.SetNamespace("default")
	o.SetName(name)
	o.SetLabels(map[string]string{GroupLabel: "example.com", ResourceLabel: "widgets", claim.GeneratedLabel: "u1"})
	if script != "" {
		o.SetAnnotations(map[string]string{rollout.ScriptAnnotation: script})
	}
	if owner != nil {
		o.SetOwnerReferences(claim.ControlledBy(owner, nil))
	}
	return o
}

// newRevisions returns the Revisions for widgets in a cluster with these ControllerRevisions. The parent exists.
func newRevisions(t *testing.T, existing ...*object.Object) *Revisions {
	t.Helper()
	var objects []runtime.Object
	for _, o := range existing {
		objects = append(objects, o)
	}
	kinds := map[schema.GroupVersionResource]string{v1alpha1.ControllerRevisions: "ControllerRevisionList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(objects...)...)
	cache := informer.NewFactory(client, slog.New(slog.DiscardHandler)).Open(informer.Spec{Resource: v1alpha1.ControllerRevisions})
	t.Cleanup(cache.Close)
	if !cache.WaitForSync(t.Context()) {
		t.Fatal("the cache is not filled")
	}
	return &Revisions{
		Paths: rollout.DefaultPaths, Parent: kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true},
		Labels: claim.GeneratedLabels, Match: claim.GeneratedSelector, Cache: cache,
		GetLive: func(context.Context, *object.Object) (*object.Object, error) { return widget("1"), nil },
	}
}

// describe returns the names of revisions with their scripts.
func describe(revisions ...rollout.Revision) []string {
	var all []string
	for _, r := range revisions {
		all = append(all, strings.TrimSpace(r.Name+" "+r.Script))
	}
	return all
}

// nameOf returns the name of a new revision.
func nameOf(t *testing.T, version, script string) string {
	t.Helper()
	name, err := rollout.Name(objecttest.Widgets.GroupResource(), "u1", map[string]any{"spec": map[string]any{"version": version}}, script)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestReadReturnsAllRevisions(t *testing.T) {
	parent, other := widget("2"), objecttest.Widget(func(o *object.Object) { o.SetUID("u2") })
	for name, c := range map[string]struct {
		stored []*object.Object
		digest string // of the scripts; "" if they are not part of revisions
		latest string
		older  []string
	}{
		"none is stored":          {nil, "", nameOf(t, "2", ""), nil},
		"it is stored":            {[]*object.Object{stored("a", "2", "", parent)}, "", "a", nil},
		"an older one":            {[]*object.Object{stored("a", "1", "", parent)}, "", nameOf(t, "2", ""), []string{"a"}},
		"another parent's":        {[]*object.Object{stored("a", "1", "", other)}, "", nameOf(t, "2", ""), nil},
		"of another script":       {[]*object.Object{stored("a", "2", "d1", parent)}, "d2", nameOf(t, "2", "d2") + " d2", []string{"a d1"}},
		"of this script":          {[]*object.Object{stored("a", "2", "d2", parent), stored("b", "1", "d2", parent)}, "d2", "a d2", []string{"b d2"}},
		"stored without a script": {[]*object.Object{stored("a", "2", "", parent)}, "d2", nameOf(t, "2", "d2") + " d2", []string{"a"}},
		"scripts no longer used":  {[]*object.Object{stored("a", "2", "d1", parent)}, "", "a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRevisions(t, c.stored...)
			if c.digest != "" {
				r.Scripts = &store.ScriptVersions{Digest: c.digest}
			}
			latest, older, err := r.Read(t.Context(), parent, &plantest.Recorder{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.latest}, describe(latest)); diff != "" {
				t.Errorf("latest (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.older, describe(older...)); diff != "" {
				t.Errorf("older (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorForDamagedRevisionHasItsName(t *testing.T) {
	parent, damaged := widget("1"), stored("a", "1", "", widget("1"))
	damaged.Map()["parentPatch"] = "x"
	_, _, err := newRevisions(t, damaged).Read(t.Context(), parent, &plantest.Recorder{})
	if err == nil || !strings.Contains(err.Error(), "ControllerRevision default/a cannot be used: parentPatch is") {
		t.Errorf("error %v", err)
	}
}

func TestMatchingOrphansAreAdopted(t *testing.T) {
	deleting := objecttest.Widget(func(o *object.Object) {
		now := metav1.Now()
		o.SetDeletionTimestamp(&now)
	})
	ofGadget, unmatched := stored("b", "1", "", nil), stored("c", "1", "", nil)
	ofGadget.SetLabels(map[string]string{GroupLabel: "example.com", ResourceLabel: "gadgets", claim.GeneratedLabel: "u1"})
	unmatched.SetLabels(map[string]string{GroupLabel: "example.com", ResourceLabel: "widgets", claim.GeneratedLabel: "u2"})
	r := newRevisions(t, stored("a", "1", "", nil), ofGadget, unmatched)
	for _, c := range []struct {
		parent *object.Object
		writes []string
		older  []string
	}{
		{widget("2"), []string{"update ControllerRevision default/a"}, []string{"a"}},
		{deleting, nil, nil},
	} {
		write := &plantest.Recorder{}
		_, older, err := r.Read(t.Context(), c.parent, write)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.writes, write.Recorded()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(c.older, describe(older...)); diff != "" {
			t.Errorf("older revisions (-want +got):\n%s", diff)
		}
	}
	refused := errors.New("refused")
	if _, _, err := r.Read(t.Context(), widget("2"), &plantest.Recorder{Fail: func(plan.Op) error { return refused }}); !errors.Is(err, refused) {
		t.Errorf("error %v, want that of the write", err)
	}
}

// step returns a step that creates the revision new of widget and deletes the revision old.
func step(t *testing.T) rollout.Step {
	t.Helper()
	old, err := rollout.Decode(stored("old", "0", "", widget("0")))
	if err != nil {
		t.Fatal(err)
	}
	return rollout.Step{Latest: rollout.Revision{Name: "new", Patch: map[string]any{"spec": map[string]any{}}, Script: "d"}, Drop: []rollout.Revision{old}}
}

func TestScriptIsStoredBeforeRevision(t *testing.T) {
	write := &plantest.Recorder{}
	r := newRevisions(t)
	r.Scripts = &store.ScriptVersions{Digest: "d", Store: &store.Store{Namespace: "home", Writer: write}, Current: build.ScriptVersion{
		Script: &v1alpha1.ControllerScript{ScriptSource: v1alpha1.ScriptSource{Inline: "x"}},
	}}
	if err := r.Store(t.Context(), widget("1"), step(t), write); err != nil {
		t.Fatal(err)
	}
	want := []string{"create ConfigMap home/metascript-script-d", "create ControllerRevision default/new", "delete ControllerRevision default/old"}
	if diff := cmp.Diff(want, write.Recorded()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if script := write.Written()[1].GetAnnotations()[rollout.ScriptAnnotation]; script != "d" {
		t.Errorf("the revision refers to the script %q", script)
	}
	refused := errors.New("refused")
	failing := &plantest.Recorder{Fail: func(op plan.Op) error { return refused }}
	r.Scripts.Store.Writer = failing
	if err := r.Store(t.Context(), widget("1"), step(t), failing); !errors.Is(err, refused) || len(failing.Recorded()) != 1 {
		t.Errorf("error %v after the writes %q; want no revision that refers to a script that is not stored", err, failing.Recorded())
	}
}

func TestStepWithoutWritesStoresNoScript(t *testing.T) {
	write := &plantest.Recorder{}
	existing, err := rollout.Decode(stored("a", "1", "d", widget("1")))
	if err != nil {
		t.Fatal(err)
	}
	r := newRevisions(t)
	r.Scripts = &store.ScriptVersions{Digest: "d", Store: &store.Store{Writer: write}}
	if err := r.Store(t.Context(), widget("1"), rollout.Step{Latest: existing}, write); err != nil || len(write.Recorded()) > 0 {
		t.Errorf("error %v, writes %q", err, write.Recorded())
	}
}

func TestErrorsOfStore(t *testing.T) {
	controllerRevisions := v1alpha1.ControllerRevisions.GroupResource()
	exists, conflict := apierrors.NewAlreadyExists(controllerRevisions, "new"), apierrors.NewConflict(controllerRevisions, "new", errors.New("changed"))
	notFound, refused := apierrors.NewNotFound(controllerRevisions, "old"), errors.New("refused")
	deleting := stored("new", "1", "", nil)
	now := metav1.Now()
	deleting.SetDeletionTimestamp(&now)
	for name, c := range map[string]struct {
		verb    plan.Verb
		failure error
		live    *object.Object // what Live returns
		liveErr error
		requeue bool
		want    string // the beginning of the error; "" if there is none
	}{
		"deleted already":       {verb: plan.Delete, failure: notFound},
		"refused":               {verb: plan.Create, failure: refused, want: "refused"},
		"changed meanwhile":     {verb: plan.Delete, failure: conflict, requeue: true, want: "it changed meanwhile"},
		"not cached yet":        {verb: plan.Create, failure: exists, live: stored("new", "1", "", widget("1")), requeue: true, want: "it changed meanwhile"},
		"of another controller": {verb: plan.Create, failure: exists, live: stored("new", "1", "", nil), want: "create ControllerRevision default/new: it exists already, and Widget default/w is not its controller: delete it"},
		"being deleted":         {verb: plan.Create, failure: exists, live: deleting, requeue: true, want: "ControllerRevision default/new is still being deleted: it changed meanwhile"},
		"deleted meanwhile":     {verb: plan.Create, failure: exists, liveErr: notFound, requeue: true, want: "it changed meanwhile"},
		"unknown":               {verb: plan.Create, failure: exists, liveErr: refused, want: "read ControllerRevision default/new: refused"},
	} {
		r := newRevisions(t)
		r.GetLive = func(context.Context, *object.Object) (*object.Object, error) { return c.live, c.liveErr }
		err := r.Store(t.Context(), widget("1"), step(t), &plantest.Recorder{Fail: func(op plan.Op) error {
			if op.Verb == c.verb {
				return c.failure
			}
			return nil
		}})
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) || errors.Is(err, kube.ErrRequeue) != c.requeue {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestLabelsOfRevision(t *testing.T) {
	parent := objecttest.Widget(func(o *object.Object) {
		o.Map()["spec"] = map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "w"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "other", "tier": "t"}}},
		}
	})
	r := newRevisions(t)
	for name, c := range map[string]struct {
		labels func(*object.Object) map[string]string
		want   map[string]string
	}{
		"a generated selector":       {claim.GeneratedLabels, map[string]string{claim.GeneratedLabel: "u1"}},
		"the selector of the parent": {nil, map[string]string{"app": "w", "tier": "t"}},
	} {
		r.Labels = c.labels
		c.want[GroupLabel], c.want[ResourceLabel] = "example.com", "widgets"
		if diff := cmp.Diff(c.want, r.blank(parent).GetLabels()); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhichKindsRoll(t *testing.T) {
	pod := kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true}
	parent := kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true}
	declared := func(methods ...plan.Method) (*spec.Declaration, spec.Resolved) {
		d, resolved := &spec.Declaration{Parents: []spec.Parent{{Field: "parentResource"}}}, spec.Resolved{Parents: []kube.Resource{parent}}
		for _, method := range methods {
			rule := spec.Child{Method: method, Checks: []v1alpha1.StatusConditionCheck{{Type: "Ready"}}}
			d.Children, resolved.Children = append(d.Children, rule), append(resolved.Children, spec.ChildRule{Resource: pod, Method: method})
		}
		return d, resolved
	}
	ready := []rollout.Check{{Type: "Ready"}}
	for _, c := range []struct {
		methods []plan.Method
		want    map[object.Kind]rollout.Rule
	}{
		{nil, nil},
		{[]plan.Method{plan.InPlace}, nil},
		{[]plan.Method{plan.RollingInPlace, plan.Recreate}, nil},
		{[]plan.Method{plan.OnDelete, plan.RollingInPlace}, map[object.Kind]rollout.Rule{pod.ObjectKind(): {InPlace: true, Checks: ready}}},
		{[]plan.Method{plan.RollingRecreate}, map[object.Kind]rollout.Rule{pod.ObjectKind(): {Checks: ready}}},
	} {
		r, err := New(declared(c.methods...))
		if err != nil || (r == nil) != (c.want == nil) {
			t.Errorf("%v: got %v, %v", c.methods, r, err)
			continue
		}
		if r == nil {
			continue
		}
		if diff := cmp.Diff(c.want, r.Rules.Kinds); diff != "" {
			t.Errorf("%v: rules (-want +got):\n%s", c.methods, diff)
		}
		if diff := cmp.Diff(rollout.DefaultPaths, r.Paths); diff != "" {
			t.Errorf("%v: paths (-want +got):\n%s", c.methods, diff)
		}
	}
	parent.Namespaced = false
	if _, err := New(declared(plan.RollingInPlace)); err == nil || !strings.Contains(err.Error(), "parentResource widgets is cluster-scoped, and its children cannot have a rolling update method") {
		t.Errorf("error %v, want that a cluster-scoped parent cannot roll", err)
	}
}

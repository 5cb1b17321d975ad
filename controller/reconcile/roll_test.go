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

// roll makes the loop's ConfigMaps roll, with these ControllerRevisions.
func roll(l *Reconciler, stored ...runtime.Object) {
	kinds := map[schema.GroupVersionResource]string{v1alpha1.ControllerRevisions: "ControllerRevisionList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, stored...)
	caches := informer.NewFactory(client, slog.New(slog.DiscardHandler))
	l.b.Rules[configMapKind] = plan.RollingInPlace
	l.b.Labels = claim.GeneratedLabels
	l.b.Revisions = &revisions.Revisions{
		Rules: rollout.Rules{Kinds: map[object.Kind]rollout.Rule{configMapKind: {InPlace: true}}},
		Paths: rollout.DefaultPaths, Parent: l.b.Parents[0].Resource,
		Labels: claim.GeneratedLabels, Match: claim.GeneratedSelector, Live: l.b.Live,
		Cache: caches.Open(informer.Spec{Resource: v1alpha1.ControllerRevisions}),
	}
	reset(l)
}

// at is a hook that wants ConfigMaps with the version in the parent's spec.
func at(names ...string) answer {
	return func(req *hook.Request) (*hook.Response, error) {
		version := req.Parent.Object["spec"].(map[string]any)["version"]
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
	o.Object["data"] = map[string]any{"version": version}
	return o
}

func atVersion(version string) func(*object.Object) {
	return func(o *object.Object) { o.Object["spec"] = map[string]any{"version": version} }
}

// revisionAt is the widget's ControllerRevision of a version.
func revisionAt(version string, children ...any) *object.Object {
	o := &object.Object{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "ControllerRevision",
		"metadata":    map[string]any{"name": version, "namespace": "default", "resourceVersion": "1"},
		"parentPatch": map[string]any{"spec": map[string]any{"version": version}},
		"children":    []any{map[string]any{"apiGroup": "", "kind": "ConfigMap", "names": children}},
	}}
	o.SetOwnerReferences([]metav1.OwnerReference{object.ControllerRef(objecttest.Widget(nil))})
	return o
}

// updatedOf is the condition in the answer's status: "True OnLatestRevision".
func updatedOf(status map[string]any) string {
	for _, c := range transition.Conditions(status) {
		if c["type"] == rollout.UpdatedCondition {
			return fmt.Sprint(c["status"], " ", c["reason"])
		}
	}
	return ""
}

const firstRevision = "widgets.example.com-"

func TestARolloutStoresItsRevisionsBeforeItTouchesAChild(t *testing.T) {
	parent := objecttest.Widget(atVersion("2"))
	for _, c := range []struct {
		name     string
		children []runtime.Object
		stored   []runtime.Object
		want     []string // the revision that is made has a long name, left out here
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
		{"an orphan of the time before",
			[]runtime.Object{configMapAt("a", "2", parent), configMapAt("b", "2", parent)},
			[]runtime.Object{orphaned(revisionAt("2", "a", "b"))},
			[]string{"update ControllerRevision default/2", "update status Widget default/w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, write := NewTestLoop(t, at("a", "b"), nil, append(c.children, parent)...)
			roll(l, c.stored...)
			l.b.Live = func(_ context.Context, o *object.Object) (*object.Object, error) { return o, nil }
			l.b.Revisions.Live = l.b.Live
			ops, err := reconcileOnce(t, l, write)
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

func TestWhenARevisionCannotBeStoredNoChildIsTouched(t *testing.T) {
	parent := objecttest.Widget(atVersion("2"))
	conflict := apierrors.NewConflict(schema.GroupResource{}, "x", nil)
	for _, c := range []struct {
		name      string
		err       error
		lookAgain bool
	}{
		{"it changed meanwhile", conflict, true},
		{"our cache did not know of it", apierrors.NewAlreadyExists(schema.GroupResource{}, "x"), true},
		{"it is forbidden", apierrors.NewForbidden(schema.GroupResource{}, "x", nil), false},
	} {
		l, write := NewTestLoop(t, at("a"), nil, parent, configMapAt("a", "1", parent))
		roll(l, revisionAt("1", "a"))
		write.Fail = func(plan.Op) error { return c.err }
		ops, err := reconcileOnce(t, l, write)
		if len(ops) != 1 || !strings.HasPrefix(ops[0], "create ControllerRevision") {
			t.Errorf("%s: operations %v, want only the revision's", c.name, ops)
		}
		if err == nil || errors.Is(err, kube.ErrRequeue) != c.lookAgain {
			t.Errorf("%s: error %v, want that it says to look again: %t", c.name, err, c.lookAgain)
		}
	}
}

func TestOnlyTheConditionIsWrittenWhenTheHookFailsAboutAnOlderRevision(t *testing.T) {
	parent := objecttest.Widget(atVersion("2"))
	picky := func(req *hook.Request) (*hook.Response, error) {
		if version := req.Parent.Object["spec"].(map[string]any)["version"]; version == "1" {
			return nil, fmt.Errorf("version 1 is none of mine")
		}
		return at("a")(req)
	}
	for name, c := range map[string]struct {
		hook answer
		want string
	}{
		"an error": {picky, "asked about the object as ControllerRevision 1 has it: version 1 is none of mine; have the hook answer about it too, or delete that ControllerRevision"},
		"a panic": {func(req *hook.Request) (*hook.Response, error) {
			answer, err := picky(req)
			if err != nil {
				panic("no")
			}
			return answer, nil
		}, "panic: no"},
	} {
		l, write := NewTestLoop(t, c.hook, nil, parent, configMapAt("a", "1", parent))
		roll(l, revisionAt("1", "a"))
		ops, err := reconcileOnce(t, l, write)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
		if name == "an error" && !slices.Equal(ops, []string{"update status Widget default/w"}) || name == "a panic" && len(ops) > 0 {
			t.Errorf("%s: operations %v", name, ops)
		}
	}
}

func TestARevisionThatCannotBeReadStopsTheReconcile(t *testing.T) {
	parent := objecttest.Widget(atVersion("2"))
	l, write := NewTestLoop(t, at("a"), nil, parent, configMapAt("a", "1", parent))
	damaged := revisionAt("1", "a")
	damaged.Object["children"] = "a"
	roll(l, damaged)
	ops, err := reconcileOnce(t, l, write)
	if len(ops) > 0 || err == nil || !strings.Contains(err.Error(), `ControllerRevision default/1 cannot be used: children is "a", want a list; mend it, or delete it`) {
		t.Errorf("operations %v, error %v", ops, err)
	}
}

func TestTheAnswersAboutAllRevisionsAreOne(t *testing.T) {
	parent := objecttest.Widget(atVersion("3"))
	versions := make(chan string, 3)
	ask := func(req *hook.Request) (*hook.Response, error) {
		version := req.Parent.Object["spec"].(map[string]any)["version"].(string)
		versions <- version
		answer, err := at("a", "b")(req)
		answer.ResyncAfter = map[string]time.Duration{"1": time.Minute, "2": time.Second}[version]
		answer.Finalized = version != "2"
		return answer, err
	}
	l, write := NewTestLoop(t, answer(ask), nil, parent, configMapAt("a", "2", parent), configMapAt("b", "1", parent))
	roll(l, revisionAt("1", "b"), revisionAt("2", "a"))
	t.Cleanup(l.Close)
	t.Cleanup(l.queue.ShutDown)
	if !l.Synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	children, err := l.b.Owner.Claim(t.Context(), parent, write)
	if err != nil {
		t.Fatal(err)
	}
	got, observed, err := l.turn(object.RefOf(parent)).roller.desiredState(t.Context(), parent, children, write)
	if err != nil {
		t.Fatal(err)
	}
	if got.ResyncAfter != time.Second || got.Finalized || got.Status["version"] != "3" || observed.Len() != 2 {
		t.Errorf("answer %+v about %d children, want the status of the latest, to come again in a second, and not finalized", got, observed.Len())
	}
	if updated := updatedOf(got.Status); updated != "False RolloutProgressing" {
		t.Errorf("condition %s, want that it progresses", updated)
	}
	asked := map[string]bool{<-versions: true, <-versions: true, <-versions: true}
	if len(asked) != 3 {
		t.Errorf("asked about %v, want all three versions", asked)
	}
}

// The selector is part of the spec, and may change with it.
func TestWhatAnOlderRevisionWantsAndNobodyWouldRecogniseIsNotWanted(t *testing.T) {
	l, _ := NewTestLoop(t, at("a"), nil)
	t.Cleanup(l.Close)
	t.Cleanup(l.queue.ShutDown)
	l.b.Match = func(*object.Object) (labels.Selector, error) { return labels.Parse("app=new") }
	old, fresh := objecttest.ConfigMap("old", nil), objecttest.ConfigMap("new", nil)
	fresh.SetLabels(map[string]string{"app": "new"})
	set := &object.Set{}
	set.Put(old)
	set.Put(fresh)
	got := l.turn(objecttest.WidgetRef("default", "w")).roller.recognised(objecttest.Widget(nil), set)
	if got.Len() != 1 || got.Group(configMapKind)[0] != fresh {
		t.Errorf("%d children are recognised, want one", got.Len())
	}
}

func TestTheConditionKeepsItsTimeAndTheOthersTheirPlace(t *testing.T) {
	parent := objecttest.Widget(func(o *object.Object) {
		o.Object["status"] = map[string]any{"kept": true, "conditions": []any{
			map[string]any{"type": "Updated", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"},
		}}
	})
	l, _ := NewTestLoop(t, at(), nil)
	t.Cleanup(l.Close)
	t.Cleanup(l.queue.ShutDown)
	for _, c := range []struct {
		name   string
		status map[string]any
		is     rollout.Condition
		same   bool // time
		types  []any
	}{
		{"the status is the parent's", nil, rollout.Condition{Reason: rollout.Waiting}, true, []any{"Updated"}},
		{"conditions of the hook's", map[string]any{"conditions": []any{map[string]any{"type": "Updated"}, map[string]any{"type": "Ready"}}}, rollout.Condition{Reason: rollout.Progressing}, true, []any{"Ready", "Updated"}},
		{"it flips", map[string]any{}, rollout.Condition{Status: true, Reason: rollout.OnLatest}, false, []any{"Updated"}},
	} {
		status := l.turn(objecttest.WidgetRef("default", "w")).roller.withUpdated(parent, c.status, c.is)
		var types []any
		for _, condition := range transition.Conditions(status) {
			types = append(types, condition["type"])
			if condition["type"] == "Updated" && (condition["lastTransitionTime"] == "2020-01-01T00:00:00Z") != c.same {
				t.Errorf("%s: %v, want the time of before: %t", c.name, condition, c.same)
			}
		}
		if diff := cmp.Diff(c.types, types); diff != "" {
			t.Errorf("%s: conditions (-want +got):\n%s", c.name, diff)
		}
		if (status["kept"] == true) != (c.status == nil) {
			t.Errorf("%s: status %v", c.name, status)
		}
	}
	if odd := l.turn(objecttest.WidgetRef("default", "w")).roller.withUpdated(parent, map[string]any{"conditions": "none"}, rollout.Condition{}); odd["conditions"] != "none" {
		t.Errorf("conditions that are no list were replaced: %v", odd)
	}
}

// What we write ourselves leads to no reconcile; what others do to a ControllerRevision may.
func TestWhichChangesOfARevisionMatter(t *testing.T) {
	sound, damaged, strange := revisionAt("1", "a"), revisionAt("1", int64(1)), revisionAt("1", "a")
	strange.SetOwnerReferences(nil)
	for _, c := range []struct {
		name         string
		old, current *object.Object
		queued       int
	}{
		{"it is made", nil, sound, 0},
		{"it changes", sound, revisionAt("1", "b"), 0},
		{"it says something else", sound, revisionAt("2", "a"), 1},
		{"it is damaged", sound, damaged, 1},
		{"it is mended", damaged, sound, 1},
		{"it is gone", sound, nil, 1},
		{"somebody else's is gone", strange, nil, 0},
	} {
		l, _ := NewTestLoop(t, at(), nil)
		t.Cleanup(l.Close)
		t.Cleanup(l.queue.ShutDown)
		l.handler.onRevision(c.old, c.current)
		if got := l.queue.Len(); got != c.queued {
			t.Errorf("%s: %d parents are queued, want %d", c.name, got, c.queued)
		}
	}
}

func TestASchemaWithoutConditionsIsToldOfByWhatIsMissing(t *testing.T) {
	l, _ := NewTestLoop(t, at(), nil)
	t.Cleanup(l.Close)
	t.Cleanup(l.queue.ShutDown)
	const plain = "the API server does not store status.conditions as the hook returned it: does the schema of widgets.example.com have the field?"
	if got := l.status.notStored(objecttest.Widget(nil), "status.conditions"); got != plain {
		t.Errorf("got %q, want %q", got, plain)
	}
	roll(l)
	if got := l.status.notStored(objecttest.Widget(nil), "status.conditions"); !strings.Contains(got, "where the condition Updated tells how far a rollout is: give the schema of widgets.example.com the field") {
		t.Errorf("got %q", got)
	}
	if got := l.status.notStored(objecttest.Widget(nil), "status.phase"); !strings.Contains(got, "status.phase as the hook returned it") {
		t.Errorf("got %q", got)
	}
}

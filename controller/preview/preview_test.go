package preview

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/engine"
	"metascript/runtimes"
)

// texts returns the writes as text.
func (r *Result) texts() []string {
	var all []string
	for _, w := range r.Writes {
		text := strings.TrimSpace(fmt.Sprintf("%s %s %s", w.Effect, object.Describe(w.Object), w.Field))
		for of, is := range map[string]bool{" rolls": w.Rolls, " doubtful": w.Doubtful} {
			if is {
				text += of
			}
		}
		all = append(all, text)
	}
	return all
}

func TestEffects(t *testing.T) {
	parent := objecttest.Widget(nil)
	child := func(name, data string) *object.Object {
		o := objecttest.Matching(name, parent)
		o.SetOwnerReferences(objecttest.ConfigMap(name, parent).GetOwnerReferences())
		o.Map()["data"] = map[string]any{"key": data}
		return o
	}
	same := objecttest.Applied(child("same", "x"), configMap("same", "x"))
	existing := []runtime.Object{parent, child("changed", "old"), child("unwanted", "x"), same, objecttest.Matching("orphan", parent)}
	desired := wants(configMap("changed", "new"), configMap("same", "x"), configMap("new", "x"))
	deleteUnwanted := []string{"delete ConfigMap default/orphan", "delete ConfigMap default/unwanted"}
	for _, c := range []struct {
		method plan.Method
		want   []string
		left   int // differences that are not fixed
	}{
		{plan.InPlace, []string{"update ConfigMap default/changed data.key", "create ConfigMap default/new"}, 0},
		{plan.Recreate, []string{"recreate ConfigMap default/changed data.key", "create ConfigMap default/new"}, 0},
		{plan.RollingRecreate, []string{"recreate ConfigMap default/changed data.key rolls", "create ConfigMap default/new"}, 0},
		{plan.OnDelete, []string{"create ConfigMap default/new"}, 1},
	} {
		t.Run(string(c.method), func(t *testing.T) {
			w := newWorld(t, c.method, existing...)
			got := w.preview(t, build.Hooks{Sync: desired})
			if diff := cmp.Diff(append(slices.Clone(c.want), deleteUnwanted...), got.texts()); diff != "" || got.Err != nil {
				t.Errorf("error %v, writes (-want +got):\n%s", got.Err, diff)
			}
			if len(got.Suppressed) != c.left || got.Observed.Len() != 4 {
				t.Errorf("%d differences are left, want %d; %d children", len(got.Suppressed), c.left, got.Observed.Len())
			}
			other := w.preview(t, build.Hooks{Sync: wants(configMap("changed", "new"), configMap("same", "y"))})
			if rest := got.Without(other).texts(); !cmp.Equal(rest, c.want[len(c.want)-1:]) {
				t.Errorf("without what another version does too: %q", rest)
			}
		})
	}
}

// With server-side apply and nothing remembered, a difference may only be another form of a value.
func TestDoubtfulWritesAreMarked(t *testing.T) {
	parent := objecttest.Widget(nil)
	child := objecttest.ConfigMap("changed", parent)
	child.SetLabels(objecttest.Matching("changed", parent).GetLabels())
	child.Map()["data"] = map[string]any{"key": "old"}
	for method, want := range map[plan.Method]string{plan.InPlace: "update ConfigMap default/changed data.key", plan.Recreate: "recreate ConfigMap default/changed data.key"} {
		w := newWorld(t, method, parent, child)
		w.ServerSide = true
		if got := w.preview(t, build.Hooks{Sync: wants(configMap("changed", "new"))}).texts(); !cmp.Equal(got, []string{want}) {
			t.Errorf("%s: %q", method, got)
		}
		if got := w.preview(t, build.Hooks{Sync: wants(configMap("changed", "old"))}).texts(); method == plan.Recreate && !cmp.Equal(got, []string{"recreate ConfigMap default/changed doubtful"}) {
			t.Errorf("%s: %q", method, got)
		}
	}
}

func TestParentsForWhichNothingIsDone(t *testing.T) {
	failing := hookFunc(func(context.Context, *hook.Request) (*hook.Response, error) { return nil, errors.New("broken") })
	for _, c := range []struct {
		name   string
		parent *object.Object
		hooks  build.Hooks
		skip   Skip
		err    string
		writes int
	}{
		{"paused", objecttest.Widget(func(o *object.Object) {
			o.SetAnnotations(map[string]string{"metacontroller.k8s.io/paused": "true"})
		}), build.Hooks{Sync: wants()}, Paused, "", 0},
		{"the hook fails", objecttest.Widget(nil), build.Hooks{Sync: failing}, "", "broken", 0},
		{"the hook panics", objecttest.Widget(nil), build.Hooks{Sync: hookFunc(nil)}, "", "panic", 0},
		{"only the garbage collector deletes", objecttest.Widget(objecttest.All(objecttest.Deleting, objecttest.WithFinalizers("other"))), build.Hooks{Sync: wants()}, "", "", 0},
		{"the finalize hook was lost", objecttest.Widget(objecttest.All(objecttest.Deleting, objecttest.WithFinalizers("example.com/f"))), build.Hooks{Sync: wants(), Scripted: true}, NoHook, "", 0},
		{"nothing but the finalizer, without a sync hook", objecttest.Widget(nil), build.Hooks{Finalize: wants()}, NoHook, "", 1},
	} {
		w := newWorld(t, plan.InPlace, c.parent, objecttest.With(objecttest.ConfigMap("a", c.parent), func(o *object.Object) {
			o.SetLabels(objecttest.Matching("a", c.parent).GetLabels())
		}))
		got := w.preview(t, c.hooks)
		failed := got.Err != nil && strings.Contains(got.Err.Error(), c.err)
		if got.Skipped != c.skip || failed != (c.err != "") || len(got.Writes) != c.writes {
			t.Errorf("%s: skipped %q, error %v, writes %q", c.name, got.Skipped, got.Err, got.texts())
		}
	}
}

// The calls of a preview are not seen from outside, and do not switch a fallback of the version that runs.
func TestCallsAreQuiet(t *testing.T) {
	text := "def sync(parent, now):\n  print('hello')\n  return {'status': {'now': now}, 'children': [], 'events': [{'type': 'Normal', 'reason': 'R', 'message': 'm'}]}\n"
	program, err := runtimes.All()[engine.Starlark].Compile(t.Context(), engine.Script{Language: engine.Starlark, Entry: "a.star", Files: fstest.MapFS{"a.star": {Data: []byte(text)}}}, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	script := &hook.Script{
		Program: program, Name: "a.star", Function: hook.Sync,
		Log:     func(*hook.Request, engine.Message) { t.Error("a message was logged") },
		Observe: func(time.Duration, error) { t.Error("a call was counted") },
	}
	fallback := &hook.Fallback{Script: script, Webhook: hookFunc(func(context.Context, *hook.Request) (*hook.Response, error) {
		t.Error("the webhook was called")
		return nil, nil
	})}
	w := newWorld(t, plan.InPlace, objecttest.Widget(nil))
	p := New(w.Binding, build.Hooks{Sync: fallback, Scripted: true}, &w.related, func() time.Time { return time.Unix(0, 0) })
	defer p.Close()
	for range 3 {
		got := p.Parent(t.Context(), w.Parent(objecttest.WidgetRef("default", "w")), State{})
		if got.Err != nil || got.Response.Status["now"] != "1970-01-01T00:00:00Z" {
			t.Errorf("error %v, response %+v", got.Err, got.Response)
		}
	}
}

// The caches of related objects are opened, and the Secrets in them are known.
func TestRelatedObjects(t *testing.T) {
	secret := object.New(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "default"}, "data": map[string]any{"password": "aHVudGVyMg=="},
	})
	w := newWorld(t, plan.InPlace, objecttest.Widget(nil), secret)
	got := w.preview(t, build.Hooks{
		Customize: hookFunc(func(context.Context, *hook.Request) (*hook.Response, error) {
			return &hook.Response{Related: []hook.RelatedRule{{APIVersion: "v1", Resource: "secrets"}}}, nil
		}),
		Sync: hookFunc(func(ctx context.Context, req *hook.Request) (*hook.Response, error) {
			return nil, redact.FromContext(ctx).Error(fmt.Errorf("%d related, hunter2", req.Related.Len()))
		}),
	})
	if got.Err == nil || got.Err.Error() != "1 related, "+redact.Mark {
		t.Errorf("error %v", got.Err)
	}
}

func TestAllParents(t *testing.T) {
	var objects []runtime.Object
	for i := range 50 {
		objects = append(objects, objecttest.Widget(func(o *object.Object) { o.SetName(fmt.Sprint("w", i)) }))
	}
	w := newWorld(t, plan.InPlace, objects...)
	w.Only = func(ref object.Ref) bool { return ref.Name != "w7" }
	p := New(w.Binding, build.Hooks{Sync: wants(configMap("a", "x"))}, &w.related, nil)
	defer p.Close()
	var s Summary
	if err := p.All(t.Context(), 4, nil, s.Add); err != nil || s.Parents != 49 || s.Total.Creates != 49 || s.Changed != 49 {
		t.Errorf("error %v, %+v", err, s)
	}
	same := New(w.Binding, build.Hooks{Sync: wants(configMap("a", "x"))}, &w.related, nil)
	defer same.Close()
	var none Summary
	if err := p.All(t.Context(), 4, same, none.Add); err != nil || none.Parents != 49 || none.Changed != 0 {
		t.Errorf("compared with the same: error %v, %+v", err, none)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	n, enough := 0, errors.New("enough")
	if err := p.All(ctx, 4, nil, func(*Result) {
		if n++; n == 5 {
			stop(enough)
		}
	}); !errors.Is(err, enough) || n != 5 {
		t.Errorf("error %v after %d results", err, n)
	}
}

// Ask calls the hooks with the related objects of the parent, and plans nothing.
func TestAsk(t *testing.T) {
	secret := object.New(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "default"}, "data": map[string]any{"password": "aHVudGVyMg=="},
	})
	w := newWorld(t, plan.InPlace, objecttest.Widget(nil), secret)
	p := New(w.Binding, build.Hooks{
		Customize: hookFunc(func(context.Context, *hook.Request) (*hook.Response, error) {
			return &hook.Response{Related: []hook.RelatedRule{{APIVersion: "v1", Resource: "secrets"}}}, nil
		}),
		Sync: wants(configMap("a", "x")),
	}, &w.related, nil)
	defer p.Close()
	var calls []string
	parent := w.Parent(objecttest.WidgetRef("default", "w"))
	r := p.Ask(t.Context(), parent, time.Minute, func(c observe.Call) {
		related := 0
		if c.Request.Related != nil {
			related = c.Request.Related.Len()
		}
		calls = append(calls, fmt.Sprintf("%s %d %t", c.Name, related, c.Request.Now.IsZero()))
	})
	if diff := cmp.Diff([]string{"customize 0 false", "sync 1 false"}, calls); diff != "" || r.Err != nil || r.Response == nil || len(r.Writes) > 0 {
		t.Errorf("%+v, calls (-want +got):\n%s", r, diff)
	}
	p.Forget(r.Parent)
	cancel := informerThatNeverFills(w)
	defer cancel()
	if r := p.Ask(t.Context(), parent, time.Millisecond, func(observe.Call) {}); !errors.Is(r.Err, kube.ErrRequeue) {
		t.Errorf("error %v", r.Err)
	}
}

// informerThatNeverFills makes the next cache of related objects be of an API server that does not respond until the function that it
// returns is called.
func informerThatNeverFills(w *world) (respond func()) {
	client, wait := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{secrets.GroupVersionResource: "SecretList"}), make(chan struct{})
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-wait
		return false, nil, nil
	})
	caches := informer.NewFactory(client, slog.New(slog.DiscardHandler))
	w.related.Open = func(of kube.Resource) *informer.Informer {
		return caches.Open(informer.Spec{Resource: of.GroupVersionResource, Namespaced: true})
	}
	return func() { close(wait) }
}

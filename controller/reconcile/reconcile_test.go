package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/plan/plantest"
	"metascript/controller/spec"
)

const testFinalizer = "metacontroller.io/compositecontroller-c"

// A hookFunc is a hook that calls the function.
type hookFunc func(*hook.Request) (*hook.Response, error)

func (f hookFunc) Call(_ context.Context, req *hook.Request) (*hook.Response, error) { return f(req) }

// wants returns a hook that returns the ConfigMaps with these names, and a status.
func wants(names ...string) hookFunc {
	return func(req *hook.Request) (*hook.Response, error) {
		set := &object.Set{}
		for _, name := range names {
			set.Put(objecttest.ConfigMap(name, nil))
		}
		return &hook.Response{Children: set, Status: map[string]any{"observed": int64(req.Children.Len())}}, nil
	}
}

// newTestReconciler returns a Reconciler with widgets as parents and ConfigMaps as children, over caches with these objects. The
// Recorder has its writes.
func newTestReconciler(t testing.TB, sync, finalize hook.Hook, objects ...runtime.Object) (*Reconciler, *plantest.Recorder) {
	t.Helper()
	return newTestReconcilerOver(t, newTestClient(objects...), sync, finalize)
}

func newTestClient(objects ...runtime.Object) *fake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{objecttest.Widgets: "WidgetList", objecttest.ConfigMaps: "ConfigMapList"}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(objects...)...)
}

func newTestReconcilerOver(t testing.TB, client dynamic.Interface, sync, finalize hook.Hook) (*Reconciler, *plantest.Recorder) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	caches := informer.NewFactory(client, log)
	write := &plantest.Recorder{}
	b := &binding.Binding{
		ID: spec.ID{Kind: "CompositeController", Name: "c"}, Controller: object.New(map[string]any{}),
		Parents: []*binding.ParentResource{{
			ParentRule: &spec.ParentRule{
				Resource:  kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true, HasStatus: true},
				Selectors: []spec.Selector{{Labels: labels.Everything()}},
			},
			Cache: caches.Open(informer.Spec{Resource: objecttest.Widgets}),
		}},
		Finalizer: testFinalizer, Hooks: build.Hooks{Sync: sync, Finalize: finalize},
		Rules: plan.Rules{}, Kinds: map[object.Kind]bool{{Version: "v1", Kind: "ConfigMap"}: true},
		Match: claim.GeneratedSelector, Write: write, Workers: 2,
		GetLive: func(_ context.Context, o *object.Object) (*object.Object, error) {
			return nil, apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
		},
		Children: []claim.Cache{{
			Kind: object.Kind{Version: "v1", Kind: "ConfigMap"}, Informer: caches.Open(informer.Spec{Resource: objecttest.ConfigMaps}),
		}},
	}
	b.Claimer = &claim.BySelector{Children: b.Children, Selector: b.Match, GetLive: b.GetLive}
	events := kube.NewEvents(kubefake.NewClientset(), kube.EventBudget{})
	t.Cleanup(events.Shutdown)
	r := New(b, Options{Events: events, Log: log})
	r.extraWrites = nil // write records the writes in their order
	return r, write
}

// reset replaces the version of r by one with the hooks and revisions that its Binding has now.
func reset(r *Reconciler) {
	r.current.Store(call.NewVersion(r.binding.Hooks, r.binding.Revisions, func() {}))
}

// fillCaches waits until the caches of r are filled. It closes r when the test ends.
func fillCaches(t testing.TB, r *Reconciler) {
	t.Helper()
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	if !r.waitForSync(t.Context()) {
		t.Fatal("the caches did not fill")
	}
}

// reconcileOnce fills the caches, reconciles the widget w, and returns the operations. A preview must have said the same.
func reconcileOnce(t *testing.T, r *Reconciler, write *plantest.Recorder) ([]string, error) {
	t.Helper()
	fillCaches(t, r)
	key := objecttest.WidgetRef("default", "w")
	told := previewOf(t, r, key)
	_, err := r.worker.reconcileRecovering(t.Context(), r.newReconciliation(key))
	written := write.Recorded()
	if told != nil && err == nil && r.binding.Revisions == nil {
		compareWithPreview(t, told, written)
	}
	return written, err
}

func TestReconcile(t *testing.T) {
	const ours = testFinalizer
	finalized := func(req *hook.Request) (*hook.Response, error) {
		return &hook.Response{Children: &object.Set{}, Finalized: req.Finalizing}, nil
	}
	for _, c := range []struct {
		name           string
		parent         func(*object.Object)
		sync, finalize hook.Hook
		want           []string
	}{
		{"creates and deletes children, and writes the status",
			nil, wants("new"), nil,
			[]string{"create ConfigMap default/new", "delete ConfigMap default/old", "update status Widget default/w"}},
		{"adds the finalizer first if there is a finalize hook",
			nil, wants("old"), hookFunc(finalized),
			[]string{"update Widget default/w", "update status Widget default/w"}},
		{"removes the finalizer if there is no finalize hook any more",
			objecttest.WithFinalizers(ours, "other"), wants("old"), nil,
			[]string{"update Widget default/w", "update status Widget default/w"}},
		{"does not change the children of a parent that is being deleted if there is no finalize hook",
			objecttest.All(objecttest.Deleting, objecttest.WithFinalizers("other")), wants("new"), nil,
			[]string{"update status Widget default/w"}},
		{"calls finalize for a parent that is being deleted, deletes its children, and removes the finalizer",
			objecttest.All(objecttest.Deleting, objecttest.WithFinalizers(ours)), wants("new"), hookFunc(finalized),
			[]string{"delete ConfigMap default/old", "update Widget default/w"}},
		{"creates nothing for a parent that is finalized",
			objecttest.All(objecttest.Deleting, objecttest.WithFinalizers(ours)), wants("new"), hookFunc(func(req *hook.Request) (*hook.Response, error) {
				response, err := wants("new")(req)
				response.Status, response.Finalized = nil, true
				return response, err
			}),
			[]string{"delete ConfigMap default/old", "update Widget default/w"}},
		{"does not change the children if the garbage collector deletes them",
			objecttest.All(objecttest.Deleting, objecttest.WithFinalizers(ours, "foregroundDeletion")), wants("new"), hookFunc(finalized),
			[]string{"update Widget default/w"}},
		{"adds no finalizer to a parent that is being deleted",
			objecttest.All(objecttest.Deleting, objecttest.WithFinalizers("other")), wants("new"), hookFunc(finalized),
			[]string{"update status Widget default/w"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := objecttest.Widget(c.parent)
			r, write := newTestReconciler(t, c.sync, c.finalize, parent, objecttest.ConfigMap("old", parent))
			got, err := reconcileOnce(t, r, write)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingIsWrittenWhenHookFails(t *testing.T) {
	for name, testHook := range map[string]hookFunc{
		"with an error": func(*hook.Request) (*hook.Response, error) { return nil, errors.New("out of order") },
		"by a panic":    func(*hook.Request) (*hook.Response, error) { panic("out of order") },
	} {
		t.Run(name, func(t *testing.T) {
			parent := objecttest.Widget(nil)
			r, write := newTestReconciler(t, testHook, nil, parent, objecttest.ConfigMap("old", parent))
			got, err := reconcileOnce(t, r, write)
			if err == nil || !strings.Contains(err.Error(), "out of order") {
				t.Errorf("got error %v, want the hook's", err)
			}
			if len(got) > 0 {
				t.Errorf("it wrote: %v", got)
			}
		})
	}
}

func TestFailedWriteDoesNotStopOthers(t *testing.T) {
	parent := objecttest.Widget(nil)
	r, write := newTestReconciler(t, wants("a", "b"), nil, parent, objecttest.ConfigMap("old", parent))
	write.Fail = func(op plan.Op) error {
		if op.Object.GetName() == "a" || op.Object.GetName() == "old" {
			return fmt.Errorf("no %s today", op.Verb)
		}
		return nil
	}
	got, err := reconcileOnce(t, r, write)
	want := []string{"create ConfigMap default/a", "create ConfigMap default/b", "delete ConfigMap default/old", "update status Widget default/w"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if err == nil || err.Error() != "no create today\nno delete today" {
		t.Errorf("got error %v, want both failures", err)
	}
}

func TestConflictIsRequeued(t *testing.T) {
	parent := objecttest.Widget(nil)
	r, write := newTestReconciler(t, wants("old"), nil, parent, objecttest.ConfigMap("old", parent))
	write.Fail = func(plan.Op) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "widgets"}, "w", errors.New("it was modified"))
	}
	if _, err := reconcileOnce(t, r, write); !errors.Is(err, kube.ErrRequeue) {
		t.Errorf("got error %v, want ErrRequeue", err)
	}
}

func TestDeletedParentIsForgotten(t *testing.T) {
	r, write := newTestReconciler(t, wants("new"), nil)
	r.states.of(objecttest.WidgetRef("default", "w"))
	if got, err := reconcileOnce(t, r, write); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v, want nothing", got, err)
	}
	if len(r.states.all) > 0 {
		t.Error("there is a state for a parent that is gone")
	}
}

func TestPanicForOneParentDoesNotAffectOthers(t *testing.T) {
	good := objecttest.Widget(func(o *object.Object) { o.SetName("good"); o.SetUID("u2") })
	calls := make(chan string, 100)
	testHook := func(req *hook.Request) (*hook.Response, error) {
		calls <- req.Parent.GetName()
		if req.Parent.GetName() == "w" {
			panic("out of order")
		}
		return wants("of-" + req.Parent.GetName())(req)
	}
	r, write := newTestReconciler(t, hookFunc(testHook), nil, objecttest.Widget(nil), good)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- run(ctx, r, func() {}) }()
	panics, done := 0, false
	for panics < 2 || !done { // the hook is called again after the panic, and the other parent is reconciled
		panicked := <-calls == "w"
		if panicked {
			panics++
		}
		done = done || len(write.Recorded()) >= 2
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the Reconciler ended with %v", err)
	}
	for _, op := range write.Recorded() {
		if strings.Contains(op, "default/w") {
			t.Errorf("a write for the parent for which the hook panics: %s", op)
		}
	}
}

func TestJoinGroupsErrorsByCause(t *testing.T) {
	denied, full := errors.New("pods is forbidden"), errors.New("the quota is used up")
	for _, c := range []struct {
		name   string
		failed []error
		want   string
	}{
		{"one", []error{fmt.Errorf("create Pod a: %w", denied)}, "create Pod a: pods is forbidden"},
		{"three", []error{fmt.Errorf("create Pod a: %w", denied), fmt.Errorf("create Pod b: %w", denied), fmt.Errorf("create Pod c: %w", denied)}, "create Pod a and 2 more: pods is forbidden"},
		{"of several causes", []error{fmt.Errorf("create Pod a: %w", denied), fmt.Errorf("create Pod b: %w", full), fmt.Errorf("create Pod c: %w", denied), denied},
			"create Pod a and 1 more: pods is forbidden\ncreate Pod b: the quota is used up\npods is forbidden"},
		{"together with ErrRequeue", []error{kube.ErrRequeue, fmt.Errorf("create Pod a: %w", denied)}, "create Pod a: pods is forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := kube.Join(c.failed...)
			if err.Error() != c.want || !errors.Is(err, denied) {
				t.Errorf("got %q, want %q", err, c.want)
			}
		})
	}
}

// run begins r, waits until ctx is done, and ends r. It calls begun when the caches are filled.
func run(ctx context.Context, r *Reconciler, begun func()) error {
	defer r.End(ctx)
	if err := r.Begin(ctx, begun); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func TestPausedParentIsNotReconciled(t *testing.T) {
	called := false
	parent := objecttest.Widget(func(o *object.Object) { o.SetAnnotations(map[string]string{binding.PausedAnnotation: "true"}) })
	r, write := newTestReconciler(t, hookFunc(func(*hook.Request) (*hook.Response, error) {
		called = true
		return &hook.Response{Children: &object.Set{}}, nil
	}), nil, parent, objecttest.ConfigMap("old", parent))
	got, err := reconcileOnce(t, r, write)
	if err != nil || called || len(got) > 0 {
		t.Errorf("called %t, wrote %v, error %v: want no call, no write and no error", called, got, err)
	}
}

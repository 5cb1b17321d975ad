package reconcile

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/claim"
	"metascript/controller/informer"
	"metascript/controller/lease"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan/plantest"
)

// lost returns the child "a" of the parent without its labels.
func lost(parent *object.Object) *object.Object {
	o := objecttest.ConfigMap("a", parent)
	o.SetLabels(nil)
	return o
}

// newNarrowReconciler returns a Reconciler of a parent whose cache of children has only those with the label of generated selectors. The
// API server has the child "a" without it.
func newNarrowReconciler(t *testing.T, parent *object.Object) (*Reconciler, *plantest.Recorder) {
	t.Helper()
	client := newTestClient(parent)
	r, write := newTestReconcilerOver(t, client, wants(), nil)
	b := r.binding
	b.Children[0].Informer.Close()
	b.Children[0].Informer = informer.NewFactory(client, slog.New(slog.DiscardHandler)).Open(informer.Spec{Resource: objecttest.ConfigMaps, Label: claim.GeneratedLabel})
	b.ChildLabel, b.Left = claim.GeneratedLabel, &claim.Left{}
	b.GetLive = func(context.Context, *object.Object) (*object.Object, error) { return lost(parent), nil }
	b.Claimer = &claim.BySelector{Children: b.Children, Selector: b.Match, GetLive: b.GetLive, Left: b.Left}
	fillCaches(t, r)
	r.hasSynced.Store(true)
	return r, write
}

// writesToChildren reconciles the widget w. It returns the writes, without that of the status.
func (r *Reconciler) writesToChildren(t *testing.T, write *plantest.Recorder) []string {
	t.Helper()
	if _, err := r.worker.reconcileRecovering(t.Context(), r.newReconciliation(objecttest.WidgetRef("default", "w"))); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, op := range write.Recorded() {
		if op != "update status Widget default/w" {
			all = append(all, op)
		}
	}
	return all
}

func TestChildThatLeavesNarrowCacheIsReleased(t *testing.T) {
	parent := objecttest.Widget(nil)
	r, write := newNarrowReconciler(t, parent)
	r.handler.onChild(objecttest.ConfigMap("a", parent), nil)
	expectQueued(t, r, "default/w")
	if diff := cmp.Diff([]string{"update ConfigMap default/a"}, r.writesToChildren(t, write)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	for _, shown := range r.states.of(objecttest.WidgetRef("default", "w")).pending.shown {
		if !shown() {
			t.Error("the next reconcile waits until the cache shows an object that it lacks")
		}
	}
}

func TestStandbyNotesNoChildren(t *testing.T) {
	parent := objecttest.Widget(nil)
	r, write := newNarrowReconciler(t, parent)
	r.leading = lease.NewGate()
	r.handler.onChild(objecttest.ConfigMap("a", parent), nil)
	if diff := cmp.Diff([]string(nil), r.writesToChildren(t, write)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestStrayIsReleased(t *testing.T) {
	parent := objecttest.Widget(nil)
	other := objecttest.Widget(func(o *object.Object) { o.SetUID("u9") })
	missing := objecttest.Widget(func(o *object.Object) { o.SetName("missing") })
	r, write := newNarrowReconciler(t, parent)
	if n := len(r.Strays.Kinds()); n != 1 {
		t.Errorf("%d kinds of children are narrow, want 1", n)
	}
	for _, o := range []*object.Object{lost(other), lost(missing), objecttest.ConfigMap("a", parent)} {
		r.Strays.Note(o)
	}
	expectQueued(t, r)
	r.Strays.Note(lost(parent))
	expectQueued(t, r, "default/w claim")
	if diff := cmp.Diff([]string{"update ConfigMap default/a"}, r.writesToChildren(t, write)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestParentsAreQueuedWhenCacheIsWidened(t *testing.T) {
	r, _ := newNarrowReconciler(t, objecttest.Widget(nil))
	r.Strays.Cached(schema.GroupVersionResource{Version: "v1", Resource: "secrets"})
	expectQueued(t, r)
	r.Strays.Cached(objecttest.ConfigMaps)
	expectQueued(t, r, "default/w claim")
}

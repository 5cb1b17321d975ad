package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"metascript/controller/binding"
	"metascript/controller/claim"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
)

// newEventReconciler returns a Reconciler whose caches have these parents, and whose queue is empty. No handler is registered, so that
// only the test sends events.
func newEventReconciler(t *testing.T, parents ...*object.Object) *Reconciler {
	t.Helper()
	var objects []runtime.Object
	for _, o := range parents {
		objects = append(objects, o)
	}
	r, _ := newTestReconciler(t, nil, nil, objects...)
	r.hasSynced.Store(true)
	fillCaches(t, r)
	if err := r.shared.Hub.Join(r, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, o := range parents {
		r.handler.updateAdopter(nil, o)
	}
	return r
}

// queued empties the queue and returns the reasons of each key.
func queued(r *Reconciler) map[string]string {
	all := map[string]string{}
	for r.queue.Len() > 0 {
		key, _ := r.queue.Get()
		all[key.String()] = r.queue.Take(key).String()
		r.queue.Done(key)
	}
	return all
}

// expectQueued checks that these parents, and no others, are queued because of a child or, with " claim" after the name, of an object to
// adopt or to release.
func expectQueued(t *testing.T, r *Reconciler, want ...string) {
	t.Helper()
	reasons := map[string]string{}
	for _, text := range want {
		key, why, has := strings.Cut(text, " ")
		if reasons[key] = why; !has {
			reasons[key] = "child"
		}
	}
	if diff := cmp.Diff(reasons, queued(r)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

// childEvent sends r the event of a child, or of an object that may be adopted.
func childEvent(r *Reconciler, old, current *object.Object) {
	r.handler.onChild(old, current)
	if current != nil {
		r.handler.onOrphan(r.shared.Hub.Adopters(current)[r], old, current)
	}
}

// named returns a widget.
func named(name, namespace string, uid types.UID) *object.Object {
	return objecttest.Widget(func(o *object.Object) { o.SetName(name); o.SetNamespace(namespace); o.SetUID(uid) })
}

// versioned returns a function that sets the resource version.
func versioned(v string) func(*object.Object) {
	return func(o *object.Object) { o.SetResourceVersion(v) }
}

// controlled returns a ConfigMap with an owner reference of a controller.
func controlled(apiVersion, kind, name string) *object.Object {
	yes := true
	return objecttest.With(objecttest.ConfigMap("a", nil), objecttest.OwnedBy(metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: "u1", Controller: &yes}))
}

func TestChildEventQueuesOwner(t *testing.T) {
	for _, c := range []struct {
		name  string
		child *object.Object
		want  []string
	}{
		{"the controller", controlled("example.com/v1", "Widget", "w"), []string{"default/w"}},
		{"a controller that is not in the cache yet", controlled("example.com/v1", "Widget", "new"), []string{"default/new"}},
		{"a controller in another version of the group", controlled("example.com/v2", "Widget", "w"), []string{"default/w"}},
		{"of another kind", controlled("example.com/v1", "Gadget", "w"), nil},
		{"of another group", controlled("example.org/v1", "Widget", "w"), nil},
		{"of the core group", controlled("v1", "Widget", "w"), nil},
		{"of an invalid group", controlled("a/b/c", "Widget", "w"), nil},
		{"an owner that is not the controller", objecttest.With(objecttest.ConfigMap("a", nil), objecttest.OwnedBy(metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: "u1"})), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newEventReconciler(t, objecttest.Widget(nil))
			childEvent(r, nil, c.child)
			expectQueued(t, r, c.want...)
			childEvent(r, c.child, nil)
			expectQueued(t, r, c.want...)
		})
	}
}

func TestChildEventQueuesClusterScopedOwner(t *testing.T) {
	r := newEventReconciler(t)
	r.binding.Parents[0].Namespaced = false
	childEvent(r, nil, objecttest.InNamespace("x", controlled("example.com/v1", "Widget", "w")))
	expectQueued(t, r, "w")
}

func TestChildWithNewOwnerQueuesBothOwners(t *testing.T) {
	r := newEventReconciler(t)
	old, current := controlled("example.com/v1", "Widget", "before"), controlled("example.com/v1", "Widget", "after")
	childEvent(r, objecttest.With(old, versioned("1")), objecttest.With(current, versioned("2")))
	expectQueued(t, r, "default/before", "default/after")
}

func TestReleasedChildQueuesOldOwnerAndAdopter(t *testing.T) {
	parent, adopter := named("w", "default", "u1"), named("adopter", "default", "u2")
	r := newEventReconciler(t, parent, adopter)
	old := objecttest.ConfigMap("a", parent)
	current := objecttest.Matching("a", adopter)
	childEvent(r, objecttest.With(old, versioned("1")), objecttest.With(current, versioned("2")))
	expectQueued(t, r, "default/w", "default/adopter claim")
}

func TestOrphanQueuesParentsWithMatchingSelector(t *testing.T) {
	here, there := named("w", "default", "u1"), named("w", "other", "u1")
	unrelated := named("unrelated", "default", "u9")
	for _, c := range []struct {
		name   string
		orphan *object.Object
		want   []string
	}{
		{"in the namespace of the parent", objecttest.Matching("a", here), []string{"default/w claim"}},
		{"in another namespace", objecttest.InNamespace("other", objecttest.Matching("a", there)), []string{"other/w claim"}},
		{"with labels that no selector matches", objecttest.With(objecttest.ConfigMap("a", nil), func(o *object.Object) { o.SetLabels(map[string]string{"app": "a"}) }), nil},
		{"without labels", objecttest.ConfigMap("a", nil), nil},
		{"with another controller", objecttest.With(objecttest.Matching("a", here), objecttest.OwnedBy(controlled("apps/v1", "ReplicaSet", "r").GetOwnerReferences()...)), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newEventReconciler(t, here, there, unrelated)
			childEvent(r, nil, c.orphan)
			expectQueued(t, r, c.want...)
		})
	}
}

func TestOrphanQueuesClusterScopedParent(t *testing.T) {
	parent := named("w", "", "u1")
	r := newEventReconciler(t, parent)
	r.binding.Parents[0].Namespaced = false
	childEvent(r, nil, objecttest.InNamespace("x", objecttest.Matching("a", parent)))
	expectQueued(t, r, "w claim")
}

func TestOrphanThatBeginsToMatchQueuesAdopter(t *testing.T) {
	parent := objecttest.Widget(nil)
	r := newEventReconciler(t, parent)
	childEvent(r, objecttest.With(objecttest.ConfigMap("a", nil), versioned("1")), objecttest.With(objecttest.Matching("a", parent), versioned("2")))
	expectQueued(t, r, "default/w claim")
}

func TestDeletedOrphanQueuesNoParent(t *testing.T) {
	parent := objecttest.Widget(nil)
	r := newEventReconciler(t, parent)
	childEvent(r, objecttest.Matching("a", parent), nil)
	expectQueued(t, r)
}

func TestInvalidSelectorOfOneParentLeavesOtherAdopters(t *testing.T) {
	valid := named("valid", "default", "u1")
	_ = unstructured.SetNestedStringMap(valid.Map(), map[string]string{"app": "a"}, "spec", "selector", "matchLabels")
	parents := []*object.Object{named("a", "default", "u2"), valid, named("z", "default", "u3")}
	r := newEventReconciler(t, parents...)
	r.binding.Match = claim.SpecSelector
	for _, o := range parents {
		r.handler.updateAdopter(nil, o)
	}
	childEvent(r, nil, objecttest.With(objecttest.ConfigMap("a", nil), func(o *object.Object) { o.SetLabels(map[string]string{"app": "a"}) }))
	expectQueued(t, r, "default/valid claim")
}

func TestEventWithoutChangeIsIgnored(t *testing.T) {
	parent := objecttest.Widget(nil)
	r := newEventReconciler(t, parent)
	r.handler.onParent(parent, object.Copy(parent))
	child := objecttest.With(objecttest.ConfigMap("a", parent), versioned("5"))
	childEvent(r, child, object.Copy(child))
	expectQueued(t, r)
}

func TestRelevantChangesOfParent(t *testing.T) {
	status := func(o *object.Object) { o.Map()["status"] = map[string]any{"ready": int64(1)} }
	label := func(o *object.Object) { o.SetLabels(map[string]string{"a": "b"}) }
	annotation := func(o *object.Object) { o.SetAnnotations(map[string]string{"a": "b"}) }
	generation := func(o *object.Object) { o.SetGeneration(2) }
	noGeneration := func(o *object.Object) { o.SetGeneration(0) }
	otherUID := func(o *object.Object) { o.SetUID("u2") }
	for _, c := range []struct {
		name           string
		before         func(*object.Object)
		change         func(*object.Object)
		relevant       bool
		relevantIgnore bool // with ignoreStatusChanges
	}{
		{"only the resource version", nil, nil, true, false},
		{"status", nil, status, true, false},
		{"label", nil, label, true, true},
		{"label that is removed", label, func(o *object.Object) { o.SetLabels(nil) }, true, true},
		{"annotation", nil, annotation, true, true},
		{"finalizer", nil, objecttest.WithFinalizers("x"), true, true},
		{"generation", nil, generation, true, true},
		{"start of deletion", nil, objecttest.Deleting, true, true},
		{"another object with the same name", nil, otherUID, true, true},
		{"status of a kind that has no generation", noGeneration, status, true, true},
		{"status of a parent with a label", label, status, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for ignore, want := range map[bool]bool{false: c.relevant, true: c.relevantIgnore} {
				old := objecttest.Widget(c.before)
				current := objecttest.With(object.Copy(old), versioned("2"))
				if c.change != nil {
					c.change(current)
				}
				r := newEventReconciler(t)
				r.binding.Parents[0].IgnoreStatusChanges = ignore
				r.handler.onParent(old, current)
				expected := map[string]string{}
				if want {
					expected["default/w"] = "parent"
				}
				if diff := cmp.Diff(expected, queued(r)); diff != "" {
					t.Errorf("ignoreStatusChanges %t: queued (-want +got):\n%s", ignore, diff)
				}
			}
		})
	}
}

func TestNewAndDeletedParentsAreQueued(t *testing.T) {
	r := newEventReconciler(t)
	r.binding.Parents[0].IgnoreStatusChanges = true
	for name, event := range map[string][2]*object.Object{"is new": {nil, objecttest.Widget(nil)}, "was deleted": {objecttest.Widget(nil), nil}} {
		r.handler.onParent(event[0], event[1])
		if diff := cmp.Diff(map[string]string{"default/w": "parent"}, queued(r)); diff != "" {
			t.Errorf("a parent that %s: queued (-want +got):\n%s", name, diff)
		}
	}
}

func TestEventsWhileCachesAreFilledHaveReasonResync(t *testing.T) {
	r := newEventReconciler(t, objecttest.Widget(nil))
	r.hasSynced.Store(false)
	r.handler.onParent(nil, objecttest.Widget(nil))
	childEvent(r, nil, objecttest.ConfigMap("c", objecttest.Widget(nil)))
	if got := r.queue.Take(object.RefOf(objecttest.Widget(nil))); got != queue.Resync {
		t.Errorf("the reason is %s, want resync", got)
	}
}

// selectingApp returns the parent w with a selector for the objects of an app.
func selectingApp(app string, generation int64) *object.Object {
	o := objecttest.Widget(func(o *object.Object) { o.SetGeneration(generation) })
	_ = unstructured.SetNestedStringMap(o.Map(), map[string]string{"app": app}, "spec", "selector", "matchLabels")
	return o
}

// expectAdopter checks whether the parent w may adopt an orphan of an app.
func expectAdopter(t *testing.T, r *Reconciler, app string, want bool) {
	t.Helper()
	if got := adopts(r, app); got != want {
		t.Errorf("the parent may adopt an orphan of app %s: %t, want %t", app, got, want)
	}
}

func adopts(r *Reconciler, app string) bool {
	orphan := objecttest.With(objecttest.ConfigMap(app, nil), func(o *object.Object) { o.SetLabels(map[string]string{"app": app}) })
	return slices.Contains(r.shared.Hub.Adopters(orphan)[r], objecttest.WidgetRef("default", "w"))
}

// newSelectingReconciler returns a Reconciler that receives events, with a parent that selects app a. Its queueAll has not been called.
func newSelectingReconciler(t *testing.T) (*Reconciler, dynamic.ResourceInterface) {
	t.Helper()
	client := newTestClient(selectingApp("a", 1))
	r, _ := newTestReconcilerOver(t, client, wants(), nil)
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	r.binding.Match = claim.SpecSelector
	if err := r.watch(); err != nil {
		t.Fatal(err)
	}
	if !r.waitForSync(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	return r, client.Resource(objecttest.Widgets).Namespace("default")
}

// waitFor waits until condition returns true because of events of a watch.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatal(err)
	}
}

func TestAdopterFollowsSelectorOfParent(t *testing.T) {
	r, parents := newSelectingReconciler(t)
	r.handler.queueAll()
	expectAdopter(t, r, "a", true)
	if _, err := parents.Update(t.Context(), selectingApp("b", 2).Unstructured(), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return adopts(r, "b") })
	expectAdopter(t, r, "a", false)
	if err := parents.Delete(t.Context(), "w", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return !adopts(r, "b") })
}

// What queueAll reads from the caches may be older than an event that is handled meanwhile.
func TestParentEditedDuringBeginAdoptsByNewSelector(t *testing.T) {
	r, parents := newSelectingReconciler(t)
	for parent := range r.binding.ReconciledParents() {
		if _, err := parents.Update(t.Context(), selectingApp("b", 2).Unstructured(), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return adopts(r, "b") })
		r.handler.onParent(nil, parent)
	}
	expectAdopter(t, r, "a", false)
	expectAdopter(t, r, "b", true)
}

func TestParentDeletedDuringBeginAdoptsNothing(t *testing.T) {
	r, parents := newSelectingReconciler(t)
	for parent := range r.binding.ReconciledParents() {
		if err := parents.Delete(t.Context(), "w", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return r.binding.Parent(objecttest.WidgetRef("default", "w")) == nil && !adopts(r, "a") })
		r.handler.onParent(nil, parent)
	}
	expectAdopter(t, r, "a", false)
}

// In whatever order events and queueAll are handled, the parent that is in the cache in the end is used.
func TestLastEditDuringBeginIsUsed(t *testing.T) {
	r, parents := newSelectingReconciler(t)
	const edits = 50
	var queueing sync.WaitGroup
	queueing.Go(func() {
		for range edits {
			r.handler.queueAll()
		}
	})
	for n := range edits {
		if _, err := parents.Update(t.Context(), selectingApp(fmt.Sprint(n), int64(n)+2).Unstructured(), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	queueing.Wait()
	last := fmt.Sprint(edits - 1)
	waitFor(t, func() bool { return adopts(r, last) })
	for n := range edits - 1 {
		expectAdopter(t, r, fmt.Sprint(n), false)
	}
}

func TestSyncRequestAnnotationQueuesOncePerValue(t *testing.T) {
	before := objecttest.Widget(func(o *object.Object) { o.SetResourceVersion("2") })
	after := objecttest.Widget(func(o *object.Object) {
		o.SetResourceVersion("3")
		o.SetAnnotations(map[string]string{binding.SyncRequestedAnnotation: "now"})
	})
	r := newEventReconciler(t, after)
	r.handler.onParent(before, after)
	if diff := cmp.Diff(map[string]string{"default/w": "request"}, queued(r)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
	again := object.Copy(after)
	again.SetResourceVersion("4")
	r.handler.onParent(after, again)
	if diff := cmp.Diff(map[string]string{"default/w": "parent"}, queued(r)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

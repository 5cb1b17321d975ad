package reconcile

import (
	"context"
	"fmt"
	"slices"
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

	"metascript/controller/claim"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
)

// newEventReconciler is a loop whose caches hold these parents, with nothing queued. No handler is registered, so that
// events come from the test alone.
func newEventReconciler(t *testing.T, parents ...*object.Object) *Reconciler {
	t.Helper()
	var there []runtime.Object
	for _, o := range parents {
		there = append(there, o)
	}
	r, _ := newTestReconciler(t, nil, nil, there...)
	r.filled.Store(true)
	t.Cleanup(r.Close)
	t.Cleanup(r.queue.ShutDown)
	if !r.Synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	if err := r.shared.Hub.Join(r, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, o := range parents {
		r.handler.updateAdopter(nil, o)
	}
	return r
}

// queued empties the queue; it gives why each key was in it.
func queued(r *Reconciler) map[string]string {
	all := map[string]string{}
	for r.queue.Len() > 0 {
		key, _ := r.queue.Get()
		all[key.String()] = r.queue.Take(key).String()
		r.queue.Done(key)
	}
	return all
}

// expectQueued checks that these parents, and no others, are queued because of a child.
func expectQueued(t *testing.T, r *Reconciler, want ...string) {
	t.Helper()
	because := map[string]string{}
	for _, key := range want {
		because[key] = "child"
	}
	if diff := cmp.Diff(because, queued(r)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

// childEvent tells r of a change of a child, or of what may become one.
func childEvent(r *Reconciler, old, current *object.Object) {
	r.handler.onChild(old, current)
	if current != nil {
		r.handler.onOrphan(r.shared.Hub.Adopters(current)[r])
	}
}

func named(name, namespace string, uid types.UID) *object.Object {
	return objecttest.Widget(func(o *object.Object) { o.SetName(name); o.SetNamespace(namespace); o.SetUID(uid) })
}

func versioned(v string) func(*object.Object) {
	return func(o *object.Object) { o.SetResourceVersion(v) }
}

// controlled is a ConfigMap whose controller is described by a reference.
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
		{"its controller", controlled("example.com/v1", "Widget", "w"), []string{"default/w"}},
		{"also one that is not cached yet", controlled("example.com/v1", "Widget", "new"), []string{"default/new"}},
		{"by another version of the group", controlled("example.com/v2", "Widget", "w"), []string{"default/w"}},
		{"not one of another kind", controlled("example.com/v1", "Gadget", "w"), nil},
		{"not one of another group", controlled("example.org/v1", "Widget", "w"), nil},
		{"not one of no group", controlled("v1", "Widget", "w"), nil},
		{"not one of a group that cannot be read", controlled("a/b/c", "Widget", "w"), nil},
		{"not one that only owns and does not control", objecttest.With(objecttest.ConfigMap("a", nil), objecttest.OwnedBy(metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: "u1"})), nil},
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
	parent, heir := named("w", "default", "u1"), named("heir", "default", "u2")
	r := newEventReconciler(t, parent, heir)
	old := objecttest.ConfigMap("a", parent)
	current := objecttest.Matching("a", heir)
	childEvent(r, objecttest.With(old, versioned("1")), objecttest.With(current, versioned("2")))
	expectQueued(t, r, "default/w", "default/heir")
}

func TestOrphanQueuesParentsWithMatchingSelector(t *testing.T) {
	here, there := named("w", "default", "u1"), named("w", "other", "u1")
	stranger := named("stranger", "default", "u9")
	for _, c := range []struct {
		name   string
		orphan *object.Object
		want   []string
	}{
		{"in its namespace alone", objecttest.Matching("a", here), []string{"default/w"}},
		{"in another namespace", objecttest.InNamespace("other", objecttest.Matching("a", there)), []string{"other/w"}},
		{"with labels that none matches", objecttest.With(objecttest.ConfigMap("a", nil), func(o *object.Object) { o.SetLabels(map[string]string{"app": "a"}) }), nil},
		{"without labels", objecttest.ConfigMap("a", nil), nil},
		{"with somebody else for a controller", objecttest.With(objecttest.Matching("a", here), objecttest.OwnedBy(controlled("apps/v1", "ReplicaSet", "r").GetOwnerReferences()...)), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newEventReconciler(t, here, there, stranger)
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
	expectQueued(t, r, "w")
}

func TestOrphanThatBeginsToMatchQueuesAdopter(t *testing.T) {
	parent := objecttest.Widget(nil)
	r := newEventReconciler(t, parent)
	childEvent(r, objecttest.With(objecttest.ConfigMap("a", nil), versioned("1")), objecttest.With(objecttest.Matching("a", parent), versioned("2")))
	expectQueued(t, r, "default/w")
}

func TestDeletedOrphanQueuesNoParent(t *testing.T) {
	parent := objecttest.Widget(nil)
	r := newEventReconciler(t, parent)
	childEvent(r, objecttest.Matching("a", parent), nil)
	expectQueued(t, r)
}

func TestInvalidSelectorOfOneParentLeavesOtherAdopters(t *testing.T) {
	sound := named("sound", "default", "u1")
	_ = unstructured.SetNestedStringMap(sound.Object, map[string]string{"app": "a"}, "spec", "selector", "matchLabels")
	parents := []*object.Object{named("a", "default", "u2"), sound, named("z", "default", "u3")}
	r := newEventReconciler(t, parents...)
	r.binding.Match = claim.SpecSelector
	for _, o := range parents {
		r.handler.updateAdopter(nil, o)
	}
	childEvent(r, nil, objecttest.With(objecttest.ConfigMap("a", nil), func(o *object.Object) { o.SetLabels(map[string]string{"app": "a"}) }))
	expectQueued(t, r, "default/sound")
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
	status := func(o *object.Object) { o.Object["status"] = map[string]any{"ready": int64(1)} }
	label := func(o *object.Object) { o.SetLabels(map[string]string{"a": "b"}) }
	annotation := func(o *object.Object) { o.SetAnnotations(map[string]string{"a": "b"}) }
	generation := func(o *object.Object) { o.SetGeneration(2) }
	noGeneration := func(o *object.Object) { o.SetGeneration(0) }
	otherUID := func(o *object.Object) { o.SetUID("u2") }
	for _, c := range []struct {
		name         string
		before       func(*object.Object)
		change       func(*object.Object)
		counts       bool
		countsAnyhow bool // with ignoreStatusChanges
	}{
		{"nothing that can be seen", nil, nil, true, false},
		{"status", nil, status, true, false},
		{"label", nil, label, true, true},
		{"label that goes", label, func(o *object.Object) { o.SetLabels(nil) }, true, true},
		{"annotation", nil, annotation, true, true},
		{"finalizer", nil, objecttest.WithFinalizers("x"), true, true},
		{"generation", nil, generation, true, true},
		{"begin of deletion", nil, objecttest.Deleting, true, true},
		{"another object of the name", nil, otherUID, true, true},
		{"status of a kind that has no generation", noGeneration, status, true, true},
		{"status beside a label that was there", label, status, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for ignore, want := range map[bool]bool{false: c.counts, true: c.countsAnyhow} {
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
	for name, event := range map[string][2]*object.Object{"comes": {nil, objecttest.Widget(nil)}, "goes": {objecttest.Widget(nil), nil}} {
		r.handler.onParent(event[0], event[1])
		if diff := cmp.Diff(map[string]string{"default/w": "parent"}, queued(r)); diff != "" {
			t.Errorf("a parent that %s: queued (-want +got):\n%s", name, diff)
		}
	}
}

func TestEventsWhileCachesAreFilledHaveReasonResync(t *testing.T) {
	r := newEventReconciler(t, objecttest.Widget(nil))
	r.filled.Store(false)
	r.handler.onParent(nil, objecttest.Widget(nil))
	childEvent(r, nil, objecttest.ConfigMap("c", objecttest.Widget(nil)))
	if got := r.queue.Take(object.RefOf(objecttest.Widget(nil))); got != queue.Resync {
		t.Errorf("the reason is %s, want resync", got)
	}
}

// selectingApp is the parent w, whose spec selects objects of an app.
func selectingApp(app string, generation int64) *object.Object {
	o := objecttest.Widget(func(o *object.Object) { o.SetGeneration(generation) })
	_ = unstructured.SetNestedStringMap(o.Object, map[string]string{"app": app}, "spec", "selector", "matchLabels")
	return o
}

// expectAdopter checks whether an orphan of an app concerns the parent w.
func expectAdopter(t *testing.T, r *Reconciler, app string, want bool) {
	t.Helper()
	if got := adopts(r, app); got != want {
		t.Errorf("an orphan of app %s concerns the parent: %t, want %t", app, got, want)
	}
}

func adopts(r *Reconciler, app string) bool {
	orphan := objecttest.With(objecttest.ConfigMap(app, nil), func(o *object.Object) { o.SetLabels(map[string]string{"app": app}) })
	return slices.Contains(r.shared.Hub.Adopters(orphan)[r], objecttest.WidgetRef("default", "w"))
}

// newSelectingReconciler gives a loop that receives events, with a parent that selects app a. Its queueOwn has not been called.
func newSelectingReconciler(t *testing.T) (*Reconciler, dynamic.ResourceInterface) {
	t.Helper()
	client := newTestClient(selectingApp("a", 1))
	r, _ := newTestReconcilerOver(t, client, wants(), nil)
	t.Cleanup(r.Close)
	t.Cleanup(r.queue.ShutDown)
	r.binding.Match = claim.SpecSelector
	if err := r.watch(); err != nil {
		t.Fatal(err)
	}
	if !r.Synced(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	return r, client.Resource(objecttest.Widgets).Namespace("default")
}

// waitFor waits for a condition that events of a watch bring about.
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
	if _, err := parents.Update(t.Context(), selectingApp("b", 2), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return adopts(r, "b") })
	expectAdopter(t, r, "a", false)
	if err := parents.Delete(t.Context(), "w", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return !adopts(r, "b") })
}

// What queueOwn takes from the caches may be older than an event that came meanwhile.
func TestParentEditedDuringBeginAdoptsByNewSelector(t *testing.T) {
	r, parents := newSelectingReconciler(t)
	for parent := range r.binding.Own() {
		if _, err := parents.Update(t.Context(), selectingApp("b", 2), metav1.UpdateOptions{}); err != nil {
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
	for parent := range r.binding.Own() {
		if err := parents.Delete(t.Context(), "w", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return r.binding.Parent(objecttest.WidgetRef("default", "w")) == nil && !adopts(r, "a") })
		r.handler.onParent(nil, parent)
	}
	expectAdopter(t, r, "a", false)
}

// However the events and the begin of the loop come together, what counts in the end is what the cache holds.
func TestLastEditDuringBeginIsUsed(t *testing.T) {
	r, parents := newSelectingReconciler(t)
	const edits = 50
	var begins sync.WaitGroup
	begins.Go(func() {
		for range edits {
			r.handler.queueAll()
		}
	})
	for n := range edits {
		if _, err := parents.Update(t.Context(), selectingApp(fmt.Sprint(n), int64(n)+2), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	begins.Wait()
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
		o.SetAnnotations(map[string]string{syncRequestedAnnotation: "now"})
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

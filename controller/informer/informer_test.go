package informer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/selection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// A cluster is an API server with ConfigMaps, and a Factory for it.
type cluster struct {
	*fake.FakeDynamicClient
	*Factory
	log *bytes.Buffer // read it only when no watch runs
}

func newCluster(objects ...*object.Object) *cluster {
	var existing []runtime.Object
	for _, o := range objects {
		existing = append(existing, o)
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{configMaps: "ConfigMapList"}, objecttest.ForClient(existing...)...)
	log := &bytes.Buffer{}
	return &cluster{client, NewFactory(client, slog.New(slog.NewTextHandler(log, nil))), log}
}

// open returns a handle whose cache has synced. It is closed when the test ends.
func (c *cluster) open(t *testing.T, spec Spec) *Informer {
	t.Helper()
	i := c.Open(spec)
	t.Cleanup(i.Close)
	fill(t, i)
	return i
}

// fill waits until the cache has synced.
func fill(t *testing.T, i *Informer) {
	t.Helper()
	if !i.WaitForSync(t.Context()) {
		t.Fatal("the cache did not sync")
	}
}

func (c *cluster) create(t *testing.T, o *object.Object) {
	t.Helper()
	if _, err := c.Resource(configMaps).Namespace(o.GetNamespace()).Create(t.Context(), o.Unstructured(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) update(t *testing.T, o *object.Object) {
	t.Helper()
	if _, err := c.Resource(configMaps).Namespace(o.GetNamespace()).Update(t.Context(), o.Unstructured(), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) remove(t *testing.T, o *object.Object) {
	t.Helper()
	if err := c.Resource(configMaps).Namespace(o.GetNamespace()).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func configMap(namespace, name string, refs ...metav1.OwnerReference) *object.Object {
	o := object.New(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": namespace},
		"data": map[string]any{"key": "value"},
	})
	if refs != nil {
		o.SetOwnerReferences(refs)
	}
	return o
}

func owner(uid types.UID, controls bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "w", UID: uid, Controller: &controls}
}

// keys returns the keys of objects, sorted.
func keys(objects []*object.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, object.KeyOf(o).String())
	}
	slices.Sort(all)
	return all
}

// events is a handler that sends each event as text.
type events chan string

func (e events) on(old, current *object.Object) {
	switch {
	case old == nil:
		e <- "added " + current.GetName()
	case current == nil:
		e <- "deleted " + old.GetName()
	default:
		e <- "updated " + current.GetName() + " from " + text(old) + " to " + text(current)
	}
}

func text(o *object.Object) string {
	data, _ := o.Map()["data"].(map[string]any)
	key, _ := data["key"].(string)
	return key
}

func (e events) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-e; got != w {
			t.Errorf("got event %q, want %q", got, w)
		}
	}
}

func TestHandlesOfCacheShareWatch(t *testing.T) {
	c := newCluster(configMap("default", "a"))
	first, second := c.Open(Spec{Resource: configMaps}), c.Open(Spec{Resource: configMaps})
	fill(t, first)
	fill(t, second)
	if n := c.Running(); n != 1 {
		t.Errorf("%d watches run for two handles, want one", n)
	}
	first.Close()
	if n := c.Running(); n != 1 {
		t.Errorf("%d watches run after the first handle was closed, want one", n)
	}
	c.create(t, configMap("default", "b"))
	seen := make(events)
	if err := second.Handle(seen.on); err != nil {
		t.Fatal(err)
	}
	got := []string{<-seen, <-seen}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"added a", "added b"}, got); diff != "" {
		t.Errorf("events of the remaining handle (-want +got):\n%s", diff)
	}
	second.Close()
	if n := c.Running(); n != 0 {
		t.Errorf("%d watches run after the last handle was closed, want none", n)
	}
	lists := 0
	for _, action := range c.Actions() {
		if action.Matches("list", "configmaps") {
			lists++
		}
	}
	if lists > 1 {
		t.Errorf("the resource was listed %d times, want once", lists)
	}
}

func TestCacheIsRefilledAfterLastClose(t *testing.T) {
	c := newCluster(configMap("default", "a"))
	first := c.Open(Spec{Resource: configMaps})
	fill(t, first)
	first.Close()
	c.remove(t, configMap("default", "a"))
	c.create(t, configMap("default", "b"))
	second := c.open(t, Spec{Resource: configMaps})
	if diff := cmp.Diff([]string{"default/b"}, keys(second.List())); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestCachesWithDifferentScopeAreNotShared(t *testing.T) {
	labeled := configMap("default", "labeled")
	labeled.SetLabels(map[string]string{"app": "a"})
	c := newCluster(configMap("default", "a"), configMap("other", "b"), labeled)
	for want, spec := range map[string]Spec{
		"default/a default/labeled other/b": {Resource: configMaps},
		"other/b":                           {Resource: configMaps, Namespace: "other"},
		"default/labeled":                   {Resource: configMaps, Selector: "app=a"},
	} {
		if got := strings.Join(keys(c.open(t, spec).List()), " "); got != want {
			t.Errorf("the cache of %+v has %s, want %s", spec, got, want)
		}
	}
	if n := c.Running(); n != 3 {
		t.Errorf("%d watches run, want 3", n)
	}
}

func TestFieldsOfCachedObjects(t *testing.T) {
	full := configMap("default", "a")
	full.SetLabels(map[string]string{"app": "a"})
	full.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	for _, c := range []struct {
		name string
		spec Spec
		data bool
	}{
		{"all but managedFields", Spec{Resource: configMaps}, true},
		{"metadata only", Spec{Resource: configMaps, MetadataOnly: true, Kind: "ConfigMap"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cached := newCluster(full).open(t, c.spec).Get(object.Key{Namespace: "default", Name: "a"})
			if cached == nil {
				t.Fatal("the object is not in the cache")
			}
			if len(cached.GetManagedFields()) > 0 {
				t.Error("managedFields are cached")
			}
			if cached.GetKind() != "ConfigMap" || cached.GetAPIVersion() != "v1" || cached.GetLabels()["app"] != "a" {
				t.Errorf("the type or metadata is missing: %v", cached.Map())
			}
			if _, hasData := cached.Map()["data"]; hasData != c.data {
				t.Errorf("data is cached: %t, want %t", hasData, c.data)
			}
		})
	}
}

func TestGet(t *testing.T) {
	i := newCluster(configMap("default", "a")).open(t, Spec{Resource: configMaps})
	for key, want := range map[object.Key]bool{
		{Namespace: "default", Name: "a"}: true,
		{Namespace: "other", Name: "a"}:   false,
		{Name: "a"}:                       false,
	} {
		if got := i.Get(key) != nil; got != want {
			t.Errorf("Get(%s) finds an object: %t, want %t", key, got, want)
		}
	}
}

func TestOwnedByAndOrphans(t *testing.T) {
	i := newCluster(
		configMap("default", "mine", owner("u1", true)),
		configMap("default", "mine-among-others", owner("u2", false), owner("u1", true)),
		configMap("other", "mine-elsewhere", owner("u1", true)),
		configMap("default", "of-another", owner("u2", true)),
		configMap("default", "orphan"),
		configMap("default", "owned-and-not-controlled", owner("u1", false)),
		configMap("other", "orphan-elsewhere"),
		configMap("", "orphan-without-namespace"),
	).open(t, Spec{Resource: configMaps})
	for _, c := range []struct {
		name string
		got  []*object.Object
		want []string
	}{
		{"owned by u1", i.OwnedBy("u1"), []string{"default/mine", "default/mine-among-others", "other/mine-elsewhere"}},
		{"owned by u2", i.OwnedBy("u2"), []string{"default/of-another"}},
		{"owned by a UID without objects", i.OwnedBy("u3"), nil},
		{"orphans in default", i.Orphans("default", labels.Everything()), []string{"default/orphan", "default/owned-and-not-controlled"}},
		{"orphans in other", i.Orphans("other", labels.Everything()), []string{"other/orphan-elsewhere"}},
		{"orphans in a namespace without any", i.Orphans("none", labels.Everything()), nil},
		{"orphans everywhere", i.Orphans("", labels.Everything()), []string{"default/orphan", "default/owned-and-not-controlled", "orphan-without-namespace", "other/orphan-elsewhere"}},
	} {
		if diff := cmp.Diff(c.want, keys(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestIndexesAreUpdated(t *testing.T) {
	c := newCluster(configMap("default", "a"))
	i := c.open(t, Spec{Resource: configMaps})
	seen := make(events)
	if err := i.Handle(seen.on); err != nil {
		t.Fatal(err)
	}
	seen.expect(t, "added a")
	c.update(t, configMap("default", "a", owner("u1", true)))
	seen.expect(t, "updated a from value to value")
	if len(i.OwnedBy("u1")) != 1 || len(i.Orphans("default", labels.Everything())) != 0 {
		t.Errorf("after it was adopted: owned %v, orphans %v", keys(i.OwnedBy("u1")), keys(i.Orphans("default", labels.Everything())))
	}
	c.update(t, configMap("default", "a"))
	seen.expect(t, "updated a from value to value")
	if len(i.OwnedBy("u1")) != 0 || len(i.Orphans("default", labels.Everything())) != 1 {
		t.Errorf("after it was released: owned %v, orphans %v", keys(i.OwnedBy("u1")), keys(i.Orphans("default", labels.Everything())))
	}
}

func TestHandlerIsCalledForExistingObjectsAndChanges(t *testing.T) {
	c := newCluster(configMap("default", "a"))
	i := c.open(t, Spec{Resource: configMaps})
	seen := make(events)
	if err := i.Handle(seen.on); err != nil {
		t.Fatal(err)
	}
	seen.expect(t, "added a")
	changed := configMap("default", "a")
	changed.Map()["data"] = map[string]any{"key": "other"}
	c.update(t, changed)
	seen.expect(t, "updated a from value to other")
	c.create(t, configMap("default", "b"))
	seen.expect(t, "added b")
	c.remove(t, changed)
	seen.expect(t, "deleted a")
}

func TestCacheHasObjectBeforeHandlersAreCalled(t *testing.T) {
	c := newCluster(configMap("default", "a"))
	i := c.open(t, Spec{Resource: configMaps})
	found := make(chan bool)
	err := i.Handle(func(_, current *object.Object) { found <- i.Get(object.KeyOf(current)) != nil })
	if err != nil {
		t.Fatal(err)
	}
	c.create(t, configMap("default", "b"))
	for range 2 {
		if !<-found {
			t.Error("a handler is called with an object that the cache does not have")
		}
	}
}

func TestSyncedWaitsUntilHandlersWereCalled(t *testing.T) {
	c := newCluster(configMap("default", "a"), configMap("default", "b"))
	i := c.open(t, Spec{Resource: configMaps})
	var mu sync.Mutex
	var seen []*object.Object
	err := i.Handle(func(_, current *object.Object) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, current)
	})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, i)
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"default/a", "default/b"}, keys(seen)); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

func TestSyncedReturnsFalseIfContextIsDone(t *testing.T) {
	c := newCluster()
	c.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("list failed")
	})
	i := c.Open(Spec{Resource: configMaps})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if i.WaitForSync(ctx) {
		t.Error("Synced returns true for a cache that cannot sync")
	}
	i.Close()
	if n := c.Running(); n != 0 {
		t.Errorf("%d watches run, want none", n)
	}
}

func TestPanicInHandlerStopsNothingElse(t *testing.T) {
	c := newCluster(configMap("default", "a"))
	panicking, working := c.Open(Spec{Resource: configMaps}), c.Open(Spec{Resource: configMaps})
	called, seen := make(chan string), make(events)
	panics := func(_, current *object.Object) {
		called <- current.GetName()
		panic("out of order")
	}
	if err := errors.Join(panicking.Handle(panics), working.Handle(seen.on)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if name != "a" {
			c.create(t, configMap("default", name))
		}
		if got := <-called; got != name {
			t.Errorf("the handler that panics is called with %s, want %s", got, name)
		}
		seen.expect(t, "added "+name)
	}
	panicking.Close()
	working.Close() // the last one: no goroutine writes to the log any more
	if logged := c.log.String(); strings.Count(logged, "out of order") != 3 || !strings.Contains(logged, "configmaps") {
		t.Errorf("the log is: %s", logged)
	}
}

func TestClosedHandleIsNotCalled(t *testing.T) {
	c := newCluster()
	closed, open := c.Open(Spec{Resource: configMaps}), c.open(t, Spec{Resource: configMaps})
	fill(t, closed)
	called, seen := make(events, 1), make(events)
	if err := errors.Join(closed.Handle(called.on), open.Handle(seen.on)); err != nil {
		t.Fatal(err)
	}
	closed.Close()
	c.create(t, configMap("default", "a"))
	seen.expect(t, "added a")
	if len(called) > 0 {
		t.Error("a handler is called after its handle was closed")
	}
}

func TestCaughtUp(t *testing.T) {
	c := newCluster()
	i := c.open(t, Spec{Resource: configMaps})
	if i.CaughtUp("default", "1000") {
		t.Error("an empty cache is caught up with version 1000")
	}
	seen := make(events)
	if err := i.Handle(seen.on); err != nil {
		t.Fatal(err)
	}
	written := configMap("default", "a")
	written.SetResourceVersion("1000")
	c.create(t, written)
	seen.expect(t, "added a")
	for version, want := range map[string]bool{"999": true, "1000": true, "1001": false, "10000": false, "not a number": true} {
		if got := i.CaughtUp("default", version); got != want {
			t.Errorf("after version 1000 it is caught up with %s: %t, want %t", version, got, want)
		}
	}
}

// With Factory.Namespaces, a handle has a watch for each of these namespaces, and the objects of all of them.
func TestNamespaces(t *testing.T) {
	of := func(namespace, name string) *object.Object { return configMap(namespace, name, owner("u", true)) }
	c := newCluster(of("a", "x"), of("b", "x"), of("c", "x"))
	c.Namespaces = selection.Namespaces{"a", "b"}
	i := c.open(t, Spec{Resource: configMaps, Namespaced: true})
	one := c.open(t, Spec{Resource: configMaps, Namespaced: true, Namespace: "b"})
	if n := c.Running(); n != 2 {
		t.Errorf("%d watches run, want those of a and b", n)
	}
	want := []string{"a/x", "b/x"}
	for what, got := range map[string][]*object.Object{
		"all": i.List(), "by owner": i.OwnedBy("u"), "by name": i.Select(selection.Query{Names: []string{"x"}}), "without labels": i.Select(selection.Query{}),
	} {
		if diff := cmp.Diff(want, keys(got)); diff != "" {
			t.Errorf("objects, %s (-want +got):\n%s", what, diff)
		}
	}
	if got := keys(one.List()); !slices.Equal(got, []string{"b/x"}) {
		t.Errorf("the cache of b has %v", got)
	}
	if i.Get(object.Key{Namespace: "b", Name: "x"}) == nil || i.Get(object.Key{Namespace: "c", Name: "x"}) != nil {
		t.Error("the cache has not exactly the objects of a and b")
	}
	if !i.CaughtUp("c", "1000") {
		t.Error("a write in a namespace that is not watched is waited for")
	}
	seen := make(events)
	if err := i.Handle(seen.on); err != nil {
		t.Fatal(err)
	}
	seen.expect(t, "added x")
	seen.expect(t, "added x")
	c.create(t, of("c", "unseen"))
	written := of("b", "y")
	written.SetResourceVersion("1000")
	c.create(t, written)
	seen.expect(t, "added y")
	if !i.CaughtUp("b", "1000") || i.CaughtUp("a", "1000") {
		t.Error("the version of a namespace is not its own")
	}
}

func TestCacheOfOneObjectRequestsOnlyIt(t *testing.T) {
	c := newCluster(configMap("default", "a"))
	requests := make(chan string, 16)
	c.PrependReactor("list", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		requests <- action.(clienttesting.ListAction).GetListRestrictions().Fields.String()
		return false, nil, nil
	})
	c.PrependWatchReactor("configmaps", func(action clienttesting.Action) (bool, watch.Interface, error) {
		requests <- action.(clienttesting.WatchAction).GetWatchRestrictions().Fields.String()
		return false, nil, nil
	})
	i := c.open(t, Spec{Resource: configMaps, Namespace: "default", Name: "a"})
	if got := <-requests; got != "metadata.name=a" {
		t.Errorf("the first request selects %q, want metadata.name=a", got)
	}
	if !i.HasSynced() || i.Get(object.Key{Namespace: "default", Name: "a"}) == nil {
		t.Error("the cache does not have the object")
	}
}

// streaming is a client that supports streaming lists, as a real one does. It hides the method by which the fake client says that it
// does not.
type streaming struct{ dynamic.Interface }

func TestCacheIsFilledByStreamOrList(t *testing.T) {
	for listed, want := range map[bool]string{false: "watch", true: "list"} {
		c := newCluster(configMap("default", "a"))
		requests := make(chan string, 8)
		note := func(action clienttesting.Action) { requests <- action.GetVerb() }
		c.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) { note(a); return false, nil, nil })
		c.PrependWatchReactor("*", func(a clienttesting.Action) (bool, watch.Interface, error) { note(a); return false, nil, nil })
		cache := NewFactory(streaming{c}, slog.New(slog.DiscardHandler)).Open(Spec{Resource: configMaps, Listed: listed})
		if got := <-requests; got != want {
			t.Errorf("Listed %t: the first request is %s, want %s", listed, got, want)
		}
		cache.Close()
	}
}

package informer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/object"
)

// labeledSpec needs only the ConfigMaps with the label of labeled.
var labeledSpec = Spec{Resource: configMaps, Label: "ours"}

// labeled returns a ConfigMap with the label of labeledSpec.
func labeled(name string) *object.Object {
	o := configMap("default", name)
	o.SetLabels(map[string]string{"ours": "x"})
	return o
}

// widened returns a channel that gets each resource of which Factory.Widened was called.
func (c *cluster) widened() <-chan schema.GroupVersionResource {
	all := make(chan schema.GroupVersionResource, 8)
	c.Widened = func(r schema.GroupVersionResource) { all <- r }
	return all
}

func TestNarrowCacheHasOnlyLabeledObjects(t *testing.T) {
	c := newCluster(labeled("a"), configMap("default", "b"))
	i := c.open(t, labeledSpec)
	if diff := cmp.Diff([]string{"default/a"}, keys(i.List())); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if !i.Narrow() || i.Lacks(labeled("c")) || !i.Lacks(configMap("default", "b")) {
		t.Error("the handle does not say that it lacks the objects without the label")
	}
}

func TestNarrowHandleUsesWideCache(t *testing.T) {
	c := newCluster(labeled("a"), configMap("default", "b"))
	c.open(t, Spec{Resource: configMaps})
	i := c.open(t, labeledSpec)
	if n := c.Running(); n != 1 {
		t.Errorf("%d watches run, want 1", n)
	}
	if i.Narrow() || i.Lacks(configMap("default", "b")) || len(i.List()) != 2 {
		t.Error("the handle does not have all objects, or does not say so")
	}
}

func TestNarrowHandlesUseWideCacheThatIsOpenedLater(t *testing.T) {
	b := configMap("default", "b")
	c := newCluster(labeled("a"), b)
	widened := c.widened()
	first, second := c.open(t, labeledSpec), c.open(t, labeledSpec)
	seen := make(events, 10)
	if err := first.Handle(seen.on); err != nil {
		t.Fatal(err)
	}
	seen.expect(t, "added a")
	wide := c.Open(Spec{Resource: configMaps})
	if got := <-widened; got != configMaps {
		t.Errorf("%v was widened", got)
	}
	for _, i := range []*Informer{first, second} {
		if diff := cmp.Diff([]string{"default/a", "default/b"}, keys(i.List())); diff != "" || i.Narrow() {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	}
	if n := c.Running(); n != 1 {
		t.Errorf("%d watches run, want 1", n)
	}
	again := map[string]bool{<-seen: true, <-seen: true}
	if !again["added a"] || !again["added b"] {
		t.Errorf("the handler got %v, want all objects", again)
	}
	wide.Close()
	c.remove(t, b)
	seen.expect(t, "deleted b")
	if third := c.open(t, labeledSpec); third.Narrow() || c.Running() != 1 {
		t.Error("another handle has a cache of its own")
	}
}

// delayed makes the requests that list all objects wait for each value that is sent to the channel.
func (c *cluster) delayed() chan<- bool {
	proceed := make(chan bool)
	c.PrependReactor("list", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.(clienttesting.ListAction).GetListRestrictions().Labels.Empty() {
			<-proceed
		}
		return false, nil, nil
	})
	return proceed
}

func TestHandlesAreClosedWhileWideCacheIsFilled(t *testing.T) {
	c := newCluster(labeled("a"), configMap("default", "b"))
	widened, filled := c.widened(), c.delayed()
	closed, kept := c.Open(labeledSpec), c.open(t, labeledSpec)
	wide := c.Open(Spec{Resource: configMaps})
	closed.Close()
	if !kept.Narrow() {
		t.Error("a handle uses a cache that is not filled")
	}
	close(filled)
	<-widened
	fill(t, wide)
	if n := len(kept.List()); n != 2 || kept.Narrow() {
		t.Errorf("the other handle has %d objects, want 2", n)
	}
	wide.Close()
}

func TestWideCacheIsClosedBeforeItIsFilled(t *testing.T) {
	c := newCluster(labeled("a"), configMap("default", "b"))
	filled := c.delayed()
	i := c.open(t, labeledSpec)
	wide := c.Open(Spec{Resource: configMaps})
	close(filled) // the request must end so that Close can return
	wide.Close()
	if again := c.open(t, labeledSpec); again.Get(object.Key{Namespace: "default", Name: "a"}) == nil || i.Get(object.Key{Namespace: "default", Name: "a"}) == nil {
		t.Error("a handle does not have its object")
	}
}

func TestMetadataHandleUsesCacheOfWholeObjects(t *testing.T) {
	c := newCluster(configMap("default", "a"))
	metadata := Spec{Resource: configMaps, MetadataOnly: true, Kind: "ConfigMap"}
	first := c.open(t, metadata)
	c.open(t, Spec{Resource: configMaps})
	if n := c.Running(); n != 2 || text(first.List()[0]) != "" {
		t.Errorf("%d watches run, want that of metadata, which was there, and that of whole objects", n)
	}
	other := newCluster(configMap("default", "a"))
	other.open(t, Spec{Resource: configMaps})
	if other.open(t, metadata); other.Running() != 1 {
		t.Errorf("%d watches run, want 1", other.Running())
	}
}

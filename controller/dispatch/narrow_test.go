package dispatch

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/selection"
)

// A controller that needs only the children with a label, and one of which the same objects are parents, have caches of their own:
// neither must get the events of the other's cache.
func TestFeedIsOfCacheAndNotOfResource(t *testing.T) {
	w := newWorld(t)
	narrow := w.caches.Open(informer.Spec{Resource: configMaps, Label: "ours"})
	wide := w.caches.Open(informer.Spec{Resource: configMaps})
	defer narrow.Close()
	defer wide.Close()
	if err := w.Join("children", nil, []Children{{Cache: narrow, On: func(_, _ *object.Object) {}}}); err != nil {
		t.Fatal(err)
	}
	var told []string
	err := w.Join("parents", []Parents{{
		Cache: wide, Kind: configMaps.GroupVersion().WithKind("ConfigMap"), Namespaced: true, Queries: []selection.Query{{Labels: labels.Everything()}},
		On: func(_, o *object.Object) { told = append(told, o.GetName()) },
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.feeds) != 2 {
		t.Errorf("there are %d feeds, want 2", len(w.feeds))
	}
	o := &object.Object{}
	o.SetGroupVersionKind(configMaps.GroupVersion().WithKind("ConfigMap"))
	o.SetNamespace("default")
	o.SetName("a")
	w.feeds[informer.Spec{Resource: configMaps, Label: "ours"}].on(nil, o)
	if len(told) > 0 {
		t.Errorf("the controller with the parents gets %v from the other cache", told)
	}
	w.feeds[informer.Spec{Resource: configMaps}].on(nil, o)
	if len(told) != 1 {
		t.Errorf("the controller with the parents gets %v, want a", told)
	}
	w.Leave("children")
	w.Leave("parents")
	if len(w.feeds) != 0 {
		t.Errorf("%d feeds are left", len(w.feeds))
	}
}

package object

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	podKind     = Kind{Version: "v1", Kind: "Pod"}
	statefulSet = Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
)

func pod(name string) *Object { return newObject("v1", "Pod", "default", name) }

// names lists what is in s, in order.
func names(s *Set) []string {
	var all []string
	for o := range s.All() {
		all = append(all, Describe(o))
	}
	return all
}

func TestZeroSetIsEmpty(t *testing.T) {
	s := &Set{}
	if s.Len() != 0 || len(s.Kinds()) != 0 || names(s) != nil || s.Group(podKind) != nil || s.Get(podKind, Key{}) != nil {
		t.Errorf("the zero Set holds %v of kinds %v", names(s), s.Kinds())
	}
}

func TestDeclaredGroupExistsWhileEmpty(t *testing.T) {
	s := &Set{}
	s.Declare(statefulSet)
	s.Declare(podKind)
	s.Declare(statefulSet)
	if diff := cmp.Diff([]Kind{statefulSet, podKind}, s.Kinds()); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if s.Len() != 0 || len(s.Group(podKind)) != 0 {
		t.Errorf("declaring a group put objects into it: %v", names(s))
	}
}

func TestSetKeepsOrder(t *testing.T) {
	s := &Set{}
	s.Declare(podKind)
	s.Put(newObject("apps/v1", "StatefulSet", "default", "b"))
	for _, name := range []string{"z", "a", "m"} {
		if s.Put(pod(name)) {
			t.Errorf("Put says that there was a Pod %s before", name)
		}
	}
	want := []string{"Pod default/z", "Pod default/a", "Pod default/m", "StatefulSet default/b"}
	if diff := cmp.Diff(want, names(s)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if s.Len() != 4 || len(s.Group(podKind)) != 3 || len(s.Group(statefulSet)) != 1 {
		t.Errorf("Len() = %d with groups of %d and %d, want 4 with 3 and 1", s.Len(), len(s.Group(podKind)), len(s.Group(statefulSet)))
	}
}

func TestPutReplacesObjectInPlace(t *testing.T) {
	s, second := &Set{}, pod("a")
	s.Put(pod("a"))
	s.Put(pod("b"))
	if !s.Put(second) {
		t.Error("Put does not say that there was a Pod a before")
	}
	if diff := cmp.Diff([]string{"Pod default/a", "Pod default/b"}, names(s)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if s.Get(podKind, Key{"default", "a"}) != second {
		t.Error("Get returns the object that was replaced")
	}
}

func TestGetDistinguishesKindsAndNamespaces(t *testing.T) {
	s := &Set{}
	s.Put(pod("a"))
	for name, got := range map[string]*Object{
		"another name":      s.Get(podKind, Key{"default", "b"}),
		"another namespace": s.Get(podKind, Key{"other", "a"}),
		"no namespace":      s.Get(podKind, Key{Name: "a"}),
		"another version":   s.Get(Kind{Version: "v2", Kind: "Pod"}, Key{"default", "a"}),
		"another group":     s.Get(Kind{Group: "x", Version: "v1", Kind: "Pod"}, Key{"default", "a"}),
	} {
		if got != nil {
			t.Errorf("%s: Get returns %s", name, Describe(got))
		}
	}
	if s.Get(podKind, Key{"default", "a"}) == nil {
		t.Error("Get does not find what is there")
	}
}

func TestIterationOverSetCanStop(t *testing.T) {
	s := &Set{}
	s.Put(pod("a"))
	s.Put(pod("b"))
	s.Put(newObject("apps/v1", "StatefulSet", "default", "c"))
	var seen []string
	for o := range s.All() {
		seen = append(seen, o.GetName())
		break
	}
	if diff := cmp.Diff([]string{"a"}, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

func TestSortedOrdersByNamespaceThenName(t *testing.T) {
	objects := []*Object{
		newObject("v1", "Pod", "b", "a"), newObject("v1", "Pod", "a", "z"), newObject("v1", "Pod", "", "n"), newObject("v1", "Pod", "a", "b"),
	}
	sorted := Sorted(objects)
	var got []string
	for _, o := range sorted {
		got = append(got, KeyOf(o).String())
	}
	if diff := cmp.Diff([]string{"n", "a/b", "a/z", "b/a"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if !slices.Equal(sorted, objects) {
		t.Error("Sorted does not return the slice that it sorted in place")
	}
}

func TestAddedReturnsAllKindsInOrder(t *testing.T) {
	s := &Set{}
	s.Declare(statefulSet)
	second := newObject("apps/v1", "StatefulSet", "default", "b")
	for _, o := range []*Object{pod("z"), newObject("apps/v1", "StatefulSet", "default", "b"), pod("a"), second, pod("m")} {
		s.Put(o)
	}
	var got []string
	for o := range s.Added() {
		got = append(got, Describe(o))
		if o.GetKind() == "StatefulSet" && o != second {
			t.Error("an object that was replaced is still there")
		}
	}
	want := []string{"Pod default/z", "StatefulSet default/b", "Pod default/a", "Pod default/m"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for range s.Added() {
		break // leaving early is fine
	}
}

package object

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// A Set has objects in groups by kind. Groups are in the order in which they were declared, objects in the order in which
// they were added. A group may be empty. The zero value is an empty set.
type Set struct {
	kinds  []Kind
	groups map[Kind]*group
	added  []place
}

// A place is the position of an object in its group.
type place struct {
	kind Kind
	i    int
}

type group struct {
	objects []*Object
	index   map[Key]int
}

// Declare adds a group for kind, if there is none.
func (s *Set) Declare(kind Kind) { s.group(kind) }

func (s *Set) group(kind Kind) *group {
	if g := s.groups[kind]; g != nil {
		return g
	}
	if s.groups == nil {
		s.groups = map[Kind]*group{}
	}
	g := &group{index: map[Key]int{}}
	s.kinds, s.groups[kind] = append(s.kinds, kind), g
	return g
}

// Put adds o to the group of its kind. If there is an object of the same name, o takes its position. Put reports whether
// there was one.
func (s *Set) Put(o *Object) (replaced bool) {
	kind, key := o.GroupVersionKind(), KeyOf(o)
	g := s.group(kind)
	i, found := g.index[key]
	if found {
		g.objects[i] = o
		return true
	}
	g.index[key] = len(g.objects)
	s.added = append(s.added, place{kind, len(g.objects)})
	g.objects = append(g.objects, o)
	return false
}

// Get returns the object of that kind and name, or nil.
func (s *Set) Get(kind Kind, key Key) *Object { return s.groups[kind].get(key) }

// Getter returns a function that is Get for one kind, which is faster for many objects.
func (s *Set) Getter(kind Kind) func(Key) *Object { return s.groups[kind].get }

func (g *group) get(key Key) *Object {
	if g == nil {
		return nil
	}
	if i, found := g.index[key]; found {
		return g.objects[i]
	}
	return nil
}

// Kinds returns the kinds of the groups.
func (s *Set) Kinds() []Kind { return s.kinds }

// Group returns the objects of a kind. The slice must not be changed.
func (s *Set) Group(kind Kind) []*Object {
	if g := s.groups[kind]; g != nil {
		return g.objects
	}
	return nil
}

// All returns all objects, group by group.
func (s *Set) All() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, kind := range s.kinds {
			for _, o := range s.groups[kind].objects {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// Added returns all objects in the order in which they were added.
func (s *Set) Added() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, at := range s.added {
			if !yield(s.groups[at.kind].objects[at.i]) {
				return
			}
		}
	}
}

// Len returns the number of objects.
func (s *Set) Len() int {
	n := 0
	for _, g := range s.groups {
		n += len(g.objects)
	}
	return n
}

// Sorted sorts objects by namespace and name, in place, and returns them.
func Sorted(objects []*Object) []*Object {
	slices.SortFunc(objects, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}

// KeepOnly drops from m, whose keys are UIDs, those that no object of s has, if there are more than objects.
func KeepOnly[V any](m map[types.UID]V, s *Set) {
	if len(m) <= s.Len() {
		return // most often each is of an object
	}
	there := make(map[types.UID]bool, s.Len())
	for o := range s.All() {
		there[o.GetUID()] = true
	}
	maps.DeleteFunc(m, func(uid types.UID, _ V) bool { return !there[uid] })
}

package overlap

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
)

func key(n int) object.Key { return object.Key{Namespace: fmt.Sprint(n % 3), Name: fmt.Sprint(n)} }

// A model is a simple implementation of an Index: the members that select each object.
type model map[object.Key]map[int]bool

// in returns the objects in some namespaces.
func (m model) in(namespaces Namespaces) model {
	found := maps.Clone(m)
	maps.DeleteFunc(found, func(o object.Key, _ map[int]bool) bool { return namespaces != nil && !namespaces(o.Namespace) })
	return found
}

func (m model) namespaces(a int) []string {
	found := map[string]bool{}
	for o, members := range m {
		if members[a] {
			found[o.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (m model) count(a int) (n int) {
	for _, members := range m {
		if members[a] {
			n++
		}
	}
	return n
}

func (m model) others(a int) []int {
	found := map[int]bool{}
	for _, members := range m {
		if members[a] {
			maps.Copy(found, members)
		}
	}
	delete(found, a)
	return slices.Sorted(maps.Keys(found))
}

func (m model) first(a, b int) (object.Key, bool) {
	var both []object.Key
	for o, members := range m {
		if members[a] && members[b] {
			both = append(both, o)
		}
	}
	if len(both) == 0 {
		return object.Key{}, false
	}
	return slices.MinFunc(both, compare), true
}

func TestIndexEqualsModel(t *testing.T) {
	const members, objects = 12, 30
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		var x Index[int]
		m := model{}
		for range 500 {
			o, member := key(random.IntN(objects)), random.IntN(members)
			switch random.IntN(8) {
			case 0:
				x.Delete(o)
				delete(m, o)
			case 1:
				x.Leave(member)
				for _, selecting := range m {
					delete(selecting, member)
				}
			case 2, 3:
				var joined []object.Key
				for range random.IntN(objects) {
					joined = append(joined, key(random.IntN(objects)))
				}
				x.Join(member, slices.Values(joined))
				for _, o := range joined {
					if m[o] != nil {
						m[o][member] = true
					}
				}
			default:
				m[o] = map[int]bool{}
				for range random.IntN(4) {
					m[o][random.IntN(members)] = true
				}
				x.Set(o, slices.Collect(maps.Keys(m[o])))
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			compareWithModel(t, &x, m, random.IntN(members), random.IntN(members), nil)
			compareWithModel(t, &x, m, random.IntN(members), random.IntN(members), func(namespace string) bool { return namespace != "1" })
		}
		if len(x.members) > members+minLeft+members {
			t.Errorf("%d bits are in use for %d members", len(x.members), members)
		}
	}
}

// compareWithModel compares the results of the index and of the model for members a and b, in some namespaces, and checks the
// invariants.
func compareWithModel(t *testing.T, x *Index[int], whole model, a, b int, in Namespaces) {
	t.Helper()
	m := whole.in(in)
	namespaces := x.Namespaces(a)
	slices.Sort(namespaces)
	if diff := cmp.Diff(whole.namespaces(a), namespaces); diff != "" {
		t.Errorf("namespaces of %d (-want +got):\n%s", a, diff)
	}
	others := x.Others(a, in)
	slices.Sort(others)
	if diff := cmp.Diff(m.others(a), others); diff != "" {
		t.Errorf("others of %d (-want +got):\n%s", a, diff)
	}
	if got := x.Count(a, in); got != m.count(a) {
		t.Errorf("%d selects %d objects, want %d", a, got, m.count(a))
	}
	first, found := x.First(a, b, in)
	if want, some := m.first(a, b); first != want || found != some {
		t.Errorf("the first object of %d and %d is %v, %t, want %v, %t", a, b, first, found, want, some)
	}
	n := 0
	for key, g := range x.groups {
		if n += g.size; g.size == 0 || key != keyOf(g.namespace, g.members) {
			t.Errorf("a group of %d objects is stored under another key", g.size)
		}
	}
	if n != len(whole) || n != len(x.groupOf) {
		t.Errorf("there are %d objects, want %d", n, len(whole))
	}
}

func TestObjectsWithSameMembersShareGroup(t *testing.T) {
	var x Index[int]
	for n := range 1000 {
		x.Set(key(n), []int{0})
	}
	var all []object.Key
	for n := range 1000 {
		all = append(all, key(n))
	}
	for member := range 300 {
		x.Join(member, slices.Values(all))
	}
	if len(x.groups) != 3 || len(x.Others(7, nil)) != 299 || x.Count(7, nil) != 1000 {
		t.Errorf("%d groups, %d others, %d objects: want one for each of the three namespaces, 299, 1000", len(x.groups), len(x.Others(7, nil)), x.Count(7, nil))
	}
	for member := range 299 {
		x.Leave(member)
	}
	if others := x.Others(299, nil); len(others) > 0 || x.Count(299, nil) != 1000 {
		t.Errorf("the last one has %d others and %d objects", len(others), x.Count(299, nil))
	}
	if len(x.members) > 1+minLeft+1 {
		t.Errorf("%d bits are in use for one member", len(x.members))
	}
}

func TestJoinIgnoresUnknownObject(t *testing.T) {
	var x Index[int]
	x.Join(1, slices.Values([]object.Key{key(1)}))
	if n := x.Count(1, nil); n != 0 {
		t.Errorf("it selects %d objects", n)
	}
	x.Set(key(1), []int{1})
	if n := x.Count(1, nil); n != 1 {
		t.Errorf("it selects %d objects, want 1", n)
	}
}

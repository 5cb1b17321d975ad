// Package overlap finds the controllers that select the same objects.
//
// Controllers that select the same objects may undo each other's changes, so each of them reports the others. Comparing each
// object of each of n controllers with the selectors of all others takes n × objects × n comparisons. Instead, an [Index]
// divides the objects of a resource into groups: the objects of a group are in one namespace and are selected by exactly the same
// controllers. There are few groups, even if many controllers select all objects, and finding the other controllers reads groups,
// not objects.
package overlap

import (
	"cmp"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"

	"metascript/controller/object"
)

// An Index records which members select which objects of one resource. M identifies a member, such as a controller. The zero
// value is empty. It is not safe for concurrent use.
//
// Each object is in exactly one group, no group is empty, and no two groups have the same namespace and set of bits. The bit of a
// member that left stays set in the groups until the bits are renumbered; membersIn ignores the bits in left.
type Index[M comparable] struct {
	groupOf map[object.Key]*group
	groups  map[groupKey]*group
	bits    map[M]int // the bit of each member that did not leave
	members []M       // by bit; the zero value for one that left
	left    big.Int   // the bits of the members that left
}

// A group is the objects of one namespace that the same members select.
type group struct {
	namespace string
	members   *big.Int   // the set of their bits
	size      int        // how many objects
	first     object.Key // the first one by name; valid if found is true
	found     bool
}

// A groupKey identifies a group: its namespace, and the bytes of its set of bits.
type groupKey struct{ namespace, members string }

func keyOf(namespace string, members *big.Int) groupKey {
	return groupKey{namespace, string(members.Bytes())}
}

// Namespaces says which namespaces count. Nil: all. Cluster-scoped objects have the namespace "".
type Namespaces func(namespace string) bool

// Set records that exactly these members select an object. It adds the object if it is new.
func (x *Index[M]) Set(o object.Key, members []M) {
	set := new(big.Int)
	for _, m := range members {
		set.SetBit(set, x.bit(m), 1)
	}
	x.move(o, x.group(o.Namespace, set))
}

// Delete removes an object.
func (x *Index[M]) Delete(o object.Key) {
	x.remove(o)
	delete(x.groupOf, o)
}

// Join records that a member selects these objects too. It ignores an object that is not in the index: the Set that adds it
// includes the member.
func (x *Index[M]) Join(m M, objects iter.Seq[object.Key]) {
	bit, joined := x.bit(m), map[*group]*group{}
	for o := range objects {
		from := x.groupOf[o]
		if from == nil {
			continue
		}
		if joined[from] == nil {
			joined[from] = x.group(from.namespace, new(big.Int).SetBit(from.members, bit, 1))
		}
		x.move(o, joined[from])
	}
}

// minLeft is how many members must have left before the bits are renumbered, which takes time for each object.
const minLeft = 64

// Leave records that a member selects nothing any more.
func (x *Index[M]) Leave(m M) {
	bit, joined := x.bits[m]
	if !joined {
		return
	}
	var zero M
	x.members[bit] = zero
	x.left.SetBit(&x.left, bit, 1)
	delete(x.bits, m)
	if len(x.members)-len(x.bits) > max(minLeft, len(x.bits)) {
		x.renumber()
	}
}

// renumber assigns new bits to the members that did not leave.
func (x *Index[M]) renumber() {
	old := *x
	*x = Index[M]{}
	renumbered := map[*group]*group{}
	for o, g := range old.groupOf {
		if renumbered[g] == nil {
			set := new(big.Int)
			for m := range old.membersIn(g.members) {
				set.SetBit(set, x.bit(m), 1)
			}
			renumbered[g] = x.group(g.namespace, set)
		}
		x.move(o, renumbered[g])
	}
}

// Namespaces returns the namespaces of the objects that a member selects, each once, in no order.
func (x *Index[M]) Namespaces(m M) []string {
	all := map[string]bool{}
	for g := range x.groupsOf(m, nil) {
		all[g.namespace] = true
	}
	return slices.Collect(maps.Keys(all))
}

// Count returns how many objects a member selects.
func (x *Index[M]) Count(m M, in Namespaces) int {
	n := 0
	for g := range x.groupsOf(m, in) {
		n += g.size
	}
	return n
}

// Others returns the members that select an object that m selects too, in no order.
func (x *Index[M]) Others(m M, in Namespaces) []M {
	all := new(big.Int)
	for g := range x.groupsOf(m, in) {
		all.Or(all, g.members)
	}
	var others []M
	for other := range x.membersIn(all) {
		if other != m {
			others = append(others, other)
		}
	}
	return others
}

// First returns the first object, by namespace and name, that both members select. found is false if there is none.
func (x *Index[M]) First(a, b M, in Namespaces) (first object.Key, found bool) {
	bit, joined := x.bits[b]
	if !joined {
		return object.Key{}, false
	}
	for g := range x.groupsOf(a, in) {
		if g.members.Bit(bit) == 0 {
			continue
		}
		if !g.found {
			x.findFirst()
		}
		if !found || compare(g.first, first) < 0 {
			first, found = g.first, true
		}
	}
	return first, found
}

// findFirst sets first and found of each group of which first is not known.
func (x *Index[M]) findFirst() {
	var unknown []*group
	for o, g := range x.groupOf {
		if g.found {
			continue
		}
		if g.first == (object.Key{}) || compare(o, g.first) < 0 {
			g.first = o
		}
		unknown = append(unknown, g)
	}
	for _, g := range unknown {
		g.found = true
	}
}

// groupsOf returns the groups of the objects that a member selects.
func (x *Index[M]) groupsOf(m M, in Namespaces) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		bit, joined := x.bits[m]
		for _, g := range x.groups {
			if joined && g.members.Bit(bit) == 1 && (in == nil || in(g.namespace)) && !yield(g) {
				return
			}
		}
	}
}

// membersIn returns the members in a set of bits, without those that left.
func (x *Index[M]) membersIn(set *big.Int) iter.Seq[M] {
	return func(yield func(M) bool) {
		for bit, m := range x.members {
			if set.Bit(bit) == 1 && x.left.Bit(bit) == 0 && !yield(m) {
				return
			}
		}
	}
}

// bit returns the bit of a member. It assigns one if the member is new.
func (x *Index[M]) bit(m M) int {
	if x.bits == nil {
		x.bits = map[M]int{}
	}
	bit, joined := x.bits[m]
	if !joined {
		bit = len(x.members)
		x.bits[m], x.members = bit, append(x.members, m)
	}
	return bit
}

// group returns the group of these members in a namespace. If it is new, it is empty, and the caller must move an object into it.
func (x *Index[M]) group(namespace string, members *big.Int) *group {
	if x.groups == nil {
		x.groups, x.groupOf = map[groupKey]*group{}, map[object.Key]*group{}
	}
	key := keyOf(namespace, members)
	if x.groups[key] == nil {
		x.groups[key] = &group{namespace: namespace, members: members, found: true}
	}
	return x.groups[key]
}

// move moves an object to a group, from the group that it is in, if any.
func (x *Index[M]) move(o object.Key, to *group) {
	if x.groupOf[o] == to {
		return
	}
	x.remove(o)
	if to.size == 0 || to.found && compare(o, to.first) < 0 {
		to.first = o
	}
	to.size++
	x.groupOf[o] = to
}

// remove removes an object from its group, if it is in one. It removes a group that becomes empty.
func (x *Index[M]) remove(o object.Key) {
	g := x.groupOf[o]
	if g == nil {
		return
	}
	if g.size--; g.size == 0 {
		delete(x.groups, keyOf(g.namespace, g.members))
	} else if g.found && g.first == o {
		g.first, g.found = object.Key{}, false
	}
}

// compare orders keys by namespace and name.
func compare(a, b object.Key) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// Package overlap finds the controllers that select the same objects.
//
// Controllers that select the same objects disturb each other, and each of them reports the others. If each of n controllers
// compared each of its objects with the selectors of the others, that would be n × objects × n comparisons. An [Index] divides
// the objects of a resource into groups, each of the objects that exactly the same controllers select. There are few groups,
// however many controllers select everything, so that a controller finds the others without a look at any object.
package overlap

import (
	"cmp"
	"iter"
	"math/big"
	"strings"

	"metascript/controller/object"
)

// An Index knows which members select which objects of one resource; M names a member. The zero value is empty. It is not safe
// for concurrent use.
//
// Each object is in one group, no group is empty, and no two groups have the same members. A member that left keeps its bit in
// the groups until the bits are renumbered; left masks it.
type Index[M comparable] struct {
	groupOf map[object.Key]*group
	groups  map[string]*group // by the bytes of their members
	bits    map[M]int
	members []M // by bit
	left    big.Int
}

// A group is the objects that the same members select.
type group struct {
	members *big.Int // a set of bits
	size    int
	first   object.Key // by namespace and name; unknown while found is false
	found   bool
}

// Set records that these members, and no others, select an object, which may be new.
func (x *Index[M]) Set(o object.Key, members []M) {
	set := new(big.Int)
	for _, m := range members {
		set.SetBit(set, x.bit(m), 1)
	}
	x.move(o, x.group(set))
}

// Delete forgets an object.
func (x *Index[M]) Delete(o object.Key) {
	x.remove(o)
	delete(x.groupOf, o)
}

// Join records that a member selects these objects too. It ignores an object that was never set: its Set includes the member.
func (x *Index[M]) Join(m M, objects iter.Seq[object.Key]) {
	bit, joined := x.bit(m), map[*group]*group{}
	for o := range objects {
		before := x.groupOf[o]
		if before == nil {
			continue
		}
		if joined[before] == nil {
			joined[before] = x.group(new(big.Int).SetBit(before.members, bit, 1))
		}
		x.move(o, joined[before])
	}
}

// minLeft is how many members leave before the bits are renumbered, which looks at every object.
const minLeft = 64

// Leave records that a member selects nothing any more.
func (x *Index[M]) Leave(m M) {
	bit, joined := x.bits[m]
	if !joined {
		return
	}
	var none M
	x.members[bit] = none
	x.left.SetBit(&x.left, bit, 1)
	delete(x.bits, m)
	if len(x.members)-len(x.bits) > max(minLeft, len(x.bits)) {
		x.renumber()
	}
}

// renumber gives bits to the members anew, without those that left.
func (x *Index[M]) renumber() {
	before := *x
	*x = Index[M]{}
	renumbered := map[*group]*group{}
	for o, g := range before.groupOf {
		if renumbered[g] == nil {
			set := new(big.Int)
			for m := range before.membersIn(g.members) {
				set.SetBit(set, x.bit(m), 1)
			}
			renumbered[g] = x.group(set)
		}
		x.move(o, renumbered[g])
	}
}

// Count returns how many objects a member selects.
func (x *Index[M]) Count(m M) int {
	n := 0
	for g := range x.groupsOf(m) {
		n += g.size
	}
	return n
}

// Others returns the members that select an object that m selects too, in no order.
func (x *Index[M]) Others(m M) []M {
	all := new(big.Int)
	for g := range x.groupsOf(m) {
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

// First returns the first object, by namespace and name, that both members select; false if there is none.
func (x *Index[M]) First(a, b M) (first object.Key, found bool) {
	bit, joined := x.bits[b]
	if !joined {
		return object.Key{}, false
	}
	for g := range x.groupsOf(a) {
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

// findFirst finds the first object of each group of which it is unknown.
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

// groupsOf are the groups of the objects that a member selects.
func (x *Index[M]) groupsOf(m M) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		bit, joined := x.bits[m]
		for _, g := range x.groups {
			if joined && g.members.Bit(bit) == 1 && !yield(g) {
				return
			}
		}
	}
}

// membersIn are the members of a set of bits that did not leave.
func (x *Index[M]) membersIn(set *big.Int) iter.Seq[M] {
	return func(yield func(M) bool) {
		for bit, m := range x.members {
			if set.Bit(bit) == 1 && x.left.Bit(bit) == 0 && !yield(m) {
				return
			}
		}
	}
}

// bit is the bit of a member, which may be new.
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

// group is the group of these members. If it is new, an object must be moved into it.
func (x *Index[M]) group(members *big.Int) *group {
	if x.groups == nil {
		x.groups, x.groupOf = map[string]*group{}, map[object.Key]*group{}
	}
	key := string(members.Bytes())
	if x.groups[key] == nil {
		x.groups[key] = &group{members: members, found: true}
	}
	return x.groups[key]
}

// move puts an object into a group, out of the one that it may be in.
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

// remove takes an object out of its group, if it has one.
func (x *Index[M]) remove(o object.Key) {
	g := x.groupOf[o]
	if g == nil {
		return
	}
	if g.size--; g.size == 0 {
		delete(x.groups, string(g.members.Bytes()))
	} else if g.found && g.first == o {
		g.first, g.found = object.Key{}, false
	}
}

func compare(a, b object.Key) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

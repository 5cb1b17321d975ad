package process

import (
	"cmp"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strings"

	"metascript/engine"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// Objects are sent once. For every worker the parent records which versions of which objects it has sent, and the worker stores
// them. Only the parent decides which objects are removed, and sends their numbers with the next call, so that both sides always
// have the same objects:
//
//   - an object is stored if [engine.Env].Identify names it, and is used for calls of one owner: it is removed
//     when the worker serves another owner;
//   - another version of an object replaces the previous one;
//   - when all objects of a worker together are too large, those that were used least recently are removed.
//
// A large map of packed objects, such as all children of one kind, is stored as well, as a group. The next request has most of its
// objects again, so that only the other entries are sent.

const (
	// maxKept is how much memory the objects of one worker may take, by the encoder's estimate.
	maxKept = 64 << 20
	// minGroup is the length from which a map of objects is a group. With fewer objects it would save nothing.
	minGroup = 16
)

// sentObjects are the objects that the parent has sent to a worker.
type sentObjects struct {
	objects map[string]*sentObject // by id
	groups  map[*sentGroup]bool
	cost    int64    // of all objects and groups together
	numbers uint64   // the last number that was given to an object or a group
	calls   uint64   // how many calls were sent
	dropped []uint64 // objects and groups that the worker removes after the call
}

// A sentObject describes an object that was sent. Nothing in it keeps the object itself in memory.
type sentObject struct {
	id, version string
	number      uint64
	cost        int64
	block       packed.Ref // to the object, if it is packed
	sum         uint64     // of its bytes then
	group       *sentGroup // a group in which it was used; nil: none
	users       int        // itself, and the groups in which it is; at 0 the worker has released its memory
	used        uint64     // the last call that has used it
	dropped     bool
}

var seed = maphash.MakeSeed()

func sentObjectOf(v engine.Map) *sentObject {
	if p, ok := v.(packed.Map); ok {
		return &sentObject{block: p.Ref(), sum: maphash.Bytes(seed, p.Bytes())}
	}
	return &sentObject{}
}

// is reports whether v is the object, which the worker still has.
func (o *sentObject) is(v packed.Map) bool { return !o.dropped && o.block.To(v) }

// hasBytesOf reports whether v, which has the same identity, has the same bytes if it is packed, so that reads of it are the same too. It may be
// at another address: a cache has read the same version again.
func (o *sentObject) hasBytesOf(v engine.Map) bool {
	p, ok := v.(packed.Map)
	if !ok || o.block.To(p) {
		return true
	}
	if o.sum != maphash.Bytes(seed, p.Bytes()) {
		return false
	}
	o.block = p.Ref()
	return true
}

// A sentGroup describes a map of objects that the worker has stored.
type sentGroup struct {
	number  uint64
	entries map[string]*sentObject
	cost    int64
}

func newSent() *sentObjects {
	return &sentObjects{objects: map[string]*sentObject{}, groups: map[*sentGroup]bool{}}
}

// use returns an object that was sent in this version, or nil.
func (s *sentObjects) use(id, version string) *sentObject {
	o := s.objects[id]
	if o == nil || o.version != version {
		return nil
	}
	o.used = s.calls
	return o
}

// number returns a number that neither an object nor a group of this worker has had.
func (s *sentObjects) number() uint64 {
	s.numbers++
	return s.numbers
}

// add records an object, and replaces another version of it.
func (s *sentObjects) add(o *sentObject) {
	if before := s.objects[o.id]; before != nil {
		s.drop(before)
		o.group = before.group
	}
	s.objects[o.id] = o
	o.users, o.used = 1, s.calls
	s.cost += o.cost
}

// drop removes an object here, and in the worker after the next call.
func (s *sentObjects) drop(o *sentObject) {
	delete(s.objects, o.id)
	o.dropped = true
	s.dropped = append(s.dropped, o.number)
	s.release(o)
}

func (s *sentObjects) release(o *sentObject) {
	if o.users--; o.users == 0 {
		s.cost -= o.cost
	}
}

// costGroup is the memory of an entry of a group, without its key.
const costGroup = 2 * costScalar

// put sets an entry of a group, and remove removes one.
func (s *sentObjects) put(g *sentGroup, key string, o *sentObject) {
	if before := g.entries[key]; before != nil {
		s.remove(g, key)
	}
	o.users, o.group = o.users+1, g
	g.entries[strings.Clone(key)] = o // the key may be a part of an object
	g.cost += costGroup + int64(len(key))
	s.cost += costGroup + int64(len(key))
}

func (s *sentObjects) remove(g *sentGroup, key string) {
	s.release(g.entries[key])
	delete(g.entries, key)
	g.cost -= costGroup + int64(len(key))
	s.cost -= costGroup + int64(len(key))
}

// dropGroups removes all groups here, and in the worker after the next call. They are stored again when they are used.
func (s *sentObjects) dropGroups() {
	for g := range s.groups {
		for _, o := range g.entries {
			s.release(o)
		}
		s.cost -= g.cost
		s.dropped = append(s.dropped, g.number)
	}
	clear(s.groups)
}

// shrink removes objects if cost is more than maxKept, and more of them than necessary, so that it does not do it for each call. It
// returns the numbers of all that the worker has to remove after the current call, which may still use it.
func (s *sentObjects) shrink() []uint64 {
	if s.calls++; s.cost > maxKept {
		s.dropGroups()
		oldest := slices.SortedFunc(maps.Values(s.objects), func(a, b *sentObject) int { return cmp.Compare(a.used, b.used) })
		for s.cost > maxKept/4*3 {
			s.drop(oldest[0])
			oldest = oldest[1:]
		}
	}
	dropped := s.dropped
	s.dropped = nil
	return dropped
}

// A groupChange is an entry of a group that the worker does not have.
type groupChange struct {
	key    string
	item   any // the object, which may be recorded
	object packed.Map
	identity
}

// group writes a map as a group, or like other maps if not all of its values are packed objects with an identity.
func (e *encoder) group(v map[string]any, depth int) error {
	g := e.groupOf(v)
	var changes []groupChange
	known := 0
	for key, item := range v {
		object, ok := unrecorded(item)
		if !ok {
			return e.entries(v, depth)
		}
		before := g.entries[key]
		if before != nil {
			known++
			if before.is(object) {
				before.used = e.sent.calls
				e.record(before, item)
				continue
			}
		}
		id, version := e.identify(object)
		if id == "" {
			return e.entries(v, depth)
		}
		changes = append(changes, groupChange{key, item, object, identity{id, version}})
	}
	var gone []string
	if known < len(g.entries) {
		for key := range g.entries {
			if _, there := v[key]; !there {
				gone = append(gone, key)
			}
		}
	}
	e.sent.groups[g] = true
	return e.changes(g, changes, gone, depth)
}

// groupOf returns the group that has probably most of the objects in a map, or a new one. It looks at few of the objects.
func (e *encoder) groupOf(v map[string]any) *sentGroup {
	tries := 3
	for _, item := range v {
		if object, ok := unrecorded(item); ok {
			id, _ := e.identify(object)
			if o := e.sent.objects[id]; o != nil && e.sent.groups[o.group] {
				return o.group
			}
		}
		if tries--; tries == 0 {
			break
		}
	}
	return &sentGroup{number: e.sent.number(), entries: map[string]*sentObject{}}
}

// changes writes a group, as what the worker has to change in it.
func (e *encoder) changes(g *sentGroup, changes []groupChange, gone []string, depth int) error {
	e.buf = append(e.buf, tagGroup)
	e.uint(g.number)
	e.texts(gone)
	for _, key := range gone {
		e.sent.remove(g, key)
	}
	e.uint(uint64(len(changes)))
	for _, c := range changes {
		e.text(c.key)
		o, err := e.identified(c.object, c.identity, depth+1)
		if err != nil {
			return err
		}
		e.record(o, c.item)
		e.sent.put(g, c.key, o)
	}
	e.cost += int64(len(changes)) * costEntry
	return nil
}

// group reads what to change in a stored group, and returns the group.
func (d *decoder) group() any {
	number, gone := d.uint(), d.texts()
	records := d.records
	d.records = nil // the group has the objects themselves
	n := d.enter()
	set := make(map[string]any, n)
	for range n {
		key := strings.Clone(d.text())
		set[key] = d.value()
	}
	d.leave()
	d.records = records
	if d.kept == nil || d.err != nil {
		d.fail()
		return nil
	}
	g := d.kept.groups[number]
	if g == nil {
		g = &tree.Sorted{}
	}
	if len(set)+len(gone) > 0 {
		g = g.With(set, gone)
		d.kept.groups[number] = g
	}
	return records.ofGroup(d.kept, g)
}

// An identity is the result of [engine.Env].Identify.
type identity struct{ id, version string }

// A keptIdentity is that of an object which a worker has stored.
type keptIdentity struct {
	identity
	number uint64
}

// keptObjects are the objects that a worker has stored: maps and packed objects.
type keptObjects struct {
	objects map[uint64]any          // by number
	groups  map[uint64]*tree.Sorted // by number

	// The identities, by what is found in an argument again: the address of a map, which is valid while the map is in objects, or a
	// packed object.
	plain  map[uintptr]keptIdentity
	packed map[packed.Map]keptIdentity
}

func newKept() *keptObjects {
	return &keptObjects{
		objects: map[uint64]any{}, groups: map[uint64]*tree.Sorted{}, plain: map[uintptr]keptIdentity{}, packed: map[packed.Map]keptIdentity{},
	}
}

func address(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }

// add stores an object, which is a map[string]any or a packed.Map.
func (k *keptObjects) add(number uint64, i identity, object any) {
	k.objects[number] = object
	switch object := object.(type) {
	case map[string]any:
		k.plain[address(object)] = keptIdentity{i, number}
	case packed.Map:
		k.packed[object] = keptIdentity{i, number}
	}
}

// forget removes objects and groups.
func (k *keptObjects) forget(numbers []uint64) {
	for _, n := range numbers {
		switch object := k.objects[n].(type) {
		case map[string]any:
			delete(k.plain, address(object))
		case packed.Map:
			delete(k.packed, object)
		}
		delete(k.objects, n)
		delete(k.groups, n)
	}
}

// identify is the Identify function for the runtimes in a worker.
func (k *keptObjects) identify(m engine.Map) (id, version string) {
	var i keptIdentity
	switch m := m.(type) {
	case engine.GoMap:
		i = k.plain[address(m)]
	case packed.Map:
		i = k.packed[m]
	case packed.RecordedMap:
		i = k.packed[m.Unrecorded()]
	}
	return i.id, i.version
}

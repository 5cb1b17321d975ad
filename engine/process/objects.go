package process

import (
	"container/list"
	"reflect"

	"metascript/engine"
	"metascript/engine/packed"
)

// Objects are sent once. For every worker the parent records which versions of which objects it has sent, and the worker stores
// them. Only the parent decides which objects are removed, and sends their numbers with the next call, so that both sides always
// have the same objects:
//
//   - an object is stored if [engine.Env].Identify names it, and is used for calls of one owner: it is removed
//     when the worker serves another owner;
//   - another version of an object replaces the previous one;
//   - when all objects of a worker together are too large, those that were used least recently are removed.

// maxKept is how much memory the objects of one worker may take, by the encoder's estimate.
const maxKept = 64 << 20

// sentObjects are the objects that the parent has sent to a worker.
type sentObjects struct {
	order   list.List                // of *sentObject, the one that was used last in front
	objects map[string]*list.Element // the elements of order, by id
	cost    int64                    // of all objects together
	numbers uint64                   // the last number that was given to an object
	dropped []uint64                 // objects that the worker removes after the call
}

// A sentObject describes an object that was sent.
type sentObject struct {
	id, version string
	number      uint64
	cost        int64
}

func newSent() *sentObjects { return &sentObjects{objects: map[string]*list.Element{}} }

// use returns the number of an object that was sent in this version.
func (s *sentObjects) use(id, version string) (number uint64, ok bool) {
	e := s.objects[id]
	if e == nil || e.Value.(*sentObject).version != version {
		return 0, false
	}
	s.order.MoveToFront(e)
	return e.Value.(*sentObject).number, true
}

// number returns a number that no object of this worker has had.
func (s *sentObjects) number() uint64 {
	s.numbers++
	return s.numbers
}

// add records an object, and replaces another version of it.
func (s *sentObjects) add(o *sentObject) {
	if e := s.objects[o.id]; e != nil {
		s.drop(e)
	}
	s.objects[o.id] = s.order.PushFront(o)
	s.cost += o.cost
}

// drop removes an object here, and in the worker after the next call.
func (s *sentObjects) drop(e *list.Element) {
	o := s.order.Remove(e).(*sentObject)
	delete(s.objects, o.id)
	s.cost -= o.cost
	s.dropped = append(s.dropped, o.number)
}

// shrink removes objects until cost is at most maxKept. It returns the numbers of all objects that the worker has to remove after
// the current call, which may still use them.
func (s *sentObjects) shrink() []uint64 {
	for s.cost > maxKept {
		s.drop(s.order.Back())
	}
	dropped := s.dropped
	s.dropped = nil
	return dropped
}

// An identity is the result of [engine.Env].Identify.
type identity struct{ id, version string }

// keptObjects are the objects that a worker has stored: maps and packed objects.
type keptObjects struct {
	objects map[uint64]any // by number

	// The identities, by what is found in an argument again: the address of a map, which is valid while the map is in objects, or a
	// packed object.
	plain  map[uintptr]identity
	packed map[packed.Map]identity
}

func newKept() *keptObjects {
	return &keptObjects{objects: map[uint64]any{}, plain: map[uintptr]identity{}, packed: map[packed.Map]identity{}}
}

func address(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }

// add stores an object, which is a map[string]any or a packed.Map.
func (k *keptObjects) add(number uint64, i identity, object any) {
	k.objects[number] = object
	switch object := object.(type) {
	case map[string]any:
		k.plain[address(object)] = i
	case packed.Map:
		k.packed[object] = i
	}
}

// forget removes objects.
func (k *keptObjects) forget(numbers []uint64) {
	for _, n := range numbers {
		switch object := k.objects[n].(type) {
		case map[string]any:
			delete(k.plain, address(object))
		case packed.Map:
			delete(k.packed, object)
		}
		delete(k.objects, n)
	}
}

// identify is the Identify function for the runtimes in a worker.
func (k *keptObjects) identify(m engine.Map) (id, version string) {
	var i identity
	switch m := m.(type) {
	case engine.GoMap:
		i = k.plain[address(m)]
	case packed.Map:
		i = k.packed[m]
	}
	return i.id, i.version
}

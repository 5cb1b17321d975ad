package remember

import (
	"iter"
	"slices"

	"metascript/controller/object"
)

// A table has values by object. It is a list while there are few, since there is one for each parent, and a map has room for eight at least.
// The zero value is empty.
type table[T any] struct {
	few  []entry[T]
	many map[*object.Object]T // nil while there are few
}

type entry[T any] struct {
	of    *object.Object
	value T
}

// mostInList is how many values are in the list at most.
const mostInList = 4

// newTable returns a table with room for n values.
func newTable[T any](n int) table[T] {
	if n > mostInList {
		return table[T]{many: make(map[*object.Object]T, n)}
	}
	return table[T]{few: make([]entry[T], 0, n)}
}

func (t *table[T]) len() int { return len(t.few) + len(t.many) }

func (t *table[T]) index(o *object.Object) int {
	return slices.IndexFunc(t.few, func(e entry[T]) bool { return e.of == o })
}

func (t *table[T]) get(o *object.Object) (value T, found bool) {
	if i := t.index(o); i >= 0 {
		return t.few[i].value, true
	}
	value, found = t.many[o]
	return value, found
}

// set sets the value of o. A table with room for few becomes a map if there are more.
func (t *table[T]) set(o *object.Object, value T) {
	switch i := t.index(o); {
	case t.many != nil:
		t.many[o] = value
	case i >= 0:
		t.few[i].value = value
	case len(t.few) < mostInList:
		t.few = append(t.few, entry[T]{o, value})
	default:
		t.many = map[*object.Object]T{o: value}
		for _, e := range t.few {
			t.many[e.of] = e.value
		}
		t.few = nil
	}
}

// move sets the value of an object that takes the place of another one.
func (t *table[T]) move(from, to *object.Object, value T) {
	if i := t.index(from); i >= 0 {
		t.few[i] = entry[T]{to, value}
		return
	}
	delete(t.many, from)
	t.many[to] = value
}

func (t *table[T]) objects() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		for _, e := range t.few {
			if !yield(e.of) {
				return
			}
		}
		for o := range t.many {
			if !yield(o) {
				return
			}
		}
	}
}

package packed

import "iter"

// Unequal returns the keys whose values do not have equal bytes in two objects, in the order of the keys' bytes, with both values. Where a
// key is only in one of the objects, the other value is [None]. Nothing is read of values whose bytes are equal.
func (m Map) Unequal(other Map) iter.Seq2[string, [2]any] {
	return func(yield func(string, [2]any) bool) {
		a, b := walkOf(m), walkOf(other)
		for a.ok || b.ok {
			switch {
			case !b.ok || a.ok && a.key < b.key:
				if !yield(a.key, [2]any{read(a.value), None}) {
					return
				}
				a.step()
			case !a.ok || b.key < a.key:
				if !yield(b.key, [2]any{None, read(b.value)}) {
					return
				}
				b.step()
			default:
				if string(block(a.value)) != string(block(b.value)) && !yield(a.key, [2]any{read(a.value), read(b.value)}) {
					return
				}
				a.step()
				b.step()
			}
		}
	}
}

// None stands for a value that does not exist; nil is a value.
var None any = none{}

type none struct{}

// A walk goes through the entries of a map.
type walk struct {
	key   string
	value *byte
	next  *byte
	left  int
	ok    bool // there is one
}

func walkOf(m Map) walk {
	e := elementsOf(m.at)
	all := walk{next: e.first, left: e.n}
	all.step()
	return all
}

// step goes to the next entry.
func (e *walk) step() {
	if e.ok = e.left > 0; e.ok {
		e.left--
		e.key, e.value = text(e.next)
		e.next = skip(e.value)
	}
}

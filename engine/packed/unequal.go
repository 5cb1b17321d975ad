package packed

// Unequal goes through the keys whose values do not have equal bytes in two objects, in the order of the keys' bytes. Nothing is read of
// values whose bytes are equal.
type Unequal struct {
	Key   string
	A, B  any // the values; None where the object does not have the key
	left  walk
	right walk
}

// None stands for a value that does not exist; nil is a value.
var None any = none{}

type none struct{}

// Unequal returns what goes through the keys. The first call of [Unequal.Next] goes to the first one.
func (m Map) Unequal(other Map) Unequal { return Unequal{left: walkOf(m), right: walkOf(other)} }

// Next goes to the next key, and reports whether there is one.
func (u *Unequal) Next() bool {
	a, b := &u.left, &u.right
	for a.ok || b.ok {
		switch {
		case !b.ok || a.ok && a.key < b.key:
			u.Key, u.A, u.B = a.key, read(a.value), None
			a.step()
			return true
		case !a.ok || b.key < a.key:
			u.Key, u.A, u.B = b.key, None, read(b.value)
			b.step()
			return true
		}
		equal := string(block(a.value)) == string(block(b.value))
		if !equal {
			u.Key, u.A, u.B = a.key, read(a.value), read(b.value)
		}
		a.step()
		b.step()
		if !equal {
			return true
		}
	}
	return false
}

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

package hook

import "metascript/controller/object"

// A tally records for which parents a script failed. The zero value has no parents.
type tally struct {
	parents map[object.Ref]*attempt // all for which the script was called
	failing int                     // for how many of them the last call failed
	row     int                     // failures in a row, for any parents
	turns   uint64
}

// An attempt is the last call for a parent.
type attempt struct {
	failed bool
	turn   uint64 // the parent with the lowest turn is probed next
}

// begin returns the attempt of a parent, and adds one if there is none. A call in progress does not count as failed.
func (t *tally) begin(parent object.Ref) *attempt {
	known := t.parents[parent]
	if known == nil {
		known = &attempt{}
		if t.parents == nil {
			t.parents = map[object.Ref]*attempt{}
		}
		t.parents[parent] = known
		t.moveLast(known)
	}
	return known
}

// note records the result of a call.
func (t *tally) note(parent object.Ref, failed bool) {
	known := t.begin(parent)
	t.count(known, -1)
	known.failed = failed
	t.count(known, +1)
	if t.row++; !failed {
		t.row = 0
	}
}

func (t *tally) count(known *attempt, n int) {
	if known.failed {
		t.failing += n
	}
}

func (t *tally) forget(parent object.Ref) {
	if known := t.parents[parent]; known != nil {
		t.count(known, -1)
		delete(t.parents, parent)
	}
}

// isBroken reports whether the script itself is broken, and not its input for single parents.
func (t *tally) isBroken() bool { return t.row >= 2 && 2*t.failing > len(t.parents) }

// moveLast moves a parent behind all others in the order of probes.
func (t *tally) moveLast(known *attempt) {
	t.turns++
	known.turn = t.turns
}

// next returns the first parent in the order of probes for which fits is true, and moves it behind the others.
func (t *tally) next(fits func(*attempt) bool) (first object.Ref, found bool) {
	var best *attempt
	for parent, known := range t.parents {
		if fits(known) && (best == nil || known.turn < best.turn) {
			first, best = parent, known
		}
	}
	if best == nil {
		return first, false
	}
	t.moveLast(best)
	return first, true
}

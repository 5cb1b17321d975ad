package throttle

import "metascript/controller/object"

// A Tally records for which parents a script failed. The zero value has no parents.
type Tally struct {
	parents map[object.Ref]*Attempt // all for which the script was called
	failing int                     // for how many of them the last call failed
	row     int                     // failures in a row, for any parents
	turns   uint64
}

// An Attempt is the last call for a parent.
type Attempt struct {
	Failed bool
	turn   uint64 // the parent with the lowest turn is probed next
}

// Begin returns the Attempt of a parent, and adds one if there is none. A call in progress does not count as failed.
func (t *Tally) Begin(parent object.Ref) *Attempt {
	known := t.parents[parent]
	if known == nil {
		known = &Attempt{}
		if t.parents == nil {
			t.parents = map[object.Ref]*Attempt{}
		}
		t.parents[parent.Clone()] = known
		t.MoveLast(known)
	}
	return known
}

// Note records the result of a call.
func (t *Tally) Note(parent object.Ref, failed bool) {
	known := t.Begin(parent)
	t.count(known, -1)
	known.Failed = failed
	t.count(known, +1)
	if t.row++; !failed {
		t.row = 0
	}
}

func (t *Tally) count(known *Attempt, n int) {
	if known.Failed {
		t.failing += n
	}
}

// Forget drops a parent.
func (t *Tally) Forget(parent object.Ref) {
	if known := t.parents[parent]; known != nil {
		t.count(known, -1)
		delete(t.parents, parent)
	}
}

// Calls returns for how many parents the script was called, and for how many of them the last call failed.
func (t *Tally) Calls() (parents, failing int) { return len(t.parents), t.failing }

// IsBroken reports whether the script itself is broken, and not its input for single parents.
func (t *Tally) IsBroken() bool { return t.row >= 2 && 2*t.failing > len(t.parents) }

// MoveLast moves a parent behind all others in the order of probes.
func (t *Tally) MoveLast(known *Attempt) {
	t.turns++
	known.turn = t.turns
}

// Next returns the first parent in the order of probes for which fits is true, and moves it behind the others.
func (t *Tally) Next(fits func(*Attempt) bool) (first object.Ref, found bool) {
	var best *Attempt
	for parent, known := range t.parents {
		if fits(known) && (best == nil || known.turn < best.turn) {
			first, best = parent, known
		}
	}
	if best == nil {
		return first, false
	}
	t.MoveLast(best)
	return first, true
}

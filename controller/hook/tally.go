package hook

import "metascript/controller/object"

// A tally counts for which parents a script failed. The zero tally knows of none.
type tally struct {
	parents map[object.Ref]*attempt // all that the script was asked about
	failing int                     // for how many of them it failed last
	row     int                     // how often it failed since it last worked
	turns   uint64
}

// An attempt is the last one for a parent.
type attempt struct {
	failed bool
	turn   uint64 // who has the lowest goes first
}

// begin says that the script is asked about a parent. One that is under way does not count as failed.
func (t *tally) begin(parent object.Ref) *attempt {
	known := t.parents[parent]
	if known == nil {
		known = &attempt{}
		if t.parents == nil {
			t.parents = map[object.Ref]*attempt{}
		}
		t.parents[parent] = known
		t.pass(known)
	}
	return known
}

// note says what came of it.
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

// pass lets the others go first.
func (t *tally) pass(known *attempt) {
	t.turns++
	known.turn = t.turns
}

// next gives the first of those that fit, which then lets the others go first.
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
	t.pass(best)
	return first, true
}

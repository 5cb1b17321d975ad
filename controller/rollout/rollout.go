// Package rollout decides how children follow a change of their parent step by step. It is pure: what is known goes
// in, one [Step] comes out as data, and someone else carries it out. It does no I/O and knows no client.
//
// A [Revision] is one version of the parent: its revisioned fields, the children that are at it, and what the hook
// wants of a parent with these fields. [Next] compares the revisions with the observed children and moves at most
// one child to the latest revision, if those that are there already are well. patch.go takes the revisioned fields
// out of a parent and puts them back, stored.go reads and writes the ControllerRevisions in which all this survives,
// gate.go says what well means.
package rollout

import (
	"cmp"
	"slices"

	"metascript/controller/object"
)

// A Step says what to aim for now. Its revisions are to be stored first, the latest of them before the others, so
// that a child is never without one; children come after, and may then be found where the step wanted them whenever
// the one who carries it out dies.
type Step struct {
	Desired  *object.Set // each child as the revision that it is at wants it
	Observed *object.Set // what was observed, without the children that are to be left as they are

	Latest Revision   // to be stored even while no child is at it
	Keep   []Revision // the older ones that still have children
	Drop   []Revision // those that have none, to be deleted

	Condition Condition
}

// Next gives the step that follows from what was observed, which may be old:
//
//   - children that the latest revision does not want are no longer at any;
//   - what is new comes at the latest revision, and what already is as that wants it, is at it from now on;
//   - of the others the first, in the order of the latest answer, moves to it, if the gate is open: that is if all
//     children at the latest revision exist, are as they should be, and are well;
//   - who does not move stays at its own revision, and comes back at it when it is deleted. A child whose revision is
//     unknown, or does not want it, stays as it is.
//
// Kinds that do not roll follow the latest revision.
func Next(latest Revision, older []Revision, observed *object.Set, rules Rules) Step {
	r := newRollout(latest, older, observed, rules)
	for _, c := range r.order {
		r.at[c] = r.revisionOf(c)
		if r.at[c] != newest && r.belongs(c) {
			r.at[c] = newest
		}
	}
	step := Step{Condition: r.advance()}
	step.Desired, step.Observed = r.desired(), r.touched(observed)
	r.share(&step)
	return step
}

// Where a child is: at one of the revisions, by index, or at none.
const (
	none   = -1
	newest = 0
)

// A rollout is the state of affairs while a step is being decided.
type rollout struct {
	Rules
	revisions []Revision // the latest first
	wants     []map[Child]*object.Object
	observed  map[Child]*object.Object
	order     []Child       // what the latest wants, in the order of its answer
	at        map[Child]int // where each of these is
}

func newRollout(latest Revision, older []Revision, observed *object.Set, rules Rules) *rollout {
	byName := func(a, b Revision) int { return cmp.Compare(a.Name, b.Name) }
	r := &rollout{
		Rules:     rules,
		revisions: append([]Revision{latest}, slices.SortedFunc(slices.Values(older), byName)...),
		at:        map[Child]int{},
	}
	_, r.observed = r.index(observed)
	for i, revision := range r.revisions {
		order, wants := r.index(revision.Desired)
		r.wants = append(r.wants, wants)
		if i == newest {
			r.order = order
		}
	}
	return r
}

// index finds the children of kinds that roll.
func (r *rollout) index(set *object.Set) ([]Child, map[Child]*object.Object) {
	var order []Child
	found := map[Child]*object.Object{}
	for o := range set.Added() {
		if r.rolls(o) {
			c := childOf(o)
			order, found[c] = append(order, c), o
		}
	}
	return order, found
}

func (r *rollout) rolls(o *object.Object) bool {
	_, rolls := r.Kinds[o.GroupVersionKind()]
	return rolls
}

// revisionOf gives the revision that a child is at. Two may claim it, when storing a step was interrupted: then it is
// at the latest, or else at the one that wants it as it is.
func (r *rollout) revisionOf(c Child) int {
	at := none
	for i := range r.revisions {
		switch claims := r.claims(i, c); {
		case claims && (i == newest || r.is(c, i)):
			return i
		case claims && at == none:
			at = i
		}
	}
	return at
}

// is reports whether a child is there and as revision i wants it.
func (r *rollout) is(c Child, i int) bool {
	have := r.there(c)
	if have == nil {
		return false
	}
	difference, err := r.differs(have, r.wants[i][c])
	return err == nil && difference == ""
}

// there is the child as it was observed, or nil when it is not there or will soon be gone.
func (r *rollout) there(c Child) *object.Object {
	if have := r.observed[c]; have != nil && !object.Deleting(have) {
		return have
	}
	return nil
}

// belongs reports whether a child goes to the latest revision at once: it is as that wants it, or it is new.
func (r *rollout) belongs(c Child) bool {
	return r.is(c, newest) || r.at[c] == none && r.there(c) == nil
}

// advance moves the next child, if there is one and the gate is open.
func (r *rollout) advance() Condition {
	for _, c := range r.order {
		if r.at[c] == newest {
			continue
		}
		if why := r.gate(); why != "" {
			return Condition{Status: false, Reason: Waiting, Message: why}
		}
		r.at[c] = newest
		return Condition{Status: false, Reason: Progressing, Message: "updating " + c.String()}
	}
	return Condition{Status: true, Reason: OnLatest, Message: "latest ControllerRevision: " + r.revisions[newest].Name}
}

// desired is what the latest revision wants, with the children that are at another as that wants them.
func (r *rollout) desired() *object.Set {
	set := &object.Set{}
	for o := range r.revisions[newest].Desired.Added() {
		at := newest
		if r.rolls(o) {
			at = r.at[childOf(o)]
		}
		switch at {
		case newest:
			set.Put(o)
		case none:
			set.Declare(o.GroupVersionKind())
		default:
			set.Put(r.wants[at][childOf(o)])
		}
	}
	return set
}

// touched is what was observed, without the children that are at no revision.
func (r *rollout) touched(observed *object.Set) *object.Set {
	set := &object.Set{}
	for _, kind := range observed.Kinds() {
		set.Declare(kind)
	}
	for o := range observed.Added() {
		if at, wanted := r.at[childOf(o)]; !r.rolls(o) || !wanted || at != none {
			set.Put(o)
		}
	}
	return set
}

// share gives each revision its children. An older one keeps those that did not move to the latest, also when two claim
// the same, or when it does not want one now: whom to believe may be clearer another time.
func (r *rollout) share(step *Step) {
	for i, revision := range r.revisions {
		revision.Children = r.childrenAt(i)
		switch {
		case i == newest:
			step.Latest = revision
		case len(revision.Children) > 0:
			step.Keep = append(step.Keep, revision)
		default:
			step.Drop = append(step.Drop, revision)
		}
	}
}

func (r *rollout) childrenAt(i int) Children {
	children := Children{}
	for c, at := range r.at {
		if at == i || at != newest && r.revisions[i].Children[c] {
			children[c] = true
		}
	}
	return children
}

// claims reports whether c may be at revision i: it is among its children, and wanted there.
func (r *rollout) claims(i int, c Child) bool {
	return r.revisions[i].Children[c] && r.wants[i][c] != nil
}

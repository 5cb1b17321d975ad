// Package rollout decides which child is updated next after a change of its parent. It is pure: it computes one [Step] from the
// observed state, and does no I/O.
//
// A [Revision] is one version of the parent: its revisioned fields, the children that are at this revision, and the children that
// the hook returns for a parent with these fields. [Next] compares the revisions with the observed children, and moves at most one
// child to the latest revision, if the children that are at it are healthy. patch.go reads the revisioned fields of a parent and
// writes them back, stored.go decodes and encodes ControllerRevisions, and gate.go decides whether a child is healthy.
package rollout

import (
	"cmp"
	"slices"

	"metascript/controller/object"
)

// A Step is the next state of a rollout. Its revisions are stored before children are written, the latest of them first, so
// that each child always has a revision. If the server stops in between, the next Step continues from what was stored.
type Step struct {
	Desired  *object.Set // each child as its revision has it
	Observed *object.Set // the observed children, without those that are left as they are

	Latest Revision   // stored even if no child is at it
	Keep   []Revision // the older ones that still have children
	Drop   []Revision // those that have none, to be deleted

	Condition Condition
}

// Next returns the step that follows from the observed children, which may be stale:
//
//   - A child that the latest revision does not have is at no revision any more.
//   - A new child, and a child that is as the latest revision has it, is at the latest revision.
//   - The first of the other children, in the order of the latest response, moves to the latest revision if the gate is
//     open: if all children at the latest revision exist, are as desired and are healthy.
//   - A child that does not move stays at its revision, and is created again at this revision if it is deleted. A child
//     whose revision is unknown, or does not have the child, is left as it is.
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

// The revision of a child: an index, or none.
const (
	none   = -1
	newest = 0
)

// A rollout is the state while a step is computed.
type rollout struct {
	Rules
	revisions []Revision // the latest first
	wants     []map[Child]*object.Object
	observed  map[Child]*object.Object
	order     []Child       // the children of the latest revision, in the order of the response
	at        map[Child]int // the revision of each of these
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

// index returns the children in set whose kinds roll, in order and by name.
func (r *rollout) index(set *object.Set) ([]Child, map[Child]*object.Object) {
	var order []Child
	found := map[Child]*object.Object{}
	for o := range set.Added() {
		if r.rolls(o) {
			c := ChildOf(o)
			order, found[c] = append(order, c), o
		}
	}
	return order, found
}

func (r *rollout) rolls(o *object.Object) bool {
	_, rolls := r.Kinds[o.GroupVersionKind()]
	return rolls
}

// revisionOf returns the revision of a child. Two revisions may have the child, if storing a step was interrupted: then it
// is at the latest, or else at the one whose desired state it has.
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

// is reports whether a child exists and is as revision i has it.
func (r *rollout) is(c Child, i int) bool {
	have := r.there(c)
	if have == nil {
		return false
	}
	difference, err := r.differs(have, r.wants[i][c])
	return err == nil && difference == ""
}

// there returns the observed child; nil if it does not exist or is being deleted.
func (r *rollout) there(c Child) *object.Object {
	if have := r.observed[c]; have != nil && !object.Deleting(have) {
		return have
	}
	return nil
}

// belongs reports whether a child moves to the latest revision at once: it is as that revision has it, or it is new.
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

// desired returns the children of the latest revision, each as its own revision has it.
func (r *rollout) desired() *object.Set {
	set := &object.Set{}
	for o := range r.revisions[newest].Desired.Added() {
		at := newest
		if r.rolls(o) {
			at = r.at[ChildOf(o)]
		}
		switch at {
		case newest:
			set.Put(o)
		case none:
			set.Declare(o.GroupVersionKind())
		default:
			set.Put(r.wants[at][ChildOf(o)])
		}
	}
	return set
}

// touched returns the observed children, without those that are at no revision.
func (r *rollout) touched(observed *object.Set) *object.Set {
	set := &object.Set{}
	for _, kind := range observed.Kinds() {
		set.Declare(kind)
	}
	for o := range observed.Added() {
		if at, wanted := r.at[ChildOf(o)]; !r.rolls(o) || !wanted || at != none {
			set.Put(o)
		}
	}
	return set
}

// share sets the children of each revision. An older revision keeps the children that did not move to the latest one, also
// if another revision has the same child, or if it does not have the child now: a later step may know more.
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

// claims reports whether revision i has c among its children, and desires it.
func (r *rollout) claims(i int, c Child) bool {
	return r.revisions[i].Children[c] && r.wants[i][c] != nil
}

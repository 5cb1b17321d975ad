package replay

import (
	"slices"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// The verbs of effects, the most dangerous first.
const (
	wouldDelete   = "delete"
	wouldRecreate = "recreate"
	wouldRoll     = "roll"    // to update or to recreate, one at a time
	wouldRestart  = "restart" // to update, so that the Pods are created again
	wouldUpdate   = "update"
	wouldCreate   = "create"
	wouldLeave    = "leave" // to leave as it is, since the update method is OnDelete
)

// verbs are all verbs, in the order in which they are shown.
var verbs = []string{wouldDelete, wouldRecreate, wouldRoll, wouldRestart, wouldUpdate, wouldCreate, wouldLeave}

// An effect is what the new answer would do to a child, and the recorded one would not.
type effect struct {
	verb  string
	child object.Ref
}

// effects returns what the new answer would do to the recorded children, and the recorded answer would not.
func (r *run) effects(res *result, parent *object.Object) []effect {
	j, c := res.job, r.edited
	if j.isCustomize() || res.after.failure != "" || object.Deleting(parent) && !c.FinalizesChildren(parent) {
		return nil
	}
	observed := &object.Set{}
	for _, kind := range c.children {
		observed.Declare(kind)
	}
	if err := j.put(observed, j.call.Children, c.declares); err != nil {
		return nil // the call could not be made either
	}
	policy := c.policy(j.serverSide)
	before, wanted := map[effect]bool{}, res.after.children
	if res.before.failure == "" {
		differs := map[object.Ref]bool{} // what both answers say is written in the same way
		for _, d := range res.differences {
			differs[d.child] = true
		}
		observed, wanted = only(observed, differs), only(wanted, differs)
		desired := copies(only(res.before.children, differs))
		for _, e := range c.planned(observed, desired, policy) {
			before[e] = true
		}
		if c.serverSide(j.serverSide) {
			policy.Memory = applied(observed, desired, policy)
			clear(before)
		}
	}
	var all []effect
	for _, e := range c.planned(observed, wanted, policy) {
		creates := e.verb == wouldCreate && res.after.finalized && object.Deleting(parent)
		ofLatest := j.call.Revision != "" && (e.verb == wouldDelete || e.verb == wouldCreate) // which children there are, the latest revision decides
		if before[e] || creates || ofLatest {
			continue
		}
		if e.verb == wouldUpdate && restarts(e.child, res) {
			e.verb = wouldRestart
		}
		if (e.verb == wouldUpdate || e.verb == wouldRecreate || e.verb == wouldRestart) && c.rolls(e.child.Kind) {
			e.verb = wouldRoll
		}
		all = append(all, e)
	}
	return all
}

// planned returns what the writes for the children of a parent would do.
func (c *loaded) planned(observed, desired *object.Set, policy plan.Policy) []effect {
	writes, _ := plan.Children(observed, desired, policy) // an error is about single children, of which nothing is known then
	var all []effect
	for _, op := range writes.Ops {
		all = append(all, effect{verbOf(op), object.RefOf(op.Object)})
	}
	for _, left := range writes.Suppressed {
		all = append(all, effect{wouldLeave, object.RefOf(left.Child)})
	}
	return all
}

// verbOf returns what a write would do.
func verbOf(op plan.Op) string {
	switch {
	case op.Creates():
		return wouldCreate
	case op.Verb == plan.DryRun || op.Verb == plan.Delete && op.Replacement != nil:
		return wouldRecreate
	case op.Verb == plan.Delete:
		return wouldDelete
	}
	return wouldUpdate
}

// only returns a set with some objects of another.
func only(set *object.Set, refs map[object.Ref]bool) *object.Set {
	some := &object.Set{}
	for _, kind := range set.Kinds() {
		some.Declare(kind)
	}
	for o := range set.Added() {
		if refs[object.RefOf(o)] {
			some.Put(o)
		}
	}
	return some
}

// copies returns a set with copies of packed objects, which a plan may change.
func copies(set *object.Set) *object.Set {
	all := &object.Set{}
	for o := range set.Added() {
		all.Put(object.Copy(o))
	}
	return all
}

// applied returns a memory in which the recorded answer was applied to the observed children: the recording does not have what was applied
// to them.
func applied(observed, desired *object.Set, policy plan.Policy) plan.Memory {
	memory := plan.Memory{}
	asNew, _ := plan.Children(&object.Set{}, desired, policy)
	for _, op := range asNew.Ops {
		if have := observed.Get(op.Object.GroupVersionKind(), object.KeyOf(op.Object)); have != nil {
			_ = memory.Note(have, op.Object) // without it, the child counts as changed
		}
	}
	return memory
}

// podOwners are the kinds whose Pods are created again when their template changes.
var podOwners = []string{"Deployment", "StatefulSet", "DaemonSet"}

// restarts reports whether an update of a child creates its Pods again.
func restarts(child object.Ref, res *result) bool {
	if child.Kind.Group != "apps" || !slices.Contains(podOwners, child.Kind.Kind) {
		return false
	}
	return slices.ContainsFunc(res.differences, func(d difference) bool {
		return d.child == child && len(d.path) >= 2 && d.path[0] == "spec" && d.path[1] == "template"
	})
}

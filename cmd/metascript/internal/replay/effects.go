package replay

import (
	"crypto/sha256"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/preview"
	"metascript/controller/restarts"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// The verbs of effects, the most dangerous first.
const (
	wouldDelete   = string(preview.Delete)
	wouldRecreate = string(preview.Recreate)
	wouldRoll     = "roll"    // to update or to recreate, one at a time
	wouldRestart  = "restart" // to update, so that Pods restart
	wouldUpdate   = string(preview.Update)
	wouldCreate   = string(preview.Create)
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
	if err := j.put(observed, j.call.Children, c.declares); err != nil {
		return nil // the call could not be made either
	}
	before, failed := res.before.children, res.before.failure != ""
	if failed {
		before = &object.Set{}
	}
	var all []effect
	for _, ref := range res.touched(observed) {
		change := change{observed.Get(ref.Kind, ref.Key), before.Get(ref.Kind, ref.Key), res.after.children.Get(ref.Kind, ref.Key)}
		verb := c.verb(change, !failed, j.serverSide)
		creates := verb == wouldCreate && res.after.finalized && object.Deleting(parent)
		ofLatest := j.call.Revision != "" && (verb == wouldDelete || verb == wouldCreate) // which children there are, the latest revision decides
		if verb == "" || creates || ofLatest {
			continue
		}
		if (verb == wouldUpdate || verb == wouldRecreate || verb == wouldRestart) && c.rolls(ref.Kind) {
			verb = wouldRoll
		}
		all = append(all, effect{verb, ref})
	}
	return all
}

// touched returns the children that differ; all if the call failed before. What both answers say is written in the same way.
func (res *result) touched(observed *object.Set) []object.Ref {
	var all []object.Ref
	seen := map[object.Ref]bool{{}: true} // of differences that are not of a child
	add := func(ref object.Ref) {
		if !seen[ref] {
			seen[ref] = true
			all = append(all, ref)
		}
	}
	for _, d := range res.differences {
		add(d.child)
	}
	if res.before.failure != "" {
		for _, set := range []*object.Set{res.after.children, observed} {
			for o := range set.Added() {
				add(object.RefOf(o))
			}
		}
	}
	return all
}

// A change is a child as it was observed, as the recorded answer has it, and as the new one has it. Each may be nil.
type change [3]*object.Object

// A changeID identifies the content of a change, and how children are written.
type changeID struct {
	contents             [3]contentID
	answered, serverSide bool
}

// A contentID identifies the content of an object: a recorded one by its place in memory, and others by their hash.
type contentID struct {
	ref packed.Ref
	sum [sha256.Size]byte
}

// maxVerbs is how many verbs are remembered.
const maxVerbs = 1 << 16

// verb returns what the new answer would do to a child; "" if nothing, or what the recorded answer would do too. answered: there is a recorded
// answer. Most children of a call are as in the one before, so what they need is remembered.
func (c *loaded) verb(of change, answered, serverSide bool) string {
	id := changeID{answered: answered, serverSide: serverSide}
	for i, o := range of {
		switch {
		case o == nil:
		case o.Packed().IsZero():
			text, err := tree.AppendJSON(nil, o.Value())
			if err != nil {
				return c.newVerb(of, answered, serverSide)
			}
			id.contents[i].sum = sha256.Sum256(text)
		default:
			id.contents[i].ref = o.Packed().Ref()
		}
	}
	c.verbsMu.Lock()
	verb, found := c.verbs[id]
	c.verbsMu.Unlock()
	if found {
		return verb
	}
	verb = c.newVerb(of, answered, serverSide)
	c.verbsMu.Lock()
	defer c.verbsMu.Unlock()
	if c.verbs == nil || len(c.verbs) >= maxVerbs {
		c.verbs = map[changeID]string{}
	}
	c.verbs[id] = verb
	return verb
}

// newVerb is verb for a change that is not remembered.
func (c *loaded) newVerb(of change, answered, serverSide bool) string {
	have, before, want := of[0], of[1], of[2]
	policy, earlier := c.policy(serverSide), ""
	switch {
	case !answered:
	case !c.serverSide(serverSide):
		earlier = planned(have, before, policy)
	case have != nil && before != nil:
		policy.Memory = applied(have, before, policy)
	}
	verb := planned(have, want, policy)
	if verb == earlier {
		return ""
	}
	if verb == wouldUpdate && before != nil {
		if restart, _ := restarts.OfUpdate(before, want); restart.Restarts() {
			return wouldRestart
		}
	}
	return verb
}

// planned returns what the server would do so that a child becomes what is desired. Both may be nil.
func planned(have, want *object.Object, policy plan.Policy) string {
	writes, _ := plan.Children(setOf(have), setOf(want), policy) // after an error, nothing is known
	for _, op := range writes.Ops {
		if !op.Annotates() { // a recording does not have what was applied
			return string(preview.EffectOf(op, want))
		}
	}
	if len(writes.Suppressed) > 0 {
		return wouldLeave
	}
	return ""
}

// setOf returns a set with an object, as a copy since a plan may change it; without one if it is nil.
func setOf(o *object.Object) *object.Set {
	set := &object.Set{}
	if o != nil {
		set.Put(object.Copy(o))
	}
	return set
}

// applied returns a memory in which the recorded answer was applied to a child: the recording does not have what was applied to it.
func applied(have, before *object.Object, policy plan.Policy) plan.Memory {
	policy.Memory = plan.Memory{}
	asNew, _ := plan.Children(&object.Set{}, setOf(before), policy)
	for _, op := range asNew.Ops {
		_ = policy.NoteWritten(op, have) // without it, the child counts as changed
	}
	return policy.Memory
}

// Package plan decides what to write. It is pure: observed and desired go in, operations come out as data, and
// someone else carries them out. It does no I/O and knows no client.
//
// [Children] compares a parent's observed and desired children under a [Policy]; an [Op] is one write, and a [Left] a
// difference that nothing is done about.
//
// There are two ways to write. Dynamic apply merges here: [Merge] is its three-way merge between what is observed,
// what was applied last, which the annotation [LastApplied] remembers, and what is desired.
//
// Server-side apply lets the API server merge, and finds out without asking it whether there is anything to do:
//   - A [Memory] of what was applied last, and of what came out, shows that something else is desired now, and that
//     somebody changed or removed something of ours since. What the API server spells differently from how it is desired
//     is no change. It does not last over a restart.
//   - Without that memory, what the child's managedFields say was applied to it, by this server, an earlier one, or
//     Metacontroller, is compared with what is desired. What differs may only be spelled differently, so it costs one
//     apply, or one dry run, which changes nothing then.
//
// Nothing is written to a child to remember that it is as it is desired.
//
// Either way hands over to the other: see [Op.Migrate] for the one, and the last apply of a child that dynamic apply
// takes back for the other.
package plan

import (
	"errors"

	"metascript/controller/object"
	"metascript/controller/ownership"
)

// A Verb is a kind of write.
type Verb string

// The verbs.
const (
	Create       Verb = "create"
	Update       Verb = "update"        // the whole object, guarded by its resourceVersion
	UpdateStatus Verb = "update status" // the status subresource, guarded by the resourceVersion
	Apply        Verb = "apply"         // server-side, by force, guarded by the resourceVersion, or that there is none
	DryRun       Verb = "dry run"       // an Apply of which only the outcome counts; see AfterDryRun
	Delete       Verb = "delete"        // in the background, guarded by the UID and the resourceVersion
)

// An Op is one write: what, to which object, and why. Update and UpdateStatus carry the object as it shall be,
// Create too, Apply and DryRun as much of it as is ours to say, and Delete carries it as it was observed.
type Op struct {
	Verb   Verb
	Object *object.Object
	Why    string // in a few words, for logs and people

	// Of Apply and DryRun: the child as it was observed, nil to create it, and whether what dynamic apply owned of it
	// is to be handed over first, so that what is not applied any more goes.
	Observed *object.Object
	Migrate  bool

	// Of a write to a child that exists: the field that differs, when there is one, and whether the child was last
	// written with just the content that is wanted now, so that it was changed since.
	Differs Path
	Again   bool
}

// Creates reports whether o makes an object that is not there.
func (o Op) Creates() bool { return o.Verb == Create || o.Verb == Apply && o.Observed == nil }

// String gives "update Pod default/web-0: spec.image differs".
func (o Op) String() string { return string(o.Verb) + " " + object.Describe(o.Object) + ": " + o.Why }

// A Method says what to do with a child that exists and differs from what is desired.
type Method string

// The methods, as they are spelled in the API. The rolling ones take part in a rollout, which decides when; how is
// the same.
const (
	OnDelete        Method = "OnDelete" // leave it until someone deletes it
	Recreate        Method = "Recreate" // delete it, and create it on a later sync
	InPlace         Method = "InPlace"  // update it
	RollingRecreate Method = "RollingRecreate"
	RollingInPlace  Method = "RollingInPlace"
)

// Rolls reports whether children move one at a time.
func (m Method) Rolls() bool { return m == RollingRecreate || m == RollingInPlace }

// Rules say how children of each kind are updated. A kind without a rule is OnDelete.
type Rules map[object.Kind]Method

// A Policy says how the children of a parent are updated and written.
type Policy struct {
	Rules                  Rules
	ServerSide             bool                                  // by server-side apply; else by dynamic apply
	Memory                 Memory                                // of server-side apply; nil remembers nothing
	Owned                  func(*object.Object) ownership.Fields // by the field manager of server-side apply; nil: nothing is known
	SetControllerReference func(child *object.Object) error      // makes a child the parent's; nil does nothing
}

func (p Policy) mark(child *object.Object) error {
	if p.SetControllerReference == nil {
		return nil
	}
	return p.SetControllerReference(child)
}

// A Plan is what is to be done about a parent's children.
type Plan struct {
	Ops        []Op
	Suppressed []Suppressed
}

// A Left is a difference that is left as it is, since the child's method is OnDelete.
type Suppressed struct {
	Child  *object.Object // as it was observed
	Field  Path
	Wanted string // a digest of what is desired
}

// missing is why a child is created.
const missing = "desired and missing"

// Children gives the writes that lead from the observed children to the desired ones: creations and updates in the
// order of desired, then deletions in the order of observed. What is already being deleted is left alone. An error
// is about single children: the plan beside it is that of all others.
func Children(observed, desired *object.Set, policy Policy) (Plan, error) {
	var plan Plan
	var failed []error
	for want := range desired.All() {
		kind := want.GroupVersionKind()
		op, left, err := policy.child(observed.Get(kind, object.KeyOf(want)), want, policy.Rules[kind])
		switch {
		case err != nil:
			failed = append(failed, err)
		case op != nil:
			plan.Ops = append(plan.Ops, *op)
		case left != nil:
			plan.Suppressed = append(plan.Suppressed, *left)
		}
	}
	for have := range observed.All() {
		unwanted := desired.Get(have.GroupVersionKind(), object.KeyOf(have)) == nil
		if unwanted && !object.Deleting(have) {
			plan.Ops = append(plan.Ops, Op{Verb: Delete, Object: have, Why: "no longer desired"})
		}
	}
	return plan, errors.Join(failed...)
}

// Differs says, in a few words, what of have applying want would change; "" when have is as it is wanted. It is doubtful
// when only the API server could say, and is asked by the writes of [Children].
func (p Policy) Differs(have, want *object.Object) (what string, doubtful bool, err error) {
	by, err := p.strategy(want)
	switch {
	case err != nil:
		return "", false, err
	case by != dynamicApply || p.onServer(have):
		config, err := p.configuration(want)
		if err != nil {
			return "", false, err
		}
		found, err := p.judge(have, config)
		return found.why, found.doubtful, err
	}
	op, _, err := dynamic(have, want, InPlace)
	if op == nil || err != nil {
		return "", false, err
	}
	return op.Why, false, nil
}

// child gives the write that leads from have, nil when there is no such child, to want, or what is left of it.
func (p Policy) child(have, want *object.Object, method Method) (*Op, *Suppressed, error) {
	if have != nil && object.Deleting(have) {
		return nil, nil, nil // it returns on a later sync, when it is gone
	}
	by, err := p.strategy(want)
	switch {
	case err != nil:
		return nil, nil, err
	case by == tooLarge:
		return p.large(have, want, method)
	case by == serverSideApply:
		return p.serverSide(have, want, method)
	case have == nil:
		op, err := p.create(want)
		return op, nil, err
	case p.onServer(have) && updates(method):
		op, err := p.comeBack(have, want, method)
		return op, nil, err
	}
	return dynamic(have, want, method)
}

// updates reports whether method does something about a child that exists, and inPlace whether it changes it.
func updates(method Method) bool { return method != "" && method != OnDelete }
func inPlace(method Method) bool { return method == InPlace || method == RollingInPlace }

// create is the write by which dynamic apply makes want.
func (p Policy) create(want *object.Object) (*Op, error) {
	created, err := fresh(want)
	if err != nil {
		return nil, err
	}
	return &Op{Verb: Create, Object: created, Why: missing}, p.mark(created)
}

// dynamic gives the write by which dynamic apply leads from have to want, or what OnDelete leaves of it.
func dynamic(have, want *object.Object, method Method) (*Op, *Suppressed, error) {
	if settled(have, want) {
		return nil, nil, nil
	}
	merged, err := apply(have, want)
	if err != nil {
		return nil, nil, err
	}
	differs := difference(have.Object, merged.Object)
	if differs == nil {
		return nil, nil, nil
	}
	op := &Op{Verb: Update, Object: merged, Why: differs.String() + " differs", Differs: differs, Again: remembered(have) == remembered(merged)}
	switch method {
	case Recreate, RollingRecreate:
		op.Verb, op.Object, op.Why = Delete, have, "to be recreated: "+op.Why
		return op, nil, nil
	case InPlace, RollingInPlace:
		return op, nil, nil
	}
	sum, err := digest(map[string]any{"": remembered(merged)})
	return nil, &Suppressed{Child: have, Field: differs, Wanted: sum}, err
}

// remembered is what dynamic apply applied to o last.
func remembered(o *object.Object) string { return o.GetAnnotations()[LastApplied] }

// Package plan decides what to write. It is pure: it computes operations from observed and desired objects, and does no I/O.
//
// [Children] compares the observed and the desired children of a parent under a [Policy]. An [Op] is one write, and a
// [Suppressed] is a difference that is not written.
//
// There are two strategies. Dynamic apply merges in this package: merge is its three-way merge of the observed object, what was
// last applied, which the annotation [LastApplied] has, and the desired object.
//
// With server-side apply, the API server merges. Whether an apply is needed is decided without a request:
//   - A [Memory] has what was last applied, and the result. It shows whether something else is desired now, and whether
//     something was changed since. A value that the API server stores in another form, such as 1 for 1000m, is not a change. The
//     memory is lost at a restart.
//   - Without the memory, the desired object is compared with the fields that were applied according to managedFields, by this
//     server, an earlier one or Metacontroller. A difference may only be another form of the value. So it costs one apply, or
//     one dry run, which then changes nothing.
//
// A child that is as desired is not written.
//
// A child can change from one strategy to the other: see [Op.Migrate], and comeBack for the change to dynamic apply.
package plan

import (
	"errors"

	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/engine/tree"
)

// A Verb is a kind of write.
type Verb string

// The verbs.
const (
	Create       Verb = "create"
	Update       Verb = "update"            // the whole object, if it has the resourceVersion
	UpdateStatus Verb = "update status"     // the status subresource, if the object has the resourceVersion
	Apply        Verb = "apply"             // server-side apply with force, if the object has the resourceVersion, or does not exist
	DryRun       Verb = "dry run"           // an Apply that is not stored; see AfterDryRun
	DryCreate    Verb = "dry run of create" // a Create that is not stored; see Op.Try
	Delete       Verb = "delete"            // with background propagation, if the object has the UID and the resourceVersion
)

// Stores reports whether v changes something in the cluster.
func (v Verb) Stores() bool { return v != DryRun && v != DryCreate }

// An Op is one write. Object is the whole object for Create, DryCreate, Update and UpdateStatus, the fields that are applied for
// Apply and DryRun, and the observed object for Delete.
type Op struct {
	Verb   Verb
	Object *object.Object
	Why    string // a few words for logs and users

	// For Apply and DryRun: the observed child, nil to create it; and whether the fields that dynamic apply owns are migrated
	// to server-side apply first, so that those that are not applied any more are removed.
	// For DryCreate: the existing child of that name.
	Observed *object.Object
	Migrate  bool

	// For a Delete: the object that is created in place of the deleted one, if it is not known yet whether the API server accepts
	// it, or else nil; and the deleted object as an update would change it, if that is known.
	Replacement, Updated *object.Object

	// For a write to an existing child: the field that differs, if there is one; and whether the last write had the same content,
	// so that something else has changed the child since.
	Differs Path
	Again   bool
}

// Creates reports whether o creates an object.
func (o Op) Creates() bool { return o.Verb == Create || o.Verb == Apply && o.Observed == nil }

// Try returns the dry run that has to succeed before o, and false if o needs none. A child that is to be replaced is not deleted
// before it is known that the API server accepts the new one.
func (o Op) Try() (Op, bool) {
	if o.Verb != Delete || o.Replacement == nil {
		return Op{}, false
	}
	return Op{Verb: DryCreate, Object: o.Replacement, Observed: o.Object, Why: "before it is deleted " + o.Why}, true
}

// String returns a text such as "update Pod default/web-0: spec.image differs".
func (o Op) String() string { return string(o.Verb) + " " + object.Describe(o.Object) + ": " + o.Why }

// A Method says what to do with a child that exists and differs from what is desired.
type Method string

// The methods, with the names of the API. For the rolling ones, package rollout decides when a child is updated; the write is the
// same.
const (
	OnDelete        Method = "OnDelete" // do not update it
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
	Memory                 Memory                                // of server-side apply; nil: it is not used
	Unstored               Unstored                              // of dynamic apply; nil: it is not used
	Owned                  func(*object.Object) ownership.Fields // returns the fields that the field manager of server-side apply owns; may be nil
	SetControllerReference func(child *object.Object) error      // makes a child the parent's; nil does nothing
}

func (p Policy) mark(child *object.Object) error {
	if p.SetControllerReference == nil {
		return nil
	}
	return p.SetControllerReference(child)
}

// A Plan has the writes for the children of a parent.
type Plan struct {
	Ops        []Op
	Suppressed []Suppressed
}

// A Suppressed is a difference that is not written, since the method of the child is OnDelete.
type Suppressed struct {
	Child  *object.Object // as it was observed
	Field  Path
	Wanted string // a digest of what is desired
}

// missing is why a child is created.
const missing = "desired and missing"

// Children returns the writes that change the observed children to the desired ones: creations and updates in the order of
// desired, then deletions in the order of observed; [ordered] says which kinds have another place. Children that are being deleted
// are left alone. The error is about the children that cannot be planned; the plan has all others.
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
	plan.Ops = ordered(plan.Ops)
	return plan, errors.Join(failed...)
}

// Differs returns, in a few words, what applying want would change in have; "" if nothing. doubtful means that only the API
// server can tell, and that the writes of [Children] find it out.
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
	op, _, err := p.dynamic(have, want, InPlace)
	if op == nil || err != nil {
		return "", false, err
	}
	return op.Why, false, nil
}

// child returns the write that changes have to want, or the difference that is suppressed. have is nil if there is no such
// child.
func (p Policy) child(have, want *object.Object, method Method) (*Op, *Suppressed, error) {
	if have != nil && object.Deleting(have) {
		return nil, nil, nil // it is created again by a later sync
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
	return p.dynamic(have, want, method)
}

// updates reports whether the method updates or recreates children, and inPlace whether it updates them.
func updates(method Method) bool { return method != "" && method != OnDelete }
func inPlace(method Method) bool { return method == InPlace || method == RollingInPlace }

// create returns the write by which dynamic apply creates want.
func (p Policy) create(want *object.Object) (*Op, error) {
	created, err := fresh(want)
	if err != nil {
		return nil, err
	}
	return &Op{Verb: Create, Object: created, Why: missing}, p.mark(created)
}

// dynamic returns the write by which dynamic apply changes have to want, or the difference that is suppressed.
func (p Policy) dynamic(have, want *object.Object, method Method) (*Op, *Suppressed, error) {
	if settled(have, want) {
		return nil, nil, nil
	}
	merged, err := apply(have, want)
	if err != nil {
		return nil, nil, err
	}
	differs := difference(contentOf(have), tree.GoMap(p.Unstored.without(have, merged)))
	if differs == nil {
		return nil, nil, nil
	}
	op := &Op{Verb: Update, Object: merged, Why: differs.String() + " differs", Differs: differs, Again: remembered(have) == remembered(merged)}
	switch method {
	case Recreate, RollingRecreate:
		op.Verb, op.Object, op.Why, op.Updated = Delete, have, "to be recreated: "+op.Why, merged
		next, err := p.create(want)
		if err != nil {
			return nil, nil, err
		}
		op.Replacement = next.Object
		return op, nil, nil
	case InPlace, RollingInPlace:
		return op, nil, nil
	}
	sum, err := digest(map[string]any{"": remembered(merged)})
	return nil, &Suppressed{Child: have, Field: differs, Wanted: sum}, err
}

// remembered returns what dynamic apply last applied to o, as text.
func remembered(o *object.Object) string { return o.Annotation(LastApplied) }

// Package plan decides what to write. It is pure: observed and desired go in, operations come out as data, and
// someone else carries them out. It does no I/O and knows no client.
//
// [Children] compares a parent's observed and desired children under [Rules]; [Merge] is the three-way merge behind
// it. An [Op] is one write.
package plan

import (
	"errors"

	"metascript/controller/object"
)

// A Verb is a kind of write.
type Verb string

// The verbs.
const (
	Create       Verb = "create"
	Update       Verb = "update"        // the whole object, guarded by its resourceVersion
	UpdateStatus Verb = "update status" // the status subresource, guarded by the resourceVersion
	Delete       Verb = "delete"        // in the background, guarded by the UID and the resourceVersion
)

// An Op is one write: what, to which object, and why. Update and UpdateStatus carry the object as it shall be,
// Create too, and Delete carries it as it was observed.
type Op struct {
	Verb   Verb
	Object *object.Object
	Why    string // in a few words, for logs and people

	// Of a deletion that is to recreate a child: the field that differs, and whether the child was made with just
	// the content that is wanted now, so that it was changed since.
	Differs string
	Again   bool
}

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

// Children gives the writes that lead from the observed children to the desired ones: creations and updates in the
// order of desired, then deletions in the order of observed. What is already being deleted is left alone. An error
// is about single children: the writes beside it are those of all others.
func Children(observed, desired *object.Set, rules Rules) ([]Op, error) {
	var ops []Op
	var failed []error
	for want := range desired.All() {
		kind := want.GroupVersionKind()
		op, err := child(observed.Get(kind, object.KeyOf(want)), want, rules[kind])
		if err != nil {
			failed = append(failed, err)
		} else if op != nil {
			ops = append(ops, *op)
		}
	}
	for have := range observed.All() {
		unwanted := desired.Get(have.GroupVersionKind(), object.KeyOf(have)) == nil
		if unwanted && !object.Deleting(have) {
			ops = append(ops, Op{Verb: Delete, Object: have, Why: "no longer desired"})
		}
	}
	return ops, errors.Join(failed...)
}

// child gives the write that leads from have, nil when there is no such child, to want, or nil when there is none.
func child(have, want *object.Object, method Method) (*Op, error) {
	if have == nil {
		created, err := fresh(want)
		return &Op{Verb: Create, Object: created, Why: "desired and missing"}, err
	}
	if object.Deleting(have) {
		return nil, nil // it returns on a later sync, when it is gone
	}
	merged, err := apply(have, want)
	if err != nil {
		return nil, err
	}
	difference := Difference(have.Object, merged.Object)
	if difference == "" {
		return nil, nil
	}
	switch method {
	case Recreate, RollingRecreate:
		again := have.GetAnnotations()[LastApplied] == merged.GetAnnotations()[LastApplied]
		return &Op{Verb: Delete, Object: have, Why: "to be recreated: " + difference + " differs", Differs: difference, Again: again}, nil
	case InPlace, RollingInPlace:
		return &Op{Verb: Update, Object: merged, Why: difference + " differs"}, nil
	}
	return nil, nil
}

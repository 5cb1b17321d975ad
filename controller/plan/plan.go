// Package plan decides what to write. It is pure: it computes operations from observed and desired objects, and does no I/O.
//
// [Children] compares the observed and the desired children of a parent under a [Policy]. An [Op] is one write.
//
// There are two strategies. Dynamic apply merges in this package: merge is its three-way merge of the observed object, what was
// last applied, which the annotation [LastApplied] has, and the desired object.
//
// With server-side apply, the API server merges. Whether an apply is needed is decided without a request, by managedFields, which say
// what this server, an earlier one or Metacontroller has applied.
//
// The API server stores some values in another form, such as 1 for 1000m, and completes others with defaults. What it stored when the
// same was last written is the desired state in its normal form: a [Memory] has it, so that a child does not differ because of it. The
// memory is lost at a restart. Then a child that differs in text costs one dry run.
//
// A child that is as desired is not written, and none is deleted to be recreated before a dry run of the write has shown that it would
// change something: see [Op.Confirm], [Policy.Changes] and [AfterDryRun].
//
// A child can change from one strategy to the other: see [Op.Migrate], and comeBack for the change to dynamic apply.
package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/compared"
	"metascript/controller/object"
	"metascript/controller/ownership"
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
	DryUpdate    Verb = "dry run of update" // an Update that is not stored; see Op.Confirm
	DryCreate    Verb = "dry run of create" // a Create that is not stored; see Op.Try and Op.Create
	Delete       Verb = "delete"            // with background propagation, if the object has the UID and the resourceVersion
)

// Stores reports whether v changes something in the cluster.
func (v Verb) Stores() bool { return v != DryRun && v != DryUpdate && v != DryCreate }

// An Op is one write. Object is the whole object for Create, DryCreate, Update, DryUpdate and UpdateStatus, the fields that are applied
// for Apply and DryRun, and the observed object for Delete.
type Op struct {
	Verb   Verb
	Object *object.Object
	Why    string // a few words for logs and users

	// For a child that the hook returns: the child as the hook returned it; and a digest of it.
	Wanted  *object.Object
	Content string

	// For a write in which the nulls of the hook remove fields, if the API server accepts that. For an Update: the object without these
	// removals. For an Apply: the whole object with them, which is updated before the apply, since an apply removes only what was
	// applied.
	Plain, Cleared *object.Object

	// For Apply and DryRun: the observed child, nil to create it; and whether the fields that dynamic apply owns are migrated
	// to server-side apply first, so that those that are not applied any more are removed.
	// For Update, DryUpdate and DryCreate: the existing child of that name.
	Observed *object.Object
	Migrate  bool

	// For a Delete: the object that is created in place of the deleted one, if it is not known yet whether the API server accepts
	// it, or else nil; and the deleted object as an update would change it, if that is known.
	Replacement, Updated *object.Object

	// For a write to an existing child: the field that differs, if there is one; what was applied to it before, nil if that is not
	// known; and whether that is the same as what is applied now.
	// Doubtful says that only the API server can tell whether it changes anything.
	Differs  Path
	Last     map[string]any
	Answered bool
	Doubtful bool

	// For a DryRun and a DryUpdate: whether the child is recreated if it differs; and the object that is created then.
	Recreates bool
	Created   *object.Object
}

// Creates reports whether o creates an object.
func (o Op) Creates() bool { return o.Verb == Create || o.Verb == Apply && o.Observed == nil }

// Annotates reports whether o updates nothing of a child that is as desired but the annotation LastApplied.
func (o Op) Annotates() bool { return o.Verb == Update && o.Why == otherApplied }

// Keeps reports whether a Secret has all values, as they stand in data, after o.
func (o Op) Keeps(values []string) bool {
	if len(values) == 0 || o.Wanted == nil {
		return len(values) == 0
	}
	kept := slices.Collect(maps.Values(object.New(o.written()).TextsAt("data")))
	return !slices.ContainsFunc(values, func(value string) bool { return !slices.Contains(kept, value) })
}

// Try returns the dry run that has to succeed before o, and false if o needs none. A child that is to be replaced is not deleted
// before it is known that the API server accepts the new one.
func (o Op) Try() (Op, bool) {
	if o.Verb != Delete || o.Replacement == nil {
		return Op{}, false
	}
	return Op{Verb: DryCreate, Object: o.Replacement, Observed: o.Object, Why: "before it is deleted " + o.Why}, true
}

// ErrTight is the error of a DryCreate if a quota has room for the new child only in place of the existing one. The child may be deleted
// then, but only one at a time: each of two children may fit while both together do not.
var ErrTight = errors.New("a quota has room for it only in place of the existing one")

// ErrGrows is an ErrTight of an object that needs more of the quota than the existing one.
var ErrGrows = fmt.Errorf("%w, and it needs more than that", ErrTight)

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
	InPlace                func(child types.UID) bool            // whether a child is updated where its method would delete and recreate it; may be nil
	Memory                 Memory                                // nil: it is not used
	Requested              bool                                  // a user requested the reconcile, so that what a dry run changes counts, whoever wrote it
	Kept                   map[types.UID]Kept                    // by child; see Nulls
	Owned                  func(*object.Object) ownership.Fields // returns the fields that the field manager of server-side apply owns; may be nil
	SetControllerReference func(child *object.Object) error      // makes a child the parent's; nil does nothing
	Stopped                func() error                          // returns an error if the plan is not needed any more; it is called before each child; may be nil
	Compared               *compared.Memory                      // of the same parent; nil: each child is compared

	meaning *meaning // of all children of a plan; nil: each comparison has its own
}

func (p Policy) mark(child *object.Object) error {
	if p.SetControllerReference == nil {
		return nil
	}
	return p.SetControllerReference(child)
}

// A Plan has the writes for the children of a parent. Suppressed are not done, since the method of the child is OnDelete: an Update or
// Apply of each child in which a field differs. Applied are not done either, since these children are as server-side apply last wrote them,
// according to managedFields: [Policy.NoteWritten] can remember that, so that it is known later whether the hook returns something else.
type Plan struct {
	Ops, Suppressed, Applied []Op
}

// missing is why a child is created.
const missing = "desired and missing"

// Children returns the writes that change the observed children to the desired ones: creations and updates in the order of
// desired, then deletions in the order of observed; [ordered] says which kinds have another place. Children that are being deleted
// are left alone. The error is about the children that cannot be planned; the plan has all others. If it is that of policy.Stopped, the
// plan is empty.
func Children(observed, desired *object.Set, policy Policy) (Plan, error) {
	var plan Plan
	var failed []error
	policy.meaning = newMeaning()
	for want := range desired.All() {
		if policy.Stopped != nil {
			if err := policy.Stopped(); err != nil {
				return Plan{}, err
			}
		}
		kind := want.GroupVersionKind()
		op, left, err := policy.child(observed.Get(kind, object.KeyOf(want)), want, policy.Rules[kind])
		switch {
		case err != nil:
			failed = append(failed, err)
		case op != nil && op.Why == "":
			plan.Applied = append(plan.Applied, *op)
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

// sameMeaning is the function of this name, within what a plan may compare.
func (p Policy) sameMeaning(have, want any) bool {
	if p.meaning == nil {
		return sameMeaning(have, want)
	}
	return p.meaning.same(have, want)
}

// Differs returns, in a few words, what applying want would change in have; "" if nothing. doubtful means that only the API
// server can tell, and that the writes of [Children] find it out.
func (p Policy) Differs(have, want *object.Object) (what string, doubtful bool, err error) {
	key := p.keyOf("Differs", have, want, p.Rules[want.GroupVersionKind()])
	return p.Compared.Do(key, func() (string, bool, error) { return p.difference(have, want) })
}

// difference is Differs without what is remembered.
func (p Policy) difference(have, want *object.Object) (what string, doubtful bool, err error) {
	by, err := p.strategy(want)
	switch {
	case err != nil:
		return "", false, err
	case by != dynamicApply || p.onServer(have):
		found, err := p.judgeWanted(have, want)
		return found.why, found.doubtful, err
	}
	method := p.Rules[want.GroupVersionKind()]
	if !updates(method) {
		method = InPlace
	}
	op, _, err := p.dynamic(have, want, method)
	if op == nil || op.Annotates() || err != nil {
		return "", false, err
	}
	return op.Why, op.Doubtful, nil
}

// child returns the write that changes have to want, or the one that is suppressed; have may be nil. It remembers that there is neither.
func (p Policy) child(have, want *object.Object, method Method) (op, suppressed *Op, err error) {
	_, _, err = p.Compared.Do(p.keyOf("child", have, want, method), func() (string, bool, error) {
		op, suppressed, err = p.compare(have, want, method)
		return "", op != nil || suppressed != nil || p.meaning != nil && p.meaning.more < 0, err
	})
	return op, suppressed, err
}

// compare is child without what is remembered.
func (p Policy) compare(have, want *object.Object, method Method) (op, suppressed *Op, err error) {
	if have != nil && object.Deleting(have) {
		return nil, nil, nil // it is created again by a later sync
	}
	if have != nil && updates(method) && p.InPlace != nil && p.InPlace(have.GetUID()) {
		method = InPlace
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
		op, err = p.create(want)
		return op, nil, err
	case p.onServer(have) && updates(method):
		op, err = p.comeBack(have, want, method)
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
	return &Op{Verb: Create, Object: created, Wanted: want, Content: sumOf(remembered(created)), Why: missing}, p.mark(created)
}

// dynamic returns the write by which dynamic apply changes have to want, or the one that is suppressed.
func (p Policy) dynamic(have, want *object.Object, method Method) (op, suppressed *Op, err error) {
	if settled(have, want) {
		return nil, nil, nil
	}
	m, err := p.merging(have, want, method)
	if err != nil {
		return nil, nil, err
	}
	differs, err := p.Memory.differs(have, m.text, m.residue(m.order()))
	switch {
	case err != nil:
		return nil, nil, err
	case differs == nil && m.stale && updates(method):
		op, err = annotated(have, want, otherApplied)
		return op, nil, err
	case differs == nil:
		return nil, nil, nil
	}
	op = &Op{
		Verb: Update, Observed: have, Wanted: want, Content: sumOf(m.text), Why: differs.String() + " differs", Differs: differs, Last: m.last, Answered: m.answered,
		Doubtful: m.answered && !p.Memory.has(have, m.text),
	}
	switch order := m.writeOrder(); {
	case inPlace(method):
		op.Object, op.Plain = m.written(order), m.withoutRemovals(order)
		return op, nil, nil
	case updates(method):
		return op, nil, p.recreate(op, m)
	case m.answered && order == observedOrder:
		return nil, nil, nil // most likely it is as it was stored when it was written
	default:
		op.Object = m.written(order)
		return nil, op, nil
	}
}

// recreate makes op, the update of the child of a merge, the deletion that recreates it.
func (p Policy) recreate(op *Op, m *merging) error {
	next, err := p.create(m.want)
	if err == nil {
		op.Verb, op.Observed, op.Object, op.Why, op.Updated, op.Replacement = Delete, nil, m.have, "to be recreated: "+op.Why, m.written(observedOrder), next.Object
	}
	return err
}

// NoteWritten records that want was written to a child, with this result, or that writing it would change nothing.
func (p Policy) NoteWritten(op Op, stored *object.Object) error {
	if op.Verb == Apply || op.Verb == DryRun {
		return p.Memory.noteApplied(stored, op, op.Verb == Apply && !p.ServerSide)
	}
	m, err := p.merging(stored, op.Wanted, "")
	if err != nil {
		delete(p.Memory, stored.GetUID())
		return err
	}
	return p.Memory.noteMerged(m)
}

// remembered returns what dynamic apply last applied to o, as text.
func remembered(o *object.Object) string { return o.Annotation(LastApplied) }

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/engine/tree"
)

// AppliedDigest is an annotation of earlier versions, with a digest of what was applied by server-side apply. Metacontroller
// takes it for a difference, so it is removed: managedFields say what was applied (see package ownership).
const AppliedDigest = "metacontroller.k8s.io/applied-digest"

// A Memory has, by UID, the state of children after they were last applied: only the fields that were applied, and what
// others may add in them. It is for one parent and must not be used concurrently. If it is lost, each child may cost one
// request.
type Memory map[types.UID]outcome

// An outcome is the result of an apply.
type outcome struct {
	config  string   // a digest of what was applied
	print   string   // a digest of the child
	spelled []string // the paths of fields that are stored in another form than they were applied
}

// maxSpelled is the maximum length of outcome.spelled. With more such fields, a wrong field may be named.
const maxSpelled = 16

// Note records that config was applied with the result stored.
func (m Memory) Note(stored, config *object.Object) error {
	print, err := fingerprint(stored, config)
	if err != nil {
		return err
	}
	sum, err := digest(config.Map())
	if err != nil {
		return fmt.Errorf("%s: %w", object.Describe(config), err)
	}
	o := outcome{config: sum, print: print}
	for d := lacks(contentOf(stored), config.Map()); d != nil && len(o.spelled) < maxSpelled; d = lacks(contentOf(stored), config.Map(), o.spelled...) {
		o.spelled = append(o.spelled, d.String())
	}
	m[uidOf(stored)] = o
	return nil
}

// uidOf returns a copy of the UID of o, which does not keep o in memory.
func uidOf(o *object.Object) types.UID { return types.UID(strings.Clone(string(o.GetUID()))) }

// Keep drops all children that are not observed.
func (m Memory) Keep(observed *object.Set) { keep(m, observed) }

func keep[T any](m map[types.UID]T, observed *object.Set) {
	if len(m) == 0 {
		return
	}
	there := make(map[types.UID]bool, observed.Len())
	for o := range observed.All() {
		there[o.GetUID()] = true
	}
	maps.DeleteFunc(m, func(uid types.UID, _ T) bool { return !there[uid] })
}

// serverSide returns the write by which server-side apply changes have to want, or the difference that is suppressed.
func (p Policy) serverSide(have, want *object.Object, method Method) (*Op, *Suppressed, error) {
	config, err := p.configuration(want)
	if err != nil {
		return nil, nil, err
	}
	if have == nil {
		return &Op{Verb: Apply, Object: config, Why: missing}, nil, nil
	}
	found, err := p.judge(have, config)
	if err != nil {
		return nil, nil, err
	}
	if found.why == "" && inPlace(method) && remembered(have) != "" {
		found.why, found.migrate = notApplied, true
	}
	if found.why == "" {
		return nil, nil, nil
	}
	op := &Op{
		Verb: Apply, Object: config, Observed: have, Migrate: found.migrate,
		Why: found.why, Differs: found.differs, Again: found.again,
	}
	switch {
	case inPlace(method):
		return op, nil, nil
	case updates(method):
		op.Verb = DryRun
		return op, nil, nil
	}
	if found.differs == nil || found.doubtful && sameAmount(have, config, found.differs) {
		return nil, nil, nil
	}
	sum, err := digest(config.Map())
	return nil, &Suppressed{Child: have, Field: found.differs, Wanted: sum}, err
}

// configuration returns want as it is applied: without the fields that only the API server sets, and with the controller
// reference.
func (p Policy) configuration(want *object.Object) (*object.Object, error) {
	config := object.Copy(want)
	for _, name := range system {
		delete(metadata(config), name)
	}
	delete(config.Map(), "status")
	dropNulls(config.Map())
	dropMarks(config)
	return config, p.mark(config)
}

// A judgement is whether and why to apply to a child. If why is "", no apply is needed.
type judgement struct {
	why      string
	differs  Path // the field that differs, if there is one
	doubtful bool // it may be as desired, which only the API server can tell
	again    bool // the same was applied before, so something has changed it since
	migrate  bool // see Op.Migrate
}

// Reasons to apply to a child in which no field differs.
const (
	notApplied  = "it was not applied with server-side apply before"
	changed     = "somebody changed it"
	lessDesired = "something in it is no longer desired"
	unread      = "what was applied to it cannot be read from its managedFields"
	withDigest  = "annotation " + AppliedDigest + " is to be removed"
)

// judge compares have with config without a request.
func (p Policy) judge(have, config *object.Object) (judgement, error) {
	sum, err := digest(config.Map())
	if err != nil {
		return judgement{}, fmt.Errorf("%s: %w", object.Describe(config), err)
	}
	known, found := p.Memory[have.GetUID()]
	switch {
	case found && known.config == sum:
		return judgeKnown(have, config, known)
	case found:
		j := because(lacks(contentOf(have), config.Map()), lessDesired)
		j.migrate = remembered(have) != "" || p.owned(have).Updated
		return j, nil
	case remembered(have) != "":
		return p.judgeDynamic(have, config, sum), nil
	}
	return p.judgeOwned(have, config), nil
}

// judgeKnown judges a child to which this server applied config.
func judgeKnown(have, config *object.Object, known outcome) (judgement, error) {
	print, err := fingerprint(have, config)
	if err != nil || print == known.print {
		return judgement{}, err
	}
	j := because(lacks(contentOf(have), config.Map(), known.spelled...), changed)
	j.again = true
	return j, nil
}

// judgeDynamic judges a child that dynamic apply last wrote.
func (p Policy) judgeDynamic(have, config *object.Object, sum string) judgement {
	differs := lacks(contentOf(have), config.Map())
	if p.lastDigest(have) != sum {
		j := because(differs, lessDesired)
		j.migrate = true
		return j
	}
	j := because(differs, "")
	j.doubtful, j.again = true, true
	return j
}

// lastDigest returns a digest of what dynamic apply last applied to have, in the form of server-side apply; "" if it is not
// known.
func (p Policy) lastDigest(have *object.Object) string {
	last, err := recall(have)
	if err != nil || last == nil {
		return ""
	}
	config, err := p.configuration(object.New(last))
	if err != nil {
		return ""
	}
	sum, err := digest(config.Map())
	if err != nil {
		return ""
	}
	return sum
}

// judgeOwned judges a child by what was applied to it according to managedFields.
func (p Policy) judgeOwned(have, config *object.Object) judgement {
	owned := p.owned(have)
	if owned.Set == "" {
		j := because(lacks(contentOf(have), config.Map()), notApplied)
		j.migrate = true
		return j
	}
	applied, err := owned.Applied(have)
	if err != nil {
		j := because(lacks(contentOf(have), config.Map()), unread)
		j.doubtful = true
		return j
	}
	if (object.New(applied)).GetAnnotations()[AppliedDigest] != "" {
		return judgement{why: withDigest}
	}
	adopted(applied, have)
	differs, more := lacks(tree.GoMap(applied), config.Map()), lacks(contentOf(config), applied)
	if more != nil && !reaches(config.Map(), more) {
		j := because(differs, lessDesired)
		j.doubtful, j.migrate = true, owned.Updated
		return j
	}
	if differs == nil {
		differs = more
	}
	j := because(differs, "")
	j.doubtful = true
	return j
}

// adopted adds the owner references of an adopted child, since they were set by an update, not by an apply.
func adopted(applied map[string]any, have *object.Object) {
	inside := mapOf(applied["metadata"])
	if _, owned := inside["ownerReferences"]; !owned {
		put(inside, "ownerReferences", metadataOf(have))
	}
}

// sameAmount reports whether a and b have equal quantities at path in different forms, such as 1000m and 1.
func sameAmount(a, b *object.Object, path Path) bool {
	left, right := a.Value(), b.Value()
	for _, to := range path {
		left, right = step(left, to), step(right, to)
	}
	x, err := resource.ParseQuantity(fmt.Sprint(left))
	y, fails := resource.ParseQuantity(fmt.Sprint(right))
	return err == nil && fails == nil && x.Cmp(y) == 0
}

// owned returns the fields of o that the field manager owns, as far as they are known.
func (p Policy) owned(o *object.Object) ownership.Fields {
	if p.Owned == nil {
		return ownership.Fields{}
	}
	return p.Owned(o)
}

func because(differs Path, otherwise string) judgement {
	if differs == nil {
		return judgement{why: otherwise}
	}
	return judgement{why: differs.String() + " differs", differs: differs}
}

// onServer reports whether server-side apply last wrote o. It is false if o has the annotation of dynamic apply.
func (p Policy) onServer(o *object.Object) bool {
	return remembered(o) == "" && p.owned(o).Set != ""
}

// AfterDryRun returns the write that follows a dry run with this result: a child that the apply would change is deleted, and
// a later sync creates it. A child that it would not change is left alone, unless the way in which it was last applied must
// change. nil means no write.
func AfterDryRun(op Op, result *object.Object) *Op {
	have := op.Observed
	if result.GetUID() != have.GetUID() {
		return nil // it is gone
	}
	seen := object.Copy(have)
	seen.SetResourceVersion(result.GetResourceVersion())
	if d := difference(bare(have), bare(result)); d != nil {
		return &Op{Verb: Delete, Object: seen, Why: "to be recreated: " + d.String() + " differs", Differs: d, Again: op.Again, Replacement: op.Object}
	}
	if !op.Migrate && have.GetAnnotations()[AppliedDigest] == result.GetAnnotations()[AppliedDigest] {
		return nil
	}
	return &Op{Verb: Apply, Object: op.Object, Observed: seen, Why: "it is as desired, but was last applied in another way"}
}

// ErrImmutable is the error of a dry run if a child cannot be changed as desired, but a new one could be created.
var ErrImmutable = errors.New("a field that would change is immutable, so that it is recreated")

// RecreateImmutable returns the write that follows a dry run with the error ErrImmutable: a Delete. It has no Replacement, since
// the API server would accept the new object.
func RecreateImmutable(op Op) Op {
	why := "it cannot be changed in place"
	if op.Differs != nil {
		why = op.Differs.String() + " differs, and " + why
	}
	return Op{Verb: Delete, Object: op.Observed, Why: "to be recreated: " + why, Differs: op.Differs, Again: op.Again}
}

// bare returns o without its status and the fields of metadata that only the API server sets.
func bare(o *object.Object) tree.Map {
	all, inside := tree.GoMap{}, tree.GoMap{}
	for key, value := range contentOf(o).All() {
		if key != "status" {
			all[key] = value
		}
	}
	for key, value := range metadataOf(o).All() {
		if !slices.Contains(system, key) {
			inside[key] = value
		}
	}
	all["metadata"] = inside
	return all
}

// comeBack returns the write by which a child changes from server-side apply to dynamic apply: a last apply removes the
// fields that are not desired any more, and then only the annotation is written. A child that does not change is left as it
// is.
func (p Policy) comeBack(have, want *object.Object, method Method) (*Op, error) {
	config, err := p.configuration(want)
	if err != nil {
		return nil, err
	}
	found, err := p.judge(have, config)
	if err != nil {
		return nil, err
	}
	if found.why != "" {
		op, _, err := p.serverSide(have, want, method)
		return op, err
	}
	if _, applied := p.Memory[have.GetUID()]; !applied {
		return nil, nil
	}
	back := object.Copy(have)
	dropMarks(back)
	err = remember(back, want)
	if err != nil || sizeOf(back.GetAnnotations()) > MaxAnnotations {
		return nil, err // the annotation does not fit beside the other ones
	}
	return &Op{Verb: Update, Object: back, Why: "from server-side apply back to dynamic apply"}, nil
}

// dropMarks removes the annotations that record what was applied.
func dropMarks(o *object.Object) {
	annotations := mapOf(metadata(o)["annotations"])
	for _, mark := range marks {
		delete(annotations, mark)
	}
	if len(annotations) == 0 {
		delete(metadata(o), "annotations")
	}
}

// fingerprint returns a digest of the part of have that config concerns.
func fingerprint(have, config *object.Object) (string, error) {
	print, err := digest(view(nil, contentOf(have), config.Map()))
	if err != nil {
		return "", fmt.Errorf("%s: %w", object.Describe(have), err)
	}
	return print, nil
}

// view returns the part of have that config concerns.
func view(path Path, have tree.Map, config map[string]any) map[string]any {
	seen := make(map[string]any, len(config))
	for key, want := range config {
		value, there := have.Get(key)
		if !there {
			continue
		}
		below := path.to(key)
		h, both := tree.MapOf(value)
		if c := mapOf(want); both && c != nil && shared(below) {
			seen[key] = view(below, h, c)
			continue
		}
		seen[key] = tree.Native(value)
	}
	return seen
}

// shared reports whether the map at path may have fields of others too: the top-level maps, such as spec and data, labels
// and annotations. Any other map may be owned as a whole, and is compared as a whole.
func shared(path Path) bool {
	return len(path) == 1 || path.is("metadata", "labels") || path.is("metadata", "annotations")
}

// digest returns a short digest of v as JSON.
func digest(v map[string]any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

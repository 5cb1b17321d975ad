package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/ownership"
)

// Applied is an annotation in which earlier versions kept a digest of what was applied to a child on the server's side,
// under the field manager that applied it. Metacontroller takes it for a difference, so it is removed where it is met:
// managedFields say what was applied (see package ownership).
const AppliedDigest = "metacontroller.k8s.io/applied-digest"

// A Memory holds what children looked like after they were applied last, by their UID. Only what was applied counts,
// and what others may have put into it; not their own fields beside it. It is for one parent and one goroutine at a
// time. To lose it is safe, and may cost a request for a child.
type Memory map[types.UID]outcome

// An outcome is what came of an apply.
type outcome struct {
	config  string   // a digest of what was applied
	print   string   // a digest of the child
	spelled []string // fields that are stored in another way than they were applied
}

// maxSpelled bounds how many fields are remembered to be spelled in another way. Beyond, wrong ones may be named.
const maxSpelled = 16

// Note remembers that config was applied and came out as stored.
func (m Memory) Note(stored, config *object.Object) error {
	print, err := fingerprint(stored, config)
	if err != nil {
		return err
	}
	sum, err := digest(config.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", object.Describe(config), err)
	}
	o := outcome{config: sum, print: print}
	for d := lacks(stored.Object, config.Object); d != nil && len(o.spelled) < maxSpelled; d = lacks(stored.Object, config.Object, o.spelled...) {
		o.spelled = append(o.spelled, d.String())
	}
	m[stored.GetUID()] = o
	return nil
}

// Keep forgets all but the children that are observed.
func (m Memory) Keep(observed *object.Set) {
	if len(m) == 0 {
		return
	}
	there := make(map[types.UID]bool, observed.Len())
	for o := range observed.All() {
		there[o.GetUID()] = true
	}
	for uid := range m {
		if !there[uid] {
			delete(m, uid)
		}
	}
}

// serverSide gives the write by which the API server makes want of have, or what OnDelete leaves of it.
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
	sum, err := digest(config.Object)
	return nil, &Suppressed{Child: have, Field: found.differs, Wanted: sum}, err
}

// configuration is want as it is applied: without what belongs to the API server, and with its owner.
func (p Policy) configuration(want *object.Object) (*object.Object, error) {
	config := object.Copy(want)
	for _, name := range system {
		delete(metadata(config), name)
	}
	delete(config.Object, "status")
	dropNulls(config.Object)
	dropMarks(config)
	return config, p.mark(config)
}

// A judgement says why have is to be applied to; no reason is none.
type judgement struct {
	why      string
	differs  Path // the field that shows it, if one does
	doubtful bool // it may be as it is desired, and only the API server could say
	again    bool // just this was applied before, so that somebody changed it since
	migrate  bool // what updates own of it is to be handed over first
}

// Reasons to apply to a child in which no field shows one.
const (
	notApplied  = "it was not applied on the server's side so far"
	changed     = "somebody changed it"
	lessDesired = "something in it is no longer desired"
	unread      = "what was applied to it cannot be read from its managedFields"
	withDigest  = "annotation " + AppliedDigest + " is to be removed"
)

// judge compares have with config without asking the API server.
func (p Policy) judge(have, config *object.Object) (judgement, error) {
	sum, err := digest(config.Object)
	if err != nil {
		return judgement{}, fmt.Errorf("%s: %w", object.Describe(config), err)
	}
	known, found := p.Memory[have.GetUID()]
	switch {
	case found && known.config == sum:
		return judgeKnown(have, config, known)
	case found:
		j := because(lacks(have.Object, config.Object), lessDesired)
		j.migrate = remembered(have) != "" || p.owned(have).Updated
		return j, nil
	case remembered(have) != "":
		return p.judgeDynamic(have, config, sum), nil
	}
	return p.judgeOwned(have, config), nil
}

// judgeKnown judges a child to which config was applied by this server.
func judgeKnown(have, config *object.Object, known outcome) (judgement, error) {
	print, err := fingerprint(have, config)
	if err != nil || print == known.print {
		return judgement{}, err
	}
	j := because(lacks(have.Object, config.Object, known.spelled...), changed)
	j.again = true
	return j, nil
}

// judgeDynamic judges a child that dynamic apply wrote last.
func (p Policy) judgeDynamic(have, config *object.Object, sum string) judgement {
	differs := lacks(have.Object, config.Object)
	if p.lastDigest(have) != sum {
		j := because(differs, lessDesired)
		j.migrate = true
		return j
	}
	j := because(differs, "")
	j.doubtful, j.again = true, true
	return j
}

// lastDigest is a digest of what dynamic apply applied to have last, as server-side apply would have applied it; "" if
// that cannot be said.
func (p Policy) lastDigest(have *object.Object) string {
	last, err := recall(have)
	if err != nil || last == nil {
		return ""
	}
	config, err := p.configuration(&object.Object{Object: last})
	if err != nil {
		return ""
	}
	sum, err := digest(config.Object)
	if err != nil {
		return ""
	}
	return sum
}

// judgeOwned judges a child by what managedFields say was applied to it, by whomever.
func (p Policy) judgeOwned(have, config *object.Object) judgement {
	owned := p.owned(have)
	if owned.Set == "" {
		j := because(lacks(have.Object, config.Object), notApplied)
		j.migrate = true
		return j
	}
	applied, err := owned.Applied(have)
	if err != nil {
		j := because(lacks(have.Object, config.Object), unread)
		j.doubtful = true
		return j
	}
	if (&object.Object{Object: applied}).GetAnnotations()[AppliedDigest] != "" {
		return judgement{why: withDigest}
	}
	adopted(applied, have)
	differs, more := lacks(applied, config.Object), lacks(config.Object, applied)
	if more != nil && !reaches(config.Object, more) {
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

// adopted adds the owner references of a child that was adopted, which is an update and no apply.
func adopted(applied map[string]any, have *object.Object) {
	inside := mapOf(applied["metadata"])
	if _, owned := inside["ownerReferences"]; !owned {
		put(inside, "ownerReferences", metadata(have))
	}
}

// sameAmount reports whether two objects have, at path, the same amount in two spellings, such as 1000m and 1.
func sameAmount(a, b *object.Object, path Path) bool {
	left, right := any(a.Object), any(b.Object)
	for _, to := range path {
		left, right = step(left, to), step(right, to)
	}
	x, err := resource.ParseQuantity(fmt.Sprint(left))
	y, fails := resource.ParseQuantity(fmt.Sprint(right))
	return err == nil && fails == nil && x.Cmp(y) == 0
}

// owned is what the field manager owns of o, as far as it is known.
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

// onServer reports whether o was applied on the server's side last. One that carries the annotation of dynamic apply
// was not, or was changed by somebody else since.
func (p Policy) onServer(o *object.Object) bool {
	return remembered(o) == "" && p.owned(o).Set != ""
}

// Tried gives the write that a dry run leads to, given what came back of it: a child that it would change is deleted,
// to be created on a later sync; one that it would not change is left, unless what was applied to it before has to be
// forgotten. nil is no write.
func AfterDryRun(op Op, result *object.Object) *Op {
	have := op.Observed
	if result.GetUID() != have.GetUID() {
		return nil // it is gone
	}
	seen := object.Copy(have)
	seen.SetResourceVersion(result.GetResourceVersion())
	if d := difference(bare(have), bare(result)); d != nil {
		return &Op{Verb: Delete, Object: seen, Why: "to be recreated: " + d.String() + " differs", Differs: d, Again: op.Again}
	}
	if !op.Migrate && have.GetAnnotations()[AppliedDigest] == result.GetAnnotations()[AppliedDigest] {
		return nil
	}
	return &Op{Verb: Apply, Object: op.Object, Observed: seen, Why: "it is as desired, but was last applied in another way"}
}

// ErrImmutable is what a dry run gives when a child cannot become as it is desired, but a new one could be.
var ErrImmutable = errors.New("it cannot be changed so, only made anew")

// Fixed gives the write that a dry run leads to that gave ErrImmutable.
func RecreateImmutable(op Op) Op {
	why := "it cannot be changed in place"
	if op.Differs != nil {
		why = op.Differs.String() + " differs, and " + why
	}
	return Op{Verb: Delete, Object: op.Observed, Why: "to be recreated: " + why, Differs: op.Differs, Again: op.Again}
}

// bare is o without what changes while nothing of its meaning does.
func bare(o *object.Object) map[string]any {
	all, inside := map[string]any{}, map[string]any{}
	for key, value := range o.Object {
		if key != "status" {
			all[key] = value
		}
	}
	for key, value := range mapOf(o.Object["metadata"]) {
		if !slices.Contains(system, key) {
			inside[key] = value
		}
	}
	all["metadata"] = inside
	return all
}

// comeBack gives the write by which a child that was applied on the server's side is in the care of dynamic apply
// again: what is no longer desired of it is removed by a last apply, and then the annotation is written, and nothing
// else. While nothing about it changes it is left as it is.
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
		return nil, err // beside the annotations of others its own has no room
	}
	return &Op{Verb: Update, Object: back, Why: "from server-side back to dynamic apply"}, nil
}

// dropMarks takes the annotations off by which we remember what was applied.
func dropMarks(o *object.Object) {
	annotations := mapOf(metadata(o)["annotations"])
	for _, mark := range marks {
		delete(annotations, mark)
	}
	if len(annotations) == 0 {
		delete(metadata(o), "annotations")
	}
}

// fingerprint is a digest of have, as far as config has something to do with it.
func fingerprint(have, config *object.Object) (string, error) {
	print, err := digest(view(nil, have.Object, config.Object))
	if err != nil {
		return "", fmt.Errorf("%s: %w", object.Describe(have), err)
	}
	return print, nil
}

// view is as much of have as config has to do with.
func view(path Path, have, config map[string]any) map[string]any {
	seen := make(map[string]any, len(config))
	for key, want := range config {
		value, there := have[key]
		if !there {
			continue
		}
		below := path.to(key)
		if h, c := mapOf(value), mapOf(want); h != nil && c != nil && shared(below) {
			value = view(below, h, c)
		}
		seen[key] = value
	}
	return seen
}

// shared reports whether the map at path is one into which others may put fields of their own beside ours: spec, data
// and their like, labels and annotations. Any other may be a whole that we own, and the API server has to be asked.
func shared(path Path) bool {
	return len(path) == 1 || path.is("metadata", "labels") || path.is("metadata", "annotations")
}

// digest is short for v as JSON.
func digest(v map[string]any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
)

// Applied is the annotation in which a child carries the digest of what was applied to it on the server's side. It
// is part of what is applied, so that it is true of the very object that it stands in.
const Applied = "metacontroller.k8s.io/applied-digest"

// A Memory holds what children looked like after they were applied last, by their UID. Only what was applied counts,
// and what others may have put into it; not their own fields beside it. It is for one parent and one goroutine at a
// time. To lose it is safe, and may cost a request for a child.
type Memory map[types.UID]outcome

// An outcome is what came of an apply.
type outcome struct {
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
	o := outcome{print: print}
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
func (p Policy) serverSide(have, want *object.Object, method Method) (*Op, *Left, error) {
	config, err := p.configuration(want)
	if err != nil {
		return nil, nil, err
	}
	if have == nil {
		return &Op{Verb: Apply, Object: config, Why: missing}, nil, nil
	}
	found, err := p.judge(have, config)
	if err != nil || found.why == "" {
		return nil, nil, err
	}
	op := &Op{
		Verb: Apply, Object: config, Observed: have, Migrate: !onServer(have),
		Why: found.why, Differs: found.differs, Again: sameDigest(have, config),
	}
	switch method {
	case Recreate, RollingRecreate:
		op.Verb = DryRun
		return op, nil, nil
	case InPlace, RollingInPlace:
		return op, nil, nil
	}
	if found.differs == nil || found.doubtful {
		return nil, nil, nil
	}
	return nil, &Left{Child: have, Field: found.differs, Wanted: digestIn(config)}, nil
}

// configuration is want as it is applied: without what belongs to the API server, with its owner and its digest.
func (p Policy) configuration(want *object.Object) (*object.Object, error) {
	config := object.Copy(want)
	for _, name := range system {
		delete(metadata(config), name)
	}
	delete(config.Object, "status")
	dropNulls(config.Object)
	dropMarks(config)
	if err := p.mark(config); err != nil {
		return nil, err
	}
	sum, err := digest(config.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(want), err)
	}
	annotationsOf(config)[Applied] = sum
	return config, nil
}

// A judgement says why have is to be applied to; no reason is none.
type judgement struct {
	why      string
	differs  Path // the field that shows it, if one does
	doubtful bool // the API server may only store it in another spelling
}

// judge compares have with config without asking the API server.
func (p Policy) judge(have, config *object.Object) (judgement, error) {
	same := onServer(have) && sameDigest(have, config)
	known, found := p.Memory[have.GetUID()]
	if same && found {
		print, err := fingerprint(have, config)
		if err != nil || print == known.print {
			return judgement{}, err
		}
	}
	if !same {
		known = outcome{}
	}
	differs := lacks(have.Object, config.Object, known.spelled...)
	switch {
	case !onServer(have):
		return because(differs, "it was not applied on the server's side so far"), nil
	case !same:
		return because(differs, "something in it is no longer desired"), nil
	case found:
		return because(differs, "somebody changed it"), nil
	}
	j := because(differs, "")
	j.doubtful = true
	return j, nil
}

func because(differs Path, otherwise string) judgement {
	if differs == nil {
		return judgement{why: otherwise}
	}
	return judgement{why: differs.String() + " differs", differs: differs}
}

// onServer reports whether o was applied on the server's side last. One that also carries the annotation of dynamic
// apply was changed by somebody else since.
func onServer(o *object.Object) bool {
	annotations := o.GetAnnotations()
	return annotations[Applied] != "" && annotations[LastApplied] == ""
}

func digestIn(o *object.Object) string { return o.GetAnnotations()[Applied] }

func sameDigest(a, b *object.Object) bool { return digestIn(a) == digestIn(b) }

// Tried gives the write that a dry run leads to, given what came back of it: a child that it would change is deleted,
// to be created on a later sync; one that it would not change is at most told of its digest. nil is no write.
func Tried(op Op, result *object.Object) *Op {
	have := op.Observed
	if result.GetUID() != have.GetUID() {
		return nil // it is gone
	}
	seen := object.Copy(have)
	seen.SetResourceVersion(result.GetResourceVersion())
	if d := difference(bare(have), bare(result)); d != nil {
		return &Op{Verb: Delete, Object: seen, Why: "to be recreated: " + d.String() + " differs", Differs: d, Again: op.Again}
	}
	if sameDigest(have, op.Object) && !op.Migrate {
		return nil
	}
	return &Op{Verb: Apply, Object: op.Object, Observed: seen, Why: "to remember that it is as desired"}
}

// ErrFixed is what a dry run gives when a child cannot become as it is desired, but a new one could be.
var ErrFixed = errors.New("it cannot be changed so, only made anew")

// Fixed gives the write that a dry run leads to that gave ErrFixed.
func Fixed(op Op) Op {
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
// again: what is no longer desired of it goes by a last apply, and then the annotation is written, and nothing else.
func (p Policy) comeBack(have, want *object.Object, method Method) (*Op, error) {
	config, err := p.configuration(want)
	if err != nil {
		return nil, err
	}
	if !sameDigest(have, config) {
		op, _, err := p.serverSide(have, want, method)
		return op, err
	}
	back := object.Copy(have)
	dropMarks(back)
	return &Op{Verb: Update, Object: back, Why: "from server-side back to dynamic apply"}, remember(back, want)
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

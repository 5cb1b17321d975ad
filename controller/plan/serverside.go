package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"metascript/controller/builtin"
	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/engine/tree"
)

// AppliedDigest is an annotation of earlier versions, with a digest of what was applied by server-side apply. Metacontroller
// takes it for a difference, so it is removed: managedFields say what was applied (see package ownership).
const AppliedDigest = "metacontroller.k8s.io/applied-digest"

// serverSide returns the write by which server-side apply changes have to want, or the one that is suppressed.
func (p Policy) serverSide(have, want *object.Object, method Method) (op, suppressed *Op, err error) {
	config, err := p.configuration(want)
	if err != nil {
		return nil, nil, err
	}
	op = &Op{Verb: Apply, Object: config.plain, Wanted: want, Content: config.sum, Why: missing}
	if have == nil {
		return op, nil, nil
	}
	found, err := p.judge(have, config)
	if err != nil {
		return nil, nil, err
	}
	if found.why == "" && inPlace(method) && remembered(have) != "" {
		found.why, found.migrate = notApplied, true
	}
	if found.why == "" && (found.last == nil || p.owned(have).Updated) { // what an update has set may not have been applied
		return nil, nil, nil
	}
	op.Observed, op.Migrate, op.Why = have, found.migrate, found.why
	op.Differs, op.Last, op.Answered, op.Doubtful = found.differs, found.last, found.answered, found.doubtful
	switch {
	case inPlace(method):
		if found.why != "" && !found.answered && !found.migrate {
			op.Cleared = config.cleared(have, p.Kept[have.GetUID()])
		}
		return op, nil, nil
	case updates(method):
		op.Verb, op.Recreates = DryRun, true
		return op, nil, nil
	}
	if found.differs == nil || found.doubtful && p.sameMeaning(contentOf(have), config.plain.Map()) {
		return nil, nil, nil
	}
	return nil, op, nil
}

// A configuration is a desired child as server-side apply applies it.
type configuration struct {
	whole *object.Object // with the nulls that the hook returned
	plain *object.Object // without them
	sum   string         // a digest of whole
}

// configuration returns want as it is applied: without the fields that only the API server sets, and with the controller
// reference.
func (p Policy) configuration(want *object.Object) (*configuration, error) {
	config := object.Copy(want)
	for _, name := range system {
		delete(metadata(config), name)
	}
	delete(config.Map(), "status")
	builtin.Normalize(config.Map())
	dropMarks(config)
	if err := p.mark(config); err != nil {
		return nil, err
	}
	sum, err := digest(config.Map())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(config), err)
	}
	if !HasNull(config.Map()) {
		return &configuration{config, config, sum}, nil
	}
	return &configuration{config, object.New(WithoutNulls(config.Map())), sum}, nil
}

// cleared returns have with the configuration merged into it, without the fields that nulls remove, except those that are kept; nil if
// no null removes a field.
func (c *configuration) cleared(have *object.Object, kept Kept) *object.Object {
	removes := false
	desired := object.Copy(c.whole).Map()
	eachNull(nil, contentOf(have), desired, nil, func(path Path, into, _ map[string]any, key string) {
		if kept[path.String()] {
			delete(into, key)
		} else {
			removes = true
		}
	})
	if !removes {
		return nil
	}
	merged := object.New(merge(contentOf(have), nil, desired, desiredOrder))
	restore(merged, have)
	return merged
}

// A judgement is whether and why to apply to a child. If why is "", no apply is needed.
type judgement struct {
	why      string
	differs  Path // the field that differs, if there is one
	doubtful bool // it may be as desired, which only the API server can tell
	migrate  bool // see Op.Migrate

	last     map[string]any // see Op.Last
	answered bool           // see Op.Answered
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
func (p Policy) judge(have *object.Object, config *configuration) (judgement, error) {
	known, found := p.Memory.of(have)
	switch {
	case found && known.applied == config.sum:
		return judgeKnown(have, config.plain, known)
	case found:
		j := because(lacks(contentOf(have), config.plain.Map()), lessDesired)
		j.migrate, j.last = remembered(have) != "" || p.owned(have).Updated, p.lastApplied(have)
		return j, nil
	case remembered(have) != "":
		return p.judgeDynamic(have, config), nil
	}
	return p.judgeOwned(have, config.plain), nil
}

// judgeKnown judges a child to which this server applied config.
func judgeKnown(have, config *object.Object, known outcome) (judgement, error) {
	print, err := fingerprint(have, config)
	if err != nil || print == known.print {
		return judgement{}, err
	}
	if _, sorted, err := fingerprints(have, config); err != nil || sorted == known.sorted {
		return judgement{}, err // only the order has changed
	}
	j := because(lacks(contentOf(have), config.Map(), known.spelled...), changed)
	j.answered = true
	return j, nil
}

// judgeDynamic judges a child that dynamic apply last wrote.
func (p Policy) judgeDynamic(have *object.Object, config *configuration) judgement {
	differs := lacks(contentOf(have), config.plain.Map())
	if p.lastDigest(have) != config.sum {
		j := because(differs, lessDesired)
		j.migrate, j.last = true, p.lastApplied(have)
		return j
	}
	j := because(differs, "")
	j.doubtful, j.answered = true, true
	return j
}

// lastDigest returns a digest of what dynamic apply last applied to have, in the form of server-side apply; "" if it is not
// known.
func (p Policy) lastDigest(have *object.Object) string {
	last, err := recallWhole(have)
	if err != nil || last == nil {
		return ""
	}
	config, err := p.configuration(object.New(last))
	if err != nil {
		return ""
	}
	return config.sum
}

// lastApplied returns what was last applied to have, by either strategy; nil if that is not known.
func (p Policy) lastApplied(have *object.Object) map[string]any {
	if last, err := recall(have); err == nil && last != nil {
		builtin.Normalize(last)
		return last
	}
	if owned := p.owned(have); owned.Set != "" {
		if applied, err := owned.Applied(have); err == nil {
			return applied
		}
	}
	return nil
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
		j.doubtful, j.migrate, j.last = true, owned.Updated, applied
		return j
	}
	if differs == nil {
		differs = more
	}
	if differs == nil {
		differs = disorder(nil, applied, config.Map())
	}
	if differs == nil {
		differs = filled(nil, contentOf(have), config.Map())
	}
	j := because(differs, "")
	j.doubtful, j.last = true, applied // whether the answer has changed is not known
	return j
}

// adopted adds the owner references of an adopted child, since they were set by an update, not by an apply.
func adopted(applied map[string]any, have *object.Object) {
	inside := mapOf(applied["metadata"])
	if _, owned := inside["ownerReferences"]; !owned {
		put(inside, "ownerReferences", metadataOf(have))
	}
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

// AfterDryRun returns the write that follows a DryRun with this result, of a child that is recreated. A child in which it changes the
// field differs is deleted, and a later sync creates it; see [Policy.Changes]. A child in which it changes nothing is left alone, unless
// the way in which it was last applied must change. nil means no write.
func AfterDryRun(op Op, result *object.Object, differs Path) *Op {
	have := op.Observed
	if result.GetUID() != have.GetUID() {
		return nil // it is gone
	}
	seen := object.Copy(have)
	seen.SetResourceVersion(result.GetResourceVersion())
	if differs != nil {
		next := op.recreated(seen, "to be recreated: "+differs.String()+" differs")
		next.Differs = differs
		return &next
	}
	if !op.Migrate && have.GetAnnotations()[AppliedDigest] == result.GetAnnotations()[AppliedDigest] {
		return nil
	}
	return &Op{Verb: Apply, Object: op.Object, Observed: seen, Wanted: op.Wanted, Content: op.Content, Why: "it is as desired, but was last applied in another way"}
}

// recreated returns the deletion of a child that op would change, to create op.Object in its place.
func (o Op) recreated(child *object.Object, why string) Op {
	return Op{
		Verb: Delete, Object: child, Why: why, Wanted: o.Wanted, Content: o.Content, Differs: o.Differs, Replacement: o.Object,
	}
}

// ErrImmutable is the error of a dry run if a child cannot be changed as desired, but a new one could be created.
var ErrImmutable = errors.New("a field that would change is immutable, so that it is recreated")

// RecreateImmutable returns the write that follows a DryRun with the error ErrImmutable.
func RecreateImmutable(op Op) Op {
	why := "it cannot be changed in place"
	if op.Differs != nil {
		why = op.Differs.String() + " differs, and " + why
	}
	return op.recreated(op.Observed, "to be recreated: "+why)
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
	if known, _ := p.Memory.of(have); !known.back {
		return nil, nil
	}
	return annotated(have, want, "from server-side apply back to dynamic apply")
}

// annotated returns the update of a child that writes only the annotation LastApplied; nil if it does not fit beside the other ones.
func annotated(have, want *object.Object, why string) (*Op, error) {
	child := object.Copy(have)
	dropMarks(child)
	err := remember(child, want)
	if err != nil || sizeOf(child.GetAnnotations()) > MaxAnnotations {
		return nil, err
	}
	return &Op{Verb: Update, Object: child, Wanted: want, Content: sumOf(why), Why: why}, nil
}

// otherApplied is why only the annotation is written. If it had fields that the hook does not return any more, they would be removed when
// somebody else sets them; a field that it lacks would never be.
const otherApplied = "annotation " + LastApplied + " has something else than is desired"

// AfterConfirm returns the write that follows a dry run of an update, or of an apply, by which the child of try does not differ; nil if none.
func (p Policy) AfterConfirm(try Op) (*Op, error) {
	if try.Verb != DryUpdate || try.Answered {
		return nil, nil
	}
	if m, err := p.merging(try.Observed, try.Wanted, ""); err != nil || !m.stale {
		return nil, err
	}
	return annotated(try.Observed, try.Wanted, otherApplied)
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

// fingerprints returns the same digest, and one that does not depend on the order of lists that are merged by a key.
func fingerprints(have, config *object.Object) (print, sorted string, err error) {
	part := view(nil, contentOf(have), config.Map())
	if print, err = digest(part); err == nil {
		sorted, err = digest(withoutOrder(part).(map[string]any))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", object.Describe(have), err)
	}
	return print, sorted, err
}

// filled returns the path of the first map or list of want that is empty, and is not in have; nil if there is none. What is not stored is
// not owned either, so that managedFields do not tell that somebody has filled it.
func filled(path Path, have tree.Map, want map[string]any) Path {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		at, value := path.to(key), get(have, key)
		switch w := want[key].(type) {
		case map[string]any:
			below, isMap := tree.MapOf(value)
			if isMap && len(w) == 0 && below.Len() > 0 {
				return slices.Clone(at)
			}
			if isMap {
				if found := filled(at, below, w); found != nil {
					return found
				}
			}
		case []any:
			if list, isList := tree.ArrayOf(value); isList && len(w) == 0 && list.Len() > 0 {
				return slices.Clone(at)
			}
		}
	}
	return nil
}

// disorder returns the path of the first list of want whose items, which are identified by a key, are in another order in have; nil if
// there is none.
func disorder(path Path, have, want any) Path {
	switch w := want.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(w)) {
			value, _ := readMap(have).Get(key)
			if d := disorder(path.to(key), value, w[key]); d != nil {
				return d
			}
		}
	case []any:
		h, ok := tree.ArrayOf(have)
		switch {
		case !ok || h.Len() != len(w):
			return nil
		case !inOrder(h, w):
			return slices.Clone(path)
		}
		for i := range w {
			if d := disorder(path.to(i), h.Index(i), w[i]); d != nil {
				return d
			}
		}
	}
	return nil
}

// withoutOrder returns v with the lists whose items have a key sorted by it.
func withoutOrder(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, field := range v {
			all[key] = withoutOrder(field)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = withoutOrder(item)
		}
		if key := commonKey(tree.GoSlice(v)); key != "" {
			slices.SortFunc(all, func(a, b any) int { return strings.Compare(identity(mapOf(a)[key]), identity(mapOf(b)[key])) })
		}
		return all
	}
	return v
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
			if inside := view(below, h, c); len(inside) > 0 {
				seen[key] = inside
			}
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

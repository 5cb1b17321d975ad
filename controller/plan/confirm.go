package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"metascript/controller/builtin"
	"metascript/controller/object"
	"metascript/engine/tree"
)

// Confirm returns the dry run that has to show that o is needed, and false if o needs none. A child is not deleted because of a
// difference in which the API server would store nothing else, and not written if that may be so: see Changes.
func (o Op) Confirm() (Op, bool) {
	try := Op{Verb: DryUpdate, Object: o.Object, Observed: o.Observed, Wanted: o.Wanted, Content: o.Content, Differs: o.Differs, Last: o.Last, Answered: o.Answered, Doubtful: o.Doubtful}
	switch {
	case o.Verb == Delete && o.Updated != nil:
		try.Object, try.Observed, try.Recreates, try.Created, try.Why = o.Updated, o.Object, true, o.Replacement, "before it is deleted "+o.Why
	case o.Verb == Update && o.Doubtful:
		try.Why = "before it is updated: " + o.Why
	case o.Verb == Apply && o.Doubtful && !o.Migrate:
		try.Verb, try.Why = DryRun, "before it is applied: "+o.Why
	default:
		return Op{}, false
	}
	return try, true
}

// Changes returns the field that a dry run, with this result, would change; nil if none. Only fields that the hook returns, or does not
// return any more, count.
//
// If the hook returned the same when the child was last written, the child may have the value that was stored then, in a form that an
// update does not show: an admission webhook may change only creations, or store another value at each write. So fields are returned as
// unsure, unless result has what was stored then, or the child is updated in place and lacks the field. They count if a new child would
// have another value, which [Op.Create] and [Op.CreatedOtherwise] find out, or, if that is not known, if another field manager has
// written them.
//
// If it is not known whether the hook returned the same, or a user requested the reconcile, all fields are unsure.
//
// lost is the first of the unsure fields that the child lacks and that the dry run has as the hook returned it: most likely somebody has
// removed it.
func (p Policy) Changes(try Op, result *object.Object) (differs, lost Path, unsure []Path, err error) {
	want, stable := try.written(), false
	switch have := try.Observed; {
	case try.Doubtful && (p.Requested || !try.Answered):
		unsure = try.concerned(result)
		switch {
		case try.Last == nil:
			differs = removed(have, result, want, object.Copy(have).Map())
		case try.Recreates:
		case len(unsure) == 0 && reordered(try, result):
			differs = try.Differs
		case !try.Answered:
			differs = removed(have, result, want, try.Last)
		}
		return differs, nil, unsure, nil
	case !try.Answered:
		differs = append(try.concerned(result), nil)[0]
		return differs, nil, nil, nil
	case try.Verb == DryRun:
		stable, err = p.appliedBefore(have, result, try)
	default:
		stable, err = p.storedBefore(have, result, try.Wanted)
	}
	if stable && try.Differs != nil {
		return try.Differs, nil, nil, nil
	}
	differs, lost, unsure = decided(try, result, stable)
	return differs, lost, unsure, err
}

// eachConcerned calls yield for each field that the hook returns, or returned before, and in which result differs from the child, until
// yield returns false. It reports whether it did not.
func (o Op) eachConcerned(result *object.Object, yield func(at Path, before, after, wanted any) bool) bool {
	return eachConcerned(nil, contentOf(o.Observed), contentOf(result), o.written(), o.Last, yield)
}

// eachRemoved calls yield for each field that the hook does not return and result lacks, until yield returns false. If result is that of a
// dry run of an apply, these fields count as well, since an apply removes only what was applied before, or what is in a map or list that it
// owns as a whole. With another verb there are none.
func (o Op) eachRemoved(result *object.Object, yield func(at Path, before, after, wanted any) bool) {
	if o.Verb != DryRun {
		return
	}
	all := object.Copy(o.Observed)
	dropMarks(all)
	eachConcerned(nil, contentOf(o.Observed), contentOf(result), o.written(), all.Map(), func(at Path, before, after, wanted any) bool {
		return after != nil || wanted != nil || yield(at, before, after, wanted)
	})
}

// eachChanged calls yield for each field of eachConcerned, and then of eachRemoved, until yield returns false.
func (o Op) eachChanged(result *object.Object, yield func(at Path, before, after, wanted any) bool) {
	if o.eachConcerned(result, yield) {
		o.eachRemoved(result, yield)
	}
}

// concerned returns the fields of eachChanged, up to maxUnsure.
func (o Op) concerned(result *object.Object) (found []Path) {
	o.eachChanged(result, func(at Path, _, _, _ any) bool {
		found = append(found, slices.Clone(at))
		return len(found) < maxUnsure
	})
	return found
}

// written returns the child that the hook returned in the form in which it is written.
func (o Op) written() map[string]any {
	want := WithoutNulls(o.Wanted.Map())
	builtin.Normalize(want)
	return want
}

// reordered reports whether a dry run of an apply, with this result, changes nothing but the order of lists.
func reordered(try Op, result *object.Object) bool {
	if try.Verb != DryRun {
		return false
	}
	before, sortedBefore, err := fingerprints(try.Observed, try.Object)
	after, sortedAfter, err2 := fingerprints(result, try.Object)
	return err == nil && err2 == nil && before != after && sortedBefore == sortedAfter
}

// Create returns the dry run of a creation that shows how a new child would be stored in place of the one of try, a DryRun or DryUpdate.
// It has a name of its own, since the one of the child is in use, and another one in each round.
func (o Op) Create(round int) Op {
	const maxName = 63
	have, suffix := o.Observed, "-"+sumOf(fmt.Sprint(o.Observed.GetUID(), round))[:5]
	created := object.New(o.written())
	if o.Recreates || o.Verb == DryRun || o.Verb == Apply {
		created = object.Copy(cmp.Or(o.Created, o.Object))
	}
	name := have.GetName()
	created.SetName(strings.TrimRight(name[:min(len(name), maxName-len(suffix))], "-.") + suffix)
	return Op{Verb: DryCreate, Object: created, Observed: have, Why: "to compare it with " + object.Describe(have)}
}

// CreatedOtherwise returns the first of the fields of the child of try that a new child would have otherwise, according to two dry runs of its
// creation; nil if there is none. A field that is already as the hook returned it does not count, nor one that is another one each time, such
// as one that an admission webhook makes of the name, unless the child lacks it and the answer may have changed. A field that the hook does not
// return counts only if it is itself one of fields, because a new child also lacks what is set later, such as the volume of a service account
// in a Pod.
func (o Op) CreatedOtherwise(first, second *object.Object, fields []Path) Path {
	other := map[string][]any{} // what second has in fields in which the child differs; items that the child lacks have one path
	first, second = named(first, o.Observed), named(second, o.Observed)
	o.eachChanged(second, func(at Path, _, value, _ any) bool {
		other[at.String()] = append(other[at.String()], value)
		return true
	})
	var found Path
	choose := func(counts func(Path) bool) func(at Path, before, value, wanted any) bool {
		return func(at Path, before, value, wanted any) bool {
			stable := slices.ContainsFunc(other[at.String()], func(v any) bool { return equal(v, value) || !o.Answered && before == nil && v != nil && value != nil })
			if stable && !equal(before, wanted) && counts(at) {
				found = slices.Clone(at)
			}
			return found == nil
		}
	}
	overlapping := func(at Path) bool { return len(fields) >= maxUnsure || slices.ContainsFunc(fields, at.Overlaps) }
	same := func(at Path) bool {
		return slices.ContainsFunc(fields, func(f Path) bool { return slices.Equal(f, at) })
	}
	if o.eachConcerned(first, choose(overlapping)) {
		o.eachRemoved(first, choose(same))
	}
	return found
}

// named returns o with the name of another object.
func named(o, as *object.Object) *object.Object {
	renamed := object.Copy(o)
	renamed.SetName(as.GetName())
	return renamed
}

// Unsure returns the fields that an update of try would change, if its dry run has failed because one of them is immutable and the hook
// returned the same when the child was last written. They count as those of Changes.
func (o Op) Unsure() (unsure []Path) {
	for _, s := range Spellings(o.Observed, o.Wanted) {
		unsure = append(unsure, s.Path)
	}
	want := o.written()
	eachConcerned(nil, contentOf(o.Observed), tree.GoMap(want), want, o.Last, func(at Path, _, _, wanted any) bool {
		if wanted == nil { // it is not returned any more
			unsure = append(unsure, slices.Clone(at))
		}
		return len(unsure) < maxUnsure
	})
	return unsure
}

// storedBefore reports whether result has what was stored when dynamic apply last wrote want to have.
func (p Policy) storedBefore(have, result, want *object.Object) (bool, error) {
	m, err := p.merging(result, want, "")
	if err != nil || !p.Memory.has(have, m.text) {
		return false, err
	}
	m.answered = true
	differs, err := p.Memory.differs(have, m.text, m.residue(observedOrder))
	return differs == nil, err
}

// appliedBefore reports whether result has what was stored when server-side apply last wrote what try applies.
func (p Policy) appliedBefore(have, result *object.Object, try Op) (bool, error) {
	known, found := p.Memory.of(have)
	if !found || known.applied != try.Content {
		return false, nil
	}
	print, err := fingerprint(result, try.Object)
	return print == known.print, err
}

// maxUnsure is how many fields are looked at.
const maxUnsure = 32

// decided returns the first field that counts, the first that is lost, and those of which it is not sure; see Changes.
func decided(try Op, result *object.Object, stable bool) (differs, lost Path, unsure []Path) {
	try.eachChanged(result, func(at Path, before, after, wanted any) bool {
		gone := before == nil && sameMeaning(after, wanted)
		switch {
		case stable, gone && !try.Recreates:
			differs = slices.Clone(at)
		case gone && lost == nil:
			lost = slices.Clone(at)
		}
		unsure = append(unsure, slices.Clone(at))
		return differs == nil && len(unsure) < maxUnsure
	})
	return differs, lost, unsure
}

// removed returns the first field of last that is not in want and that have has and result lacks: the hook does not return it any more.
func removed(have, result *object.Object, want, last map[string]any) (found Path) {
	eachConcerned(nil, contentOf(have), contentOf(result), want, last, func(at Path, _, after, wanted any) bool {
		if wanted == nil && after == nil {
			found = slices.Clone(at)
		}
		return found == nil
	})
	return found
}

// eachConcerned calls yield for each field of want or last in which have and result differ, until yield returns false. It reports
// whether it did not.
func eachConcerned(path Path, have, result tree.Map, want, last map[string]any, yield func(at Path, before, after, wanted any) bool) bool {
	for _, key := range keysOf(tree.GoMap(want), tree.GoMap(last)) {
		at := path.to(key)
		if notWritten(path, key) {
			continue
		}
		before, _ := have.Get(key)
		after, _ := result.Get(key)
		if !concernedIn(at, before, after, want[key], last[key], yield) {
			return false
		}
	}
	return true
}

// concernedIn is eachConcerned for the values of a field.
func concernedIn(path Path, have, result, want, last any, yield func(at Path, before, after, wanted any) bool) bool {
	if h, isMap := tree.MapOf(have); isMap {
		r, both := tree.MapOf(result)
		if both && (want == nil || mapOf(want) != nil) && (mapOf(want) != nil || mapOf(last) != nil) {
			return eachConcerned(path, h, r, mapOf(want), mapOf(last), yield)
		}
	}
	h, isList := tree.ArrayOf(have)
	r, both := tree.ArrayOf(result)
	before, _ := last.([]any)
	if w, wanted := want.([]any); isList && both && (wanted || want == nil && len(before) > 0) {
		key := commonKey(h, r, tree.GoSlice(w), tree.GoSlice(before))
		if key != "" && (wanted || isPart(before, h, key)) {
			return concernedItems(path, key, h, r, w, before, yield)
		}
		if wanted && h.Len() == r.Len() && r.Len() == len(w) {
			return concernedByIndex(path, h, r, w, before, yield)
		}
	}
	return have == nil && result == nil || equal(have, result) || yield(path, have, result, want)
}

// isPart reports whether list has all items of some, by their key, and others too.
func isPart(some []any, list tree.Array, key string) bool {
	left := byKey(some, key)
	for i := range list.Len() {
		delete(left, identify(readMap(list.Index(i)), key))
	}
	return len(left) == 0 && len(some) < list.Len()
}

// concernedByIndex is concernedIn for lists whose items have no key. Such a list is written as a whole, so that what result lacks counts,
// whoever has written it.
func concernedByIndex(path Path, have, result tree.Array, want, last []any, yield func(at Path, before, after, wanted any) bool) bool {
	for i := range want {
		var before any
		if len(last) == len(want) {
			before = last[i]
		}
		removed := func(at Path, before, after, wanted any) bool {
			return after != nil || wanted != nil || yield(at, before, after, wanted)
		}
		if !concernedIn(path.to(i), have.Index(i), result.Index(i), want[i], before, yield) ||
			!concernedIn(path.to(i), have.Index(i), result.Index(i), want[i], tree.Native(have.Index(i)), removed) {
			return false
		}
	}
	return true
}

// concernedItems is concernedIn for lists whose items have the key.
func concernedItems(path Path, key string, have, result tree.Array, want, last []any, yield func(at Path, before, after, wanted any) bool) bool {
	wants, lasts, index := byKey(want, key), byKey(last, key), map[string]int{}
	for i := range have.Len() {
		index[identify(readMap(have.Index(i)), key)] = i
	}
	results := map[string]any{}
	for i := range result.Len() {
		results[identify(readMap(result.Index(i)), key)] = result.Index(i)
	}
	ids := slices.Concat(slices.Collect(maps.Keys(wants)), slices.Collect(maps.Keys(lasts)))
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		at, there := index[id]
		var before any
		place := path // an item that have lacks has no index
		if there {
			before, place = have.Index(at), path.to(at)
		}
		var wanted any
		if w := wants[id]; w != nil {
			wanted = w
		}
		if !concernedIn(place, before, results[id], wanted, any(lasts[id]), yield) {
			return false
		}
	}
	return true
}

package plan

import (
	"slices"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// Confirm returns the dry run of the update that has to show that o is needed, and false if o needs none. A child is not deleted because
// of a difference in which the API server would store nothing else: see Confirmed.
func (o Op) Confirm() (Op, bool) {
	if o.Verb != Delete || o.Updated == nil {
		return Op{}, false
	}
	return Op{Verb: DryUpdate, Object: o.Updated, Observed: o.Object, Wanted: o.Wanted, Why: "before it is deleted " + o.Why}, true
}

// Confirmed returns the field because of which the child of op, which recreates it, has to be recreated, by the result of the dry run
// of an update; nil if none. Only fields that the hook returns, or does not return any more, count.
//
// If the hook returned the same when the child was last written, a value that the dry run would store otherwise counts only if that is
// the wanted value, or what the API server stored of it then. An admission webhook may store another value at each write, and then a new
// child would not be as it is wanted either.
func (p Policy) Confirmed(op Op, result *object.Object) Path {
	have, want := op.Object, WithoutNulls(op.Wanted.Map())
	asWritten(want)
	if !op.Answered {
		return firstConcerned(have, result, want, op.Last)
	}
	as := func(o *object.Object) bool {
		m, err := p.merging(o, op.Wanted, "")
		if err != nil {
			return false
		}
		differs, err := p.Memory.differs(have, m.text, m.residue(observedOrder))
		return err == nil && differs == nil
	}
	return decided(have, result, want, p.Memory.has(have, textOf(op)) && as(result))
}

// decided returns the first field that a write would give the wanted value, or any other value if stable says that it is the value that
// was stored when the same was written last.
func decided(have, result *object.Object, want map[string]any, stable bool) (found Path) {
	eachConcerned(nil, contentOf(have), contentOf(result), want, nil, func(at Path, before, after, wanted any) bool {
		if stable || sameMeaning(after, wanted) && !sameMeaning(before, wanted) {
			found = slices.Clone(at)
		}
		return found == nil
	})
	return found
}

// firstConcerned returns the first field of want or last that differs between have and result.
func firstConcerned(have, result *object.Object, want, last map[string]any) (found Path) {
	eachConcerned(nil, contentOf(have), contentOf(result), want, last, func(at Path, _, _, _ any) bool {
		found = slices.Clone(at)
		return false
	})
	return found
}

// textOf returns the annotation LastApplied that op writes.
func textOf(op Op) string { return remembered(op.Updated) }

// eachConcerned calls yield for each field of want or last in which have and result differ, until yield returns false. It reports
// whether it did not.
func eachConcerned(path Path, have, result tree.Map, want, last map[string]any, yield func(at Path, before, after, wanted any) bool) bool {
	for _, key := range keysOf(tree.GoMap(want), tree.GoMap(last)) {
		at := path.to(key)
		if at.is("status") || len(at) == 2 && path.is("metadata") && slices.Contains(system, key) || slices.Contains(marks, key) && path.is("metadata", "annotations") {
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
	if w, wanted := want.([]any); isList && both && wanted {
		before, _ := last.([]any)
		if key := commonKey(h, r, tree.GoSlice(w), tree.GoSlice(before)); key != "" {
			return concernedItems(path, key, h, r, w, before, yield)
		}
		if h.Len() == r.Len() && r.Len() == len(w) {
			for i := range w {
				if !concernedIn(path.to(i), h.Index(i), r.Index(i), w[i], nil, yield) {
					return false
				}
			}
			return true
		}
	}
	return have == nil && result == nil || diffValue(path, have, result) == nil || yield(path, have, result, want)
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
	for _, id := range slices.Compact(slices.Sorted(keysOfBoth(wants, lasts))) {
		at, there := index[id]
		var before any
		if there {
			before = have.Index(at)
		}
		var wanted any
		if w := wants[id]; w != nil {
			wanted = w
		}
		if !concernedIn(path.to(at), before, results[id], wanted, any(lasts[id]), yield) {
			return false
		}
	}
	return true
}

func keysOfBoth(a, b map[string]map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range a {
			if !yield(key) {
				return
			}
		}
		for key := range b {
			if !yield(key) {
				return
			}
		}
	}
}

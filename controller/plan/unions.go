package plan

import (
	"slices"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// Unreturned returns the paths of the fields because of which the API server may have refused a field of an update: the refused field
// itself, if the child has it and the hook does not return it, or else the fields beside it of which this is true. They are defaults, or
// were set by somebody else, and exclude what the hook returns now, such as rollingUpdate with the strategy type Recreate.
func (o Op) Unreturned(refused string) []string {
	if o.Observed == nil || o.Wanted == nil {
		return nil
	}
	want := o.Wanted.Map()
	if at, found := object.ParsePath(refused, object.Copy(o.Observed).Map()); found && len(at) > 1 && !hasAt(want, at) {
		return []string{refused}
	}
	at, found := object.ParsePath(refused, want)
	if !found || len(at) < 2 {
		return nil
	}
	parent := Path(at[:len(at)-1])
	returned, beside := mapAt(want, parent), itemOf(o.Observed, want, parent)
	var others []string
	for key := range beside.All() {
		if _, set := returned[key]; !set {
			others = append(others, parent.to(key).String())
		}
	}
	slices.Sort(others)
	return others
}

// hasAt reports whether the hook returns a field, also as null.
func hasAt(want map[string]any, at Path) bool {
	key, isKey := at[len(at)-1].(string)
	_, set := mapAt(want, at[:len(at)-1])[key]
	return set || !isKey
}

// mapAt returns the map at a path; nil if there is none.
func mapAt(v any, at Path) map[string]any {
	for _, to := range at {
		v = tree.Step(v, to)
	}
	return mapOf(v)
}

// itemOf returns the map of a child that belongs to the one at a path in want. Items of lists are found by their keys.
func itemOf(child *object.Object, want any, at Path) tree.Map {
	have := any(contentOf(child))
	for _, to := range at {
		next := tree.Step(have, to)
		if i, isIndex := to.(int); isIndex {
			next = sameItem(have, want, i)
		}
		have, want = next, tree.Step(want, to)
	}
	return readMap(have)
}

// sameItem returns the item of the list have with the key of the item of the list want at index i; nil if there is none.
func sameItem(have, want any, i int) any {
	list, isList := tree.ArrayOf(have)
	wanted, _ := want.([]any)
	if !isList || i >= len(wanted) {
		return nil
	}
	key := commonKey(list, tree.GoSlice(wanted))
	for n := range list.Len() {
		if item := readMap(list.Index(n)); key != "" && identify(item, key) == identity(mapOf(wanted[i])[key]) {
			return item
		}
	}
	return nil
}

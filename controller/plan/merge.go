package plan

import (
	"encoding/json"
	"slices"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// mergeKeys are the fields that may identify the items of a list, in the order in which they are tried.
var mergeKeys = []string{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"}

// merge is the three-way merge of dynamic apply: it returns observed with the fields of desired, and without the fields that
// lastApplied has and desired does not have. Maps are merged by key. A list is merged by a field of mergeKeys if all items
// in all three lists are objects with this field, and its values are unique in each list. Every other list, and a value that changes
// its type, is replaced. A field that is null in desired is removed. The arguments are not changed, and the result shares nothing with
// them: only what stays of observed is built, if that is packed.
func merge(observed tree.Map, lastApplied, desired map[string]any, order order) map[string]any {
	result := make(map[string]any, observed.Len())
	for key, value := range observed.All() {
		_, wasSet := lastApplied[key]
		_, isSet := desired[key]
		if !isSet && !wasSet {
			result[key] = built(value)
		}
	}
	for key, want := range desired {
		if want != nil {
			have, _ := observed.Get(key)
			result[key] = mergeValue(have, lastApplied[key], want, order)
		}
	}
	return result
}

// An order is the order of the items of a list that is merged by a key.
type order int

const (
	observedOrder order = iota // observed items stay where they are, and new items are last
	desiredOrder               // desired items are in their order, and the others follow them, in the observed order
)

// built returns a copy of v with maps and slices, which can be changed.
func built(v any) any {
	if native, packed := v.(interface{ Native() any }); packed {
		return native.Native()
	}
	return object.CopyValue(v)
}

func mergeValue(observed, last, desired any, order order) any {
	switch want := desired.(type) {
	case map[string]any:
		if have, ok := tree.MapOf(observed); ok {
			lastMap, _ := last.(map[string]any)
			return merge(have, lastMap, want, order)
		}
	case []any:
		if have, ok := tree.ArrayOf(observed); ok {
			lastList, _ := last.([]any)
			return mergeList(have, lastList, want, order)
		}
	}
	return copyOf(desired)
}

// copyOf returns a copy of a desired value, without nulls.
func copyOf(desired any) any {
	copied := object.CopyValue(desired)
	dropNulls(copied)
	return copied
}

func mergeList(observed tree.Array, last, desired []any, order order) any {
	key := commonKey(observed, tree.GoSlice(last), tree.GoSlice(desired))
	if key == "" {
		return copyOf(desired)
	}
	lastItems, wantItems := byKey(last, key), byKey(desired, key)
	mine, others := make([]any, 0, len(desired)), []any(nil)
	at := make(map[string]int, len(desired)) // the items of mine
	for i := range observed.Len() {
		item := observed.Index(i)
		have := readMap(item)
		id := identify(have, key)
		want, isSet := wantItems[id]
		lastItem, wasSet := lastItems[id]
		switch {
		case isSet:
			at[id] = len(mine)
			mine = append(mine, merge(have, lastItem, want, order))
		case !wasSet && order == desiredOrder:
			others = append(others, built(item))
		case !wasSet:
			mine = append(mine, built(item))
		}
	}
	if order == desiredOrder {
		return append(inOrderOf(desired, key, mine, at), others...)
	}
	for _, item := range desired {
		if _, there := at[identity(item.(map[string]any)[key])]; !there {
			mine = append(mine, copyOf(item))
		}
	}
	return mine
}

// inOrderOf returns the items of merged, which at finds by their keys, in the order of desired, with those that merged does not have.
func inOrderOf(desired []any, key string, merged []any, at map[string]int) []any {
	result := make([]any, 0, len(desired))
	for _, item := range desired {
		if i, there := at[identity(item.(map[string]any)[key])]; there {
			result = append(result, merged[i])
		} else {
			result = append(result, copyOf(item))
		}
	}
	return result
}

// commonKey returns the first of mergeKeys that every item of every list has, with unique values in each list; "" if there
// is none. A field with equal values, such as port 53 for UDP and TCP, does not identify items: a merge by it would lose
// some.
func commonKey(lists ...tree.Array) string {
	for _, key := range mergeKeys {
		if !slices.ContainsFunc(lists, func(list tree.Array) bool { return !identifies(key, list) }) {
			return key
		}
	}
	return ""
}

func identifies(key string, list tree.Array) bool {
	seen := make(map[string]bool, list.Len())
	for i := range list.Len() {
		value, _ := readMap(list.Index(i)).Get(key)
		if value == nil || !tree.AtMost(value, maxIdentity) {
			return false
		}
		id := identity(value)
		if seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

// maxIdentity is how many values a map or a list has at most that identifies an item. The key of an item is a text or a number. Anything
// else is compared as its JSON, which would take long if it had lists with such items in it.
const maxIdentity = 100

// identify returns the identity of an item, whose key exists.
func identify(item tree.Map, key string) string {
	value, _ := item.Get(key)
	return identity(value)
}

func byKey(list []any, key string) map[string]map[string]any {
	items := make(map[string]map[string]any, len(list))
	for _, item := range list {
		m := item.(map[string]any)
		items[identity(m[key])] = m
	}
	return items
}

// identity returns the value of a merge key as text. A number has the same text as int64, float64 and json.Number, and as it has when
// it is read back: the API server stores -0.0 as 0.
func identity(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		if v == 0 {
			return "0"
		}
	}
	text, _ := json.Marshal(tree.Native(value)) // fails only for what JSON has no spelling for
	return string(text)
}

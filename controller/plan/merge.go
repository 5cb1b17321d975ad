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
// in all three lists are objects with this field, and its values are unique in each list; the observed order stays, and new
// items are last. Every other list, and a value that changes its type, is replaced. The arguments are not changed, and the
// result shares nothing with them: only what stays of observed is built, if that is packed.
func merge(observed tree.Map, lastApplied, desired map[string]any) map[string]any {
	result := make(map[string]any, observed.Len())
	for key, value := range observed.All() {
		_, wasSet := lastApplied[key]
		_, isSet := desired[key]
		if !isSet && !wasSet {
			result[key] = built(value)
		}
	}
	for key, want := range desired {
		have, _ := observed.Get(key)
		result[key] = mergeValue(have, lastApplied[key], want)
	}
	return result
}

// built returns a copy of v with maps and slices, which can be changed.
func built(v any) any {
	if native, packed := v.(interface{ Native() any }); packed {
		return native.Native()
	}
	return object.CopyValue(v)
}

func mergeValue(observed, last, desired any) any {
	switch want := desired.(type) {
	case map[string]any:
		if have, ok := tree.MapOf(observed); ok {
			lastMap, _ := last.(map[string]any)
			return merge(have, lastMap, want)
		}
	case []any:
		if have, ok := tree.ArrayOf(observed); ok {
			lastList, _ := last.([]any)
			return mergeList(have, lastList, want)
		}
	}
	return object.CopyValue(desired)
}

func mergeList(observed tree.Array, last, desired []any) any {
	key := commonKey(observed, tree.GoSlice(last), tree.GoSlice(desired))
	if key == "" {
		return object.CopyValue(desired)
	}
	lastItems, wantItems := byKey(last, key), byKey(desired, key)
	result := make([]any, 0, len(desired))
	kept := map[string]bool{}
	for i := range observed.Len() {
		item := observed.Index(i)
		have := readMap(item)
		id := identify(have, key)
		want, isSet := wantItems[id]
		lastItem, wasSet := lastItems[id]
		kept[id] = true
		switch {
		case isSet:
			result = append(result, merge(have, lastItem, want))
		case !wasSet:
			result = append(result, built(item))
		}
	}
	for _, item := range desired {
		if want := item.(map[string]any); !kept[identity(want[key])] {
			result = append(result, object.CopyValue(want))
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
		if value == nil || seen[identity(value)] {
			return false
		}
		seen[identity(value)] = true
	}
	return true
}

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

package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"metascript/controller/object"
)

// mergeKeys are the fields that may identify the items of a list, in the order in which they are tried.
var mergeKeys = []string{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"}

// merge is the three-way merge of dynamic apply: it returns observed with the fields of desired, and without the fields that
// lastApplied has and desired does not have. Maps are merged by key. A list is merged by a field of mergeKeys if all items
// in all three lists are objects with this field, and its values are unique in each list; the observed order stays, and new
// items are last. Every other list, and a value that changes its type, is replaced. The arguments are not changed, and the
// result shares nothing with them.
func merge(observed, lastApplied, desired map[string]any) map[string]any {
	result := make(map[string]any, len(observed))
	for key, value := range observed {
		_, wasSet := lastApplied[key]
		_, isSet := desired[key]
		if !isSet && !wasSet {
			result[key] = object.CopyValue(value)
		}
	}
	for key, want := range desired {
		result[key] = mergeValue(observed[key], lastApplied[key], want)
	}
	return result
}

func mergeValue(observed, last, desired any) any {
	switch want := desired.(type) {
	case map[string]any:
		if have, ok := observed.(map[string]any); ok {
			lastMap, _ := last.(map[string]any)
			return merge(have, lastMap, want)
		}
	case []any:
		if have, ok := observed.([]any); ok {
			lastList, _ := last.([]any)
			return mergeList(have, lastList, want)
		}
	}
	return object.CopyValue(desired)
}

func mergeList(observed, last, desired []any) any {
	key := commonKey(observed, last, desired)
	if key == "" {
		return object.CopyValue(desired)
	}
	lastItems, wantItems := byKey(last, key), byKey(desired, key)
	result := make([]any, 0, len(desired))
	kept := map[string]bool{}
	for _, item := range observed {
		have := item.(map[string]any)
		id := identity(have[key])
		want, isSet := wantItems[id]
		lastItem, wasSet := lastItems[id]
		kept[id] = true
		switch {
		case isSet:
			result = append(result, merge(have, lastItem, want))
		case !wasSet:
			result = append(result, object.CopyValue(item))
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
func commonKey(lists ...[]any) string {
	for _, key := range mergeKeys {
		if !slices.ContainsFunc(lists, func(list []any) bool { return !identifies(key, list) }) {
			return key
		}
	}
	return ""
}

func identifies(key string, list []any) bool {
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok || m[key] == nil || seen[identity(m[key])] {
			return false
		}
		seen[identity(m[key])] = true
	}
	return true
}

func byKey(list []any, key string) map[string]map[string]any {
	items := make(map[string]map[string]any, len(list))
	for _, item := range list {
		m := item.(map[string]any)
		items[identity(m[key])] = m
	}
	return items
}

// identity returns the value of a merge key as text. A number has the same text as int64, float64 and json.Number; Sprint
// would return 1e+06 for a million as float64.
func identity(value any) string {
	if f, ok := value.(float64); ok {
		text, _ := json.Marshal(f) // fails only for what JSON has no spelling for
		return string(text)
	}
	return fmt.Sprint(value)
}

package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"metascript/controller/object"
)

// mergeKeys are the fields that may identify the items of a list, in the order in which they are tried.
var mergeKeys = []string{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"}

// Merge is the three-way merge of dynamic apply: observed, with what desired sets, and without what lastApplied set
// and desired no longer does. Maps merge by key. A list whose items are all objects with one of the well-known
// identifying fields, unique in each of the three lists, merges by that field, in the observed order, new items
// last; every other list is replaced. A value that changes its type is replaced too. The arguments are not changed,
// and the result shares nothing with them.
func Merge(observed, lastApplied, desired map[string]any) map[string]any {
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
			return Merge(have, lastMap, want)
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
			result = append(result, Merge(have, lastItem, want))
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

// commonKey is the first of mergeKeys that every item of every list has and that is unique in each list; "" when
// there is none. A key that repeats, such as port 53 for both UDP and TCP, identifies nothing: merging by it would
// lose items.
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

// identity makes 80 the same whether it was decoded as int64, float64 or json.Number. A float64 is spelled as JSON
// does, since Sprint would give 1e+06 for a million.
func identity(value any) string {
	if f, ok := value.(float64); ok {
		text, _ := json.Marshal(f) // fails only for what JSON has no spelling for
		return string(text)
	}
	return fmt.Sprint(value)
}

// Difference names the first field, in the order of keys, in which a and b differ, such as
// "spec.containers[0].image"; "" when they are equal. Numbers compare by value, and the last-applied annotation
// never counts.
func Difference(a, b map[string]any) string { return diffMap("", a, b) }

func diffMap(path string, a, b map[string]any) string {
	keys := slices.Sorted(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		below := join(path, key)
		if below == "metadata.annotations."+LastApplied {
			continue
		}
		if d := diffField(below, a, b, key); d != "" {
			return d
		}
	}
	return ""
}

func diffField(path string, a, b map[string]any, key string) string {
	left, inA := a[key]
	right, inB := b[key]
	if inA && inB {
		return diffValue(path, left, right)
	}
	// An annotations map that holds nothing but our own annotation is as good as none.
	if path == "metadata.annotations" {
		l, _ := left.(map[string]any)
		r, _ := right.(map[string]any)
		return diffMap(path, l, r)
	}
	return path
}

func diffValue(path string, a, b any) string {
	switch left := a.(type) {
	case map[string]any:
		if right, ok := b.(map[string]any); ok {
			return diffMap(path, left, right)
		}
	case []any:
		if right, ok := b.([]any); ok {
			return diffList(path, left, right)
		}
	default:
		if equalScalar(a, b) {
			return ""
		}
	}
	return path
}

func diffList(path string, a, b []any) string {
	if len(a) != len(b) {
		return path
	}
	for i := range a {
		if d := diffValue(fmt.Sprintf("%s[%d]", path, i), a[i], b[i]); d != "" {
			return d
		}
	}
	return ""
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Package partial compares values with what is wanted of them, which may be only some of their fields.
package partial

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Differences returns in which fields a JSON value does not have what is wanted, with the path of each field; nil if it has everything.
// Of an object only the fields in want count. Of a list of objects, each item in want has to be somewhere in the list. Other lists
// have to be equal.
func Differences(want, got any) []string { return differences("", want, got) }

func differences(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			break
		}
		var all []string
		for _, key := range slices.Sorted(maps.Keys(want)) {
			all = append(all, differences(strings.TrimPrefix(path+"."+key, "."), want[key], m[key])...)
		}
		return all
	case []any:
		list, ok := got.([]any)
		if !ok || !haveObjects(want) {
			break
		}
		var all []string
		for _, item := range want {
			if !slices.ContainsFunc(list, func(one any) bool { return differences("", item, one) == nil }) {
				all = append(all, missing(path, item, list)...)
			}
		}
		return all
	}
	if reflect.DeepEqual(want, got) {
		return nil
	}
	return []string{fmt.Sprintf("%s: want %s, got %s", path, show(want), show(got))}
}

// haveObjects reports whether all items of a list are objects.
func haveObjects(list []any) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(item any) bool {
		_, ok := item.(map[string]any)
		return !ok
	})
}

// missing returns how a list lacks an item. If an item of the list has the same type or name, it says how this one differs.
func missing(path string, want any, list []any) []string {
	m, _ := want.(map[string]any)
	for _, key := range []string{"type", "name"} {
		for _, item := range list {
			if other, _ := item.(map[string]any); m[key] != nil && other[key] == m[key] {
				return differences(fmt.Sprintf("%s[%s=%v]", path, key, m[key]), want, item)
			}
		}
	}
	if len(list) == 1 {
		return differences(path+"[0]", want, list[0])
	}
	return []string{fmt.Sprintf("%s: none of its %d items has %s", path, len(list), show(want))}
}

func show(value any) string {
	if value == nil {
		return "nothing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

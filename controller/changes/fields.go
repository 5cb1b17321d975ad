package changes

import (
	"fmt"
	"maps"
	"slices"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// Fields returns the paths of the fields that differ between two versions of an object, such as "spec.containers[0].image", in the order
// of keys. Lists of different lengths differ as a whole. It leaves out the same fields as [Of]. Keys are not redacted.
func Fields(before, after *object.Object) []string {
	var found []string
	add := func(path string) { found = append(found, path) }
	left, right := shownOf(before), shownOf(after)
	for _, shown := range []map[string]any{left, right} {
		if shown["metadata"] == nil {
			shown["metadata"] = map[string]any{} // which is only the form in which nothing of it is shown
		}
	}
	differing("", left, right, add)
	return found
}

// differing calls add with each path below path at which a and b differ.
func differing(path string, a, b any, add func(string)) {
	switch left := a.(type) {
	case map[string]any:
		if right, ok := b.(map[string]any); ok {
			differingKeys(path, left, right, add)
			return
		}
	case []any:
		if right, ok := b.([]any); ok && len(left) == len(right) {
			for i := range left {
				differing(fmt.Sprintf("%s[%d]", path, i), left[i], right[i], add)
			}
			return
		}
	}
	if plan.Difference(map[string]any{"value": a}, map[string]any{"value": b}) != "" {
		add(path)
	}
}

func differingKeys(path string, a, b map[string]any, add func(string)) {
	keys := slices.Sorted(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		at := key
		if path != "" {
			at = path + "." + key
		}
		left, inA := a[key]
		right, inB := b[key]
		if inA && inB {
			differing(at, left, right, add)
		} else {
			add(at)
		}
	}
}

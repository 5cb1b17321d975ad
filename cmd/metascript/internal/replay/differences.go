package replay

import (
	"maps"
	"slices"
	"strings"

	"metascript/controller/plan"
	"metascript/engine/tree"
)

// differences calls found with the path of each value that differs, from the top down and in the order of keys. A null is like a
// missing value, and numbers are compared by value. Paths are those in after, or in before if after does not have the value.
func differences(path plan.Path, before, after any, found func(path plan.Path)) {
	if same(before, after) {
		return
	}
	left, isMap := tree.MapOf(before)
	right, both := tree.MapOf(after)
	if isMap && both {
		for _, key := range keysOf(left, right) {
			a, _ := left.Get(key)
			b, _ := right.Get(key)
			differences(append(slices.Clip(path), key), a, b, found)
		}
		return
	}
	items, isList := tree.ArrayOf(before)
	others, both := tree.ArrayOf(after)
	if !isList || !both || !listDifferences(path, items, others, found) {
		found(slices.Clone(path))
	}
}

// keysOf returns the keys of both maps, sorted.
func keysOf(a, b tree.Map) []string {
	all := map[string]bool{}
	for _, m := range []tree.Map{a, b} {
		for key := range m.All() {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// listDifferences finds the differences of two lists whose items belong together: by a field that identifies them, or by their index if
// both are equally long. It reports whether they do, and whether they are in the same order.
func listDifferences(path plan.Path, before, after tree.Array, found func(plan.Path)) bool {
	if field := identity(before, after); field != "" {
		return keyedDifferences(path, field, before, after, found)
	}
	if before.Len() != after.Len() {
		return false
	}
	for i := range before.Len() {
		if isScalar(before.Index(i)) && !same(before.Index(i), after.Index(i)) {
			return false // a list of texts, such as arguments: the list differs
		}
	}
	for i := range before.Len() {
		differences(append(slices.Clip(path), i), before.Index(i), after.Index(i), found)
	}
	return true
}

// keyedDifferences is listDifferences for items that a field identifies.
func keyedDifferences(path plan.Path, field string, before, after tree.Array, found func(plan.Path)) bool {
	earlier, order := map[any]any{}, []any(nil)
	for i := range before.Len() {
		id := fieldOf(before.Index(i), field)
		earlier[id], order = before.Index(i), append(order, id)
	}
	var kept []any
	for i := range after.Len() {
		if id := fieldOf(after.Index(i), field); earlier[id] != nil {
			kept = append(kept, id)
		}
	}
	remaining := slices.DeleteFunc(slices.Clone(order), func(id any) bool { return !slices.Contains(kept, id) })
	if !slices.Equal(remaining, kept) {
		return false
	}
	for i := range after.Len() {
		id := fieldOf(after.Index(i), field)
		differences(append(slices.Clip(path), i), earlier[id], after.Index(i), found)
	}
	for i, id := range order {
		if !slices.Contains(kept, id) {
			found(append(slices.Clone(path), i))
		}
	}
	return true
}

// identifying are the fields that may identify the items of a list, the most frequent first.
var identifying = []string{"name", "type", "key", "containerPort", "port", "mountPath", "path", "uid"}

// identity returns the field that identifies the items of both lists; "" if there is none.
func identity(a, b tree.Array) string {
	for _, field := range identifying {
		if identifies(a, field) && identifies(b, field) {
			return field
		}
	}
	return ""
}

// identifies reports whether all items have the field, each with another value.
func identifies(list tree.Array, field string) bool {
	seen := map[any]bool{}
	for i := range list.Len() {
		id := fieldOf(list.Index(i), field)
		if id == nil || !isScalar(id) || seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

// fieldOf returns a field of an item; nil if it has none.
func fieldOf(item any, field string) any {
	if m, ok := tree.MapOf(item); ok {
		value, _ := m.Get(field)
		return value
	}
	return nil
}

// isScalar reports whether v is neither a map nor a list.
func isScalar(v any) bool {
	_, isMap := tree.MapOf(v)
	_, isList := tree.ArrayOf(v)
	return !isMap && !isList
}

// same reports whether two values are equal. A null in a map is like a missing value.
func same(a, b any) bool {
	if left, ok := tree.MapOf(a); ok {
		right, both := tree.MapOf(b)
		return both && sameMaps(left, right)
	}
	if left, ok := tree.ArrayOf(a); ok {
		right, both := tree.ArrayOf(b)
		if !both || left.Len() != right.Len() {
			return false
		}
		for i := range left.Len() {
			if !same(left.Index(i), right.Index(i)) {
				return false
			}
		}
		return true
	}
	return sameScalars(a, b)
}

func sameMaps(a, b tree.Map) bool {
	n := 0
	for key, left := range a.All() {
		if left == nil {
			continue
		}
		n++
		if right, _ := b.Get(key); right == nil || !same(left, right) {
			return false
		}
	}
	for _, right := range b.All() {
		if right != nil {
			n--
		}
	}
	return n == 0
}

func sameScalars(a, b any) bool {
	if !isScalar(b) {
		return false
	}
	if a == b {
		return true
	}
	switch x := a.(type) {
	case int64:
		y, ok := b.(float64)
		return ok && float64(x) == y
	case float64:
		y, ok := b.(int64)
		return ok && x == float64(y)
	}
	return false
}

// shapeOf returns a path as text without the indexes of lists, so that paths in all objects of a kind are equal.
func shapeOf(path plan.Path) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		default:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

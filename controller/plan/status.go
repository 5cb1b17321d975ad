package plan

import (
	"maps"
	"slices"

	"metascript/controller/object"
)

// SameStatus reports whether two objects have the same status. It builds nothing of a packed one.
func SameStatus(a, b *object.Object) bool {
	left, _ := a.At("status")
	right, _ := b.At("status")
	return diffValue(Path{"status"}, left, right) == nil
}

// StatusDifferences returns, for each field of the status that was not stored as it was written, the path of the first difference in it, in
// the order of keys.
func StatusDifferences(stored, written *object.Object) []string {
	if SameStatus(stored, written) {
		return nil
	}
	have, _ := object.StatusOf(stored)["status"].(map[string]any)
	want, _ := object.StatusOf(written)["status"].(map[string]any)
	keys := slices.Concat(slices.Collect(maps.Keys(have)), slices.Collect(maps.Keys(want)))
	slices.Sort(keys)
	one := func(status map[string]any, key string) map[string]any {
		field := map[string]any{}
		if value, found := status[key]; found {
			field[key] = value
		}
		return map[string]any{"status": field}
	}
	var lost []string
	for _, key := range slices.Compact(keys) {
		if path := Difference(one(have, key), one(want, key)); path != "" {
			lost = append(lost, path)
		}
	}
	return lost
}

// Changed returns values with the changes made: nil removes a key. It does not change values.
func Changed(values map[string]string, changes map[string]*string) map[string]string {
	changed := maps.Clone(values)
	for key, value := range changes {
		switch {
		case value == nil:
			delete(changed, key)
		case changed == nil:
			changed = map[string]string{key: *value}
		default:
			changed[key] = *value
		}
	}
	return changed
}

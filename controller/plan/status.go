package plan

import (
	"maps"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// SameStatus reports whether two objects have the same status. It builds nothing of a packed one.
func SameStatus(a, b *object.Object) bool {
	left, _ := a.At("status")
	right, _ := b.At("status")
	return equal(left, right)
}

// StatusDifferences returns the paths of the fields of a status that were not stored, or stored with another meaning than they were
// written, in the order of keys. Fields that only the stored status has are defaults.
func StatusDifferences(stored, written *object.Object) []string {
	have, _ := object.StatusOf(stored)["status"].(map[string]any)
	want, _ := object.StatusOf(written)["status"].(map[string]any)
	var lost []string
	spellings(Path{"status"}, tree.GoMap(have), WithoutNulls(want), newMeaning(), func(s Spelling) {
		if s.Stored == nil || !s.Same {
			lost = append(lost, s.Path.String())
		}
	})
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

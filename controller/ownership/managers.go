package ownership

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// A Manager is a field manager that owns a field.
type Manager struct {
	Name      string
	Operation string // Apply or Update
}

// String returns a text such as "kubectl (Update)".
func (m Manager) String() string { return m.Name + " (" + m.Operation + ")" }

// Managers returns the field managers that own the field of o at path, of keys and indexes, or a field below it, sorted. They are in
// managedFields, which objects in caches do not have. Entries that cannot be parsed are ignored.
func Managers(o *object.Object, path []any) []Manager {
	var found []Manager
	for _, entry := range o.GetManagedFields() {
		m := Manager{entry.Manager, string(entry.Operation)}
		if set := fieldsOf(entry); set != nil && owns(set, o.Map(), path) && !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b Manager) int { return strings.Compare(a.String(), b.String()) })
	return found
}

func fieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil || set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return nil
	}
	return set
}

// owns reports whether set has the field of v at path, a field below it, or a map or list that contains it.
func owns(set *fieldpath.Set, v any, path []any) bool {
	found := false
	set.Leaves().Iterate(func(leaf fieldpath.Path) { found = found || meets(leaf, v, path) })
	return found
}

// meets reports whether leaf and path are equal up to the length of the shorter one.
func meets(leaf fieldpath.Path, v any, path []any) bool {
	for i, element := range leaf {
		if i == len(path) {
			return true
		}
		v = tree.Step(v, path[i])
		if !Identifies(element, path[i], v) {
			return false
		}
	}
	return true
}

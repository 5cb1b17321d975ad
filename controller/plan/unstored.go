package plan

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/engine/tree"
)

// Unstored has, by UID, the fields of children that the API server did not store when dynamic apply last wrote them, such as a
// misspelled one. A child does not differ in these fields while it is desired as it was then. It is for one parent and must not be
// used concurrently. If it is lost, each child may cost one write.
type Unstored map[types.UID]unstored

// unstored are the fields of one child that were not stored.
type unstored struct {
	applied string   // the annotation LastApplied that was written with them
	fields  []string // their paths
}

// Note records a write of a child with the result stored. It returns the paths of the fields that were not stored.
func (u Unstored) Note(stored, written *object.Object) []string {
	missing := absent(nil, contentOf(stored), written.Map())
	if len(missing) == 0 {
		delete(u, stored.GetUID())
		return nil
	}
	fields := make([]string, len(missing))
	for i, path := range missing {
		fields[i] = path.String()
	}
	u[uidOf(stored)] = unstored{remembered(written), fields}
	return fields
}

// NoteUnknown records that the API server does not know fields of a child that op would recreate. It reports whether the child
// differs in no other field, so that it need not be recreated.
func (u Unstored) NoteUnknown(op Op, unknown []string) bool {
	if op.Updated == nil || len(unknown) == 0 {
		return false
	}
	var fields []string
	for _, path := range absent(nil, contentOf(op.Object), op.Updated.Map()) {
		if field := path.String(); slices.ContainsFunc(unknown, func(name string) bool { return within(name, field) }) {
			fields = append(fields, field)
		}
	}
	u[uidOf(op.Object)] = unstored{remembered(op.Updated), fields}
	return difference(contentOf(op.Object), tree.GoMap(u.without(op.Object, op.Updated))) == nil
}

// within reports whether a path is that of field or of a field below it.
func within(path, field string) bool {
	rest, found := strings.CutPrefix(path, field)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Keep drops all children that are not observed.
func (u Unstored) Keep(observed *object.Set) { keep(u, observed) }

// without returns merged, which is have after an update, without the fields that would not be stored. It does not change merged.
func (u Unstored) without(have, merged *object.Object) map[string]any {
	known, found := u[have.GetUID()]
	if !found || known.applied != remembered(merged) {
		return merged.Map()
	}
	pruned := object.Copy(merged).Map()
	for _, path := range absent(nil, contentOf(have), merged.Map()) {
		if slices.Contains(known.fields, path.String()) {
			remove(pruned, path)
		}
	}
	return pruned
}

// remove deletes the field at path, whose last step is a key.
func remove(v any, path Path) {
	last := len(path) - 1
	for _, to := range path[:last] {
		v = step(v, to)
	}
	delete(mapOf(v), path[last].(string))
}

// absent returns the paths of the fields of want that have does not have, in the order of keys. Lists of different lengths are not
// compared. Empty maps and lists, the status and what only the API server sets are ignored.
func absent(path Path, have tree.Map, want map[string]any) []Path {
	var found []Path
	for key, wanted := range tree.GoMap(want).All() {
		at := path.to(key)
		if at.is("status") || len(at) == 2 && path.is("metadata") && slices.Contains(system, key) {
			continue
		}
		value, there := have.Get(key)
		switch {
		case there:
			found = append(found, absentIn(at, value, wanted)...)
		case wanted != nil && !hollow(wanted):
			found = append(found, slices.Clone(at))
		}
	}
	return found
}

// absentIn is the same as absent for the values of a field.
func absentIn(path Path, have, want any) []Path {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := tree.MapOf(have); ok {
			return absent(path, h, w)
		}
	case []any:
		h, ok := tree.ArrayOf(have)
		if !ok || h.Len() != len(w) {
			return nil
		}
		var found []Path
		for i := range w {
			found = append(found, absentIn(path.to(i), h.Index(i), w[i])...)
		}
		return found
	}
	return nil
}

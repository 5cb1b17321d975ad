package plan

import (
	"iter"
	"maps"
	"slices"

	"metascript/controller/object"
	"metascript/controller/scalar"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// marks are the annotations that record what was applied. They are not compared.
var marks = []string{LastApplied, AppliedDigest}

// Difference returns the path of the first field, in the order of keys, in which a and b differ, such as
// "spec.containers[0].image"; "" if they are equal. Numbers are compared by value, and the annotations that record what was
// applied are ignored.
func Difference(a, b map[string]any) string {
	return difference(tree.GoMap(a), tree.GoMap(b)).String()
}

// ObjectDifference is Difference for the contents of two objects, which are not built if they are packed.
func ObjectDifference(a, b *object.Object) string {
	return difference(contentOf(a), contentOf(b)).String()
}

// unmeant are the fields of metadata that the API server changes with each write.
var unmeant = []string{"resourceVersion", "managedFields", "generation"}

// A Change is a field in which two versions of an object differ. A value is nil if the field does not exist; it may be packed, and then
// keeps the object in memory.
type Change struct {
	Path          string
	Before, After any
}

// Changes returns the fields in which two versions of an object differ, in the order of keys: without those that the API server changes
// with each write, and the annotations that record what was applied. A list with another length is one field. Neither object is built if
// both are packed.
func Changes(before, after *object.Object) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		eachChange(nil, contentOf(before), contentOf(after), func(at Path, a, b any) bool {
			return len(at) > 1 && at[:1].is("metadata") && slices.Contains(unmeant, at[1].(string)) || yield(Change{at.String(), a, b})
		})
	}
}

// eachChange calls yield for each field in which two maps differ, with its two values, until yield returns false. It reports whether it
// did not. The path is valid only during the call.
func eachChange(path Path, a, b tree.Map, yield func(at Path, a, b any) bool) bool {
	if left, right, packed := bothPacked(a, b); packed {
		for u := left.Unequal(right); u.Next(); {
			if !changesAt(path, u.Key, u.A, u.B, yield) {
				return false
			}
		}
		return true
	}
	for _, key := range keysOf(a, b) {
		if !changesAt(path, key, get(a, key), get(b, key), yield) {
			return false
		}
	}
	return true
}

// changesAt is eachChange for the values of a key, of which one may be packed.None.
func changesAt(path Path, key string, left, right any, yield func(at Path, a, b any) bool) bool {
	if slices.Contains(marks, key) && path.is("metadata", "annotations") {
		return true
	}
	at, one := path.to(key), left == packed.None || right == packed.None
	if one && at.is("metadata", "annotations") {
		left, right = mapIn(left), mapIn(right)
	} else if one {
		return yield(at, valueIn(left), valueIn(right))
	}
	return eachIn(at, left, right, yield)
}

// eachIn is eachChange for two values.
func eachIn(path Path, a, b any, yield func(at Path, a, b any) bool) bool {
	if left, isMap := tree.MapOf(a); isMap {
		if right, both := tree.MapOf(b); both {
			return eachChange(path, left, right, yield)
		}
	} else if left, isArray := tree.ArrayOf(a); isArray {
		if right, both := tree.ArrayOf(b); both && left.Len() == right.Len() {
			for i := range left.Len() {
				if !eachIn(path.to(i), left.Index(i), right.Index(i), yield) {
					return false
				}
			}
			return true
		}
	} else if scalar.Equal(a, b) {
		return true
	}
	return yield(path, a, b)
}

func bothPacked(a, b tree.Map) (left, right packed.Map, both bool) {
	left, one := a.(packed.Map)
	right, other := b.(packed.Map)
	return left, right, one && other
}

// get returns the value of a key, or packed.None.
func get(m tree.Map, key string) any {
	if v, found := m.Get(key); found {
		return v
	}
	return packed.None
}

// valueIn returns a value, or nil for packed.None.
func valueIn(v any) any {
	if v == packed.None {
		return nil
	}
	return v
}

// mapIn returns an object as it can be read, or one without keys if v is none.
func mapIn(v any) tree.Map { return readMap(valueIn(v)) }

// keysOf returns the keys that are in a or in b, sorted.
func keysOf(a, b tree.Map) []string {
	keys := make([]string, 0, max(a.Len(), b.Len()))
	for key := range a.All() {
		keys = append(keys, key)
	}
	for key := range b.All() {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// difference returns the path of the first field in which two maps differ; nil if there is none.
func difference(a, b tree.Map) (first Path) {
	eachChange(nil, a, b, func(at Path, _, _ any) bool {
		first = slices.Clone(at)
		return false
	})
	return first
}

// equal reports whether two values are the same.
func equal(a, b any) bool {
	return eachIn(nil, a, b, func(Path, any, any) bool { return false })
}

// lacks returns the path of the first field of want, in the order of keys, that have lacks or has with another value; nil if
// there is none. Paths in known are skipped. Other fields of have are ignored, but lists are compared as a whole. Empty maps
// and lists need not exist, since the API server may not store them.
func lacks(have tree.Map, want map[string]any, known ...string) Path {
	return lacking{known}.in(nil, have, want)
}

type lacking struct{ known []string }

func (l lacking) in(path Path, have tree.Map, want map[string]any) Path {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if slices.Contains(marks, key) && path.is("metadata", "annotations") {
			continue
		}
		if d := l.field(path.to(key), have, want[key], key); d != nil {
			return d
		}
	}
	return nil
}

func (l lacking) field(path Path, have tree.Map, want any, key string) Path {
	value, there := have.Get(key)
	switch {
	case there:
		return l.value(path, value, want)
	case hollow(want):
		return nil
	case path.is("metadata", "annotations"):
		return l.in(path, tree.GoMap(nil), mapOf(want))
	}
	return l.unless(path)
}

func (l lacking) value(path Path, have, want any) Path {
	switch want := want.(type) {
	case map[string]any:
		if m, ok := tree.MapOf(have); ok {
			return l.in(path, m, want)
		}
	case []any:
		if list, ok := tree.ArrayOf(have); ok && list.Len() == len(want) {
			return l.list(path, list, want)
		}
	default:
		if scalar.Equal(have, want) {
			return nil
		}
	}
	return l.unless(path)
}

// list compares items by their key, in any order, if all have one, and otherwise by their index.
func (l lacking) list(path Path, have tree.Array, want []any) Path {
	if key := commonKey(have, tree.GoSlice(want)); key != "" {
		return l.items(path, key, have, byKey(want, key))
	}
	for i := range want {
		if d := l.value(path.to(i), have.Index(i), want[i]); d != nil {
			return d
		}
	}
	return nil
}

func (l lacking) items(path Path, key string, have tree.Array, want map[string]map[string]any) Path {
	for i := range have.Len() {
		item := readMap(have.Index(i))
		wanted, found := want[identify(item, key)]
		if !found {
			return l.unless(path)
		}
		if d := l.in(path.to(i), item, wanted); d != nil {
			return d
		}
	}
	return nil
}

// unless returns path, or nil if it is in known.
func (l lacking) unless(path Path) Path {
	if slices.Contains(l.known, path.String()) {
		return nil
	}
	return path
}

// contentOf returns the content of o, which is not built if o is packed.
func contentOf(o *object.Object) tree.Map {
	content, _ := tree.MapOf(o.Value())
	return content
}

// metadataOf returns the metadata of o, which are not built if o is packed; no fields if there are none.
func metadataOf(o *object.Object) tree.Map {
	metadata, _ := o.At("metadata")
	return readMap(metadata)
}

// readMap returns v if it is a map, in whichever form, and otherwise a map without keys.
func readMap(v any) tree.Map {
	if m, ok := tree.MapOf(v); ok {
		return m
	}
	return tree.GoMap(nil)
}

// mapOf returns v if it is a map that is built, and nil otherwise.
func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

package starlark

import (
	"go.starlark.net/starlark"

	"metascript/engine"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// The interpreter cannot compare a view with a Starlark dict or list, and compares at most ten levels, which is less than some
// Kubernetes objects have. So this file compares values.

// maxCompared is the maximum nesting of values that are compared.
const maxCompared = maxNested

// A meter counts the cost of a comparison: steps, and the keys that are looked up.
type meter interface {
	charge(steps int64) error
	chargeLookups(collections ...starlark.Value) error
}

// unmetered is the meter for values whose size is limited already, such as the request. It counts nothing.
type unmetered struct{}

func (unmetered) charge(int64) error                    { return nil }
func (unmetered) chargeLookups(...starlark.Value) error { return nil }

// equal reports whether x == y. It charges a step for each pair of values.
func equal(x, y starlark.Value, m meter) (bool, error) {
	return equalWithin(x, y, maxCompared, m)
}

// equalWithin is equal for values that are nested at most depth levels; it returns an error for others.
func equalWithin(x, y starlark.Value, depth int, m meter) (bool, error) {
	if depth == 0 {
		return false, errDeep
	}
	if err := m.charge(1 + min(lengthSteps(x), lengthSteps(y))); err != nil {
		return false, err
	}
	switch x := x.(type) {
	case dictView:
		switch y := y.(type) {
		case dictView:
			return equalMaps(x.data(), y.data(), m)
		case *starlark.Dict:
			return equalDicts(y, x, depth, m)
		}
		return false, nil
	case *starlark.Dict:
		if y, ok := y.(starlark.IterableMapping); ok {
			if err := m.chargeLookups(x); err != nil {
				return false, err
			}
			return equalDicts(x, y, depth, m)
		}
		return false, nil
	case listView, *starlark.List:
		if isList(y) {
			return equalElements(x.(starlark.Indexable), y.(starlark.Indexable), depth, m)
		}
		return false, nil
	case starlark.Tuple:
		if y, ok := y.(starlark.Tuple); ok {
			return equalElements(x, y, depth, m)
		}
		return false, nil
	}
	if err := chargeSets(m, x, y); err != nil {
		return false, err
	}
	return starlark.Equal(x, y) // values of other types contain no views
}

// chargeSets charges for the comparison of two sets, which looks up the elements of one in the other.
func chargeSets(m meter, x, y starlark.Value) error {
	_, isSet := x.(*starlark.Set)
	_, otherIsSet := y.(*starlark.Set)
	if !isSet || !otherIsSet {
		return nil
	}
	return m.chargeLookups(x, y)
}

// isList reports whether v is a list for scripts: a Starlark list or a view of one.
func isList(v starlark.Value) bool {
	switch v.(type) {
	case listView, *starlark.List:
		return true
	}
	return false
}

func equalDicts(x *starlark.Dict, y starlark.IterableMapping, depth int, m meter) (bool, error) {
	if x.Len() != starlark.Len(y) {
		return false, nil
	}
	for key, v := range x.Entries() {
		w, found, _ := y.Get(key)
		if !found {
			return false, nil
		}
		if same, err := equalWithin(v, w, depth-1, m); !same {
			return false, err
		}
	}
	return true, nil
}

func equalElements(x, y starlark.Indexable, depth int, m meter) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	for i := range x.Len() {
		if same, err := equalWithin(x.Index(i), y.Index(i), depth-1, m); !same {
			return false, err
		}
	}
	return true, nil
}

// lengthSteps returns how many steps it costs to compare or hash a string, byte by byte. It returns 0 for other values.
func lengthSteps(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.String:
		return int64(len(v)) / bytesPerStep
	case starlark.Bytes:
		return int64(len(v)) / bytesPerStep
	}
	return 0
}

// equalData is equal for parts of the request. They are trees, so their nesting needs no limit.
func equalData(x, y any, m meter) (bool, error) {
	if err := m.charge(1); err != nil {
		return false, err
	}
	if x, ok := x.(string); ok { // most values
		return x == y, nil
	}
	if x, ok := tree.MapOf(x); ok {
		y, ok := tree.MapOf(y)
		if !ok {
			return false, nil
		}
		return equalMaps(x, y, m)
	}
	if x, ok := tree.ArrayOf(x); ok {
		y, ok := tree.ArrayOf(y)
		if !ok {
			return false, nil
		}
		return equalArrays(x, y, m)
	}
	return starlark.Equal(toValue(x), toValue(y)) // 1 is 1.0
}

// equalMaps is equalData for maps, whose pair is charged already.
func equalMaps(x, y engine.Map, m meter) (bool, error) {
	x, y = packed.Whole(x).(engine.Map), packed.Whole(y).(engine.Map)
	if x.Len() != y.Len() {
		return false, nil
	}
	if same, err := samePacked(x, y, m); same || err != nil {
		return same, err
	}
	if x, plain := x.(engine.GoMap); plain {
		return equalPlain(x, y, m)
	}
	if y, plain := y.(engine.GoMap); plain {
		return equalPlain(y, x, m)
	}
	for key, v := range x.All() {
		w, ok := y.Get(key)
		if !ok {
			return false, nil
		}
		if same, err := equalData(v, w, m); !same {
			return false, err
		}
	}
	return true, nil
}

// equalPlain is equalMaps for a map[string]any. It visits the keys in no order, which costs less.
func equalPlain(x engine.GoMap, y engine.Map, m meter) (bool, error) {
	for key, v := range x {
		w, ok := y.Get(key)
		if !ok {
			return false, nil
		}
		if same, err := equalData(v, w, m); !same {
			return false, err
		}
	}
	return true, nil
}

// samePacked reports whether two maps are packed and have the same bytes. If not, they may be equal nevertheless.
func samePacked(x, y engine.Map, m meter) (bool, error) {
	a, packedX := x.(packed.Map)
	b, packedY := y.(packed.Map)
	if !packedX || !packedY || !a.Equal(b) {
		return false, nil
	}
	return true, m.charge(int64(len(a.Bytes())) / bytesPerStep)
}

// equalArrays is equalData for arrays, whose pair is charged already.
func equalArrays(x, y engine.Array, m meter) (bool, error) {
	x, y = packed.Whole(x).(engine.Array), packed.Whole(y).(engine.Array)
	if x.Len() != y.Len() {
		return false, nil
	}
	for i := range x.Len() {
		if same, err := equalData(x.Index(i), y.Index(i), m); !same {
			return false, err
		}
	}
	return true, nil
}

// has reports whether one of the elements of a list or tuple equals v.
func has(elems starlark.Indexable, v starlark.Value, m meter) (bool, error) {
	for i := range elems.Len() {
		if same, err := equal(elems.Index(i), v, m); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// Package compared remembers what comparisons of the children of a parent with the answer of its hook have found, so that a child is
// compared again only if it, or what the hook returned for it, has changed. Without it, each reconcile of a parent with a thousand children
// merges a thousand objects, although most often one of them has changed.
//
// A result is found by a digest of all that the comparison reads: the content of both objects, the parent, and what the caller adds to it.
// So a result never has to be dropped because something has changed: there is no result for another content. A [Memory] keeps those of one
// reconcile, until the end of the next one.
package compared

import (
	"hash/maphash"

	"metascript/controller/object"
	"metascript/controller/ownership"
)

var seed = maphash.MakeSeed()

// fewest is the number of children from which results are remembered. A few are compared in microseconds, and the results of all parents
// would take much memory.
const fewest = 16

// A Memory has the results of the last reconcile of one parent. The zero value has none. A nil Memory remembers nothing. It is not safe for
// concurrent use.
type Memory struct {
	results map[Key]string
	running *reconcile // nil while no reconcile runs, or if it remembers nothing
}

// A reconcile is what is known while it runs.
type reconcile struct {
	parent  uint64
	results map[Key]string            // those that are kept
	sums    map[*object.Object]uint64 // the digests of what the hook returned, which does not change while the reconcile runs
}

// A Key is a digest of all that a comparison reads. The zero value is of one that is not remembered.
type Key uint64

// Begin begins a reconcile of the parent, which has n children.
func (m *Memory) Begin(parent *object.Object, n int) {
	if m == nil || n < fewest {
		return
	}
	of := identity{parent.GroupVersionKind(), parent.GetNamespace(), parent.GetName(), string(parent.GetUID())}
	m.running = &reconcile{parent: maphash.Comparable(seed, of), results: make(map[Key]string, len(m.results)), sums: make(map[*object.Object]uint64, n)}
}

// An identity is what a child has of its parent.
type identity struct {
	kind                 object.Kind
	namespace, name, uid string
}

// End ends the reconcile: results that it has neither used nor found are dropped.
func (m *Memory) End() {
	switch {
	case m == nil:
	case m.running == nil:
		m.results = nil
	default:
		m.results, m.running = m.running.results, nil
	}
}

// Inputs are what a comparison reads besides the child, what the hook returned for it, and the parent. The fields are those of package plan.
type Inputs struct {
	Of, Method          string // the function that compares, and the update method
	ServerSide, InPlace bool
	Owned               ownership.Fields

	// What is remembered of the last write to the child.
	Applied, Print, Sorted, Spelled string
	Empty, Back                     bool
}

// Key returns the Key of a comparison of an existing child with what the hook returned. Only a child as a cache has it is remembered.
func (m *Memory) Key(have, want *object.Object, inputs Inputs) Key {
	if m == nil || m.running == nil || have.Packed().IsZero() {
		return 0
	}
	wanted, found := m.running.sums[want]
	if !found {
		var exact bool
		if wanted, exact = Sum(want.Map()); !exact {
			wanted = 0
		}
		m.running.sums[want] = wanted
	}
	if wanted == 0 {
		return 0
	}
	all := [...]uint64{m.running.parent, maphash.Bytes(seed, have.Packed().Bytes()), wanted, maphash.Comparable(seed, inputs)}
	return Key(maphash.Comparable(seed, all))
}

// Do returns the result of the comparison with this Key, if it is known, and otherwise what compare returns, which is remembered unless it
// is doubtful or an error.
func (m *Memory) Do(k Key, compare func() (result string, doubtful bool, err error)) (result string, doubtful bool, err error) {
	if k == 0 {
		return compare()
	}
	found := false
	if result, found = m.running.results[k]; found {
		return result, false, nil
	}
	if result, found = m.results[k]; !found {
		result, doubtful, err = compare()
	}
	if !doubtful && err == nil {
		m.running.results[k] = result
	}
	return result, doubtful, err
}

// The digests of values that have no content.
var ofMap, ofList, ofNil = maphash.Comparable(seed, 'm'), maphash.Comparable(seed, 'l'), maphash.Comparable(seed, 'n')

// Sum returns a digest of a JSON-shaped value, in which the order of keys does not count. exact is false if it has a value of another type,
// which may have another content later with the same digest.
func Sum(v any) (sum uint64, exact bool) {
	exact = true
	add := func(before uint64, value any) uint64 {
		inside, of := Sum(value)
		exact = exact && of
		return mix(before, inside)
	}
	switch v := v.(type) {
	case map[string]any:
		sum = ofMap
		for key, value := range v {
			sum += add(maphash.String(seed, key), value)
		}
		return sum, exact
	case []any:
		sum = ofList
		for _, value := range v {
			sum = add(sum, value)
		}
		return sum, exact
	case string:
		return maphash.String(seed, v), true
	case nil:
		return ofNil, true
	case bool, int64, float64:
		return maphash.Comparable(seed, v), true
	}
	return maphash.Comparable(seed, v), false
}

// mix returns a digest of two digests, in this order.
func mix(a, b uint64) uint64 { return maphash.Comparable(seed, [2]uint64{a, b}) }

package tree

import (
	"iter"
	"maps"
	"slices"
)

// A Sorted is a Map with its entries in the order of the keys' bytes. To read all of them costs less than with a GoMap. The zero value is
// empty.
type Sorted struct {
	keys   []string
	values []any
}

// Len implements Map.
func (s *Sorted) Len() int { return len(s.keys) }

// Get implements Map.
func (s *Sorted) Get(key string) (any, bool) {
	if i, found := slices.BinarySearch(s.keys, key); found {
		return s.values[i], true
	}
	return nil, false
}

// All implements Map.
func (s *Sorted) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i, key := range s.keys {
			if !yield(key, s.values[i]) {
				return
			}
		}
	}
}

// Keys returns the keys in their order.
func (s *Sorted) Keys() []string { return slices.Clone(s.keys) }

// Entry returns the entry at an index in the order. It panics if there is none.
func (s *Sorted) Entry(i int) (key string, value any) { return s.keys[i], s.values[i] }

// Map returns a copy of s in which each value is replaced.
func (s *Sorted) Map(by func(value any) any) *Sorted {
	values := make([]any, len(s.values))
	for i, value := range s.values {
		values[i] = by(value)
	}
	return &Sorted{keys: s.keys, values: values}
}

// With returns a copy of s in which some entries are set, and then others are removed.
func (s *Sorted) With(set map[string]any, remove []string) *Sorted {
	out := &Sorted{keys: s.keys, values: slices.Clone(s.values)}
	added := map[string]any{}
	for key, value := range set {
		if i, found := slices.BinarySearch(s.keys, key); found {
			out.values[i] = value
		} else {
			added[key] = value
		}
	}
	if len(added)+len(remove) == 0 {
		return out
	}
	all := maps.Collect(out.All())
	maps.Copy(all, added)
	for _, key := range remove {
		delete(all, key)
	}
	out.keys, out.values = slices.Sorted(maps.Keys(all)), make([]any, len(all))
	for i, key := range out.keys {
		out.values[i] = all[key]
	}
	return out
}

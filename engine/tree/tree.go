// Package tree reads JSON-shaped values, in whichever form they are: as Go maps and slices, or as a [Map] and an [Array] that are read
// where they are, such as those of package packed. It depends on nothing.
package tree

import (
	"iter"
	"slices"
)

// A Map is a JSON object that is read where it is, without building a map[string]any. It never changes, and is safe
// for concurrent use. Its values are JSON-shaped, with Maps and Arrays in place of maps and slices.
type Map interface {
	// Len returns the number of keys.
	Len() int
	// Get returns the value of a key, and whether there is one.
	Get(key string) (value any, found bool)
	// All returns the keys and their values, in the order of the keys' bytes.
	All() iter.Seq2[string, any]
}

// An Array is a JSON array; see [Map].
type Array interface {
	// Len returns the number of elements.
	Len() int
	// Index returns an element. It panics if there is none.
	Index(i int) any
}

// A GoMap is a map[string]any as a Map, and a GoSlice is a []any as an Array. Their values are those of the map or slice: also other maps
// and slices, and Maps and Arrays.
type (
	GoMap   map[string]any
	GoSlice []any
)

// MapOf returns v as a Map if it is a Map or a map[string]any.
func MapOf(v any) (Map, bool) {
	switch v := v.(type) {
	case map[string]any:
		return GoMap(v), true
	case Map:
		return v, true
	}
	return nil, false
}

// ArrayOf returns v as an Array if it is an Array or a []any.
func ArrayOf(v any) (Array, bool) {
	switch v := v.(type) {
	case []any:
		return GoSlice(v), true
	case Array:
		return v, true
	}
	return nil, false
}

// AtMost reports whether v has at most n values, itself and all in it. It looks at no more.
func AtMost(v any, n int) bool { return count(v, n) >= 0 }

// count returns n without the number of values in v; a negative number if there are more.
func count(v any, n int) int {
	n--
	if m, ok := MapOf(v); ok {
		for _, value := range m.All() {
			if n = count(value, n); n < 0 {
				return n
			}
		}
	} else if a, ok := ArrayOf(v); ok {
		for i := 0; i < a.Len() && n >= 0; i++ {
			n = count(a.Index(i), n)
		}
	}
	return n
}

// Len implements Map.
func (m GoMap) Len() int { return len(m) }

// Get implements Map.
func (m GoMap) Get(key string) (any, bool) { v, found := m[key]; return v, found }

// All implements Map.
func (m GoMap) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		var space [fewKeys]string
		for _, key := range sortedKeys(m, space[:0]) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// fewKeys is how many keys most maps have at most. They are sorted in memory on the stack.
const fewKeys = 16

// sortedKeys returns the keys in the order of their bytes, in the memory of space if they fit.
func sortedKeys(m map[string]any, space []string) []string {
	for key := range m {
		space = append(space, key)
	}
	slices.Sort(space)
	return space
}

// Len implements Array.
func (l GoSlice) Len() int { return len(l) }

// Index implements Array.
func (l GoSlice) Index(i int) any { return l[i] }

// Native returns v with maps and slices in place of the Maps and Arrays in it. Maps and slices that contain none are returned as they
// are, so that the result may share them with v.
func Native(v any) any {
	switch v := v.(type) {
	case GoMap:
		return Native(map[string]any(v))
	case GoSlice:
		return Native([]any(v))
	case interface{ Native() any }:
		return v.Native()
	case Map:
		out := make(map[string]any, v.Len())
		for key, value := range v.All() {
			out[key] = Native(value)
		}
		return out
	case Array:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = Native(v.Index(i))
		}
		return out
	case map[string]any:
		if !isNative(v) {
			return Native(struct{ Map }{GoMap(v)})
		}
	case []any:
		if !isNative(v) {
			return Native(struct{ Array }{GoSlice(v)})
		}
	}
	return v
}

// isNative reports whether v contains neither Maps nor Arrays.
func isNative(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			if !isNative(value) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !isNative(item) })
	case Map, Array:
		return false
	}
	return true
}

// Step returns the value in v at a key or an index; nil if there is none.
func Step(v, to any) any {
	switch to := to.(type) {
	case string:
		if m, ok := MapOf(v); ok {
			value, _ := m.Get(to)
			return value
		}
	case int:
		if list, ok := ArrayOf(v); ok && to < list.Len() {
			return list.Index(to)
		}
	}
	return nil
}

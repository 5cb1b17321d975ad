package engine

import "metascript/engine/tree"

// A Map is in place of a map in an argument, and an Array in place of a slice; see package tree.
type (
	Map     = tree.Map
	Array   = tree.Array
	GoMap   = tree.GoMap
	GoSlice = tree.GoSlice
)

// MapOf returns v as a Map if it is a Map or a map[string]any.
func MapOf(v any) (Map, bool) { return tree.MapOf(v) }

// ArrayOf returns v as an Array if it is an Array or a []any.
func ArrayOf(v any) (Array, bool) { return tree.ArrayOf(v) }

// Native returns v with maps and slices in place of the Maps and Arrays in it; see tree.Native.
func Native(v any) any { return tree.Native(v) }

package engine

import "metascript/engine/tree"

// A Map is in place of a map in an argument, and an Array in place of a slice; see package tree.
type (
	Map     = tree.Map
	Array   = tree.Array
	GoMap   = tree.GoMap
	GoSlice = tree.GoSlice
)

package plan

import (
	"math"

	"metascript/engine/tree"
)

// equalScalar compares two JSON scalars: 1 equals 1.0, since both are the same JSON.
func equalScalar(a, b any) bool {
	switch left := a.(type) {
	case int64:
		if right, ok := b.(float64); ok {
			return equalNumber(left, right)
		}
	case float64:
		if right, ok := b.(int64); ok {
			return equalNumber(right, left)
		}
	case nil, bool, string:
	default:
		return false // a map or list beside a scalar
	}
	switch b.(type) {
	case map[string]any, []any, tree.Map, tree.Array:
		return false // not comparable with ==
	}
	return a == b
}

// equalNumber compares without rounding i to a float.
func equalNumber(i int64, f float64) bool {
	return f == math.Trunc(f) && f >= -(1<<63) && f < 1<<63 && int64(f) == i
}

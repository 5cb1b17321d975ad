// Package scalar compares JSON scalars: as JSON, and by what they mean to the API server, which stores some in another form.
package scalar

import (
	"encoding/base64"
	"math"
	"net/netip"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"metascript/engine/tree"
)

// Equal compares two JSON scalars: 1 equals 1.0, since both are the same JSON.
func Equal(a, b any) bool {
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

// SameText reports whether two texts are forms of one quantity, duration, time or address, or of the same bytes in base64.
func SameText(a, b string) bool {
	if quantity.MatchString(a) && quantity.MatchString(b) {
		x, err := resource.ParseQuantity(a)
		y, err2 := resource.ParseQuantity(b)
		x.RoundUp(resource.Milli) // as the API server stores CPU
		y.RoundUp(resource.Milli)
		if err == nil && err2 == nil && x.Cmp(y) == 0 {
			return true
		}
	}
	return sameParsed(a, b, time.ParseDuration) || sameParsed(a, b, parseTime) || sameParsed(a, b, netip.ParseAddr) ||
		sameParsed(a, b, netip.ParsePrefix) || sameParsed(a, b, parseBase64)
}

// quantity matches quantities of up to two digits in the exponent: a comparison takes time and memory for each zero of the number.
var quantity = regexp.MustCompile(`^[+-]?[0-9.]{1,30}([eE][+-]?[0-9]{1,2}|[numkKMGTPE]i?)?$`)

func sameParsed[T comparable](a, b string, parse func(string) (T, error)) bool {
	x, err := parse(a)
	if err != nil {
		return false
	}
	y, err := parse(b)
	return err == nil && x == y
}

func parseTime(text string) (int64, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UnixNano(), err
}

// parseBase64 ignores line breaks, as the API server does.
func parseBase64(text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	return string(data), err
}

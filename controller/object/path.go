package object

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParsePath returns the elements of a path such as spec.containers[0].image: keys (string) and indices (int). An index may also be
// [name="main"], as server-side apply names the items of a list. Keys may have dots,
// so that in, the value to which the path belongs, decides where a key ends. The result ends before the first element that does not
// exist in it; complete reports whether there is none.
func ParsePath(path string, in any) (elements []any, complete bool) {
	for path != "" {
		switch value := in.(type) {
		case map[string]any:
			key, rest, found := firstKey(path, value)
			if !found {
				return elements, false
			}
			elements, in, path = append(elements, key), value[key], rest
		case []any:
			index, rest, closed := strings.Cut(strings.TrimPrefix(path, "["), "]")
			i := itemAt(index, value)
			if !closed || path[0] != '[' || i < 0 || i >= len(value) {
				return elements, false
			}
			elements, in, path = append(elements, i), value[i], rest
		default:
			return elements, false
		}
	}
	return elements, true
}

// itemAt returns the index of an item of a list, which is given by its number, or by its fields, such as containerPort=80,protocol="TCP".
// It is negative if there is none.
func itemAt(index string, list []any) int {
	if i, err := strconv.Atoi(index); err == nil {
		return i
	}
	return slices.IndexFunc(list, func(item any) bool {
		fields, _ := item.(map[string]any)
		for pair := range strings.SplitSeq(index, ",") {
			key, want, _ := strings.Cut(pair, "=")
			got := fmt.Sprint(fields[key])
			if text, is := fields[key].(string); is {
				got = strconv.Quote(text)
			}
			if got != want {
				return false
			}
		}
		return true
	})
}

// firstKey returns the longest key of m with which path begins, as key, .key, [key] or ["key"], and the rest of the path.
func firstKey(path string, m map[string]any) (first, rest string, found bool) {
	path = strings.TrimPrefix(path, ".")
	for key := range m {
		for _, form := range []string{key, "[" + key + "]", "[" + strconv.Quote(key) + "]"} {
			after, begins := strings.CutPrefix(path, form)
			if begins && (after == "" || after[0] == '.' || after[0] == '[') && (!found || len(after) < len(rest)) {
				first, rest, found = key, after, true
			}
		}
	}
	return first, rest, found
}

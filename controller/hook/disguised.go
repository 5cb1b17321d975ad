package hook

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"metascript/controller/httpanswer"
	"metascript/controller/jsontree"
	"metascript/engine"
)

// checkNone returns an error for an answer in the form of a webhook's without children, while there are some that this would delete, if it
// looks like another answer that was not understood. A list of nulls only is an error in any answer: most likely a function returns nothing.
//
//   - it has a key twice whose first value is not empty, or only null in the list
//   - it has fields of an HTTP response
//   - it has no list, or null, and an unknown key
//   - it has an empty list, and an unknown key that has children, or that means an error
//
// An answer with children, and one for a parent without children, may have any other keys, as in Metacontroller.
func checkNone(answer map[string]any, req *Request, how decodeOptions) error {
	shape, field := req.Shape, req.Shape.list()
	if shape == Customizing || hasItem(answer[field]) {
		return nil
	}
	n := req.observed()
	if n == 0 {
		return nil
	}
	what := fmt.Sprintf("no %s in the answer, which would delete the %d there %s", field, n, isOrAre(n))
	if list, _ := answer[field].([]any); len(list) > 0 && !(req.Finalizing && answer[fieldFinalized] == true) {
		return within(fmt.Errorf("only null in the list %s, which would delete the %d there %s: answer with [] to delete them on purpose", field, n, isOrAre(n)), field)
	}
	if how.strict {
		return nil
	}
	if fields := httpanswer.Fields(answer); len(fields) > 0 {
		return within(fmt.Errorf("%s: it is an HTTP response, with %s: answer with the object that is its body", what, enumerate(fields)), engine.Key(fields[0]))
	}
	if key, found := disguise(answer, req); found {
		return fmt.Errorf("%s: %w", what, unknownKey(key, shape))
	}
	if how.twice == nil {
		return nil
	}
	for _, twice := range how.twice() {
		return fmt.Errorf("%s: %w", what, twice)
	}
	return nil
}

// hasItem reports whether a value is no list, or a list with something else than null.
func hasItem(v any) bool {
	list, ok := v.([]any)
	return v != nil && (!ok || slices.ContainsFunc(list, func(item any) bool { return item != nil }))
}

// disguise returns the first key by which an answer without children is not one that deletes them on purpose. An answer that says that it
// has finalized is meant, whatever else it says; one that says that it has not may have other keys, without an error. A null beside a null
// for the children does not count; see fieldOfOther.
func disguise(answer map[string]any, req *Request) (string, bool) {
	list, hasList := answer[req.Shape.list()]
	finalized, says := answer[fieldFinalized].(bool)
	finalized, says = finalized && req.Finalizing, says && req.Finalizing
	known := req.Shape.keys()
	for _, key := range slices.Sorted(maps.Keys(answer)) {
		value := answer[key]
		switch {
		case slices.Contains(known, key):
		case list == nil && !says && (value != nil || !hasList), hides(key, value, req.Shape), !finalized && meansError(key, value):
			return key, true
		}
	}
	return "", false
}

// hides reports whether the value of an unknown key has children, under a name like that of the list or in an object.
func hides(key string, value any, shape Shape) bool {
	list := shape.list()
	switch v := value.(type) {
	case []any:
		lists := []string{list, shape.other().list()}
		return len(v) > 0 && (slices.Contains(lists, strings.ToLower(key)) || engine.Nearest(key, lists) != "")
	case map[string]any:
		children, isList := v[list].([]any)
		return isList && hasItem(children)
	}
	return false
}

// errorKeys are keys, in lower case, by which functions and their hosts say that they failed.
var errorKeys = []string{"error", "errors", "errormessage", "errortype", "exception"}

// meansError reports whether an unknown key with a value says that the hook has failed.
func meansError(key string, value any) bool {
	key = strings.ToLower(key)
	if code, isNumber := httpanswer.Number(value); isNumber && key == "code" {
		return code >= 400 && code < 600
	}
	switch v := value.(type) {
	case []any:
		return len(v) > 0 && slices.Contains(errorKeys, key)
	case map[string]any:
		return len(v) > 0 && slices.Contains(errorKeys, key)
	case int64:
		return v != 0 && slices.Contains(errorKeys, key)
	case float64:
		return v != 0 && slices.Contains(errorKeys, key)
	}
	return value != nil && value != "" && value != false && slices.Contains(errorKeys, key)
}

// repeated returns an error for each key that occurs twice in the answer with this text, with another value than an empty one before the last.
func repeated(text []byte) []error {
	_, twice, _ := jsontree.Decode(bytes.NewReader(text), false) // it was decoded before
	return twice
}

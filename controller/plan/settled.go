package plan

import (
	"encoding/json"

	"metascript/controller/object"
)

// settled reports, in a tenth of the time of a merge, that one would change nothing: have says that just this was
// applied to it last, and has every field of it. It may be false of what a merge finds to be equal.
func settled(have, want *object.Object) bool {
	last, clean := remembered(have), withoutLastApplied(want).Object
	if last == "" || !holds(have.Object, clean) {
		return false
	}
	text, err := json.Marshal(clean)
	return err == nil && string(text) == last
}

// holds reports whether merging want, which was applied before, into have gives have.
func holds(have, want map[string]any) bool {
	for key, value := range want {
		there, found := have[key]
		if !found || !holdsValue(there, value) {
			return false
		}
	}
	return true
}

func holdsValue(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		m, ok := have.(map[string]any)
		return ok && holds(m, want)
	case []any:
		list, ok := have.([]any)
		return ok && len(list) == len(want) && holdsList(list, want)
	case nil:
		return false // a merge drops it
	}
	return equalScalar(have, want)
}

// holdsList compares the items at the same places. Those of a list that merges by a key may have more fields; a list
// that does not is replaced as a whole.
func holdsList(have, want []any) bool {
	merges := commonKey(have, want) != ""
	for i := range want {
		if merges && !holds(have[i].(map[string]any), want[i].(map[string]any)) {
			return false
		}
		if !merges && diffValue(nil, have[i], want[i]) != nil {
			return false
		}
	}
	return true
}

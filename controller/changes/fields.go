package changes

import (
	"metascript/controller/object"
	"metascript/controller/plan"
)

// Fields returns the paths of the fields that differ between two versions of an object, such as "spec.containers[0].image", in the order
// of keys. Lists of different lengths differ as a whole. It leaves out the same fields as [Of]. Keys are not redacted.
func Fields(before, after *object.Object) []string {
	left, right := shownOf(before), shownOf(after)
	for _, shown := range []map[string]any{left, right} {
		if shown["metadata"] == nil {
			shown["metadata"] = map[string]any{} // which is only the form in which nothing of it is shown
		}
	}
	var found []string
	for change := range plan.Changes(object.New(left), object.New(right)) {
		found = append(found, change.Path)
	}
	return found
}

package transition

import (
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// transitionTime is the field of a condition that says since when its status is what it is.
const Field = "lastTransitionTime"

// Fill gives each condition of status that leaves out its lastTransitionTime the one that the condition
// of its type has in before, as long as its status is the same, or else now. One that has none there has none as long,
// since nobody knows when. It changes status.
func Fill(status, before map[string]any, now time.Time) {
	since := map[conditionState]any{}
	for _, c := range Conditions(before) {
		if at := stateOf(c); since[at] == nil {
			since[at] = c[Field]
		}
	}
	for _, c := range Conditions(status) {
		at := stateOf(c)
		if at.kind == "" || at.status == "" || c[Field] != nil {
			continue // it is no condition, or says itself when
		}
		switch since, known := since[at]; {
		case !known:
			c[Field] = now.UTC().Format(time.RFC3339)
		case since != nil:
			c[Field] = since
		}
	}
}

// A conditionState is what a condition says, as long as its lastTransitionTime stays.
type conditionState struct{ kind, status string }

func stateOf(c map[string]any) conditionState {
	kind, _ := c["type"].(string)
	status, _ := c["status"].(string)
	return conditionState{kind, status}
}

// Lost reports whether the status of stored lacks nothing of what was written but times of transitions:
// the schema of the kind has no such field.
func Lost(stored, written *object.Object) bool {
	if plan.Difference(object.StatusOf(stored), object.StatusOf(written)) == "" {
		return false
	}
	without := object.Copy(written)
	status, _ := without.Object["status"].(map[string]any)
	for _, c := range Conditions(status) {
		delete(c, Field)
	}
	return plan.Difference(object.StatusOf(stored), object.StatusOf(without)) == ""
}

// Conditions are the items of status.conditions that are objects.
func Conditions(status map[string]any) []map[string]any {
	list, _ := status["conditions"].([]any)
	var conditions []map[string]any
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			conditions = append(conditions, c)
		}
	}
	return conditions
}

// Package transition fills in lastTransitionTime of the conditions in a status that a hook returned.
package transition

import (
	"time"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// timeField is the field of a condition with the time when its status last changed.
const timeField = "lastTransitionTime"

// Fill sets lastTransitionTime of each condition in status that has none. A condition with the type and the status of one in
// before gets the time of that one; if that one has no time, neither does the condition, since the time is unknown. Any other
// condition gets now, in UTC and RFC 3339. A condition that has a time keeps it; an item without type or status is not
// changed. Fill changes status, and not before.
func Fill(status, before map[string]any, now time.Time) {
	times := map[conditionState]any{} // the value is nil if the time is unknown
	for _, c := range Conditions(before) {
		if state := stateOf(c); times[state] == nil {
			times[state] = c[timeField]
		}
	}
	for _, c := range Conditions(status) {
		state := stateOf(c)
		if state.kind == "" || state.status == "" || c[timeField] != nil {
			continue // it is not a condition, or the hook set its time
		}
		switch before, unchanged := times[state]; {
		case !unchanged:
			c[timeField] = now.UTC().Format(time.RFC3339)
		case before != nil:
			c[timeField] = before
		}
	}
}

// A conditionState is the fields of a condition that decide whether its lastTransitionTime changes: its type and its status.
type conditionState struct{ kind, status string }

func stateOf(c map[string]any) conditionState {
	kind, _ := c["type"].(string)
	status, _ := c["status"].(string)
	return conditionState{kind, status}
}

// Lost reports whether the status of stored differs from that of written only by missing lastTransitionTime fields. Then the
// API server removed them, since the schema of the kind does not have the field.
func Lost(stored, written *object.Object) bool {
	if plan.SameStatus(stored, written) {
		return false
	}
	withoutTimes := object.Copy(written)
	status, _ := withoutTimes.Map()["status"].(map[string]any)
	for _, c := range Conditions(status) {
		delete(c, timeField)
	}
	return plan.SameStatus(stored, withoutTimes)
}

// Conditions returns the items of status.conditions that are objects; nil if conditions is missing or not a list.
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

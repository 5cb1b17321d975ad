package rollout

import (
	"fmt"
	"strings"

	"metascript/controller/object"
	"metascript/controller/plan"
)

// Rules say which kinds roll, and when a child is healthy.
type Rules struct {
	Kinds map[object.Kind]Rule

	// Differs returns, in a few words, how a child differs from the desired one; "" if it does not. The default compares as
	// dynamic apply does.
	Differs func(have, want *object.Object) (string, error)
}

// A Rule says when a child of one kind is healthy.
type Rule struct {
	InPlace bool // children are updated in place, and their controller must have observed the update
	Checks  []Check
}

// A Check is a required condition in the status of a child. Every value is accepted for a field that is nil.
type Check struct {
	Type   string
	Status *string
	Reason *string
}

func (r *Rules) differs(have, want *object.Object) (string, error) {
	if r.Differs != nil {
		return r.Differs(have, want)
	}
	what, _, err := plan.Policy{}.Differs(have, want)
	return what, err
}

// gate returns why the next child must not move: the first child at the latest revision that is not healthy, and why; "" if
// the child may move.
func (r *rollout) gate() string {
	for _, c := range r.order {
		if r.at[c] != newest {
			continue
		}
		if wrong := r.wrong(c); wrong != "" {
			return c.String() + " " + wrong
		}
	}
	return ""
}

// wrong returns why a child at the latest revision is not healthy, or "".
func (r *rollout) wrong(c Child) string {
	have, want := r.observed[c], r.wants[newest][c]
	if have == nil {
		return "does not exist yet"
	}
	if object.Deleting(have) {
		return "is still being deleted"
	}
	switch difference, err := r.differs(have, want); {
	case err != nil:
		return fmt.Sprintf("cannot be compared with what is wanted: %v", err)
	case difference != "":
		return NotUpdated + difference
	}
	rule := r.Kinds[want.GroupVersionKind()]
	return rule.Unhealthy(have)
}

// NotUpdated is how the reason begins that a child is not yet as it is desired.
const NotUpdated = "is not updated yet: "

// Unhealthy returns why a child that is as it is desired is not healthy, or "".
func (r *Rule) Unhealthy(have *object.Object) string {
	if r.InPlace {
		if wrong := Unobserved(have); wrong != "" {
			return wrong
		}
	}
	for _, check := range r.Checks {
		if wrong := check.wrong(have); wrong != "" {
			return wrong
		}
	}
	return ""
}

// Unobserved returns a text if status.observedGeneration of o is older than the generation, and "" otherwise. An object without
// this field counts as up to date.
func Unobserved(o *object.Object) string {
	var seen int64
	value, _ := o.At("status", "observedGeneration")
	switch n := value.(type) {
	case int64:
		seen = n
	case float64:
		seen = int64(n)
	}
	if seen > 0 && seen < o.GetGeneration() {
		return fmt.Sprintf("has not observed its update yet: status.observedGeneration is %d, and its generation %d", seen, o.GetGeneration())
	}
	return ""
}

// wrong returns how o fails the check, or "".
func (c *Check) wrong(o *object.Object) string {
	condition := conditionOf(o, c.Type)
	if condition == nil {
		return fmt.Sprintf("has no condition %s in its status", c.Type)
	}
	if status, _ := condition["status"].(string); c.Status != nil && status != *c.Status {
		return fmt.Sprintf("has condition %s with status %q, want %q%s", c.Type, status, *c.Status, because(condition))
	}
	if reason, _ := condition["reason"].(string); c.Reason != nil && reason != *c.Reason {
		return fmt.Sprintf("has condition %s with reason %q, want %q", c.Type, reason, *c.Reason)
	}
	return ""
}

// because returns the message of a condition, shortened, for an error.
func because(condition map[string]any) string {
	message, _ := condition["message"].(string)
	if message == "" {
		return ""
	}
	if len(message) > maxQuote {
		message = strings.ToValidUTF8(message[:maxQuote], "") + "…"
	}
	return ": " + message
}

// maxQuote is the maximum length of a quoted message.
const maxQuote = 500

func conditionOf(o *object.Object, name string) map[string]any {
	list, _ := o.Field("status", "conditions")
	items, _ := list.([]any)
	for _, item := range items {
		if condition, _ := item.(map[string]any); condition["type"] == name {
			return condition
		}
	}
	return nil
}

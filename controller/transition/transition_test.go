package transition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

const past, now = "2020-01-01T00:00:00Z", "2026-03-04T05:06:07Z"

// nowTime is now as a time, in another time zone.
func nowTime(t *testing.T) time.Time {
	t.Helper()
	clock, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	return clock.In(time.FixedZone("UTC+2", 2*60*60))
}

// condition returns a condition. It has no lastTransitionTime if changed is "".
func condition(kind, status, changed string) map[string]any {
	c := map[string]any{"type": kind, "status": status}
	if changed != "" {
		c[timeField] = changed
	}
	return c
}

func withConditions(conditions ...any) map[string]any {
	return map[string]any{"conditions": conditions}
}

func TestFillKeepsTimeOfUnchangedStatus(t *testing.T) {
	before := withConditions(condition("Ready", "True", past), condition("Odd", "True", ""))
	for name, c := range map[string]struct{ status, want map[string]any }{
		"the same status":        {withConditions(condition("Ready", "True", "")), withConditions(condition("Ready", "True", past))},
		"another status":         {withConditions(condition("Ready", "False", "")), withConditions(condition("Ready", "False", now))},
		"a new condition":        {withConditions(condition("Synced", "True", "")), withConditions(condition("Synced", "True", now))},
		"no time before":         {withConditions(condition("Odd", "True", "")), withConditions(condition("Odd", "True", ""))},
		"a time from the hook":   {withConditions(condition("Ready", "True", "2021-01-01T00:00:00Z")), withConditions(condition("Ready", "True", "2021-01-01T00:00:00Z"))},
		"not a condition":        {withConditions("text", map[string]any{"phase": "a"}), withConditions("text", map[string]any{"phase": "a"})},
		"wrong types":            {withConditions(map[string]any{"type": []any{}, "status": map[string]any{}}), withConditions(map[string]any{"type": []any{}, "status": map[string]any{}})},
		"not a list":             {map[string]any{"conditions": "none"}, map[string]any{"conditions": "none"}},
		"no conditions":          {map[string]any{"a": "b"}, map[string]any{"a": "b"}},
		"one changed, one not":   {withConditions(condition("A", "True", ""), condition("Ready", "True", "")), withConditions(condition("A", "True", now), condition("Ready", "True", past))},
		"an empty type":          {withConditions(condition("", "True", "")), withConditions(condition("", "True", ""))},
		"an empty status":        {withConditions(condition("Ready", "", "")), withConditions(condition("Ready", "", ""))},
		"removed conditions":     {withConditions(), withConditions()},
		"the status of two ones": {withConditions(condition("Ready", "True", ""), condition("Ready", "False", "")), withConditions(condition("Ready", "True", past), condition("Ready", "False", now))},
	} {
		Fill(c.status, before, nowTime(t))
		if diff := cmp.Diff(c.want, c.status); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Only the type and the status decide whether the time changes, as for conditions of Kubernetes itself.
func TestFillChangesOnlyTime(t *testing.T) {
	before := objecttest.Parse(t, `
observedGeneration: 1
conditions:
- {type: Ready, status: "True", reason: Old, message: old, observedGeneration: 1, lastTransitionTime: "2020-01-01T00:00:00Z"}
- {type: Removed, status: "True", lastTransitionTime: "2020-01-01T00:00:00Z"}
`)
	unchanged := objecttest.Parse(t, `
observedGeneration: 1
conditions:
- {type: Ready, status: "True", reason: Old, message: old, observedGeneration: 1, lastTransitionTime: "2020-01-01T00:00:00Z"}
- {type: Removed, status: "True", lastTransitionTime: "2020-01-01T00:00:00Z"}
`)
	for name, c := range map[string]struct{ status, want string }{
		"another reason, message and observedGeneration": {
			`{observedGeneration: 2, conditions: [{type: Ready, status: "True", reason: New, message: new, observedGeneration: 2}]}`,
			`{observedGeneration: 2, conditions: [{type: Ready, status: "True", reason: New, message: new, observedGeneration: 2, lastTransitionTime: "2020-01-01T00:00:00Z"}]}`,
		},
		"another status, the same observedGeneration": {
			`{observedGeneration: 1, conditions: [{type: Ready, status: Unknown, observedGeneration: 1}]}`,
			`{observedGeneration: 1, conditions: [{type: Ready, status: Unknown, observedGeneration: 1, lastTransitionTime: "2026-03-04T05:06:07Z"}]}`,
		},
		"no observedGeneration": {
			`{conditions: [{type: Ready, status: "True"}]}`,
			`{conditions: [{type: Ready, status: "True", lastTransitionTime: "2020-01-01T00:00:00Z"}]}`,
		},
		"an unknown type and unknown fields": {
			`{phase: Up, conditions: [{type: Unknown/x, status: Maybe, severity: {a: [1]}}]}`,
			`{phase: Up, conditions: [{type: Unknown/x, status: Maybe, severity: {a: [1]}, lastTransitionTime: "2026-03-04T05:06:07Z"}]}`,
		},
		"an item that is not a condition among conditions": {
			`{conditions: [1, {type: Ready, status: "True"}, null]}`,
			`{conditions: [1, {type: Ready, status: "True", lastTransitionTime: "2020-01-01T00:00:00Z"}, null]}`,
		},
	} {
		status := objecttest.Parse(t, c.status)
		Fill(status, before, nowTime(t))
		if diff := cmp.Diff(objecttest.Parse(t, c.want), status); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(unchanged, before); diff != "" {
		t.Errorf("the status before was changed (-want +got):\n%s", diff)
	}
}

func TestFillWithoutPreviousStatus(t *testing.T) {
	status := withConditions(condition("Ready", "True", ""))
	Fill(status, nil, nowTime(t))
	if diff := cmp.Diff(withConditions(condition("Ready", "True", now)), status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// A condition that returns to an earlier status gets a new time: only the last status is known.
func TestFillInSequence(t *testing.T) {
	clock := nowTime(t)
	var before map[string]any
	for i, step := range []struct {
		status string
		want   string
	}{
		{"True", "2026-03-04T05:06:07Z"},
		{"True", "2026-03-04T05:06:07Z"},
		{"False", "2026-03-04T05:08:07Z"},
		{"True", "2026-03-04T05:09:07Z"},
	} {
		status := withConditions(condition("Ready", step.status, ""))
		Fill(status, before, clock.Add(time.Duration(i)*time.Minute))
		if got := Conditions(status)[0][timeField]; got != step.want {
			t.Errorf("step %d: %s is %v, want %s", i, timeField, got, step.want)
		}
		before = status
	}
}

func TestConditions(t *testing.T) {
	ready := condition("Ready", "True", past)
	for name, c := range map[string]struct {
		status map[string]any
		want   []map[string]any
	}{
		"no status":        {nil, nil},
		"no conditions":    {map[string]any{}, nil},
		"not a list":       {map[string]any{"conditions": ready}, nil},
		"items in order":   {withConditions(ready, condition("A", "False", "")), []map[string]any{ready, condition("A", "False", "")}},
		"only the objects": {withConditions("text", ready, nil), []map[string]any{ready}},
	} {
		if diff := cmp.Diff(c.want, Conditions(c.status)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLostReportsTimesRemovedBySchema(t *testing.T) {
	for name, c := range map[string]struct {
		stored, written map[string]any
		want            bool
	}{
		"stored":           {withConditions(condition("A", "True", past)), withConditions(condition("A", "True", past)), false},
		"removed":          {withConditions(condition("A", "True", "")), withConditions(condition("A", "True", past)), true},
		"more is removed":  {map[string]any{}, withConditions(condition("A", "True", past)), false},
		"another status":   {withConditions(condition("A", "False", "")), withConditions(condition("A", "True", past)), false},
		"nothing written":  {map[string]any{}, map[string]any{}, false},
		"some are removed": {withConditions(condition("A", "True", past), condition("B", "True", "")), withConditions(condition("A", "True", past), condition("B", "True", past)), false},
	} {
		stored := object.New(map[string]any{"status": c.stored})
		written := object.New(map[string]any{"status": c.written})
		before := object.Copy(written)
		if got := Lost(stored, written); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
		if diff := cmp.Diff(before, written); diff != "" {
			t.Errorf("%s: the written object was changed (-want +got):\n%s", name, diff)
		}
	}
}

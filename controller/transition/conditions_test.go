package transition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
)

// cond is a condition; without a time when since is "".
func cond(kind, status, since string) map[string]any {
	c := map[string]any{"type": kind, "status": status}
	if since != "" {
		c[Field] = since
	}
	return c
}

func withConditions(conditions ...any) map[string]any {
	return map[string]any{"conditions": conditions}
}

func TestConditionsKeepTheirTimeWhileTheirStatusIsTheSame(t *testing.T) {
	const long, now = "2020-01-01T00:00:00Z", "2026-03-04T05:06:07Z"
	clock, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	before := withConditions(cond("Ready", "True", long), cond("Odd", "True", ""))
	for name, c := range map[string]struct{ answered, want map[string]any }{
		"same":                {withConditions(cond("Ready", "True", "")), withConditions(cond("Ready", "True", long))},
		"flips":               {withConditions(cond("Ready", "False", "")), withConditions(cond("Ready", "False", now))},
		"new":                 {withConditions(cond("Synced", "True", "")), withConditions(cond("Synced", "True", now))},
		"had none":            {withConditions(cond("Odd", "True", "")), withConditions(cond("Odd", "True", ""))},
		"its own":             {withConditions(cond("Ready", "True", "2021-01-01T00:00:00Z")), withConditions(cond("Ready", "True", "2021-01-01T00:00:00Z"))},
		"not a condition":     {withConditions("text", map[string]any{"phase": "a"}), withConditions("text", map[string]any{"phase": "a"})},
		"odd types":           {withConditions(map[string]any{"type": []any{}, "status": map[string]any{}}), withConditions(map[string]any{"type": []any{}, "status": map[string]any{}})},
		"no list":             {map[string]any{"conditions": "none"}, map[string]any{"conditions": "none"}},
		"no conditions":       {map[string]any{"a": "b"}, map[string]any{"a": "b"}},
		"several, each alone": {withConditions(cond("A", "True", ""), cond("Ready", "True", "")), withConditions(cond("A", "True", now), cond("Ready", "True", long))},
	} {
		Fill(c.answered, before, clock)
		if diff := cmp.Diff(c.want, c.answered); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTimesThatASchemaDropsAreNoticed(t *testing.T) {
	const at = "2020-01-01T00:00:00Z"
	for name, c := range map[string]struct {
		stored, written map[string]any
		want            bool
	}{
		"kept":            {withConditions(cond("A", "True", at)), withConditions(cond("A", "True", at)), false},
		"dropped":         {withConditions(cond("A", "True", "")), withConditions(cond("A", "True", at)), true},
		"more is dropped": {map[string]any{}, withConditions(cond("A", "True", at)), false},
	} {
		stored := &object.Object{Object: map[string]any{"status": c.stored}}
		written := &object.Object{Object: map[string]any{"status": c.written}}
		if got := Lost(stored, written); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

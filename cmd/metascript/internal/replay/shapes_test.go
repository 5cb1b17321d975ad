package replay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine/packed"
)

// value returns the JSON value of a text.
func value(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := utiljson.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []string // the paths, and their shapes if they differ
	}{
		{"equal", `{"a": [1, {"b": null}]}`, `{"a": [1.0, {}]}`, nil},
		{"a scalar", `{"a": 1, "b": 2}`, `{"a": 1, "b": 3}`, []string{"b"}},
		{"another type", `{"a": 1}`, `{"a": "1"}`, []string{"a"}},
		{"added and removed", `{"a": 1}`, `{"b": {"c": 2}}`, []string{"a", "b"}},
		{"null is missing", `{"a": null}`, `{"b": null}`, nil},
		{"a missing map", `{"a": {"b": 1}}`, `{}`, []string{"a"}},
		{"items by index", `{"a": [{"b": 1}, {"b": 2}]}`, `{"a": [{"b": 1}, {"b": 3}]}`, []string{"a[1].b a[*].b"}},
		{"items by name", `{"a": [{"name": "x", "v": 1}, {"name": "y", "v": 1}]}`, `{"a": [{"name": "w"}, {"name": "x", "v": 2}]}`, []string{"a[0] a[*]", "a[1].v a[*].v", "a[1] a[*]"}},
		{"another order", `{"a": [{"name": "x"}, {"name": "y"}]}`, `{"a": [{"name": "y"}, {"name": "x"}]}`, []string{"a"}},
		{"texts", `{"args": ["a", "b"]}`, `{"args": ["a", "c"]}`, []string{"args"}},
		{"another length", `{"a": [{"b": 1}]}`, `{"a": [{"b": 1}, {"b": 2}]}`, []string{"a"}},
		{"an empty list", `{"a": []}`, `{"a": {}}`, []string{"a"}},
		{"keys with dots", `{"labels": {"a.b/c": "1"}}`, `{"labels": {"a.b/c": "2"}}`, []string{"labels.a.b/c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := value(t, c.before), value(t, c.after)
			stored, err := packed.Parse([]byte(c.before))
			if err != nil {
				t.Fatal(err)
			}
			for _, before := range []any{before, stored} {
				var got []string
				differences(nil, before, after, func(path plan.Path) {
					text := path.String()
					if shape := shapeOf(path); shape != text {
						text += " " + shape
					}
					got = append(got, text)
				})
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestChildrenAndTheirOrder(t *testing.T) {
	set := func(names ...string) *object.Set {
		all := &object.Set{}
		for _, name := range names {
			name, image, _ := strings.Cut(name, ":")
			all.Put(object.New(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name}, "spec": map[string]any{"image": image}}))
		}
		return all
	}
	for _, c := range []struct {
		before, after *object.Set
		want          []string
	}{
		{set("a", "b"), set("a", "b"), nil},
		{set("a", "b"), set("b", "a"), []string{orderShape}},
		{set("a", "b"), set("b", "c"), []string{"Pod added", "Pod removed"}},
		{set("a:1", "b:1"), set("a:2", "b:2"), []string{"Pod spec.image", "Pod spec.image"}},
	} {
		var got []string
		for _, d := range compareChildren(c.before, c.after) {
			got = append(got, d.shape)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestErrorsAreComparedWithoutPositions(t *testing.T) {
	const before = `sync.star:3:7: in sync: children[0] (Pod "web-0"): key "x" is not in the dict`
	for after, same := range map[string]bool{
		`lib/sync.star:12: in sync: children[0] (Pod "web-0"): key "x" is not in the dict`: true,
		`sync.star:3:7: in sync: children[0] (Pod "web-0"): key "y" is not in the dict`:    false,
		"": false,
	} {
		if sameFailure(before, after) != same {
			t.Errorf("%q: got %t", after, !same)
		}
	}
	if got, want := generalFailure(before), `in sync: children[*] (Pod): key "x" is not in the dict`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExpectations(t *testing.T) {
	for _, c := range []struct {
		expectation, shape string
		want               bool
	}{
		{"Pod spec.containers[*].image", "Pod spec.containers[*].image", true},
		{"Pod spec.containers", "Pod spec.containers[*].image", true},
		{"Pod spec", "Pod spec.containers[*].image", true},
		{"Pod", "Pod added", true},
		{"Pod", "PodDisruptionBudget added", false},
		{"Pod spec.con", "Pod spec.containers[*].image", false},
		{"", "Pod added", false},
		{"status", "status.phase", true},
	} {
		if got := Matches(c.expectation, c.shape); got != c.want {
			t.Errorf("%q, %q: got %t", c.expectation, c.shape, got)
		}
	}
}

package plan

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferenceReturnsFirstPath(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"equal scalars", `{a: 1, b: x, c: true, d: null}`, `{d: null, c: true, b: x, a: 1}`, ""},
		{"nothing at all", ``, `{}`, ""},
		{"a number", `{a: 1}`, `{a: 2}`, "a"},
		{"a string", `{a: x}`, `{a: z}`, "a"},
		{"a boolean", `{a: true}`, `{a: false}`, "a"},
		{"a number and a string", `{a: 1}`, `{a: "1"}`, "a"},
		{"a boolean and a string", `{a: true}`, `{a: "true"}`, "a"},
		{"a null and an empty string", `{a: null}`, `{a: ""}`, "a"},
		{"a field that is missing on the right", `{a: 1}`, `{}`, "a"},
		{"a field that is missing on the left", `{}`, `{a: 1}`, "a"},
		{"a null and a field that is missing", `{a: null}`, `{}`, "a"},
		{"an empty map and none", `{}`, `{a: {}}`, "a"},
		{"a map and a scalar", `{a: {}}`, `{a: 1}`, "a"},
		{"a scalar and a map", `{a: 1}`, `{a: {}}`, "a"},
		{"a map and a list", `{a: {}}`, `{a: []}`, "a"},
		{"a list and a scalar", `{a: []}`, `{a: x}`, "a"},
		{"a scalar and a list", `{a: x}`, `{a: []}`, "a"},
		{"a null and a map", `{a: null}`, `{a: {}}`, "a"},
		{"a map and a null", `{a: {}}`, `{a: null}`, "a"},
		{"the first in the order of keys", `{c: 1, b: 1, a: 1}`, `{c: 2, b: 2, a: 1}`, "b"},
		{"the first, when it is missing on the left", `{c: 1}`, `{b: 1, c: 2}`, "b"},
		{"deep in maps", `{spec: {template: {x: 1, z: 2}}}`, `{spec: {template: {x: 1, z: 3}}}`, "spec.template.z"},
		{"deep in lists", `{spec: {containers: [{image: a}, {image: b}]}}`, `{spec: {containers: [{image: a}, {image: c}]}}`, "spec.containers[1].image"},
		{"lists in lists", `{a: [[1, 2]]}`, `{a: [[1, 3]]}`, "a[0][1]"},
		{"the length of a list", `{a: [1, 2]}`, `{a: [1]}`, "a"},
		{"the order of a list", `{a: [1, 2]}`, `{a: [2, 1]}`, "a[0]"},
		{"equal lists", `{a: [{b: [1, x, null]}]}`, `{a: [{b: [1, x, null]}]}`, ""},
		{"a type inside a list", `{a: [1]}`, `{a: [[1]]}`, "a[0]"},
		{
			"the last-applied annotation",
			`{metadata: {annotations: {metacontroller.k8s.io/last-applied-configuration: x, a: "1"}}}`,
			`{metadata: {annotations: {metacontroller.k8s.io/last-applied-configuration: z, a: "1"}}}`, "",
		}, {
			"the last-applied annotation, missing on one side",
			`{metadata: {annotations: {a: "1"}}}`,
			`{metadata: {annotations: {metacontroller.k8s.io/last-applied-configuration: z, a: "1"}}}`, "",
		}, {
			"the last-applied annotation alone, without annotations on the other side",
			`{metadata: {name: a}}`,
			`{metadata: {name: a, annotations: {metacontroller.k8s.io/last-applied-configuration: z}}}`, "",
		}, {
			"the same, the other way round",
			`{metadata: {name: a, annotations: {metacontroller.k8s.io/last-applied-configuration: z}}}`,
			`{metadata: {name: a}}`, "",
		}, {
			"another annotation beside it",
			`{metadata: {annotations: {metacontroller.k8s.io/last-applied-configuration: x}}}`,
			`{metadata: {annotations: {metacontroller.k8s.io/last-applied-configuration: x, z: "1"}}}`, "metadata.annotations.z",
		}, {
			"another annotation, without annotations on the other side",
			`{metadata: {}}`,
			`{metadata: {annotations: {a: "1", metacontroller.k8s.io/last-applied-configuration: x}}}`, "metadata.annotations.a",
		}, {
			"an annotation of that name anywhere else",
			`{spec: {template: {metadata: {annotations: {metacontroller.k8s.io/last-applied-configuration: x}}}}}`,
			`{spec: {template: {metadata: {annotations: {metacontroller.k8s.io/last-applied-configuration: z}}}}}`,
			"spec.template.metadata.annotations.metacontroller.k8s.io/last-applied-configuration",
		},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		check := unchanged(t, a, b)
		if got := Difference(a, b); got != c.want {
			t.Errorf("%s: Difference = %q, want %q", c.name, got, c.want)
		}
		check()
	}
}

func TestNumbersAreComparedByValue(t *testing.T) {
	for _, c := range []struct {
		a, b  any
		equal bool
	}{
		{int64(1), 1.0, true},
		{int64(0), math.Copysign(0, -1), true},
		{int64(-3), -3.0, true},
		{int64(1), 1.5, false},
		{int64(1), "1", false},
		{1.5, 1.5, true},
		{1.5, 2.5, false},
		{int64(1 << 53), float64(1 << 53), true},
		{int64(1<<53 + 1), float64(1 << 53), false}, // which a comparison as floats would call equal
		{int64(math.MaxInt64), float64(1 << 63), false},
		{int64(math.MinInt64), float64(-(1 << 63)), true},
		{int64(1), math.Inf(1), false},
		{int64(1), math.NaN(), false},
		{int64(1), 1e300, false},
		{int64(1), true, false},
		{int64(1), nil, false},
	} {
		a, b := map[string]any{"x": c.a}, map[string]any{"x": c.b}
		want := "x"
		if c.equal {
			want = ""
		}
		if diff := cmp.Diff([]string{want, want}, []string{Difference(a, b), Difference(b, a)}); diff != "" {
			t.Errorf("%T %v and %T %v (-want +got):\n%s", c.a, c.a, c.b, c.b, diff)
		}
	}
}

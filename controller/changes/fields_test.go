package changes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object/objecttest"
)

func TestFields(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{"nothing", `{a: {b: [1, {c: 2}]}}`, `{a: {b: [1.0, {c: 2}]}}`, nil},
		{"several", `{a: 1, b: {c: x, d: 1}}`, `{a: 2, b: {c: z, d: 1}}`, []string{"a", "b.c"}},
		{"in a list", `{a: [{b: 1}, {b: 2}]}`, `{a: [{b: 1}, {b: 3}]}`, []string{"a[1].b"}},
		{"the length of a list", `{a: [1]}`, `{a: [1, 2]}`, []string{"a"}},
		{"added and removed", `{a: {x: 1}}`, `{a: {z: 1}}`, []string{"a.x", "a.z"}},
		{"another type", `{a: {x: 1}}`, `{a: [1]}`, []string{"a"}},
		{"the first label", `{metadata: {name: n}}`, `{metadata: {name: n, labels: {a: b}}}`, []string{"metadata.labels"}},
		{"what is not shown", `{metadata: {resourceVersion: "1"}}`,
			`{metadata: {resourceVersion: "2", annotations: {metacontroller.k8s.io/last-applied-configuration: x}}}`, nil},
	} {
		got := Fields(objecttest.ParseObject(t, c.before), objecttest.ParseObject(t, c.after))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

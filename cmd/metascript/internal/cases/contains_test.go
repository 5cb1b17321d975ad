package cases

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissing(t *testing.T) {
	const got = `
status: {ready: true, size: 2, names: [a, b], conditions: [{type: Ready, status: "True"}, {type: Failed, status: "False"}]}
children:
- {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: w}}, spec: {containers: [{name: main, image: i}, {name: side, image: s}]}}
- {apiVersion: v1, kind: Service, metadata: {name: a}}
events: [{type: Normal, reason: A}, {type: Normal, reason: B}]
`
	for _, c := range []struct{ name, want, lines string }{
		{"nothing", "{}", ""},
		{"a field", "{status: {size: 2}}", ""},
		{"another value", "{status: {size: 3}}", "status.size: want 3, got 2"},
		{"another type", `{status: {size: "2"}}`, `status.size: want "2", got 2`},
		{"a field that does not exist", "{status: {m: 3}}", "status.m: want 3, got nothing"},
		{"an object that is none", "{status: {size: {m: 1}}}", `status.size: want {"m":1}, got 2`},
		{"null", "{status: {m: null}, finalized: null}", ""},
		{"not null", "{status: {size: null}}", "status.size: want null, got 2"},
		{"a list of words", "{status: {names: [a, b]}}", ""},
		{"a part of a list of words", "{status: {names: [a]}}", `status.names: want ["a"], got ["a","b"]`},
		{"another word", "{status: {names: [a, c]}}", `status.names[1]: want "c", got "b"`},
		{"children in another order", "{children: [{kind: Service, metadata: {name: a}}, {kind: Pod, metadata: {name: a}}]}", ""},
		{"containers by name", "{children: [{kind: Pod, metadata: {name: a}, spec: {containers: [{name: side, image: x}]}}]}",
			`children[Pod a].spec.containers[side].image: want "x", got "s"`},
		{"conditions by type", `{status: {conditions: [{type: Failed, status: "True"}]}}`, `status.conditions[Failed].status: want "True", got "False"`},
		{"a child that does not exist", "{children: [{kind: Pod, metadata: {name: b}}]}",
			`children: want Pod b, got only Pod a, Service a; did you mean "Pod a"?`},
		{"several of one type", "{events: [{type: Normal, reason: B}]}", ""},
		{"none of one type", "{events: [{type: Normal, reason: C}]}", `events[Normal].reason: want "C", got "A"`},
		{"no children", "{children: []}", `children: want [], got [`},
		{"two differences", "{status: {size: 1, ready: false}}", "status.ready: want false, got true\nstatus.size: want 1, got 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want, answer map[string]any
			if err := decodeStrictly(c.want, &want); err != nil {
				t.Fatal(err)
			}
			if err := decodeStrictly(got, &answer); err != nil {
				t.Fatal(err)
			}
			lines := strings.Join(missing(want, answer), "\n")
			if c.lines == "" || !strings.HasPrefix(lines, c.lines) || len(lines) > 2*maxShown {
				if diff := cmp.Diff(c.lines, lines); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
			}
		})
	}
}

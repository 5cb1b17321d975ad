package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object/objecttest"
	"metascript/engine/tree"
)

// mergeCases show the three-way merge, each value as YAML. An empty lastApplied means that nothing was applied.
var mergeCases = []struct {
	name                                 string
	observed, lastApplied, desired, want string
}{
	// Maps.
	{
		"a field that is set is added",
		`{a: 1}`, ``, `{b: 2}`,
		`{a: 1, b: 2}`,
	}, {
		"a field that is set differently is changed",
		`{a: 1}`, `{a: 1}`, `{a: 2}`,
		`{a: 2}`,
	}, {
		"a field that somebody else changed is set again",
		`{a: 5}`, `{a: 1}`, `{a: 1}`,
		`{a: 1}`,
	}, {
		"a field that somebody else removed is set again",
		`{}`, `{a: 1}`, `{a: 1}`,
		`{a: 1}`,
	}, {
		"a field that is no longer set is removed",
		`{a: 1, b: 2}`, `{a: 1, b: 2}`, `{a: 1}`,
		`{a: 1}`,
	}, {
		"a field that is no longer set is removed although somebody else changed it",
		`{a: 1, b: 7}`, `{a: 1, b: 2}`, `{a: 1}`,
		`{a: 1}`,
	}, {
		"a field that is no longer set and gone already stays gone",
		`{a: 1}`, `{a: 1, b: 2}`, `{a: 1}`,
		`{a: 1}`,
	}, {
		"a field that somebody else set is kept",
		`{a: 1, theirs: {x: [1]}}`, `{a: 1}`, `{a: 1}`,
		`{a: 1, theirs: {x: [1]}}`,
	}, {
		"maps merge at every depth",
		`{a: {b: {c: 1, theirs: 2, old: 3}}}`, `{a: {b: {c: 1, old: 3}}}`, `{a: {b: {c: 9, new: 4}}}`,
		`{a: {b: {c: 9, theirs: 2, new: 4}}}`,
	}, {
		"a map that is no longer set goes whole",
		`{a: {mine: 1, theirs: 2}}`, `{a: {mine: 1}}`, `{}`,
		`{}`,
	}, {
		"a map that is set empty keeps what others set in it",
		`{a: {mine: 1, theirs: 2}}`, `{a: {mine: 1}}`, `{a: {}}`,
		`{a: {theirs: 2}}`,
	}, {
		"an empty map is set where there is none",
		`{}`, ``, `{emptyDir: {}}`,
		`{emptyDir: {}}`,
	}, {
		"a null that was observed is kept",
		`{a: null}`, ``, `{b: 1}`,
		`{a: null, b: 1}`,
	}, {
		"a null that was observed is replaced by what is set",
		`{a: null}`, ``, `{a: {b: 1}}`,
		`{a: {b: 1}}`,
	},

	// Types that change.
	{
		"a scalar becomes a map",
		`{a: 1}`, `{a: 1}`, `{a: {b: 1}}`,
		`{a: {b: 1}}`,
	}, {
		"a map becomes a scalar",
		`{a: {b: 1, theirs: 2}}`, `{a: {b: 1}}`, `{a: x}`,
		`{a: x}`,
	}, {
		"a list becomes a map",
		`{a: [{name: x}]}`, `{a: [{name: x}]}`, `{a: {name: x}}`,
		`{a: {name: x}}`,
	}, {
		"a map becomes a list",
		`{a: {name: x}}`, `{a: {name: x}}`, `{a: [{name: x}]}`,
		`{a: [{name: x}]}`,
	}, {
		"what was applied with another type does not count",
		`{a: {b: 1}}`, `{a: [b]}`, `{a: {c: 2}}`,
		`{a: {b: 1, c: 2}}`,
	}, {
		"a list that was applied with another type does not count",
		`{a: [{name: x}]}`, `{a: {name: x}}`, `{a: [{name: z}]}`,
		`{a: [{name: x}, {name: z}]}`,
	}, {
		"a string that looks like a number is a string",
		`{a: 1}`, `{a: 1}`, `{a: "1"}`,
		`{a: "1"}`,
	},

	// Lists of anything else than identified objects.
	{
		"a list of scalars is replaced",
		`{args: [a, b, theirs]}`, `{args: [a, b]}`, `{args: [b, c]}`,
		`{args: [b, c]}`,
	}, {
		"a list of objects without a well-known field is replaced",
		`{rules: [{host: a, x: 1}]}`, `{rules: [{host: a}]}`, `{rules: [{host: a}]}`,
		`{rules: [{host: a}]}`,
	}, {
		"a list with a scalar among objects is replaced",
		`{l: [{name: a, x: 1}, b]}`, ``, `{l: [{name: a}]}`,
		`{l: [{name: a}]}`,
	}, {
		"a list of lists is replaced",
		`{l: [[1], [2]]}`, ``, `{l: [[3]]}`,
		`{l: [[3]]}`,
	}, {
		"a list in which one item lacks the field is replaced",
		`{l: [{name: a, x: 1}, {x: 2}]}`, ``, `{l: [{name: a}]}`,
		`{l: [{name: a}]}`,
	}, {
		"a list in which one item was applied without the field is replaced",
		`{l: [{name: a, x: 1}]}`, `{l: [{x: 1}]}`, `{l: [{name: a}]}`,
		`{l: [{name: a}]}`,
	}, {
		"a null does not identify an item",
		`{l: [{name: null, x: 1}]}`, ``, `{l: [{name: null, y: 2}]}`,
		`{l: [{y: 2}]}`,
	},

	// Empty lists.
	{
		"an empty list is set where there is none",
		`{}`, ``, `{l: []}`,
		`{l: []}`,
	}, {
		"an empty list over scalars empties it",
		`{l: [a]}`, `{l: [a]}`, `{l: []}`,
		`{l: []}`,
	}, {
		"an empty list over identified objects takes out what was applied",
		`{l: [{name: mine}, {name: theirs}]}`, `{l: [{name: mine}]}`, `{l: []}`,
		`{l: [{name: theirs}]}`,
	}, {
		"an empty list is filled",
		`{l: []}`, `{l: []}`, `{l: [{name: a}]}`,
		`{l: [{name: a}]}`,
	}, {
		"an empty list stays one",
		`{l: []}`, `{l: []}`, `{l: []}`,
		`{l: []}`,
	},

	// Lists of identified objects.
	{
		"items merge by name: defaults are kept, what is no longer set is not",
		`{c: [{name: a, image: x, theirs: 1, old: 2}]}`, `{c: [{name: a, image: x, old: 2}]}`, `{c: [{name: a, image: z}]}`,
		`{c: [{name: a, image: z, theirs: 1}]}`,
	}, {
		"an item that somebody else added is kept",
		`{c: [{name: a}, {name: sidecar}]}`, `{c: [{name: a}]}`, `{c: [{name: a}]}`,
		`{c: [{name: a}, {name: sidecar}]}`,
	}, {
		"an item that is no longer set is removed",
		`{c: [{name: a}, {name: b, theirs: 1}, {name: c}]}`, `{c: [{name: a}, {name: b}, {name: c}]}`, `{c: [{name: a}, {name: c}]}`,
		`{c: [{name: a}, {name: c}]}`,
	}, {
		"an item that somebody else removed is set again",
		`{c: [{name: b}]}`, `{c: [{name: a}, {name: b}]}`, `{c: [{name: a}, {name: b}]}`,
		`{c: [{name: b}, {name: a}]}`,
	}, {
		"the observed order is kept and new items come last, in the order in which they are set",
		`{c: [{name: z}, {name: theirs}, {name: a}]}`, `{c: [{name: z}, {name: a}]}`, `{c: [{name: n2}, {name: a}, {name: n1}, {name: z}]}`,
		`{c: [{name: z}, {name: theirs}, {name: a}, {name: n2}, {name: n1}]}`,
	}, {
		"lists in items merge too",
		`{c: [{name: a, env: [{name: X, value: "1"}, {name: THEIRS}], args: [p]}]}`,
		`{c: [{name: a, env: [{name: X, value: "1"}], args: [p]}]}`,
		`{c: [{name: a, env: [{name: X, value: "2"}, {name: Y}], args: [q]}]}`,
		`{c: [{name: a, env: [{name: X, value: "2"}, {name: THEIRS}, {name: Y}], args: [q]}]}`,
	},

	// Each of the fields that identify, and their order.
	{
		"items merge by containerPort, before port",
		`{l: [{containerPort: 80, port: 1, theirs: 1}]}`, ``, `{l: [{containerPort: 80, port: 2}]}`,
		`{l: [{containerPort: 80, port: 2, theirs: 1}]}`,
	}, {
		"items merge by port, before mountPath",
		`{l: [{port: 80, mountPath: /a, theirs: 1}]}`, ``, `{l: [{port: 80, mountPath: /b}]}`,
		`{l: [{port: 80, mountPath: /b, theirs: 1}]}`,
	}, {
		"items merge by mountPath, before name, where both are unique",
		`{l: [{mountPath: /a, name: v, theirs: 1}]}`, ``, `{l: [{mountPath: /a, name: w}]}`,
		`{l: [{mountPath: /a, name: w, theirs: 1}]}`,
	}, {
		"items merge by uid, before ip, and by ip, before path",
		`{l: [{uid: 1, ip: a, theirs: 1}], m: [{ip: a, path: /, theirs: 1}]}`, ``, `{l: [{uid: 1, ip: b}], m: [{ip: a, path: /b}]}`,
		`{l: [{uid: 1, ip: b, theirs: 1}], m: [{ip: a, path: /b, theirs: 1}]}`,
	}, {
		"items merge by containerPort, before name",
		`{l: [{containerPort: 80, name: web, protocol: TCP}]}`, `{l: [{containerPort: 80, name: web}]}`, `{l: [{containerPort: 80, name: http}]}`,
		`{l: [{containerPort: 80, name: http, protocol: TCP}]}`,
	}, {
		"items merge by port, before name",
		`{l: [{port: 80, name: web, nodePort: 30080}]}`, `{l: [{port: 80, name: web}]}`, `{l: [{port: 80, name: http}]}`,
		`{l: [{port: 80, name: http, nodePort: 30080}]}`,
	}, {
		"items merge by mountPath, before name",
		`{l: [{mountPath: /a, name: v, theirs: 1}, {mountPath: /b, name: v}]}`, ``, `{l: [{mountPath: /a, name: w}]}`,
		`{l: [{mountPath: /a, name: w, theirs: 1}, {mountPath: /b, name: v}]}`,
	}, {
		"items merge by name, before uid",
		`{l: [{name: a, uid: 1, theirs: 1}]}`, ``, `{l: [{name: a, uid: 2}]}`,
		`{l: [{name: a, uid: 2, theirs: 1}]}`,
	}, {
		"items merge by uid",
		`{l: [{uid: 1, theirs: 1}]}`, ``, `{l: [{uid: 1, x: 1}, {uid: 2}]}`,
		`{l: [{uid: 1, theirs: 1, x: 1}, {uid: 2}]}`,
	}, {
		"items merge by ip",
		`{l: [{ip: 10.0.0.1, theirs: 1}]}`, ``, `{l: [{ip: 10.0.0.1, hostnames: [a]}]}`,
		`{l: [{ip: 10.0.0.1, theirs: 1, hostnames: [a]}]}`,
	}, {
		"items merge by path",
		`{l: [{path: /, theirs: 1}]}`, ``, `{l: [{path: /, backend: b}, {path: /x}]}`,
		`{l: [{path: /, theirs: 1, backend: b}, {path: /x}]}`,
	}, {
		"what identifies must be in the items of all three lists",
		`{l: [{port: 80, name: a, theirs: 1}]}`, ``, `{l: [{name: a}]}`,
		`{l: [{port: 80, name: a, theirs: 1}]}`,
	},

	// Fields that do not identify, since they repeat. Merging by them would lose items.
	{
		"a list whose field repeats in what is set is replaced",
		`{l: [{port: 53, theirs: 1}]}`, ``, `{l: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}`,
		`{l: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}`,
	}, {
		"a list whose field repeats in what was observed is replaced",
		`{l: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}`, ``, `{l: [{port: 53, protocol: TCP}]}`,
		`{l: [{port: 53, protocol: TCP}]}`,
	}, {
		"a list whose field repeats in what was applied is replaced",
		`{l: [{port: 53, protocol: UDP}]}`, `{l: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}`, `{l: [{port: 53, protocol: SCTP}]}`,
		`{l: [{port: 53, protocol: SCTP}]}`,
	}, {
		"a container's port for UDP and TCP stays two",
		`{l: [{containerPort: 53, protocol: UDP}]}`, `{l: [{containerPort: 53, protocol: UDP}]}`,
		`{l: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]}`,
		`{l: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]}`,
	}, {
		"a number and a string of the same text are one identity",
		`{l: [{port: 80, theirs: 1}]}`, ``, `{l: [{port: "80"}]}`,
		`{l: [{port: "80", theirs: 1}]}`,
	},

	// Numbers.
	{
		"large integers are exact",
		`{a: 9007199254740993}`, ``, `{b: 9223372036854775807}`,
		`{a: 9007199254740993, b: 9223372036854775807}`,
	}, {
		"a number is taken as it is set",
		`{a: 1}`, `{a: 1}`, `{a: 1.5}`,
		`{a: 1.5}`,
	},
}

func TestMerge(t *testing.T) {
	for _, c := range mergeCases {
		t.Run(c.name, func(t *testing.T) {
			observed, last, desired := parse(t, c.observed), parse(t, c.lastApplied), parse(t, c.desired)
			check := unchanged(t, observed, last, desired)
			got := merged(t, observed, last, desired)
			if diff := cmp.Diff(parse(t, c.want), got); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
			check()
		})
	}
}

func TestNumbersIdentifyListItemsForEveryType(t *testing.T) {
	for _, number := range []int64{0, 80, 1_000_000, 1 << 53} {
		list := func(n any, more ...any) map[string]any {
			item := map[string]any{"uid": n}
			for i := 0; i < len(more); i += 2 {
				item[more[i].(string)] = more[i+1]
			}
			return map[string]any{"l": []any{item}}
		}
		observed, last := list(number, "old", true, "theirs", true), list(json.Number(fmt.Sprint(number)), "old", true)
		want := list(float64(number), "theirs", true)
		if diff := cmp.Diff(want, merge(tree.GoMap(observed), last, list(float64(number)), observedOrder)); diff != "" {
			t.Errorf("uid %d (-want +got):\n%s", number, diff)
		}
	}
}

func TestNegativeZeroIdentifiesTheItemThatIsStoredWithZero(t *testing.T) {
	item := func(n any) map[string]any {
		return map[string]any{"l": []any{map[string]any{"uid": n, "x": true}}}
	}
	stored, set := item(int64(0)), item(math.Copysign(0, -1))
	if diff := cmp.Diff(set, merge(tree.GoMap(stored), set, set, observedOrder)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMergeIsIdempotent(t *testing.T) {
	for _, c := range mergeCases {
		desired := parse(t, c.desired)
		once := merged(t, parse(t, c.observed), parse(t, c.lastApplied), desired)
		if diff := cmp.Diff(once, merged(t, once, desired, desired)); diff != "" {
			t.Errorf("%s: merged once and twice (-once +twice):\n%s", c.name, diff)
		}
	}
}

func TestMergeResultSharesNothing(t *testing.T) {
	for _, c := range mergeCases {
		observed, last, desired := parse(t, c.observed), parse(t, c.lastApplied), parse(t, c.desired)
		check := unchanged(t, observed, last, desired)
		objecttest.Scribble(merged(t, observed, last, desired))
		check()
	}
}

// A Service whose API server defaulted fields of two ports with the same number must keep both ports and must not be
// written again.
func TestServiceKeepsPort53ForUDPAndTCP(t *testing.T) {
	desired := setOf(parseObject(t, `
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: default}
spec:
  ports:
  - {name: dns, port: 53, protocol: UDP}
  - {name: dns-tcp, port: 53, protocol: TCP}
`))
	kind := desired.Kinds()[0]
	s := newServer(kind)
	for _, op := range plan(t, s.observed(t), desired, Rules{kind: InPlace}) {
		if err := s.do(op); err != nil {
			t.Fatal(err)
		}
	}
	for _, stored := range s.stored[kind] {
		for i, port := range stored.Map()["spec"].(map[string]any)["ports"].([]any) {
			port.(map[string]any)["targetPort"] = int64(53)
			port.(map[string]any)["nodePort"] = int64(30053 + i)
		}
	}
	checkOps(t, plan(t, s.observed(t), desired, Rules{kind: InPlace}))
	for stored := range s.observed(t).All() {
		want := parse(t, `{ports: [
			{name: dns, port: 53, protocol: UDP, targetPort: 53, nodePort: 30053},
			{name: dns-tcp, port: 53, protocol: TCP, targetPort: 53, nodePort: 30054},
		]}`)
		if diff := cmp.Diff(any(want), stored.Map()["spec"]); diff != "" {
			t.Errorf("spec (-want +got):\n%s", diff)
		}
	}
}

// A list is not merged by a field that has large values: to compare them, at each depth, would take long.
func TestLargeValuesDoNotIdentify(t *testing.T) {
	item := func(n int) map[string]any {
		return map[string]any{"l": []any{map[string]any{"name": make([]any, n)}}}
	}
	theirs := func(n int) map[string]any {
		m := item(n)
		m["l"].([]any)[0].(map[string]any)["theirs"] = true
		return m
	}
	for n, merges := range map[int]bool{0: true, maxIdentity - 1: true, maxIdentity: false} {
		got := merge(tree.GoMap(theirs(n)), nil, item(n), observedOrder)
		if _, kept := got["l"].([]any)[0].(map[string]any)["theirs"]; kept != merges {
			t.Errorf("a name of %d values: the items are merged: %t, want %t", n, kept, merges)
		}
	}
}

// Items at other indexes are looked for up to a number of values, so that the time does not grow with the square of the length.
func TestComparisonOfReorderedListsEnds(t *testing.T) {
	list := func(n int, reversed bool) []any {
		all := make([]any, n)
		for i := range all {
			at := i
			if reversed {
				at = n - 1 - i
			}
			all[i] = map[string]any{"x": fmt.Sprint("v", at)}
		}
		return all
	}
	for n, same := range map[int]bool{10: true, 150: true, 5000: false} {
		m := newMeaning()
		if got := m.same(list(n, true), list(n, false)); got != same || m.more < -1 && same {
			t.Errorf("%d items in the opposite order have the same meaning: %t, want %t", n, got, same)
		}
	}
	if m := newMeaning(); !m.same(list(5000, false), list(5000, false)) || m.more != maxCompared {
		t.Error("items at the same index are not compared first, or count")
	}
}

func TestStoppedPlanIsEmpty(t *testing.T) {
	stopped := errors.New("stopped")
	n := 0
	observed, desired := setOf(pod(t, "gone", "x")), setOf(pod(t, "a", "x"), pod(t, "b", "x"))
	plan, err := Children(observed, desired, Policy{Stopped: func() error {
		if n++; n == 2 {
			return stopped
		}
		return nil
	}})
	if err != stopped || len(plan.Ops) > 0 {
		t.Errorf("the plan has %v, error %v", plan.Ops, err)
	}
}

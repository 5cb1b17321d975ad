package plan

import (
	"fmt"
	"testing"

	"metascript/controller/object"
)

// podWith returns a Pod as a hook returns it.
func podWith(t *testing.T, labels, spec string) *object.Object {
	t.Helper()
	return parseObject(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, labels: %s}, spec: %s}`, labels, spec))
}

// An answer that changed before a restart is found after it, with server-side apply: whether the hook returned the same is not known then.
func TestChangedAnswerAfterRestart(t *testing.T) {
	for name, c := range map[string]struct {
		before, after [2]string // labels and spec
		byDefault     any       // the replicas, if they are not returned any more
		onlyInPlace   bool
	}{
		"another value":                 {before: [2]string{"{}", "{image: a}"}, after: [2]string{"{}", "{image: b}"}},
		"an item of a list less":        {before: [2]string{"{}", "{rules: [{verbs: [get, delete]}]}"}, after: [2]string{"{}", "{rules: [{verbs: [get]}]}"}},
		"a rule less":                   {before: [2]string{"{}", "{rules: [{verbs: [get]}, {verbs: [delete]}]}"}, after: [2]string{"{}", "{rules: [{verbs: [get]}]}"}},
		"an argument less":              {before: [2]string{"{}", "{args: [a, b]}"}, after: [2]string{"{}", "{args: [a]}"}},
		"no arguments":                  {before: [2]string{"{}", "{args: [a, b]}"}, after: [2]string{"{}", "{args: []}"}},
		"another order":                 {before: [2]string{"{}", "{args: [a, b]}"}, after: [2]string{"{}", "{args: [b, a]}"}},
		"a field of an item less":       {before: [2]string{"{}", "{ports: [{port: 80, to: x}]}"}, after: [2]string{"{}", "{ports: [{port: 80}]}"}},
		"another order of items":        {before: [2]string{"{}", "{init: [{name: a}, {name: b}]}"}, after: [2]string{"{}", "{init: [{name: b}, {name: a}]}"}, onlyInPlace: true},
		"an empty text":                 {before: [2]string{"{}", "{data: x}"}, after: [2]string{"{}", `{data: ""}`}},
		"a label that is no quantity":   {before: [2]string{`{v: "1.10"}`, "{}"}, after: [2]string{`{v: "1.1"}`, "{}"}},
		"a text that is no duration":    {before: [2]string{"{}", "{data: 60s}"}, after: [2]string{"{}", "{data: 1m}"}},
		"a field less, with a default":  {before: [2]string{"{}", "{x: y, replicas: 3}"}, after: [2]string{"{}", "{x: y}"}, byDefault: int64(1)},
		"a field less, without default": {before: [2]string{"{}", "{x: y, replicas: 3}"}, after: [2]string{"{}", "{x: y}"}},
	} {
		for _, method := range []Method{InPlace, Recreate} {
			old, want := podWith(t, c.before[0], c.before[1]), podWith(t, c.after[0], c.after[1])
			have, result := applied(t, old, nil), applied(t, want, nil)
			if c.byDefault != nil {
				result.Map()["spec"].(map[string]any)["replicas"] = c.byDefault
			}
			policy := onServerSide(method).of(t, configOf(t, old))
			planned, err := Children(setOf(have), setOf(want), policy)
			if err != nil || len(planned.Ops) != 1 {
				t.Errorf("%s: %s: operations %v, error %v", name, method, texts(planned.Ops), err)
				continue
			}
			try, needed := planned.Ops[0].Confirm()
			if planned.Ops[0].Verb == DryRun {
				try, needed = planned.Ops[0], true
			}
			if !needed {
				continue // it is written
			}
			differs, _, unsure, err := policy.Changes(try, result)
			found := differs != nil || len(unsure) > 0 && try.CreatedOtherwise(result, result, unsure) != nil
			if err != nil || found == (c.onlyInPlace && method == Recreate) {
				t.Errorf("%s: %s: found %t, unsure %v, error %v", name, method, found, unsure, err)
			}
		}
	}
}

// What a new child would have otherwise.
func TestCreatedOtherwise(t *testing.T) {
	want := podWith(t, "{}", "{image: a, cpu: 1000m, at: now, list: [{name: x, value: v}]}")
	for name, c := range map[string]struct{ have, first, second, differs string }{
		"the same":                           {"{image: mirror/a, cpu: 1, at: t}", "{image: mirror/a, cpu: 1, at: t}", "{image: mirror/a, cpu: 1, at: t}", ""},
		"more fields":                        {"{image: a, theirs: 1}", "{image: a, theirs: 2}", "{image: a, theirs: 2}", ""},
		"another value":                      {"{image: b}", "{image: a}", "{image: a}", "spec.image"},
		"another one each time":              {"{at: t1}", "{at: t2}", "{at: t3}", ""},
		"that and another value":             {"{at: t1, image: b}", "{at: t2, image: a}", "{at: t3, image: a}", "spec.image"},
		"what the hook returned":             {"{image: a}", "{image: new}", "{image: new}", ""},
		"an unstable item that is not there": {"{list: [{name: y}]}", "{list: [{name: y}, {name: x, value: v, token: 1}]}", "{list: [{name: y}, {name: x, value: v, token: 2}]}", "spec.list"},
		"an item that is not there":          {"{list: []}", "{list: [{name: x, value: v}]}", "{list: [{name: x, value: v}]}", "spec.list"},
		"a value in an item":                 {"{list: [{name: x, value: w}]}", "{list: [{name: x, value: v}]}", "{list: [{name: x, value: v}]}", "spec.list[0].value"},
		"an unstable item elsewhere":         {"{list: [{name: o, value: p}, {name: x, value: w}]}", "{list: [{name: x, value: p}, {name: o, value: p}]}", "{list: [{name: x, value: q}, {name: o, value: p}]}", ""},
		"an item among those of others":      {"{list: [{name: o, value: p}, {name: x, value: v}]}", "{list: [{name: x, value: v}]}", "{list: [{name: x, value: v}]}", ""},
	} {
		of := func(spec string) *object.Object { return podWith(t, "{}", spec) }
		first, second := of(c.first), of(c.second)
		first.SetName("a-x")
		second.SetName("a-x")
		if got := (Op{Observed: of(c.have), Wanted: want}).CreatedOtherwise(first, second, []Path{nil}).String(); got != c.differs {
			t.Errorf("%s: got %q, want %q", name, got, c.differs)
		}
	}
}

// A new child also lacks what is set later. With server-side apply, a field that is not returned counts only if the apply removes it.
func TestCreatedWithoutWhatIsSetLater(t *testing.T) {
	want := podWith(t, "{}", "{policy: IfNotPresent, list: [{name: data}]}")
	have := podWith(t, "{}", "{policy: Always, node: n, list: [{name: data}, {name: token-1}]}")
	created := func(token string) *object.Object {
		return podWith(t, "{}", "{policy: Always, list: [{name: data}, {name: "+token+"}]}")
	}
	op := Op{Verb: DryRun, Observed: have, Object: want, Wanted: want, Recreates: true, Answered: true}
	if got := op.CreatedOtherwise(created("token-2"), created("token-3"), op.Unsure()); got != nil {
		t.Errorf("%s differs, want nothing", got)
	}
	removed := []Path{{"spec", "node"}}
	if got := op.CreatedOtherwise(created("token-2"), created("token-3"), removed).String(); got != "spec.node" {
		t.Errorf("%q differs, want spec.node, which the apply removes", got)
	}
}

// A list that is not returned any more is compared by its items, so that one of another name each time does not matter.
func TestListThatIsNotReturnedAnyMore(t *testing.T) {
	want, have := podWith(t, "{}", "{image: a}"), podWith(t, "{}", "{image: a, list: [{name: data}, {name: token-1}]}")
	op := Op{Verb: DryUpdate, Observed: have, Object: want, Wanted: want, Recreates: true, Doubtful: true, Last: podWith(t, "{}", "{image: a, list: [{name: data}]}").Map()}
	created := func(token string) *object.Object { return podWith(t, "{}", "{image: a, list: [{name: "+token+"}]}") }
	if got := op.CreatedOtherwise(created("token-2"), created("token-3"), op.Unsure()).String(); got != "spec.list[0]" {
		t.Errorf("%q differs, want spec.list[0]", got)
	}
}

// A child that does not differ is not written if the answer has the same fields, although it is another text each time.
func TestAnnotationIsWrittenForOtherFieldsOnly(t *testing.T) {
	have := podWith(t, "{}", "{cpu: 1}")
	if err := remember(have, podWith(t, "{}", "{cpu: 1000m}")); err != nil {
		t.Fatal(err)
	}
	for spec, written := range map[string]bool{"{cpu: 1001m}": false, "{cpu: 1000m, image: a}": true} {
		next, err := (Policy{}).AfterConfirm(Op{Verb: DryUpdate, Observed: have, Object: have, Wanted: podWith(t, "{}", spec)})
		if err != nil || (next != nil) != written {
			t.Errorf("%s: got %v, %v", spec, next, err)
		}
	}
}

// The creation that is tried has a valid name of its own.
func TestTriedCreation(t *testing.T) {
	want := podWith(t, "{}", "{image: a}")
	have := object.Copy(want)
	have.SetUID("u")
	for name, expected := range map[string]string{
		"a": "a-bb820", "a.b": "a.b-bb820",
		"a123456789-123456789-123456789-123456789-123456789-123456-89-123456789": "a123456789-123456789-123456789-123456789-123456789-123456-bb820",
	} {
		have.SetName(name)
		op := Op{Verb: DryRun, Object: want, Observed: have, Wanted: want, Recreates: true}.Create(1)
		if got := op.Object.GetName(); got != expected || len(got) > 63 {
			t.Errorf("%s: got %s", name, got)
		}
		if have.GetName() != name || want.GetName() != "a" || op.Object.GetUID() != "" {
			t.Errorf("%s: %v", name, op.Object)
		}
	}
}

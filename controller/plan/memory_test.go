package plan

import (
	"strings"
	"testing"

	"metascript/controller/object"
)

const misspelled = `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: nginx, imagee: x, resources: {limits: {memory: 1024Mi}}}], tolerations: [{key: a}], hostNetwork: true}`

const storedPod = `
apiVersion: v1
kind: Pod
metadata: {name: p, uid: u, resourceVersion: "1"}
spec:
  containers: [{name: c, image: nginx, imagePullPolicy: Always, resources: {limits: {memory: 1Gi}}}]
  tolerations: [{key: a}, {key: b, effect: NoExecute}]
  hostNetwork: true
status: {phase: Running}`

// storedAs returns what is stored after want was created, with the annotation of dynamic apply.
func storedAs(t *testing.T, text string, want *object.Object) *object.Object {
	t.Helper()
	stored := parseObject(t, text)
	created, err := fresh(want)
	if err != nil {
		t.Fatal(err)
	}
	annotationsOf(stored)[LastApplied] = remembered(created)
	return stored
}

// What the API server stored of the last write is the desired state in its normal form.
func TestStoredFormIsNoDifference(t *testing.T) {
	for _, method := range []Method{Recreate, InPlace} {
		want := parseObject(t, misspelled)
		have := storedAs(t, storedPod, want)
		policy := Policy{Rules: Rules{want.GroupVersionKind(): method}, Memory: Memory{}}
		planned := func(have, want *object.Object) []Op {
			t.Helper()
			plan, err := Children(setOf(have), setOf(want), policy)
			if err != nil {
				t.Fatal(err)
			}
			return plan.Ops
		}
		ops := planned(have, want)
		if len(ops) != 1 || ops[0].Differs.String() != "spec.containers[0].imagee" || !ops[0].Answered {
			t.Fatalf("%s: without a memory: %v", method, ops)
		}
		if err := policy.NoteWritten(ops[0], have); err != nil {
			t.Fatal(err)
		}
		checkOps(t, planned(have, want))
		others := object.Copy(have)
		others.Map()["spec"].(map[string]any)["nodeName"] = "n"
		others.Map()["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["terminationMessagePath"] = "/x"
		checkOps(t, planned(others, want))

		for field, drift := range map[string]func(spec map[string]any){
			"spec.hostNetwork": func(spec map[string]any) { spec["hostNetwork"] = false },
			"spec.containers[0].resources.limits.memory": func(spec map[string]any) {
				spec["containers"].([]any)[0].(map[string]any)["resources"] = map[string]any{"limits": map[string]any{"memory": "2Gi"}}
			},
			"spec.tolerations": func(spec map[string]any) { spec["tolerations"] = []any{map[string]any{"key": "b"}} },
		} {
			drifted := object.Copy(have)
			drift(drifted.Map()["spec"].(map[string]any))
			if ops := planned(drifted, want); len(ops) != 1 {
				t.Errorf("%s: after a drift of %s: %v", method, field, ops)
			}
		}
		edited := object.Copy(want)
		edited.Map()["spec"].(map[string]any)["hostname"] = "h"
		if ops := planned(have, edited); len(ops) != 1 || ops[0].Answered {
			t.Errorf("%s: after an edit: %v", method, ops)
		}
		recreated := object.Copy(have)
		recreated.SetUID("another")
		if ops := planned(recreated, want); len(ops) != 1 {
			t.Errorf("%s: an object with another UID: %v", method, ops)
		}
		object.KeepOnly(policy.Memory, &object.Set{})
		if len(policy.Memory) != 0 {
			t.Errorf("%s: a child that is gone is remembered", method)
		}
	}
}

// After a write of this server, a difference is known to be one without a dry run.
func TestDifferenceAfterWriteIsNotDoubtful(t *testing.T) {
	want := parseObject(t, misspelled)
	policy := Policy{Rules: rulesFor(InPlace), Memory: Memory{}}
	written := storedAs(t, misspelled, want)
	written.SetUID("u")
	for _, noted := range []bool{false, true} {
		if noted {
			if err := policy.NoteWritten(Op{Verb: Update, Wanted: want}, written); err != nil || policy.Memory.Spells() {
				t.Fatal(policy.Memory, err)
			}
		}
		drifted := object.Copy(written)
		drifted.Map()["spec"].(map[string]any)["hostNetwork"] = false
		plan, err := Children(setOf(drifted), setOf(want), policy)
		if err != nil || len(plan.Ops) != 1 || plan.Ops[0].Doubtful == noted {
			t.Errorf("noted %t: got %+v, %v", noted, plan.Ops, err)
		}
		if _, confirms := plan.Ops[0].Confirm(); confirms == noted {
			t.Errorf("noted %t: a dry run: %t", noted, confirms)
		}
	}
}

// A child is recreated only if a dry run of the update would change something that the hook returns.
func TestDryRunOfUpdateDecides(t *testing.T) {
	want := parseObject(t, misspelled)
	have := storedAs(t, storedPod, want)
	spec := func(o *object.Object) map[string]any { return o.Map()["spec"].(map[string]any) }
	for name, c := range map[string]struct {
		edit   func(want *object.Object)
		have   func(spec map[string]any)
		result func(spec map[string]any)
		stable bool // the same was stored when it was written
		field  string
		unsure bool
	}{
		"nothing would change":                  {},
		"a drift":                               {nil, func(s map[string]any) { s["hostNetwork"] = false }, func(s map[string]any) { s["hostNetwork"] = true }, false, "", true},
		"a value that a webhook sets each time": {nil, func(s map[string]any) { s["hostNetwork"] = "1" }, func(s map[string]any) { s["hostNetwork"] = "2" }, false, "", true},
		"a field that a webhook adds each time": {nil, nil, func(s map[string]any) { s["stamp"] = "2" }, false, "", false},
		"another form of the same":              {nil, func(s map[string]any) { s["tolerations"] = []any{map[string]any{"key": "a"}} }, nil, false, "", true},
		"a drift to what was stored last":       {nil, func(s map[string]any) { s["tolerations"] = []any{map[string]any{"key": "x"}} }, nil, true, "spec.tolerations[0].key", false},
		"another answer":                        {func(o *object.Object) { spec(o)["hostname"] = "h" }, nil, func(s map[string]any) { s["hostname"] = "h" }, false, "spec.hostname", false},
		"another answer that changes nothing":   {func(o *object.Object) { spec(o)["hostname"] = nil }, nil, nil, false, "", false},
		"a field that is not returned any more": {func(o *object.Object) { delete(spec(o), "hostNetwork") }, nil, func(s map[string]any) { delete(s, "hostNetwork") }, false, "spec.hostNetwork", false},
	} {
		wanted, observed := object.Copy(want), object.Copy(have)
		policy := Policy{Rules: Rules{want.GroupVersionKind(): Recreate}, Memory: Memory{}}
		result := object.Copy(have)
		if c.result != nil {
			c.result(spec(result))
		}
		if c.stable {
			if err := policy.NoteWritten(Op{Verb: Update, Wanted: want}, result); err != nil {
				t.Fatal(err)
			}
		}
		if c.have != nil {
			c.have(spec(observed))
		}
		if c.edit != nil {
			c.edit(wanted)
		}
		plan, err := Children(setOf(observed), setOf(wanted), policy)
		if err != nil || len(plan.Ops) != 1 || plan.Ops[0].Verb != Delete {
			t.Fatalf("%s: got %v, %v", name, plan.Ops, err)
		}
		op := plan.Ops[0]
		confirm, needed := op.Confirm()
		if !needed || confirm.Verb != DryUpdate || confirm.Verb.Stores() || confirm.Observed != observed || confirm.Object.GetResourceVersion() == "" {
			t.Errorf("%s: the dry run is %+v", name, confirm)
		}
		if try, needed := op.Try(); !needed || try.Verb != DryCreate || try.Object.GetUID() != "" {
			t.Errorf("%s: the dry run of the creation is %+v", name, try)
		}
		differs, _, unsure, err := policy.Changes(confirm, result)
		if differs.String() != c.field || (differs == nil && unsure != nil) != c.unsure || err != nil {
			t.Errorf("%s: got %q, %q, %v, want %q", name, differs, unsure, err, c.field)
		}
		if differs != nil {
			continue
		}
		if err := policy.NoteWritten(confirm, observed); err != nil {
			t.Fatal(err)
		}
		if plan, err := Children(setOf(observed), setOf(wanted), policy); err != nil || len(plan.Ops) != 0 {
			t.Errorf("%s: a second dry run: %v, %v", name, plan.Ops, err)
		}
	}
}

func TestSpellings(t *testing.T) {
	for name, c := range map[string]struct {
		want, stored string
		texts        []string // with = before those with the same meaning
	}{
		"the same":        {`{a: 1, b: [x]}`, `{a: 1.0, b: [x], default: 1}`, nil},
		"quantities":      {`{a: 2000m, b: 0.5, c: 1024Mi, d: 1}`, `{a: "2", b: 500m, c: 1Gi, d: "1"}`, []string{"=a: 2000m is stored as 2", "=b: 0.5 is stored as 500m", "=c: 1024Mi is stored as 1Gi", "=d: 1 is stored as 1"}},
		"a duration":      {`{a: 60m}`, `{a: 1h0m0s}`, []string{"=a: 60m is stored as 1h0m0s"}},
		"a time":          {`{a: "2026-01-02T03:04:05.000Z"}`, `{a: "2026-01-02T03:04:05Z"}`, []string{"=a: 2026-01-02T03:04:05.000Z is stored as 2026-01-02T03:04:05Z"}},
		"zero values":     {`{a: 0, b: "", c: false, d: {}, e: []}`, `{}`, []string{"=a: 0 is not stored", `=b: "" is not stored`, "=c: false is not stored"}},
		"null":            {`{rules: []}`, `{rules: null}`, []string{"=rules: [] is not stored"}},
		"defaults":        {`{ports: [{port: 80}], tolerations: [{key: a}]}`, `{ports: [{port: 80, protocol: TCP}], tolerations: [{key: a}, {key: b}]}`, []string{`=tolerations: [{"key":"a"}] is stored as [{"key":"a"},{"key":"b"}]`}},
		"sorted":          {`{ips: [{ip: b}, {ip: a}]}`, `{ips: [{ip: a}, {ip: b}]}`, []string{`=ips: [{"ip":"b"},{"ip":"a"}] is stored as [{"ip":"a"},{"ip":"b"}]`}},
		"another value":   {`{image: a, replicas: 2}`, `{image: mirror/a, replicas: 3}`, []string{"image: a is stored as mirror/a", "replicas: 2 is stored as 3"}},
		"a missing field": {`{imagee: a, b: {c: {d: 1}}}`, `{b: {}}`, []string{`b.c: {"d":1} is not stored`, "imagee: a is not stored"}},
		"a missing item":  {`{l: [a, b]}`, `{l: [a]}`, []string{`l: ["a","b"] is stored as ["a"]`}},
	} {
		var got []string
		for _, s := range Spellings(object.New(parse(t, c.stored)), object.New(parse(t, c.want))) {
			text := s.Text(strings.TrimSpace)
			if s.Same {
				text = "=" + text
			}
			got = append(got, text)
		}
		if len(got) != len(c.texts) {
			t.Errorf("%s: got %q, want %q", name, got, c.texts)
			continue
		}
		for i := range got {
			if got[i] != c.texts[i] {
				t.Errorf("%s: got %q, want %q", name, got[i], c.texts[i])
			}
		}
	}
}

// An empty map that was stored and is missing now is a difference. One that the API server does not store is none.
func TestEmptyMapThatIsRemoved(t *testing.T) {
	want := podWith(t, "{}", "{x: y, tls: {}}")
	for _, stores := range []bool{true, false} {
		have := stored(t, want)
		without := object.Copy(have)
		delete(without.Map()["spec"].(map[string]any), "tls")
		if !stores {
			have = without
		}
		policy := Policy{Rules: rulesFor(InPlace), Memory: Memory{}}
		if err := policy.NoteWritten(Op{Verb: Create, Object: want, Wanted: want}, have); err != nil {
			t.Fatal(err)
		}
		plan, err := Children(setOf(without), setOf(want), policy)
		if err != nil || (len(plan.Ops) == 1) != stores {
			t.Errorf("stored %t: operations %v, error %v", stores, texts(plan.Ops), err)
		}
	}
}

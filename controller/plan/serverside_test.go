package plan

import (
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"metascript/controller/object"
	"metascript/controller/ownership"
	"metascript/engine/packed"
)

// onServerSide is server-side apply of Pods by method, that remembers nothing, and knows of no managedFields.
func onServerSide(method Method) Policy {
	return Policy{Rules: rulesFor(method), ServerSide: true, Memory: Memory{}}
}

// of is p where managedFields say that what is in config was applied.
func (p Policy) of(t testing.TB, config *object.Object) Policy {
	t.Helper()
	applied := object.Copy(config)
	for _, name := range append([]string{"name", "namespace"}, system...) {
		delete(metadata(applied), name)
	}
	delete(applied.Map(), "apiVersion")
	delete(applied.Map(), "kind")
	set := &fieldpath.Set{}
	own(set, nil, applied.Map())
	text, err := set.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	fields := ownership.Fields{Set: string(text), APIVersion: config.GetAPIVersion()}
	p.Owned = func(*object.Object) ownership.Fields { return fields }
	return p
}

// own puts what is in v into set, as for a kind without a schema: lists are wholes.
func own(set *fieldpath.Set, at fieldpath.Path, v any) {
	m := mapOf(v)
	if len(m) == 0 && len(at) > 0 && at.String() != ".metadata" {
		set.Insert(at)
	}
	for key, field := range m {
		own(set, append(slices.Clone(at), fieldpath.PathElement{FieldName: &key}), field)
	}
}

// configOf is want as it is applied.
func configOf(t testing.TB, want *object.Object) *object.Object {
	t.Helper()
	config, err := Policy{}.configuration(want)
	if err != nil {
		t.Fatal(err)
	}
	return config.plain
}

// wanted is a Pod as a hook returns it, to be edited.
const wanted = `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default, labels: {app: x}}
spec: {image: new, cpu: 1000m, ports: [{port: 80}], selector: {app: x}}
`

// applied is what is on the server after want was applied, changed by edit.
func applied(t testing.TB, want *object.Object, edit func(o *object.Object)) *object.Object {
	t.Helper()
	config := configOf(t, want)
	config.SetUID("uid-a")
	config.SetResourceVersion("7")
	if edit != nil {
		edit(config)
	}
	return config
}

// all is edits, one after the other.
func all(edits ...func(*object.Object)) func(*object.Object) {
	return func(o *object.Object) {
		for _, edit := range edits {
			edit(o)
		}
	}
}

// set puts value at a path of keys.
func set(value any, path ...string) func(*object.Object) {
	return func(o *object.Object) {
		m := o.Map()
		for _, key := range path[:len(path)-1] {
			if m[key] == nil {
				m[key] = map[string]any{}
			}
			m = m[key].(map[string]any)
		}
		if last := path[len(path)-1]; value == nil {
			delete(m, last)
		} else {
			m[last] = value
		}
	}
}

func TestServerSideApplyOnlyAfterPossibleChanges(t *testing.T) {
	// The API server spells an amount differently, and adds a default.
	stored := all(set("1", "spec", "cpu"), set("Always", "spec", "restartPolicy"))
	for _, c := range []struct {
		name       string
		edit, want func(*object.Object) // what happened to the child since, and what the hook wants differently now
		remembered string               // the operation, with a memory of the last apply
		forgotten  string               // the operation, without one
	}{
		{"nothing", nil, nil, "", "spec.cpu differs"},
		{"a status, and versions", all(set("Running", "status", "phase"), set("9", "metadata", "resourceVersion"), set(int64(2), "metadata", "generation")), nil, "", "spec.cpu differs"},
		{"a field of somebody else", all(set("n1", "spec", "nodeName"), set("x", "metadata", "labels", "theirs"), set("x", "metadata", "annotations", "theirs")), nil, "", "spec.cpu differs"},
		{"a field of ours", set("old", "spec", "image"), nil, "spec.image differs", "spec.cpu differs"},
		{"a field of ours is gone", set(nil, "spec", "image"), nil, "spec.image differs", "spec.cpu differs"},
		{"a label of ours is gone", set(nil, "metadata", "labels"), nil, "metadata.labels differs", "metadata.labels differs"},
		{"somebody adds to a whole", set("y", "spec", "selector", "more"), nil, "somebody changed it", "spec.cpu differs"},
		{"what is desired changes", nil, set("newer", "spec", "image"), "spec.cpu differs", "spec.cpu differs"},
		{"a field is no longer desired", nil, all(set(nil, "spec", "image"), set(nil, "spec", "cpu")), "something in it is no longer desired", "something in it is no longer desired"},
	} {
		want := parseObject(t, wanted)
		have := applied(t, want, stored)
		config := configOf(t, want)
		policy := onServerSide(InPlace).of(t, config)
		note(t, policy, have, want)
		all(set(nil, "nothing"), orNone(c.edit))(have)
		orNone(c.want)(want)
		for memory, expected := range map[*Policy]string{&policy: c.remembered, {Rules: policy.Rules, ServerSide: true, Owned: policy.Owned}: c.forgotten} {
			var texts []string
			if expected != "" {
				texts = []string{"apply Pod default/a: " + expected}
			}
			check := unchanged(t, have.Map(), want.Map())
			plan, err := Children(setOf(have), setOf(want), *memory)
			check()
			if err != nil {
				t.Fatal(err)
			}
			t.Run(c.name, func(t *testing.T) { checkOps(t, plan.Ops, texts...) })
			differs, _, err := memory.Differs(have, want)
			if (differs == "") != (expected == "") || err != nil {
				t.Errorf("%s: it differs in %q (%v), and the operation is %q", c.name, differs, err, expected)
			}
		}
	}
}

func orNone(edit func(*object.Object)) func(*object.Object) {
	if edit == nil {
		return func(*object.Object) {}
	}
	return edit
}

func TestEqualFieldsNeedNoApplyWithoutMemory(t *testing.T) {
	want := parseObject(t, wanted)
	for name, edit := range map[string]func(*object.Object){
		"nothing":            nil,
		"a default":          set("Always", "spec", "restartPolicy"),
		"a field of others":  set("x", "metadata", "annotations", "theirs"),
		"what is not stored": func(*object.Object) { set(map[string]any{}, "spec", "hollow")(want) },
	} {
		have := applied(t, want, edit)
		if name == "what is not stored" {
			have = applied(t, want, set(nil, "spec", "hollow"))
		}
		plan, err := Children(setOf(have), setOf(want), onServerSide(InPlace).of(t, configOf(t, want)))
		if err != nil || len(plan.Ops) > 0 {
			t.Errorf("%s: got %v, %v, want nothing to do", name, texts(plan.Ops), err)
		}
	}
}

func TestAppliedChildIsRemembered(t *testing.T) {
	want := parseObject(t, wanted)
	have := applied(t, want, nil)
	policy := onServerSide(Recreate).of(t, configOf(t, want))
	policy.Memory = Memory{}
	plan, err := Children(setOf(have), setOf(want), policy)
	if err != nil || len(plan.Ops) > 0 || len(plan.Applied) != 1 {
		t.Fatalf("got %v, %v, %v", texts(plan.Ops), texts(plan.Applied), err)
	}
	fields := policy.owned(have)
	fields.Updated = true
	updated := policy
	updated.Owned = func(*object.Object) ownership.Fields { return fields }
	if plan, err := Children(setOf(have), setOf(want), updated); err != nil || len(plan.Ops)+len(plan.Applied) > 0 {
		t.Errorf("after an update: got %v, %v, %v", texts(plan.Ops), texts(plan.Applied), err)
	}
	other := object.Copy(want)
	set("newer", "spec", "image")(other)
	before, err := Children(setOf(have), setOf(other), policy)
	if err != nil || len(before.Ops) != 1 || !before.Ops[0].Doubtful {
		t.Errorf("without Memory, another answer is known to be another one: %v, %v", texts(before.Ops), err)
	}
	if err := policy.NoteWritten(plan.Applied[0], have); err != nil {
		t.Fatal(err)
	}
	if plan, err = Children(setOf(have), setOf(want), policy); err != nil || len(plan.Ops)+len(plan.Applied) > 0 {
		t.Errorf("it is not remembered: %v, %v, %v", texts(plan.Ops), texts(plan.Applied), err)
	}
	if plan, err = Children(setOf(have), setOf(other), policy); err != nil || len(plan.Ops) != 1 || plan.Ops[0].Doubtful || plan.Ops[0].Answered {
		t.Errorf("another answer is not known to be another one: %v, %v", texts(plan.Ops), err)
	}
}

func TestServerSideApplyFollowsMethod(t *testing.T) {
	want := parseObject(t, wanted)
	have := applied(t, want, set("old", "spec", "image"))
	for method, expected := range map[Method]string{
		InPlace: "apply", RollingInPlace: "apply", Recreate: "dry run", RollingRecreate: "dry run", OnDelete: "", "": "",
	} {
		policy := onServerSide(method)
		config, err := policy.configuration(want)
		if err != nil {
			t.Fatal(err)
		}
		policy.Memory["uid-a"] = &outcome{applied: config.sum, print: "something else"}
		plan, err := Children(setOf(have), setOf(want), policy)
		if err != nil {
			t.Fatal(err)
		}
		if expected == "" {
			if len(plan.Ops) > 0 || len(plan.Suppressed) != 1 || plan.Suppressed[0].Differs.String() != "spec.image" {
				t.Errorf("method %q: got %v and left %v", method, texts(plan.Ops), plan.Suppressed)
			}
			continue
		}
		checkOps(t, plan.Ops, expected+" Pod default/a: spec.image differs")
		if op := plan.Ops[0]; op.Migrate || !op.Answered || op.Creates() || op.Observed != have {
			t.Errorf("method %q: got %+v", method, op)
		}
	}
}

func TestOnDeleteReportsSuppressedChanges(t *testing.T) {
	want, old := pod(t, "a", "new"), pod(t, "a", "old")
	for name, policy := range map[string]Policy{"dynamic": {}, "on the server's side": onServerSide("")} {
		have := stored(t, old)
		if policy.ServerSide {
			have, policy = applied(t, old, nil), policy.of(t, configOf(t, old))
		}
		first, err := Children(setOf(have), setOf(want), policy)
		if err != nil || len(first.Ops) > 0 || len(first.Suppressed) != 1 {
			t.Fatalf("%s: got %v, left %v (%v)", name, texts(first.Ops), first.Suppressed, err)
		}
		again, _ := Children(setOf(have), setOf(want), policy)
		other, _ := Children(setOf(have), setOf(pod(t, "a", "newest")), policy)
		if first.Suppressed[0].Differs.String() != "spec.image" || first.Suppressed[0].Content != again.Suppressed[0].Content || first.Suppressed[0].Content == other.Suppressed[0].Content {
			t.Errorf("%s: left %v, then %v, and with other content %v", name, first.Suppressed, again.Suppressed, other.Suppressed)
		}
		none, _ := Children(setOf(have), setOf(old), policy)
		if len(none.Suppressed) > 0 {
			t.Errorf("%s: without a difference there is left %v", name, none.Suppressed)
		}
	}
}

func TestApplyHasOnlyOwnedFields(t *testing.T) {
	want := parseObject(t, `
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: default
  labels: {app: x, none: null}
  annotations: {ours: "1", metacontroller.k8s.io/last-applied-configuration: "{}", metacontroller.k8s.io/applied-digest: old}`+observedMetadata+`
spec: {image: x, nothing: null}
status: {phase: Running}
`)
	check := unchanged(t, want.Map())
	policy := onServerSide(InPlace)
	policy.SetControllerReference = func(child *object.Object) error {
		set("me", "metadata", "annotations", "owner")(child)
		return nil
	}
	plan, err := Children(setOf(), setOf(want), policy)
	check()
	if err != nil {
		t.Fatal(err)
	}
	checkOps(t, plan.Ops, "apply Pod default/a: desired and missing")
	op := plan.Ops[0]
	if !op.Creates() || op.Observed != nil || op.Migrate {
		t.Errorf("got %+v", op)
	}
	if diff := cmp.Diff(parse(t, `
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: default
  labels: {app: x}
  annotations: {ours: "1", owner: me}
spec: {image: x}
`), op.Object.Map()); diff != "" {
		t.Errorf("what is applied (-want +got):\n%s", diff)
	}
	policy.SetControllerReference = func(*object.Object) error { return errors.New("no") }
	if plan, err = Children(setOf(), setOf(want), policy); err == nil || len(plan.Ops) > 0 {
		t.Errorf("a child that cannot be marked: got %v, %v", texts(plan.Ops), err)
	}
}

func TestMigrationFromDynamicApply(t *testing.T) {
	old, want := pod(t, "a", "x"), pod(t, "a", "y")
	for _, c := range []struct {
		name    string
		method  Method
		have    *object.Object
		op      string
		migrate bool
	}{
		{"it is as desired", InPlace, stored(t, want), "apply Pod default/a: it was not applied with server-side apply before", true},
		{"it is as desired, and Recreate", Recreate, stored(t, want), "", false},
		{"it is as desired, and OnDelete", OnDelete, stored(t, want), "", false},
		{"it drifted", InPlace, edited(stored(t, want), set("z", "spec", "image")), "apply Pod default/a: spec.image differs", false},
		{"it drifted, and Recreate", Recreate, edited(stored(t, want), set("z", "spec", "image")), "dry run Pod default/a: spec.image differs", false},
		{"something else is desired", InPlace, stored(t, old), "apply Pod default/a: spec.image differs", true},
		{"something else is desired, and Recreate", Recreate, stored(t, old), "dry run Pod default/a: spec.image differs", true},
	} {
		plan, err := Children(setOf(c.have), setOf(want), onServerSide(c.method))
		if err != nil || len(plan.Suppressed) > 0 {
			t.Fatalf("%s: left %v, %v", c.name, plan.Suppressed, err)
		}
		var expected []string
		if c.op != "" {
			expected = []string{c.op}
		}
		t.Run(c.name, func(t *testing.T) { checkOps(t, plan.Ops, expected...) })
		if len(plan.Ops) == 1 && plan.Ops[0].Migrate != c.migrate {
			t.Errorf("%s: got %+v", c.name, plan.Ops[0])
		}
	}
}

func TestInvalidAnnotationOfDynamicApply(t *testing.T) {
	want := pod(t, "a", "x")
	for _, text := range []string{" ", "nonsense", "{}", `{"metadata":7}`, `{"metadata":{"ownerReferences":[7]}}`} {
		have := edited(stored(t, want), set(text, "metadata", "annotations", LastApplied))
		plan, err := Children(setOf(have), setOf(want), onServerSide(Recreate))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		checkOps(t, plan.Ops, "dry run Pod default/a: something in it is no longer desired")
	}
}

func edited(o *object.Object, edit func(*object.Object)) *object.Object {
	edit(o)
	return o
}

func TestUnappliedChildIsApplied(t *testing.T) {
	want := parseObject(t, wanted)
	have := applied(t, want, nil)
	for method, verb := range map[Method]string{InPlace: "apply", Recreate: "dry run"} {
		plan, err := Children(setOf(have), setOf(want), onServerSide(method))
		if err != nil {
			t.Fatal(err)
		}
		checkOps(t, plan.Ops, verb+" Pod default/a: it was not applied with server-side apply before")
		if !plan.Ops[0].Migrate || plan.Ops[0].Answered {
			t.Errorf("got %+v", plan.Ops[0])
		}
	}
}

func TestDigestOfEarlierVersionsIsRemoved(t *testing.T) {
	want := parseObject(t, wanted)
	have := applied(t, want, set("old", "metadata", "annotations", AppliedDigest))
	for method, verb := range map[Method]string{InPlace: "apply", Recreate: "dry run", OnDelete: ""} {
		plan, err := Children(setOf(have), setOf(want), onServerSide(method).of(t, have))
		if err != nil {
			t.Fatal(err)
		}
		if method == OnDelete {
			checkOps(t, plan.Ops)
			continue
		}
		checkOps(t, plan.Ops, verb+" Pod default/a: annotation metacontroller.k8s.io/applied-digest is to be removed")
		if plan.Ops[0].Object.GetAnnotations()[AppliedDigest] != "" {
			t.Errorf("it is applied again: %v", plan.Ops[0].Object)
		}
		next := AfterDryRun(plan.Ops[0], edited(object.Copy(have), set(nil, "metadata", "annotations")), nil)
		if next == nil || next.Verb != Apply {
			t.Errorf("a dry run that removes the annotation leads to %v, want an apply", next)
		}
	}
	// An annotation that somebody else owns would not be removed by an apply.
	plan, err := Children(setOf(have), setOf(want), onServerSide(InPlace).of(t, configOf(t, want)))
	if err != nil || len(plan.Ops) > 0 {
		t.Errorf("somebody else's: got %v, %v, want nothing to do", texts(plan.Ops), err)
	}
}

func TestDryRunDecidesAboutRecreation(t *testing.T) {
	want := parseObject(t, wanted)
	base := applied(t, want, nil)
	for _, c := range []struct {
		name     string
		have     func(*object.Object) // how the child is
		result   func(*object.Object) // how it would be
		migrate  bool
		answered bool
		want     string
	}{
		{"equal", nil, nil, false, false, ""},
		{"equal in another version", nil, all(set("9", "metadata", "resourceVersion"), set(int64(2), "metadata", "generation"), set([]any{}, "metadata", "managedFields")), false, false, ""},
		{"a difference", set("old", "spec", "image"), nil, false, false, "delete Pod default/a: to be recreated: spec.image differs"},
		{"equal, and handed over", nil, nil, true, false, "apply Pod default/a: it is as desired, but was last applied in another way"},
		{"equal but for the digest of an earlier version", set("x", "metadata", "annotations", AppliedDigest), nil, false, false, "apply Pod default/a: it is as desired, but was last applied in another way"},
		{"drift, and the same is applied", set("old", "spec", "image"), nil, false, true, ""},
		{"another value that is not the applied one", set("theirs-1", "spec", "image"), set("theirs-2", "spec", "image"), false, true, ""},
		{"a field that was not applied", nil, set("x", "metadata", "annotations", "stamped"), false, true, ""},
		{"gone", nil, set("another", "metadata", "uid"), false, false, ""},
	} {
		have, result := object.Copy(base), object.Copy(base)
		orNone(c.have)(have)
		orNone(c.result)(result)
		op := Op{Verb: DryRun, Object: base, Wanted: base, Observed: have, Recreates: true, Migrate: c.migrate, Content: "c", Answered: c.answered}
		check := unchanged(t, have.Map(), result.Map())
		differs, _, _, err := (Policy{}).Changes(op, result)
		if err != nil {
			t.Fatal(err)
		}
		next := AfterDryRun(op, result, differs)
		check()
		got := ""
		if next != nil {
			got = next.String()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if next != nil && next.Verb == Delete && (next.Content != "c" || next.Object.GetResourceVersion() != result.GetResourceVersion()) {
			t.Errorf("%s: got %+v", c.name, next)
		}
	}
}

func TestRecreateImmutable(t *testing.T) {
	have := applied(t, parseObject(t, wanted), nil)
	for want, op := range map[string]Op{
		"delete Pod default/a: to be recreated: spec.env differs, and it cannot be changed in place": {Observed: have, Object: have, Differs: Path{"spec", "env"}, Content: "c"},
		"delete Pod default/a: to be recreated: it cannot be changed in place":                       {Observed: have, Object: have},
	} {
		got := RecreateImmutable(op)
		if got.String() != want || got.Object != have || got.Content != op.Content || got.Differs.String() != op.Differs.String() {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

// TestServerSideApplyIsStable tries random children: what was applied is left alone, with and without a memory, and
// whatever the hook or somebody else changes of it calls for a write.
func TestServerSideApplyIsStable(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	for range 3000 {
		want := g.child(podKind, "a")
		policy := onServerSide(InPlace).of(t, configOf(t, want))
		have := applied(t, want, nil)
		quiet := func(when string) {
			t.Helper()
			if plan, err := Children(setOf(have), setOf(want), policy); err != nil || len(plan.Ops) > 0 {
				t.Fatalf("%s: got %v (%v) for %v", when, texts(plan.Ops), err, want.Map())
			}
		}
		quiet("without a memory")
		config, _ := policy.configuration(want)
		note(t, policy, have, want)
		quiet("with a memory")
		drifted, changed := object.Copy(have), object.Copy(want)
		g.edit(drifted.Map()["spec"].(map[string]any), 3)
		g.edit(changed.Map()["spec"].(map[string]any), 3)
		plan, err := Children(setOf(drifted), setOf(want), policy)
		if d := lacks(contentOf(drifted), config.plain.Map()); err != nil || d != nil && len(plan.Ops) != 1 {
			t.Fatalf("%s was changed: got %v (%v)", d, texts(plan.Ops), err)
		}
		now, _ := policy.configuration(changed)
		plan, err = Children(setOf(have), setOf(changed), policy)
		if differs := now.sum != config.sum; err != nil || differs != (len(plan.Ops) == 1) {
			t.Fatalf("something else is wanted, %t: got %v (%v)", differs, texts(plan.Ops), err)
		}
	}
}

func TestMigrationToDynamicApply(t *testing.T) {
	want := parseObject(t, wanted)
	const update = "update Pod default/a: from server-side apply back to dynamic apply"
	for _, c := range []struct {
		name    string
		method  Method
		have    func(*object.Object)
		want    *object.Object
		applied bool // by this server, just before
		op      string
	}{
		{"as it was applied", InPlace, nil, want, false, ""},
		{"as it was applied, and Recreate", Recreate, nil, want, false, ""},
		{"as it was applied just now", InPlace, nil, want, true, update},
		{"as it was applied just now, and Recreate", Recreate, nil, want, true, update},
		{"that drifted, and Recreate", Recreate, set("old", "spec", "image"), want, false, "dry run Pod default/a: spec.image differs"},
		{"from which something is to be removed", InPlace, nil, pod(t, "a", "new"), false, "apply Pod default/a: something in it is no longer desired"},
		{"from which something is to be removed, and Recreate", Recreate, nil, pod(t, "a", "new"), false, "dry run Pod default/a: something in it is no longer desired"},
		{"and OnDelete", OnDelete, nil, want, true, ""},
	} {
		have := applied(t, want, c.have)
		policy := Policy{Rules: rulesFor(c.method), Memory: Memory{}}.of(t, configOf(t, want))
		if c.applied {
			note(t, policy, have, want)
		}
		var expected []string
		if c.op != "" {
			expected = []string{c.op}
		}
		plan, err := Children(setOf(have), setOf(c.want), policy)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.name, func(t *testing.T) { checkOps(t, plan.Ops, expected...) })
		if c.op != update || len(plan.Ops) == 0 {
			continue
		}
		back := object.Copy(have)
		annotate(back, lastApplied(t, stored(t, c.want)))
		if diff := cmp.Diff(back, plan.Ops[0].Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A child that server-side apply wrote before the strategy changed stays as it is until the hook returns something else.
func TestChangeOfStrategyWritesNothing(t *testing.T) {
	want := parseObject(t, wanted)
	have := applied(t, want, nil)
	for _, method := range []Method{InPlace, Recreate} {
		policy := Policy{Rules: rulesFor(method), Memory: Memory{}, ServerSide: true}.of(t, configOf(t, want))
		note(t, policy, have, want)
		policy.ServerSide = false
		plan, err := Children(setOf(have), setOf(want), policy)
		if err != nil {
			t.Fatal(err)
		}
		checkOps(t, plan.Ops)
	}
}

func TestMemoryKeepsOnlyExistingChildren(t *testing.T) {
	memory := Memory{"uid-a": {}, "uid-b": {}}
	object.KeepOnly(memory, setOf(applied(t, parseObject(t, wanted), nil)))
	if diff := cmp.Diff([]types.UID{"uid-a"}, slices.Collect(maps.Keys(memory))); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
	object.KeepOnly(memory, &object.Set{})
	if len(memory) > 0 {
		t.Errorf("without children there is %v", memory)
	}
}

func TestPathString(t *testing.T) {
	for want, path := range map[string]Path{
		"": nil, "spec": {"spec"}, "spec.containers[0].image": {"spec", "containers", 0, "image"}, "a[1][2]": {"a", 1, 2},
		"metadata.annotations.example.com/x": {"metadata", "annotations", "example.com/x"},
	} {
		if got := path.String(); got != want {
			t.Errorf("%#v reads %q, want %q", path, got, want)
		}
	}
}

// What is remembered of a child does not keep what was stored in memory.
func TestMemoryKeepsNoObjects(t *testing.T) {
	for _, verb := range []Verb{Apply, Update} {
		policy := Policy{Memory: Memory{}}
		content, err := packed.Pack(parseObject(t, storedPod).Map())
		if err != nil {
			t.Fatal(err)
		}
		there, written := content.Ref(), parseObject(t, misspelled)
		if err := policy.NoteWritten(Op{Verb: verb, Object: written, Wanted: written}, object.OfPacked(content)); err != nil || len(policy.Memory) != 1 {
			t.Fatal(policy.Memory, err)
		}
		if runtime.GC(); !there.To(packed.Map{}) {
			t.Errorf("%s: an object is in memory since %v was noted", verb, policy.Memory)
		}
	}
}

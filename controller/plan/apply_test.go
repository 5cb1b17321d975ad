package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// lastApplied is the annotation on o, which is what Metacontroller would read.
func lastApplied(t testing.TB, o *object.Object) string {
	t.Helper()
	text, found := o.GetAnnotations()[LastApplied]
	if !found {
		t.Fatalf("%s has no annotation %s", object.Describe(o), LastApplied)
	}
	return text
}

func TestAnnotationHasNameOfMetacontroller(t *testing.T) {
	if want := "metacontroller.k8s.io/last-applied-configuration"; LastApplied != want {
		t.Errorf("LastApplied = %q, want %q", LastApplied, want)
	}
}

// The text equals that of Metacontroller to the byte, so the cases are texts and no round trips.
func TestAnnotationText(t *testing.T) {
	for _, c := range []struct{ name, desired, want string }{
		{
			"keys are sorted at every depth",
			`{kind: Pod, apiVersion: v1, metadata: {namespace: default, name: a}, spec: {b: {d: 1, c: 2}, a: [{z: 1, x: 2}]}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default"},"spec":{"a":[{"x":2,"z":1}],"b":{"c":2,"d":1}}}`,
		}, {
			"HTML is escaped",
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {command: ["a <b> && c"]}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"command":["a \u003cb\u003e \u0026\u0026 c"]}}`,
		}, {
			"text is escaped as encoding/json does",
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {s: "tab\t quote\" back\\ grüße 👋 line\u2028sep bell\a"}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"s":"tab\t quote\" back\\ grüße 👋 line\u2028sep bell\u0007"}}`,
		}, {
			"nulls are kept",
			`{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: null, labels: {x: null}}, spec: {k: null, l: [{m: null}, null]}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":null,"labels":{"x":null},"name":"a"},"spec":{"k":null,"l":[{"m":null},null]}}`,
		}, {
			"status is kept",
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"status":{"phase":"Running"}}`,
		}, {
			"what belongs to the server is kept",
			`{apiVersion: v1, kind: Pod, metadata: {name: a, uid: u, resourceVersion: "7", ownerReferences: [{uid: o}]}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","ownerReferences":[{"uid":"o"}],"resourceVersion":"7","uid":"u"}}`,
		}, {
			"empty maps and lists are kept",
			`{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {}}, spec: {e: {}, l: []}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{},"name":"a"},"spec":{"e":{},"l":[]}}`,
		}, {
			"numbers are exact",
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {a: 9007199254740993, b: 9223372036854775807, c: -1, d: 1.5, e: 1e21, f: 0.000000001}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"a":9007199254740993,"b":9223372036854775807,"c":-1,"d":1.5,"e":1e+21,"f":1e-9}}`,
		}, {
			"other annotations are kept",
			`{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {z: "1", a: <}}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"a":"\u003c","z":"1"},"name":"a"}}`,
		}, {
			"it does not contain itself",
			`{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {metacontroller.k8s.io/last-applied-configuration: "{}", b: "1"}}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"b":"1"},"name":"a"}}`,
		}, {
			"it does not contain itself beside an annotation that is null",
			`{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {metacontroller.k8s.io/last-applied-configuration: "{}", b: null}}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"b":null},"name":"a"}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := parseObject(t, c.desired)
			if got := lastApplied(t, created(t, want)); got != c.want {
				t.Errorf("annotation of a creation\n got %s\nwant %s", got, c.want)
			}
			have := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {differs: true}}`)
			have.SetNamespace(want.GetNamespace())
			want.Map()["spec2"] = true // a difference, so that there is an update
			ops := plan(t, setOf(have), setOf(want), Rules{podKind: InPlace})
			if len(ops) != 1 || ops[0].Verb != Update {
				t.Fatalf("operations %v, want one update", texts(ops))
			}
			got := parse(t, lastApplied(t, ops[0].Object))
			delete(got, "spec2")
			if diff := Difference(parse(t, c.want), got); diff != "" {
				t.Errorf("annotation of an update differs at %s: %v", diff, got)
			}
		})
	}
}

// A child that differs only in the annotation is never recreated. The annotation is written in place if it has other fields than are
// desired: a field that it lacks would not be removed with the one of the hook, and one that it has too much would be.
func TestDifferenceOnlyInAnnotation(t *testing.T) {
	const same = `"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default"}`
	for name, c := range map[string]struct {
		change func(o *object.Object)
		writes bool
	}{
		"no annotations at all":      {func(o *object.Object) { o.SetAnnotations(nil) }, true},
		"only others":                {func(o *object.Object) { o.SetAnnotations(map[string]string{"a": "1"}) }, true},
		"an empty text":              {func(o *object.Object) { annotate(o, "") }, true},
		"an empty object":            {func(o *object.Object) { annotate(o, "{}") }, true},
		"null":                       {func(o *object.Object) { annotate(o, "null") }, true},
		"something applied and gone": {func(o *object.Object) { annotate(o, `{`+same+`,"spec":{"image":"x","n":1}}`) }, true},
		"integers beyond what floats can": {func(o *object.Object) {
			annotate(o, `{`+same+`,"spec":{"image":"x","n":123456789012345678901234567890}}`)
		}, true},
		"another spelling":        {func(o *object.Object) { annotate(o, `{`+same+`, "spec": {"image": "x"}}`) }, false},
		"nulls that were applied": {func(o *object.Object) { annotate(o, `{`+same+`,"spec":{"image":"x","n":null}}`) }, false},
		"a status and what only the API server sets": {func(o *object.Object) {
			annotate(o, `{`+same[:len(same)-1]+`,"uid":"u","resourceVersion":"5"},"spec":{"image":"x"},"status":{"phase":"Running"}}`)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, method := range methods {
				have := stored(t, pod(t, "a", "x"))
				c.change(have)
				ops := plan(t, setOf(have), setOf(pod(t, "a", "x")), rulesFor(method))
				if !c.writes || method == OnDelete || method == "" {
					checkOps(t, ops)
					continue
				}
				checkOps(t, ops, "update Pod default/a: annotation metacontroller.k8s.io/last-applied-configuration has something else than is desired")
				if lastApplied(t, ops[0].Object) != lastApplied(t, stored(t, pod(t, "a", "x"))) || Difference(have.Map(), ops[0].Object.Map()) != "" {
					t.Errorf("method %s: it writes %v", method, ops[0].Object)
				}
			}
		})
	}
}

// A hook that returns the observed child, with its annotation and what the API server sets, does not have the annotation written.
func TestEchoIsNoOtherAnswer(t *testing.T) {
	have := stored(t, pod(t, "a", "x"))
	for _, name := range []string{"", "seen", "seen"} {
		echo := object.Copy(have)
		echo.SetResourceVersion(name)
		checkOps(t, plan(t, setOf(have), setOf(echo), Rules{podKind: InPlace}))
	}
}

// A hook may return the observed child with its annotation. The text stays the same each time.
func TestAnnotationDoesNotGrowWithEchoedChild(t *testing.T) {
	have := stored(t, pod(t, "a", "x"))
	first := lastApplied(t, have)
	for i := range 5 {
		echo := object.Copy(have)
		metadata := echo.Map()["metadata"].(map[string]any)
		for _, name := range system {
			delete(metadata, name)
		}
		metadata["annotations"].(map[string]any)["round"] = fmt.Sprint(i)
		metadata["annotations"].(map[string]any)["null"] = nil
		ops := plan(t, setOf(have), setOf(echo), Rules{podKind: InPlace})
		checkOps(t, ops, "update Pod default/a: metadata.annotations.round differs")
		have = ops[0].Object
		want := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"null":null,"round":"%d"},"name":"a","namespace":"default"},"spec":{"image":"x"}}`, i)
		if got := lastApplied(t, have); got != want {
			t.Fatalf("annotation in round %d\n got %s\nwant %s", i, got, want)
		}
	}
	if len(first) == 0 {
		t.Error("the child was created without the annotation")
	}
}

func TestUndesiredAppliedFieldsAreRemoved(t *testing.T) {
	have := parseObject(t, `
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: default
  labels: {app: x, old: z, theirs: t}
  annotations:
    theirs: t
    old: z
    metacontroller.k8s.io/last-applied-configuration: >-
      {"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"old":"z"},"labels":{"app":"x","old":"z"},"name":"a","namespace":"default"},"spec":{"image":"x","ports":[{"containerPort":80},{"containerPort":8080}]}}
spec: {image: x, nodeName: n1, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 8080, protocol: TCP}, {containerPort: 1, protocol: UDP}]}
`)
	want := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, labels: {app: x}, annotations: {}}, spec: {image: x, ports: [{containerPort: 8080}]}}`)
	ops := plan(t, setOf(have), setOf(want), Rules{podKind: InPlace})
	checkOps(t, ops, "update Pod default/a: metadata.annotations.old differs")
	after := parse(t, `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default, labels: {app: x, theirs: t}, annotations: {theirs: t}}
spec: {image: x, nodeName: n1, ports: [{containerPort: 8080, protocol: TCP}, {containerPort: 1, protocol: UDP}]}
`)
	if diff := Difference(after, ops[0].Object.Map()); diff != "" {
		t.Errorf("the updated object differs from what is wanted at %s:\n%v", diff, ops[0].Object.Map())
	}
	checkOps(t, plan(t, setOf(ops[0].Object), setOf(want), Rules{podKind: InPlace}))
}

func TestLargeIntegersInAnnotationAreExact(t *testing.T) {
	text := `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {l: [%s]}}`
	have := stored(t, parseObject(t, fmt.Sprintf(text, `{uid: 9007199254740992}, {uid: 9007199254740993}`)))
	for _, item := range have.Map()["spec"].(map[string]any)["l"].([]any) {
		item.(map[string]any)["theirs"] = true
	}
	ops := plan(t, setOf(have), setOf(parseObject(t, fmt.Sprintf(text, `{uid: 9007199254740992}`))), Rules{podKind: InPlace})
	checkOps(t, ops, "update Pod default/a: spec.l differs")
	want := parse(t, `{l: [{uid: 9007199254740992, theirs: true}]}`)
	if diff := cmp.Diff(any(want), ops[0].Object.Map()["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestWithoutNulls(t *testing.T) {
	m := parse(t, `{a: null, b: {c: null, d: 1}, l: [{e: null}, null, [null, {f: null}]], m: {}}`)
	check := unchanged(t, m)
	clean := WithoutNulls(m)
	if diff := Difference(parse(t, `{b: {d: 1}, l: [{}, null, [null, {}]], m: {}}`), clean); diff != "" {
		t.Errorf("WithoutNulls differs at %s: %v", diff, clean)
	}
	objecttest.Scribble(clean)
	check()
}

func TestChildKeepsControllerReference(t *testing.T) {
	owner := map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": true}
	have := object.New(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "c", "ownerReferences": []any{owner}},
		"data":     map[string]any{"a": "old"},
	})
	echoed, err := apply(have, have)
	if err != nil {
		t.Fatal(err)
	}
	want := object.New(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}, "data": map[string]any{"a": "new"},
	})
	got, err := apply(echoed, want)
	if err != nil {
		t.Fatal(err)
	}
	if ref := object.ControllerOf(got); ref == nil || ref.UID != "1" {
		t.Errorf("its controller is %v, want Pod p as before", ref)
	}
}

func TestUnstoredEmptyFieldIsNotDifference(t *testing.T) {
	want := func() *object.Object {
		return object.New(map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "labels": map[string]any{}},
			"deep": map[string]any{"er": map[string]any{"null": nil}},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "env": []any{}}}},
		})
	}
	stored, err := fresh(want())
	if err != nil {
		t.Fatal(err)
	}
	delete(metadata(stored), "labels")
	delete(stored.Map(), "deep")
	delete(stored.Map()["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any), "env")
	op, _, err := (Policy{}).dynamic(stored, want(), Recreate)
	if err != nil || op != nil {
		t.Errorf("got %v, %v, want nothing to do", op, err)
	}
	changed := want()
	changed.Map()["spec"].(map[string]any)["hostNetwork"] = map[string]any{}
	if op, _, err = (Policy{}).dynamic(stored, changed, Recreate); err != nil || op == nil || op.Differs.String() != "spec.hostNetwork" || op.Answered {
		t.Errorf("an empty field that is new: got %v, %v, want that it is recreated", op, err)
	}
}

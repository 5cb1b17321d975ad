package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

var podKind = object.Kind{Version: "v1", Kind: "Pod"}

// pod is a Pod of that name with an image, as a hook would ask for it.
func pod(t testing.TB, name, image string) *object.Object {
	t.Helper()
	return parseObject(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: default}, spec: {image: %s}}`, name, image))
}

// stored is want as the API server has it after Children created it.
func stored(t testing.TB, want *object.Object) *object.Object {
	t.Helper()
	o := object.Copy(created(t, want))
	metadata := o.Map()["metadata"].(map[string]any)
	metadata["uid"], metadata["resourceVersion"], metadata["generation"] = "uid-"+o.GetName(), "7", int64(1)
	metadata["creationTimestamp"] = "2024-02-29T01:02:03Z"
	return o
}

func deleting(o *object.Object) *object.Object {
	o.Map()["metadata"].(map[string]any)["deletionTimestamp"] = "2024-02-29T02:03:04Z"
	return o
}

func TestOpString(t *testing.T) {
	op := Op{Verb: Update, Object: pod(t, "web-0", "a"), Why: "spec.image differs"}
	if got, want := op.String(), "update Pod default/web-0: spec.image differs"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	op = Op{Verb: UpdateStatus, Object: parseObject(t, `{kind: Node, metadata: {name: n1}}`), Why: "the hook's answer"}
	if got, want := op.String(), "update status Node n1: the hook's answer"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

// methods are all there are, "" for a kind without a rule.
var methods = []Method{"", OnDelete, Recreate, InPlace, RollingRecreate, RollingInPlace}

func rulesFor(method Method) Rules {
	if method == "" {
		return nil
	}
	return Rules{podKind: method}
}

func TestMethodDecidesAboutDifferingChild(t *testing.T) {
	for method, want := range map[Method][]string{
		"":              nil,
		OnDelete:        nil,
		Recreate:        {"delete Pod default/a: to be recreated: spec.image differs"},
		RollingRecreate: {"delete Pod default/a: to be recreated: spec.image differs"},
		InPlace:         {"update Pod default/a: spec.image differs"},
		RollingInPlace:  {"update Pod default/a: spec.image differs"},
	} {
		t.Run("method "+string(method), func(t *testing.T) {
			checkOps(t, plan(t, setOf(stored(t, pod(t, "a", "old"))), setOf(pod(t, "a", "new")), rulesFor(method)), want...)
		})
	}
}

func TestEveryMethodCreatesAndDeletesChildren(t *testing.T) {
	for _, method := range methods {
		t.Run("method "+string(method), func(t *testing.T) {
			observed := setOf(stored(t, pod(t, "unwanted", "x")), stored(t, pod(t, "same", "x")))
			desired := setOf(pod(t, "same", "x"), pod(t, "missing", "x"))
			checkOps(t, plan(t, observed, desired, rulesFor(method)),
				"create Pod default/missing: desired and missing",
				"delete Pod default/unwanted: no longer desired")
		})
	}
}

func TestNoMethodChangesEqualChild(t *testing.T) {
	for _, method := range methods {
		checkOps(t, plan(t, setOf(stored(t, pod(t, "a", "x"))), setOf(pod(t, "a", "x")), rulesFor(method)))
	}
}

func TestNoMethodChangesChildBeingDeleted(t *testing.T) {
	for _, method := range methods {
		observed := setOf(deleting(stored(t, pod(t, "differs", "old"))), deleting(stored(t, pod(t, "unwanted", "x"))), deleting(stored(t, pod(t, "same", "x"))))
		desired := setOf(pod(t, "differs", "new"), pod(t, "same", "x"))
		checkOps(t, plan(t, observed, desired, rulesFor(method)))
	}
}

func TestRulesPerKind(t *testing.T) {
	configMap := func(data string) *object.Object {
		return parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {k: `+data+`}}`)
	}
	observed := setOf(stored(t, pod(t, "a", "old")), stored(t, configMap("old")))
	desired := setOf(configMap("new"), pod(t, "a", "new"))
	checkOps(t, plan(t, observed, desired, Rules{podKind: Recreate, configMap("x").GroupVersionKind(): InPlace}),
		"update ConfigMap default/a: data.k differs",
		"delete Pod default/a: to be recreated: spec.image differs")
}

func TestOrderOfOperations(t *testing.T) {
	observed := setOf(stored(t, pod(t, "gone-z", "x")), stored(t, pod(t, "b", "old")), stored(t, pod(t, "gone-a", "x")))
	desired := setOf(pod(t, "z", "x"), pod(t, "b", "new"), pod(t, "a", "x"))
	checkOps(t, plan(t, observed, desired, Rules{podKind: InPlace}),
		"create Pod default/z: desired and missing",
		"update Pod default/b: spec.image differs",
		"create Pod default/a: desired and missing",
		"delete Pod default/gone-z: no longer desired",
		"delete Pod default/gone-a: no longer desired")
}

func TestChildrenInDifferentNamespacesAreDistinct(t *testing.T) {
	elsewhere := pod(t, "a", "x")
	elsewhere.SetNamespace("other")
	checkOps(t, plan(t, setOf(stored(t, pod(t, "a", "x"))), setOf(elsewhere), nil),
		"create Pod other/a: desired and missing",
		"delete Pod default/a: no longer desired")
}

func TestUpdateMergesDesiredIntoObserved(t *testing.T) {
	have := stored(t, pod(t, "a", "old"))
	have.Map()["status"] = map[string]any{"phase": "Running"}
	have.Map()["spec"].(map[string]any)["nodeName"] = "n1"
	have.SetFinalizers([]string{"theirs"})
	want := pod(t, "a", "new")
	ops := plan(t, setOf(have), setOf(want), Rules{podKind: InPlace})
	checkOps(t, ops, "update Pod default/a: spec.image differs")

	updated := object.Copy(have)
	updated.Map()["spec"].(map[string]any)["image"] = "new"
	annotate(updated, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default"},"spec":{"image":"new"}}`)
	if diff := cmp.Diff(updated, ops[0].Object); diff != "" {
		t.Errorf("updated object (-want +got):\n%s", diff)
	}
}

func annotate(o *object.Object, text string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[LastApplied] = text
	o.SetAnnotations(annotations)
}

func TestDeletionHasObservedObject(t *testing.T) {
	have := stored(t, pod(t, "a", "x"))
	for _, desired := range []*object.Set{setOf(), setOf(pod(t, "a", "new"))} {
		ops := plan(t, setOf(have), desired, Rules{podKind: Recreate})
		if len(ops) != 1 || ops[0].Verb != Delete {
			t.Fatalf("operations %v, want one deletion", texts(ops))
		}
		if diff := cmp.Diff(have, ops[0].Object); diff != "" {
			t.Errorf("deleted object (-want +got):\n%s", diff)
		}
	}
}

// observedMetadata is what a script may hand back of a child it saw.
const observedMetadata = `
  uid: uid-other
  resourceVersion: "99"
  generation: 3
  creationTimestamp: "2024-01-01T00:00:00Z"
  deletionTimestamp: "2024-01-02T00:00:00Z"
  deletionGracePeriodSeconds: 30
  selfLink: /api/v1/x
  managedFields: [{manager: kubelet}]`

func TestSystemFieldsAreNotCreated(t *testing.T) {
	want := parseObject(t, `
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: default
  labels: {app: x}`+observedMetadata+`
spec: {image: x}
`)
	metadata := created(t, want).Map()["metadata"].(map[string]any)
	delete(metadata, "annotations")
	if diff := cmp.Diff(parse(t, `{name: a, namespace: default, labels: {app: x}}`), metadata); diff != "" {
		t.Errorf("created metadata (-want +got):\n%s", diff)
	}
}

func TestSystemFieldsAreKeptAndNotCompared(t *testing.T) {
	text := `
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: default` + observedMetadata + `
spec: {image: %s}
status: {phase: Pending}
`
	have := stored(t, pod(t, "a", "x"))
	have.Map()["status"] = map[string]any{"phase": "Running"}
	for _, method := range methods {
		checkOps(t, plan(t, setOf(have), setOf(parseObject(t, fmt.Sprintf(text, "x"))), rulesFor(method)))
	}

	ops := plan(t, setOf(have), setOf(parseObject(t, fmt.Sprintf(text, "new"))), Rules{podKind: InPlace})
	checkOps(t, ops, "update Pod default/a: spec.image differs")
	got := object.Copy(ops[0].Object).Map()
	delete(got["metadata"].(map[string]any), "annotations")
	want := parse(t, `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default, uid: uid-a, resourceVersion: "7", generation: 1, creationTimestamp: "2024-02-29T01:02:03Z"}
spec: {image: new}
status: {phase: Running}
`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("updated object (-want +got):\n%s", diff)
	}
}

func TestStatusIsNeverChanged(t *testing.T) {
	for name, c := range map[string]struct{ observed, desired string }{
		"set by the server, another desired": {`{phase: Running, ip: 10.0.0.1}`, `{phase: Pending}`},
		"set by the server, none desired":    {`{phase: Running}`, ``},
		"none there, one desired":            {``, `{phase: Pending}`},
		"a null desired":                     {`{phase: Running}`, `null`},
		"of another type":                    {`{phase: Running}`, `[1]`},
	} {
		t.Run(name, func(t *testing.T) {
			have, want := stored(t, pod(t, "a", "x")), pod(t, "a", "x")
			if c.observed != "" {
				have.Map()["status"] = parse(t, `{s: `+c.observed+`}`)["s"]
			}
			if c.desired != "" {
				want.Map()["status"] = parse(t, `{s: `+c.desired+`}`)["s"]
			}
			checkOps(t, plan(t, setOf(have), setOf(want), Rules{podKind: InPlace}))

			want.Map()["spec"].(map[string]any)["image"] = "new"
			ops := plan(t, setOf(have), setOf(want), Rules{podKind: InPlace})
			checkOps(t, ops, "update Pod default/a: spec.image differs")
			status, found := ops[0].Object.Map()["status"]
			if diff := cmp.Diff(have.Map()["status"], status); diff != "" || found != (c.observed != "") {
				t.Errorf("status written, found %v (-observed +written):\n%s", found, diff)
			}
		})
	}
}

func TestEarlierAppliedStatusIsNotRemoved(t *testing.T) {
	withStatus := pod(t, "a", "x")
	withStatus.Map()["status"] = map[string]any{"phase": "Pending"}
	have := stored(t, withStatus)
	have.Map()["status"] = map[string]any{"phase": "Running"}
	checkOps(t, plan(t, setOf(have), setOf(pod(t, "a", "x")), Rules{podKind: Recreate}))
}

func TestNullFieldsEqualMissingFields(t *testing.T) {
	withNulls := parseObject(t, `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default, creationTimestamp: null, labels: {app: x, gone: null}, annotations: null}
spec: {image: x, nodeName: null, template: {metadata: {creationTimestamp: null}}, containers: [{name: c, resources: null}]}
`)
	o := created(t, withNulls)
	want := parse(t, `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default, labels: {app: x}}
spec: {image: x, template: {metadata: {}}, containers: [{name: c}]}
`)
	got := object.Copy(o).Map()
	delete(got["metadata"].(map[string]any), "annotations")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("created object (-want +got):\n%s", diff)
	}
	for _, method := range methods {
		checkOps(t, plan(t, setOf(stored(t, withNulls)), setOf(withNulls), rulesFor(method)))
	}
}

func TestNullRemovesAppliedField(t *testing.T) {
	have := stored(t, parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {image: x, nodeName: n1}}`))
	want := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {image: x, nodeName: null}}`)
	ops := plan(t, setOf(have), setOf(want), Rules{podKind: InPlace})
	checkOps(t, ops, "update Pod default/a: spec.nodeName differs")
	if diff := cmp.Diff(any(parse(t, `{image: x}`)), ops[0].Object.Map()["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestNullKeepsFieldSetByOthers(t *testing.T) {
	have := stored(t, pod(t, "a", "x"))
	have.Map()["spec"].(map[string]any)["nodeName"] = "n1"
	want := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {image: x, nodeName: null}}`)
	for _, method := range methods {
		planned, err := Children(setOf(have), setOf(want), Policy{Rules: rulesFor(method), Kept: map[types.UID]Kept{have.GetUID(): {"spec.nodeName": true}}})
		if err != nil {
			t.Fatal(err)
		}
		checkOps(t, planned.Ops)
		nulls, err := (Policy{}).Nulls(have, want)
		if err != nil || len(nulls) != 1 || nulls[0].String() != "spec.nodeName" {
			t.Errorf("the nulls that may remove a field are %v, %v", nulls, err)
		}
	}
}

// A null that is new removes a default, and only then, and the write can also be done without that.
func TestNullRemovesDefault(t *testing.T) {
	before := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {strategy: {type: Rolling}, volumes: [{name: v}, {name: w}]}}`)
	have := stored(t, before)
	spec := have.Map()["spec"].(map[string]any)
	spec["strategy"].(map[string]any)["rolling"] = map[string]any{"max": int64(1)}
	spec["volumes"].([]any)[0].(map[string]any)["emptyDir"] = map[string]any{}
	want := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {strategy: {type: Recreate, rolling: null}, volumes: [{name: w}, {name: v, emptyDir: null, secret: {secretName: s}}]}}`)
	ops := plan(t, setOf(have), setOf(want), Rules{podKind: InPlace})
	checkOps(t, ops, "update Pod default/a: spec.strategy.rolling differs")
	if diff := cmp.Diff(any(parse(t, `{strategy: {type: Recreate}, volumes: [{name: w}, {name: v, secret: {secretName: s}}]}`)), ops[0].Object.Map()["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(any(parse(t, `{strategy: {type: Recreate, rolling: {max: 1}}, volumes: [{name: w}, {name: v, emptyDir: {}, secret: {secretName: s}}]}`)), ops[0].Plain.Map()["spec"]); diff != "" {
		t.Errorf("spec without removals (-want +got):\n%s", diff)
	}
	have = ops[0].Object
	have.Map()["spec"].(map[string]any)["strategy"].(map[string]any)["rolling"] = map[string]any{} // a default again
	checkOps(t, plan(t, setOf(have), setOf(want), Rules{podKind: InPlace}))
}

// The order of the answer is written with another change, and is no difference alone.
func TestOrderOfItems(t *testing.T) {
	const format = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {image: %s, env: %s}}`
	before := parseObject(t, fmt.Sprintf(format, "x", `[{name: a}, {name: b}]`))
	have := stored(t, before)
	have.Map()["spec"].(map[string]any)["env"] = []any{map[string]any{"name": "sidecar"}, map[string]any{"name": "b"}, map[string]any{"name": "a"}}
	for _, method := range methods {
		checkOps(t, plan(t, setOf(have), setOf(before), rulesFor(method)))
	}
	for edit, want := range map[string][]string{
		fmt.Sprintf(format, "x", `[{name: b}, {name: a}]`):              {"b", "a", "sidecar"},
		fmt.Sprintf(format, "y", `[{name: a}, {name: b}]`):              {"a", "b", "sidecar"},
		fmt.Sprintf(format, "x", `[{name: new}, {name: b}, {name: a}]`): {"new", "b", "a", "sidecar"},
	} {
		ops := plan(t, setOf(have), setOf(parseObject(t, edit)), Rules{podKind: InPlace})
		if len(ops) != 1 {
			t.Fatalf("%s: got %v", edit, ops)
		}
		var got []string
		for _, item := range ops[0].Object.Map()["spec"].(map[string]any)["env"].([]any) {
			got = append(got, item.(map[string]any)["name"].(string))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", edit, diff)
		}
	}
	checkOps(t, plan(t, setOf(have), setOf(parseObject(t, fmt.Sprintf(format, "x", `[{name: b}, {name: a}]`))), Rules{podKind: Recreate}))
}

// stringData is compared and written as data.
func TestStringDataIsData(t *testing.T) {
	secret := func(fields string) *object.Object {
		return parseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, `+fields+`}`)
	}
	kind := secret("type: Opaque").GroupVersionKind()
	want := secret(`stringData: {a: x, b: "y"}, data: {a: b3RoZXI=, c: eg==}`)
	have := stored(t, want)
	if diff := cmp.Diff(parse(t, `{a: eA==, b: eQ==, c: eg==}`), have.Map()["data"]); diff != "" || have.Map()["stringData"] != nil {
		t.Fatalf("created (-want +got):\n%s", diff)
	}
	for _, method := range []Method{Recreate, InPlace} {
		checkOps(t, plan(t, setOf(have), setOf(want), Rules{kind: method}))
	}
	drifted := object.Copy(have)
	drifted.Map()["data"].(map[string]any)["a"] = "Zm9yZWlnbg=="
	checkOps(t, plan(t, setOf(drifted), setOf(want), Rules{kind: InPlace}), "update Secret default/s: data.a differs")
	ops := plan(t, setOf(have), setOf(secret(`stringData: {a: x}`)), Rules{kind: InPlace})
	checkOps(t, ops, "update Secret default/s: data.b differs")
	if diff := cmp.Diff(parse(t, `{a: eA==}`), ops[0].Object.Map()["data"]); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}
	invalid := secret(`stringData: {a: 1}`)
	if o := created(t, invalid); o.Map()["stringData"] == nil {
		t.Errorf("stringData that the API server refuses is hidden from it: %v", o)
	}
}

func TestAppliedNullDoesNotOwnField(t *testing.T) {
	have := stored(t, parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {image: x, nodeName: null}}`))
	have.Map()["spec"].(map[string]any)["nodeName"] = "n1" // the scheduler's
	for _, method := range methods {
		checkOps(t, plan(t, setOf(have), setOf(pod(t, "a", "x")), rulesFor(method)))
	}
}

func TestIntegersEqualWholeFloats(t *testing.T) {
	want := pod(t, "a", "x")
	want.Map()["spec"].(map[string]any)["n"] = 3.0
	have := stored(t, want)
	have.Map()["spec"].(map[string]any)["n"] = int64(3)
	if got, text := lastApplied(t, created(t, want)), `"spec":{"image":"x","n":3}`; !strings.Contains(got, text) {
		t.Errorf("annotation %s, want it to contain %s", got, text)
	}
	for _, method := range methods {
		checkOps(t, plan(t, setOf(have), setOf(want), rulesFor(method)))
	}
}

func TestUnobservedKindIsCreated(t *testing.T) {
	checkOps(t, plan(t, &object.Set{}, setOf(pod(t, "a", "x")), nil), "create Pod default/a: desired and missing")
}

func TestNoChildrenNoOperations(t *testing.T) {
	declared := &object.Set{}
	declared.Declare(podKind)
	checkOps(t, plan(t, declared, &object.Set{}, Rules{podKind: Recreate}))
}

func TestErrorForOneChildDoesNotStopOthers(t *testing.T) {
	broken := func(name, annotation string) *object.Object {
		o := stored(t, pod(t, name, "old"))
		annotate(o, annotation)
		return o
	}
	observed := setOf(broken("bad-1", "{"), stored(t, pod(t, "b", "old")), broken("bad-2", "[]"), stored(t, pod(t, "gone", "x")))
	desired := setOf(pod(t, "a", "x"), pod(t, "bad-1", "new"), pod(t, "b", "new"), pod(t, "bad-2", "new"))
	plan, err := Children(observed, desired, Policy{Rules: Rules{podKind: InPlace}})
	checkOps(t, plan.Ops,
		"create Pod default/a: desired and missing",
		"update Pod default/b: spec.image differs",
		"delete Pod default/gone: no longer desired")
	lines := strings.Split(fmt.Sprint(err), "\n")
	for i, want := range []string{"Pod default/bad-1: annotation metacontroller.k8s.io/last-applied-configuration is not a JSON object: ", "Pod default/bad-2: annotation "} {
		if len(lines) != 2 || !strings.HasPrefix(lines[i], want) {
			t.Errorf("error %q, want line %d of 2 to begin with %q", err, i, want)
		}
	}
}

func TestChildrenDoesNotChangeArguments(t *testing.T) {
	have := stored(t, pod(t, "b", "old"))
	have.Map()["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready"}}}
	have.Map()["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": "kubelet"}}
	want := parseObject(t, `
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: default, uid: other, annotations: {metacontroller.k8s.io/last-applied-configuration: old, a: null}}
spec: {image: new, k: null, l: [{name: x, v: null}]}
status: {phase: x}
`)
	observed := setOf(have, stored(t, pod(t, "same", "x")), stored(t, pod(t, "gone", "x")))
	desired := setOf(want, pod(t, "same", "x"), pod(t, "missing", "x"))
	for _, method := range methods {
		check := unchanged(t, mapsOf(observed, desired)...)
		ops := plan(t, observed, desired, rulesFor(method))
		check()
		for _, op := range ops {
			if op.Verb != Delete { // which carries what was observed
				objecttest.Scribble(op.Object.Map())
			}
		}
		check()
	}
}

func TestPlanIsDeterministic(t *testing.T) {
	// Go's maps have a new order with each run through them, so that repeating would show it.
	text := `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {a: %[1]d, b: %[1]d, c: %[1]d, d: %[1]d, e: %[1]d}}`
	have, want := stored(t, parseObject(t, fmt.Sprintf(text, 1))), parseObject(t, fmt.Sprintf(text, 2))
	var seen []string
	for range 50 {
		op := plan(t, setOf(have), setOf(want), Rules{podKind: InPlace})[0]
		seen = append(seen, op.String()+op.Object.GetAnnotations()[LastApplied])
	}
	slices.Sort(seen)
	if distinct := slices.Compact(seen); len(distinct) != 1 {
		t.Errorf("plans of the same children differ:\n%s", strings.Join(distinct, "\n"))
	}
}

// A child that is to be updated in place is not recreated, with any method; OnDelete still leaves it alone.
func TestChildIsUpdatedInPlaceOfRecreated(t *testing.T) {
	for _, method := range methods {
		for _, serverSide := range []bool{false, true} {
			have := stored(t, pod(t, "a", "old"))
			policy := Policy{Rules: rulesFor(method), ServerSide: serverSide, InPlace: func(child types.UID) bool { return child == have.GetUID() }}
			got, err := Children(setOf(have), setOf(pod(t, "a", "new")), policy)
			if err != nil {
				t.Fatal(err)
			}
			if !updates(method) {
				if len(got.Ops) > 0 || len(got.Suppressed) != 1 {
					t.Errorf("method %s: %v", method, got)
				}
				continue
			}
			want := Update
			if serverSide {
				want = Apply
			}
			if len(got.Ops) != 1 || got.Ops[0].Verb != want {
				t.Errorf("method %s, server-side %t: %v", method, serverSide, got.Ops)
			}
		}
	}
}

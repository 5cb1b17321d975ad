package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
)

const misspelled = `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: nginx, imagee: x, resources: {}}], hostNetwork: true}`

const storedPod = `
apiVersion: v1
kind: Pod
metadata: {name: p, uid: u, resourceVersion: "1"}
spec: {containers: [{name: c, image: nginx, imagePullPolicy: Always}], hostNetwork: true}
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

func TestUnstoredFieldIsNoDifference(t *testing.T) {
	for _, method := range []Method{Recreate, InPlace} {
		want := parseObject(t, misspelled)
		have := storedAs(t, storedPod, want)
		policy := Policy{Rules: Rules{want.GroupVersionKind(): method}, Unstored: Unstored{}}
		planned := func(have, want *object.Object) []Op {
			t.Helper()
			plan, err := Children(setOf(have), setOf(want), policy)
			if err != nil {
				t.Fatal(err)
			}
			return plan.Ops
		}
		ops := planned(have, want)
		if len(ops) != 1 || ops[0].Differs.String() != "spec.containers[0].imagee" {
			t.Fatalf("%s: got %v", method, ops)
		}
		created, err := fresh(want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"spec.containers[0].imagee"}, policy.Unstored.Note(have, created)); diff != "" {
			t.Errorf("%s: not stored (-want +got):\n%s", method, diff)
		}
		checkOps(t, planned(have, want))

		drifted := object.Copy(have)
		drifted.Map()["spec"].(map[string]any)["hostNetwork"] = false
		if ops := planned(drifted, want); len(ops) != 1 || ops[0].Differs.String() != "spec.hostNetwork" {
			t.Errorf("%s: after a drift: %v", method, ops)
		}
		edited := object.Copy(want)
		edited.Map()["spec"].(map[string]any)["hostname"] = "h"
		if ops := planned(have, edited); len(ops) != 1 {
			t.Errorf("%s: after an edit: %v", method, ops)
		}
		policy.Unstored.Keep(&object.Set{})
		if len(policy.Unstored) != 0 {
			t.Errorf("%s: a child that is gone is remembered", method)
		}
	}
}

func TestStoredFieldIsForgotten(t *testing.T) {
	want := parseObject(t, misspelled)
	unstored := Unstored{}
	have := storedAs(t, storedPod, want)
	written := storedAs(t, misspelled, want)
	written.SetUID("u")
	unstored.Note(have, written)
	if unstored.Note(written, written); len(unstored) != 0 {
		t.Errorf("got %v", unstored)
	}
}

func TestUnknownFieldsAloneAreNoReasonToRecreate(t *testing.T) {
	for name, c := range map[string]struct {
		want    string
		unknown []string
		settled bool
	}{
		"it is unknown":            {misspelled, []string{"spec.containers[0].imagee"}, true},
		"a field below is unknown": {misspelled, []string{"spec.containers[0].imagee.a"}, true},
		"nothing is unknown":       {misspelled, nil, false},
		"another is unknown":       {misspelled, []string{"spec.containers[0].imageee"}, false},
		"another differs":          {`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: nginx, imagee: x}], hostNetwork: false}}`, []string{"spec.containers[0].imagee"}, false},
	} {
		want := parseObject(t, c.want)
		have := storedAs(t, storedPod, want)
		policy := Policy{Rules: Rules{want.GroupVersionKind(): Recreate}, Unstored: Unstored{}}
		plan, err := Children(setOf(have), setOf(want), policy)
		if err != nil || len(plan.Ops) != 1 || plan.Ops[0].Verb != Delete {
			t.Fatalf("%s: got %v, %v", name, plan.Ops, err)
		}
		try, needed := plan.Ops[0].Try()
		if !needed || try.Verb != DryCreate || try.Verb.Stores() || try.Object.GetUID() != "" {
			t.Errorf("%s: the dry run is %v", name, try)
		}
		if settled := policy.Unstored.NoteUnknown(plan.Ops[0], c.unknown); settled != c.settled {
			t.Errorf("%s: got %t", name, settled)
		}
	}
}

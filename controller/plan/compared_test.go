package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/compared"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/ownership"
)

// A remembering plans the children of a parent in one round after the other, with and without what was remembered of the rounds before.
type remembering struct {
	generator
	kind     object.Kind
	parent   *object.Object
	have     []*object.Object // packed
	want     []*object.Object
	owned    map[types.UID]ownership.Fields
	policy   Policy
	inPlace  map[types.UID]bool
	marked   int // calls of SetControllerReference while differences were found
	counts   bool
	compared compared.Memory
}

func newRemembering(t *testing.T, seed uint64) *remembering {
	r := &remembering{
		generator: generator{rand.New(rand.NewPCG(seed, 33))}, kind: object.Kind{Group: "example.com", Version: "v1", Kind: "R"},
		parent: objecttest.Widget(nil), owned: map[types.UID]ownership.Fields{}, inPlace: map[types.UID]bool{},
	}
	r.policy = Policy{
		Rules: Rules{r.kind: pick(r.generator, []Method{OnDelete, Recreate, InPlace, RollingInPlace})}, ServerSide: seed%2 == 0, Memory: Memory{}, Kept: map[types.UID]Kept{},
		InPlace: func(child types.UID) bool { return r.inPlace[child] },
		Owned:   func(o *object.Object) ownership.Fields { return r.owned[o.GetUID()] },
		SetControllerReference: func(child *object.Object) error {
			if r.counts {
				r.marked++
			}
			labels := child.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels["parent"] = r.parent.GetName()
			child.SetLabels(labels)
			return nil
		},
	}
	const children = 20
	for i := range children {
		want := r.child(r.kind, fmt.Sprint("c", i))
		r.want, r.have = append(r.want, want), append(r.have, nil)
		r.store(t, i)
	}
	return r
}

// store has a child stored as the hook returned it.
func (r *remembering) store(t *testing.T, i int) {
	want := r.want[i]
	op := Op{Verb: Create, Object: object.New(WithoutNulls(want.Map())), Wanted: want}
	if r.policy.ServerSide {
		config, err := r.policy.configuration(want)
		if err != nil {
			t.Fatal(err)
		}
		op = Op{Verb: Apply, Object: config.plain, Wanted: want, Content: config.sum}
	} else if err := remember(op.Object, want); err != nil {
		t.Fatal(err)
	}
	stored := object.Copy(op.Object)
	stored.SetUID(types.UID(fmt.Sprint("uid-", want.GetName())))
	stored.SetResourceVersion(fmt.Sprint(r.IntN(1000)))
	r.have[i] = objecttest.Packed(t, stored)
	if err := r.policy.NoteWritten(op, r.have[i]); err != nil {
		t.Fatal(err)
	}
}

// change changes one of what a comparison reads.
func (r *remembering) change(t *testing.T) {
	i := r.IntN(len(r.have))
	uid := r.have[i].GetUID()
	switch r.IntN(16) {
	case 0, 1, 2:
		changed := object.New(r.have[i].Map())
		r.edit(mapOf(changed.Map()["spec"]), 2)
		r.have[i] = objecttest.Packed(t, changed)
	case 3, 4:
		changed := object.Copy(r.want[i])
		r.edit(mapOf(changed.Map()["spec"]), 2)
		r.want[i] = changed
	case 5:
		r.store(t, i)
	case 13, 14, 15:
		known, _ := r.policy.Memory.of(r.have[i])
		for _, other := range r.policy.Memory {
			parts := []func(){
				func() { known.applied = other.applied }, func() { known.print = other.print }, func() { known.print, known.sorted = other.print, other.sorted },
				func() { known.empty = !known.empty }, func() { known.back = !known.back }, func() { known.spelled = []string{"spec." + pick(r.generator, fields)} },
			}
			pick(r.generator, parts)()
			break
		}
		r.policy.Memory[uid] = &known
	case 6:
		delete(r.policy.Memory, uid)
	case 7:
		r.policy.Kept[uid] = Kept{pick(r.generator, []string{"spec.a", "spec.b", "spec.name"}): true}
	case 8:
		clear(r.policy.Kept)
		r.inPlace[uid] = !r.inPlace[uid]
	case 9:
		r.owned[uid] = pick(r.generator, []ownership.Fields{{}, {Set: `{"f:spec":{}}`, APIVersion: "example.com/v1"}, {Set: `{"f:spec":{"f:a":{}}}`, APIVersion: "example.com/v1", Updated: true}})
	case 10:
		r.policy.Rules = Rules{r.kind: pick(r.generator, []Method{OnDelete, Recreate, InPlace, RollingRecreate})}
	case 11:
		r.policy.Requested = true // in this round
	case 12:
		r.policy.ServerSide = !r.policy.ServerSide
		if r.IntN(2) == 0 {
			r.parent = objecttest.Widget(func(o *object.Object) { o.SetName(pick(r.generator, fields)) })
		}
	}
}

// outcomes returns all that is planned and found, as text.
func (r *remembering) outcomes(memory *compared.Memory) (found []string) {
	policy := r.policy
	policy.Compared = memory
	memory.Begin(r.parent, len(r.have))
	defer memory.End()
	r.counts = true
	for i, have := range r.have {
		what, doubtful, err := policy.Differs(have, r.want[i])
		found = append(found, fmt.Sprint(have.GetName(), " differs ", what, doubtful, err))
	}
	r.counts = false
	planned, err := Children(setOf(r.have...), setOf(r.want...), policy)
	for _, ops := range [][]Op{planned.Ops, planned.Suppressed, planned.Applied} {
		for _, op := range ops {
			found = append(found, fmt.Sprint(op.String(), op.Object.Map(), op.Content, op.Answered, op.Doubtful))
		}
	}
	return append(found, fmt.Sprint(err))
}

// Whatever has changed between two reconciles, the plan and the differences are the same as without what is remembered.
func TestRememberedComparisonsAreThoseOfNow(t *testing.T) {
	const worlds, rounds = 24, 40
	without, with := 0, 0
	for seed := range uint64(worlds) {
		r := newRemembering(t, seed)
		for round := range rounds {
			for range r.IntN(3) {
				r.change(t)
			}
			check := unchanged(t, mapsOf(setOf(r.want...))...)
			r.marked = 0
			want := r.outcomes(nil)
			without += r.marked
			r.marked = 0
			got := r.outcomes(&r.compared)
			with += r.marked
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, round %d (-without +with what is remembered):\n%s", seed, round, diff)
			}
			check()
			r.policy.Requested = false
		}
	}
	if with*2 > without {
		t.Errorf("%d configurations were made with what is remembered, and %d without", with, without)
	}
}

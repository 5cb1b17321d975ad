package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"metascript/controller/object"
)

// A merge does not change a settled child, and nearly every child that a merge does not change is settled.
func TestMergeDoesNotChangeSettledChild(t *testing.T) {
	kind := object.Kind{Group: "example.com", Version: "v1", Kind: "K"}
	equal, unseen := 0, 0
	for seed := range uint64(4000) {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		want := g.child(kind, "a")
		have, err := fresh(want)
		if err != nil {
			t.Fatal(err)
		}
		if g.IntN(2) == 0 {
			g.edit(have.Map(), 3) // somebody meddles
		}
		if g.IntN(4) == 0 {
			g.edit(want.Map(), 3)
		}
		merged, err := apply(have, want)
		if err != nil {
			continue // the annotation is broken
		}
		differs := difference(have.Map(), merged.Map())
		switch is := settled(have, want); {
		case is && differs != nil:
			t.Fatalf("seed %d: it is settled, and %s differs:\nhave %v\nwant %v", seed, differs, have, want)
		case differs == nil:
			equal++
			if !is {
				unseen++
			}
		}
	}
	t.Logf("%d are as they should be, of which %d were merged to find out", equal, unseen)
	if equal < 1000 || unseen > equal/2 {
		t.Errorf("%d are as they should be, of which %d were merged to find out", equal, unseen)
	}
}

func BenchmarkChildrenThatAreAsTheyShouldBe(b *testing.B) {
	observed, desired := &object.Set{}, &object.Set{}
	for i := range 10 {
		want := parseObject(b, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: d%d, namespace: default, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: nginx, ports: [{containerPort: 80}], env: [{name: A, value: b}]}
`, i))
		have := created(b, want)
		have.SetResourceVersion("7")
		have.Map()["status"] = map[string]any{"replicas": int64(3), "readyReplicas": int64(3)}
		observed.Put(have)
		desired.Put(want)
	}
	policy := Policy{Rules: Rules{{Group: "apps", Version: "v1", Kind: "Deployment"}: InPlace}}
	b.ReportAllocs()
	for b.Loop() {
		if p, err := Children(observed, desired, policy); err != nil || len(p.Ops) > 0 {
			b.Fatal(p.Ops, err)
		}
	}
}

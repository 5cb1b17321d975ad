package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
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
			g.edit(have.Map()["spec"].(map[string]any), 3)
		}
		if g.IntN(4) == 0 {
			g.edit(want.Map()["spec"].(map[string]any), 3)
		}
		merged, err := apply(have, want)
		if err != nil {
			continue // the annotation is broken
		}
		differs := difference(contentOf(have), contentOf(merged))
		if inCache := objecttest.Packed(t, have); settled(inCache, want) != settled(have, want) {
			t.Fatalf("seed %d: whether it is settled depends on the form:\nhave %v\nwant %v", seed, have, want)
		}
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

func BenchmarkChildrenThatAreAsTheyShouldBe(b *testing.B) { benchmarkChildren(b, 3, 0) }

func BenchmarkChildrenThatDiffer(b *testing.B) { benchmarkChildren(b, 4, 10) }

// benchmarkChildren plans ten Deployments of a cache, which were created with three replicas.
func benchmarkChildren(b *testing.B, replicas int64, writes int) {
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
		have.Map()["status"] = parse(b, `{replicas: 3, readyReplicas: 3, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True"}]}`)
		spec := have.Map()["spec"].(map[string]any)
		maps.Copy(spec, parse(b, `{progressDeadlineSeconds: 600, revisionHistoryLimit: 10, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}}`))
		pod := spec["template"].(map[string]any)["spec"].(map[string]any)
		maps.Copy(pod, parse(b, `{dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}`))
		maps.Copy(pod["containers"].([]any)[0].(map[string]any), parse(b, `{imagePullPolicy: Always, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File, resources: {}}`))
		observed.Put(objecttest.Packed(b, have))
		want.Map()["spec"].(map[string]any)["replicas"] = replicas
		desired.Put(want)
	}
	policy := Policy{Rules: Rules{{Group: "apps", Version: "v1", Kind: "Deployment"}: InPlace}}
	b.ReportAllocs()
	for b.Loop() {
		if p, err := Children(observed, desired, policy); err != nil || len(p.Ops) != writes {
			b.Fatal(p.Ops, err)
		}
	}
}

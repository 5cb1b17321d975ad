package recording

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"testing"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/controller/redact"
	"metascript/controller/remember"
	"metascript/controller/scrub"
	"metascript/engine/cputime"
)

// A fleet makes reconciles as those of a server with many parents: in each, a parent and one of its children have changed since the one
// before, and the child is written. The answer has all children anew.
type fleet struct {
	b       testing.TB
	size    int // children of a parent
	secrets bool
	n       int
	parents []*fleetParent
}

type fleetParent struct {
	name     string
	secret   *object.Object
	children []*object.Object
}

// deployment returns a child; version is that of what the server stored, 0 for one that is desired.
func (f *fleet) deployment(p *fleetParent, i, spec, version int) map[string]any {
	labels := map[string]any{"app": p.name, "controller-uid": "d2c1e9f0-8a3b-4c5d-9e6f-" + p.name}
	metadata := map[string]any{"name": fmt.Sprintf("%s-%d", p.name, i), "namespace": "default", "labels": labels}
	o := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
		"spec": map[string]any{
			"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": p.name}},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{
				"name": "web", "image": fmt.Sprintf("registry.example.com/shop/web:1.%d", spec), "ports": []any{map[string]any{"containerPort": int64(8080), "name": "http"}},
				"env":       []any{map[string]any{"name": "PASSWORD", "value": f.password(p)}, map[string]any{"name": "LOG_LEVEL", "value": "info"}},
				"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}},
			}}}},
		},
	}
	if version > 0 {
		metadata["uid"], metadata["resourceVersion"] = fmt.Sprintf("7c1f0a52-%s-%d", p.name, i), fmt.Sprint(100000+version)
		metadata["creationTimestamp"] = "2026-01-02T15:04:05Z"
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "name": p.name, "uid": "d2c1e9f0-8a3b-4c5d-9e6f-" + p.name, "controller": true}}
		o["status"] = map[string]any{"replicas": int64(2), "readyReplicas": int64(2), "observedGeneration": int64(spec), "conditions": []any{
			map[string]any{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "Deployment has minimum availability.", "lastTransitionTime": "2026-01-02T15:04:05Z"},
			map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": fmt.Sprintf("ReplicaSet %q has successfully progressed.", p.name), "lastTransitionTime": "2026-01-02T15:04:05Z"},
		}}
	}
	return o
}

func (f *fleet) password(p *fleetParent) string {
	if f.secrets {
		return "p4ss-W0rd-of-" + p.name
	}
	return "none"
}

func (f *fleet) packed(o map[string]any) *object.Object {
	return objecttest.Packed(f.b, object.New(o))
}

func newFleet(b testing.TB, parents, size int, secrets bool) *fleet {
	f := &fleet{b: b, size: size, secrets: secrets}
	for n := range parents {
		p := &fleetParent{name: fmt.Sprintf("shop-%04d", n)}
		if secrets {
			value := base64.StdEncoding.EncodeToString([]byte(f.password(p)))
			p.secret = f.packed(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": p.name, "namespace": "default"}, "data": map[string]any{"password": value}})
		}
		for i := range size {
			p.children = append(p.children, f.packed(f.deployment(p, i, 1, 1)))
		}
		f.parents = append(f.parents, p)
	}
	return f
}

// next returns the next reconcile.
func (f *fleet) next() *observe.Reconcile {
	round := f.n/len(f.parents) + 2
	p := f.parents[f.n%len(f.parents)]
	f.n++
	parent := f.packed(map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": p.name, "namespace": "default", "uid": "d2c1e9f0-8a3b-4c5d-9e6f-" + p.name, "resourceVersion": fmt.Sprint(f.n), "generation": int64(round)},
		"spec":     map[string]any{"size": int64(f.size), "image": fmt.Sprintf("registry.example.com/shop/web:1.%d", round)},
		"status":   map[string]any{"ready": int64(f.size), "observedGeneration": int64(round - 1)},
	})
	changed := round % f.size
	before := p.children[changed]
	p.children[changed] = f.packed(f.deployment(p, changed, round, f.n))
	children, desired := &object.Set{}, &object.Set{}
	for i, child := range p.children {
		children.Put(child)
		spec := 1 // of the last change
		if turn := round - (round-i)%f.size; turn > 1 && round >= i {
			spec = turn
		}
		desired.Put(object.New(f.deployment(p, i, spec, 0)))
	}
	redactor, request := redact.New(), &hook.Request{Parent: parent, Children: children, Now: someTime}
	if f.secrets {
		request.Related = &object.Set{}
		request.Related.Put(p.secret)
		desired.Put(object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": p.name + "-copy", "namespace": "default"}, "data": p.secret.Map()["data"]}))
		redactor.Add(p.secret)
	}
	return &observe.Reconcile{
		About: observe.About{Kind: "CompositeController", Controller: "sites", Parent: object.RefOf(parent)}, Loaded: sitesVersion, Why: queue.ParentChanged, Source: remember.Computed, Began: someTime, Redactor: redactor,
		Causes: []observe.Cause{{Reason: queue.ParentChanged, Object: object.RefOf(parent), Change: observe.Changed, Fields: []string{"spec.image", "metadata.generation"}}},
		Calls: []observe.Call{{
			Name: "sync", Hook: sitesSync, Request: request,
			Response: &hook.Response{Status: map[string]any{"ready": int64(f.size), "observedGeneration": int64(round)}, Children: desired},
		}},
		Writes: []observe.Write{{Op: plan.Op{Verb: plan.Update, Object: before, Why: "spec.template differs"}, Before: before, Stored: p.children[changed]}},
	}
}

// BenchmarkReconcile measures what the recording of one reconcile costs, beside the server.
func BenchmarkReconcile(b *testing.B) {
	for _, secrets := range []bool{false, true} {
		for _, size := range []int{3, 10} {
			b.Run(fmt.Sprintf("secrets=%t/children=%d", secrets, size), func(b *testing.B) {
				const parents, rounds = 200, 10
				f := newFleet(b, parents, size, secrets)
				var all []*observe.Reconcile
				for range parents * rounds {
					all = append(all, f.next())
				}
				var e *encoder
				n, clock := 0, cputime.Process(os.Getpid())
				before, _ := clock()
				b.ReportAllocs()
				for b.Loop() {
					if n%len(all) == 0 {
						out, err := NewWriter(io.Discard, Header{})
						if err != nil {
							b.Fatal(err)
						}
						e = newEncoder(out, scrub.New())
						for _, p := range f.parents {
							e.scrub.Add(p.secret)
						}
					}
					if err := e.reconcile(all[n%len(all)]); err != nil {
						b.Fatal(err)
					}
					n++
				}
				after, _ := clock()
				b.ReportMetric(float64((after-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

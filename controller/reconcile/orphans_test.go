package reconcile

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/claim"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// The benchmarks use a namespace with 5,000 parents and 10,000 ConfigMaps that have no owner.
const (
	manyParents = 5_000
	manyOrphans = 10_000
)

// newCrowdedReconciler returns a Reconciler in that namespace, and one of the parents. If generated is false, the selector of each
// parent requires a label that is the same for all parents, and one that is not.
func newCrowdedReconciler(b *testing.B, generated bool) (*Reconciler, *object.Object) {
	b.Helper()
	var parents, orphans unstructured.UnstructuredList
	for n := range manyParents {
		parent := named(fmt.Sprintf("w-%d", n), "default", types.UID(fmt.Sprintf("u-%d", n)))
		_ = unstructured.SetNestedStringMap(parent.Map(), map[string]string{"app": "web", "instance": parent.GetName()}, "spec", "selector", "matchLabels")
		parents.Items = append(parents.Items, *parent.Unstructured())
	}
	for n := range manyOrphans {
		o := objecttest.ConfigMap(fmt.Sprintf("c-%d", n), nil)
		o.SetLabels(map[string]string{"app": "web", "instance": fmt.Sprintf("other-%d", n%100)})
		orphans.Items = append(orphans.Items, *o.Unstructured())
	}
	client := newTestClient()
	for resource, list := range map[string]*unstructured.UnstructuredList{"widgets": &parents, "configmaps": &orphans} {
		client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, list, nil })
	}
	r, _ := newTestReconcilerOver(b, client, wants(), nil)
	b.Cleanup(r.close)
	b.Cleanup(r.queue.ShutDown)
	if !generated {
		r.binding.Match = claim.SpecSelector
		r.binding.Claimer.(*claim.BySelector).Selector = claim.SpecSelector
	}
	if err := r.watch(); err != nil {
		b.Fatal(err)
	}
	if !r.waitForSync(b.Context()) {
		b.Fatal("the caches did not fill")
	}
	queued(r)
	r.hasSynced.Store(true)
	return r, object.Of(&parents.Items[manyParents/2])
}

// bothSelectors runs a benchmark with generated selectors and with those in the spec.
func bothSelectors(b *testing.B, bench func(*testing.B, *Reconciler, *object.Object)) {
	for _, generated := range []bool{true, false} {
		b.Run(fmt.Sprintf("generateSelector=%t", generated), func(b *testing.B) {
			r, parent := newCrowdedReconciler(b, generated)
			b.ReportAllocs()
			b.ResetTimer()
			bench(b, r, parent)
		})
	}
}

// BenchmarkClaimAmongOrphans claims the children of one parent, which has none.
func BenchmarkClaimAmongOrphans(b *testing.B) {
	bothSelectors(b, func(b *testing.B, r *Reconciler, parent *object.Object) {
		for b.Loop() {
			if _, err := r.binding.Claimer.Claim(b.Context(), parent, r.binding.Write); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOrphanEvent finds out which of the parents may adopt an orphan that changed: one may.
func BenchmarkOrphanEvent(b *testing.B) {
	bothSelectors(b, func(b *testing.B, r *Reconciler, parent *object.Object) {
		orphan := objecttest.Matching("c", parent)
		orphan.SetLabels(map[string]string{"app": "web", "instance": parent.GetName(), claim.GeneratedLabel: string(parent.GetUID())})
		for b.Loop() {
			childEvent(r, nil, orphan)
			if got := len(queued(r)); got != 1 {
				b.Fatalf("%d parents are queued, want one", got)
			}
		}
	})
}

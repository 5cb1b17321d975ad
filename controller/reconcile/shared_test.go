package reconcile

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/binding"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
	"metascript/controller/spec"
)

// selecting changes r to have this name and to select the widgets that match a selector.
func selecting(t testing.TB, r *Reconciler, name, selector string) *Reconciler {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	r.binding.ID.Name, r.binding.Shape, r.binding.Finalizer = name, hook.Composite, "finalizer/"+name
	r.binding.Parents[0].Selectors = []spec.Selector{{Labels: parsed}}
	return r
}

// beside returns another Reconciler, with the same Shared and the same caches as r.
func beside(t testing.TB, r *Reconciler, name, selector string) *Reconciler {
	t.Helper()
	parent, rule, child := *r.binding.Parents[0], *r.binding.Parents[0].ParentRule, r.binding.Children[0]
	parent.ParentRule = &rule
	parent.Cache, child.Informer = parent.Cache.Again(), child.Informer.Again()
	b := &binding.Binding{
		ID: r.binding.ID, Controller: r.binding.Controller, Parents: []*binding.ParentResource{&parent}, Hooks: r.binding.Hooks, Rules: r.binding.Rules, Kinds: r.binding.Kinds,
		Match: r.binding.Match, Write: r.binding.Write, GetLive: r.binding.GetLive, Workers: r.binding.Workers, Children: []claim.Cache{child},
	}
	b.Claimer = &claim.BySelector{Children: b.Children, Selector: b.Match, GetLive: b.GetLive}
	return selecting(t, New(b, Options{Events: r.events.Events, Log: r.events.log, Shared: r.shared}), name, selector)
}

// joined registers r for events, fills its caches, and empties its queue.
func joined(t testing.TB, r *Reconciler) *Reconciler {
	t.Helper()
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	if err := r.watch(); err != nil {
		t.Fatal(err)
	}
	if !r.waitForSync(t.Context()) {
		t.Fatal("the caches did not fill")
	}
	r.handler.queueAll()
	queued(r)
	r.hasSynced.Store(true)
	return r
}

// tenant returns a widget with the label of a tenant.
func tenant(name, of string) *object.Object {
	return objecttest.Widget(func(o *object.Object) {
		o.SetName(name)
		o.SetUID(types.UID("uid-of-" + name))
		o.SetLabels(map[string]string{"tenant": of})
	})
}

// tenants returns a Reconciler for each tenant, which selects the widgets of this tenant. The caches have a widget of each tenant.
func tenants(t testing.TB, names ...string) map[string]*Reconciler {
	t.Helper()
	var objects []kruntime.Object
	for _, name := range names {
		objects = append(objects, tenant(name, name))
	}
	first, _ := newTestReconciler(t, wants(), nil, objects...)
	all := map[string]*Reconciler{}
	for i, name := range names {
		r := first
		if i > 0 {
			r = beside(t, first, name, "tenant="+name)
		}
		all[name] = joined(t, selecting(t, r, name, "tenant="+name))
	}
	return all
}

func TestOwnParentsAreSelectedOrHaveFinalizer(t *testing.T) {
	notSelected := objecttest.With(tenant("not-selected", "nobody"), func(o *object.Object) { o.SetFinalizers([]string{"finalizer/a"}) })
	both := objecttest.With(tenant("both", "a"), func(o *object.Object) { o.SetFinalizers([]string{"finalizer/a"}) })
	r, _ := newTestReconciler(t, wants(), nil, tenant("x", "a"), tenant("y", "b"), notSelected, both)
	joined(t, selecting(t, r, "a", "tenant=a"))
	r.binding.Parents[0].Selectors = append(r.binding.Parents[0].Selectors, spec.Selector{Labels: labels.SelectorFromSet(labels.Set{"tenant": "a"})})
	var own []string
	for o := range r.binding.ReconciledParents() {
		own = append(own, o.GetName())
	}
	slices.Sort(own)
	if diff := cmp.Diff([]string{"both", "not-selected", "x"}, own); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := r.binding.Count(); n != 2 {
		t.Errorf("%d parents are counted, want 2", n)
	}
}

func TestParentThatIsNotSelectedHasNoState(t *testing.T) {
	all := tenants(t, "a", "b")
	key := object.RefOf(tenant("b", "b"))
	r := all["a"]
	r.queue.Enqueue(key, queue.Resync)
	r.queue.Get()
	r.worker.process(t.Context(), key, queue.Retry)
	r.queue.Done(key)
	if len(r.states.all) > 0 {
		t.Error("there is a state")
	}
}

func TestOnlySelectedParentsAreAdopters(t *testing.T) {
	all := tenants(t, "a", "b")
	for o := range all["b"].binding.ReconciledParents() {
		all["a"].handler.updateAdopter(nil, o) // as if it received the event
	}
	adopters := all["a"].shared.Hub.Adopters(objecttest.Matching("c", tenant("b", "b")))
	if diff := cmp.Diff([]object.Ref{object.RefOf(tenant("b", "b"))}, adopters[all["b"]]); diff != "" || len(adopters) != 1 {
		t.Errorf("adopters %v (-want +got):\n%s", adopters, diff)
	}
}

// A Reconciler that has nothing to do has no goroutine for workers or watches.
func TestIdleReconcilersHaveNoGoroutine(t *testing.T) {
	first, _ := newTestReconciler(t, wants(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	all := []*Reconciler{selecting(t, first, "first", "tenant=first")}
	for n := range 50 {
		name := fmt.Sprint(n)
		all = append(all, beside(t, first, name, "tenant="+name))
	}
	before := 0
	for i, r := range all {
		r.binding.ResyncPeriod = 1 << 40
		if err := r.Begin(ctx, func() {}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			before = runtime.NumGoroutine() // with those of the watches
		}
	}
	if now := runtime.NumGoroutine(); now > before+10 {
		t.Errorf("50 more Reconcilers have %d more goroutines", now-before)
	}
	cancel()
	for _, r := range all {
		r.End(ctx)
	}
}

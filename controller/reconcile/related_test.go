package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/call"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
	"metascript/controller/related"
	"metascript/controller/selection"
)

var (
	secretObjects = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret", Namespaced: true}
	secretsRule   = hook.RelatedRule{APIVersion: "v1", Resource: "secrets"}
)

func secretOf(namespace, name string, with map[string]string) *object.Object {
	o := object.New(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": namespace}})
	o.SetLabels(with)
	return o
}

// A customizedReconciler is a Reconciler whose customize hook returns the rules for the name of the parent.
type customizedReconciler struct {
	*Reconciler
	rules  map[string][]hook.RelatedRule
	called []string // the names of the parents in the calls of the customize hook
	client *fake.FakeDynamicClient
	caches *informer.Factory
}

func newCustomizedReconciler(t *testing.T, objects ...runtime.Object) *customizedReconciler {
	t.Helper()
	r, _ := newTestReconciler(t, wants(), nil)
	kinds := map[schema.GroupVersionResource]string{secretObjects.GroupVersionResource: "SecretList", related.Namespaces.GroupVersionResource: "NamespaceList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(objects...)...)
	c := &customizedReconciler{r, map[string][]hook.RelatedRule{}, nil, client, informer.NewFactory(client, slog.New(slog.DiscardHandler))}
	r.binding.Customize = hookFunc(func(req *hook.Request) (*hook.Response, error) {
		c.called = append(c.called, req.Parent.GetName())
		return &hook.Response{Related: c.rules[req.Parent.GetName()]}, nil
	})
	r.binding.Discover = kubetest.Served{secretObjects, related.Namespaces}
	r.shared.Related.Open = func(resource kube.Resource) *informer.Informer {
		return c.caches.Open(informer.Spec{Resource: resource.GroupVersionResource})
	}
	reset(r)
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	return c
}

// related returns the related objects of a parent.
func (c *customizedReconciler) related(t *testing.T, parent *object.Object) (*object.Set, error) {
	caller := c.newReconciliation(object.RefOf(parent)).caller
	variants := []call.Variant{caller.Latest(parent)}
	err := caller.Relate(t.Context(), parent, variants)
	return variants[0].Related, err
}

// relateAll returns the related objects of a parent after the caches are filled. It waits until the parent is queued.
func (c *customizedReconciler) relateAll(t *testing.T, parent *object.Object) []string {
	t.Helper()
	for {
		set, err := c.related(t, parent)
		if errors.Is(err, kube.ErrRequeue) {
			key, _ := c.queue.Get()
			if why := c.queue.Take(key); why != queue.RelatedChanged {
				t.Fatalf("%s is queued because of %s", key, why)
			}
			c.queue.Done(key)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for o := range set.All() {
			names = append(names, object.Describe(o))
		}
		return names
	}
}

func TestRelatedObjectsWaitForCache(t *testing.T) {
	c := newCustomizedReconciler(t, secretOf("default", "a", nil), secretOf("other", "b", nil))
	c.rules["w"] = []hook.RelatedRule{secretsRule}
	listed := make(chan struct{})
	c.client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { <-listed; return false, nil, nil })
	set, err := c.related(t, objecttest.Widget(nil))
	close(listed)
	if set != nil || !errors.Is(err, kube.ErrRequeue) {
		t.Errorf("got %v, %v, want ErrRequeue", set, err)
	}
	if diff := cmp.Diff([]string{"Secret default/a", "Secret other/b"}, c.relateAll(t, objecttest.Widget(nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCustomizeResponseIsCachedPerParentGeneration(t *testing.T) {
	c := newCustomizedReconciler(t)
	c.current.Load().CustomizeTTL = time.Hour
	expectCalls := func(change func(*object.Object), want int) {
		t.Helper()
		c.relateAll(t, objecttest.Widget(change))
		if len(c.called) != want {
			t.Errorf("it was called %d times, want %d", len(c.called), want)
		}
	}
	expectCalls(nil, 1)
	expectCalls(versioned("2"), 1) // of the status, or of labels
	expectCalls(func(o *object.Object) { o.SetGeneration(2) }, 2)
	expectCalls(func(o *object.Object) { o.SetGeneration(2); o.SetUID("other") }, 3)
	expectCalls(func(o *object.Object) { o.SetGeneration(0) }, 4)
	expectCalls(func(o *object.Object) { o.SetGeneration(0); o.SetResourceVersion("3") }, 5)
	c.states.of(objecttest.WidgetRef("default", "w")).customize.Responses[""].CalledAt = time.Now().Add(-2 * time.Hour)
	expectCalls(func(o *object.Object) { o.SetGeneration(0); o.SetResourceVersion("3") }, 6)
	c.forgetRelated(objecttest.WidgetRef("default", "w"))
	if len(c.states.of(objecttest.WidgetRef("default", "w")).customize.Responses) > 0 {
		t.Error("the responses for a parent that is gone were not dropped")
	}
}

// A swap stores the new version before it marks the states as outdated. A reconcile can begin in between.
func TestCustomizeResponseOfAnotherVersionIsNotUsed(t *testing.T) {
	c := newCustomizedReconciler(t)
	c.relateAll(t, objecttest.Widget(nil))
	c.relateAll(t, objecttest.Widget(nil))
	if len(c.called) != 1 {
		t.Errorf("it was called %d times for one version, want once", len(c.called))
	}
	reset(c.Reconciler)
	c.relateAll(t, objecttest.Widget(nil))
	if len(c.called) != 2 {
		t.Errorf("it was called %d times for two versions, want twice", len(c.called))
	}
}

func TestRelatedCacheIsClosedAfterLastUse(t *testing.T) {
	c := newCustomizedReconciler(t)
	c.rules["a"] = []hook.RelatedRule{secretsRule}
	c.rules["b"] = []hook.RelatedRule{{APIVersion: "v1", Resource: "secrets", Query: selection.Query{Namespaces: labels.Everything()}}}
	a, b := named("a", "default", "u1"), named("b", "default", "u2")
	c.relateAll(t, a)
	c.relateAll(t, b)
	for _, step := range []struct {
		do   func()
		want int
	}{
		{func() {}, 2},
		{func() { c.forgetRelated(object.RefOf(a)) }, 2},
		{func() { c.rules["b"] = []hook.RelatedRule{secretsRule}; b.SetGeneration(2); c.relateAll(t, b) }, 1},
		{func() { c.forgetRelated(object.RefOf(b)) }, 0},
	} {
		step.do()
		if got := c.caches.Running(); got != step.want {
			t.Errorf("%d caches are open, want %d", got, step.want)
		}
	}
}

func TestErrorForUnservedResourceNamesRule(t *testing.T) {
	c := newCustomizedReconciler(t)
	c.rules["w"] = []hook.RelatedRule{secretsRule, {APIVersion: "example.org/v1", Resource: "gadgets"}}
	_, err := c.related(t, objecttest.Widget(nil))
	if err == nil || !strings.HasPrefix(err.Error(), `relatedResources[1] of the customize hook: the API server does not serve resource "gadgets" in example.org/v1`) {
		t.Errorf("got %v", err)
	}
	c.Rediscover("example.com")
	expectRelated(t, c.Reconciler)
	c.Rediscover("example.org")
	expectRelated(t, c.Reconciler, "default/w")
}

// expectRelated checks that these parents, and no others, are queued because of related objects.
func expectRelated(t *testing.T, r *Reconciler, want ...string) {
	t.Helper()
	because := map[string]string{}
	for _, key := range want {
		because[key] = "related"
	}
	if diff := cmp.Diff(because, queued(r)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

func TestEndClosesRelatedCaches(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil, objecttest.Widget(nil))
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{secretObjects.GroupVersionResource: "SecretList"})
	caches := informer.NewFactory(client, slog.New(slog.DiscardHandler))
	r.binding.Customize = hookFunc(func(*hook.Request) (*hook.Response, error) {
		return &hook.Response{Related: []hook.RelatedRule{secretsRule}}, nil
	})
	hasGroup := make(chan bool)
	r.binding.Sync = hookFunc(func(req *hook.Request) (*hook.Response, error) {
		hasGroup <- slices.Contains(req.Related.Kinds(), secretObjects.ObjectKind())
		return &hook.Response{Children: &object.Set{}}, nil
	})
	reset(r)
	r.binding.Discover = kubetest.Served{secretObjects}
	r.shared.Related.Open = func(resource kube.Resource) *informer.Informer {
		return caches.Open(informer.Spec{Resource: resource.GroupVersionResource})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- run(ctx, r, func() {}) }()
	if !<-hasGroup {
		t.Error("the request of sync has no group of Secrets")
	}
	cancel()
	for done := false; !done; {
		select {
		case <-hasGroup:
		case err := <-ended:
			if done = true; err != nil {
				t.Error(err)
			}
		}
	}
	if n := caches.Running(); n > 0 {
		t.Errorf("%d caches are open", n)
	}
}

// The customize hook may return other rules for an older revision.
func TestEachRevisionGetsItsRelatedObjects(t *testing.T) {
	c := newCustomizedReconciler(t, secretOf("default", "one", nil), secretOf("default", "two", nil))
	calls := 0
	r := c.Reconciler
	r.binding.Customize = hookFunc(func(req *hook.Request) (*hook.Response, error) {
		calls++
		name := req.Parent.Map()["spec"].(map[string]any)["version"].(string)
		return &hook.Response{Related: []hook.RelatedRule{{APIVersion: "v1", Resource: "secrets", Query: selection.Query{Names: []string{name}}}}}, nil
	})
	reset(r)
	parent, olderParent := objecttest.Widget(atVersion("two")), objecttest.Widget(atVersion("one"))
	relate := func(variants ...call.Variant) {
		t.Helper()
		for errors.Is(r.newReconciliation(object.RefOf(parent)).caller.Relate(t.Context(), parent, variants), kube.ErrRequeue) {
			key, _ := r.queue.Get()
			r.queue.Take(key)
			r.queue.Done(key)
		}
	}
	latest, older, withoutHook := r.newReconciliation(object.RefOf(parent)).caller.Latest(parent), r.newReconciliation(object.RefOf(parent)).caller.Latest(olderParent), r.newReconciliation(object.RefOf(parent)).caller.Latest(olderParent)
	older.Revision, withoutHook.Revision, withoutHook.Customize = "r1", "r0", nil
	variants := []call.Variant{latest, older, withoutHook}
	for range 2 {
		relate(variants...)
	}
	var got []string
	for _, v := range variants {
		for o := range v.Related.All() {
			got = append(got, v.Revision+" gets "+o.GetName())
		}
	}
	if diff := cmp.Diff([]string{" gets two", "r1 gets one"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if calls != 2 {
		t.Errorf("the hook was called %d times, want once for each", calls)
	}
	relate(latest)
	if customize := r.states.of(object.RefOf(parent)).customize; len(customize.Responses) != 1 || len(customize.Rules) != 1 {
		t.Errorf("%d responses are kept, for %d resources, want only those of the latest revision", len(customize.Responses), len(customize.Rules))
	}
}

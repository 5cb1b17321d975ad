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
	o := &object.Object{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": namespace}}}
	o.SetLabels(with)
	return o
}

// A customizedLoop is a loop whose customize hook answers with rules, by the name of the parent.
type customizedLoop struct {
	*Reconciler
	rules  map[string][]hook.RelatedRule
	asked  []string // parents
	caches *informer.Factory
}

func newCustomizedLoop(t *testing.T, objects ...runtime.Object) *customizedLoop {
	t.Helper()
	l, _ := NewTestLoop(t, wants(), nil)
	kinds := map[schema.GroupVersionResource]string{secretObjects.GroupVersionResource: "SecretList", related.Namespaces.GroupVersionResource: "NamespaceList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	c := &customizedLoop{l, map[string][]hook.RelatedRule{}, nil, informer.NewFactory(client, slog.New(slog.DiscardHandler))}
	l.b.Customize = answer(func(req *hook.Request) (*hook.Response, error) {
		c.asked = append(c.asked, req.Parent.GetName())
		return &hook.Response{Related: c.rules[req.Parent.GetName()]}, nil
	})
	l.b.Discover = kubetest.Served{secretObjects, related.Namespaces}
	l.shared.Related.Open = func(r kube.Resource) *informer.Informer {
		return c.caches.Open(informer.Spec{Resource: r.GroupVersionResource})
	}
	reset(l)
	t.Cleanup(l.Close)
	t.Cleanup(l.queue.ShutDown)
	return c
}

// seen gives what a parent sees.
func (c *customizedLoop) seen(t *testing.T, parent *object.Object) (*object.Set, error) {
	caller := c.turn(object.RefOf(parent)).caller
	variants := []call.Variant{caller.Latest(parent)}
	err := caller.Relate(t.Context(), parent, variants)
	return variants[0].Related, err
}

// relateAll gives what a parent sees, once the caches are filled: the queue tells it.
func (c *customizedLoop) relateAll(t *testing.T, parent *object.Object) []string {
	t.Helper()
	for {
		set, err := c.seen(t, parent)
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
		var seen []string
		for o := range set.All() {
			seen = append(seen, object.Describe(o))
		}
		return seen
	}
}

func TestNothingIsSeenBeforeACacheIsFilled(t *testing.T) {
	c := newCustomizedLoop(t, secretOf("default", "a", nil), secretOf("other", "b", nil))
	c.rules["w"] = []hook.RelatedRule{secretsRule}
	if set, err := c.seen(t, objecttest.Widget(nil)); set != nil || !errors.Is(err, kube.ErrRequeue) {
		t.Errorf("got %v, %v, want to look again", set, err)
	}
	if diff := cmp.Diff([]string{"Secret default/a", "Secret other/b"}, c.relateAll(t, objecttest.Widget(nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnAnswerIsRememberedForAVersionOfTheParent(t *testing.T) {
	c := newCustomizedLoop(t)
	c.current.Load().CustomizeTTL = time.Hour
	again := func(change func(*object.Object), want int) {
		t.Helper()
		c.relateAll(t, objecttest.Widget(change))
		if len(c.asked) != want {
			t.Errorf("it was asked %d times, want %d", len(c.asked), want)
		}
	}
	again(nil, 1)
	again(versioned("2"), 1) // of the status, or of labels
	again(func(o *object.Object) { o.SetGeneration(2) }, 2)
	again(func(o *object.Object) { o.SetGeneration(2); o.SetUID("other") }, 3)
	again(func(o *object.Object) { o.SetGeneration(0) }, 4)
	again(func(o *object.Object) { o.SetGeneration(0); o.SetResourceVersion("3") }, 5)
	c.states.of(objecttest.WidgetRef("default", "w")).customize.Answers[""].At = time.Now().Add(-2 * time.Hour)
	again(func(o *object.Object) { o.SetGeneration(0); o.SetResourceVersion("3") }, 6)
	c.forgetRelated(objecttest.WidgetRef("default", "w"))
	if len(c.states.of(objecttest.WidgetRef("default", "w")).customize.Answers) > 0 {
		t.Error("something is kept for a parent that is gone")
	}
}

func TestACacheIsClosedWhenNobodyNeedsItAnyMore(t *testing.T) {
	c := newCustomizedLoop(t)
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

func TestAResourceThatIsNotServedIsAnErrorThatNamesTheRule(t *testing.T) {
	c := newCustomizedLoop(t)
	c.rules["w"] = []hook.RelatedRule{secretsRule, {APIVersion: "example.org/v1", Resource: "gadgets"}}
	_, err := c.seen(t, objecttest.Widget(nil))
	if err == nil || !strings.HasPrefix(err.Error(), `relatedResources[1] of the customize hook: the API server does not serve resource "gadgets" in example.org/v1`) {
		t.Errorf("got %v", err)
	}
	c.Rediscover("example.com")
	expectRelated(t, c.Reconciler)
	c.Rediscover("example.org")
	expectRelated(t, c.Reconciler, "default/w")
}

// expectRelated checks that these parents, and no others, are queued because of what is related to them.
func expectRelated(t *testing.T, l *Reconciler, want ...string) {
	t.Helper()
	because := map[string]string{}
	for _, key := range want {
		because[key] = "related"
	}
	if diff := cmp.Diff(because, queued(l)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

func TestALoopThatEndsGivesItsRelatedCachesBack(t *testing.T) {
	l, _ := NewTestLoop(t, wants(), nil, objecttest.Widget(nil))
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{secretObjects.GroupVersionResource: "SecretList"})
	caches := informer.NewFactory(client, slog.New(slog.DiscardHandler))
	l.b.Customize = answer(func(*hook.Request) (*hook.Response, error) {
		return &hook.Response{Related: []hook.RelatedRule{secretsRule}}, nil
	})
	seen := make(chan bool)
	l.b.Sync = answer(func(req *hook.Request) (*hook.Response, error) {
		seen <- slices.Contains(req.Related.Kinds(), secretObjects.ObjectKind())
		return &hook.Response{Children: &object.Set{}}, nil
	})
	reset(l)
	l.b.Discover = kubetest.Served{secretObjects}
	l.shared.Related.Open = func(r kube.Resource) *informer.Informer {
		return caches.Open(informer.Spec{Resource: r.GroupVersionResource})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- run(ctx, l, func() {}) }()
	if !<-seen {
		t.Error("sync saw no group of Secrets")
	}
	cancel()
	for done := false; !done; {
		select {
		case <-seen:
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

// An older revision may look for something else.
func TestEachRevisionSeesWhatItAsksFor(t *testing.T) {
	c := newCustomizedLoop(t, secretOf("default", "one", nil), secretOf("default", "two", nil))
	asked := 0
	l := c.Reconciler
	l.b.Customize = answer(func(req *hook.Request) (*hook.Response, error) {
		asked++
		name := req.Parent.Object["spec"].(map[string]any)["version"].(string)
		return &hook.Response{Related: []hook.RelatedRule{{APIVersion: "v1", Resource: "secrets", Query: selection.Query{Names: []string{name}}}}}, nil
	})
	reset(l)
	now, then := objecttest.Widget(atVersion("two")), objecttest.Widget(atVersion("one"))
	relate := func(variants ...call.Variant) {
		t.Helper()
		for errors.Is(l.turn(object.RefOf(now)).caller.Relate(t.Context(), now, variants), kube.ErrRequeue) {
			key, _ := l.queue.Get()
			l.queue.Take(key)
			l.queue.Done(key)
		}
	}
	latest, older, silent := l.turn(object.RefOf(now)).caller.Latest(now), l.turn(object.RefOf(now)).caller.Latest(then), l.turn(object.RefOf(now)).caller.Latest(then)
	older.Revision, silent.Revision, silent.Customize = "r1", "r0", nil
	variants := []call.Variant{latest, older, silent}
	for range 2 {
		relate(variants...)
	}
	var got []string
	for _, v := range variants {
		for o := range v.Related.All() {
			got = append(got, v.Revision+" sees "+o.GetName())
		}
	}
	if diff := cmp.Diff([]string{" sees two", "r1 sees one"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if asked != 2 {
		t.Errorf("it was asked %d times, want once for each", asked)
	}
	relate(latest)
	if kept := l.states.of(object.RefOf(now)).customize; len(kept.Answers) != 1 || len(kept.Looked) != 1 {
		t.Errorf("%d answers are kept, about %d resources, want the latest's only", len(kept.Answers), len(kept.Looked))
	}
}

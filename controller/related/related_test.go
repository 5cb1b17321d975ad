package related

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/selection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secrets = kube.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret", Namespaced: true}

// A queue is a controller that remembers which parents were queued.
type queue struct {
	mu     sync.Mutex
	queued []string
	came   chan struct{} // has a value when something was queued
}

func newQueue() *queue { return &queue{came: make(chan struct{}, 1)} }

func (q *queue) EnqueueParent(parent object.Ref, _, _ *object.Object) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queued = append(q.queued, parent.Name)
	select {
	case q.came <- struct{}{}:
	default:
	}
}

// take returns the names of the parents that were queued since, sorted.
func (q *queue) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.queued
	q.queued = nil
	slices.Sort(all)
	return all
}

func parent(name string) object.Ref {
	return object.Ref{Kind: object.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}, Key: object.Key{Namespace: "default", Name: name}}
}

func labeled(kind, namespace, name, version string, with map[string]string) *object.Object {
	o := object.New(map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "resourceVersion": version}})
	if namespace != "" {
		o.SetNamespace(namespace)
	}
	o.SetLabels(with)
	return o
}

// open returns Caches over objects, and closes what q's parents need when the test ends.
func open(t testing.TB, q *queue, objects ...runtime.Object) *Caches {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{secrets.GroupVersionResource: "SecretList", Namespaces.GroupVersionResource: "NamespaceList"}
	factory := informer.NewFactory(fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(objects...)...), slog.New(slog.DiscardHandler))
	cs := &Caches{Open: func(r kube.Resource) *informer.Informer {
		return factory.Open(informer.Spec{Resource: r.GroupVersionResource})
	}}
	t.Cleanup(func() {
		cs.Leave(q)
		if n := factory.Running(); n > 0 {
			t.Errorf("%d caches are open", n)
		}
	})
	return cs
}

// watch has a parent look for rules and waits until its caches are filled and have queued the parents that wait for them.
func watch(t testing.TB, cs *Caches, q *queue, name string, rules ...Rule) View {
	t.Helper()
	view := cs.Watch(Parent{q, parent(name)}, rules)
	for _, rule := range rules {
		for {
			err := view.Ready(rule)
			if err == nil {
				break
			}
			if !errors.Is(err, kube.ErrRequeue) {
				t.Fatal(err)
			}
			<-q.came
		}
	}
	for _, c := range view {
		<-c.waited
	}
	return view
}

// With any rules of 30 parents, an event queues those that see something else after it than before, and none that saw
// the object neither before nor after.
func TestEventsQueueAffectedParents(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	few := []string{"a", "b", "c"}
	pick := func() string { return few[random.IntN(len(few))] }
	some := func() map[string]string { return map[string]string{"x": pick(), "y": pick()} }
	var there []runtime.Object
	namespaceLabels := map[string]labels.Set{}
	for _, name := range few {
		namespaceLabels[name] = some()
		there = append(there, labeled("Namespace", "", name, "1", namespaceLabels[name]))
	}
	q := newQueue()
	cs, rules := open(t, q, there...), map[string][]Rule{}
	for n := range 30 {
		name := fmt.Sprintf("w%d", n)
		for range 1 + random.IntN(2) {
			var query selection.Query
			switch random.IntN(4) {
			case 0:
				query.Names = []string{pick()}
			case 1:
				query.Labels = labels.SelectorFromSet(labels.Set{"x": pick(), "y": pick()})
			case 2:
				query.Namespace = pick()
			case 3:
				query.Namespaces = labels.SelectorFromSet(labels.Set{"x": pick()})
			}
			rules[name] = append(rules[name], Rule{secrets, query})
		}
	}
	for name := range rules {
		watch(t, cs, q, name, rules[name]...)
	}
	q.take()
	sees := func(name string, o *object.Object) bool {
		s := informer.SubjectOf(o)
		s.NamespaceLabels = namespaceLabels[s.Namespace]
		return slices.ContainsFunc(rules[name], func(r Rule) bool { return r.Query.Matches(s) })
	}
	c := cs.caches[secrets.GroupVersionResource]
	for n := range 100 {
		old := labeled("Secret", pick(), pick(), fmt.Sprint(2*n), some())
		current := object.Copy(old)
		current.SetResourceVersion(fmt.Sprint(2*n + 1))
		current.SetLabels(some())
		cs.onEvent(c, old, current)
		var want []string
		for name := range rules {
			if sees(name, old) || sees(name, current) {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, q.take()); diff != "" {
			t.Fatalf("event %d: queued (-want +got):\n%s", n, diff)
		}
	}
}

func TestNamespaceEventsQueueAffectedParents(t *testing.T) {
	q := newQueue()
	cs := open(t, q, labeled("Namespace", "", "a", "1", map[string]string{"team": "red"}))
	watch(t, cs, q, "w", Rule{secrets, selection.Query{Namespaces: labels.SelectorFromSet(labels.Set{"team": "red"})}})
	q.take()
	c := cs.caches[Namespaces.GroupVersionResource]
	at := func(team, version string) *object.Object {
		return labeled("Namespace", "", "a", version, map[string]string{"team": team})
	}
	for _, event := range []struct {
		name         string
		old, current *object.Object
		want         []string
	}{
		{"it leaves", at("red", "1"), at("blue", "2"), []string{"w"}},
		{"it joins", at("blue", "2"), at("red", "3"), []string{"w"}},
		{"it stays, and something else changes", at("red", "1"), at("red", "3"), nil},
		{"it stays away", at("blue", "2"), at("blue", "3"), nil},
		{"it is new", nil, at("red", "1"), []string{"w"}},
		{"it is deleted", at("red", "1"), nil, []string{"w"}},
	} {
		cs.onEvent(c, event.old, event.current)
		if diff := cmp.Diff(event.want, q.take()); diff != "" {
			t.Errorf("%s: queued (-want +got):\n%s", event.name, diff)
		}
	}
}

// BenchmarkEvent finds out which of 5,000 parents a change of a related object concerns: one, among rules that all require
// one label that is the same for all.
func BenchmarkEvent(b *testing.B) {
	const parents = 5_000
	q := newQueue()
	cs, c := &Caches{}, &cache{}
	c.synced.Store(true)
	labelsOf := func(n int) labels.Set { return labels.Set{"app": "web", "instance": fmt.Sprintf("w-%d", n)} }
	for n := range parents {
		c.parents.Set(Parent{q, parent(fmt.Sprintf("w-%d", n))}, selection.Query{Namespace: "default", Labels: labels.SelectorFromSet(labelsOf(n))})
	}
	o := labeled("ConfigMap", "default", "c", "1", labelsOf(parents/2))
	b.ReportAllocs()
	for b.Loop() {
		cs.onEvent(c, nil, o)
		if got := len(q.take()); got != 1 {
			b.Fatalf("%d parents are queued, want one", got)
		}
	}
}

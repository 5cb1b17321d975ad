package dispatch

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/selection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	widgets    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	widgetKind = object.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}
)

// A world is a hub over caches that hold some widgets. It notes who is told of what.
type world struct {
	Hub[string]
	caches *informer.Factory
	told   []string
}

func newWorld(t testing.TB, objects ...*object.Object) *world {
	t.Helper()
	var there []runtime.Object
	for _, o := range objects {
		there = append(there, o)
	}
	kinds := map[schema.GroupVersionResource]string{widgets: "WidgetList", configMaps: "ConfigMapList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, there...)
	return &world{caches: informer.NewFactory(client, slog.New(slog.DiscardHandler))}
}

// join has a controller look after widgets and ConfigMaps, until the test ends.
func (w *world) join(t testing.TB, who, selector string) {
	t.Helper()
	parsed, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	parents, children := w.caches.Open(informer.Spec{Resource: widgets}), w.caches.Open(informer.Spec{Resource: configMaps})
	t.Cleanup(func() {
		w.Leave(who)
		parents.Close()
		children.Close()
	})
	tell := func(what string) Handler {
		return func(old, current *object.Object) { w.told = append(w.told, who+what) }
	}
	adopt := func(parents []object.Ref) {
		for _, parent := range parents {
			w.told = append(w.told, who+" for "+parent.Name)
		}
	}
	err = w.Join(who, []Parents{{
		Cache: parents, Kind: widgetKind, Namespaced: true, Queries: []selection.Query{{Labels: parsed}},
		Finalizer: "finalizer/" + who, On: tell(""),
	}}, []Children{{Cache: children, On: tell(" by a child"), Adopt: adopt}})
	if err != nil {
		t.Fatal(err)
	}
	if !w.Synced(t.Context(), who) {
		t.Fatal("it is not synced")
	}
	w.told = nil
}

// event gives who is told of one.
func (w *world) event(resource schema.GroupVersionResource, old, current *object.Object) string {
	w.told = nil
	if f := w.feeds[resource]; f != nil {
		f.on(old, current)
	}
	slices.Sort(w.told)
	return strings.Join(w.told, ", ")
}

func widget(name string, with map[string]string, finalizers ...string) *object.Object {
	o := &object.Object{}
	o.SetGroupVersionKind(widgetKind)
	o.SetNamespace("default")
	o.SetName(name)
	o.SetLabels(with)
	o.SetFinalizers(finalizers)
	return o
}

func configMap(labels map[string]string, owner string) *object.Object {
	o := &object.Object{}
	o.SetGroupVersionKind(object.Kind{Version: "v1", Kind: "ConfigMap"})
	o.SetNamespace("default")
	o.SetName("c")
	o.SetLabels(labels)
	if owner != "" {
		yes := true
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v2", Kind: "Widget", Name: owner, UID: "u", Controller: &yes}})
	}
	return o
}

func of(tenant string) map[string]string { return map[string]string{"tenant": tenant} }

func TestAParentsEventsGoToThoseThatLookAfterIt(t *testing.T) {
	w := newWorld(t)
	for who, selector := range map[string]string{"a": "tenant=a", "b": "tenant=b", "either": "tenant in (a,b)", "some": "tenant", "not-a": "tenant!=a", "all": ""} {
		w.join(t, who, selector)
	}
	for _, c := range []struct {
		name         string
		old, current *object.Object
		want         string
	}{
		{"it comes", nil, widget("w", of("a")), "a, all, either, some"},
		{"it is gone", widget("w", of("b")), nil, "all, b, either, not-a, some"},
		{"it has no labels", nil, widget("w", nil), "all, not-a"},
		{"it moves from the one to the other", widget("w", of("a")), widget("w", of("b")), "a, all, b, either, not-a, some"},
		{"it is not selected, and has a finalizer", nil, widget("w", nil, "finalizer/a", "other"), "a, all, not-a"},
		{"a finalizer comes off", widget("w", nil, "finalizer/b"), widget("w", nil), "all, b, not-a"},
	} {
		if got := w.event(widgets, c.old, c.current); got != c.want {
			t.Errorf("%s: told are %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAChildsEventsGoToThoseThatLookAfterItsParent(t *testing.T) {
	w := newWorld(t, widget("of-a", of("a")), widget("of-b", of("b")), widget("left", nil, "finalizer/a"))
	w.join(t, "a", "tenant=a")
	w.join(t, "b", "tenant=b")
	for _, c := range []struct {
		name         string
		old, current *object.Object
		want         string
	}{
		{"the parent is selected", nil, configMap(nil, "of-a"), "a by a child"},
		{"the parent changes", configMap(nil, "of-a"), configMap(nil, "of-b"), "a by a child, b by a child"},
		{"the parent has a finalizer", nil, configMap(nil, "left"), "a by a child"},
		{"the parent is not there", nil, configMap(nil, "gone"), ""},
		{"there is no parent", nil, configMap(nil, ""), ""},
	} {
		if got := w.event(configMaps, c.old, c.current); got != c.want {
			t.Errorf("%s: told are %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAnOrphansEventsGoToThoseThatMayAdoptIt(t *testing.T) {
	w := newWorld(t)
	w.join(t, "a", "tenant=a")
	w.join(t, "b", "tenant=b")
	first, second := object.RefOf(widget("first", nil)), object.RefOf(widget("second", nil))
	w.Adopts("a", first, selection.Query{Namespace: "default", Labels: labels.SelectorFromSet(of("1"))})
	w.Adopts("a", second, selection.Query{Namespace: "other", Labels: labels.SelectorFromSet(of("1"))})
	w.Adopts("b", first, selection.Query{Namespace: "default", Labels: labels.SelectorFromSet(of("2"))})
	w.Adopts("nobody", first, selection.Query{})
	if got := w.event(configMaps, nil, configMap(of("1"), "")); got != "a for first" {
		t.Errorf("told are %s", got)
	}
	if got := w.event(configMaps, configMap(of("1"), ""), configMap(of("1"), "")); got != "" {
		t.Errorf("told of one that did not change are %s", got)
	}
	if got := w.event(configMaps, configMap(of("1"), ""), configMap(of("1"), "somebody")); got != "" {
		t.Errorf("told of one that has an owner are %s", got)
	}
	w.Adopts("a", first)
	if got := w.event(configMaps, nil, configMap(of("1"), "")); got != "" {
		t.Errorf("told are %s", got)
	}
}

func TestWhoLeavesIsForgotten(t *testing.T) {
	w := newWorld(t, widget("w", of("a")))
	w.join(t, "a", "tenant=a")
	w.join(t, "b", "tenant=b")
	w.Adopts("a", object.RefOf(widget("w", nil)), selection.Query{})
	before := w.Changes(widgetKind.GroupKind())
	w.Leave("a")
	w.Leave("a")
	w.Adopts("a", object.RefOf(widget("w", nil)), selection.Query{}) // by an event that was under way
	if got := w.event(widgets, nil, widget("w", of("a"), "finalizer/a")); got != "" {
		t.Errorf("told are %s", got)
	}
	if w.adopters.Len() != 0 || len(w.adopting) != 0 || w.Changes(widgetKind.GroupKind()) == before {
		t.Errorf("%d adopters are left of %d controllers", w.adopters.Len(), len(w.adopting))
	}
	w.Leave("b")
	if len(w.feeds) != 0 || len(w.joined) != 0 {
		t.Errorf("%d feeds and %d controllers are left", len(w.feeds), len(w.joined))
	}
}

func TestWhoJoinsIsToldOfChanges(t *testing.T) {
	w := newWorld(t, widget("w", of("a")))
	before := w.Changes(widgetKind.GroupKind())
	w.join(t, "a", "tenant=a")
	if w.Changes(widgetKind.GroupKind()) == before {
		t.Error("it is no change that somebody joins")
	}
	for _, c := range []struct {
		old, current *object.Object
		want         bool
	}{
		{nil, widget("w", nil), true},
		{widget("w", nil), nil, true},
		{widget("w", nil), widget("w", of("a")), true},
		{widget("w", of("a")), widget("w", of("a"), "finalizer/a"), false},
	} {
		before := w.Changes(widgetKind.GroupKind())
		w.event(widgets, c.old, c.current)
		if got := w.Changes(widgetKind.GroupKind()) != before; got != c.want {
			t.Errorf("from %v to %v: a change is %t, want %t", c.old, c.current, got, c.want)
		}
	}
	if diff := cmp.Diff([]string{"a"}, w.Selecting(widget("w", of("a")))); diff != "" {
		t.Errorf("selecting (-want +got):\n%s", diff)
	}
}

// The hub tells those whom a scan of all selectors finds.
func TestTheHubTellsAsAScanOfAllSelectorsDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	w := newWorld(t)
	clauses := []string{"", "a", "!a", "a=1", "a!=1", "a in (1,2)", "a notin (1)", "b", "b=1", "b in (2)", "!b"}
	all := map[string]labels.Selector{}
	for n := range 60 {
		text := clauses[random.IntN(len(clauses))]
		if more := clauses[random.IntN(len(clauses))]; text != "" && more != "" {
			text += "," + more
		}
		who := fmt.Sprint(n)
		w.join(t, who, text)
		all[who], _ = labels.Parse(text)
	}
	some := func() *object.Object {
		set := map[string]string{}
		for _, key := range []string{"a", "b"} {
			if value := random.IntN(3); value > 0 {
				set[key] = fmt.Sprint(value)
			}
		}
		return widget("w", set)
	}
	for range 500 {
		old, current := some(), some()
		var want []string
		for who, selector := range all {
			if selector.Matches(labels.Set(old.GetLabels())) || selector.Matches(labels.Set(current.GetLabels())) {
				want = append(want, who)
			}
		}
		slices.Sort(want)
		if got := w.event(widgets, old, current); got != strings.Join(want, ", ") {
			t.Fatalf("from %v to %v told are %s, want %s", old.GetLabels(), current.GetLabels(), got, want)
		}
	}
}

// BenchmarkEvent is one of a parent that one of so many controllers selects.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("controllers=%d", n), func(b *testing.B) {
			w := newWorld(b)
			for i := range n {
				w.join(b, fmt.Sprint(i), fmt.Sprintf("tenant=%d", i))
			}
			f, old, current := w.feeds[widgets], widget("w", of("0")), widget("w", of("0"))
			current.SetResourceVersion("2")
			for b.Loop() {
				if got := len(f.concerned(old, current)); got != 1 {
					b.Fatalf("%d are told", got)
				}
			}
		})
	}
}

func TestAHandlerThatPanicsIsTheOnlyOneThatMissesTheEvent(t *testing.T) {
	told := 0
	count := func(_, _ *object.Object) { told++ }
	defer func() {
		if r := recover(); r != "out of order" || told != 2 {
			t.Errorf("recovered %v, and %d others were told", r, told)
		}
	}()
	tell([]Handler{count, func(_, _ *object.Object) { panic("out of order") }, count}, nil, nil)
}

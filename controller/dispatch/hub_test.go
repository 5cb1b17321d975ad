package dispatch

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/selection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	widgets    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	widgetsV2  = schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "widgets"}
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
	kinds := map[schema.GroupVersionResource]string{widgets: "WidgetList", widgetsV2: "WidgetList", configMaps: "ConfigMapList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(there...)...)
	return &world{caches: informer.NewFactory(client, slog.New(slog.DiscardHandler))}
}

// join has a controller look after widgets and ConfigMaps, until the test ends.
func (w *world) join(t testing.TB, who, selector string) {
	t.Helper()
	w.joinVersion(t, widgets, who, selector)
}

// joinVersion is join with widgets of one version.
func (w *world) joinVersion(t testing.TB, widgets schema.GroupVersionResource, who, selector string) {
	t.Helper()
	w.joinAs(t, widgets, who, selector, false)
}

// joinRestricted is join of a controller that does not see all widgets.
func (w *world) joinRestricted(t testing.TB, who, selector string) {
	t.Helper()
	w.joinAs(t, widgets, who, selector, true)
}

func (w *world) joinAs(t testing.TB, widgets schema.GroupVersionResource, who, selector string, restricted bool) {
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
	adopt := func(parents []object.Ref, _, _ *object.Object) {
		for _, parent := range parents {
			w.told = append(w.told, who+" for "+parent.Name)
		}
	}
	err = w.Join(who, []Parents{{
		Cache: parents, Kind: widgets.GroupVersion().WithKind("Widget"), Namespaced: true, Queries: []selection.Query{{Labels: parsed}},
		Restricted: restricted, Finalizer: "finalizer/" + who, On: tell(""),
	}}, []Children{{Cache: children, On: tell(" by a child"), Adopt: adopt}})
	if err != nil {
		t.Fatal(err)
	}
	if !w.WaitForSync(t.Context(), who) {
		t.Fatal("it is not synced")
	}
	w.told = nil
}

// event gives who is told of one.
func (w *world) event(resource schema.GroupVersionResource, old, current *object.Object) string {
	w.told = nil
	if f := w.feeds[informer.Spec{Resource: resource}]; f != nil {
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

// in is a widget in another version.
func in(version string, o *object.Object) *object.Object {
	o.SetAPIVersion("example.com/" + version)
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

func TestEventsOfParents(t *testing.T) {
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
			t.Errorf("%s: notified %s, want %s", c.name, got, c.want)
		}
	}
}

func TestEventsOfChildren(t *testing.T) {
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
			t.Errorf("%s: notified %s, want %s", c.name, got, c.want)
		}
	}
}

func TestEventsOfOrphans(t *testing.T) {
	w := newWorld(t)
	w.join(t, "a", "tenant=a")
	w.join(t, "b", "tenant=b")
	first, second := object.RefOf(widget("first", nil)), object.RefOf(widget("second", nil))
	w.Adopts("a", first, selection.Query{Namespace: "default", Labels: labels.SelectorFromSet(of("1"))})
	w.Adopts("a", second, selection.Query{Namespace: "other", Labels: labels.SelectorFromSet(of("1"))})
	w.Adopts("b", first, selection.Query{Namespace: "default", Labels: labels.SelectorFromSet(of("2"))})
	w.Adopts("nobody", first, selection.Query{})
	if got := w.event(configMaps, nil, configMap(of("1"), "")); got != "a for first" {
		t.Errorf("notified %s", got)
	}
	if got := w.event(configMaps, configMap(of("1"), ""), configMap(of("1"), "")); got != "" {
		t.Errorf("notified of an unchanged orphan: %s", got)
	}
	if got := w.event(configMaps, configMap(of("1"), ""), configMap(of("1"), "somebody")); got != "" {
		t.Errorf("notified of an object with an owner: %s", got)
	}
	w.Adopts("a", first)
	if got := w.event(configMaps, nil, configMap(of("1"), "")); got != "" {
		t.Errorf("notified %s", got)
	}
}

func TestLeaveRemovesController(t *testing.T) {
	w := newWorld(t, widget("w", of("a")))
	w.join(t, "a", "tenant=a")
	w.join(t, "b", "tenant=b")
	w.Adopts("a", object.RefOf(widget("w", nil)), selection.Query{})
	before := w.Changes(widgetKind.GroupKind())
	w.Leave("a")
	w.Leave("a")
	w.Adopts("a", object.RefOf(widget("w", nil)), selection.Query{}) // by an event that was under way
	if got := w.event(widgets, nil, widget("w", of("a"), "finalizer/a")); got != "" {
		t.Errorf("notified %s", got)
	}
	if w.adopters.Len() != 0 || len(w.adopting) != 0 || w.Changes(widgetKind.GroupKind()) == before {
		t.Errorf("%d adopters are left of %d controllers", w.adopters.Len(), len(w.adopting))
	}
	w.Leave("b")
	if len(w.feeds) != 0 || len(w.joined) != 0 {
		t.Errorf("%d feeds and %d controllers are left", len(w.feeds), len(w.joined))
	}
}

func TestChangesDiffersAfterJoinOrEvent(t *testing.T) {
	w := newWorld(t, widget("w", of("a")))
	before := w.Changes(widgetKind.GroupKind())
	w.join(t, "a", "tenant=a")
	if w.Changes(widgetKind.GroupKind()) == before {
		t.Error("Changes is the same after a join")
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
}

// overlap is what is known of the parents of a controller: how many there are, the other controllers and the first common parents.
func (w *world) overlap(who string) string {
	found := w.Overlap(who, OverlapQuery[string]{
		Counts: func(other string) bool { return other != "ignored" },
		Names:  func(other string) bool { return !strings.HasPrefix(other, "secret") }, Order: strings.Compare, Limit: 2,
	})
	text := fmt.Sprint(found.Parents)
	for _, other := range found.Others {
		text += fmt.Sprintf(", %s at %s", other.Who, other.Parent)
	}
	if found.More > 0 {
		text += fmt.Sprintf(", and %d more", found.More)
	}
	if found.Unnamed != (object.Ref{}) {
		text += fmt.Sprintf(", others at %s", found.Unnamed)
	}
	return text
}

func TestOverlapOfControllers(t *testing.T) {
	w := newWorld(t, widget("x", of("a")), widget("y", of("a")), widget("z", of("b")), widget("none", nil))
	for _, c := range []struct{ who, selector string }{{"a", "tenant=a"}, {"b", "tenant=b"}, {"c", "tenant=c"}, {"not-a", "tenant!=a"}, {"all", ""}, {"ignored", ""}} {
		w.join(t, c.who, c.selector)
	}
	expect := func(when string, want map[string]string) {
		t.Helper()
		for who, want := range want {
			if got := w.overlap(who); got != want {
				t.Errorf("%s: %s has %s, want %s", when, who, got, want)
			}
		}
	}
	expect("at first", map[string]string{
		"a": "2, all at default/x", "b": "1, all at default/z, not-a at default/z", "c": "0",
		"not-a": "2, all at default/none, b at default/z", "all": "4, a at default/x, b at default/z, and 1 more",
	})
	w.event(widgets, widget("x", of("a")), widget("x", of("b")))
	expect("after a parent changed", map[string]string{"a": "1, all at default/y", "b": "2, all at default/x, not-a at default/x"})
	w.event(widgets, nil, widget("new", of("c")))
	expect("after a parent came", map[string]string{"c": "1, all at default/new, not-a at default/new"})
	w.event(widgets, widget("x", of("b")), nil)
	expect("after a parent was deleted", map[string]string{"b": "1, all at default/z, not-a at default/z"})
	w.Leave("all")
	expect("after a controller left", map[string]string{"a": "1", "b": "1, not-a at default/z", "not-a": "3, b at default/z, c at default/new", "all": "0"})
	w.join(t, "all", "tenant")
	expect("after it joined again", map[string]string{"a": "1, all at default/y"})
}

// elsewhere returns a widget of tenant a in another namespace.
func elsewhere(name string) *object.Object {
	o := widget(name, of("a"))
	o.SetNamespace("elsewhere")
	return o
}

// Controllers that must not be named are not counted either.
func TestOverlapWithUnnamedControllers(t *testing.T) {
	w := newWorld(t, widget("x", of("a")), widget("y", of("b")), elsewhere("w"))
	for _, c := range []struct{ who, selector string }{{"a", "tenant=a"}, {"all", ""}, {"secret-1", "tenant=a"}, {"secret-2", "tenant=a"}, {"secret-b", "tenant=b"}} {
		w.join(t, c.who, c.selector)
	}
	for who, want := range map[string]string{
		"all": "3, a at default/x, others at default/x", "a": "2, all at default/x, others at default/x", "secret-b": "1, all at default/y",
	} {
		if got := w.overlap(who); got != want {
			t.Errorf("%s has %s, want %s", who, got, want)
		}
	}
}

// Parents that a controller does not see do not count, for itself and for others.
func TestOverlapOfRestrictedControllers(t *testing.T) {
	w := newWorld(t, widget("x", of("a")), widget("y", of("b")), elsewhere("w"), elsewhere("z"))
	w.join(t, "all", "")
	w.joinRestricted(t, "b", "tenant=b")
	w.joinRestricted(t, "a", "tenant=a")
	expect := func(when string, want map[string]string) {
		t.Helper()
		for who, want := range want {
			if got := w.overlap(who); got != want {
				t.Errorf("%s: %s has %s, want %s", when, who, got, want)
			}
		}
	}
	see := func(who string, namespaces ...string) {
		w.See(who, func(namespace string) bool { return slices.Contains(namespaces, namespace) })
	}
	expect("before they see any", map[string]string{"a": "0", "b": "0", "all": "4"})
	see("a", "elsewhere", "none")
	changes := w.Changes(widgetKind.GroupKind())
	see("a", "elsewhere")
	if w.Changes(widgetKind.GroupKind()) != changes {
		t.Error("it is a change that a controller sees the same as before")
	}
	see("b", "default")
	if w.Changes(widgetKind.GroupKind()) == changes {
		t.Error("it is no change that a controller sees more")
	}
	expect("in one namespace each", map[string]string{"a": "2, all at elsewhere/w", "b": "1, all at default/y", "all": "4, a at elsewhere/w, b at default/y"})
	w.joinRestricted(t, "also-a", "tenant=a")
	see("also-a", "default")
	expect("two that see no common parent", map[string]string{"a": "2, all at elsewhere/w", "also-a": "1, all at default/x"})
	see("a", "default", "elsewhere")
	expect("two that see one", map[string]string{"a": "3, all at default/x, also-a at default/x", "also-a": "1, a at default/x, all at default/x"})
	w.Leave("a")
	see("a", "default")
	if len(w.seen) != 2 {
		t.Errorf("after one left: %v is seen", w.seen)
	}
}

// Objects of a kind are the same objects in all its versions.
func TestOverlapAcrossVersions(t *testing.T) {
	w := newWorld(t, widget("x", of("a")), widget("y", of("b")), in("v2", widget("x", of("a"))), in("v2", widget("y", of("b"))))
	w.join(t, "old", "tenant=a")
	w.joinVersion(t, widgetsV2, "new", "tenant")
	w.joinVersion(t, widgetsV2, "other", "tenant=b")
	w.join(t, "all", "")
	for who, want := range map[string]string{
		"old": "1, all at default/x, new at default/x", "new": "2, all at default/x, old at default/x, and 1 more",
		"other": "1, all at default/y, new at default/y", "all": "2, new at default/x, old at default/x, and 1 more",
	} {
		if got := w.overlap(who); got != want {
			t.Errorf("%s has %s, want %s", who, got, want)
		}
	}
	w.Leave("old")
	w.Leave("all")
	if got := w.overlap("new"); got != "2, other at default/y" {
		t.Errorf("after the controllers of the other version left new has %s", got)
	}
	w.join(t, "old", "tenant=a")
	if got := w.overlap("old") + "; " + w.overlap("new"); got != "1, new at default/x; 2, old at default/x, other at default/y" {
		t.Errorf("after one joined again they have %s", got)
	}
}

// The children of one controller may be the parents of another one.
func TestChildResourceBecomesParentResource(t *testing.T) {
	first := configMap(of("a"), "")
	w := newWorld(t, first)
	w.join(t, "children", "")
	parents := w.caches.Open(informer.Spec{Resource: configMaps})
	t.Cleanup(func() {
		w.Leave("late")
		parents.Close()
	})
	if err := w.Join("late", []Parents{{Cache: parents, Kind: first.GroupVersionKind(), Namespaced: true, Queries: []selection.Query{{}}, Finalizer: "late", On: func(_, _ *object.Object) {}}}, nil); err != nil {
		t.Fatal(err)
	}
	if got := w.overlap("late"); got != "1" {
		t.Errorf("it has %s, want 1", got)
	}
}

// The hub notifies the same controllers as a scan of all selectors.
func TestHubEqualsScanOfAllSelectors(t *testing.T) {
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
			t.Fatalf("from %v to %v: notified %s, want %s", old.GetLabels(), current.GetLabels(), got, want)
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
			f, old, current := w.feeds[informer.Spec{Resource: widgets}], widget("w", of("0")), widget("w", of("0"))
			current.SetResourceVersion("2")
			for b.Loop() {
				if got := len(f.concerned(old, current)); got != 1 {
					b.Fatalf("%d are notified", got)
				}
			}
		})
	}
}

func TestPanicInHandlerDoesNotAffectOthers(t *testing.T) {
	told := 0
	count := func(_, _ *object.Object) { told++ }
	defer func() {
		if r := recover(); r != "out of order" || told != 2 {
			t.Errorf("recovered %v, and %d other handlers were called", r, told)
		}
	}()
	call([]Handler{count, func(_, _ *object.Object) { panic("out of order") }, count}, nil, nil)
}

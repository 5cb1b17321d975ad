package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/object"
	"metascript/controller/selection"
)

// randomCache returns a cache of ConfigMaps with random labels in three namespaces. A third of them have a controller.
func randomCache(t *testing.T, random *rand.Rand) *Informer {
	t.Helper()
	var all []*object.Object
	for n := range 200 {
		o := configMap(fmt.Sprintf("n%d", random.IntN(3)), fmt.Sprintf("c%d", n))
		if n%3 == 0 {
			o.SetOwnerReferences([]metav1.OwnerReference{owner("u1", true)})
		}
		with := map[string]string{}
		for _, key := range []string{"a", "b", "c"} {
			if random.IntN(3) > 0 {
				with[key] = fmt.Sprint(random.IntN(3))
			}
		}
		o.SetLabels(with)
		all = append(all, o)
	}
	return newCluster(all...).open(t, Spec{Resource: configMaps})
}

// randomSelector returns a selector of the labels of randomCache.
func randomSelector(t *testing.T, random *rand.Rand) labels.Selector {
	t.Helper()
	clauses := []string{"a=0", "a=1", "b=1", "b in (0,2)", "c in (0,1)", "c", "!b", "a notin (0)", ""}
	text := clauses[random.IntN(len(clauses))]
	if more := clauses[random.IntN(len(clauses))]; text != "" && more != "" {
		text += "," + more
	}
	selector, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

func TestSelectReturnsTheMatchingObjects(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	i := randomCache(t, random)
	for range 500 {
		q := selection.Query{Namespace: []string{"", "n0", "n1", "nowhere"}[random.IntN(4)]}
		switch random.IntN(3) {
		case 0:
			q.Labels = randomSelector(t, random)
		case 1:
			q.Names = []string{"c1", fmt.Sprintf("c%d", random.IntN(250)), "c1"}[:random.IntN(4)]
		}
		var want []*object.Object
		for _, o := range i.List() {
			if q.Matches(SubjectOf(o)) {
				want = append(want, o)
			}
		}
		if diff := cmp.Diff(keys(want), keys(i.Select(q))); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", q, diff)
		}
	}
}

func TestOrphansReturnsTheMatchingOrphans(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	i := randomCache(t, random)
	for range 300 {
		namespace, selector := []string{"", "n0", "n2"}[random.IntN(3)], randomSelector(t, random)
		var want []*object.Object
		for _, o := range i.List() {
			if object.ControllerOf(o) == nil && (namespace == "" || namespace == o.GetNamespace()) && selector.Matches(labels.Set(o.GetLabels())) {
				want = append(want, o)
			}
		}
		if diff := cmp.Diff(keys(want), keys(i.Orphans(namespace, selector))); diff != "" {
			t.Fatalf("%q in %q (-want +got):\n%s", selector, namespace, diff)
		}
	}
}

func TestLabelIndexIsUpdated(t *testing.T) {
	o := configMap("default", "a")
	c := newCluster(o)
	i := c.open(t, Spec{Resource: configMaps})
	changes := make(events, 10)
	if err := i.Handle(changes.on); err != nil {
		t.Fatal(err)
	}
	<-changes
	q := selection.Query{Namespace: "default", Labels: labels.SelectorFromSet(labels.Set{"app": "web"})}
	for n, want := range []int{0, 1, 0} {
		if n > 0 {
			labeled := object.Copy(o)
			labeled.SetLabels(map[string]string{"app": []string{"", "web", "db"}[n]})
			c.update(t, labeled)
			<-changes
		}
		if got := len(i.Select(q)); got != want {
			t.Errorf("after %d changes %d objects are found, want %d", n, got, want)
		}
	}
}

func TestQueriesBeyondIndexLimit(t *testing.T) {
	o := configMap("default", "a")
	with := map[string]string{}
	for n := range maxLookups + 10 {
		with[fmt.Sprintf("key-%d", n)] = "x"
	}
	o.SetLabels(with)
	i := newCluster(o, configMap("default", "b")).open(t, Spec{Resource: configMaps})
	for key := range with {
		q := selection.Query{Labels: labels.SelectorFromSet(labels.Set{key: "x"})}
		if diff := cmp.Diff([]string{"default/a"}, keys(i.Select(q))); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", key, diff)
		}
	}
	if n := len(i.parts()[0].lookups); n > maxLookups {
		t.Errorf("there are %d indexes, want no more than %d", n, maxLookups)
	}
}

package selection

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

// selects is the selector of that text, as on kubectl's command line; "" is nil.
func selects(t testing.TB, text string) labels.Selector {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMatches(t *testing.T) {
	web := &Subject{Namespace: "a", Name: "web", Labels: labels.Set{"app": "web"}, NamespaceLabels: labels.Set{"team": "x"}}
	node := &Subject{Name: "n1", Labels: labels.Set{"zone": "1"}}
	for _, c := range []struct {
		name      string
		query     Query
		web, node bool
	}{
		{"the zero value", Query{}, true, true},
		{"its namespace", Query{Namespace: "a"}, true, false},
		{"another namespace", Query{Namespace: "b"}, false, false},
		{"a name", Query{Names: []string{"x", "n1"}}, false, true},
		{"a name in a namespace", Query{Namespace: "a", Names: []string{"web"}}, true, false},
		{"no name at all", Query{Names: []string{}}, false, false},
		{"labels", Query{Labels: selects(t, "app in (web, db)")}, true, false},
		{"labels that are not there", Query{Labels: selects(t, "!app")}, false, true},
		{"every label, which is none", Query{Labels: labels.Everything()}, true, true},
		{"labels of the namespace", Query{Namespaces: selects(t, "team=x")}, true, false},
		{"any namespace, which a node has not", Query{Namespaces: labels.Everything()}, true, false},
		{"labels of the namespace and its own", Query{Namespaces: selects(t, "team=x"), Labels: selects(t, "app=db")}, false, false},
	} {
		if web, node := c.query.Matches(web), c.query.Matches(node); web != c.web || node != c.node {
			t.Errorf("%s: matches the Pod %t and the Node %t, want %t and %t", c.name, web, node, c.web, c.node)
		}
	}
}

func TestUnknownNamespaceMatchesNoSelector(t *testing.T) {
	q := Query{Namespaces: selects(t, "!team")}
	if q.Matches(&Subject{Namespace: "a", Name: "web"}) {
		t.Error("it matches")
	}
}

func TestRequired(t *testing.T) {
	got := Required(selects(t, "app=web,tier in (b,a,b),!old,zone notin (z),there"))
	want := []Requirement{{"app", []string{"web"}}, {"there", nil}, {"tier", []string{"a", "b"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Required(nil); got != nil {
		t.Errorf("no selector requires %v", got)
	}
}

func TestCommonLabelIsNotUsedAsBucket(t *testing.T) {
	var x Index[int]
	for n := range 1000 {
		x.Set(n, Query{Namespace: "a", Labels: selects(t, fmt.Sprintf("app=web,instance=i%d", n))})
	}
	for b, all := range x.buckets {
		if len(all) > 1 {
			t.Errorf("%d queries are in %v", len(all), b)
		}
	}
}

// A query that only requires a label or annotation is not compared with objects without it.
func TestRequirementOfAnyValueHasOwnBucket(t *testing.T) {
	var x Index[int]
	for n := range 1000 {
		q := Query{Labels: selects(t, fmt.Sprintf("tenant-%d", n))}
		if n%2 == 0 {
			q = Query{Annotations: likeLabels{q.Labels}}
		}
		x.Set(n, q)
	}
	if all := x.buckets[bucket{}]; len(all) > 0 {
		t.Errorf("%d queries are compared with everything", len(all))
	}
	got := x.Matching(&Subject{Labels: labels.Set{"tenant-7": "x", "tenant-8": ""}, Annotations: labels.Set{"tenant-4": ""}})
	if diff := cmp.Diff([]int{4, 7}, sorted(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSetWithoutQueriesRemovesAll(t *testing.T) {
	var x Index[int]
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		x.Set(n%50, someQueries(t, random)...)
	}
	for n := range 50 {
		x.Set(n)
	}
	if x.Len() != 0 || len(x.buckets) != 0 {
		t.Errorf("%d queries and %d buckets are left", x.Len(), len(x.buckets))
	}
}

// The index returns the same as a comparison of every query with the object, after any sequence of changes.
func TestIndexEqualsLinearScan(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 7))
		var x Index[int]
		model := map[int][]Query{}
		for range 300 {
			who := random.IntN(40)
			model[who] = someQueries(t, random)
			x.Set(who, model[who]...)
			s := someSubject(random)
			if diff := cmp.Diff(compareAll(model, s), sorted(x.Matching(s))); diff != "" {
				t.Fatalf("seed %d, who looks for %+v (-want +got):\n%s", seed, *s, diff)
			}
		}
	}
}

// likeLabels selects annotations as labels are.
type likeLabels struct{ labels.Selector }

func (s likeLabels) Matches(annotations map[string]string) bool {
	return s.Selector.Matches(labels.Set(annotations))
}
func (s likeLabels) Required() []Requirement { return Required(s.Selector) }

func compareAll(model map[int][]Query, s *Subject) []int {
	var found []int
	for who, queries := range model {
		if slices.ContainsFunc(queries, func(q Query) bool { return q.Matches(s) }) {
			found = append(found, who)
		}
	}
	return sorted(found)
}

func sorted(all []int) []int {
	slices.Sort(all)
	return all
}

var (
	few    = []string{"a", "b", "c"}
	clause = []string{"a=a", "a=b", "b in (a,b)", "b in (c)", "c", "!c", "a notin (a)", "b!=c"}
)

func pick(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

func someLabels(random *rand.Rand) labels.Set {
	set := labels.Set{}
	for _, key := range few {
		if random.IntN(2) == 0 {
			set[key] = pick(random, few)
		}
	}
	return set
}

func someSubject(random *rand.Rand) *Subject {
	s := &Subject{Name: pick(random, few), Labels: someLabels(random), Annotations: someLabels(random)}
	if random.IntN(4) > 0 {
		s.Namespace = pick(random, few)
	}
	if s.Namespace != "" && random.IntN(4) > 0 {
		s.NamespaceLabels = someLabels(random)
	}
	return s
}

func someSelector(t testing.TB, random *rand.Rand) labels.Selector {
	text := pick(random, clause)
	for range random.IntN(3) {
		text += "," + pick(random, clause)
	}
	return selects(t, text)
}

func someQueries(t testing.TB, random *rand.Rand) []Query {
	var all []Query
	for range random.IntN(4) {
		var q Query
		switch random.IntN(3) {
		case 0:
			q.Namespace = pick(random, few)
		case 1:
			q.Namespaces = someSelector(t, random)
		}
		switch random.IntN(4) {
		case 0:
			q.Names = few[:random.IntN(3)]
		case 1, 2:
			q.Labels = someSelector(t, random)
		}
		if random.IntN(4) == 0 {
			q.Annotations = likeLabels{someSelector(t, random)}
		}
		all = append(all, q)
	}
	return all
}

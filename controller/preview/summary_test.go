package preview

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
)

func TestSummary(t *testing.T) {
	observed := &object.Set{}
	observed.Put(objecttest.ConfigMap("a", nil))
	observed.Put(objecttest.ConfigMap("b", nil))
	write := func(e Effect, name string) Write {
		return Write{Op: plan.Op{Object: objecttest.ConfigMap(name, nil)}, Effect: e, Rolls: e == Recreate, Doubtful: e == Update}
	}
	parent := func(name string) object.Ref { return objecttest.WidgetRef("default", name) }
	results := []*Result{
		{Parent: parent("p"), Skipped: Paused},
		{Parent: parent("f"), Err: errors.New("broken"), Observed: observed},
		{Parent: parent("n"), Observed: observed},
		{Parent: parent("c"), Observed: observed, Writes: []Write{write(Create, "c"), write(Update, "u"), write(Recreate, "r"), write(Delete, "d")}},
		{Parent: parent("s"), Writes: []Write{write(UpdateStatus, "s"), write(UpdateParent, "s")}},
	}
	for i := range 30 {
		results = append(results, &Result{Parent: parent(fmt.Sprint("x", i)), Writes: []Write{write(Delete, fmt.Sprintf("d%02d", i))}})
	}
	var first Summary
	for round := range 5 {
		var s Summary
		for _, r := range results {
			s.Add(r)
		}
		if round == 0 {
			first = s
		}
		if diff := cmp.Diff(first.Examples, s.Examples); diff != "" {
			t.Errorf("the examples depend on the order of the results:\n%s", diff)
		}
		rand.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	}
	want := Counts{Creates: 1, Updates: 1, Recreates: 1, Deletes: 31}
	if first.Total != want || first.Kinds[configMaps] != want || first.Parents != 35 || first.Skipped != 1 || first.Failed != 1 || first.Changed != 32 || first.Children != 6 || first.Rolling != 1 || first.Doubtful != 1 {
		t.Errorf("%+v", first)
	}
	if len(first.Examples) != maxExamples || first.Examples[0].Effect != Delete || first.Examples[0].Parent != parent("c") || len(first.Failures) != 1 {
		t.Errorf("examples %+v, failures %+v", first.Examples, first.Failures)
	}
}

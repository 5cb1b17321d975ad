package shadow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/spec/spectest"
	"metascript/controller/throttle"
	"metascript/engine"
)

// named are n parents.
func named(n int) []*object.Object {
	var all []*object.Object
	for i := range n {
		all = append(all, widget(fmt.Sprint("w", i)))
	}
	return all
}

// A candidate is compared for each parent in the caches, although none is reconciled.
func TestQuietParentsAreCompared(t *testing.T) {
	w := newWorldOf(t, script("script", oneChild)+shadowOf(oneChild+"\n", ""), named(maxBatch+9)...)
	r := w.until(func(r *Report) bool { return r.Done })
	if want := (Counts{Parents: maxBatch + 9, Total: maxBatch + 9, Agree: maxBatch + 9, Done: true}); r.Counts != want || r.Left != nil {
		t.Errorf("%+v, want %+v", r, want)
	}
	seen := map[string]bool{}
	for range maxBatch + 9 {
		c := <-w.sink.compared
		if seen[c.Parent.Name] = true; !c.Began.IsZero() || c.UID == "" || c.Controller == "" {
			t.Fatalf("%+v", c)
		}
	}
	if len(seen) != maxBatch+9 || len(w.sink.compared) > 0 {
		t.Errorf("%d parents were compared, and %d more often than once", len(seen), len(w.sink.compared))
	}
	w.load(script("script", oneChild) + shadowOf("def sync(parent): return {'children': []}", ""))
	w.until(func(r *Report) bool { return r.Done && r.Differ == maxBatch+9 && r.First != nil })
}

// What cannot be compared is reported.
func TestParentsThatAreNotCompared(t *testing.T) {
	all := named(4)
	all[0].SetAnnotations(map[string]string{"metacontroller.k8s.io/paused": "true"})
	all[1] = objecttest.With(all[1], objecttest.Deleting, objecttest.WithFinalizers("example.com/other")) // its sync hook is called
	w := newWorldOf(t, script("script", oneChild)+shadowOf(oneChild+"\n", ""), all...)
	r := w.until(func(r *Report) bool { return r.Done })
	if r.Total != 4 || r.Parents+1 != 4 || r.Left == nil || r.Left.Parent.Name != "w0" || !strings.Contains(r.Left.Why, "paused") {
		t.Errorf("%+v, %+v", r.Counts, r.Left)
	}
	for range 3 {
		w.next()
	}
	if len(w.sink.compared) > 0 {
		t.Errorf("another comparison: %s", w.next())
	}
}

// With a share, the parents of the share are compared.
func TestPassOfShare(t *testing.T) {
	all := named(200)
	want := int64(0)
	for _, o := range all {
		if isShared(o.GetUID(), 10) {
			want++
		}
	}
	w := newWorldOf(t, script("script", oneChild)+"shadow: {share: 10%, script: "+objecttest.Inline("Starlark", oneChild+"\n")+"}\n", all...)
	r := w.until(func(r *Report) bool { return r.Done })
	if r.Parents != want || r.Total != want || want == 0 {
		t.Errorf("%+v, want %d", r.Counts, want)
	}
}

// A server on standby compares nothing, until it leads.
func TestStandbyComparesNothing(t *testing.T) {
	w := newWorldOf(t, script("script", oneChild), named(3)...)
	w.in.Leads = false
	w.load(script("script", oneChild) + shadowOf(oneChild+"\n", ""))
	w.loaded()
	w.reconcile(widget("w0")) // a server that has just lost the lead
	w.next()
	if r := w.until(func(r *Report) bool { return r.Comparisons() == 1 }); r.Done || r.Parents != 1 || r.Total != 3 {
		t.Errorf("%+v", r.Counts)
	}
	w.in.Leads = true
	r := w.until(func(r *Report) bool { return r.Done })
	if r.Comparisons() != 3 || r.Parents != 3 {
		t.Errorf("%+v: the one that was compared is compared again", r.Counts)
	}
}

// A new candidate ends the pass of the one before, and a candidate that exceeds its limits is stopped.
func TestPassEndsWithItsCandidate(t *testing.T) {
	w := newWorldOf(t, script("script", oneChild)+shadowOf(oneChild+"\n", ""), named(2*maxBatch)...)
	first := w.next()
	w.load(script("script", oneChild) + shadowOf("def sync(parent): fail('x')", ""))
	r := w.until(func(r *Report) bool { return r.Done })
	if first != "agrees" || r.Agree != 0 || r.Errors != 2*maxBatch {
		t.Errorf("%s, %+v", first, r.Counts)
	}
	loop := "def sync(parent):\n    for i in range(1000000000): pass\n    return {'children': []}\n"
	w.load(script("script", oneChild) + shadowOf(loop, ", limits: {steps: 10000}"))
	if r := w.until(func(r *Report) bool { return r.Stopped != nil }); r.Errors != maxExceeded {
		t.Errorf("%+v", r.Counts)
	}
}

// A parent whose reconcile was dropped is compared later.
func TestDroppedReconcileIsMadeUpFor(t *testing.T) {
	w := newWorldOf(t, script("script", oneChild)+shadowOf(oneChild+"\n", ""), named(2)...)
	w.until(func(r *Report) bool { return r.Done })
	added := objecttest.ForClient(widget("added"))[0].(*unstructured.Unstructured)
	if _, err := w.client.Resource(objecttest.Widgets).Namespace("default").Create(t.Context(), added, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for w.in.Binding.Parent(objecttest.WidgetRef("default", "added")) == nil {
		time.Sleep(time.Millisecond)
	}
	of := w.all[w.in.Declaration.ID()]
	of.drop(of.current.Load())
	w.until(func(r *Report) bool { return r.Done && r.Dropped == 1 && r.Agree == 3 && r.Total == 3 })
}

// A script that runs and is not called for a parent any more, since it exceeded a limit, is not called for the comparison either.
func TestPassAsksNoHeldParent(t *testing.T) {
	loop := "def sync(parent):\n    for i in range(1000000000): pass\n    return {'children': []}\n"
	w := newWorldOf(t, "script: {language: Starlark, inline: "+objecttest.Quoted(loop)+", limits: {steps: 1000}}\n", named(1)...)
	parent := w.in.Binding.Parent(objecttest.WidgetRef("default", "w0"))
	for range throttle.StrikesAllowed {
		_ = w.in.Live.Breaker.Note(object.RefOf(parent), throttle.InputFor(parent, hook.Sync), &engine.Error{Kind: engine.KindSteps}, time.Now())
	}
	w.in.Declaration = spectest.Composite(t, parents+"script: {language: Starlark, inline: "+objecttest.Quoted(loop)+", limits: {steps: 1000}}\n"+shadowOf(oneChild, ""))
	r := w.until(func(r *Report) bool { return r.Done })
	if r.Left == nil || !strings.Contains(r.Left.Why, "exceeded a limit") || r.Comparisons() != 0 {
		t.Errorf("%+v %+v", r.Counts, r.Left)
	}
}

package reconcile

import (
	"fmt"
	"strings"
	"testing"

	kruntime "k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/hook"
)

func TestOverlapWarnings(t *testing.T) {
	first, _ := newTestReconciler(t, wants(), nil, tenant("x", "a"), tenant("y", "a"), tenant("z", "b"))
	a := joined(t, selecting(t, first, "a", "tenant=a"))
	also := joined(t, beside(t, a, "also-a", "tenant in (a,c)"))
	other := joined(t, beside(t, a, "b", "tenant=b"))
	told := a.findOverlap().warnings
	if len(told) != 1 || !strings.HasPrefix(told[0], "CompositeController also-a is about widgets too, such as default/x: ") {
		t.Errorf("a is told %q", told)
	}
	if told := also.findOverlap().warnings; len(told) != 1 || !strings.HasPrefix(told[0], "CompositeController a is") {
		t.Errorf("also-a is told %q", told)
	}
	if o := other.findOverlap(); len(o.warnings) > 0 || o.parents != 1 {
		t.Errorf("b is told %q of %d parents", o.warnings, o.parents)
	}
	also.shared.Hub.Leave(also)
	if told := a.findOverlap().warnings; len(told) > 0 {
		t.Errorf("after the other one left a is told %q", told)
	}
}

func TestDecoratorOverlapIsNotReported(t *testing.T) {
	first, _ := newTestReconciler(t, wants(), nil, tenant("x", "a"))
	a := joined(t, selecting(t, first, "a", "tenant=a"))
	decorator := beside(t, a, "d", "tenant=a")
	decorator.binding.Shape = hook.Decorator
	joined(t, decorator)
	if told := append(a.findOverlap().warnings, decorator.findOverlap().warnings...); len(told) > 0 {
		t.Errorf("they are told %q", told)
	}
}

func TestOverlapWarningsNameFirstControllers(t *testing.T) {
	first, _ := newTestReconciler(t, wants(), nil, tenant("x", "a"))
	a := joined(t, selecting(t, first, "a", ""))
	for n := range 15 {
		joined(t, beside(t, a, fmt.Sprintf("other-%02d", n), "tenant"))
	}
	told := a.findOverlap().warnings
	if len(told) != maxNamedControllers+1 || told[maxNamedControllers] != "so are 5 other CompositeControllers" {
		t.Errorf("told is %q", told)
	}
}

// What a controller knows of the others does not take a look at each parent for each other one.
func TestOverlapOfThousandControllers(t *testing.T) {
	first, _ := newTestReconciler(t, wants(), nil, tenant("x", "a"), tenant("y", "a"), tenant("z", "b"))
	all := []*Reconciler{joined(t, selecting(t, first, "000", ""))}
	for n := range 999 {
		all = append(all, joined(t, beside(t, first, fmt.Sprintf("%03d", n+1), "")))
	}
	for _, r := range all {
		o := r.findOverlap()
		if len(o.warnings) != maxNamedControllers+1 || o.warnings[maxNamedControllers] != "so are 989 other CompositeControllers" || o.parents != 3 {
			t.Fatalf("%s has %d parents, and reports %q", r.binding.Name, o.parents, o.warnings)
		}
	}
}

// BenchmarkOverlap is the look of every one of 1,000 controllers at the others, after another controller has come and gone.
func BenchmarkOverlap(b *testing.B) {
	for _, c := range []struct {
		name     string
		selector func(n int) string
	}{
		{"everything", func(int) string { return "" }},
		{"all but one tenant", func(n int) string { return fmt.Sprintf("tenant!=%d", n) }},
		{"one tenant", func(n int) string { return fmt.Sprintf("tenant=%d", n) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			const controllers, parents = 1000, 2000
			var there []kruntime.Object
			for n := range parents {
				there = append(there, tenant(fmt.Sprintf("w%d", n), fmt.Sprint(n%controllers)))
			}
			first, _ := newTestReconciler(b, wants(), nil, there...)
			var all []*Reconciler
			for n := range controllers {
				r := first
				if n > 0 {
					r = beside(b, first, fmt.Sprint(n), "")
				}
				all = append(all, joined(b, selecting(b, r, fmt.Sprint(n), c.selector(n))))
			}
			other := joined(b, beside(b, first, "other", "tenant=1"))
			for b.Loop() {
				other.shared.Hub.Leave(other)
				if err := other.watch(); err != nil {
					b.Fatal(err)
				}
				for _, r := range all {
					r.findOverlap()
				}
			}
		})
	}
}

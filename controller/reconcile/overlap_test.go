package reconcile

import (
	"fmt"
	"slices"
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
	warnings := a.findOverlap().warnings
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "CompositeController also-a selects widgets too, such as default/x: ") {
		t.Errorf("a has the warnings %q", warnings)
	}
	if warnings := also.findOverlap().warnings; len(warnings) != 1 || !strings.HasPrefix(warnings[0], "CompositeController a selects") {
		t.Errorf("also-a has the warnings %q", warnings)
	}
	if o := other.findOverlap(); len(o.warnings) > 0 || o.parents != 1 {
		t.Errorf("b has the warnings %q and %d parents", o.warnings, o.parents)
	}
	also.shared.Hub.Leave(also)
	if warnings := a.findOverlap().warnings; len(warnings) > 0 {
		t.Errorf("after the other one has left, a has the warnings %q", warnings)
	}
}

// A controller of another tenant is not named, on either side, and two of them are as one. The warnings and the number of parents tell
// of no parent in a namespace that the controller's account may not see.
func TestOverlapWarningsDoNotNameOtherTenants(t *testing.T) {
	first, _ := newTestReconciler(t, wants(), nil, tenant("x", "a"), tenant("y", "a"))
	of := func(r *Reconciler, tenant string, sees bool) *Reconciler {
		r.binding.Tenant = tenant
		if tenant != "" {
			r.binding.SeesParents = func(namespace string) bool { return sees && namespace == "default" }
		}
		return joined(t, r)
	}
	none := of(selecting(t, first, "none", "tenant=a"), "", true)
	a, same := of(beside(t, none, "a", "tenant=a"), "ta", true), of(beside(t, none, "same", "tenant=a"), "ta", true)
	b, blind := of(beside(t, none, "b", "tenant=a"), "tb", true), of(beside(t, none, "blind", "tenant=a"), "tc", false)
	for _, r := range []*Reconciler{none, a, same, b, blind} {
		r.findOverlap() // from now on the others know what it sees
	}
	const why = " selects widgets too, such as default/x: each overwrites the other's status and deletes the other's children; keep one, or give them label selectors"
	const other = "a CompositeController of another tenant" + why
	for _, c := range []struct {
		r       *Reconciler
		want    []string
		parents int
	}{
		{none, []string{other}, 2},
		{a, []string{"CompositeController same" + why, other}, 2},
		{same, []string{"CompositeController a" + why, other}, 2},
		{b, []string{other}, 2},
		{blind, nil, 0},
	} {
		if o := c.r.findOverlap(); !slices.Equal(o.warnings, c.want) || o.parents != c.parents {
			t.Errorf("%s has %d parents and the warnings %q, want %d and %q", c.r.binding.Name, o.parents, o.warnings, c.parents, c.want)
		}
	}
	blind.binding.SeesParents = func(string) bool { return true }
	if o := blind.findOverlap(); len(o.warnings) != 1 || o.parents != 2 {
		t.Errorf("after its account was permitted to see the parents: %d parents and the warnings %q", o.parents, o.warnings)
	}
	for _, r := range []*Reconciler{a, same, b, blind} {
		r.binding.SeesParents = func(string) bool { return false }
		r.findOverlap()
	}
	if o := none.findOverlap(); len(o.warnings) > 0 || o.parents != 2 {
		t.Errorf("controllers whose accounts may not see the parents disturb nobody, but the warnings are %q", o.warnings)
	}
}

func TestDecoratorOverlapIsNotReported(t *testing.T) {
	first, _ := newTestReconciler(t, wants(), nil, tenant("x", "a"))
	a := joined(t, selecting(t, first, "a", "tenant=a"))
	decorator := beside(t, a, "d", "tenant=a")
	decorator.binding.Shape = hook.Decorator
	joined(t, decorator)
	if warnings := append(a.findOverlap().warnings, decorator.findOverlap().warnings...); len(warnings) > 0 {
		t.Errorf("the warnings are %q", warnings)
	}
}

func TestOverlapWarningsNameFirstControllers(t *testing.T) {
	first, _ := newTestReconciler(t, wants(), nil, tenant("x", "a"))
	a := joined(t, selecting(t, first, "a", ""))
	for n := range 15 {
		joined(t, beside(t, a, fmt.Sprintf("other-%02d", n), "tenant"))
	}
	warnings := a.findOverlap().warnings
	if len(warnings) != maxNamedControllers+1 || warnings[maxNamedControllers] != "so do 5 other CompositeControllers" {
		t.Errorf("the warnings are %q", warnings)
	}
}

// The time that an overlap takes does not depend on the number of parents times the number of controllers.
func TestOverlapOfThousandControllers(t *testing.T) {
	first, _ := newTestReconciler(t, wants(), nil, tenant("x", "a"), tenant("y", "a"), tenant("z", "b"))
	all := []*Reconciler{joined(t, selecting(t, first, "000", ""))}
	for n := range 999 {
		all = append(all, joined(t, beside(t, first, fmt.Sprintf("%03d", n+1), "")))
	}
	for _, r := range all {
		o := r.findOverlap()
		if len(o.warnings) != maxNamedControllers+1 || o.warnings[maxNamedControllers] != "so do 989 other CompositeControllers" || o.parents != 3 {
			t.Fatalf("%s has %d parents and the warnings %q", r.binding.Name, o.parents, o.warnings)
		}
	}
}

// BenchmarkOverlap computes the overlaps of 1,000 controllers after another controller has left and joined.
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
			var objects []kruntime.Object
			for n := range parents {
				objects = append(objects, tenant(fmt.Sprintf("w%d", n), fmt.Sprint(n%controllers)))
			}
			first, _ := newTestReconciler(b, wants(), nil, objects...)
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

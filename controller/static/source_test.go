package static

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/plan"
)

// newController is a CompositeController as it stands in a file.
func newController(name, script string) *object.Object {
	return object.New(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.KindCompositeController,
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"script": map[string]any{"inline": script}},
	})
}

// follower notes what changes among the CompositeControllers.
func follower(t *testing.T, g *Source) func() []string {
	t.Helper()
	var seen []string
	err := g.Of(v1alpha1.KindCompositeController).Handle(func(old, current *object.Object) {
		generation := func(o *object.Object) string {
			if o == nil {
				return "-"
			}
			return fmt.Sprintf("%s:%d", o.GetName(), o.GetGeneration())
		}
		seen = append(seen, generation(old)+" "+generation(current))
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() []string {
		defer func() { seen = nil }()
		return seen
	}
}

func TestHandlersAreCalledWithChanges(t *testing.T) {
	g := &Source{}
	g.Set([]*object.Object{newController("a", "1")})
	seen := follower(t, g)
	for _, c := range []struct {
		name  string
		given []*object.Object
		want  []string
	}{
		{"there before", []*object.Object{newController("a", "1")}, []string{"- a:1"}},
		{"as it was", []*object.Object{newController("a", "1")}, nil},
		{"edited", []*object.Object{newController("a", "2")}, []string{"a:1 a:2"}},
		{"another one", []*object.Object{newController("a", "2"), newController("b", "1")}, []string{"- b:1"}},
		{"gone", []*object.Object{newController("b", "1")}, []string{"a:2 -"}},
		{"back", []*object.Object{newController("a", "2"), newController("b", "1")}, []string{"- a:3"}},
	} {
		g.Set(c.given)
		if diff := cmp.Diff(c.want, seen()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestObjectKeepsUIDAndStatus(t *testing.T) {
	var reported []any
	g := &Source{OnStatus: func(o *object.Object) { reported = append(reported, o.Map()["status"]) }}
	key := object.Key{Name: "a"}
	g.Set([]*object.Object{newController("a", "1")})
	first := g.Of(v1alpha1.KindCompositeController).Get(key)
	written := object.Copy(first)
	written.Map()["status"] = map[string]any{"parents": int64(1)}
	stored, err := g.Do(t.Context(), plan.Op{Verb: plan.UpdateStatus, Object: written})
	if err != nil || stored.GetResourceVersion() == first.GetResourceVersion() {
		t.Errorf("stored as version %s after %s, error %v", stored.GetResourceVersion(), first.GetResourceVersion(), err)
	}
	g.Set([]*object.Object{newController("a", "2")})
	second := g.Of(v1alpha1.KindCompositeController).Get(key)
	if second.GetUID() != first.GetUID() || first.GetUID() == "" {
		t.Errorf("its UID is %q, then %q", first.GetUID(), second.GetUID())
	}
	if diff := cmp.Diff(map[string]any{"parents": int64(1)}, second.Map()["status"]); diff != "" {
		t.Errorf("its status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{map[string]any{"parents": int64(1)}}, reported); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}

	late := object.Copy(first)
	late.Map()["status"] = map[string]any{"parents": int64(9)}
	if _, err := g.Do(t.Context(), plan.Op{Verb: plan.UpdateStatus, Object: late}); err != nil {
		t.Error(err)
	}
	if now := g.Of(v1alpha1.KindCompositeController).Get(key); now.GetGeneration() != 2 || len(reported) != 1 {
		t.Errorf("a status of an older generation was stored: %v", now)
	}
}

func TestSetDoesNotChangeObjects(t *testing.T) {
	o := newController("a", "1")
	g := &Source{}
	g.Set([]*object.Object{o})
	if diff := cmp.Diff(newController("a", "1").Map(), o.Map()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

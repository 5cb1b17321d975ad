package observe

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/queue"
	"metascript/engine/packed"
)

func configMap(t *testing.T, data map[string]any) (*object.Object, packed.Ref) {
	t.Helper()
	content, err := packed.Pack(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "m", "namespace": "ns", "resourceVersion": fmt.Sprint(data)}, "data": data})
	if err != nil {
		t.Fatal(err)
	}
	return object.OfPacked(content), content.Ref()
}

func TestCauses(t *testing.T) {
	c, a, b := NewCauses(), objecttest.WidgetRef("ns", "a"), objecttest.WidgetRef("ns", "b")
	old, thereBefore := configMap(t, map[string]any{"same": "s", "a": "1", "b": "1", "c": "1", "d": "1", "e": "1"})
	current, thereNow := configMap(t, map[string]any{"same": "s", "a": "2", "b": "2", "c": "2", "d": "2"})
	n := c.Of(queue.ChildChanged, old, current)
	n.For(a)
	n.For(b)
	c.Of(queue.ChildChanged, nil, old).For(a)
	c.Of(queue.ChildChanged, current, nil).For(a)
	for range MaxCauses {
		c.Of(queue.ParentChanged, nil, old).For(a)
	}
	causes, missed := c.Take(a)
	n, old, current = nil, nil, nil
	runtime.GC()
	if !thereBefore.To(packed.Map{}) || !thereNow.To(packed.Map{}) {
		t.Error("the objects are kept in memory")
	}
	var texts []string
	for _, cause := range causes[:3] {
		texts = append(texts, fmt.Sprintf("%s %s %s %s %t", cause.Reason, cause.Object, cause.Change, cause.Fields, cause.More))
	}
	want := "child ns/m changed [data.a data.b data.c data.d] true; child ns/m created [] false; child ns/m deleted [] false"
	if got := strings.Join(texts, "; "); got != want || missed != 3 || len(causes) != MaxCauses {
		t.Errorf("got %s, %d and %d missed, want %s", got, len(causes), missed, want)
	}
	if causes, _ := c.Take(a); causes != nil {
		t.Errorf("they are taken again: %v", causes)
	}
	if causes, _ := c.Take(b); len(causes) != 1 {
		t.Errorf("the other parent has %v", causes)
	}
}

// Objects are kept until the reconcile, up to a limit, and not for a parent that need not be reconciled.
func TestHeldObjectsAreLimited(t *testing.T) {
	c := NewCauses()
	text := strings.Repeat("x", maxHeld/10) // is in each object twice
	change := func() (there packed.Ref) {
		old, there := configMap(t, map[string]any{"a": "1", "text": text})
		current, _ := configMap(t, map[string]any{"a": "2", "text": text})
		n := c.Of(queue.ChildChanged, old, current)
		n.For(objecttest.WidgetRef("ns", "a"))
		n.For(objecttest.WidgetRef("ns", "b"))
		return there
	}
	var all []packed.Ref
	for range 4 {
		all = append(all, change())
	}
	runtime.GC()
	kept := 0
	for _, there := range all {
		if !there.To(packed.Map{}) {
			kept++
		}
	}
	if kept != 2 || c.held > maxHeld {
		t.Errorf("%d changes of 2/5 of the limit are kept, %d bytes", kept, c.held)
	}
	c.Drop(objecttest.WidgetRef("ns", "a"))
	if c.held == 0 {
		t.Error("the changes for the other parent are not counted any more")
	}
	causes, _ := c.Take(objecttest.WidgetRef("ns", "b"))
	for _, cause := range causes {
		if got := strings.Join(cause.Fields, " "); got != "data.a" {
			t.Errorf("the fields are %s", got)
		}
	}
	if len(causes) != 4 || c.held != 0 {
		t.Errorf("%d causes; then %d bytes are held", len(causes), c.held)
	}
	c.Drop(objecttest.WidgetRef("ns", "b"))
}

// A Note may be noted for a parent after it was dropped for all before, while another parent takes it.
func TestNoteIsUsedAgain(t *testing.T) {
	c := NewCauses()
	old, _ := configMap(t, map[string]any{"a": "1"})
	current, _ := configMap(t, map[string]any{"a": "2"})
	n := c.Of(queue.ChildChanged, old, current)
	var all sync.WaitGroup
	for i := range 100 {
		parent := objecttest.WidgetRef("ns", fmt.Sprint(i))
		n.For(parent)
		all.Go(func() {
			if i%2 == 0 {
				c.Drop(parent)
			} else if causes, _ := c.Take(parent); len(causes) != 1 || len(causes[0].Fields) != 1 {
				t.Errorf("got %v", causes)
			}
		})
	}
	all.Wait()
	if c.held != 0 {
		t.Errorf("%d bytes are held", c.held)
	}
}

func TestNoCauses(t *testing.T) {
	var c *Causes
	c.Of(queue.ParentChanged, nil, nil).For(objecttest.WidgetRef("ns", "a"))
	if causes, missed := c.Take(objecttest.WidgetRef("ns", "a")); causes != nil || missed != 0 {
		t.Errorf("got %v", causes)
	}
}

func BenchmarkCause(b *testing.B) {
	pack := func(version, phase string) *object.Object {
		widget := objecttest.Widget(nil).Map()
		widget["metadata"].(map[string]any)["resourceVersion"] = version
		widget["status"] = map[string]any{"phase": phase}
		content, err := packed.Pack(widget)
		if err != nil {
			b.Fatal(err)
		}
		return object.OfPacked(content)
	}
	old, current := pack("1", "a"), pack("2", "b")
	c, key := NewCauses(), objecttest.WidgetRef("ns", "a")
	b.ReportAllocs()
	for b.Loop() {
		c.Of(queue.ParentChanged, old, current).For(key)
		c.Take(key)
	}
}

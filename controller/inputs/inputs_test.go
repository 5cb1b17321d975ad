package inputs

import (
	"fmt"
	"testing"

	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/engine/packed"
)

// of is an object with a resourceVersion, with data.a and data.b.
func of(t *testing.T, name string, version int, a, b string) *object.Object {
	t.Helper()
	content, err := packed.Pack(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": a, "b": b},
		"metadata": map[string]any{"name": name, "namespace": "default", "uid": "uid-of-" + name, "resourceVersion": fmt.Sprint(version)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return object.OfPacked(content)
}

func TestChanges(t *testing.T) {
	var (
		parent, x, y = of(t, "parent", 1, "", ""), of(t, "x", 2, "1", "1"), of(t, "y", 3, "1", "1")
		again        = of(t, "x", 9, "2", "1") // a has changed
		unread       = of(t, "x", 9, "1", "2") // b has changed
	)
	type wrote struct {
		verb   plan.Verb
		stored *object.Object
	}
	for _, c := range []struct {
		name   string
		reads  bool // data.a of each object; otherwise it is not known
		first  []*object.Object
		writes []wrote
		second []*object.Object
		want   Changes
	}{
		{"nothing", true, []*object.Object{parent, x}, nil, []*object.Object{parent, x}, Changes{}},
		{"what is read", true, []*object.Object{parent, x}, nil, []*object.Object{parent, again}, Changes{Others: true}},
		{"what is not read", true, []*object.Object{parent, x}, nil, []*object.Object{parent, unread}, Changes{}},
		{"what a webhook may have read", false, []*object.Object{parent, x}, nil, []*object.Object{parent, unread}, Changes{Others: true}},
		{"our write", false, []*object.Object{parent, x}, []wrote{{plan.Update, again}}, []*object.Object{parent, again}, Changes{}},
		{"a dry run", false, []*object.Object{parent, x}, []wrote{{plan.DryUpdate, again}}, []*object.Object{parent, again}, Changes{Others: true}},
		{"what follows from our write", false, []*object.Object{parent, x}, []wrote{{plan.Update, of(t, "x", 8, "2", "1")}}, []*object.Object{parent, again}, Changes{Ours: true}},
		{"what follows, and something else", false, []*object.Object{parent, x, y}, []wrote{{plan.Update, of(t, "x", 8, "2", "1")}},
			[]*object.Object{parent, again, of(t, "y", 10, "", "")}, Changes{Ours: true, Others: true}},
		{"our creation", false, []*object.Object{parent}, []wrote{{plan.Create, x}}, []*object.Object{parent, x}, Changes{}},
		{"somebody's creation", true, []*object.Object{parent}, nil, []*object.Object{parent, x}, Changes{Others: true}},
		{"our deletion", false, []*object.Object{parent, x}, []wrote{{plan.Delete, x}}, []*object.Object{parent}, Changes{}},
		{"our deletion, which takes its time", false, []*object.Object{parent, x}, []wrote{{plan.Delete, x}}, []*object.Object{parent, again}, Changes{}},
		{"our deletion of what we changed before", false, []*object.Object{parent, x}, []wrote{{plan.Update, again}, {plan.Delete, again}}, []*object.Object{parent}, Changes{}},
		{"somebody's deletion", true, []*object.Object{parent, x}, nil, []*object.Object{parent}, Changes{Others: true}},
		{"somebody's deletion of what we changed", true, []*object.Object{parent, x}, []wrote{{plan.Update, again}}, []*object.Object{parent}, Changes{Ours: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &Watch{}
			w.Called(c.first)
			if got := w.Changes(); got != (Changes{}) {
				t.Errorf("after the first call: %+v", got)
			}
			if c.reads {
				w.Read(readsA(c.first))
			} else {
				w.Read(nil)
			}
			for _, write := range c.writes {
				w.Wrote(plan.Op{Verb: write.verb, Object: write.stored}, write.stored)
			}
			w.Called(c.second)
			if got := w.Changes(); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			w.Called(c.second)
			if got := w.Changes(); got != (Changes{}) {
				t.Errorf("the same input again: %+v", got)
			}
		})
	}
}

// readsA returns the Recorder of a script that reads data.a of all objects. The first one is the parent.
func readsA(objects []*object.Object) *object.Recorder {
	r := &object.Recorder{}
	for i, o := range objects {
		value := r.Child
		if i == 0 {
			value = r.Parent
		}
		root := value(o).(packed.RecordedMap)
		data, _ := root.Get("data")
		data.(packed.RecordedMap).Get("a")
	}
	return r
}

// An object that is a child and a related object has two records of reads.
func TestObjectThatIsThereTwice(t *testing.T) {
	w, x := &Watch{}, of(t, "x", 1, "1", "1")
	w.Called([]*object.Object{x, x})
	r := readsA([]*object.Object{of(t, "parent", 1, "", ""), x})
	root := r.Relate(x).(packed.RecordedMap)
	data, _ := root.Get("data")
	data.(packed.RecordedMap).Get("b")
	w.Read(r)
	w.Called([]*object.Object{of(t, "x", 2, "1", "2")})
	if got := w.Changes(); got != (Changes{Others: true}) {
		t.Errorf("got %+v", got)
	}
}

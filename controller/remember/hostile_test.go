package remember

import (
	"fmt"
	"testing"
	"time"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// A caller is a script that reads some of each of its objects.
type caller struct {
	reads func(tree.Map)
	// other is what it gets in place of the objects of the Snapshot with which the reconcile begins; nil: the same.
	other func(*object.Object) *object.Object
}

// remember returns a Memory of a clean reconcile in which the script got the parent, the children and the related objects.
func (c caller) remember(now Snapshot, related ...*object.Object) *Memory {
	var m Memory
	var r object.Recorder
	m.Begin(now, false, undisturbed)
	got := func(o *object.Object) *object.Object {
		if c.other != nil {
			return c.other(o)
		}
		return o
	}
	read := func(view any) {
		if m, ok := view.(tree.Map); ok {
			c.reads(m)
		}
	}
	read(r.Parent(got(now.Parent)))
	for _, o := range now.Owned {
		if o = got(o); o != nil {
			read(r.Child(o))
		}
	}
	for _, o := range related {
		read(r.Relate(o))
	}
	m.Answered(&hook.Response{}, &r, len(related) > 0)
	m.End(true, 0)
	return &m
}

// reading returns a function that reads a path.
func reading(path ...string) func(tree.Map) {
	return func(m tree.Map) {
		for _, key := range path {
			v, _ := m.Get(key)
			inner, ok := v.(tree.Map)
			if !ok {
				return
			}
			m = inner
		}
	}
}

func readingAll(m tree.Map) { packed.Whole(m) }

func TestReadsOfOneVersionAreNotThoseOfAnother(t *testing.T) {
	widget, configMap := objecttest.Widget(nil), objecttest.ConfigMap("a", objecttest.Widget(nil))
	parent, child := objecttest.Packed(t, widget), objecttest.Packed(t, configMap)
	later := snapshot(1, changed(t, widget, setting("spec", "x", "y")), changed(t, configMap, setting("status", "x", "y")))
	for _, c := range []struct {
		name string
		as   caller
		want bool
	}{
		{"nothing is read", caller{reads: func(tree.Map) {}}, true},
		{"something else is read", caller{reads: reading("metadata", "labels")}, true},
		{"all is read", caller{reads: readingAll}, false},
		{"the parent has changed between the beginning and the call", caller{reading(), func(o *object.Object) *object.Object {
			if o == parent {
				return changed(t, widget, nil)
			}
			return o
		}}, false},
		{"a child has changed between the beginning and the call", caller{reading(), func(o *object.Object) *object.Object {
			if o == child {
				return changed(t, configMap, nil)
			}
			return o
		}}, false},
		{"an object that is not packed", caller{reading(), func(o *object.Object) *object.Object { return o.DeepCopy() }}, false},
		{"a child was gone", caller{reading(), func(o *object.Object) *object.Object {
			if o == child {
				return nil
			}
			return o
		}}, true}, // it is there now, and was at the beginning: nobody has claimed it
	} {
		m := c.as.remember(snapshot(1, parent, child))
		if holds(m, later) != c.want {
			t.Errorf("%s: it holds: %t", c.name, !c.want)
		}
	}
}

// An object with the same content is another one if it has another UID.
func TestObjectsThatAreMadeAgain(t *testing.T) {
	widget, configMap := objecttest.Widget(nil), objecttest.ConfigMap("a", objecttest.Widget(nil))
	again := func(o *object.Object) *object.Object {
		return objecttest.Packed(t, objecttest.With(o.DeepCopy(), func(o *object.Object) { o.SetUID(o.GetUID() + "-2") }))
	}
	parent, child, secret := objecttest.Packed(t, widget), objecttest.Packed(t, configMap), objecttest.Packed(t, objecttest.ConfigMap("s", nil))
	related := func(found ...*object.Object) func() ([]*object.Object, bool) {
		return func() ([]*object.Object, bool) { return found, true }
	}
	for _, c := range []struct {
		name    string
		now     Snapshot
		related func() ([]*object.Object, bool)
		want    Source
	}{
		{"nothing", snapshot(1, parent, child), related(secret), NothingChanged},
		{"read again by the caches", snapshot(1, objecttest.Packed(t, widget), objecttest.Packed(t, configMap)), related(objecttest.Packed(t, objecttest.ConfigMap("s", nil))), NothingChanged},
		{"the parent", snapshot(1, again(widget), child), related(secret), Computed},
		{"the child", snapshot(1, parent, again(configMap)), related(secret), Computed},
		{"a related object", snapshot(1, parent, child), related(again(objecttest.ConfigMap("s", nil))), Computed},
		{"a related object is gone", snapshot(1, parent, child), related(), Computed},
		{"one more related object", snapshot(1, parent, child), related(secret, objecttest.Packed(t, objecttest.ConfigMap("t", nil))), Computed},
		{"related objects that are not known", snapshot(1, parent, child), func() ([]*object.Object, bool) { return nil, false }, Computed},
		{"a later version of a related object", snapshot(1, parent, child), related(changed(t, objecttest.ConfigMap("s", nil), setting("data", "x", "y"))), NothingReadChanged},
	} {
		m := caller{reads: reading("spec")}.remember(snapshot(1, parent, child), secret)
		if got := m.Holds(c.now, c.related); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// If it is not known what the script has got, it may have got related objects that are gone.
func TestRelatedObjectsThatAreNotKnown(t *testing.T) {
	now := snapshot(1, objecttest.Packed(t, objecttest.Widget(nil)))
	m := remembering(now, &hook.Response{}, nil)
	if got := m.Holds(now, nil); got != NothingChanged {
		t.Errorf("without a change of related objects: %s", got)
	}
	if got := m.Holds(now, func() ([]*object.Object, bool) { return nil, true }); got != Computed {
		t.Errorf("after a change of related objects: %s", got)
	}
}

// An object can be there in two API versions, of which the script has read one.
func TestObjectInTwoVersions(t *testing.T) {
	parent := objecttest.Packed(t, objecttest.Widget(nil))
	in := func(version string, n int) *object.Object {
		return objecttest.Packed(t, objecttest.With(objecttest.ConfigMap("a", nil), func(o *object.Object) {
			o.SetAPIVersion(version)
			o.SetUID("u")
			o.SetResourceVersion(fmt.Sprint(n))
			o.Map()["data"] = map[string]any{"n": fmt.Sprint(n)}
		}))
	}
	for range 20 { // the order of a map is random
		m := caller{reads: func(m tree.Map) {
			if version, _ := m.Get("apiVersion"); version == "v1" {
				readingAll(m)
			}
		}}.remember(snapshot(1, parent), in("v1", 1), in("v2", 1))
		if got := m.Holds(snapshot(1, parent), func() ([]*object.Object, bool) { return []*object.Object{in("v1", 1), in("v2", 2)}, true }); got != NothingReadChanged {
			t.Fatalf("after a change of the version that is not read: %s", got)
		}
		if got := m.Holds(snapshot(1, parent), func() ([]*object.Object, bool) { return []*object.Object{in("v1", 2), in("v2", 2)}, true }); got != Computed {
			t.Fatalf("after a change of the version that is read: %s", got)
		}
	}
}

// Changes that are not read are followed one after the other: what was read is compared in each of them, and not only in the first.
func TestChangesInARow(t *testing.T) {
	widget := objecttest.Widget(func(o *object.Object) { o.Map()["spec"] = map[string]any{"read": "a", "list": []any{"x", "y"}} })
	reads := func(m tree.Map) {
		reading("status")(m) // which is absent
		spec, _ := m.Get("spec")
		_, _ = spec.(tree.Map).Get("read")
		list, _ := spec.(tree.Map).Get("list")
		list.(tree.Array).Len()
	}
	long := make([]any, 300)
	for i := range long {
		long[i] = fmt.Sprint("an element ", i)
	}
	for _, c := range []struct {
		name   string
		change func(*object.Object)
		want   Source
	}{
		{"what is read", setting("spec", "read", "b"), Computed},
		{"what is read becomes a map", setting("spec", "read", map[string]any{}), Computed},
		{"what is read is gone", func(o *object.Object) { delete(o.Map()["spec"].(map[string]any), "read") }, Computed},
		{"all is gone", func(o *object.Object) { delete(o.Map(), "spec") }, Computed},
		{"the list grows", setting("spec", "list", []any{"x", "y", "z"}), Computed},
		{"the list is another one of this length", setting("spec", "list", []any{"z", map[string]any{}}), NothingReadChanged},
		{"what was absent appears", setting("status", "x", "y"), Computed},
		{"another key", setting("spec", "a", long), NothingReadChanged},
		{"a key that was added is gone", func(o *object.Object) { delete(o.Map()["spec"].(map[string]any), "before") }, NothingReadChanged},
	} {
		for role, holds := range rolesOf(t, caller{reads: reads}, widget) {
			step := widget.DeepCopy()
			for i, text := range []any{"short", long, nil} { // so that what is read is at other places in the block
				step.SetResourceVersion(fmt.Sprint("1", i))
				setting("spec", "before", text)(step)
				if got := holds(objecttest.Packed(t, step)); got != NothingReadChanged {
					t.Fatalf("%s, %s: step %d: %s", role, c.name, i, got)
				}
			}
			if got := holds(changed(t, step, c.change)); got != c.want {
				t.Errorf("%s, %s: %s, want %s", role, c.name, got, c.want)
			}
		}
	}
}

// rolesOf calls a script with an object as the parent, as a child and as a related object. It returns functions with which the object is
// compared with another version of it.
func rolesOf(t *testing.T, script caller, o *object.Object) map[string]func(*object.Object) Source {
	t.Helper()
	parent, packed := objecttest.Packed(t, objecttest.With(o.DeepCopy(), func(o *object.Object) { o.SetUID("parent") })), objecttest.Packed(t, o)
	asParent, asChild, asRelated := script.remember(snapshot(1, packed)), script.remember(snapshot(1, parent, packed)), script.remember(snapshot(1, parent), packed)
	return map[string]func(*object.Object) Source{
		"parent": func(o *object.Object) Source { return asParent.Holds(snapshot(1, o), nil) },
		"child":  func(o *object.Object) Source { return asChild.Holds(snapshot(1, parent, o), nil) },
		"related": func(o *object.Object) Source {
			return asRelated.Holds(snapshot(1, parent), func() ([]*object.Object, bool) { return []*object.Object{o}, true })
		},
	}
}

// The same answer of a script skips the plan if the script has got the objects of the Snapshot, and the last plan had nothing to do.
func TestSameAnswer(t *testing.T) {
	widget := objecttest.Widget(nil)
	parent := objecttest.Packed(t, widget)
	read := func(o *object.Object) *object.Recorder {
		r := &object.Recorder{}
		r.Parent(o)
		return r
	}
	for _, c := range []struct {
		name          string
		before        *hook.Response
		settled       bool // the reconcile before
		got           *object.Recorder
		again, answer time.Duration
		want          bool
	}{
		{"the same", someResponse(nil), true, read(parent), 0, 0, true},
		{"another answer", someResponse(func(r *hook.Response) { r.Status = nil }), true, read(parent), 0, 0, false},
		{"another version of the parent", someResponse(nil), true, read(changed(t, widget, nil)), 0, 0, false},
		{"what it got is not known", someResponse(nil), true, nil, 0, 0, false},
		{"the reconcile before had something to do", someResponse(nil), false, read(parent), 0, 0, false},
		{"it asks to be called again", someResponse(func(r *hook.Response) { r.ResyncAfter = time.Hour }), true, read(parent), time.Hour, time.Hour, true},
		{"it has asked to be called later", someResponse(func(r *hook.Response) { r.ResyncAfter = time.Hour }), true, read(parent), time.Hour, time.Minute, false},
		{"something else was to be done sooner", someResponse(func(r *hook.Response) { r.ResyncAfter = time.Hour }), true, read(parent), time.Minute, time.Hour, false},
	} {
		var m Memory
		m.Begin(snapshot(1, parent), false, undisturbed)
		m.Answered(c.before, read(parent), false)
		m.End(c.settled, c.again)
		if holds(&m, snapshot(1, parent)) != (c.settled && c.again == 0) {
			t.Errorf("%s: the reconcile before is remembered: %t", c.name, c.again != 0)
		}
		m.Begin(snapshot(1, parent), false, undisturbed)
		if got := m.Answered(someResponse(func(r *hook.Response) { r.ResyncAfter = c.answer }), c.got, false); got != c.want {
			t.Errorf("%s: it is settled: %t", c.name, got)
		}
	}
}

// A script that reads a lot counts as reading all.
func TestManyReads(t *testing.T) {
	widget := objecttest.Widget(nil)
	for i := range 200 {
		setting("spec", fmt.Sprint("key", i), int64(i))(widget)
	}
	setting("spec", "unread", int64(0))(widget)
	later := changed(t, widget, setting("spec", "unread", int64(1)))
	for _, n := range []int{1, 30, 200} {
		m := caller{reads: func(m tree.Map) {
			spec, _ := m.Get("spec")
			for i := range n {
				spec.(tree.Map).Get(fmt.Sprint("key", i))
			}
		}}.remember(snapshot(1, objecttest.Packed(t, widget)))
		want := NothingReadChanged
		if n == 200 {
			want = Computed
		}
		if got := m.Holds(snapshot(1, later), nil); got != want {
			t.Errorf("%d reads: %s, want %s", n, got, want)
		}
	}
}

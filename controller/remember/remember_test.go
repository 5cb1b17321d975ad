package remember

import (
	"errors"
	"testing"
	"time"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/ownership"
)

// someResponse is the response of a script with one child.
func someResponse(change func(*hook.Response)) *hook.Response {
	set := &object.Set{}
	set.Put(objecttest.With(objecttest.ConfigMap("a", nil), func(o *object.Object) { o.Map()["data"] = map[string]any{"k": "v", "n": []any{int64(1), nil}} }))
	r := &hook.Response{Status: map[string]any{"x": int64(1), "y": true}, Children: set}
	if change != nil {
		change(r)
	}
	return r
}

func undisturbed() bool { return false }

// snapshot is what the caches have of a selected parent.
func snapshot(epoch uint64, parent *object.Object, owned ...*object.Object) Snapshot {
	return Snapshot{Epoch: epoch, Parent: parent, Selected: true, Owned: owned, Fields: func(*object.Object) ownership.Fields { return ownership.Fields{} }}
}

func holds(m *Memory, now Snapshot) bool { return m.Holds(now, nil) != Computed }

// remembering returns a Memory of a clean reconcile that began with now.
func remembering(now Snapshot, r *hook.Response, read *object.Recorder) *Memory {
	m := &Memory{}
	m.Begin(now, false, undisturbed)
	m.Answered(r, read, false)
	m.End(true, 0)
	return m
}

// Without what was read, the same versions of the same objects are needed.
func TestSameVersions(t *testing.T) {
	parent := objecttest.Widget(nil)
	a, b := objecttest.ConfigMap("a", parent), objecttest.ConfigMap("b", parent)
	newer := objecttest.With(b.DeepCopy(), func(o *object.Object) { o.SetResourceVersion("2") })
	another := objecttest.With(b.DeepCopy(), func(o *object.Object) { o.SetUID("another") })
	m := remembering(snapshot(1, parent, a, b), &hook.Response{}, nil)
	for name, c := range map[string]struct {
		now  Snapshot
		want bool
	}{
		"in another order": {snapshot(1, parent, b, a), true},
		"read again":       {snapshot(1, parent.DeepCopy(), a.DeepCopy(), b.DeepCopy()), true},
		"less":             {snapshot(1, parent, a), false},
		"more":             {snapshot(1, parent, a, b, another), false},
		"a newer version":  {snapshot(1, parent, a, newer), false},
		"another UID":      {snapshot(1, parent, a, another), false},
		"another epoch":    {snapshot(2, parent, a, b), false},
		"another parent":   {snapshot(1, objecttest.With(parent.DeepCopy(), func(o *object.Object) { o.SetResourceVersion("77") }), a, b), false},
		"no parent":        {snapshot(1, nil, a, b), false},
		"not selected":     {Snapshot{Epoch: 1, Parent: parent, Owned: []*object.Object{a, b}}, false},
	} {
		if holds(m, c.now) != c.want {
			t.Errorf("%s: holds is %t", name, !c.want)
		}
	}
}

func TestMemory(t *testing.T) {
	now := snapshot(1, objecttest.Widget(nil))
	answered := func(m *Memory) { m.Answered(someResponse(nil), nil, false) }
	for _, c := range []struct {
		name    string
		do      func(*Memory)
		settled bool
		want    bool
	}{
		{"a clean reconcile", answered, true, true},
		{"an error", answered, false, false},
		{"a write", func(m *Memory) { answered(m); m.Wrote("create a", false) }, true, false},
		{"something to do again", func(m *Memory) { answered(m); m.Unsettled() }, true, false},
		{"a warning", func(m *Memory) { m.Answered(&hook.Response{Warnings: []error{errors.New("w")}}, nil, false) }, true, false},
		{"no answer", func(*Memory) {}, true, false},
	} {
		var m Memory
		m.Begin(now, false, undisturbed)
		if c.do(&m); holds(&m, now) {
			t.Errorf("%s: it holds before the end", c.name)
		}
		if m.End(c.settled, 0); holds(&m, now) != c.want {
			t.Errorf("%s: holds is %t", c.name, !c.want)
		}
		if m.Begin(now, false, undisturbed); holds(&m, now) {
			t.Errorf("%s: it holds when the next one has begun", c.name)
		}
	}
}

func TestMismatch(t *testing.T) {
	now := snapshot(1, objecttest.Widget(nil))
	for _, c := range []struct {
		name  string
		do    func(*Memory)
		other bool // no control
		want  string
	}{
		{"the same", func(m *Memory) { m.Answered(someResponse(nil), nil, false) }, false, ""},
		{"no answer", func(*Memory) {}, false, ""},
		{"another status", func(m *Memory) {
			m.Answered(someResponse(func(r *hook.Response) { r.Status["x"] = int64(2) }), nil, false)
		}, false, "its answer differs in status"},
		{"another answer of no control", func(m *Memory) {
			m.Answered(someResponse(func(r *hook.Response) { r.Status["x"] = int64(2) }), nil, false)
		}, true, ""},
		{"no child", func(m *Memory) {
			m.Answered(someResponse(func(r *hook.Response) { r.Children = &object.Set{}; r.ResyncAfter = time.Second }), nil, false)
		}, false, "its answer differs in children, resyncAfterSeconds"},
		{"a label and an event", func(m *Memory) {
			m.Answered(someResponse(func(r *hook.Response) {
				r.Labels, r.Events = hook.Changes{"a": nil}, []hook.Event{{Type: "Normal", Reason: "R"}}
			}), nil, false)
		}, false, "its answer differs in labels or annotations, events"},
		{"a write", func(m *Memory) {
			m.Answered(someResponse(nil), nil, false)
			m.Wrote("create a", false)
			m.Wrote("delete b", false)
		}, false, "it wants to create a"},
	} {
		var m Memory
		m.Begin(now, false, undisturbed)
		m.Answered(someResponse(nil), nil, false)
		m.End(true, 0)
		m.Begin(now, !c.other, undisturbed)
		c.do(&m)
		if m.End(true, 0); m.Mismatch() != c.want {
			t.Errorf("%s: %q, want %q", c.name, m.Mismatch(), c.want)
		}
	}
}

func TestDigestTellsValuesApart(t *testing.T) {
	text, same := "v", "v"
	seen := map[uint64]any{}
	for _, v := range []any{
		nil, true, false, int64(1), 1.5, "1", "", []any{}, []any{nil}, []any{int64(1), int64(2)}, []any{int64(2), int64(1)}, []any{[]any{int64(1)}, int64(2)},
		map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": "b"}, map[string]any{"b": "a"}, map[string]any{"a": "b", "b": "a"},
	} {
		if before, found := seen[digest(v)]; found {
			t.Errorf("%#v and %#v have the same digest", v, before)
		}
		seen[digest(v)] = v
	}
	if changes(hook.Changes{"a": &text, "b": nil}) != changes(hook.Changes{"b": nil, "a": &same}) || changes(hook.Changes{"a": nil}) == changes(hook.Changes{"a": &text}) {
		t.Error("digests of changes")
	}
}

func TestSwitch(t *testing.T) {
	var s Switch
	for n := range controls / 2 {
		if s.Control() {
			t.Fatalf("reconcile %d is a control", n)
		}
	}
	n, found := 100_000, 0
	for range n {
		if s.Control() {
			found++
		}
	}
	if want := n / controls; found < want/2 || found > want*2 {
		t.Errorf("%d of %d are controls, want about %d", found, n, want)
	}
	if !s.On() {
		t.Error("it is not on at first")
	}
	if s.TurnOff(); s.On() {
		t.Error("it is on after it was turned off")
	}
}

// Reads are recorded less often if they are of no use, until they are of use again.
func TestReadsAreRecordedLessOften(t *testing.T) {
	var s Switch
	for range 2 {
		for n := range recordings {
			if !s.Records() {
				t.Fatalf("reconcile %d does not record", n)
			}
		}
		n, found := 10_000, 0
		for range n {
			if s.Records() {
				found++
			}
		}
		if want := n / recordsOne; found < want/2 || found > want*2 {
			t.Errorf("%d of %d record, want about %d", found, n, want)
		}
		s.Used()
	}
}

// What a control writes is a change itself, so that only changes before its first write excuse a difference.
func TestChangesDuringControl(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after bool // whether something has changed before the write, and after it
		want          string
	}{
		{"nothing", false, false, "it wants to update a"},
		{"our own write", false, true, "it wants to update a"},
		{"something before", true, true, ""},
	} {
		now := snapshot(1, objecttest.Widget(nil))
		var m Memory
		m.Begin(now, false, undisturbed)
		m.Answered(someResponse(nil), nil, false)
		m.End(true, 0)
		changed := c.before
		m.Begin(now, true, func() bool { return changed })
		m.Answered(someResponse(nil), nil, false)
		m.Wrote("update a", false)
		changed = c.after
		if m.End(true, 0); m.Mismatch() != c.want {
			t.Errorf("%s: %q, want %q", c.name, m.Mismatch(), c.want)
		}
	}
}

package remember

import (
	"testing"
	"time"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// someAnswer is the answer of a script with one child.
func someAnswer(change func(*hook.Response)) Answer {
	set := &object.Set{}
	set.Put(objecttest.With(objecttest.ConfigMap("a", nil), func(o *object.Object) { o.Map()["data"] = map[string]any{"k": "v", "n": []any{int64(1), nil}} }))
	r := &hook.Response{Status: map[string]any{"x": int64(1), "y": true}, Children: set}
	if change != nil {
		change(r)
	}
	return AnswerOf(r)
}

func undisturbed() bool { return false }

func stateOf(e *Epoch, objects ...*object.Object) State {
	s := e.State()
	s.Add(objects...)
	return s
}

func TestState(t *testing.T) {
	var e Epoch
	a, b := objecttest.Widget(nil), objecttest.ConfigMap("b", objecttest.Widget(nil))
	first := stateOf(&e, a, b)
	if first != stateOf(&e, b, a) {
		t.Error("the order of objects counts")
	}
	newer := objecttest.With(b.DeepCopy(), func(o *object.Object) { o.SetResourceVersion("2") })
	another := objecttest.With(b.DeepCopy(), func(o *object.Object) { o.SetUID("another") })
	for name, other := range map[string]State{
		"less": stateOf(&e, a), "a newer version": stateOf(&e, a, newer), "another UID": stateOf(&e, a, another), "more": stateOf(&e, a, b, newer),
	} {
		if other == first {
			t.Errorf("with %s it is the same", name)
		}
	}
	if e.Begin(); stateOf(&e, a, b) == first {
		t.Error("in another epoch it is the same")
	}
}

func TestMemory(t *testing.T) {
	var e Epoch
	state, other := stateOf(&e, objecttest.Widget(nil)), stateOf(&e)
	for _, c := range []struct {
		name    string
		do      func(*Memory)
		settled bool
		want    bool
	}{
		{"a clean reconcile", func(m *Memory) { m.Answered(someAnswer(nil)) }, true, true},
		{"an error", func(m *Memory) { m.Answered(someAnswer(nil)) }, false, false},
		{"a write", func(m *Memory) { m.Answered(someAnswer(nil)); m.Wrote("create a") }, true, false},
		{"a warning", func(m *Memory) { m.Answered(someAnswer(nil)); m.Unsettled() }, true, false},
		{"no answer", func(*Memory) {}, true, false},
	} {
		var m Memory
		m.Begin(state, false, undisturbed)
		if c.do(&m); m.Holds(state) {
			t.Errorf("%s: it holds before the end", c.name)
		}
		if m.End(c.settled); m.Holds(state) != c.want {
			t.Errorf("%s: holds is %t", c.name, !c.want)
		}
		if m.Holds(other) {
			t.Errorf("%s: it holds for another state", c.name)
		}
		if m.Begin(state, false, undisturbed); m.Holds(state) {
			t.Errorf("%s: it holds when the next one has begun", c.name)
		}
	}
}

func TestMismatch(t *testing.T) {
	var e Epoch
	for _, c := range []struct {
		name  string
		do    func(*Memory)
		other bool // no control
		want  string
	}{
		{"the same", func(m *Memory) { m.Answered(someAnswer(nil)) }, false, ""},
		{"no answer", func(*Memory) {}, false, ""},
		{"another status", func(m *Memory) {
			m.Answered(someAnswer(func(r *hook.Response) { r.Status["x"] = int64(2) }))
		}, false, "its answer differs in status"},
		{"another answer of no control", func(m *Memory) {
			m.Answered(someAnswer(func(r *hook.Response) { r.Status["x"] = int64(2) }))
		}, true, ""},
		{"no child", func(m *Memory) {
			m.Answered(someAnswer(func(r *hook.Response) { r.Children = &object.Set{}; r.ResyncAfter = time.Second }))
		}, false, "its answer differs in children, resyncAfterSeconds"},
		{"a label and an event", func(m *Memory) {
			m.Answered(someAnswer(func(r *hook.Response) {
				r.Labels, r.Events = hook.Changes{"a": nil}, []hook.Event{{Type: "Normal", Reason: "R"}}
			}))
		}, false, "its answer differs in labels or annotations, events"},
		{"a write", func(m *Memory) { m.Answered(someAnswer(nil)); m.Wrote("create a"); m.Wrote("delete b") }, false, "it wants to create a"},
	} {
		var m Memory
		m.Begin(e.State(), false, undisturbed)
		m.Answered(someAnswer(nil))
		m.End(true)
		m.Begin(e.State(), !c.other, undisturbed)
		c.do(&m)
		if m.End(true); m.Mismatch() != c.want {
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
		var e Epoch
		var m Memory
		m.Begin(e.State(), false, undisturbed)
		m.Answered(someAnswer(nil))
		m.End(true)
		changed := c.before
		m.Begin(e.State(), true, func() bool { return changed })
		m.Answered(someAnswer(nil))
		m.Wrote("update a")
		changed = c.after
		if m.End(true); m.Mismatch() != c.want {
			t.Errorf("%s: %q, want %q", c.name, m.Mismatch(), c.want)
		}
	}
}

package remember

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"metascript/controller/etags"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

// wholly returns a Recorder of a webhook, which has got a parent and children.
func wholly(parent *object.Object, children ...*object.Object) *object.Recorder {
	r := &object.Recorder{Whole: true}
	r.Parent(parent)
	for _, o := range children {
		r.Child(o)
	}
	return r
}

func TestSettledResponses(t *testing.T) {
	version := func(o *object.Object, version string, change func(*object.Object)) *object.Object {
		o = o.DeepCopy()
		o.SetResourceVersion(version)
		if change != nil {
			change(o)
		}
		return objecttest.Packed(t, o)
	}
	widget, configMap := objecttest.Widget(nil), objecttest.ConfigMap("a", objecttest.Widget(nil))
	parent, child := version(widget, "1", nil), version(configMap, "1", nil)
	const cached = etags.ID(7)
	response := func() *hook.Response { return someResponse(func(r *hook.Response) { r.Cached = cached }) }
	withStatus := version(configMap, "2", func(o *object.Object) { o.Map()["status"] = map[string]any{"x": "y"} })
	notSelected := snapshot(1, parent, child)
	notSelected.Selected = false
	for _, c := range []struct {
		name   string
		change func(r *hook.Response)
		before func(*Memory) // in the reconcile before
		again  time.Duration // after that reconcile
		now    Snapshot
		got    *object.Recorder // with what the webhook was called; nil: the same
		cached etags.ID
		want   bool
	}{
		{name: "nothing changed", want: true},
		{name: "another response", cached: 8},
		{name: "a status of a child", now: snapshot(1, parent, withStatus), want: true},
		{name: "data of a child", now: snapshot(1, parent, version(configMap, "2", func(o *object.Object) { o.Map()["data"] = map[string]any{"k": "w"} }))},
		{name: "another child of this name", now: snapshot(1, parent, version(configMap, "2", func(o *object.Object) { o.SetUID("other") }))},
		{name: "no child", now: snapshot(1, parent)},
		{name: "an annotation of the parent", now: snapshot(1, version(widget, "2", func(o *object.Object) { o.SetAnnotations(map[string]string{"a": "b"}) }), child), want: true},
		{name: "the status of the parent", now: snapshot(1, version(widget, "2", func(o *object.Object) { o.Map()["status"] = map[string]any{"x": "y"} }), child)},
		{name: "another epoch", now: snapshot(2, parent, child)},
		{name: "the parent is not selected", now: notSelected},
		{name: "a change since the beginning", got: wholly(parent, withStatus)},
		{name: "a change of the parent since the beginning", got: wholly(version(widget, "2", nil), child)},
		{name: "an object that is not of a cache", got: wholly(widget, child)},
		{name: "a write before", before: func(m *Memory) { m.Wrote("create a", false) }},
		{name: "a warning before", change: func(r *hook.Response) { r.Warnings = []error{errors.New("w")} }},
		{name: "an event before", change: func(r *hook.Response) { r.Events = []hook.Event{{Type: "Normal", Reason: "R", Message: "m"}} }},
		{name: "a difference that was left before", before: func(m *Memory) { m.Suppressed() }},
		{name: "the webhook asked to be called again", change: func(r *hook.Response) { r.ResyncAfter = time.Minute }, again: time.Minute, want: true},
		{name: "something else is to be done soon", change: func(r *hook.Response) { r.ResyncAfter = time.Minute }, again: time.Second},
		{name: "no ETag before", change: func(r *hook.Response) { r.Cached = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m Memory
			before := response()
			if c.change != nil {
				c.change(before)
			}
			m.Begin(snapshot(1, parent, child), false, undisturbed)
			m.Answered(before, wholly(parent, child), false)
			if c.before != nil {
				c.before(&m)
			}
			m.End(true, c.again)
			now, got := c.now, c.got
			if now.Parent == nil {
				now = snapshot(1, parent, child)
			}
			if got == nil {
				got = wholly(now.Parent, now.Owned...)
			}
			m.Begin(now, false, undisturbed)
			if m.Settled(cmp.Or(c.cached, cached), got) != c.want {
				t.Fatalf("it is settled: %t", !c.want)
			}
			if m.Settled(0, got) {
				t.Error("no cached response is settled")
			}
			if !c.want {
				return
			}
			settled := &hook.Response{Cached: cached, Settled: true}
			if !m.Answered(settled, got, false) || m.Again() != c.again {
				t.Errorf("it is not settled, or again after %s", m.Again())
			}
			m.End(true, c.again)
			m.Begin(now, false, undisturbed)
			if !m.Settled(cached, got) {
				t.Error("the same once more is not settled")
			}
		})
	}
}

// A control needs the whole answer.
func TestSettledInControl(t *testing.T) {
	parent := objecttest.Packed(t, objecttest.Widget(nil))
	var m Memory
	for _, control := range []bool{false, true} {
		m.Begin(snapshot(1, parent), control, undisturbed)
		if m.Settled(7, wholly(parent)) {
			t.Errorf("control: %t; it is settled", control)
		}
		m.Answered(&hook.Response{Cached: 7}, wholly(parent), false)
		m.End(true, 0)
	}
}

// A status with observedGeneration that appears is compared, although the answer has none: it may have to be updated.
func TestStatusThatAppears(t *testing.T) {
	observed := func(version string, status any) *object.Object {
		return objecttest.Packed(t, objecttest.Widget(func(o *object.Object) {
			o.SetResourceVersion(version)
			if status != nil {
				o.Map()["status"] = status
			}
		}))
	}
	var m Memory
	for i, c := range []struct {
		parent *object.Object
		want   bool
	}{
		{observed("1", nil), false},
		{observed("2", map[string]any{"observedGeneration": int64(1)}), false},
		{observed("3", map[string]any{"observedGeneration": int64(1)}), true},
		{observed("4", map[string]any{"observedGeneration": int64(2)}), false},
	} {
		m.Begin(snapshot(1, c.parent), false, undisturbed)
		settled := m.Settled(7, wholly(c.parent))
		if settled != c.want {
			t.Errorf("%d: settled is %t", i, settled)
		}
		m.Answered(&hook.Response{Cached: 7, Settled: settled}, wholly(c.parent), false)
		m.End(true, 0)
	}
}

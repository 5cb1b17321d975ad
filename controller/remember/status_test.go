package remember

import (
	"testing"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/ownership"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// The event of a status that we have written is answered by what is remembered; each other change of the status is not.
func TestStatusThatWasWritten(t *testing.T) {
	parent := func(version string, ready any) *object.Object {
		o := objecttest.Widget(func(o *object.Object) {
			o.SetResourceVersion(version)
			o.Map()["status"] = map[string]any{"ready": ready}
		})
		content, err := packed.Pack(o.Map())
		if err != nil {
			t.Fatal(err)
		}
		return object.OfPacked(content)
	}
	at := func(o *object.Object) Snapshot {
		return Snapshot{Parent: o, Selected: true, Fields: func(*object.Object) ownership.Fields { return ownership.Fields{} }}
	}
	for _, c := range []struct {
		name       string
		readStatus bool
		then       []*object.Object
		want       []bool
	}{
		{"our event", false, []*object.Object{parent("2", int64(2))}, []bool{true}},
		{"before and after our event", false, []*object.Object{parent("1", int64(1)), parent("2", int64(2))}, []bool{true, true}},
		{"the script has read it", true, []*object.Object{parent("2", int64(2))}, []bool{false}},
		{"somebody has written the former status again", false, []*object.Object{parent("3", int64(1))}, []bool{false}},
		{"the same after our event", false, []*object.Object{parent("2", int64(2)), parent("3", int64(1))}, []bool{true, false}},
		{"another field changes after our event", false, []*object.Object{parent("2", int64(2)), parent("4", int64(2))}, []bool{true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m Memory
			before, recorder := parent("1", int64(1)), &object.Recorder{}
			m.Begin(at(before), false, undisturbed)
			view := recorder.Parent(before).(tree.Map)
			if status, _ := view.Get("status"); c.readStatus {
				status.(tree.Map).Get("ready")
			}
			m.Wrote("update status", true)
			m.WroteStatus("2")
			m.Answered(&hook.Response{Status: map[string]any{"ready": int64(2)}}, recorder, false)
			m.End(true, 0)
			for i, now := range c.then {
				if got := holds(&m, at(now)); got != c.want[i] {
					t.Errorf("version %s: %t", now.GetResourceVersion(), got)
				}
			}
		})
	}
}

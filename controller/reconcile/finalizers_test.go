package reconcile

import (
	"testing"

	"metascript/controller/build"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
)

func TestFinalizersStayWhileFinalizeHookIsUnloaded(t *testing.T) {
	for _, c := range []struct {
		name   string
		parent func(*object.Object)
		want   int // operations
		fails  bool
	}{
		{"it is not added", nil, 2, false}, // the child and the status
		{"it is not removed", objecttest.WithFinalizers(testFinalizer), 2, false},
		{"a parent that is being deleted waits", objecttest.All(objecttest.Deleting, objecttest.WithFinalizers(testFinalizer)), 0, true},
	} {
		r, write := newTestReconciler(t, wants("new"), build.UnloadedHook{Err: build.ErrNoHooks}, objecttest.Widget(c.parent))
		ops, err := reconcileOnce(t, r, write)
		if (err != nil) != c.fails || len(ops) != c.want {
			t.Errorf("%s: %v, %v", c.name, ops, err)
		}
	}
}

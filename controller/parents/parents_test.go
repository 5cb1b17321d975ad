package parents

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/binding"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/revisions"
	"metascript/controller/spec"
	"metascript/controller/throttle"
)

// newTestWriter returns a Writer for widgets.
func newTestWriter() *Writer {
	rule := &spec.ParentRule{Resource: kube.Resource{GroupVersionResource: objecttest.Widgets, Kind: "Widget", Namespaced: true, HasStatus: true}}
	return &Writer{Binding: &binding.Binding{Parents: []*binding.ParentResource{{ParentRule: rule}}}, Events: &conflicts{}, Memory: &Memory{}, Kinds: &Kinds{}}
}

// conflicts counts conflicts.
type conflicts struct{ n int }

func (c *conflicts) Conflict(*object.Object, string, string)      { c.n++ }
func (*conflicts) Warning(*object.Object, string, string, ...any) {}

func TestRepeatedWritesOfStatusAreDelayed(t *testing.T) {
	w := newTestWriter()
	parent, response := objecttest.Widget(nil), &hook.Response{Status: map[string]any{"by": "one"}}
	changed := object.Copy(parent)
	changed.Map()["status"] = response.Status
	for range throttle.ContentionAllowed {
		if wait := w.delay(parent, changed, response); wait != 0 {
			t.Fatalf("it waits %s", wait)
		}
		w.Memory.status.Count(time.Now())
	}
	if wait := w.delay(parent, changed, response); wait <= 0 || w.Memory.Quiet(time.Now()) {
		t.Error("it does not wait")
	}
	if n := w.Events.(*conflicts).n; n != 1 {
		t.Errorf("%d conflicts are reported", n)
	}
	edited := objecttest.Widget(func(o *object.Object) { o.SetGeneration(2) })
	if wait := w.delay(edited, changed, response); wait != 0 {
		t.Errorf("after an edit it waits %s", wait)
	}
}

// A status that was left is left again while it is not written.
func TestStatusThatWasLeftIsKeptUntilItIsWritten(t *testing.T) {
	conflict := apierrors.NewConflict(objecttest.Widgets.GroupResource(), "w", nil)
	for name, c := range map[string]struct {
		fail  error
		often int // writes before, which delay another one
	}{
		"a conflict":     {conflict, 0},
		"another error":  {errors.New("refused"), 0},
		"a field fought": {nil, throttle.ContentionAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			w, parent, to := newTestWriter(), objecttest.Widget(nil), &statusWriter{}
			response := &hook.Response{Status: map[string]any{"by": "one"}}
			mayLeave := func(*object.Object) bool { return true }
			if _, _, err := w.WriteStatus(t.Context(), parent, response, mayLeave, to); err != nil || !w.Left {
				t.Fatalf("it is left: %t, %v", w.Left, err)
			}
			for range c.often {
				w.Memory.status.Count(time.Now())
			}
			to.fail = c.fail
			if _, wait, err := w.WriteStatus(t.Context(), parent, response, mayLeave, to); (wait > 0) != (c.often > 0) || (err != nil) != (c.fail != nil) {
				t.Errorf("it waits %s, %v", wait, err)
			}
			to.fail, to.written, w.Memory.status = nil, nil, writes{}
			for range 2 {
				if err := w.WriteLeft(t.Context(), parent, to); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff([]any{"one"}, to.written); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

// A statusWriter has the field by of the statuses that were written, and fails with fail.
type statusWriter struct {
	written []any
	fail    error
}

// Do implements plan.Writer.
func (s *statusWriter) Do(_ context.Context, op plan.Op) (*object.Object, error) {
	s.written = append(s.written, StatusOf(op.Object)["by"])
	return op.Object, s.fail
}

func TestUnstoredStatusIsForgotten(t *testing.T) {
	m := &Memory{unstored: &unstored{text: "status.x is not stored"}}
	if m.Quiet(time.Now()) || m.NotStored() != "status.x is not stored" {
		t.Errorf("got %q", m.NotStored())
	}
	if !m.ForgetUnstored() || m.ForgetUnstored() || !m.Quiet(time.Now()) || m.NotStored() != "" {
		t.Errorf("afterwards: %q", m.NotStored())
	}
}

func TestNotStoredMessage(t *testing.T) {
	w := newTestWriter()
	const generic = "the API server does not store status.conditions as the hook returned it: does the schema of widgets.example.com have the field?"
	if got := w.notStoredMessage(objecttest.Widget(nil), []string{"status.conditions"}); got != generic {
		t.Errorf("got %q, want %q", got, generic)
	}
	w.Binding.Revisions = &revisions.Revisions{}
	if got := w.notStoredMessage(objecttest.Widget(nil), []string{"status.conditions"}); !strings.Contains(got, "where the condition Updated shows the progress of a rollout: add the field to the schema of widgets.example.com") {
		t.Errorf("got %q", got)
	}
	if got := w.notStoredMessage(objecttest.Widget(nil), []string{"status.phase"}); !strings.Contains(got, "status.phase as the hook returned it") {
		t.Errorf("got %q", got)
	}
}

package children

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
)

var widgetsResource = schema.GroupResource{Group: "example.com", Resource: "widgets"}

// creation is that of a ConfigMap.
func creation(name string) plan.Op {
	want := objecttest.ConfigMap(name, nil)
	return plan.Op{Verb: plan.Create, Object: want, Wanted: want}
}

// apply applies the creation of a child, and of another one, in a new reconcile. It returns what was written and how often the parent was read.
func apply(t *testing.T, m *Memory, live *object.Object, readErr error) (done []string, reads int, err error) {
	t.Helper()
	w := newTestWriter()
	w.Memory, w.Lost = m, m.Losses()
	w.Binding.GetLive = func(context.Context, *object.Object) (*object.Object, error) {
		reads++
		return live, readErr
	}
	to := &fakeWriter{result: func(_ context.Context, op plan.Op) (*object.Object, error) { return op.Object, nil }}
	ops := []plan.Op{creation("a"), creation("b"), deletion("c")}
	_, err = w.Apply(t.Context(), objecttest.Widget(nil), ops, to)
	return to.done, reads, err
}

func TestNothingIsCreatedAgainForParentThatIsGone(t *testing.T) {
	other := objecttest.Widget(func(o *object.Object) { o.SetUID("of-another") })
	for _, c := range []struct {
		name    string
		live    *object.Object
		err     error
		created bool
		says    string
		requeue bool
	}{
		{"it exists", objecttest.Widget(nil), nil, true, "", false},
		{"it does not exist", nil, apierrors.NewNotFound(widgetsResource, "w"), false, "does not exist any more", true},
		{"it is another one", other, nil, false, "another object of the same name", true},
		{"it is being deleted", objecttest.Widget(objecttest.Deleting), nil, false, "is being deleted", true},
		{"it may not be read", nil, apierrors.NewForbidden(widgetsResource, "w", errors.New("no")), true, "", false},
		{"it cannot be read one by one", nil, apierrors.NewMethodNotSupported(widgetsResource, "get"), true, "", false},
		{"the read fails", nil, apierrors.NewTimeoutError("slow", 1), false, "before children that were deleted are created again: ", false},
	} {
		m := NewMemory()
		m.Lose("uid-of-a")
		done, reads, err := apply(t, m, c.live, c.err)
		want := "delete"
		if c.created {
			want = "create create delete"
		}
		if got := strings.Join(done, " "); got != want || reads != 1 {
			t.Errorf("%s: done %q, want %q, with %d reads", c.name, got, want, reads)
		}
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || errors.Is(err, kube.ErrRequeue) != c.requeue {
			t.Errorf("%s: error %v, want %q", c.name, err, c.says)
		}
		_, reads, err = apply(t, m, objecttest.Widget(nil), nil)
		if wanted := map[bool]int{true: 0, false: 1}[c.created]; err != nil || reads != wanted {
			t.Errorf("%s: the next reconcile has %d reads, want %d, error %v", c.name, reads, wanted, err)
		}
	}
}

func TestFirstCreationReadsNothing(t *testing.T) {
	if done, reads, err := apply(t, NewMemory(), nil, errors.New("no")); reads != 0 || len(done) != 3 || err != nil {
		t.Errorf("%d reads, done %v, error %v", reads, done, err)
	}
}

func TestChildThatWeDeletedIsNotLost(t *testing.T) {
	m := NewMemory()
	if _, _, err := apply(t, m, nil, nil); err != nil {
		t.Fatal(err)
	}
	m.Lose(deletion("c").Object.GetUID())
	if n := m.Losses(); n != 0 || len(m.losses.ours) != 0 {
		t.Errorf("%d losses, of ours %v", n, m.losses.ours)
	}
	w := newTestWriter()
	w.Memory = m
	to := &fakeWriter{result: func(context.Context, plan.Op) (*object.Object, error) { return nil, errors.New("no") }}
	if _, err := w.Apply(t.Context(), objecttest.Widget(nil), []plan.Op{deletion("c")}, to); err == nil {
		t.Error("no error")
	}
	m.Lose(deletion("c").Object.GetUID())
	m.Lose(types.UID("other"))
	if n := m.Losses(); n != 2 {
		t.Errorf("%d losses after a deletion that failed", n)
	}
}

func TestLossDuringReconcileIsCheckedByNextOne(t *testing.T) {
	m := NewMemory()
	m.Lose("uid-of-a")
	w := newTestWriter()
	w.Memory, w.Lost = m, m.Losses()
	m.Lose("uid-of-b")
	to := &fakeWriter{result: func(_ context.Context, op plan.Op) (*object.Object, error) { return op.Object, nil }}
	if _, err := w.Apply(t.Context(), objecttest.Widget(nil), []plan.Op{deletion("c")}, to); err != nil {
		t.Fatal(err)
	}
	if _, reads, _ := apply(t, m, objecttest.Widget(nil), nil); reads != 1 {
		t.Errorf("%d reads, want 1", reads)
	}
}

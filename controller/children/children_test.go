package children

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/binding"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// newTestWriter returns a Writer whose reads from the API server fail and whose events are dropped.
func newTestWriter() *Writer {
	unread := func(context.Context, *object.Object) (*object.Object, error) { return nil, errors.New("not read") }
	return &Writer{Binding: &binding.Binding{GetLive: unread}, Events: noEvents{}, Log: slog.New(slog.DiscardHandler), Memory: NewMemory()}
}

type noEvents struct{}

func (noEvents) Normal(*object.Object, string, string, ...any)  {}
func (noEvents) Warning(*object.Object, string, string, ...any) {}

// writeTimes does op n times, and fails if one of them has to wait.
func writeTimes(t *testing.T, w *Writer, parent *object.Object, op plan.Op, n int) {
	t.Helper()
	for i := range n {
		if wait := w.delayUpdate(t.Context(), parent, op); wait > 0 {
			t.Fatalf("write %d has to wait for %s", i, wait)
		}
		w.countWrite(op)
	}
}

func TestRepeatedWritesOfChildAreDelayed(t *testing.T) {
	for _, verb := range []plan.Verb{plan.Update, plan.Apply, plan.Delete} {
		t.Run(string(verb), func(t *testing.T) {
			parent, field := objecttest.Widget(nil), plan.Path{"data"}
			w := newTestWriter()
			again := plan.Op{Verb: verb, Object: objecttest.ConfigMap("c", nil), Differs: field, Again: true}
			writeTimes(t, w, parent, again, throttle.ContentionAllowed)
			if wait := w.delayUpdate(t.Context(), parent, again); wait <= 0 || wait > 10*time.Second {
				t.Fatalf("after %d writes it waits %s, want up to 10s", throttle.ContentionAllowed, wait)
			}
			for name, op := range map[string]plan.Op{
				"another child":                    {Verb: verb, Object: objecttest.ConfigMap("d", nil), Differs: field, Again: true},
				"a deletion of an undesired child": {Verb: plan.Delete, Object: objecttest.ConfigMap("c", nil)},
				"other content":                    {Verb: verb, Object: objecttest.ConfigMap("c", nil), Differs: field},
			} {
				if wait := w.delayUpdate(t.Context(), parent, op); wait > 0 {
					t.Errorf("%s waits %s", name, wait)
				}
			}
			// After a write of other content the count begins anew.
			writeTimes(t, w, parent, again, throttle.ContentionAllowed)
		})
	}
}

func TestPruneDropsOldContentions(t *testing.T) {
	counted := func(at time.Time) *throttle.Contention {
		c := &throttle.Contention{}
		c.Count(at)
		return c
	}
	m := NewMemory()
	m.contentions[object.Ref{Key: object.Key{Name: "old"}}] = counted(time.Now().Add(-2 * throttle.ContentionForgotten))
	m.contentions[object.Ref{Key: object.Key{Name: "new"}}] = counted(time.Now())
	for _, name := range []string{"c", "gone"} {
		if err := m.applied.Note(objecttest.ConfigMap(name, objecttest.Widget(nil)), objecttest.ConfigMap(name, nil)); err != nil {
			t.Fatal(err)
		}
	}
	observed := &object.Set{}
	observed.Put(objecttest.ConfigMap("c", objecttest.Widget(nil)))
	m.prune(observed, &object.Set{}, time.Now())
	if _, found := m.applied["uid-of-c"]; len(m.contentions) != 1 || len(m.applied) != 1 || !found {
		t.Errorf("after pruning there are the contentions %v and the memory %v", m.contentions, m.applied)
	}
}

// deletion returns the deletion of a child that the hook does not return.
func deletion(name string) plan.Op {
	return plan.Op{Verb: plan.Delete, Object: objecttest.ConfigMap(name, objecttest.Widget(nil))}
}

func TestDeletionsOfRecreatedChildAreDelayed(t *testing.T) {
	m := NewMemory()
	for range throttle.ContentionAllowed {
		contention := m.deletionContention(deletion("a"))
		if wait, _ := contention.Delay(time.Now()); wait != 0 {
			t.Fatalf("after %d deletions it waits %s", contention.Writes(), wait)
		}
		contention.Count(time.Now())
	}
	if wait, report := m.deletionContention(deletion("a")).Delay(time.Now()); wait <= 0 || !report {
		t.Errorf("got wait %s, report %t", wait, report)
	}
	if wait, report := m.deletionContention(deletion("a")).Delay(time.Now()); wait <= 0 || report {
		t.Errorf("it is reported again: wait %s, report %t", wait, report)
	}
	if wait, _ := m.deletionContention(deletion("b")).Delay(time.Now()); wait != 0 {
		t.Errorf("another child waits %s", wait)
	}
	m.deletionContention(plan.Op{Verb: plan.Create, Object: objecttest.ConfigMap("a", nil)}) // the hook returns it now
	if wait, _ := m.deletionContention(deletion("a")).Delay(time.Now()); wait != 0 {
		t.Errorf("the deletion of a child that the hook created waits %s", wait)
	}
}

// A fakeWriter records operations. result returns the result of each one.
type fakeWriter struct {
	done   []string
	result func(context.Context, plan.Op) error
}

func (f *fakeWriter) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	f.done = append(f.done, string(op.Verb))
	return op.Object, f.result(ctx, op)
}

func TestChildIsNotDeletedBeforeNewOneIsAccepted(t *testing.T) {
	refused := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "c", nil)
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "c", errors.New("no"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	have := objecttest.ConfigMap("c", objecttest.Widget(nil))
	updated := objecttest.ConfigMap("c", objecttest.Widget(nil))
	updated.Map()["dataa"] = map[string]any{"a": "b"}
	for name, c := range map[string]struct {
		err     error
		warning string
		want    []string
		fails   bool
		waits   bool
	}{
		"accepted":                       {nil, "", []string{"dry run of create", "delete"}, false, false},
		"accepted with another warning":  {nil, "deprecated", []string{"dry run of create", "delete"}, false, false},
		"refused":                        {refused, "", []string{"dry run of create"}, true, false},
		"a conflict with a webhook":      {apierrors.NewConflict(schema.GroupResource{}, "c", errors.New("denied")), "", []string{"dry run of create"}, true, false},
		"the namespace is being deleted": {terminating, "", []string{"dry run of create"}, false, true},
		"only an unknown field differs":  {nil, `unknown field "dataa"`, []string{"dry run of create"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, to := newTestWriter(), &fakeWriter{}
			to.result = func(ctx context.Context, op plan.Op) error {
				if op.Verb != plan.DryCreate {
					return nil
				}
				kube.WarningHandler{}.HandleWarningHeaderWithContext(ctx, 299, "", c.warning)
				return c.err
			}
			op := plan.Op{Verb: plan.Delete, Object: have, Replacement: updated, Updated: updated, Differs: plan.Path{"dataa"}}
			wait, err := w.Apply(t.Context(), objecttest.Widget(nil), []plan.Op{op}, to)
			if diff := cmp.Diff(c.want, to.done); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if (err != nil) != c.fails || errors.Is(err, kube.ErrRequeue) || wait > 0 != c.waits {
				t.Errorf("got wait %s, error %v", wait, err)
			}
		})
	}
}

// A recordingEvents has the events that were recorded.
type recordingEvents struct{ texts []string }

func (r *recordingEvents) Normal(*object.Object, string, string, ...any) {}
func (r *recordingEvents) Warning(_ *object.Object, reason, format string, args ...any) {
	r.texts = append(r.texts, reason+" "+fmt.Sprintf(format, args...))
}

func TestWarningsAreReportedOnceAndLeadFieldConflict(t *testing.T) {
	w, events := newTestWriter(), &recordingEvents{}
	w.Events = events
	parent, child := objecttest.Widget(nil), objecttest.ConfigMap("c", nil)
	for range 2 {
		w.reportWarnings(t.Context(), parent, child, []string{`unknown field "dataa"`})
	}
	stored := objecttest.ConfigMap("c", nil)
	written := objecttest.ConfigMap("c", nil)
	written.Map()["more"], written.Map()["dataa"] = "m", "d"
	w.noteUnstored(t.Context(), parent, stored, plan.Op{Verb: plan.Update, Object: written}, []string{`unknown field "dataa"`})
	want := []string{
		`APIWarning the API server warns about ConfigMap default/c: unknown field "dataa", so that the field is not stored: is it misspelled?`,
		"FieldNotStored the API server does not store more of ConfigMap default/c as the hook returned it, so that it is not written again because of that",
	}
	if diff := cmp.Diff(want, events.texts); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.reportFieldConflict(t.Context(), parent, plan.Op{Verb: plan.Update, Object: child, Differs: plan.Path{"data"}}, 5)
	if last := events.texts[len(events.texts)-1]; !strings.HasPrefix(last, "FieldConflict the API server warns about ConfigMap default/c: unknown field") || !strings.Contains(last, ". ConfigMap default/c was updated 5 times") {
		t.Errorf("got %q", last)
	}
}

func TestRedefineForgetsWhatWasNotStored(t *testing.T) {
	w := newTestWriter()
	stored, written := objecttest.ConfigMap("c", nil), objecttest.ConfigMap("c", nil)
	written.Map()["more"] = "m"
	if w.Memory.Redefine() {
		t.Error("there is something to forget at first")
	}
	w.noteUnstored(t.Context(), objecttest.Widget(nil), stored, plan.Op{Verb: plan.Update, Object: written}, nil)
	if !w.Memory.Redefine() {
		t.Error("there is nothing to forget")
	}
	observed := &object.Set{}
	observed.Put(stored)
	w.Memory.prune(observed, observed, time.Now())
	if len(w.Memory.unstored) != 0 || w.Memory.Redefine() {
		t.Errorf("afterwards there is %v", w.Memory.unstored)
	}
}

func TestUnknownFieldIsForgottenWithField(t *testing.T) {
	w := newTestWriter()
	child := objecttest.ConfigMap("c", nil)
	child.Map()["list"] = []any{map[string]any{"a": "1", "b": "2"}}
	desired := &object.Set{}
	desired.Put(child)
	unknown := func(field string) string {
		clear(w.Memory.unknown)
		w.reportWarnings(t.Context(), objecttest.Widget(nil), child, []string{fmt.Sprintf("unknown field %q", field), "ConfigMap c is deprecated"})
		w.Memory.prune(&object.Set{}, desired, time.Now())
		return w.Memory.UnknownField()
	}
	if got, want := unknown("list[0].a"), `the API server warns about ConfigMap default/c: unknown field "list[0].a", so that the field is not stored: is it misspelled?`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, field := range []string{"list[0].c", "list[1].a", "list[x].a", "list.a", "kind.a", "more"} {
		if got := unknown(field); got != "" {
			t.Errorf("the hook does not return %s, got %q", field, got)
		}
	}
}

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
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/binding"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// newTestWriter returns a Writer whose reads from the API server fail and whose events are dropped.
func newTestWriter() *Writer {
	unread := func(context.Context, *object.Object) (*object.Object, error) { return nil, errors.New("not read") }
	return &Writer{Binding: &binding.Binding{GetLive: unread}, Events: noEvents{}, Log: slog.New(slog.DiscardHandler), Memory: NewMemory(), Replacements: &Replacements{}}
}

type noEvents struct{}

func (noEvents) Normal(*object.Object, string, string, ...any)  {}
func (noEvents) Warning(*object.Object, string, string, ...any) {}

// writeTimes does op n times, and fails if one of them has to wait.
func writeTimes(t *testing.T, w *Writer, parent *object.Object, op plan.Op, n int) {
	t.Helper()
	written := objecttest.ConfigMap("c", nil)
	written.SetResourceVersion("new")
	for i := range n {
		if wait := w.delayUpdate(t.Context(), parent, op); wait > 0 {
			t.Fatalf("write %d has to wait for %s", i, wait)
		}
		w.countWrite(op, written)
	}
}

func TestRepeatedWritesOfChildAreDelayed(t *testing.T) {
	for _, verb := range []plan.Verb{plan.Update, plan.Apply, plan.Delete} {
		t.Run(string(verb), func(t *testing.T) {
			parent, wanted, field := objecttest.Widget(nil), objecttest.ConfigMap("c", nil), plan.Path{"data"}
			w := newTestWriter()
			again := plan.Op{Verb: verb, Object: objecttest.ConfigMap("c", nil), Wanted: wanted, Observed: wanted, Differs: field, Content: "x"}
			writeTimes(t, w, parent, again, throttle.ContentionAllowed)
			if wait := w.delayUpdate(t.Context(), parent, again); wait <= 0 || wait > 10*time.Second {
				t.Fatalf("after %d writes it waits %s, want up to 10s", throttle.ContentionAllowed, wait)
			}
			for name, op := range map[string]plan.Op{
				"another child":                    {Verb: verb, Object: objecttest.ConfigMap("d", nil), Wanted: wanted, Observed: wanted, Differs: field, Content: "x"},
				"a deletion of an undesired child": {Verb: plan.Delete, Object: objecttest.ConfigMap("c", nil)},
				"other content":                    {Verb: verb, Object: objecttest.ConfigMap("c", nil), Wanted: wanted, Observed: wanted, Differs: field, Content: "y"},
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
	counted := func(at time.Time) *repeated {
		c := &repeated{}
		c.Count(at)
		return c
	}
	w := newTestWriter()
	m := w.Memory
	put(&m.contentions, object.Ref{Key: object.Key{Name: "old"}}, counted(time.Now().Add(-2*throttle.ContentionForgotten)))
	put(&m.contentions, object.Ref{Key: object.Key{Name: "new"}}, counted(time.Now()))
	for _, name := range []string{"c", "gone"} {
		note(t, w, objecttest.ConfigMap(name, objecttest.Widget(nil)), objecttest.ConfigMap(name, nil))
	}
	observed := &object.Set{}
	observed.Put(objecttest.ConfigMap("c", objecttest.Widget(nil)))
	m.prune(observed, &object.Set{}, time.Now())
	if _, found := m.written["uid-of-c"]; len(m.contentions) != 1 || len(m.written) != 1 || !found {
		t.Errorf("after pruning there are the contentions %v and the memory %v", m.contentions, m.written)
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
	result func(context.Context, plan.Op) (*object.Object, error)
}

func (f *fakeWriter) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	f.done = append(f.done, string(op.Verb))
	return f.result(ctx, op)
}

// A child is recreated only after a dry run of the update has shown that it differs, and one of the creation that it can be created.
func TestChildIsNotDeletedBeforeNewOneIsAccepted(t *testing.T) {
	refused := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "c", nil)
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "c", errors.New("no"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	have, wanted := objecttest.ConfigMap("c", objecttest.Widget(nil)), objecttest.ConfigMap("c", nil)
	updated := objecttest.ConfigMap("c", objecttest.Widget(nil))
	for _, o := range []*object.Object{updated, wanted} {
		o.Map()["data"] = map[string]any{"a": "b"}
	}
	const tried = "dry run of update, dry run of create"
	for name, c := range map[string]struct {
		update, create error
		stored         *object.Object // by the update
		want           string
		fails, waits   bool
	}{
		"accepted":                       {want: tried + ", delete"},
		"immutable":                      {update: plan.ErrImmutable, want: tried + ", delete"},
		"refused":                        {create: refused, want: tried, fails: true},
		"a conflict with a webhook":      {create: apierrors.NewConflict(schema.GroupResource{}, "c", errors.New("denied")), want: tried, fails: true},
		"the namespace is being deleted": {create: terminating, want: tried, waits: true},
		"nothing would be stored":        {stored: have, want: "dry run of update, update"},
		"the update is refused":          {update: refused, want: "dry run of update", fails: true},
		"the update is forbidden":        {update: apierrors.NewForbidden(schema.GroupResource{}, "c", errors.New("exceeded quota")), want: "dry run of update", fails: true},
		"too many requests":              {update: apierrors.NewTooManyRequests("later", 1), want: "dry run of update", fails: true},
		"a timeout":                      {update: context.DeadlineExceeded, want: "dry run of update", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, to := newTestWriter(), &fakeWriter{}
			to.result = func(_ context.Context, op plan.Op) (*object.Object, error) {
				switch {
				case op.Verb == plan.DryUpdate && c.stored != nil:
					return c.stored, nil
				case op.Verb == plan.DryUpdate:
					return op.Object, c.update
				case op.Verb == plan.DryCreate:
					return op.Object, c.create
				}
				return op.Object, nil
			}
			op := plan.Op{Verb: plan.Delete, Object: have, Wanted: wanted, Replacement: updated, Updated: updated, Differs: plan.Path{"data"}}
			wait, err := w.Apply(t.Context(), objecttest.Widget(nil), []plan.Op{op}, to)
			if got := strings.Join(to.done, ", "); got != c.want {
				t.Errorf("operations %s, want %s", got, c.want)
			}
			if (err != nil) != c.fails || errors.Is(err, kube.ErrRequeue) || wait > 0 != c.waits {
				t.Errorf("got wait %s, error %v", wait, err)
			}
		})
	}
}

// While a child takes its own place in a full quota, no other one is deleted; nor is it deleted while another one is missing, if
// it needs more room than before.
func TestOneChildAtATimeInFullQuota(t *testing.T) {
	parent, tight := objecttest.Widget(nil), map[string]bool{"a": true, "b": true}
	recreate := func(name string) plan.Op {
		have := objecttest.ConfigMap(name, parent)
		have.SetUID(types.UID("old-" + name))
		return plan.Op{Verb: plan.Delete, Object: have, Wanted: objecttest.ConfigMap(name, nil), Replacement: objecttest.ConfigMap(name, parent)}
	}
	create := plan.Op{Verb: plan.Create, Object: objecttest.ConfigMap("d", nil)}
	to := &fakeWriter{}
	fails, full := error(nil), plan.ErrTight
	deleted := ""
	to.result = func(_ context.Context, op plan.Op) (*object.Object, error) {
		switch {
		case op.Verb == plan.DryCreate && tight[op.Object.GetName()]:
			return nil, full
		case op.Verb == plan.Delete && fails == nil:
			deleted += op.Object.GetName()
		case op.Verb == plan.Delete:
			return nil, fails
		}
		return op.Object, nil
	}
	w := newTestWriter()
	apply := func(want string, waits bool, ops ...plan.Op) {
		t.Helper()
		deleted = ""
		next := newTestWriter()
		next.Memory, next.Replacements = w.Memory, w.Replacements
		wait, _ := next.Apply(t.Context(), parent, ops, to)
		if deleted != want || wait > 0 != waits {
			t.Errorf("deleted %q, want %q; wait %s", deleted, want, wait)
		}
	}
	observed, desired := &object.Set{}, &object.Set{}
	for _, name := range []string{"a", "b", "c"} {
		observed.Put(recreate(name).Object)
		desired.Put(recreate(name).Wanted)
	}
	full = plan.ErrGrows
	apply("c", true, recreate("c"), recreate("a"))
	apply("", true, create, recreate("a"))
	full = plan.ErrTight // and does not grow
	apply("ca", false, recreate("c"), recreate("a"))
	w.Replacements, w.Memory = &Replacements{}, NewMemory()
	apply("a", false, create, recreate("a"))
	apply("", true, create) // it would take the room of a
	w.Replacements = &Replacements{}
	apply("", false, create)
	apply("", true, recreate("b")) // a does not exist again, also after other parents do not wait for it any more
	w.Memory = NewMemory()
	of := w.Memory
	fails = errors.New("no")
	apply("", false, recreate("a"))
	fails = nil
	apply("a", true, recreate("a"), recreate("b"), recreate("c"))
	w.Replacements.observe(observed, desired, w.Memory)
	apply("", true, recreate("b")) // a is still there, maybe until its containers have ended
	w.Memory = NewMemory()
	w.Replacements.observe(observed, &object.Set{}, w.Memory)
	apply("", true, recreate("b")) // nor is a child of another parent
	w.Memory = of
	again := objecttest.ConfigMap("a", parent)
	again.SetUID("new")
	observed.Put(again)
	w.Replacements.observe(observed, desired, w.Memory)
	apply("b", false, recreate("b"))
}

// A deletion that the API server refuses is not repeated because somebody creates the child again.
func TestRefusedDeletionIsNoConflict(t *testing.T) {
	w, to := newTestWriter(), &fakeWriter{}
	to.result = func(context.Context, plan.Op) (*object.Object, error) { return nil, errors.New("no") }
	for range 2 * throttle.ContentionAllowed {
		if wait, err := w.Apply(t.Context(), objecttest.Widget(nil), []plan.Op{deletion("a")}, to); wait > 0 || err == nil {
			t.Fatalf("wait %s, error %v", wait, err)
		}
	}
}

// Who writes a field of which no other field manager is the owner.
func TestConflictWithinOneFieldManager(t *testing.T) {
	w, op := newTestWriter(), plan.Op{Verb: plan.Update, Object: objecttest.ConfigMap("c", nil), Differs: plan.Path{"data", "a"}}
	live := objecttest.ConfigMap("c", nil)
	w.Binding.GetLive = func(context.Context, *object.Object) (*object.Object, error) { return live, nil }
	for _, c := range []struct{ annotation, want string }{
		{"", "an admission webhook"},
		{`{"data":{"a":"ours"}}`, "an admission webhook"},
		{`{"data":{"a":"theirs"}}`, "another controller with the field manager metacontroller"},
	} {
		live.SetAnnotations(map[string]string{plan.LastApplied: `{"data":{"a":"ours"}}`})
		op.Content = plan.AppliedBy(live)
		live.SetAnnotations(map[string]string{plan.LastApplied: c.annotation})
		if got := w.otherManagers(t.Context(), op); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.annotation, got)
		}
	}
}

// A random value that the hook has passed back to another Secret stays where it is until that one is written.
func TestRandomValueStaysUntilItIsWritten(t *testing.T) {
	secret := func(name, value string) *object.Object {
		o := objecttest.ConfigMap(name, objecttest.Widget(nil))
		o.Map()["data"] = map[string]any{"password": value}
		o.SetUID(types.UID(name))
		return o
	}
	old, empty, existing := secret("old", "v"), secret("old", "other"), secret("new", "other")
	creates := plan.Op{Verb: plan.Create, Object: secret("new", "v"), Wanted: secret("new", "v")}
	deletes := plan.Op{Verb: plan.Delete, Object: old}
	takes := plan.Op{Verb: plan.Update, Observed: old, Object: empty, Wanted: empty, Differs: plan.Path{"data"}}
	keeps := plan.Op{Verb: plan.Update, Observed: old, Object: old, Wanted: old, Differs: plan.Path{"metadata"}}
	recreates := plan.Op{Verb: plan.Delete, Object: existing, Wanted: secret("new", "v"), Differs: plan.Path{"data"}}
	held := hook.Holders{"old": {"v"}}
	for name, c := range map[string]struct {
		ops        []plan.Op
		err        error // of what is not done to the old one
		unfinished bool
		holders    hook.Holders
		want       string
	}{
		"written":                        {[]plan.Op{creates, deletes}, nil, false, held, "create new, delete old"},
		"not written":                    {[]plan.Op{creates, deletes}, errors.New("no"), false, held, "create new"},
		"not random":                     {[]plan.Op{creates, deletes}, errors.New("no"), false, nil, "create new, delete old"},
		"deleted to be created again":    {[]plan.Op{recreates, deletes}, nil, false, held, "delete new"},
		"not deleted yet":                {[]plan.Op{deletes, recreates}, errors.New("no"), false, held, "delete new"},
		"its end is waited for":          {[]plan.Op{deletes}, nil, true, held, ""},
		"taken from one that is left":    {[]plan.Op{takes, creates}, nil, false, held, "create new, update old"},
		"the same, and not written":      {[]plan.Op{takes, creates}, errors.New("no"), false, held, "create new"},
		"another field, and not written": {[]plan.Op{keeps, creates}, errors.New("no"), false, held, "update old, create new"},
	} {
		w, to := newTestWriter(), &fakeWriter{}
		w.response, w.unfinished = &hook.Response{Holders: c.holders}, c.unfinished
		var done []string
		to.result = func(_ context.Context, op plan.Op) (*object.Object, error) {
			done = append(done, string(op.Verb)+" "+op.Object.GetName())
			if op.Object.GetName() == "old" {
				return op.Object, nil
			}
			return op.Object, c.err
		}
		if _, err := w.Apply(t.Context(), objecttest.Widget(nil), c.ops, to); (err != nil) != (c.err != nil) {
			t.Errorf("%s: error %v, want %v", name, err, c.err)
		}
		if got := strings.Join(done, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
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
	note(t, w, stored, written, `unknown field "dataa"`)
	want := []string{
		`APIWarning the API server warns about ConfigMap default/c: unknown field "dataa", so that the field is not stored: is it misspelled?`,
		"FieldNotStored the API server does not store ConfigMap default/c as the hook returned it: more: m is not stored. It is not written again because of that",
	}
	if diff := cmp.Diff(want, events.texts); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.reportFieldConflict(t.Context(), parent, plan.Op{Verb: plan.Update, Object: child, Differs: plan.Path{"data"}}, 5)
	if last := events.texts[len(events.texts)-1]; !strings.HasPrefix(last, "FieldConflict the API server warns about ConfigMap default/c: unknown field") || !strings.Contains(last, ". ConfigMap default/c was updated 5 times") {
		t.Errorf("got %q", last)
	}
}

// note notes that a child was written and stored like this.
func note(t *testing.T, w *Writer, stored, written *object.Object, warnings ...string) {
	t.Helper()
	if err := w.noteWritten(t.Context(), objecttest.Widget(nil), plan.Op{Verb: plan.Update, Object: written, Wanted: written}, stored, warnings); err != nil {
		t.Fatal(err)
	}
}

// A value with another meaning is reported once, with who has changed it, and one with the same meaning is not.
func TestValuesThatAreStoredDifferently(t *testing.T) {
	w, events := newTestWriter(), &recordingEvents{}
	w.Events = events
	stored, written := objecttest.ConfigMap("c", nil), objecttest.ConfigMap("c", nil)
	written.Map()["data"] = map[string]any{"a": "x", "memory": "1024Mi"}
	stored.Map()["data"] = map[string]any{"a": "other", "memory": "1Gi"}
	for range 2 {
		note(t, w, stored, written)
	}
	want := []string{"StoredDifferently the API server does not store ConfigMap default/c as the hook returned it: data.a: x is stored as other: a mutating admission webhook or policy, or the API server itself, has changed it. It is not written again because of that"}
	if diff := cmp.Diff(want, events.texts); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := "StoredDifferently " + w.Memory.NotStored(); got != want[0] {
		t.Errorf("the condition has %q", got)
	}
	stored.Map()["data"] = map[string]any{"a": "x", "memory": "1Gi"}
	note(t, w, stored, written)
	if got := w.Memory.NotStored(); got != "" || !w.Memory.Quiet(time.Now()) || len(events.texts) != 1 {
		t.Errorf("with the same meaning there is %q, %q", got, events.texts)
	}
}

func TestRedefineForgetsWhatWasNotStored(t *testing.T) {
	w := newTestWriter()
	stored, written := objecttest.ConfigMap("c", nil), objecttest.ConfigMap("c", nil)
	written.Map()["more"] = "m"
	if w.Memory.Redefine() {
		t.Error("there is something to forget at first")
	}
	note(t, w, stored, written)
	if !w.Memory.Redefine() {
		t.Error("there is nothing to forget")
	}
	observed := &object.Set{}
	observed.Put(stored)
	w.Memory.prune(observed, observed, time.Now())
	if len(w.Memory.written)+len(w.Memory.spelled) != 0 || w.Memory.Redefine() {
		t.Errorf("afterwards there is %v", w.Memory.written)
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
		return w.Memory.NotStored()
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

// A child that differs although the hook returned the same is recreated only if a new one would have another value, and updated only if
// another field manager has written what differs: an admission webhook may change only creations, or store another value each time.
func TestDifferenceOfUnchangedAnswer(t *testing.T) {
	with := func(value string) *object.Object {
		o := objecttest.ConfigMap("c", objecttest.Widget(nil))
		o.Map()["data"] = map[string]any{"a": value}
		return o
	}
	wanted := objecttest.ConfigMap("c", nil)
	wanted.Map()["data"] = map[string]any{"a": "x"}
	have, updated := with("other"), with("x")
	have.SetUID("u")
	by := func(manager string) *object.Object {
		live := object.Copy(have)
		live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)}})
		return live
	}
	recreate := plan.Op{Verb: plan.Delete, Object: have, Wanted: wanted, Content: "c", Replacement: wanted, Updated: updated, Differs: plan.Path{"data"}, Answered: true, Doubtful: true}
	update := plan.Op{Verb: plan.Update, Object: updated, Observed: have, Wanted: wanted, Content: "c", Differs: plan.Path{"data"}, Answered: true, Doubtful: true}
	apply := plan.Op{Verb: plan.Apply, Object: wanted, Observed: have, Wanted: wanted, Content: "c", Differs: plan.Path{"data"}, Doubtful: true}
	applyAgain := plan.Op{Verb: plan.DryRun, Object: wanted, Observed: have, Wanted: wanted, Content: "c", Differs: plan.Path{"data"}, Doubtful: true, Recreates: true}
	const (
		ours   = kube.FieldManager
		theirs = "kubectl-edit"
		create = ", dry run of create"
	)
	for name, c := range map[string]struct {
		op        plan.Op
		writer    string   // of the field
		err       error    // of the dry run of the update
		created   []string // what dry runs of creations store, one after the other; "" is an error
		requested bool
		want      string
		fails     bool
	}{
		"a webhook for creations":                   {op: recreate, writer: ours, created: []string{"other"}, want: "dry run of update" + create},
		"that stores another value each time":       {op: recreate, writer: ours, created: []string{"p", "q"}, want: "dry run of update" + create + create},
		"somebody's value":                          {op: recreate, writer: theirs, created: []string{"x", "x"}, want: "dry run of update" + create + create + create + ", delete"},
		"a webhook that stores something else now":  {op: recreate, writer: ours, created: []string{"z", "z"}, want: "dry run of update" + create + create + create + ", delete"},
		"no creation, our own value":                {op: recreate, writer: ours, created: []string{""}, want: "dry run of update" + create},
		"no creation, another's value":              {op: recreate, writer: theirs, created: []string{""}, want: "dry run of update" + create + create, fails: true},
		"immutable, a webhook for creations":        {op: recreate, writer: ours, err: plan.ErrImmutable, created: []string{"other"}, want: "dry run of update" + create},
		"immutable, somebody's value":               {op: recreate, writer: theirs, err: plan.ErrImmutable, created: []string{"x", "x"}, want: "dry run of update" + create + create + create + ", delete"},
		"requested, a webhook for creations":        {op: recreate, writer: ours, created: []string{"other"}, requested: true, want: "dry run of update" + create},
		"requested, after a webhook":                {op: recreate, writer: ours, created: []string{"x", "x"}, requested: true, want: "dry run of update" + create + create + create + ", delete"},
		"our own value in place":                    {op: update, writer: ours, created: []string{"other"}, want: "dry run of update" + create},
		"another's value in place":                  {op: update, writer: theirs, created: []string{"x", "x"}, want: "dry run of update" + create + create + ", update"},
		"our own value in place, requested":         {op: update, writer: ours, requested: true, created: []string{"x", "x"}, want: "dry run of update" + create + create + ", update"},
		"immutable in place, for creations":         {op: update, writer: ours, err: plan.ErrImmutable, created: []string{"other"}, want: "dry run of update" + create},
		"immutable in place, somebody's value":      {op: update, writer: theirs, err: plan.ErrImmutable, created: []string{"x", "x"}, want: "dry run of update" + create + create + ", update"},
		"applied after a restart":                   {op: apply, writer: ours, created: []string{"x", "x"}, want: "dry run" + create + create + ", apply"},
		"applied after a restart, immutable":        {op: apply, writer: ours, err: plan.ErrImmutable, created: []string{"other"}, want: "dry run" + create},
		"recreated after a restart":                 {op: applyAgain, writer: ours, created: []string{"x", "x"}, want: "dry run" + create + create + create + ", delete"},
		"a webhook for creations and a restart":     {op: applyAgain, writer: ours, created: []string{"other"}, want: "dry run" + create},
		"that is immutable, and a restart":          {op: applyAgain, writer: ours, err: plan.ErrImmutable, created: []string{"other"}, want: "dry run" + create},
		"no creation and a restart":                 {op: applyAgain, writer: ours, created: []string{""}, want: "dry run" + create, fails: true},
		"no creation, applied in place":             {op: apply, writer: ours, created: []string{""}, want: "dry run" + create + ", apply"},
		"no creation, our own value in place":       {op: update, writer: ours, created: []string{""}, want: "dry run of update" + create},
		"a removal by somebody in place":            {op: update, writer: ours, created: []string{"x", "x"}, want: "dry run of update" + create + create + ", update"},
		"a name that is refused and a restart":      {op: applyAgain, writer: ours, created: []string{"refused"}, want: "dry run" + create, fails: true},
		"another value each time and a restart":     {op: applyAgain, writer: ours, created: []string{"p", "q"}, want: "dry run" + create + create},
		"another value each time, applied in place": {op: apply, writer: ours, created: []string{"p", "q"}, want: "dry run" + create + create},
	} {
		w, to := newTestWriter(), &fakeWriter{}
		w.Binding.GetLive = func(context.Context, *object.Object) (*object.Object, error) { return by(c.writer), nil }
		w.Requested = c.requested
		left := c.created
		to.result = func(_ context.Context, op plan.Op) (*object.Object, error) {
			switch {
			case op.Verb == plan.DryUpdate, op.Verb == plan.DryRun:
				result := with("x")
				result.SetUID("u")
				return result, c.err
			case op.Verb == plan.DryCreate && op.Object.GetName() != "c":
				value := left[0]
				switch left = left[1:]; value {
				case "":
					return nil, errors.New("no")
				case "refused":
					return nil, apierrors.NewForbidden(schema.GroupResource{}, op.Object.GetName(), errors.New("no"))
				}
				created := with(value)
				created.SetName(op.Object.GetName())
				return created, nil
			case op.Verb == plan.DryCreate && c.fails:
				return nil, errors.New("no")
			}
			return op.Object, nil
		}
		if _, err := w.Apply(t.Context(), objecttest.Widget(nil), []plan.Op{c.op}, to); (err != nil) != c.fails {
			t.Errorf("%s: error %v", name, err)
		}
		if got := strings.Join(to.done, ", "); got != c.want {
			t.Errorf("%s: operations %s, want %s", name, got, c.want)
		}
	}
}

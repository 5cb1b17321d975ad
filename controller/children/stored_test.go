package children

import (
	"context"
	"errors"
	"strings"
	"testing"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
)

// A retry writes a value that was stored with another meaning only if the API server would store it as the hook returned it, and recreates
// a child only after two retries. A retry that fails is no error.
func TestRetryOfValuesThatWereStoredDifferently(t *testing.T) {
	with := func(value string) *object.Object {
		o := objecttest.ConfigMap("c", objecttest.Widget(nil))
		o.Map()["data"] = map[string]any{"a": value}
		o.SetUID("u")
		return o
	}
	wanted := objecttest.ConfigMap("c", nil)
	wanted.Map()["data"] = map[string]any{"a": "x"}
	const create = ", dry run of create"
	for name, c := range map[string]struct {
		method  plan.Method
		result  string // what the API server would store now; "" is an error
		retries int
		want    string // the operations of the last retry
	}{
		"the webhook is there":         {method: plan.InPlace, result: "other", retries: 1, want: "dry run of update"},
		"the webhook is gone":          {method: plan.InPlace, result: "x", retries: 1, want: "dry run of update" + create + create + ", update"},
		"it stores something else now": {method: plan.InPlace, result: "third", retries: 1, want: "dry run of update"},
		"the dry run fails":            {method: plan.InPlace, retries: 1, want: "dry run of update"},
		"recreated, once":              {method: plan.Recreate, result: "x", retries: 1, want: "dry run of update" + create + create},
		"recreated, twice":             {method: plan.Recreate, result: "x", retries: 2, want: "dry run of update" + create + create + create + ", delete"},
		"not updated":                  {method: plan.OnDelete, result: "x", retries: 1},
	} {
		t.Run(name, func(t *testing.T) {
			parent, to, w := objecttest.Widget(nil), &fakeWriter{}, newTestWriter()
			w.Binding.Rules = plan.Rules{wanted.GroupVersionKind(): c.method}
			w.Binding.Claimer = keeper{}
			to.result = func(_ context.Context, op plan.Op) (*object.Object, error) {
				if c.result == "" {
					return nil, errors.New("no")
				}
				stored := with(c.result)
				stored.SetName(op.Object.GetName())
				return stored, nil
			}
			observed, desired := &object.Set{}, &object.Set{}
			desired.Put(wanted)
			created, err := plan.Children(&object.Set{}, desired, plan.Policy{})
			if err != nil {
				t.Fatal(err)
			}
			have := object.Copy(created.Ops[0].Object)
			have.Map()["data"] = map[string]any{"a": "other"}
			have.SetUID("u")
			op := plan.Op{Verb: plan.Update, Object: have, Wanted: wanted}
			observed.Put(have)
			if err := w.noteWritten(t.Context(), parent, op, have, nil); err != nil {
				t.Fatal(err)
			}
			reconcile := func() []string {
				to.done = nil
				planned, err := w.Plan(t.Context(), parent, observed, &hook.Response{Children: desired})
				if err == nil {
					_, err = w.Apply(t.Context(), parent, planned.Ops, to)
				}
				if err != nil {
					t.Fatal(err)
				}
				return to.done
			}
			for range c.retries {
				if !w.Memory.Retry() {
					t.Fatal("there is nothing to retry")
				}
				if got := reconcile(); len(got) == 0 && c.method != plan.OnDelete {
					t.Error("a retry does nothing")
				}
			}
			if got := strings.Join(to.done, ", "); got != c.want {
				t.Errorf("operations %s, want %s", got, c.want)
			}
			if wrote := strings.HasSuffix(c.want, "update") && strings.Contains(c.want, create+create+", update"); wrote && w.Memory.NotStored() != "" {
				t.Errorf("after the write there is %q", w.Memory.NotStored())
			}
			if got := reconcile(); !strings.HasSuffix(c.want, "e") && len(got) > 0 {
				t.Errorf("without a retry it does %v", got)
			}
		})
	}
}

// A keeper is a Claimer whose children have their owners.
type keeper struct{}

func (keeper) Claim(context.Context, *object.Object, plan.Writer) (*object.Set, error) {
	return &object.Set{}, nil
}
func (keeper) SetControllerReference(_, _ *object.Object) error { return nil }

// FieldConflict says what the hook returned and what is stored, but not of a Secret.
func TestFieldConflictSaysBothValues(t *testing.T) {
	for kind, want := range map[string]string{
		"ConfigMap": "data.a differs again from what the hook returned (data.a: x is stored as other): ",
		"Secret":    "data.a differs again from what the hook returned (data.a is stored with another value): ",
	} {
		w, events := newTestWriter(), &recordingEvents{}
		w.Events = events
		have, wanted := objecttest.ConfigMap("c", nil), objecttest.ConfigMap("c", nil)
		have.Map()["data"], wanted.Map()["data"] = map[string]any{"a": "other"}, map[string]any{"a": "x"}
		have.Map()["kind"], wanted.Map()["kind"] = kind, kind
		op := plan.Op{Verb: plan.Update, Object: wanted, Observed: have, Wanted: wanted, Differs: plan.Path{"data", "a"}}
		w.reportFieldConflict(t.Context(), objecttest.Widget(nil), op, 5)
		if !strings.Contains(events.texts[0], want) {
			t.Errorf("got %q, want %q in it", events.texts[0], want)
		}
	}
}

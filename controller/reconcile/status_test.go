package reconcile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/throttle"
)

// After the error NotFound no status is written any more if the kind has no status subresource, and only then.
func TestStatusWriteNotFound(t *testing.T) {
	for _, c := range []struct {
		name     string
		discover kubetest.Served
		noStatus bool
	}{
		{"the kind has no status subresource any more", kubetest.Served{{GroupVersionResource: objecttest.Widgets, Kind: "Widget"}}, true},
		{"the parent is gone, or its kind was not served for a moment", kubetest.Served{{GroupVersionResource: objecttest.Widgets, Kind: "Widget", HasStatus: true}}, false},
		{"the kind is not served", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, write := newTestReconciler(t, wants(), nil, objecttest.Widget(nil))
			r.binding.Discover = c.discover
			write.Fail = func(op plan.Op) error {
				if op.Verb == plan.UpdateStatus {
					return apierrors.NewNotFound(objecttest.Widgets.GroupResource(), op.Object.GetName())
				}
				return nil
			}
			_, err := reconcileOnce(t, r, write)
			if c.noStatus && err != nil || !c.noStatus && !errors.Is(err, kube.ErrRequeue) {
				t.Errorf("error %v", err)
			}
			if has := r.newReconciliation(objecttest.WidgetRef("default", "w")).status.hasStatus(objecttest.Widget(nil)); has == c.noStatus {
				t.Errorf("hasStatus returns %v", has)
			}
		})
	}
}

func TestResponseWithoutStatusUpdatesObservedGeneration(t *testing.T) {
	withoutStatus := hookFunc(func(*hook.Request) (*hook.Response, error) { return &hook.Response{Children: &object.Set{}}, nil })
	for name, c := range map[string]struct {
		status map[string]any
		want   []string
	}{
		"none":                 {nil, nil},
		"without a generation": {map[string]any{"a": "b"}, nil},
		"of this generation":   {map[string]any{"observedGeneration": int64(1)}, nil},
		"of an older one":      {map[string]any{"observedGeneration": int64(0), "a": "b"}, []string{"update status Widget default/w"}},
	} {
		t.Run(name, func(t *testing.T) {
			parent := objecttest.Widget(func(o *object.Object) {
				if c.status != nil {
					o.Map()["status"] = c.status
				}
			})
			r, write := newTestReconciler(t, withoutStatus, nil, parent)
			got, err := reconcileOnce(t, r, write)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRepeatedWritesOfStatusAreDelayed(t *testing.T) {
	r, _ := newTestReconciler(t, wants(), nil)
	defer r.close()
	defer r.queue.ShutDown()
	parent, response := objecttest.Widget(nil), &hook.Response{Status: map[string]any{"by": "one"}}
	changed := object.Copy(parent)
	changed.Map()["status"] = response.Status
	writer := r.newReconciliation(object.RefOf(parent)).status
	for range throttle.ContentionAllowed {
		if wait := writer.delayStatus(parent, changed, response); wait != 0 {
			t.Fatalf("it waits %s", wait)
		}
		writer.state.statusContention.Count(time.Now())
	}
	if wait := writer.delayStatus(parent, changed, response); wait <= 0 {
		t.Error("it does not wait")
	}
	edited := objecttest.Widget(func(o *object.Object) { o.SetGeneration(2) })
	if wait := writer.delayStatus(edited, changed, response); wait != 0 {
		t.Errorf("after an edit it waits %s", wait)
	}
}

func TestNotStoredMessage(t *testing.T) {
	r, _ := newTestReconciler(t, at(), nil)
	t.Cleanup(r.close)
	t.Cleanup(r.queue.ShutDown)
	writer := r.newReconciliation(objecttest.WidgetRef("default", "w")).status
	const generic = "the API server does not store status.conditions as the hook returned it: does the schema of widgets.example.com have the field?"
	if got := writer.notStoredMessage(objecttest.Widget(nil), []string{"status.conditions"}); got != generic {
		t.Errorf("got %q, want %q", got, generic)
	}
	roll(r)
	if got := writer.notStoredMessage(objecttest.Widget(nil), []string{"status.conditions"}); !strings.Contains(got, "where the condition Updated shows the progress of a rollout: add the field to the schema of widgets.example.com") {
		t.Errorf("got %q", got)
	}
	if got := writer.notStoredMessage(objecttest.Widget(nil), []string{"status.phase"}); !strings.Contains(got, "status.phase as the hook returned it") {
		t.Errorf("got %q", got)
	}
}

func TestLostFieldsAreAllNamed(t *testing.T) {
	withStatus := func(status map[string]any) *object.Object {
		return objecttest.Widget(func(o *object.Object) { o.Map()["status"] = status })
	}
	written := withStatus(map[string]any{"observedGeneration": int64(1), "a": map[string]any{"b": "c", "d": "e"}, "phase": "x", "kept": true})
	for name, c := range map[string]struct {
		stored map[string]any
		want   []string
	}{
		"no status":   {nil, []string{"status.a", "status.kept", "status.observedGeneration", "status.phase"}},
		"some fields": {map[string]any{"a": map[string]any{"b": "c"}, "kept": true}, []string{"status.a.d", "status.observedGeneration", "status.phase"}},
		"all":         {written.Map()["status"].(map[string]any), nil},
	} {
		if diff := cmp.Diff(c.want, plan.StatusDifferences(withStatus(c.stored), written)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

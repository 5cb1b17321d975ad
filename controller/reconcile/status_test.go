package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/queue"
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
			if lacks := r.kinds.LacksStatus(objecttest.Widget(nil).GroupVersionKind()); lacks != c.noStatus {
				t.Errorf("LacksStatus returns %v", lacks)
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

// After writes to children the status is left to the next reconcile, which sees the children. It is not left twice in a row.
func TestStatusIsWrittenOnceForWritesOfChildren(t *testing.T) {
	refused := func(op plan.Op) error {
		if op.Verb == plan.Create {
			return apierrors.NewForbidden(objecttest.ConfigMaps.GroupResource(), op.Object.GetName(), errors.New("exceeded quota"))
		}
		return nil
	}
	for name, c := range map[string]struct {
		fail         func(plan.Op) error
		first, again []string
	}{
		"the first reconcile, and the next one, in which the hook wants another child": {nil,
			[]string{"create ConfigMap default/1"},
			[]string{"create ConfigMap default/2", "update status Widget default/w"}},
		"a write fails": {refused,
			[]string{"create ConfigMap default/1", "update status Widget default/w"},
			[]string{"create ConfigMap default/2", "update status Widget default/w"}},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			sync := hookFunc(func(*hook.Request) (*hook.Response, error) {
				calls++
				set := &object.Set{}
				set.Put(objecttest.ConfigMap(fmt.Sprint(calls), nil))
				return &hook.Response{Children: set, Status: map[string]any{"calls": int64(calls)}}, nil
			})
			r, write := newTestReconciler(t, sync, nil, objecttest.Widget(nil))
			write.Fail = c.fail
			fillCaches(t, r)
			key := objecttest.WidgetRef("default", "w")
			for _, want := range [][]string{c.first, c.again} {
				before := len(write.Recorded())
				r.states.of(key).pending = pendingWrites{}
				r.worker.process(t.Context(), key, queue.Resync)
				if diff := cmp.Diff(want, write.Recorded()[before:]); diff != "" {
					t.Errorf("reconcile %d (-want +got):\n%s", calls, diff)
				}
				if left := r.queue.Pending(key)&queue.ChildChanged != 0; left != !strings.Contains(fmt.Sprint(want), "status") {
					t.Errorf("reconcile %d: another one follows: %t", calls, left)
				}
				r.queue.Take(key)
			}
		})
	}
}

// A reconcile that does not come to the status has the delay of its error, although a status was left to it.
func TestStatusThatWasLeftDoesNotHurryErrors(t *testing.T) {
	var failed error
	sync := hookFunc(func(req *hook.Request) (*hook.Response, error) {
		response, err := wants("new")(req)
		return response, errors.Join(err, failed)
	})
	r, _ := newTestReconciler(t, sync, nil, objecttest.Widget(nil))
	fillCaches(t, r)
	key := objecttest.WidgetRef("default", "w")
	r.worker.process(t.Context(), key, queue.Resync)
	if r.queue.Take(key) != queue.ChildChanged {
		t.Error("the status is not left to another reconcile")
	}
	failed = errors.New("broken")
	r.states.of(key).pending = pendingWrites{}
	r.worker.process(t.Context(), key, queue.ChildChanged)
	if why := r.queue.Pending(key); why != 0 {
		t.Errorf("after an error it is queued for %s", why)
	}
}

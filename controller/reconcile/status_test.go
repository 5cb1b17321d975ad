package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/kube/kubetest"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/queue"
	"metascript/engine"
	"metascript/runtimes"
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

// After writes to children the status is left to the next reconcile, which sees the children, unless the script reads it. It is not left
// twice in a row.
func TestStatusIsWrittenOnceForWritesOfChildren(t *testing.T) {
	refused := func(op plan.Op) error {
		if op.Verb == plan.Create {
			return apierrors.NewForbidden(objecttest.ConfigMaps.GroupResource(), op.Object.GetName(), errors.New("exceeded quota"))
		}
		return nil
	}
	const created, status = "create ConfigMap default/c", "update status Widget default/w"
	for name, c := range map[string]struct {
		script string
		fail   func(plan.Op) error
		want   [][]string // the writes of each reconcile; no child is stored
	}{
		"the script reads nothing": {returnsOne, nil, [][]string{{created}, {created, status}, {created}}},
		"it reads another field":   {readsField("spec"), nil, [][]string{{created}, {created, status}}},
		"it reads the status":      {readsField("status"), nil, [][]string{{created, status}, {created, status}}},
		"a write fails":            {returnsOne, refused, [][]string{{created, status}, {created, status}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, write := newTestReconciler(t, scriptOf(t, c.script), nil, objecttest.Widget(nil))
			r.binding.Scripted, r.binding.Labels = true, claim.GeneratedLabels
			reset(r)
			write.Fail = c.fail
			fillCaches(t, r)
			key := objecttest.WidgetRef("default", "w")
			for i, want := range c.want {
				before := len(write.Recorded())
				r.states.of(key).pending = pendingWrites{}
				r.worker.process(t.Context(), key, queue.Resync)
				if diff := cmp.Diff(want, write.Recorded()[before:]); diff != "" {
					t.Errorf("reconcile %d (-want +got):\n%s", i+1, diff)
				}
				if left := r.queue.Pending(key)&queue.ChildChanged != 0; left == slices.Contains(want, status) {
					t.Errorf("reconcile %d: another one follows: %t", i+1, left)
				}
				r.queue.Take(key)
			}
		})
	}
}

// A reconcile that fails before it comes to the status has the delay of its error, although a status was left to it, which it writes.
func TestStatusThatWasLeftDoesNotHurryErrors(t *testing.T) {
	for _, of := range []string{"the hook", "the claim"} {
		t.Run(of, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { errorAfterStatusWasLeft(t, of) }) // so that the delay does not pass meanwhile
		})
	}
}

func errorAfterStatusWasLeft(t *testing.T, of string) {
	failed := map[string]error{}
	script := scriptOf(t, returnsOne)
	sync := hookFunc(func(req *hook.Request) (*hook.Response, error) {
		response, err := script.Call(t.Context(), req)
		return response, errors.Join(err, failed["the hook"])
	})
	r, write := newTestReconciler(t, sync, nil, objecttest.Widget(nil))
	r.binding.Scripted, r.binding.Labels = true, claim.GeneratedLabels
	r.binding.Claimer = failingClaimer{r.binding.Claimer, func() error { return failed["the claim"] }}
	reset(r)
	fillCaches(t, r)
	key := objecttest.WidgetRef("default", "w")
	r.worker.process(t.Context(), key, queue.Resync)
	if r.queue.Take(key) != queue.ChildChanged {
		t.Error("the status is not left to another reconcile")
	}
	failed[of] = errors.New("broken")
	for range 2 {
		r.states.of(key).pending = pendingWrites{}
		r.worker.process(t.Context(), key, queue.ChildChanged)
		if why := r.queue.Pending(key); why != 0 {
			t.Errorf("after an error it is queued for %s", why)
		}
	}
	if diff := cmp.Diff([]string{"create ConfigMap default/c", "update status Widget default/w"}, write.Recorded()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// A failingClaimer is a Claimer that fails when it says so.
type failingClaimer struct {
	claim.Claimer
	fails func() error
}

// Claim implements claim.Claimer.
func (c failingClaimer) Claim(ctx context.Context, parent *object.Object, write plan.Writer) (*object.Set, error) {
	if err := c.fails(); err != nil {
		return nil, err
	}
	return c.Claimer.Claim(ctx, parent, write)
}

// While a definition that has changed is not served yet, a status may be stored as before. It is written again when it is served.
func TestStatusIsWrittenAgainWhenTheDefinitionIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSmallWorld(t, true)
		server := &pruningServer{w, true}
		w.binding.Write = server
		reset(w.Reconciler)
		edit := func(count int64) {
			parent := w.get(t, "Widget", "a")
			parent.Map()["spec"] = map[string]any{"count": count}
			parent.SetGeneration(parent.GetGeneration() + 1)
			w.store(t, parent)
			synctest.Wait()
			w.processAll(t)
		}
		edit(0)
		w.settle(t)
		w.RetryStatus()
		time.Sleep(UntilServed / 2)
		edit(0)
		w.processAll(t)
		server.prunes = false
		w.settle(t)
		if _, stored := w.get(t, "Widget", "a").Field("status", "total"); !stored {
			t.Errorf("the status is %v", w.get(t, "Widget", "a").Map()["status"])
		}
	})
}

// A pruningServer is the API server of a world. While it prunes, the schema of widgets lacks a field of the status.
type pruningServer struct {
	*smallWorld
	prunes bool
}

// Do implements plan.Writer.
func (s *pruningServer) Do(ctx context.Context, op plan.Op) (*object.Object, error) {
	if s.prunes && op.Verb == plan.UpdateStatus {
		op.Object = object.Copy(op.Object)
		delete(op.Object.Map()["status"].(map[string]any), "total")
	}
	return s.smallWorld.Do(ctx, op)
}

// returnsOne is a script that returns a child and a status.
const returnsOne = `
def sync(parent, children):
    return {"status": {"a": 1}, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}]}`

// readsField returns returnsOne with a read of a field of the parent.
func readsField(name string) string {
	return strings.Replace(returnsOne, "return", `parent.get("`+name+`")
    return`, 1)
}

// scriptOf returns a hook that calls a function sync in Starlark.
func scriptOf(t *testing.T, text string) hook.Hook {
	t.Helper()
	script := engine.Script{Language: engine.Starlark, Entry: "sync.star", Files: fstest.MapFS{"sync.star": {Data: []byte(text)}}}
	program, err := runtimes.All()[engine.Starlark].Compile(t.Context(), script, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &hook.Script{Program: program, Function: hook.Sync}
}

// The status that a hook has returned is stored when its next call depends on it, and if that call returns none or fails.
func TestStatusThatWasLeftIsNotLost(t *testing.T) {
	const child = `[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}]`
	for name, c := range map[string]struct{ script, want string }{
		"a status that counts": {`
def sync(parent, children):
    before = parent.get("status", {}).get("created", 0)
    return {"status": {"created": before if children["ConfigMap.v1"] else before + 1}, "children": ` + child + `}`, "created:1"},
		"a status that is returned once": {`
def sync(parent, children):
    answer = {"children": ` + child + `}
    if not children["ConfigMap.v1"]:
        answer["status"] = {"created": 1}
    return answer`, "created:1"},
		"the next call fails": {`
def sync(parent, children):
    if children["ConfigMap.v1"]:
        fail("broken")
    return {"status": {"created": 1}, "children": ` + child + `}`, "created:1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSmallWorld(t, true)
				w.binding.Sync = scriptOf(t, c.script)
				reset(w.Reconciler)
				w.store(t, objecttest.Widget(func(o *object.Object) {
					o.SetName("c")
					o.SetUID("uid-c")
				}))
				w.settle(t)
				if got := fmt.Sprint(w.get(t, "Widget", "c").Map()["status"]); !strings.Contains(got, c.want) {
					t.Errorf("the status is %s, want %s; the writes are %q", got, c.want, w.writes)
				}
			})
		})
	}
}

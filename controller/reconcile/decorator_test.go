package reconcile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/plan/plantest"
)

// decorates returns a hook that returns one attachment, with this name, these changes of labels, and this status.
func decorates(name string, labels hook.Changes, status map[string]any) hookFunc {
	return func(*hook.Request) (*hook.Response, error) {
		set := &object.Set{}
		set.Put(objecttest.ConfigMap(name, nil))
		return &hook.Response{Shape: hook.Decorator, Children: set, Labels: labels, Status: status}, nil
	}
}

// decorateOnce reconciles a widget, which has the attachment "old", as a DecoratorController does.
func decorateOnce(t *testing.T, testHook hookFunc, change func(*Reconciler, *plantest.Recorder)) ([]string, error) {
	t.Helper()
	parent := objecttest.Widget(func(o *object.Object) { o.SetLabels(map[string]string{"a": "1"}) })
	old := objecttest.ConfigMap("old", parent)
	old.SetAnnotations(map[string]string{claim.DecoratorAnnotation: "c"})
	unmarked := objecttest.ConfigMap("unmarked", parent)
	r, write := newTestReconciler(t, testHook, nil, parent, old, unmarked)
	r.binding.Shape, r.binding.Match, r.binding.ChildAnnotations = hook.Decorator, nil, map[string]string{claim.DecoratorAnnotation: "c"}
	r.binding.Claimer = &claim.ByAnnotations{Children: r.binding.Children, Annotations: r.binding.ChildAnnotations}
	if change != nil {
		change(r, write)
	}
	return reconcileOnce(t, r, write)
}

func TestParentIsDecoratedBeforeItsAttachments(t *testing.T) {
	two := "2"
	status := map[string]any{"x": int64(1)}
	for _, c := range []struct {
		name string
		hook hookFunc
		want []string
	}{
		{"a label differs", decorates("new", hook.Changes{"a": &two}, status),
			[]string{"update Widget default/w", "create ConfigMap default/new", "delete ConfigMap default/old", "update status Widget default/w"}},
		{"a label is removed", decorates("new", hook.Changes{"a": nil}, nil),
			[]string{"update Widget default/w", "create ConfigMap default/new", "delete ConfigMap default/old"}},
		{"nothing differs", decorates("new", hook.Changes{"b": nil}, nil),
			[]string{"create ConfigMap default/new", "delete ConfigMap default/old"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decorateOnce(t, c.hook, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecorateWritesStatusWithoutSubresource(t *testing.T) {
	got, err := decorateOnce(t, decorates("old", nil, map[string]any{"x": int64(1)}), func(r *Reconciler, _ *plantest.Recorder) { r.binding.Parents[0].HasStatus = false })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"update Widget default/w"}, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

func TestConflictOnDecoratedParentLeavesAttachments(t *testing.T) {
	two := "2"
	got, err := decorateOnce(t, decorates("new", hook.Changes{"a": &two}, nil), func(_ *Reconciler, write *plantest.Recorder) {
		write.Fail = func(op plan.Op) error {
			return apierrors.NewConflict(schema.GroupResource{}, op.Object.GetName(), errors.New("changed"))
		}
	})
	if !errors.Is(err, kube.ErrRequeue) || len(got) != 1 || !strings.HasPrefix(got[0], "update Widget") {
		t.Errorf("operations are %v and the error %v, want one update and ErrRequeue", got, err)
	}
}

func TestEventsOfUnmarkedChildrenQueueNoDecoratedParent(t *testing.T) {
	parent := objecttest.Widget(nil)
	r := newEventReconciler(t, parent)
	r.binding.Match, r.binding.ChildAnnotations = nil, map[string]string{claim.DecoratorAnnotation: "c"}
	r.handler.onChild(nil, objecttest.ConfigMap("a", parent))
	expectQueued(t, r)
	marked := objecttest.ConfigMap("a", parent)
	marked.SetAnnotations(map[string]string{claim.DecoratorAnnotation: "c"})
	r.handler.onChild(nil, marked)
	expectQueued(t, r, "default/w")
}

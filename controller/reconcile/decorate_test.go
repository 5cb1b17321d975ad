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

// decorates is a hook that wants one attachment, of that name, and these changes of labels.
func decorates(name string, labels hook.Changes, status map[string]any) answer {
	return func(*hook.Request) (*hook.Response, error) {
		set := &object.Set{}
		set.Put(objecttest.ConfigMap(name, nil))
		return &hook.Response{Shape: hook.Decorator, Children: set, Labels: labels, Status: status}, nil
	}
}

// decorateOnce reconciles a widget, which has the attachment "old", as a DecoratorController does.
func decorateOnce(t *testing.T, ask answer, change func(*Reconciler, *plantest.Recorder)) ([]string, error) {
	t.Helper()
	parent := objecttest.Widget(func(o *object.Object) { o.SetLabels(map[string]string{"a": "1"}) })
	old := objecttest.ConfigMap("old", parent)
	old.SetAnnotations(map[string]string{claim.DecoratorAnnotation: "c"})
	stranger := objecttest.ConfigMap("stranger", parent)
	l, write := NewTestLoop(t, ask, nil, parent, old, stranger)
	l.b.Shape, l.b.Match, l.b.ChildAnnotations = hook.Decorator, nil, map[string]string{claim.DecoratorAnnotation: "c"}
	l.b.Owner = &claim.ByAnnotations{Children: l.b.Children, Annotations: l.b.ChildAnnotations}
	if change != nil {
		change(l, write)
	}
	return reconcileOnce(t, l, write)
}

func TestAnObjectIsDecoratedBeforeItsAttachments(t *testing.T) {
	two := "2"
	status := map[string]any{"x": int64(1)}
	for _, c := range []struct {
		name string
		ask  answer
		want []string
	}{
		{"a label differs", decorates("new", hook.Changes{"a": &two}, status),
			[]string{"update Widget default/w", "create ConfigMap default/new", "delete ConfigMap default/old", "update status Widget default/w"}},
		{"a label goes", decorates("new", hook.Changes{"a": nil}, nil),
			[]string{"update Widget default/w", "create ConfigMap default/new", "delete ConfigMap default/old"}},
		{"nothing differs", decorates("new", hook.Changes{"b": nil}, nil),
			[]string{"create ConfigMap default/new", "delete ConfigMap default/old"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decorateOnce(t, c.ask, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutTheSubresourceTheStatusIsWrittenWithTheRest(t *testing.T) {
	got, err := decorateOnce(t, decorates("old", nil, map[string]any{"x": int64(1)}), func(l *Reconciler, _ *plantest.Recorder) { l.b.Parents[0].HasStatus = false })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"update Widget default/w"}, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

func TestAnObjectThatChangedMeanwhileKeepsItsAttachments(t *testing.T) {
	two := "2"
	got, err := decorateOnce(t, decorates("new", hook.Changes{"a": &two}, nil), func(_ *Reconciler, write *plantest.Recorder) {
		write.Fail = func(op plan.Op) error {
			return apierrors.NewConflict(schema.GroupResource{}, op.Object.GetName(), errors.New("changed"))
		}
	})
	if !errors.Is(err, kube.ErrRequeue) || len(got) != 1 || !strings.HasPrefix(got[0], "update Widget") {
		t.Errorf("operations are %v and the error %v, want one update and to look again", got, err)
	}
}

func TestEventsOfUnmarkedChildrenAreNoDecorators(t *testing.T) {
	parent := objecttest.Widget(nil)
	l := newEventLoop(t, parent)
	l.b.Match, l.b.ChildAnnotations = nil, map[string]string{claim.DecoratorAnnotation: "c"}
	l.handler.onChild(nil, objecttest.ConfigMap("a", parent))
	expectQueued(t, l)
	marked := objecttest.ConfigMap("a", parent)
	marked.SetAnnotations(map[string]string{claim.DecoratorAnnotation: "c"})
	l.handler.onChild(nil, marked)
	expectQueued(t, l, "default/w")
}

func TestAPausedParentRests(t *testing.T) {
	asked := false
	parent := objecttest.Widget(func(o *object.Object) { o.SetAnnotations(map[string]string{pausedAnnotation: "true"}) })
	l, write := NewTestLoop(t, answer(func(*hook.Request) (*hook.Response, error) {
		asked = true
		return &hook.Response{Children: &object.Set{}}, nil
	}), nil, parent, objecttest.ConfigMap("old", parent))
	got, err := reconcileOnce(t, l, write)
	if err != nil || asked || len(got) > 0 {
		t.Errorf("asked %t, wrote %v, error %v: want nothing of it", asked, got, err)
	}
}

func TestARequestByAnnotationIsOneOnceForEachValue(t *testing.T) {
	before := objecttest.Widget(func(o *object.Object) { o.SetResourceVersion("2") })
	after := objecttest.Widget(func(o *object.Object) {
		o.SetResourceVersion("3")
		o.SetAnnotations(map[string]string{syncRequestedAnnotation: "now"})
	})
	l := newEventLoop(t, after)
	l.handler.onParent(before, after)
	if diff := cmp.Diff(map[string]string{"default/w": "request"}, queued(l)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
	again := object.Copy(after)
	again.SetResourceVersion("4")
	l.handler.onParent(after, again)
	if diff := cmp.Diff(map[string]string{"default/w": "parent"}, queued(l)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

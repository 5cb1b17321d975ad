package claim

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/plan/plantest"
)

// narrowCache returns a filled cache of the ConfigMaps with the label of generated selectors, of which the API server has none.
func narrowCache(t *testing.T) Cache {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{objecttest.ConfigMaps: "ConfigMapList"}
	caches := informer.NewFactory(fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists), slog.New(slog.DiscardHandler))
	cache := Cache{Kind: objecttest.ConfigMap("a", nil).GroupVersionKind(), Informer: caches.Open(informer.Spec{Resource: objecttest.ConfigMaps, Label: GeneratedLabel})}
	t.Cleanup(cache.Informer.Close)
	if !cache.Informer.WaitForSync(t.Context()) {
		t.Fatal("the cache did not fill")
	}
	return cache
}

func TestClaimOfChildrenThatLeft(t *testing.T) {
	parent, going := objecttest.Widget(nil), objecttest.Widget(objecttest.Deleting)
	missing := apierrors.NewNotFound(schema.GroupResource{}, "a")
	refused := apierrors.NewForbidden(schema.GroupResource{}, "a", nil)
	for _, c := range []struct {
		name   string
		parent *object.Object
		live   *object.Object // on the API server
		err    error          // of reading it
		names  []string       // of the children
		ops    []string
		noted  int    // that are still noted
		fails  string // the beginning of the error
	}{
		{name: "it has lost the label, and is released", parent: parent, live: unmatched("a", parent), ops: []string{"update ConfigMap default/a"}},
		{name: "it was deleted", parent: parent, err: missing},
		{name: "it is being deleted", parent: parent, live: objecttest.With(unmatched("a", parent), objecttest.Deleting)},
		{name: "it has the label again, so that the cache will have it", parent: parent, live: objecttest.ConfigMap("a", parent)},
		{name: "somebody else owns it", parent: parent, live: unmatched("a", stranger())},
		{name: "nobody owns it", parent: parent, live: unmatched("a", nil)},
		{name: "the parent is being deleted, so that it stays a child", parent: going, live: unmatched("a", going), names: []string{"default/a"}, noted: 1},
		{name: "it cannot be read now", parent: parent, err: context.DeadlineExceeded, noted: 1, fails: "read ConfigMap default/a, which may have lost its labels: "},
		{name: "it must not be read", parent: parent, err: refused, fails: "read ConfigMap default/a, which may have lost its labels: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			write, cache, left := &plantest.Recorder{}, narrowCache(t), &Left{}
			left.Note(object.RefOf(parent), objecttest.ConfigMap("a", parent))
			owner := &BySelector{Children: []Cache{cache}, Selector: GeneratedSelector, Left: left, GetLive: func(context.Context, *object.Object) (*object.Object, error) {
				return c.live, c.err
			}}
			set, err := owner.Claim(t.Context(), c.parent, write)
			if (err == nil) != (c.fails == "") || err != nil && !strings.HasPrefix(err.Error(), c.fails) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			var names []string
			for o := range set.All() {
				names = append(names, object.KeyOf(o).String())
			}
			if diff := cmp.Diff(c.names, names); diff != "" {
				t.Errorf("children (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.ops, write.Recorded()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if n := len(left.children(object.RefOf(parent), cache.Kind)); n != c.noted {
				t.Errorf("%d children are noted, want %d", n, c.noted)
			}
			left.Forget(object.RefOf(parent))
			if len(left.of) != 0 {
				t.Errorf("%v is not forgotten", left.of)
			}
		})
	}
}

func TestChildThatLeftIsReleasedInTheNextClaimIfTheFirstFails(t *testing.T) {
	parent := objecttest.Widget(nil)
	for name, failure := range map[string]error{
		"somebody else has changed it": apierrors.NewConflict(schema.GroupResource{}, "a", nil),
		"the API server is slow":       context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			left := &Left{}
			left.Note(object.RefOf(parent), objecttest.ConfigMap("a", parent))
			owner := &BySelector{Children: []Cache{narrowCache(t)}, Selector: GeneratedSelector, Left: left, GetLive: func(context.Context, *object.Object) (*object.Object, error) {
				return unmatched("a", parent), nil
			}}
			_, err := owner.Claim(t.Context(), parent, &plantest.Recorder{Fail: func(plan.Op) error { return failure }})
			if !errors.Is(err, failure) || kube.Outdated(failure) != errors.Is(err, kube.ErrRequeue) {
				t.Errorf("error %v of the first claim", err)
			}
			write := &plantest.Recorder{}
			if _, err := owner.Claim(t.Context(), parent, write); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{"update ConfigMap default/a"}, write.Recorded()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if len(left.of) != 0 {
				t.Errorf("%v is still noted", left.of)
			}
		})
	}
}

func TestChildThatCannotBeReadDoesNotKeepOthersFromRelease(t *testing.T) {
	parent, left, write := objecttest.Widget(nil), &Left{}, &plantest.Recorder{}
	for _, name := range []string{"a", "b", "c"} {
		left.Note(object.RefOf(parent), objecttest.ConfigMap(name, parent))
	}
	owner := &BySelector{Children: []Cache{narrowCache(t)}, Selector: GeneratedSelector, Left: left, GetLive: func(_ context.Context, o *object.Object) (*object.Object, error) {
		if o.GetName() == "b" {
			return nil, context.DeadlineExceeded
		}
		return unmatched(o.GetName(), parent), nil
	}}
	if _, err := owner.Claim(t.Context(), parent, write); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	got := slices.Sorted(slices.Values(write.Recorded()))
	if diff := cmp.Diff([]string{"update ConfigMap default/a", "update ConfigMap default/c"}, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if noted := left.of[object.RefOf(parent)]; len(noted) != 1 {
		t.Errorf("%v is still noted, want only b", noted)
	}
}

func TestChildThatIsNotedMeanwhileStaysNoted(t *testing.T) {
	parent, left := objecttest.Widget(nil), &Left{}
	first, second := objecttest.ConfigMap("a", parent), objecttest.ConfigMap("a", parent)
	left.Note(object.RefOf(parent), first)
	left.Note(object.RefOf(parent), second)
	left.remove(object.RefOf(parent), first)
	if n := len(left.children(object.RefOf(parent), first.GroupVersionKind())); n != 1 {
		t.Errorf("%d children are noted, want 1", n)
	}
}

func TestNoLeftIsEmpty(t *testing.T) {
	var left *Left
	left.Forget(object.Ref{})
	if left.children(object.Ref{}, object.Kind{}) != nil {
		t.Error("it has children")
	}
}

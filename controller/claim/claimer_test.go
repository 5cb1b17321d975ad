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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/controller/plan/plantest"
)

// unmatched is a ConfigMap of parent without that label.
func unmatched(name string, parent *object.Object) *object.Object {
	o := objecttest.ConfigMap(name, parent)
	o.SetLabels(nil)
	return o
}

// stranger is another object of the parent's kind.
func stranger() *object.Object {
	return objecttest.Widget(func(o *object.Object) { o.SetName("stranger"); o.SetUID("u9") })
}

// A claiming is what came of one Claim.
type claiming struct {
	names []string         // of the children, in order
	ops   []string         // the writes that were tried
	wrote []*object.Object // their objects
	err   error
}

// openCache returns a filled cache of these ConfigMaps.
func openCache(t *testing.T, there ...runtime.Object) Cache {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{objecttest.ConfigMaps: "ConfigMapList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objecttest.ForClient(there...)...)
	cache := Cache{Kind: object.Kind{Version: "v1", Kind: "ConfigMap"}, Informer: informer.NewFactory(client, slog.New(slog.DiscardHandler)).Open(informer.Spec{Resource: objecttest.ConfigMaps})}
	t.Cleanup(cache.Informer.Close)
	if !cache.Informer.WaitForSync(t.Context()) {
		t.Fatal("the cache did not fill")
	}
	return cache
}

// claimOnce claims the ConfigMaps there are for parent. The API server's parent is live, and fails says which
// writes it refuses.
func claimOnce(t *testing.T, parent *object.Object, live func() (*object.Object, error), fails func(plan.Op) error, objects ...*object.Object) claiming {
	t.Helper()
	var there []runtime.Object
	for _, o := range objects {
		there = append(there, o)
	}
	cache := openCache(t, there...)
	var c claiming
	write := &plantest.Recorder{Fail: func(op plan.Op) error {
		c.wrote = append(c.wrote, op.Object)
		if fails != nil {
			return fails(op)
		}
		return nil
	}}
	owner := &BySelector{Children: []Cache{cache}, Selector: GeneratedSelector, GetLive: func(context.Context, *object.Object) (*object.Object, error) { return live() }}
	set, err := owner.Claim(t.Context(), parent, write)
	c.ops, c.err = write.Recorded(), err
	for o := range set.All() {
		c.names = append(c.names, object.KeyOf(o).String())
	}
	if diff := cmp.Diff([]object.Kind{cache.Kind}, set.Kinds()); diff != "" {
		t.Errorf("groups, of which there is one for every declared kind (-want +got):\n%s", diff)
	}
	return c
}

// alive gives what a live read of o gives while it is as the cache has it.
func alive(o *object.Object) func() (*object.Object, error) {
	return func() (*object.Object, error) { return o, nil }
}

func TestClaim(t *testing.T) {
	namespaced, going := objecttest.Widget(nil), objecttest.Widget(objecttest.Deleting)
	cluster := objecttest.Widget(func(o *object.Object) { o.SetNamespace("") })
	for _, c := range []struct {
		name    string
		parent  *object.Object
		objects []*object.Object
		names   []string
		ops     []string
	}{
		{"what is owned and matches is a child", namespaced,
			[]*object.Object{objecttest.ConfigMap("b", namespaced), objecttest.ConfigMap("a", namespaced)},
			[]string{"default/a", "default/b"}, nil},
		{"nothing is there", namespaced, nil, nil, nil},
		{"an orphan that matches is adopted", namespaced,
			[]*object.Object{objecttest.Matching("b", namespaced), objecttest.ConfigMap("c", namespaced), objecttest.Matching("a", namespaced)},
			[]string{"default/a", "default/b", "default/c"},
			[]string{"update ConfigMap default/a", "update ConfigMap default/b"}},
		{"an orphan that does not match is left alone", namespaced,
			[]*object.Object{objecttest.ConfigMap("a", nil), objecttest.Matching("b", stranger())}, nil, nil},
		{"an orphan that is being deleted is left alone", namespaced,
			[]*object.Object{objecttest.With(objecttest.Matching("a", namespaced), objecttest.Deleting)}, nil, nil},
		{"an orphan in another namespace is left alone", namespaced,
			[]*object.Object{objecttest.InNamespace("other", objecttest.Matching("a", namespaced))}, nil, nil},
		{"what is owned in another namespace is left alone", namespaced,
			[]*object.Object{objecttest.InNamespace("other", objecttest.ConfigMap("a", namespaced)), objecttest.InNamespace("other", unmatched("b", namespaced))}, nil, nil},
		{"a child of somebody else is never touched, whatever its labels", namespaced,
			[]*object.Object{objecttest.With(objecttest.Matching("a", namespaced), objecttest.OwnedBy(object.ControllerRef(stranger())))}, nil, nil},
		{"what is owned and stopped matching is released", namespaced,
			[]*object.Object{objecttest.ConfigMap("a", namespaced), unmatched("b", namespaced)},
			[]string{"default/a"}, []string{"update ConfigMap default/b"}},
		{"what is owned and going is not released", namespaced,
			[]*object.Object{objecttest.With(unmatched("a", namespaced), objecttest.Deleting)}, nil, nil},
		{"what is owned and going is still a child", namespaced,
			[]*object.Object{objecttest.With(objecttest.ConfigMap("a", namespaced), objecttest.Deleting)}, []string{"default/a"}, nil},
		{"a parent that goes adopts and releases nothing, and sees all it owns", going,
			[]*object.Object{objecttest.ConfigMap("a", going), unmatched("b", going), objecttest.Matching("c", going)},
			[]string{"default/a", "default/b"}, nil},
		{"the attachment of a decorator is neither a child nor released", namespaced,
			[]*object.Object{objecttest.With(unmatched("a", namespaced), ofDecorator), objecttest.With(objecttest.ConfigMap("b", namespaced), ofDecorator)},
			[]string{"default/b"}, nil},
		{"nor is it a child of a parent that goes", going, []*object.Object{objecttest.With(unmatched("a", going), ofDecorator)}, nil, nil},
		{"a cluster-scoped parent looks in every namespace", cluster,
			[]*object.Object{objecttest.InNamespace("x", objecttest.ConfigMap("a", cluster)), objecttest.InNamespace("y", objecttest.Matching("b", cluster)), objecttest.InNamespace("z", unmatched("c", cluster))},
			[]string{"x/a", "y/b"}, []string{"update ConfigMap z/c", "update ConfigMap y/b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := claimOnce(t, c.parent, alive(c.parent), nil, c.objects...)
			if got.err != nil {
				t.Fatal(got.err)
			}
			if diff := cmp.Diff(c.names, got.names); diff != "" {
				t.Errorf("children (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.ops, got.ops); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

// ofDecorator makes an object an attachment of a DecoratorController.
func ofDecorator(o *object.Object) { o.SetAnnotations(map[string]string{DecoratorAnnotation: "d"}) }

// ref is a reference that does not control.
func ref(uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: string(uid), UID: uid}
}

func TestAdoptingAndReleasingKeepOtherReferences(t *testing.T) {
	parent := objecttest.Widget(nil)
	adopted := objecttest.With(objecttest.Matching("a", parent), objecttest.OwnedBy(ref("x")))
	released := objecttest.With(unmatched("b", parent), objecttest.OwnedBy(ref("x"), object.ControllerRef(parent), ref("y")))
	got := claimOnce(t, parent, alive(parent), nil, adopted, released)
	if got.err != nil {
		t.Fatal(got.err)
	}
	want := map[string][]metav1.OwnerReference{
		"a": {ref("x"), object.ControllerRef(parent)},
		"b": {ref("x"), ref("y")},
	}
	refs := map[string][]metav1.OwnerReference{}
	for _, o := range got.wrote {
		refs[o.GetName()] = o.GetOwnerReferences()
	}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

func TestNonControllerReferenceToParentIsReplaced(t *testing.T) {
	parent := objecttest.Widget(nil)
	plain := object.ControllerRef(parent)
	plain.Controller, plain.BlockOwnerDeletion = nil, nil
	want := []metav1.OwnerReference{ref("x"), object.ControllerRef(parent)}

	adopted := claimOnce(t, parent, alive(parent), nil, objecttest.With(objecttest.Matching("a", parent), objecttest.OwnedBy(ref("x"), plain)))
	if diff := cmp.Diff(want, adopted.wrote[0].GetOwnerReferences()); diff != "" {
		t.Errorf("references of what is adopted (-want +got):\n%s", diff)
	}
	created := objecttest.With(objecttest.ConfigMap("b", nil), objecttest.OwnedBy(ref("x"), plain))
	if err := (&BySelector{}).SetControllerReference(parent, created); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, created.GetOwnerReferences()); diff != "" {
		t.Errorf("references of what is created (-want +got):\n%s", diff)
	}
}

func TestAdoptionDoesNotChangeCache(t *testing.T) {
	parent, orphan := objecttest.Widget(nil), objecttest.Matching("a", objecttest.Widget(nil))
	cache, write := openCache(t, orphan), &plantest.Recorder{}
	owner := &BySelector{Children: []Cache{cache}, Selector: GeneratedSelector, GetLive: func(context.Context, *object.Object) (*object.Object, error) { return parent, nil }}
	if _, err := owner.Claim(t.Context(), parent, write); err != nil {
		t.Fatal(err)
	}
	cached := cache.Informer.Get(object.KeyOf(orphan))
	if refs := cached.GetOwnerReferences(); len(refs) > 0 {
		t.Errorf("the object in the cache was changed: %v", refs)
	}
}

// Before it adopts, a parent is read past the caches, once.
func TestChangedParentAdoptsNothing(t *testing.T) {
	resource := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	for _, c := range []struct {
		name string
		live *object.Object
		err  error

		lookAgain bool // nothing is wrong: newer caches will tell
		want      string
	}{
		{"it is gone", nil, apierrors.NewNotFound(resource, "w"), true, "Widget default/w"},
		{"it is another of the same name", objecttest.Widget(func(o *object.Object) { o.SetUID("u2") }), nil, true, "u2"},
		{"it is being deleted", objecttest.Widget(objecttest.Deleting), nil, true, "being deleted"},
		{"it cannot be read", nil, errors.New("no answer today"), false, "read Widget default/w before the adoption: no answer today"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent, reads := objecttest.Widget(nil), 0
			live := func() (*object.Object, error) { reads++; return c.live, c.err }
			got := claimOnce(t, parent, live, nil, objecttest.Matching("a", parent), objecttest.Matching("b", parent), unmatched("c", parent))
			if diff := cmp.Diff([]string{"update ConfigMap default/c"}, got.ops); diff != "" {
				t.Errorf("writes, of which only the release is one (-want +got):\n%s", diff)
			}
			if reads != 1 {
				t.Errorf("the parent was read %d times, want once", reads)
			}
			if got.err == nil || strings.Count(got.err.Error(), c.want) != 1 {
				t.Fatalf("got error %v, want %q in it, once", got.err, c.want)
			}
			if errors.Is(got.err, kube.ErrRequeue) != c.lookAgain {
				t.Errorf("got error %v, that it asks to look again: want %t", got.err, c.lookAgain)
			}
		})
	}
}

func TestParentIsReadOnlyForAdoption(t *testing.T) {
	parent := objecttest.Widget(nil)
	live := func() (*object.Object, error) {
		t.Error("the parent was read past the caches")
		return parent, nil
	}
	claimOnce(t, parent, live, nil, objecttest.ConfigMap("a", parent), unmatched("b", parent), objecttest.ConfigMap("c", nil))
}

func TestConflictOfAdoptionOrReleaseRequeues(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	for name, late := range map[string]error{
		"conflict":  apierrors.NewConflict(resource, "x", errors.New("it was modified")),
		"not found": apierrors.NewNotFound(resource, "x"),
	} {
		t.Run(name, func(t *testing.T) {
			parent := objecttest.Widget(nil)
			got := claimOnce(t, parent, alive(parent), func(plan.Op) error { return late },
				objecttest.ConfigMap("a", parent), objecttest.Matching("b", parent), unmatched("c", parent))
			if !errors.Is(got.err, kube.ErrRequeue) {
				t.Errorf("got error %v, want that it asks to look again", got.err)
			}
			if diff := cmp.Diff([]string{"default/a"}, got.names); diff != "" {
				t.Errorf("children (-want +got):\n%s", diff)
			}
			if len(got.ops) != 2 {
				t.Errorf("it tried %v, want one adoption and one release", got.ops)
			}
		})
	}
}

func TestFailedReleaseDoesNotStopAdoption(t *testing.T) {
	parent := objecttest.Widget(nil)
	fails := func(op plan.Op) error {
		if op.Object.GetName() == "c" {
			return errors.New("no release today")
		}
		return nil
	}
	got := claimOnce(t, parent, alive(parent), fails, objecttest.Matching("b", parent), unmatched("c", parent))
	if got.err == nil || got.err.Error() != "no release today" {
		t.Errorf("got error %v, want that of the release", got.err)
	}
	slices.Sort(got.ops)
	if diff := cmp.Diff([]string{"update ConfigMap default/b", "update ConfigMap default/c"}, got.ops); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// ErrRequeue is no failure, and must not hide one: the reconciler reports only failures.
func TestClaimReturnsAnotherErrorInPlaceOfErrRequeue(t *testing.T) {
	parent := objecttest.Widget(nil)
	fails := func(plan.Op) error { return errors.New("no release today") }
	got := claimOnce(t, parent, alive(objecttest.Widget(objecttest.Deleting)), fails, objecttest.Matching("b", parent), unmatched("c", parent))
	if got.err == nil || errors.Is(got.err, kube.ErrRequeue) {
		t.Errorf("got error %v, want that of the release alone", got.err)
	}
}

func TestMark(t *testing.T) {
	parent := objecttest.Widget(nil)
	for _, c := range []struct {
		name string
		refs []metav1.OwnerReference
		want []metav1.OwnerReference
		err  string
	}{
		{"adds the controller reference", nil, []metav1.OwnerReference{object.ControllerRef(parent)}, ""},
		{"keeps other references", []metav1.OwnerReference{ref("x")}, []metav1.OwnerReference{ref("x"), object.ControllerRef(parent)}, ""},
		{"leaves the parent's reference as it is", []metav1.OwnerReference{object.ControllerRef(parent), ref("x")},
			[]metav1.OwnerReference{object.ControllerRef(parent), ref("x")}, ""},
		{"refuses a child with another controller", []metav1.OwnerReference{object.ControllerRef(stranger())},
			[]metav1.OwnerReference{object.ControllerRef(stranger())}, "ConfigMap default/a: it names another controller, Widget stranger, in its ownerReferences"},
	} {
		t.Run(c.name, func(t *testing.T) {
			child := objecttest.With(objecttest.ConfigMap("a", nil), objecttest.OwnedBy(c.refs...))
			got := ""
			if err := (&BySelector{}).SetControllerReference(parent, child); err != nil {
				got = err.Error()
			}
			if got != c.err {
				t.Errorf("got error %q, want %q", got, c.err)
			}
			if diff := cmp.Diff(c.want, child.GetOwnerReferences()); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectorInSpecOfParent(t *testing.T) {
	for _, c := range []struct {
		name     string
		selector any // nil: there is none
		want     string
		err      string
	}{
		{"labels", map[string]any{"matchLabels": map[string]any{"app": "a"}}, "app=a", ""},
		{"expressions", map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "In", "values": []any{"a", "b"}}}}, "app in (a,b)", ""},
		{"missing", nil, "", "spec.selector is missing or empty"},
		{"empty", map[string]any{}, "", "spec.selector is missing or empty"},
		{"empty labels", map[string]any{"matchLabels": map[string]any{}}, "", "matches everything"},
		{"no operator that exists", map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "Near"}}}, "", `"Near"`},
		{"a value that is no label", map[string]any{"matchLabels": map[string]any{"app": "a b"}}, "", `"a b"`},
		{"no values", map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "In"}}}, "", "values"},
		{"text", "app=a", "", "spec.selector"},
		{"a number for a label", map[string]any{"matchLabels": map[string]any{"app": int64(1)}}, "", "spec.selector"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := objecttest.Widget(func(o *object.Object) {
				if c.selector != nil {
					_ = unstructured.SetNestedField(o.Map(), c.selector, "spec", "selector")
				}
			})
			selector, err := SpecSelector(parent)
			switch {
			case c.err == "" && err != nil:
				t.Fatal(err)
			case c.err == "" && selector.String() != c.want:
				t.Errorf("got %s, want %s", selector, c.want)
			case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), "Widget default/w: ") || !strings.Contains(err.Error(), c.err)):
				t.Errorf("got error %v, want one that names the parent and says %q", err, c.err)
			}
		})
	}
}

func TestGeneratedSelectorMatchesUIDOfParent(t *testing.T) {
	selector, err := GeneratedSelector(objecttest.Widget(nil))
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[string]bool{"u1": true, "u2": false} {
		if got := selector.Matches(labels.Set{"controller-uid": uid}); got != want {
			t.Errorf("controller-uid=%s matches: %t, want %t", uid, got, want)
		}
	}
	if selector.Matches(labels.Set{}) {
		t.Error("it matches what has no label")
	}
}

func TestInvalidSelectorClaimsNothing(t *testing.T) {
	parent := objecttest.Widget(nil)
	write := &plantest.Recorder{}
	owner := &BySelector{Selector: SpecSelector}
	if _, err := owner.Claim(t.Context(), parent, write); err == nil || len(write.Recorded()) > 0 {
		t.Errorf("got error %v and writes %v, want an error alone", err, write.Recorded())
	}
}

// Children of a rule whose parents are not controllers are found by the mark with the UID of the owner, whoever controls them, and no other
// parent adopts them. A reference that does not fit the rule is changed.
func TestOwnerThatIsNotController(t *testing.T) {
	parent, otherController := objecttest.Widget(nil), object.ControllerRef(stranger())
	plain := object.ControllerRef(parent)
	plain.Controller = nil
	marked := func(name string, uid types.UID, refs ...metav1.OwnerReference) *object.Object {
		o := objecttest.With(objecttest.Matching(name, parent), objecttest.OwnedBy(refs...))
		o.SetAnnotations(map[string]string{object.OwnerAnnotation: string(uid)})
		return o
	}
	other := plain
	other.Name, other.UID = "other", "u7"
	for _, c := range []struct {
		name    string
		plain   bool
		objects []*object.Object
		names   []string
		refs    map[string][]metav1.OwnerReference // that are written
	}{
		{"found", true, []*object.Object{marked("a", "u1", plain)}, []string{"default/a"}, nil},
		{"found, with another controller", true, []*object.Object{marked("a", "u1", otherController, plain)}, []string{"default/a"}, nil},
		{"that of another parent", true, []*object.Object{marked("a", "u7", other), marked("b", "u7", other, plain)}, nil, nil},
		{"that of another parent, for a controller", false, []*object.Object{marked("a", "u7", other)}, nil, nil},
		{"a mark without a reference", true, []*object.Object{marked("a", "u7")}, []string{"default/a"}, map[string][]metav1.OwnerReference{"a": {plain}}},
		{"adopted", true, []*object.Object{objecttest.Matching("a", parent)}, []string{"default/a"}, map[string][]metav1.OwnerReference{"a": {plain}}},
		{"that of another controller", true, []*object.Object{objecttest.With(objecttest.Matching("a", parent), objecttest.OwnedBy(otherController))}, nil, nil},
		{"was the controller before", true, []*object.Object{objecttest.ConfigMap("a", parent)}, []string{"default/a"}, map[string][]metav1.OwnerReference{"a": {plain}}},
		{"is the controller now", false, []*object.Object{marked("a", "u1", plain)}, []string{"default/a"}, map[string][]metav1.OwnerReference{"a": {object.ControllerRef(parent)}}},
		{"cannot be the controller now", false, []*object.Object{marked("a", "u1", otherController, plain)}, []string{"default/a"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var there []runtime.Object
			for _, o := range c.objects {
				there = append(there, o)
			}
			cache := openCache(t, there...)
			cache.Plain = c.plain
			refs := map[string][]metav1.OwnerReference{}
			write := &plantest.Recorder{Fail: func(op plan.Op) error {
				refs[op.Object.GetName()] = op.Object.GetOwnerReferences()
				if uid := op.Object.Annotation(object.OwnerAnnotation); (uid == "u1") != c.plain {
					t.Errorf("%s is written with the mark %q", op, uid)
				}
				return nil
			}}
			for kind, owner := range map[string]Claimer{
				"composite": &BySelector{Children: []Cache{cache}, Selector: GeneratedSelector, GetLive: func(context.Context, *object.Object) (*object.Object, error) { return parent, nil }},
				"decorator": &ByAnnotations{Children: []Cache{cache}},
			} {
				clear(refs)
				set, err := owner.Claim(t.Context(), parent, write)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for o := range set.All() {
					names = append(names, object.KeyOf(o).String())
				}
				if c.name == "adopted" || c.name == "a mark without a reference" {
					if kind == "decorator" {
						continue // it adopts nothing
					}
				}
				if diff := cmp.Diff(c.names, names); diff != "" {
					t.Errorf("%s: children (-want +got):\n%s", kind, diff)
				}
				if diff := cmp.Diff(c.refs, refs); diff != "" && len(c.refs)+len(refs) > 0 {
					t.Errorf("%s: references (-want +got):\n%s", kind, diff)
				}
			}
			for _, o := range c.objects {
				if c.plain && len(c.refs) > 0 {
					if err := (&BySelector{Children: []Cache{cache}}).SetControllerReference(parent, o); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// An existing object is taken over as the rule says: what is in it stays, and another owner's only once.
func TestTake(t *testing.T) {
	parent, otherController := objecttest.Widget(nil), object.ControllerRef(stranger())
	plain := object.ControllerRef(parent)
	plain.Controller = nil
	free := objecttest.ConfigMap("a", nil)
	free.Map()["data"] = map[string]any{"theirs": "x"}
	theirs := objecttest.With(object.Copy(free), objecttest.OwnedBy(ref("x"), otherController))
	again := object.Copy(theirs)
	again.SetAnnotations(map[string]string{TakenAnnotation: "u1"})
	marked := objecttest.With(object.Copy(free), objecttest.OwnedBy(metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "other", UID: "u7"}))
	marked.SetAnnotations(map[string]string{object.OwnerAnnotation: "u7"})
	for _, c := range []struct {
		name     string
		policy   v1alpha1.AdoptionPolicy
		plain    bool
		existing *object.Object
		refs     []metav1.OwnerReference // nil: it is not taken
	}{
		{"not set", "", false, free, nil},
		{"never", v1alpha1.AdoptNever, false, free, nil},
		{"unowned", v1alpha1.AdoptIfUnowned, false, free, []metav1.OwnerReference{object.ControllerRef(parent)}},
		{"unowned, but owned", v1alpha1.AdoptIfUnowned, false, theirs, nil},
		{"unowned, but marked", v1alpha1.AdoptIfUnowned, false, marked, nil},
		{"by force", v1alpha1.AdoptForce, false, theirs, []metav1.OwnerReference{ref("x"), object.ControllerRef(parent)}},
		{"by force, marked", v1alpha1.AdoptForce, false, marked, []metav1.OwnerReference{object.ControllerRef(parent)}},
		{"by force, again", v1alpha1.AdoptForce, false, again, nil},
		{"by force, as an owner beside the controller", v1alpha1.AdoptForce, true, theirs, []metav1.OwnerReference{ref("x"), otherController, plain}},
	} {
		rule := Cache{Adoption: c.policy, Plain: c.plain}
		if takes := rule.Takes(c.existing); takes != (c.refs != nil) {
			t.Errorf("%s: takes it: %t", c.name, takes)
			continue
		} else if !takes {
			continue
		}
		var wrote *object.Object
		write := &plantest.Recorder{Fail: func(op plan.Op) error { wrote = op.Object; return nil }}
		live := func(context.Context, *object.Object) (*object.Object, error) { return parent, nil }
		if err := rule.Take(t.Context(), parent, c.existing, objecttest.Matching("a", parent), live, write); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.refs, wrote.GetOwnerReferences()); diff != "" {
			t.Errorf("%s: references (-want +got):\n%s", c.name, diff)
		}
		if fromOther := object.OwnerOf(c.existing) != nil; (wrote.Annotation(TakenAnnotation) == "u1") != fromOther || wrote.TextAt("data", "theirs") != "x" {
			t.Errorf("%s: it writes %v", c.name, wrote.Map())
		}
		if value, _ := wrote.Label(GeneratedLabel); value != "u1" || object.OwnerOf(wrote).UID != "u1" {
			t.Errorf("%s: it is not found as a child: %v", c.name, wrote.Map())
		}
		gone := func(context.Context, *object.Object) (*object.Object, error) {
			return objecttest.Widget(objecttest.Deleting), nil
		}
		if err := rule.Take(t.Context(), parent, c.existing, objecttest.Matching("a", parent), gone, write); !errors.Is(err, kube.ErrRequeue) {
			t.Errorf("%s: for a parent that is being deleted: error %v", c.name, err)
		}
	}
}

// Server-side apply removes the annotations that are not applied any more, so that the mark of an object that was taken over is applied.
func TestMarkOfTakenObjectStays(t *testing.T) {
	parent, existing := objecttest.Widget(nil), objecttest.ConfigMap("a", objecttest.Widget(nil))
	existing.SetAnnotations(map[string]string{TakenAnnotation: "u1"})
	cache := openCache(t, existing)
	for policy, want := range map[v1alpha1.AdoptionPolicy]string{"": "", v1alpha1.AdoptForce: "u1"} {
		cache.Adoption = policy
		child := objecttest.ConfigMap("a", nil)
		if err := (&BySelector{Children: []Cache{cache}}).SetControllerReference(parent, child); err != nil || child.Annotation(TakenAnnotation) != want {
			t.Errorf("with %q the mark is %q, error %v", policy, child.Annotation(TakenAnnotation), err)
		}
	}
}

// The owner references of attachments are those of the rule of their DecoratorController, also if a CompositeController has the same parent:
// otherwise the two would write them in turns.
func TestOwnerReferencesOfAttachmentsStay(t *testing.T) {
	parent := objecttest.Widget(nil)
	plain := object.ControllerRef(parent)
	plain.Controller = nil
	attachment := objecttest.With(objecttest.Matching("a", parent), objecttest.OwnedBy(plain))
	attachment.SetAnnotations(map[string]string{object.OwnerAnnotation: "u1", DecoratorAnnotation: "d"})
	write := &plantest.Recorder{Fail: func(op plan.Op) error {
		t.Errorf("%s", op)
		return nil
	}}
	owner := &BySelector{Children: []Cache{openCache(t, attachment)}, Selector: GeneratedSelector}
	if _, err := owner.Claim(t.Context(), parent, write); err != nil {
		t.Fatal(err)
	}
}

// Annotations of a hook may be nulls, which remove those of before. They stay beside a mark.
func TestMarkKeepsNulls(t *testing.T) {
	parent, child := objecttest.Widget(nil), objecttest.ConfigMap("a", nil)
	child.Map()["metadata"].(map[string]any)["annotations"] = map[string]any{"gone": nil, "kept": "x"}
	rule := Cache{Kind: child.GroupVersionKind(), Plain: true}
	if err := (&BySelector{Children: []Cache{rule}}).SetControllerReference(parent, child); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"gone": nil, "kept": "x", object.OwnerAnnotation: "u1"}
	if got, _ := child.Field("metadata", "annotations"); !cmp.Equal(got, any(want)) {
		t.Errorf("the annotations are %v", got)
	}
}

// A child that is created by a rule with Force has the mark from the beginning: it may be in place of one that was taken over, and another
// parent would take it.
func TestCreatedChildIsNotTaken(t *testing.T) {
	parent, child := objecttest.Widget(nil), objecttest.ConfigMap("a", nil)
	rule := openCache(t)
	rule.Adoption = v1alpha1.AdoptForce
	if err := (&BySelector{Children: []Cache{rule}}).SetControllerReference(parent, child); err != nil {
		t.Fatal(err)
	}
	if rule.Takes(child) {
		t.Errorf("another parent takes %v", child.Map())
	}
}

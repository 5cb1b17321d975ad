package object

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/engine/packed"
)

func newObject(apiVersion, kind, namespace, name string) *Object {
	o := New(map[string]any{})
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func TestKeyString(t *testing.T) {
	for text, key := range map[string]Key{
		"web-0":         {Name: "web-0"},
		"default/web-0": {Namespace: "default", Name: "web-0"},
		"":              {},
	} {
		if got := key.String(); got != text {
			t.Errorf("%#v.String() = %q, want %q", key, got, text)
		}
	}
}

func TestKeyOf(t *testing.T) {
	if got, want := KeyOf(newObject("v1", "Pod", "default", "web-0")), (Key{"default", "web-0"}); got != want {
		t.Errorf("KeyOf(pod) = %v, want %v", got, want)
	}
	if got, want := KeyOf(newObject("v1", "Node", "", "n1")), (Key{Name: "n1"}); got != want {
		t.Errorf("KeyOf(node) = %v, want %v", got, want)
	}
}

func TestRefOfAnObjectThatIsGone(t *testing.T) {
	for _, of := range []*Object{newObject("example.com/v1", "Widget", "default", "w"), newObject("v1", "Node", "", "n1")} {
		content, err := packed.Pack(of.Map())
		if err != nil {
			t.Fatal(err)
		}
		there, want := content.Ref(), RefOf(of)
		ref := RefOf(OfPacked(content)).Clone()
		runtime.GC()
		if !there.To(packed.Map{}) {
			t.Errorf("the clone of the Ref keeps %v in memory", want)
		}
		if ref != want {
			t.Errorf("got %v, want %v", ref, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	if got, want := Describe(newObject("v1", "Pod", "default", "web-0")), "Pod default/web-0"; got != want {
		t.Errorf("Describe(pod) = %q, want %q", got, want)
	}
	if got, want := Describe(newObject("v1", "Node", "", "n1")), "Node n1"; got != want {
		t.Errorf("Describe(node) = %q, want %q", got, want)
	}
}

func TestCopySharesNothing(t *testing.T) {
	o := newObject("v1", "Pod", "default", "web-0")
	o.Map()["spec"] = map[string]any{"containers": []any{map[string]any{"name": "a"}}}
	c := Copy(o)
	if diff := cmp.Diff(o, c); diff != "" {
		t.Fatalf("the copy differs (-original +copy):\n%s", diff)
	}
	c.Map()["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["name"] = "b"
	c.SetName("other")
	want := map[string]any{"containers": []any{map[string]any{"name": "a"}}}
	if diff := cmp.Diff(want, o.Map()["spec"]); diff != "" || o.GetName() != "web-0" {
		t.Errorf("a change of the copy reached the original, %s (-want +got):\n%s", Describe(o), diff)
	}
}

func TestCopyValueKeepsTypesAndSharesNothing(t *testing.T) {
	original := func() any {
		return map[string]any{"i": int64(1) << 62, "f": 1.5, "s": "x", "b": true, "n": nil, "l": []any{map[string]any{}, []any{}}}
	}
	value := original()
	c := CopyValue(value).(map[string]any)
	if diff := cmp.Diff(original(), any(c)); diff != "" {
		t.Fatalf("the copy differs (-original +copy):\n%s", diff)
	}
	c["l"].([]any)[0].(map[string]any)["new"] = true
	delete(c, "i")
	if diff := cmp.Diff(original(), value); diff != "" {
		t.Errorf("a change of the copy reached the original (-want +got):\n%s", diff)
	}
}

func TestControllerOf(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		refs []metav1.OwnerReference
		want string
	}{
		"no references":         {nil, ""},
		"only plain references": {[]metav1.OwnerReference{{UID: "a"}, {UID: "b", Controller: &no}}, ""},
		"one controls":          {[]metav1.OwnerReference{{UID: "a"}, {UID: "b", Controller: &yes}}, "b"},
	} {
		o := newObject("v1", "Pod", "default", "web-0")
		o.SetOwnerReferences(c.refs)
		got := ""
		if ref := ControllerOf(o); ref != nil {
			got = string(ref.UID)
		}
		if got != c.want {
			t.Errorf("%s: the controller is %q, want %q", name, got, c.want)
		}
	}
}

func TestControllerRef(t *testing.T) {
	parent := newObject("ctl.example.com/v1", "CatSet", "default", "nginx")
	parent.SetUID("u1")
	child := newObject("v1", "Pod", "default", "nginx-0")
	child.SetOwnerReferences([]metav1.OwnerReference{ControllerRef(parent)})
	yes := true
	want := &metav1.OwnerReference{
		APIVersion: "ctl.example.com/v1", Kind: "CatSet", Name: "nginx", UID: "u1", Controller: &yes, BlockOwnerDeletion: &yes,
	}
	if diff := cmp.Diff(want, ControllerOf(child)); diff != "" {
		t.Errorf("controller reference (-want +got):\n%s", diff)
	}
}

func TestDeleting(t *testing.T) {
	o := newObject("v1", "Pod", "default", "web-0")
	if Deleting(o) {
		t.Error("an object without a deletionTimestamp counts as being deleted")
	}
	o.Map()["metadata"].(map[string]any)["deletionTimestamp"] = "2024-02-29T01:02:03Z"
	if !Deleting(o) {
		t.Error("an object with a deletionTimestamp does not count as being deleted")
	}
}

package hook

import (
	"context"
	"errors"
	"testing"

	"metascript/controller/object"
	"metascript/engine"
	"metascript/engine/tree"
)

// versioned is a request whose objects have versions, as caches give it.
func versioned(t testing.TB) *Request {
	t.Helper()
	req := newRequest(t)
	req.Controller = parseObject(t, `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: cats, uid: c1, resourceVersion: "5"}}`)
	req.Parent = parseObject(t, `{apiVersion: example.com/v1, kind: CatSet, metadata: {name: cats, namespace: default, uid: u1, resourceVersion: "7"},
		spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, uid: p1, resourceVersion: "9"}}}}`)
	for _, text := range []string{
		`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, uid: p1, resourceVersion: "9"}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: stored, namespace: default, uid: p2, resourceVersion: "10", managedFields: [{manager: x}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: unborn, namespace: default}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: metadata, namespace: default, uid: p3, resourceVersion: "11"}, uid: p1, resourceVersion: "9"}`,
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, namespace: default, uid: s1, resourceVersion: "12"}}`,
	} {
		req.Children.Put(parseObject(t, text))
	}
	req.Related = &object.Set{}
	req.Related.Put(parseObject(t, `{apiVersion: example.com/v1, kind: Zone, metadata: {name: z, uid: z1, resourceVersion: "13"}}`))
	req.Versioned = map[object.Kind]bool{podKind: true, clusterKind: true, req.Parent.GroupVersionKind(): true}
	return req
}

// field gives the map at a path.
func field(t *testing.T, m map[string]any, path ...string) map[string]any {
	t.Helper()
	for _, key := range path {
		next, ok := m[key].(map[string]any)
		if !ok {
			t.Fatalf("there is no %s of %v", key, path)
		}
		m = next
	}
	return m
}

func TestIdentifierOfObjectsInRequest(t *testing.T) {
	for _, c := range []struct {
		name string
		path []string
		want string
	}{
		{"the parent", []string{"parent"}, "u1 7"},
		{"a child", []string{"children", "Pod.v1", "a"}, "p1 9"},
		{"a related object", []string{"related", "Zone.example.com/v1", "z"}, "z1 13"},
		{"the controller is not all of its object", []string{"controller"}, "CompositeController/cats 5"},
		{"what came back from a write is not what caches hold", []string{"children", "Pod.v1", "stored"}, " "},
		{"without UID and resourceVersion", []string{"children", "Pod.v1", "unborn"}, " "},
		{"a kind in another version than the first", []string{"children", "StatefulSet.apps/v1", "s"}, " "},
		{"what a user makes look like another's object", []string{"parent", "spec", "template"}, " "},
		{"a group that a child's name makes look like an object", []string{"children", "Pod.v1"}, " "},
		{"all children", []string{"children"}, " "},
		{"a part of an object", []string{"parent", "metadata"}, " "},
		{"the request", nil, " "},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := versioned(t)
			id, version := req.identifier("CompositeController/cats")(tree.GoMap(field(t, encode(req, V1), c.path...)))
			if got := id + " " + version; got != c.want {
				t.Errorf("it is named %q, want %q", got, c.want)
			}
		})
	}
}

func TestNoIdentifiersOffline(t *testing.T) {
	req := versioned(t)
	req.Versioned = nil // files may hold two objects with one UID
	identify := req.identifier("c")
	for _, o := range []map[string]any{req.Parent.Map(), req.Children.Get(podKind, object.Key{Namespace: "default", Name: "a"}).Map()} {
		if id, version := identify(tree.GoMap(o)); id != "" || version != "" {
			t.Errorf("%v is named %s %s", o["kind"], id, version)
		}
	}
}

func TestIdentifierAllocatesNothing(t *testing.T) {
	req := versioned(t)
	identify := req.identifier("c")
	child := req.Children.Get(podKind, object.Key{Namespace: "default", Name: "a"}).Map()
	for name, m := range map[string]map[string]any{"the parent": req.Parent.Map(), "a child": child, "the controller": req.Controller.Map()} {
		if n := testing.AllocsPerRun(100, func() { identify(tree.GoMap(m)) }); n > 0 {
			t.Errorf("naming %s allocates %v times", name, n)
		}
	}
}

func TestScriptCallHasOwnerAndExplainedError(t *testing.T) {
	s := script(t, `{children: []}`)
	s.Owner = "CompositeController/cats"
	s.Program.(*program).call = func(_ context.Context, _ string, arg map[string]any, env engine.Env) (map[string]any, error) {
		if id, _ := env.Identify(tree.GoMap(arg["controller"].(map[string]any))); env.Owner != s.Owner || id != s.Owner {
			t.Errorf("it is called for %q, and the controller is %q", env.Owner, id)
		}
		return nil, errors.New("too much")
	}
	req := versioned(t)
	if _, err := s.Call(t.Context(), req); err == nil || err.Error() != "too much" {
		t.Errorf("got error %v", err)
	}
	s.Explain = func(err error) error { return errors.New(err.Error() + ", as I said") }
	if _, err := s.Call(t.Context(), req); err == nil || err.Error() != "too much, as I said" {
		t.Errorf("got error %v, want it explained", err)
	}
}

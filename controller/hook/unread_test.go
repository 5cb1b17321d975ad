package hook

import (
	"context"
	"testing"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/engine"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// reading returns a script that reads a field of its parent and answers without children.
func reading(t *testing.T, shape Shape, path ...string) *Script {
	t.Helper()
	s := script(t, `{}`)
	s.Program.(*program).call = func(_ context.Context, _ string, arg map[string]any, _ engine.Env) (map[string]any, error) {
		var v any = arg[shape.parent()]
		for _, key := range path {
			m, ok := v.(tree.Map)
			if !ok {
				break
			}
			v, _ = m.Get(key)
		}
		if m, ok := v.(tree.Map); ok && len(path) == 0 {
			packed.Whole(m)
		}
		return map[string]any{shape.children(): []any{}}, nil
	}
	return s
}

// packedParent makes the parent of a request one of a cache, with a spec and labels.
func packedParent(t *testing.T, req *Request) *Request {
	t.Helper()
	req.Parent = objecttest.Packed(t, parseObject(t, `{apiVersion: example.com/v1, kind: CatSet, metadata: {name: cats, namespace: default, uid: u1, labels: {a: b}}, spec: {replicas: 3}, status: {ready: 1}}`))
	return req
}

const unreadSpec = `in sync: the answer has no children, so that all 2 are deleted, and the script has read nothing of the spec of the parent: is that meant?`

func TestDeletionForNothingThatWasRead(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		read  []string
		want  string
	}{
		{Composite, []string{"metadata", "name"}, unreadSpec},
		{Composite, []string{"status", "ready"}, unreadSpec},
		{Composite, []string{"spec"}, unreadSpec},
		{Composite, []string{"spec", "replicass"}, unreadSpec}, // is not there
		{Composite, []string{"metadata", "labels", "a"}, unreadSpec},
		{Composite, []string{"spec", "replicas"}, ""},
		{Composite, nil, ""},
		{Decorator, []string{"metadata", "name"}, `in sync: the answer has no attachments, so that all 2 are deleted, and the script has read nothing of the labels, the annotations and the spec of the object: is that meant?`},
		{Decorator, []string{"metadata", "labels", "a"}, ""},
		{Decorator, []string{"spec", "replicas"}, ""},
	} {
		for name, recorder := range map[string]*object.Recorder{"no Recorder": nil, "a Recorder": {}, "a Recorder of the parent": {OnlyParent: true}} {
			req := packedParent(t, observing(t, newRequest(t), "a", "b"))
			req.Shape, req.Recorder = c.shape, recorder
			if got := textOfError(ask(t, reading(t, c.shape, c.read...), req).Unread); got != c.want {
				t.Errorf("%s, reading %v with %s:\n got %s\nwant %s", c.shape, c.read, name, got, c.want)
			}
		}
	}
}

func TestNoWarningAboutDeletion(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"one child": func(req *Request) { req.Children = &object.Set{}; observing(t, req, "a") },
		"a child that is being deleted": func(req *Request) {
			req.Children = &object.Set{}
			observing(t, req, "a")
			req.Children.Put(parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: default, deletionTimestamp: "2026-01-02T03:04:05Z"}}`))
		},
		"finalizing":                func(req *Request) { req.Finalizing = true },
		"reads are not recorded":    func(req *Request) { req.Recorder = &object.Recorder{Whole: true} },
		"the parent is of no cache": func(req *Request) { req.Parent = object.Copy(req.Parent) },
		"no spec": func(req *Request) {
			req.Parent = objecttest.Packed(t, parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: u1}, data: {a: b}}`))
		},
	} {
		req := packedParent(t, observing(t, newRequest(t), "a", "b"))
		change(req)
		if got := ask(t, reading(t, Composite, "metadata", "name"), req).Unread; got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	req := packedParent(t, observing(t, newRequest(t), "a", "b"))
	if got := ask(t, script(t, `{children: [{apiVersion: v1, kind: Pod, metadata: {name: c}}]}`), req).Unread; got != nil {
		t.Errorf("another child: %v", got)
	}
	if got := ask(t, answerWith(t, 200, `{"children": []}`), req).Unread; got != nil {
		t.Errorf("a webhook: %v", got)
	}
}

func textOfError(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

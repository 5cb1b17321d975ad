package remember

import (
	"testing"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/ownership"
	"metascript/controller/plan"
)

// changed returns a later version of an object, as a cache has it.
func changed(t *testing.T, o *object.Object, change func(*object.Object)) *object.Object {
	t.Helper()
	later := o.DeepCopy()
	later.SetResourceVersion(o.GetResourceVersion() + "0")
	if change != nil {
		change(later)
	}
	return objecttest.Packed(t, later)
}

func setting(path ...any) func(*object.Object) {
	return func(o *object.Object) {
		m, last := o.Map(), len(path)-2
		for _, key := range path[:last] {
			inner, _ := m[key.(string)].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				m[key.(string)] = inner
			}
			m = inner
		}
		m[path[last].(string)] = path[last+1]
	}
}

// Which changes of a child lead to another plan with the same answer, which wants the data of a ConfigMap.
func TestUsesOfChildren(t *testing.T) {
	child := objecttest.With(objecttest.ConfigMap("a", objecttest.Widget(nil)), func(o *object.Object) {
		o.SetResourceVersion("1")
		o.SetAnnotations(map[string]string{plan.LastApplied: `{"data":{"k":"v"},"immutable":true}`})
		o.Map()["data"] = map[string]any{"k": "v"}
	})
	for _, c := range []struct {
		name   string
		change func(*object.Object)
		want   bool // the plan is the same
	}{
		{"nothing but the version", nil, true},
		{"the generation", setting("metadata", "generation", int64(5)), true},
		{"a status", setting("status", "ready", true), true},
		{"a field that nobody wants", setting("binaryData", "x", "y"), true},
		{"a field that is wanted", setting("data", "k", "w"), false},
		{"another key of it", setting("data", "l", "w"), false},
		{"a field that was applied before", setting("immutable", true), false},
		{"a label", setting("metadata", "labels", "x", "y"), false},
		{"an annotation", setting("metadata", "annotations", "x", "y"), false},
		{"a finalizer", setting("metadata", "finalizers", []any{"x"}), false},
		{"the deletion", setting("metadata", "deletionTimestamp", "2026-01-01T00:00:00Z"), false},
		{"no owner", func(o *object.Object) { o.SetOwnerReferences(nil) }, false},
		{"another UID", setting("metadata", "uid", "another"), false},
	} {
		u := usesOf(someResponse(nil), nil, false)
		if got := u.sameChild(objecttest.Packed(t, child), changed(t, child, c.change)); got != c.want {
			t.Errorf("%s: the plan is the same: %t", c.name, got)
		}
	}
	if usesOf(someResponse(nil), nil, false).sameChild(child, child.DeepCopy()) {
		t.Error("objects that are not packed are compared")
	}
}

// Fields that are not desired of one kind may be desired of another.
func TestUsesOfEachKind(t *testing.T) {
	pod := objecttest.ParseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: p, resourceVersion: "1"}, spec: {a: 1}}`)
	secret := objecttest.ParseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, resourceVersion: "1"}, data: {}}`)
	desired := &object.Set{}
	desired.Put(pod)
	desired.Put(secret)
	u := usesOf(&hook.Response{Children: desired}, nil, false)
	for _, c := range []struct {
		o      *object.Object
		change func(*object.Object)
		want   bool
	}{
		{pod, setting("spec", "a", int64(2)), false},
		{pod, setting("data", "a", "b"), true},
		{secret, setting("data", "a", "b"), false},
		{secret, setting("spec", "a", int64(2)), true},
		{objecttest.ConfigMap("of no answer", nil), setting("data", "a", "b"), true}, // it is deleted, whatever is in it
	} {
		if got := u.sameChild(objecttest.Packed(t, c.o), changed(t, c.o, c.change)); got != c.want {
			t.Errorf("%s: the plan is the same: %t", object.Describe(c.o), got)
		}
	}
}

// The stringData of a Secret is its data.
func TestUsesOfStringData(t *testing.T) {
	desired := &object.Set{}
	desired.Put(objecttest.ParseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}`))
	u := usesOf(&hook.Response{Children: desired}, nil, false)
	secret := objecttest.ParseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, resourceVersion: "1"}, data: {a: Yg==}}`)
	if u.sameChild(objecttest.Packed(t, secret), changed(t, secret, setting("data", "a", "Yw=="))) {
		t.Error("the plan is the same")
	}
}

// Which changes of a parent, that the script has not read, are of no importance for the server.
func TestUsesOfParents(t *testing.T) {
	value := "x"
	none := func(*hook.Response) {}
	status := func(r *hook.Response) { r.Status = map[string]any{"a": "b"} }
	labels := func(r *hook.Response) { r.Labels = hook.Changes{"a": &value} }
	for _, c := range []struct {
		name       string
		answer     func(*hook.Response)
		customized bool
		before     func(*object.Object)
		change     func(*object.Object)
		ours       bool
		want       bool
	}{
		{"the spec", status, true, nil, setting("spec", "x", "y"), false, true},
		{"the selector", none, false, setting("spec", "selector", map[string]any{"matchLabels": map[string]any{"a": "b"}}), setting("spec", "selector", map[string]any{"matchLabels": map[string]any{"a": "c"}}), false, false},
		{"a selector that appears", none, false, nil, setting("spec", "selector", map[string]any{"matchLabels": map[string]any{"a": "c"}}), false, false},
		{"a status that nobody compares", none, false, nil, setting("status", "x", "y"), false, true},
		{"the status", status, false, nil, setting("status", "x", "y"), false, false},
		{"the status that was wanted", status, false, nil, setting("status", "x", "y"), true, true},
		{"a status with observedGeneration", none, false, setting("status", "observedGeneration", int64(1)), setting("status", "x", "y"), false, false},
		{"an observedGeneration that appears", none, false, nil, setting("status", "observedGeneration", int64(1)), false, false},
		{"the generation", none, false, nil, setting("metadata", "generation", int64(9)), false, true},
		{"the generation, with a status", status, false, nil, setting("metadata", "generation", int64(9)), false, false},
		{"the generation, with a customize hook", none, true, nil, setting("metadata", "generation", int64(9)), false, false},
		{"no generation, with a customize hook", none, true, setting("metadata", "generation", int64(0)), setting("spec", "x", "y"), false, false},
		{"an annotation", none, false, nil, setting("metadata", "annotations", "x", "y"), false, true},
		{"a label", status, true, nil, setting("metadata", "labels", "x", "y"), false, true},
		{"a label, with labels in the answer", labels, false, nil, setting("metadata", "labels", "x", "y"), false, false},
		{"an annotation, with labels in the answer", labels, false, nil, setting("metadata", "annotations", "x", "y"), false, false},
		{"a finalizer", none, false, nil, setting("metadata", "finalizers", []any{"x"}), false, false},
		{"the deletion", none, false, nil, setting("metadata", "deletionTimestamp", "2026-01-01T00:00:00Z"), false, false},
		{"an owner", none, false, nil, setting("metadata", "ownerReferences", []any{}), false, false},
	} {
		parent := objecttest.Widget(c.before)
		var answer hook.Response
		c.answer(&answer)
		u := usesOf(&answer, parent, c.customized)
		if got := u.sameParent(objecttest.Packed(t, parent), changed(t, parent, c.change), c.ours); got != c.want {
			t.Errorf("%s: it is of no importance: %t", c.name, got)
		}
	}
}

// The fields that a field manager owns may change although the child looks the same.
func TestOwnedFieldsOfChildren(t *testing.T) {
	parent, child := objecttest.Packed(t, objecttest.Widget(nil)), objecttest.ConfigMap("a", objecttest.Widget(nil))
	now := snapshot(1, parent, objecttest.Packed(t, child))
	later := snapshot(1, parent, changed(t, child, setting("status", "x", "y")))
	for _, other := range []bool{false, true} {
		m := remembering(now, someResponse(nil), wholly(parent))
		if other {
			later.Fields = func(*object.Object) ownership.Fields { return ownership.Fields{Set: "other"} }
		}
		if holds(m, later) == other {
			t.Errorf("other fields are owned: %t; it holds: %t", other, !other)
		}
	}
}

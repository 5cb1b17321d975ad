package preview

import (
	"fmt"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/plan"
	"metascript/engine"
	"metascript/runtimes"
)

// What a script would do for 2,000 parents with two children each, all of which it would update, compared with another script.
func BenchmarkAll(b *testing.B) {
	e := engine.New(engine.Options{Runtimes: runtimes.All()})
	version := func(text string) build.Hooks {
		source := fmt.Sprintf(`
def sync(parent):
    name = parent["metadata"]["name"]
    return {"status": {"n": 2}, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name + n}, "data": {"key": %q}} for n in ["-a", "-b"]]}
`, text)
		program, err := e.Compile(b.Context(), engine.Script{Language: engine.Starlark, Entry: "a.star", Files: fstest.MapFS{"a.star": {Data: []byte(source)}}}, engine.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		return build.Hooks{Sync: &hook.Script{Program: program, Name: "a.star", Function: hook.Sync}, Scripted: true}
	}
	var objects []runtime.Object
	for i := range 2000 {
		parent := objecttest.Widget(func(o *object.Object) {
			o.SetName(fmt.Sprint("w", i))
			o.SetUID(types.UID(fmt.Sprint("uid-", i)))
		})
		objects = append(objects, parent)
		for _, n := range []string{"-a", "-b"} {
			child := objecttest.ConfigMap(parent.GetName()+n, parent)
			child.Map()["data"] = map[string]any{"key": "one"}
			objects = append(objects, child)
		}
	}
	w := newWorld(b, plan.InPlace, objects...)
	for b.Loop() {
		now, before := New(w.Binding, version("two"), &w.related, nil), New(w.Binding, version("one"), &w.related, nil)
		var s Summary
		if err := now.All(b.Context(), 2, before, s.Add); err != nil || s.Total.Updates != 4000 || s.Failed > 0 {
			b.Fatalf("error %v, %+v", err, s)
		}
		now.Close()
		before.Close()
	}
}

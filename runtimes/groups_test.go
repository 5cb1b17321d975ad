package runtimes_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/fstest"

	"metascript/engine"
	"metascript/runtimes"
)

// The error of a script that reads a group of children that does not exist names the group that was probably meant, in each language. In JavaScript
// such a group is undefined, and only the next access fails.
func TestHintForAGroupThatDoesNotExist(t *testing.T) {
	const (
		star    = "def sync(children): return {'n': len(children[%q])}"
		js      = "function sync({children}) { const group = children[%q]; return {n: group['web'] ? 1 : 0}; }"
		values  = "function sync({children}) { return {n: Object.values(children[%q]).length}; }"
		jsonnet = "{ sync(children):: {n: std.length(children[%q])} }"
	)
	names := map[string]string{
		"pods.v1": "Pod.v1", "pods": "Pod.v1", "Pod": "Pod.v1", "pod.v1": "Pod.v1", "Pods": "Pod.v1", "Pod.apps/v1": "Pod.v1",
		"deployments": "Deployment.apps/v1", "Deploymnet.apps/v1": "Deployment.apps/v1", "Deployment.v1": "Deployment.apps/v1",
	}
	for _, c := range []struct{ language, entry, script, hint string }{
		{engine.Starlark, "sync.star", star, `did you mean %[2]q?`},
		{engine.JavaScript, "sync.js", js, `children[%[1]q] is undefined: did you mean children[%[2]q]?`},
		{engine.JavaScript, "sync.js", values, `children[%[1]q] is undefined: did you mean children[%[2]q]?`},
		{engine.Jsonnet, "sync.jsonnet", jsonnet, `did you mean %[2]q?`},
	} {
		for name, meant := range names {
			e := failing(t, c.language, c.entry, fmt.Sprintf(c.script, name))
			if want := fmt.Sprintf(c.hint, name, meant); e.Hint != want {
				t.Errorf("%s, %s: hint %s, want %s", c.language, name, e.Hint, want)
			}
		}
	}
	e := failing(t, engine.JavaScript, "sync.js", fmt.Sprintf(js, "xyzzy"))
	if e.Hint != "use ?. where a field may be missing" {
		t.Errorf("nothing is similar: hint %s", e.Hint)
	}
}

// failing calls the function sync of a script with two groups of children, and returns its error.
func failing(t *testing.T, language, entry, script string) *engine.Error {
	t.Helper()
	source := engine.Script{Language: language, Entry: entry, Files: fstest.MapFS{entry: {Data: []byte(script)}}}
	program, err := runtimes.All()[language].Compile(t.Context(), source, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	children := map[string]any{"Pod.v1": map[string]any{}, "Deployment.apps/v1": map[string]any{}, "ConfigMap.v1": map[string]any{}}
	_, err = program.Call(t.Context(), "sync", map[string]any{"children": children}, engine.Env{})
	var fault *engine.Error
	if !errors.As(err, &fault) {
		t.Fatalf("%s: error %v", script, err)
	}
	return fault
}

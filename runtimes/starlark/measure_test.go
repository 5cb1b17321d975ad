package starlark

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"metascript/engine"
	"metascript/runtimes/internal/measure/measuretest"
)

var numbered = measuretest.Numbered

// A file that is too expensive to resolve is refused, with the position where it exceeds a bound.
func TestExpensiveSources(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		kind             engine.Kind
	}{
		{"parameters", "def f(\n" + numbered("a%d,", 251) + "): pass\n", "sync.star:2:1141: has more than 250 parameters in one function", engine.KindSource},
		{"parameters of a lambda", "f = lambda " + numbered("a%d,", 250) + "b: 1\n", "has more than 250 parameters", engine.KindSource},
		{"captures", "def f():\n " + numbered("a%d=1;", 2000) + "\n return " + strings.Repeat("lambda: ", 80) + "[" + numbered("a%d,", 2000) + "]\n", "uses of names from around", engine.KindSource},
		{"undefined", "x = 1\ny = [" + numbered("u%d,", 400) + "]\n" + numbered("a%d=1\n", 400), "sync.star:2:6: undefined: u0, and many names more", engine.KindSyntax},
	} {
		err := measuretest.Compile(t.Context(), New(), "sync.star", map[string]string{"sync.star": c.text})
		var fault *engine.Error
		if !errors.As(err, &fault) || fault.Kind != c.kind || fault.Hint == "" || fault.Pos.Col == 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// Files of which each is accepted are refused if they are too expensive together.
func TestExpensiveModules(t *testing.T) {
	files := map[string]string{}
	for i := range 3 {
		files[fmt.Sprintf("m%d.star", i)] = "def f():\n " + numbered("a%d=1;", 1000) + "\n return " + strings.Repeat("lambda: ", 60) + "[" + numbered("a%d,", 1000) + "]\n"
	}
	files["sync.star"] = "load('m0.star', 'f')\nload('m1.star', g='f')\n"
	if err := measuretest.Compile(t.Context(), New(), "sync.star", files); err != nil {
		t.Errorf("two files: %v", err)
	}
	files["sync.star"] += "load('m2.star', h='f')\n"
	if err := measuretest.Compile(t.Context(), New(), "sync.star", files); err == nil || !strings.Contains(err.Error(), "m2.star:3:") || !strings.Contains(err.Error(), "uses of names from around") {
		t.Errorf("three files: %v", err)
	}
}

// The error for an undefined name has a hint, also in a large file.
func TestOneUndefinedName(t *testing.T) {
	err := measuretest.Compile(t.Context(), New(), "sync.star", map[string]string{"sync.star": "def sync(parent):\n  return bananna\nbanana = 1\n" + numbered("a%d=1\n", 20_000)})
	if err == nil || !strings.Contains(err.Error(), "did you mean banana?") {
		t.Error(err)
	}
}

// Scripts like those that people and generators write are accepted.
func TestNormalSourcesAreAccepted(t *testing.T) {
	const part = `
def labels_%[1]d(name, extra = {}, app = "a"):
    "Labels of an object."
    return dict([(k, v) for k, v in extra.items() if v] + [("name", name), ("app", app)])

def children_%[1]d(parent, children):
    out = []
    for key, value in parent.get("spec", {}).items():
        if type(value) == "dict":
            out.append({"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": key, "text": "a" + key + str(value)}})
        elif key in children:
            pick = lambda x: [y for y in x if y != key and value]
            out.extend(pick(sorted(children[key].keys(), key = lambda k: len(k))))
        else:
            out.append(labels_%[1]d(name = key, extra = value, app = "%%s-%%d" %% (key, len(out))))
    return out
`
	for _, size := range []int{128 << 10, 1<<20 - 2000} {
		var b strings.Builder
		for i := 0; b.Len() < size-1000; i++ {
			fmt.Fprintf(&b, part, i)
		}
		if err := measuretest.Compile(t.Context(), New(), "sync.star", map[string]string{"sync.star": b.String()}); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

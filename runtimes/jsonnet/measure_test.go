package jsonnet

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"metascript/engine"
	"metascript/runtimes/internal/measure"
	"metascript/runtimes/internal/measure/measuretest"
)

var numbered = measuretest.Numbered

// A file that is too expensive to analyze is refused, with the position where it exceeds a bound.
func TestExpensiveSources(t *testing.T) {
	locals := "local " + numbered("a%d=1,", 3000) + "z=1; "
	for _, c := range []struct{ name, text, want string }{
		{"a sum", locals + "\n{x:: " + numbered("a%d+", 2000) + "1}", "sync.jsonnet:2:"},
		{"nested", locals + "{x:: " + strings.Repeat("[", 450) + "[" + numbered("a%d,", 3000) + "]" + strings.Repeat("]", 450) + "}", "names that are used"},
		{"scopes", locals + "{x:: [" + strings.Repeat("{},", 6000) + "]}", "names that are visible"},
		{"scopes before the names", "{x:: [" + strings.Repeat("{},", 6000) + "]," + numbered("local a%d=1,", 2000) + "}", "names that are visible"},
		{"functions", locals + "{x:: [" + strings.Repeat("function(x)x,", 6000) + "]}", "names that are visible"},
		{"methods", locals + "{x:: {" + numbered("f%d(x):: x,", 6000) + "}}", "names that are visible"},
		{"comprehensions", locals + "{x:: [" + strings.Repeat("[x for x in []],", 6000) + "]}", "names that are visible"},
		{"locals", numbered("local a%d=1;", 4000) + "{x:: [" + numbered("a%d,", 2000) + "]}", "names that are"},
		{"copies", strings.Repeat("{local a=", 100) + "[" + strings.Repeat("1,", 15_000) + "]" + strings.Repeat("}", 100), "names that are"},
		{"behind strings", locals + `{s: 'a\'(' + "b" + @'c''[' + @"d""{", t: |||` + "\n  '({[\n|||, /* ( */ # [\n x:: " + numbered("a%d+", 2000) + "1}", "sync.jsonnet:4:"},
		{"brackets", "\n" + strings.Repeat("[", 20_001), "sync.jsonnet:2:20001: has more than 20000 brackets"},
		{"operators", "\n " + strings.Repeat("- ", 20_001), "sync.jsonnet:2:40002: has more than 20000 operators in a row"},
	} {
		err := measuretest.Compile(t.Context(), New(), "sync.jsonnet", map[string]string{"sync.jsonnet": c.text})
		var fault *engine.Error
		if !errors.As(err, &fault) || fault.Kind != engine.KindSource || fault.Hint == "" || fault.Pos.Col == 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// Imports that are nested in many expressions are listed for each of these.
func TestExpensiveImports(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("m%d.libsonnet", i)] = "1"
	}
	files["sync.jsonnet"] = "{x:: " + strings.Repeat("[", 400) + numbered("import 'm%d.libsonnet',", 300) + strings.Repeat("]", 400) + "}"
	if err := measuretest.Compile(t.Context(), New(), "sync.jsonnet", files); err == nil || !strings.Contains(err.Error(), "comparisons of imports") {
		t.Error(err)
	}
}

// Scripts like those that people and generators write are accepted, and are far below the bounds.
func TestNormalSourcesAreAccepted(t *testing.T) {
	const part = `
local labels%[1]d(name, extra={}) = extra { app: name, 'part-of': "it's" },
      port%[1]d = 8000 + %[1]d;
local service%[1]d(parent, name=parent.metadata.name) = {
  local spec = parent.spec,
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: name, labels: labels%[1]d(name, std.get(spec, 'labels', {})) },
  spec: {
    ports: [{ port: p, name: 'p-%%d' %% p } for p in std.range(port%[1]d, port%[1]d + 3) if p > 0],
    [if std.objectHas(spec, 'type') then 'type']: spec.type,
    selector+: $.metadata.labels,
  },
};
`
	for _, n := range []int{100, 350} { // some 50 KB and 190 KB
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, part, i)
		}
		b.WriteString("{ sync(parent):: { children: [\n")
		for i := range n {
			fmt.Fprintf(&b, "  service%d(parent),\n", i)
		}
		text := b.String() + "] } }"
		tally := measure.Tally{}
		if err := checkSource("sync.jsonnet", text, tally); err != nil {
			t.Errorf("%d bytes: %v", len(text), err)
		}
		t.Logf("%d bytes: %v", len(text), tally[measure.Products])
		if err := measuretest.Compile(t.Context(), New(), "sync.jsonnet", map[string]string{"sync.jsonnet": text}); err != nil {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	data := "{ sync(parent):: {}, data:: {" + numbered(" 'key-%d': { a: 1, b: [true, null, 'x'], c: { d: 'text' } },\n", 4000) + "} }"
	if err := measuretest.Compile(t.Context(), New(), "sync.jsonnet", map[string]string{"sync.jsonnet": data}); err != nil {
		t.Errorf("%d bytes of data: %v", len(data), err)
	}
}

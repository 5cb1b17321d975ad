package javascript

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"metascript/engine"
	"metascript/runtimes/internal/measure/measuretest"
)

// A file that is too expensive to parse or to compile is refused, with the position where it exceeds a bound.
func TestExpensiveSources(t *testing.T) {
	rep := strings.Repeat
	for _, c := range []struct{ name, text, want string }{
		{"arrows", "\n f = " + rep("(a=", 9) + "1" + rep(")=>1", 9), "sync.js:2:69: has more than 8 arrow functions in the parameters of one another"},
		{"async arrows", "f = " + rep("async (a=", 9) + "1" + rep(")=>1", 9), "arrow functions in the parameters"},
		{"arrows of objects", "f = " + rep("({a=", 9) + "1" + rep("})=>1", 9), "arrow functions in the parameters"},
		{"behind a regular expression", "x = a / b; y = /[/\"`(]/; f = " + rep("(a=", 9) + "1" + rep(")=>1", 9), "arrow functions in the parameters"},
		{"in a template", "x = `((((${" + rep("(a=", 9) + "1" + rep(")=>1", 9) + "}`", "arrow functions in the parameters"},
		{"words", "f = " + rep("(a=", 7) + "[" + rep("1,", 10_000) + "]" + rep(")=>1", 7), "words in the parameters"},
		{"brackets", "\n\n" + rep("(", 50_001), "sync.js:3:50001: has more than 50000 brackets"},
		{"labels", rep("a:", 1001), "sync.js:1:2002: has more than 1000 labels"},
		{"scopes", rep("{", 900) + rep("a;", 20_000) + rep("}", 900), "functions and blocks around"},
		{"text", "x = " + rep("'"+rep("a", 300)+"'+", 2000) + "1", "bytes of texts added by +"},
		{"patterns", "x = [" + rep("/a{1000}/,", 600) + "]", "bytes of compiled regular expressions"},
		{"tree", "x = 1" + rep("+1", 3000), "levels of nesting"},
	} {
		err := measuretest.Compile(t.Context(), New(), "sync.js", map[string]string{"sync.js": c.text})
		var fault *engine.Error
		if !errors.As(err, &fault) || fault.Kind != engine.KindSource || fault.Hint == "" || fault.Pos.Col == 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// Files of which each is accepted are refused if they are too expensive together.
func TestExpensiveModules(t *testing.T) {
	files := map[string]string{}
	var entry strings.Builder
	for i := range 12 {
		files[fmt.Sprintf("m%d.js", i)] = strings.Repeat("{", 100) + strings.Repeat("a=1;", 10_000) + strings.Repeat("}", 100) + "var a"
		fmt.Fprintf(&entry, "require('./m%d.js');", i)
	}
	files["sync.js"] = entry.String()
	if err := measuretest.Compile(t.Context(), New(), "sync.js", files); err == nil || !strings.Contains(err.Error(), "together with the files that were required before") {
		t.Error(err)
	}
}

// Parsing ends at the deadline if the counts miss the cost of a text: here the brackets follow what may be a division.
func TestParsingIsStopped(t *testing.T) {
	for name, text := range map[string]string{
		"hidden":   "if (1) /'/;f=" + strings.Repeat("(a=", 40) + "1" + strings.Repeat(")=>1", 40) + ";'",
		"mistakes": "f=" + strings.Repeat("(a)(", 40) + "1" + strings.Repeat(").b=>1", 40),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err := measuretest.Compile(ctx, New(), "sync.js", map[string]string{"sync.js": text})
		cancel()
		var fault *engine.Error
		if !errors.As(err, &fault) || fault.Kind != engine.KindTimeout || fault.Pos.File != "sync.js" {
			t.Errorf("%s: got %v, want a timeout", name, err)
		}
	}
}

// The parser can be stopped at any position without harm.
func TestParsingCanBeStoppedAnywhere(t *testing.T) {
	text := strings.Repeat("class A extends B { static #x = `a${/[/]/g.test('b')}`; async *m({a = 1, ...b}, [c]) { for (const d of [1, , 2]) switch (d) { case 1: break; default: x?.y ?? z } } }\n", 200)
	for wait := time.Duration(0); wait < 20*time.Millisecond; wait += 100 * time.Microsecond {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, _ = parse(ctx, "sync.js", text)
		cancel()
	}
	if _, err := parse(t.Context(), "sync.js", "const x = 1"); err != nil {
		t.Error(err)
	}
}

// Scripts like those that people and generators write are accepted, and are far below the bounds.
func TestNormalSourcesAreAccepted(t *testing.T) {
	part := `
/** Labels of a thing: "it's" what // comments say. */
const defaults%[1]d = ({name, spec: {replicas = 1, ports = [], labels = {}} = {}}, make = (p, i = 0) => ({port: p, name: ` + "`p-${i}`" + `})) => ({
  metadata: {name: ` + "`${name}-%[1]d`" + `, labels: {...labels, app: name}},
  ports: ports.map((p, i) => make(p, i)).filter(({port}) => port > 0 && !/^(a|b)+$/.test(String(port))),
  replicas: replicas / 2 > 1 ? Math.max(...[1, 2]) : 1,
});
function children%[1]d({parent, children}) {
  const out = [];
  for (const [key, value] of Object.entries(parent.spec ?? {})) {
    if (typeof value === 'object') {
      out.push({apiVersion: 'v1', kind: 'ConfigMap', data: {key, text: 'a' + key + "b" + value.text + ` + "`c${value.x ? `d${key}` : ''}`" + `}});
    } else {
      try { out.push(defaults%[1]d({name: key, spec: value}, async (a) => await a)); } catch (e) { console.warn(e.message); }
    }
  }
  return out.reduce((all, one) => { all[one.kind] = (all[one.kind] || 0) + 1; return all; }, {});
}
`
	for _, size := range []int{128 << 10, 1<<20 - 2000} {
		files := map[string]string{}
		var entry strings.Builder
		for i, n := 0, 0; n < size-2000; i++ {
			var b strings.Builder
			for k := 0; b.Len() < min(200<<10, size-2000-n); k++ {
				fmt.Fprintf(&b, part, i*1000+k)
			}
			n += b.Len() + 40
			files[fmt.Sprintf("m%d.js", i)] = b.String()
			fmt.Fprintf(&entry, "require('./m%d.js');\n", i)
		}
		files["sync.js"] = entry.String() + "function sync({parent}) { return {children: []} }"
		if err := measuretest.Compile(t.Context(), New(), "sync.js", files); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

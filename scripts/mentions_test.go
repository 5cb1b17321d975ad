package scripts

import (
	"fmt"
	"strings"
	"testing"

	"metascript/engine"
)

func TestMentions(t *testing.T) {
	for _, c := range []struct {
		language, text string
		want           string // what is loaded with a + before it, then !, if everything may be
	}{
		{engine.Starlark, `load("a.star", "a")`, "+a.star"},
		{engine.Starlark, "load(  # why\n  'lib/a.star',\n 'a')", "+lib/a.star"},
		{engine.Starlark, `load(r"a.star", "a")`, "+a.star"},
		{engine.Starlark, `load("""a.star""", "a")`, "a.star !"},
		{engine.Starlark, `load("\x61.star", "a")`, "!"},
		{engine.Starlark, `load(# it's "quoted"` + "\n" + `"a.star", "a")`, "+a.star"},
		{engine.Starlark, `x = "b.star" # don't` + "\ny = 'c.star'", "b.star c.star"},
		{engine.Starlark, `# load what you need, or load()`, ""},
		{engine.Starlark, `require(x); import "x.star"`, "x.star"},
		{engine.Starlark, `x = {"kind": "Pod", "spec": {}}`, ""},
		{engine.JavaScript, `require('./a'); require("b.json") ; require(` + "`c/d.js`" + `)`, "+./a +b.json +c/d.js"},
		{engine.JavaScript, `require /* it */ ( 'a' )`, "+a"},
		{engine.JavaScript, `require('a', 1)`, "+a"},
		{engine.JavaScript, `require('./' + name)`, "./ !"},
		{engine.JavaScript, "require(`./${name}.js`)", "./${name}.js !"},
		{engine.JavaScript, `require(name)`, "!"},
		{engine.JavaScript, `const r = require; r('./a.js')`, "./a.js !"},
		{engine.JavaScript, "const r = require\nr('./a.js')", "./a.js !"},
		{engine.JavaScript, `[require][0]('./a.js')`, "./a.js !"},
		{engine.JavaScript, `require("\u0061.js")`, "!"},
		{engine.JavaScript, `// we require that it works; required, requires`, ""},
		{engine.JavaScript, `require('fs').x; const s = 'it\'s'`, "+fs"},
		{engine.Jsonnet, `local a = import 'a.libsonnet', b = importstr "b.txt"; importbin @'c.bin'`, "+a.libsonnet +b.txt +c.bin"},
		{engine.TypeScript, `import {a} from "./a"; import "./b.js"; import type {C} from './c'; const d = require("d.ts")`, "+./a +./b.js +./c +d.ts"},
		{engine.TypeScript, "require(name)", "!"},
		{engine.Jsonnet, `import /* x */ "a.libsonnet"`, "+a.libsonnet"},
		{engine.Jsonnet, `import @"a""b.libsonnet"`, "b.libsonnet !"},
		{engine.Jsonnet, `import "a\u002elibsonnet"`, "!"},
		{engine.Jsonnet, `import /*` + strings.Repeat("x", maxArgument) + `*/ "a.libsonnet"`, "a.libsonnet !"},
		{engine.Jsonnet, `# important: do not import anything`, ""},
	} {
		found, everything := mentions(c.language, c.text)
		var got []string
		for _, m := range found {
			if m.direct {
				m.name = "+" + m.name
			}
			got = append(got, m.name)
		}
		if everything {
			got = append(got, "!")
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s: got %q, want %q", c.language, c.text, text, c.want)
		}
	}
}

// A text that is designed to take much time does not.
func TestMentionsAreLimited(t *testing.T) {
	size := 1 << 18
	if testing.Short() {
		size = 1 << 15
	}
	many := strings.Builder{}
	for i := 0; many.Len() < size; i++ {
		fmt.Fprintf(&many, "'./%d", i)
	}
	for _, language := range []string{engine.Starlark, engine.JavaScript, engine.Jsonnet} {
		for _, text := range []string{"load(/*", "require(", "require if ", "require/*", "import/*", "import ", "load(", "load('a'", `"'`, "import\n"} {
			mentions(language, strings.Repeat(text, size/len(text)))
		}
		if found, _ := mentions(language, many.String()); len(found) > 2*maxMentions {
			t.Errorf("%s: found %d", language, len(found))
		}
	}
}

func FuzzMentions(f *testing.F) {
	f.Add(`load("a.star")require('b')import 'c'`, "a.star")
	f.Fuzz(func(t *testing.T, before, name string) {
		if name == "" || len(name) > 100 || strings.ContainsAny(name, "\"\n\\") || !strings.ContainsAny(name, "./") || strings.Count(before, `"`) > 100 {
			t.Skip()
		}
		for language, load := range map[string]string{engine.Starlark: "load(", engine.JavaScript: "require(", engine.Jsonnet: "import "} {
			found, everything := mentions(language, before+"\n"+load+`"`+name+`",1)`)
			for _, m := range found {
				everything = everything || m.name == name
			}
			if !everything {
				t.Errorf("%s: %q is not found after %q", language, name, before)
			}
		}
	})
}

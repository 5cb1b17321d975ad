package runtimes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"metascript/engine"
	"metascript/runtimes"
)

// A difference is a class of expressions whose values differ from those of the reference implementation. The documentation lists
// each with an example.
type difference struct {
	example string
	differs func(expression, here, there string) bool
}

// failed is what an expression has in place of a value if it fails.
const failed = "an error"

var references = []struct {
	language, file string
	script         string // with %s for an expression
	differences    []difference
}{
	{engine.Starlark, "starlark", "def sync():\n    return {\"v\": %s}\n", []difference{
		{`repr("abc")`, func(_, here, there string) bool {
			return strings.ReplaceAll(strings.ReplaceAll(here, `\"`, "'"), `\\v`, `\\x0b`) == there
		}},
		{`str(float(4294967296))`, sameNumber},
		{`"%g" % 123456789.125`, expressions(`^"%g" % `)},
		{`str((1.0) // (0.1))`, expressions(`\) // \(`)},
		{`str((0.0) % (-2.5))`, func(_, here, there string) bool { return here == `"0.0"` && there == `"-0.0"` }},
		{`str((1) / (9007199254740993))`, expressions(`^str\(\(.*9007199254740993.*\)`)},
		{`str(int("5_0"))`, fails(`^str\(int\(`)},
		{`str(float("1e400"))`, fails(`^str\(float\("`)},
		{`len("é")`, expressions(`^len\("|\[::-1\]$|\[1:\]$|\[-2:\]$|^".*[^ -~].*"\.r?find\(|-len\(str\(y\)\)`)},
		{`"naïve Straße".upper()`, expressions(`^"[^ -~a-z]*.*"\.(upper|lower|title|capitalize|is[a-z]+)\(\)$`)},
		{`"x\u2028y".splitlines()`, expressions(`splitlines`)},
		{`str((lambda x: max(x))([1, 1.0, True]))`, expressions(`True`)},
		{`str((lambda x: len(x))({1: 'x', 1.0: 'y'}))`, fails(`\{1: 'x', 1\.0: 'y'\}`)},
		{`str((lambda x: x.popitem())({'b': 1, 'a': 2}))`, expressions(`popitem`)},
	}},
	{engine.Jsonnet, "jsonnet", "{ sync():: { v: (%s) } }", []difference{
		{`local x = 26.01; std.toString(x)`, func(expression, here, there string) bool {
			return strings.ReplaceAll(strings.ReplaceAll(there, "26.010000000000002", "26.01"), "0.10000000000000001", "0.1") == here
		}},
		{`local x = 1e-7; std.manifestYamlDoc(x)`, expressions(`1e-7`)},
		{`'%5s' % 0.1`, expressions(`^'%5s' % `)},
		{`(1e16) + (7)`, fails(`(1e16|1e22|9007199254740992|123456789\.125)`)},
		{`local x = 'é'; std.base64(x)`, expressions(`std\.base64`)},
		{`local x = '-12'; std.escapeStringXML(x)`, expressions(`escapeStringXML`)},
		{`'%g' % 0`, expressions(`g' % 0$`)},
		{`std.parseYaml('- 1\n- yes\n- 2.5')`, expressions(`^std\.parseYaml`)},
		{`local x = '\u0001\u0085"'; std.manifestJson(x)`, expressions(`u0085.*manifestJson`)},
		{`local x = {}; std.uniq(x)`, fails(`\{.*std\.(uniq|sort|set|setUnion|reverse)\(`)},
	}},
}

// sameNumber reports whether both are the same number, in other words.
func sameNumber(_, here, there string) bool {
	x, err := strconv.ParseFloat(strings.Trim(here, `"`), 64)
	y, wrong := strconv.ParseFloat(strings.Trim(there, `"`), 64)
	return err == nil && wrong == nil && x == y
}

// expressions is for a difference of all expressions that match.
func expressions(pattern string) func(expression, here, there string) bool {
	of := regexp.MustCompile(pattern)
	return func(expression, _, _ string) bool { return of.MatchString(expression) }
}

// fails is for a difference of expressions that fail here.
func fails(pattern string) func(expression, here, there string) bool {
	of := regexp.MustCompile(pattern)
	return func(expression, here, _ string) bool { return here == failed && of.MatchString(expression) }
}

// The builtins have the values that the files in testdata/references have, but for the differences that scripts.md lists.
func TestReferences(t *testing.T) {
	listed := listedDifferences(t)
	scripts := engine.New(engine.Options{Runtimes: runtimes.All()})
	for _, r := range references {
		t.Run(r.file, func(t *testing.T) {
			seen := map[string][2]string{}
			for _, a := range answersIn(t, r.file) {
				here := valueOf(t, scripts, r.language, fmt.Sprintf(r.script, a.expression))
				if here == a.value {
					continue
				}
				seen[a.expression] = [2]string{here, a.value}
				if !known(r.differences, a.expression, here, a.value) {
					t.Errorf("%s: got %s, and the reference has %s", a.expression, here, a.value)
				}
			}
			for _, d := range r.differences {
				if got, ok := seen[d.example]; !ok || got != listed[d.example] {
					t.Errorf("%s: got %q, and scripts.md has %q", d.example, got, listed[d.example])
				}
				delete(listed, d.example)
			}
		})
	}
	for example := range listed {
		t.Errorf("scripts.md has %s, which is no difference", example)
	}
}

func known(all []difference, expression, here, there string) bool {
	for _, d := range all {
		if d.differs(expression, here, there) {
			return true
		}
	}
	return false
}

// An answer is the value of an expression, as JSON.
type answer struct{ expression, value string }

// answersIn returns the answers of a reference implementation.
func answersIn(t *testing.T, name string) (all []answer) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "references", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var fields []any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		a := answer{fields[0].(string), failed}
		if len(fields) > 1 {
			a.value = asJSON(t, fields[1])
		}
		all = append(all, a)
	}
	if len(all) < 1000 {
		t.Fatalf("there are only %d answers", len(all))
	}
	return all
}

// valueOf returns the field v of the answer of a script.
func valueOf(t *testing.T, scripts *engine.Engine, language, text string) string {
	t.Helper()
	s := engine.Script{Language: language, Entry: "sync", Files: fstest.MapFS{"sync": {Data: []byte(text)}}}
	p, err := scripts.Compile(t.Context(), s, engine.Limits{})
	if err != nil {
		return failed
	}
	got, err := p.Call(t.Context(), "sync", nil, engine.Env{})
	if err != nil {
		return failed
	}
	return asJSON(t, got["v"])
}

// asJSON returns a value as JSON, with all numbers in the same form.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	var same any
	if err := json.Unmarshal(b.Bytes(), &same); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(v, same) {
		return asJSON(t, same)
	}
	return strings.TrimSpace(b.String())
}

// row matches a difference in scripts.md.
var row = regexp.MustCompile("(?m)^\\| (?:Starlark|Jsonnet) \\| `(.+?)` \\| (?:`(.+?)`|an error) \\| (?:`(.+?)`|an error) \\|")

// listedDifferences returns the values here and there of the expressions in the table of scripts.md.
func listedDifferences(t *testing.T) map[string][2]string {
	t.Helper()
	text, err := os.ReadFile("../docs/scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string][2]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		values := [2]string{failed, failed}
		for i := range values {
			if m[i+2] != "" {
				values[i] = m[i+2]
			}
		}
		listed[m[1]] = values
	}
	return listed
}

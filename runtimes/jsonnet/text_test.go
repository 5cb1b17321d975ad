package jsonnet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gojsonnet "github.com/google/go-jsonnet"

	"metascript/engine"
)

// A number has as few digits as needed, whatever writes it.
func TestNumbersInTexts(t *testing.T) {
	for expr, want := range map[string]string{
		`std.toString(26.01)`:                                     "26.01",
		`'x' + 26.01`:                                             "x26.01",
		`26.01 + 'x'`:                                             "26.01x",
		`'%s' % 26.01`:                                            "26.01",
		`'%(a)s' % { a: [26.01] }`:                                "[26.01]",
		`'' + [26.01, { a: 26.01, b: 'é"' }]`:                     `[26.01, {"a": 26.01, "b": "é\""}]`,
		`'' + [[], {}, null, true, -0.5]`:                         `[[ ], { }, null, true, -0.5]`,
		`std.escapeStringJson(26.01)`:                             `"26.01"`,
		`std.manifestPython({ a: 26.01 })`:                        `{"a": 26.01}`,
		`std.manifestToml({ a: 26.01 })`:                          "a = 26.01",
		`std.manifestXmlJsonml(['a', { b: 26.01 }])`:              `<a b="26.01"></a>`,
		`std.manifestIni({ sections: { a: { b: [26.01, 1] } } })`: "[a]\nb = 26.01\nb = 1\n",
		`std.manifestYamlDoc({ a: 26.01 })`:                       `"a": 26.01`,
		`std.toString(0.1 + 0.2)`:                                 "0.30000000000000004",
		`std.toString(1e-7)`:                                      "1e-07",
		`std.toString(0.0001)`:                                    "0.0001",
		`std.toString(123456789.125)`:                             "123456789.125",
		`std.toString(1e23)`:                                      "99999999999999991611392",
		`std.toString(-0.0)`:                                      "-0",
	} {
		got, err := call(t, `{ sync():: { v: `+expr+` } }`, nil, engine.Env{})
		if err != nil || got["v"] != want {
			t.Errorf("%s: got %q, %v, want %q", expr, got["v"], err, want)
		}
	}
}

// Texts are those of the interpreter, but for fractions.
func TestTextsMatchTheInterpreter(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		value := literal(random, 4)
		for _, expr := range []string{`std.toString(%s)`, `'' + %s`, `std.escapeStringJson(%s)`, `std.manifestTomlEx({ a: %[1]s, c: %[1]s }, '  ')`, `std.manifestTomlEx(%s, '\t')`} {
			expr = fmt.Sprintf(expr, value)
			text, wrong := gojsonnet.MakeVM().EvaluateAnonymousSnippet("", expr)
			got, err := call(t, `{ sync():: { v: `+expr+` } }`, nil, engine.Env{})
			if (err != nil) != (wrong != nil) {
				t.Fatalf("%s: %v, go-jsonnet: %v", expr, err, wrong)
			}
			if wrong != nil {
				continue
			}
			var want any
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got["v"]); diff != "" {
				t.Fatalf("%s: want -, got +\n%s", expr, diff)
			}
		}
	}
}

// literal returns the source of a random value without fractions.
func literal(random *rand.Rand, depth int) string {
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	var parts []string
	for range random.IntN(4) * min(depth, 1) {
		parts = append(parts, literal(random, depth-1))
	}
	switch random.IntN(4) {
	case 0:
		return pick(`null`, `true`, `1`, `-12`, `1e21`, `'a b'`, `'é\u0001\u0085"\n'`, `''`, `0.5`, `function(x) x`, `1`, `2`, `'x'`, `false`)
	case 1:
		return "[" + strings.Join(parts, ", ") + "]"
	case 2:
		for i := range parts {
			parts[i] = fmt.Sprintf("{ a: %d, '': %s }", i, parts[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	for i := range parts {
		parts[i] = fmt.Sprintf("%q: %s", pick("a", "b c", "é", "d-e", "_9")+strings.Repeat("x", i), parts[i])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Numbers in texts that are parsed are never rounded.
func TestParsedNumbers(t *testing.T) {
	for expr, want := range map[string]any{
		`std.parseJson('9007199254740993')`:                int64(9007199254740993),
		`std.parseJson('{"a": [-9007199254740993]}').a[0]`: int64(-9007199254740993),
		`std.parseYaml('a: 9007199254740993').a`:           int64(9007199254740993),
		`std.parseYaml('---\na: 0x20000000000001\n')[0].a`: int64(9007199254740993),
		`std.parseJson('[1, 2.5, 1e3]')`:                   []any{int64(1), 2.5, int64(1000)},
		`std.parseJson('"\\ud83d\\ude00"')`:                "😀",
		`std.parseYaml('')`:                                nil,
		`std.parseYaml('# c')`:                             nil,
		`std.parseYaml('- 1\n- yes\n- 0o7')`:               []any{int64(1), true, int64(7)},
		`std.parseYaml('--- 1\n---\n--- 3')`:               []any{int64(1), nil, int64(3)},
		`std.parseYaml('a: |\n  ---\n')`:                   map[string]any{"a": "---\n"},
		`std.type(std.parseJson('1'))`:                     "number",
		`std.parseJson('{"a": 1}') { b: self.a + 1 }`:      map[string]any{"a": int64(1), "b": int64(2)},
	} {
		got, err := call(t, `{ sync():: { v: `+expr+` } }`, nil, engine.Env{})
		if diff := cmp.Diff(want, got["v"]); err != nil || diff != "" {
			t.Errorf("%s: %v %s", expr, err, diff)
		}
	}
	for expr, wants := range map[string][]string{
		`std.parseJson('9007199254740993') + 1`:              {"the integer 9007199254740993 (the result of std.parseJson) is beyond 2^53"},
		`std.parseJson('[1,\n  18446744073709551616]')`:      {"std.parseJson: line 2, column 3: the whole number 18446744073709551616 is beyond 64 bits", "have it as a string"},
		`std.parseJson('[1e999]')`:                           {"std.parseJson: line 1, column 2: the number 1e999 is too large"},
		`std.parseJson('[1,]')`:                              {"std.parseJson: line 1, column 4: "},
		`std.parseYaml('a:\n- 123456789012345678901234567')`: {"std.parseYaml: line 2: the whole number 123456789012345678901234567 is beyond 64 bits"},
		`std.parseYaml('a: 1\na: 2')`:                        {`std.parseYaml: line 2: the key "a" is there twice`},
		`std.parseYaml({})`:                                  {"got an object, want a string"},
	} {
		_, err := call(t, `{ sync():: { v: `+expr+` } }`, nil, engine.Env{})
		fault(t, err, engine.KindRuntime, wants...)
	}
}

// What is parsed at the top level of a file is evaluated in each call.
func TestParseAtTheTop(t *testing.T) {
	p := compile(t, `local data = std.parseJson(importstr 'data.json'); { sync():: { v: data.n } }`, "data.json", `{"n": 9007199254740993}`)
	for range 2 {
		if got, err := p.Call(context.Background(), "sync", nil, engine.Env{}); err != nil || got["v"] != int64(9007199254740993) {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

package javascript

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"metascript/engine"
)

// Where the answers differ from those of Node.js: each example is a row of the table in docs/scripts.md, and each pattern matches the
// source and the answer of all cases for which the row is the reason.
var differences = map[string]string{
	`'\ud83d'.trim()`:                                   `(?:toLowerCase|toUpperCase|toLocaleUpperCase|trim|normalize)\(.*\tthrows TypeError$`,
	`JSON.parse('"\\ud800"')`:                           `JSON.*\\u?[dD][89c][0-9a-f]{2}.*\tthrows (?:SyntaxError|TypeError)$`,
	`JSON.parse('1e400')`:                               `JSON\.parse\('-?1e400'`,
	`'\u019b'.toUpperCase()`:                            `u019b|length: 464.*toUpperCase`,
	`(0.5).toLocaleString('en-US', {style: 'percent'})`: `(?:toLocale\w+|localeCompare)\(.*\tthrows TypeError$`,
	`String(new Date(0))`:                               `\(UTC\)`,
	`new Date('2020-001')`:                              `2020-001|01 DEC 0099`,
	`1e21 >>> 0`:                                        `^return \(\(?(?:1e21|123456789012345680000)\)? ?(?:\||>>>)`,
	`1 < 2 < 3`:                                         `1 < 2 < 3`,
	`parseInt('123456789012345678901234567890')`:        `parseInt\('(?:-0|\d{20,})|\d{17,}\)\.toString\(|e\+\d+\)\.toString\(`,
	`Math.tan(1)`:                                       `Math\.(?:sin|cos|tan|cbrt)\(`,
	`[].slice.call({length: 2, 0: 1})`:                  `slice\.call\(`,
	`'abc'.anchor('x')`:                                 `anchor|getYear|toGMTString`,
	`typeof Intl`:                                       `typeof [\w.]+\)\t"undefined"|new Proxy`,
	`typeof 1n`:                                         `\b1n\b`,
	`/^.$/v.test('a')`:                                  `/[vd]\.test|'a', '[vd]'`,
	`/\p{Script_Extensions=Greek}/u.test('a')`:          `Script_Extensions|XID_Start`,
	`[...'a\ud83d\ude00'.matchAll(/\B/gu)].map(m => m.index)`: `\\ud83d.*\\B.*'[a-z]*u[a-z]*'|/\\B/gu`,
}

// tableRow matches a row of the table.
var tableRow = regexp.MustCompile("(?m)^\\| `(.+?)` \\| `(.+?)` \\| `(.+?)` \\| .+ \\|$")

// The built-in functions answer as those of Node.js, except for what the manual lists.
func TestBuiltins(t *testing.T) {
	data, err := os.ReadFile("testdata/builtins/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string][][2]string{}
	if err := json.Unmarshal(data, &groups); err != nil {
		t.Fatal(err)
	}
	reasons, hits, n := patternsOfDifferences(), map[string]int{}, 0
	answers := map[string][2]string{}
	for name, cases := range groups {
		for batch := range slices.Chunk(cases, 64) {
			for i, got := range answersTo(t, batch) {
				n++
				source, want := batch[i][0], batch[i][1]
				if name == "examples" {
					answers[source] = [2]string{want, got}
				}
				if got != want && !explained(reasons, hits, source+"\t"+got) {
					t.Errorf("%s: %s\nNode.js %s\nhere    %s", name, source, want, got)
				}
			}
		}
	}
	for example := range differences {
		if hits[example] == 0 {
			t.Errorf("nothing differs any more for this reason: %s", example)
		}
	}
	if n < 6000 {
		t.Errorf("only %d cases", n)
	}
	checkTable(t, answers)
}

func patternsOfDifferences() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for example, text := range differences {
		all[example] = regexp.MustCompile(text)
	}
	return all
}

// explained reports whether there is a reason for a difference, and counts it.
func explained(reasons map[string]*regexp.Regexp, hits map[string]int, difference string) (found bool) {
	for example, pattern := range reasons {
		if pattern.MatchString(difference) {
			hits[example]++
			found = true
		}
	}
	return found
}

// checkTable checks that the manual has the same examples, with these answers.
func checkTable(t *testing.T, answers map[string][2]string) {
	manual, err := os.ReadFile("../../docs/scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(manual), "\n### Differences from Node.js\n")
	section, _, _ = strings.Cut(section, "\n#")
	rows := tableRow.FindAllStringSubmatch(section, -1)
	if len(rows) != len(differences) {
		t.Errorf("the manual has %d rows, want %d", len(rows), len(differences))
	}
	for _, row := range rows {
		example := row[1]
		if _, ok := differences[example]; !ok {
			t.Errorf("the manual lists what no case has: %s", example)
		}
		source := example
		if !strings.HasPrefix(source, "const ") {
			source = "return (" + source + ")"
		}
		got := answers[source]
		if strings.HasPrefix(got[1], "refused") {
			got[1] = "refused"
		}
		if got[0] != row[2] || got[1] != row[3] || got[0] == got[1] {
			t.Errorf("%s: the manual says %s and %s, but the answers are %s and %s", example, row[2], row[3], got[0], got[1])
		}
	}
}

// answersTo returns what the bodies of functions return, as a text. Each is called in the same script; if that does not compile or is
// stopped, in a script of its own.
func answersTo(t *testing.T, cases [][2]string) []string {
	t.Helper()
	show, err := os.ReadFile("testdata/builtins/show.js")
	if err != nil {
		t.Fatal(err)
	}
	script := string(show) + "\nconst cases = ["
	for _, c := range cases {
		script += "() => {" + c[0] + "},\n"
	}
	script += `]
		const answer = f => { try { return show(f()) } catch (e) { return 'throws ' + e.name } }
		exports.sync = () => ({all: cases.map(answer)})`
	got, err := call(t, script, nil, engine.Limits{})
	var fault *engine.Error
	switch {
	case err == nil:
	case errors.As(err, &fault) && len(cases) == 1:
		return []string{"refused: " + fault.Msg}
	default:
		half := len(cases) / 2
		return append(answersTo(t, cases[:half]), answersTo(t, cases[half:])...)
	}
	var all []string
	for _, v := range got["all"].([]any) {
		all = append(all, v.(string))
	}
	return all
}

// Node.js 20, whose answers are in testdata, does not have these functions. The languages are those that do not need Intl.
func TestNewerBuiltins(t *testing.T) {
	for source, want := range map[string]string{
		"Object.groupBy([1, 2, 3], x => x % 2 ? 'odd' : 'even')": `{"odd": [1, 3], "even": [2]}`,
		"Object.groupBy('aab', x => x)":                          `{"a": ["a", "a"], "b": ["b"]}`,
		"Object.getPrototypeOf(Object.groupBy([], x => x))":      "null",
		"Object.groupBy([1, 2], () => '__proto__')":              `{"__proto__": [1, 2]}`,
		"Object.groupBy(null, x => x)":                           "throws TypeError",
		"Object.groupBy([1])":                                    "throws TypeError",
		"Object.keys(Object)":                                    "[]",
		"Object.groupBy.name + Object.groupBy.length":            `"groupBy2"`,
		"structuredClone.name + structuredClone.length":          `"structuredClone1"`,
		"Object.keys(String.prototype)":                          "[]",
		"new Set([1, 2]).union(new Set([3]))":                    "Set[1, 2, 3]",
		"new Set([1, 2]).intersection(new Set([2]))":             "Set[2]",
		"new Set([1, 2]).difference(new Set([2]))":               "Set[1]",
		"new Set([1, 2]).symmetricDifference(new Set([2, 3]))":   "Set[1, 3]",
		"new Set([1]).isSubsetOf(new Set([1, 2]))":               "true",

		// Languages.
		"'I'.toLocaleLowerCase('de')":                        `"i"`,
		"'I'.toLocaleLowerCase('tr-TR')":                     "throws TypeError",
		"'a'.localeCompare('B', 'en-GB')":                    "-1",
		"'a'.localeCompare('b', 'en', {numeric: true})":      "throws TypeError",
		"'a'.localeCompare('b', 'sv')":                       "throws TypeError",
		"'a'.localeCompare('b', undefined, undefined)":       "-1",
		"(1234.5).toLocaleString('en-US')":                   `"1,234.5"`,
		"new Date(0).toLocaleDateString(undefined)":          `"1/1/1970"`,
		"(-1234567.0005).toLocaleString()":                   `"-1,234,567.001"`,
		"(999.9996).toLocaleString() + (0).toLocaleString()": `"1,0000"`,
	} {
		if got := answersTo(t, [][2]string{{"return " + source}}); got[0] != want {
			t.Errorf("%s: got %s, want %s", source, got[0], want)
		}
	}
}

package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"metascript/engine"
	"metascript/scripts/lib"
)

var plain = Names{Max: 10, More: func(n int) string { return fmt.Sprint(n, " more") }}

func TestFind(t *testing.T) {
	files := fstest.MapFS{"a/b.x": {}, "c.x": {}, "own.x": {}}
	for _, c := range []struct{ name, want string }{
		{"b.x", "a/b.x"}, {"c.x", "c.x"}, {"./c.x", ""}, {"c", "c.x"}, {"lib.x", Library}, {"own.x", "own.x"}, {"../c.x", ""},
	} {
		file, found := Find(files, "a/from.x", c.name, []string{"lib.x", "own.x"}, "", ".x")
		if found != (c.want != "") || found && file != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, file, found, c.want)
		}
	}
}

func TestChain(t *testing.T) {
	c := Chain{"a", "b", "c"}
	if got := c.Cycle("b"); got != "b -> c -> b" {
		t.Errorf("got %q", got)
	}
	if got := c.Cycle("d"); got != "" {
		t.Errorf("got %q for a file that is not in the chain", got)
	}
	files := fstest.MapFS{"a": {}, "b": {}, "x": {}, "y": {}}
	if got := c.Loadable(files, "loaded", "lib"); got != "files that can be loaded: x, y; lib is built in" {
		t.Errorf("got %q", got)
	}
	if got := c.Loadable(fstest.MapFS{"a": {}}, "loaded", "lib"); got != "the script has no other files: put the file beside it; lib is built in" {
		t.Errorf("got %q", got)
	}
}

func TestReadFile(t *testing.T) {
	files := fstest.MapFS{"a": {Data: []byte("\ufefftext\ufeff")}}
	if text, err := ReadFile(files, "a"); err != nil || text != "text\ufeff" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := ReadFile(files, "b"); err == nil {
		t.Error("no error for a file that does not exist")
	}
}

func TestNames(t *testing.T) {
	many := strings.Fields(strings.Repeat("x ", maxListed+2))
	quoted := Names{Max: 10, Quoted: true, Dollar: true}
	for _, c := range []struct{ got, want string }{
		{plain.List(many), strings.Repeat("x, ", maxListed) + "2 more"},
		{plain.List([]string{"abcdefghijklm"}), "abcdefg…"},
		{plain.Quote(`a"`), `"a\""`},
		{plain.Suggest("snyc", []string{"sync"}, "it has "), "did you mean sync?"},
		{quoted.Suggest("snyc", []string{"sync"}, "it has "), `did you mean "sync"?`},
		{plain.Suggest("x", []string{"sync", "finalize"}, "it has "), "it has sync, finalize"},
		{plain.Suggest("x", nil, "it has "), "it has nothing"},
		{quoted.DidYouMean("pods", []string{"ConfigMap.v1", "Pod.v1"}), `did you mean "Pod.v1"?`},
		{quoted.DidYouMean("Pod", []string{"ConfigMap.v1", "Pod.v1"}), `did you mean "Pod.v1"?`},
		{plain.DidYouMean("pods.v1", []string{"ConfigMap.v1", "Pod.v1"}), `did you mean "Pod.v1"?`},
		{plain.DidYouMean("jobs", []string{"Job.b/v1", "Pod.v1"}), `did you mean "Job.b/v1"?`},
		{plain.DidYouMean("secrets", []string{"ConfigMap.v1", "Pod.v1"}), ""},
		{plain.Field("", "a"), "a"}, {plain.Field("a", "b_1"), "a.b_1"}, {plain.Field("a", "1b"), `a["1b"]`},
		{plain.Field("a", "$b"), `a["$b"]`}, {quoted.Field("a", "$b"), "a.$b"}, {plain.Field("a", "ä"), `a["ä"]`}, {plain.Field("a", ""), `a[""]`},
		{Element("a", 2), "a[2]"},
		{plain.NoFunction("f", "g", nil, "write one").Error(), `f: the script defines no function "g" (write one)`},
		{plain.NoFunction("f", "snyc", []string{"sync"}, "write one").Error(), `f: the script defines no function "snyc" (did you mean sync?)`},
		{plain.UnknownParameters(engine.Pos{}, []string{"x", "parnet"}, []string{"x", "parnet"}, []string{"parent"}).Error(), "the request has no x, parnet; its fields are parent (did you mean parent?)"},
		{LibraryError(fmt.Errorf("in: %w", &lib.Error{Msg: "m", Hint: "h"})).Error(), "m (h)"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if LibraryError(errors.New("other")) != nil {
		t.Error("another error was converted like one of the library")
	}
}

func TestTakesWhole(t *testing.T) {
	arg := map[string]any{"parent": 1, wholeName: 2}
	for name, want := range map[string]bool{"parent": false, wholeName: true, "other": true} {
		if TakesWhole(name, arg) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}

func TestAt(t *testing.T) {
	for offset, want := range map[int]string{0: "f:1:1", 2: "f:1:2", 3: "f:1:3", 4: "f:2:1", 5: "f:2:2"} {
		if got := At("f", "äb\nc", offset).String(); got != want {
			t.Errorf("%d: got %s, want %s", offset, got, want)
		}
	}
}

func TestScanner(t *testing.T) {
	for _, c := range []struct {
		text, rest string
		read       func(*Scanner) bool
		want       bool
	}{
		{`"a\"b"c`, "c", func(s *Scanner) bool { return s.Quoted("") }, true},
		{`"a\`, "", func(s *Scanner) bool { return s.Quoted("") }, false},
		{"'a\nb'", "\nb'", func(s *Scanner) bool { return s.Quoted("\n") }, false},
		{"// a\nb", "b", (*Scanner).Comment, true},
		{"/* a */b", "b", (*Scanner).Comment, true},
		{"/*/b", "", (*Scanner).Comment, true},
		{"/a", "/a", (*Scanner).Comment, false},
		{"a_1 b", " b", func(s *Scanner) bool { return s.Word(Letter) == "a_1" }, true},
	} {
		s := &Scanner{Text: c.text}
		if got := c.read(s); got != c.want || s.Rest() != c.rest || s.Done() != (c.rest == "") {
			t.Errorf("%q: got %v, and %q is left", c.text, got, s.Rest())
		}
	}
}

// TestExplain checks where a mistake is searched, in sources that no table of a language has.
func TestExplain(t *testing.T) {
	table := NewMistakes([]string{"#"}, []Mistake{
		{"bad", `(\w|ü)(?P<at>&&)`, "no && after $1", "write and"},
		{"", `\|\|`, "", "write or"},
	})
	long := strings.Repeat("ü", 1<<20)
	for _, c := range []struct {
		text, msg string
		line, col int
		want      string
	}{
		{"a\nx&&y", "bad", 2, 2, "f:2:2: no && after x (write and)"},
		{"x&&y", "good", 1, 2, "f:1:2: good"},
		{"x&&y z", "bad", 1, 6, "f:1:6: bad"},
		{"'x&&y' z # x&&y", "bad", 1, 3, "f:1:3: bad"},
		{"'x z && x&&y\nx&&y", "bad", 2, 3, "f:2:2: no && after x (write and)"},
		{"a || b", "other", 1, 3, "f:1:3: other (write or)"},
		{"a", "bad", 9, 9, "f:9:9: bad"},
		{"", "bad", 0, 0, "f: bad"},
		{long + "x&&y" + long, "bad", 1, 1<<20 + 2, "f:1:1048578: no && after x (write and)"},
		{"\xff\xffx&&y\xff", "bad", 1, 4, "f:1:4: no && after x (write and)"},
	} {
		e := &engine.Error{Pos: engine.Pos{File: "f", Line: c.line, Col: c.col}, Msg: c.msg}
		if table.Explain(e, c.text); e.Error() != c.want {
			t.Errorf("%.20q: got %s, want %s", c.text, e, c.want)
		}
	}
}

// TestWrongLanguage checks that a file with something of its own language is never said to be in another one.
func TestWrongLanguage(t *testing.T) {
	for _, c := range []struct{ language, text, want string }{
		{engine.Starlark, "const x = 1\ndef sync(parent): # the hook\n", ""},
		{engine.Starlark, "POD = {\n  'kind': nul,\n}\n", ""},
		{engine.Starlark, "'''\nkind: Pod\n'''\ndef sync(\n    parent):\n", ""},
		{engine.JavaScript, "def f(x):\nfunction sync({a: b}) {\n", ""},
		{engine.JavaScript, "function sync({parent: {spec}, children: c}) {\n", ""},
		{engine.JavaScript, "const text = `\nkind: Pod\n`\n", ""},
		{engine.TypeScript, "const x = 1", ""},
		{engine.Jsonnet, "{ sync(parent): { } }", ""},
		{engine.Jsonnet, `{ "a": 1 "b" }`, ""},
		{engine.Jsonnet, "const x = 1;\n{\n  sync(parent):: {},\n}", ""},
		{engine.Starlark, "", ""},
		{engine.Starlark, "# it\n\nfunction sync(x) {\n", "f:3:1: this looks like JavaScript, and the language of the script is Starlark (set language: JavaScript)"},
	} {
		e := &engine.Error{Pos: engine.Pos{File: "f"}}
		if WrongLanguage(e, c.text, c.language) != (c.want != "") || c.want != "" && e.Error() != c.want {
			t.Errorf("%s %q: got %s, want %q", c.language, c.text, e, c.want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct{ stack, want string }{
		{"", ""}, {"a", "a"}, {"aab", "a a b"}, {"aaab", "3a b"}, {"abababc", "3a 3b c"}, {"xabcabcabcy", "x 3a 3b 3c y"},
		{"abcdefghijklmnopqrstuvwxyz", "a b c d e f g h i j k l m n o p q r s t"},
	} {
		var got []string
		for _, call := range Fold([]byte(test.stack)) {
			shown := string(call.Call)
			if call.Times > 0 {
				shown = strconv.Itoa(call.Times) + shown
			}
			got = append(got, shown)
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.stack, got, test.want)
		}
	}
}

// TestVisible checks which words of a text may be names at a place, which is the ⟨ in it.
func TestVisible(t *testing.T) {
	table := NewMistakes([]string{"//"}, nil)
	for text, want := range map[string]string{
		"const a = 1; function f({b}, c) { ⟨ } // d":              "const a function f b c",
		"function f(x) { let y }; ⟨ const z = o.p":                "function f x const z o",
		"f((x) => { let y; ⟨ }); const o = {k: v, w}":             "f x let y const o v w",
		"'s' + `t ${u}` + /r\"/ + \"q\"; if (a) { b } else { ⟨ }": "if a else",
		"{ { { ⟨":  "",
		"} } ) ⟨a": "a",
	} {
		before, after, _ := strings.Cut(text, "⟨")
		if got := strings.Join(table.Visible(before+after, len(before)), " "); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestUnclosed checks which bracket an error in the place of ⟨ is about.
func TestUnclosed(t *testing.T) {
	table := NewMistakes([]string{"//"}, []Mistake{{"", `.?`, NotClosed, ""}})
	for text, want := range map[string]string{
		"f(\n  [1, 2⟨)":                     "f:2:3: [ is not closed (write ] at its end)",
		"f(\n  {\n    a\n)⟨":                "f:2:3: { is not closed (write } at its end)",
		"{\n  a: {\n    b\n}\n⟨":            "f:2:6: { is not closed (write } at its end: the } in line 4 is indented less, as if it closed another bracket)",
		"x = (1 +\n⟨y = 2\nz":               "f:1:5: ( is not closed (write ) at its end, before line 2)",
		"('(' /* ( */ + /[(]/ + // (\n 1)⟨": "f:2:4: bad",
		"x = `a(⟨":                          "f:1:5: ` is not closed (write ` at its end)",
		")))⟨":                              "f:1:4: bad",
	} {
		before, after, _ := strings.Cut(text, "⟨")
		e := &engine.Error{Pos: At("f", before+after, len(before)), Msg: "bad"}
		if table.Explain(e, before+after); e.Error() != want {
			t.Errorf("%s: got %s, want %s", text, e, want)
		}
	}
	// Neither many brackets in one line nor deep nesting takes long.
	for _, text := range []string{strings.Repeat("(", 1<<20), strings.Repeat("()", 1<<19), strings.Repeat("{\n}", 1<<19)} {
		e := &engine.Error{Pos: engine.Pos{File: "f", Line: 1, Col: 1 << 20}, Msg: "bad"}
		table.Explain(e, text)
		table.Visible(text, len(text))
	}
}

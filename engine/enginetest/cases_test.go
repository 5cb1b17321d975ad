package enginetest

import (
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"metascript/engine"
)

// TestTestdata checks that there are enough cases, and that exactly one subtest runs each entry file of each archive. parseCase checks
// that each case is in three languages. Scripts in JavaScript are also run as TypeScript.
func TestTestdata(t *testing.T) {
	cases, err := loadCases(testdata())
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 60 {
		t.Errorf("only %d cases", len(cases))
	}
	run := map[string]int{} // by case and entry
	for _, c := range cases {
		for language, s := range c.scripts {
			if language != engine.TypeScript {
				run[c.name+"/"+s.Entry]++
			}
		}
	}
	for _, name := range entries(t) {
		if run[name] != 1 {
			t.Errorf("%s is run %d times", name, run[name])
		}
		delete(run, name)
	}
	for name := range run {
		t.Errorf("%s is run, but is not an entry", name)
	}
}

// entries returns the entry files of all archives. It finds them by their names, and does not use the parser of the suite.
func entries(t *testing.T) []string {
	var names []string
	files, err := fs.Glob(testdata(), "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(testdata(), file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(data).Files {
			if strings.HasPrefix(path.Base(f.Name), "sync.") {
				names = append(names, strings.TrimSuffix(file, ".txtar")+"/"+f.Name)
			}
		}
	}
	return names
}

// only is a comment for cases in one language.
const only = "What holds.\nonly: js: this is a test.\n"

// everything is a case with every kind of file and mark.
const everything = `What holds.
-- request.json --
{"n": 1, "f": 1.0}
-- limits --
timeout: 50ms
depth: 7
-- function --
finalize
-- functions --
finalize sync
-- app/sync.star --
load("lib.star", "f")
return f()  # FRAME 2 sync
-- app/lib.star --
# FRAME 1
x  # ERROR Runtime|Raised: "a \"b\"" col=3
-- sync.js --
⟪bom⟫# ERROR is no mark in JavaScript
⟪repeat 3 "x"⟫
-- want.js.json --
{"a": 1}
-- log.js.txt --
info sync.js:1 a
...
-- data.txt --
for all
-- sync.jsonnet --
{}
-- lib.libsonnet --
{}
-- error.jsonnet --
Result|Output not .* this
`

func TestParseCase(t *testing.T) {
	c, err := parseCase("x", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	checkStarlark(t, c.scripts[engine.Starlark])
	js, jsonnet := c.scripts[engine.JavaScript], c.scripts[engine.Jsonnet]
	if got, _ := fs.ReadFile(js.Files, "sync.js"); string(got) != "\ufeff# ERROR is no mark in JavaScript\nxxx\n" {
		t.Errorf("expanded: %q", got)
	}
	if js.want.answer != "{\"a\": 1}\n" || js.want.fault != nil || !slices.Equal(js.want.messages, []string{"info sync.js:1 a", "..."}) {
		t.Errorf("JavaScript: %+v", js.want)
	}
	if f := jsonnet.want.fault; f == nil || f.pos != (engine.Pos{}) || f.message.String() != "(?s)not .* this" {
		t.Errorf("Jsonnet: %+v", f)
	}
}

// checkStarlark checks the Starlark script in the archive of TestParseCase.
func checkStarlark(t *testing.T, s *script) {
	t.Helper()
	if s.Entry != "app/sync.star" || s.function != "finalize" || s.limits != (engine.Limits{Timeout: 50 * time.Millisecond, Depth: 7}) {
		t.Errorf("settings: %s %s %+v", s.Entry, s.function, s.limits)
	}
	var files []string
	for _, name := range []string{"app/sync.star", "app/lib.star", "data.txt", "sync.js", "lib.libsonnet", "want.js.json", "limits"} {
		if _, err := fs.Stat(s.Files, name); err == nil {
			files = append(files, name)
		}
	}
	if want := []string{"app/sync.star", "app/lib.star", "data.txt"}; !slices.Equal(files, want) {
		t.Errorf("files: got %q, want %q", files, want)
	}
	fault := s.want.fault
	if want := (engine.Pos{File: "app/lib.star", Line: 2, Col: 3}); fault.pos != want {
		t.Errorf("position: got %s, want %s", fault.pos, want)
	}
	if want := []engine.Kind{"Runtime", "Raised"}; !slices.Equal(fault.kinds, want) || !fault.message.MatchString(`an a "b" c`) {
		t.Errorf("fault: %+v", fault)
	}
	frames := []frame{{1, "", "app/lib.star", 1}, {2, "sync", "app/sync.star", 2}}
	if !reflect.DeepEqual(s.want.frames, frames) {
		t.Errorf("frames: got %v, want %v", s.want.frames, frames)
	}
	if want := []string{"finalize", "sync"}; !slices.Equal(s.want.functions, want) {
		t.Errorf("functions: got %q, want %q", s.want.functions, want)
	}
}

func TestParseCaseReturnsErrors(t *testing.T) {
	js := "-- sync.js --\nx\n"
	for name, test := range map[string]struct{ text, want string }{
		"no comment":         {js, "what is tested"},
		"no expectation":     {only + js, "no want.json"},
		"missing language":   {"About.\n" + js + "-- want.json --\n{}\n", "Starlark"},
		"no reason":          {"About.\nonly: js:\n" + js + "-- want.json --\n{}\n", "no reason"},
		"needless only":      {only + js + "-- want.json --\n{}\n-- sync.star --\nx\n", "Starlark"},
		"two entries":        {only + js + "-- a/sync.js --\nx\n", "both entries"},
		"same file twice":    {only + js + js, "two files sync.js"},
		"unused file":        {only + js + "-- want.json --\n{}\n-- lib.star --\n", "lib.star is used by no"},
		"needless answer":    {only + "-- sync.js --\nx // ERROR Runtime: \"x\"\n-- want.json --\n{}\n", "want.json is used by no"},
		"unused answer":      {only + js + "-- want.json --\n{}\n-- want.star.json --\n{}\n", "want.star.json is used by no"},
		"unknown kind":       {only + "-- sync.js --\nx // ERROR Oops: \"x\"\n", "Oops"},
		"panic wanted":       {only + "-- sync.js --\nx // ERROR Panic: \"x\"\n", "Panic"},
		"no regexp":          {only + "-- sync.js --\nx // ERROR Runtime: x\n", "regular expression"},
		"bad regexp":         {only + "-- sync.js --\nx // ERROR Runtime: \"(\"\n", "missing closing"},
		"bad column":         {only + "-- sync.js --\nx // ERROR Runtime: \"x\" column 3\n", "col=N"},
		"two marks":          {only + "-- sync.js --\nx // ERROR Runtime: \"x\"\ny // ERROR Runtime: \"x\"\n", "already"},
		"mark and answer":    {only + "-- sync.js --\nx // ERROR Runtime: \"x\"\n-- want.js.json --\n{}\n", "contradict"},
		"answer and error":   {only + js + "-- want.json --\n{}\n-- error --\nRuntime x\n", "contradict"},
		"bad request":        {only + js + "-- want.json --\n{}\n-- request.json --\n[]\n", "request.json"},
		"two answers":        {only + js + "-- want.json --\n{} {}\n", "after the object"},
		"unknown limit":      {only + js + "-- want.json --\n{}\n-- limits --\ntime: 1s\n", "no such limit"},
		"bad limit":          {only + js + "-- want.json --\n{}\n-- limits --\nsteps: many\n", "many"},
		"bad template":       {only + "-- sync.js --\n⟪nope⟫\n-- want.json --\n{}\n", "nope"},
		"bad frame":          {only + "-- sync.js --\nx // FRAME sync\n-- want.json --\n{}\n", "FRAME|sync"},
		"no script whatever": {"About.\nonly: none: this is a test.\n-- want.json --\n{}\n", "used by no script"},
	} {
		_, err := parseCase(name, []byte(test.text))
		if err == nil || !containsAny(err.Error(), strings.Split(test.want, "|")) {
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
	}
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// TestPrecedence tests which of several expectations is used.
func TestPrecedence(t *testing.T) {
	c, err := parseCase("x", []byte(`What is tested.
-- sync.star --
x  # ERROR Runtime: "mark"
-- sync.js --
x
-- sync.jsonnet --
x
-- want.json --
{"general": 1}
-- error.js --
Missing specific
`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for language, s := range c.scripts {
		got[language] = s.want.answer
		if f := s.want.fault; f != nil {
			got[language] = string(f.kinds[0])
		}
	}
	want := map[string]string{engine.Starlark: "Runtime", engine.JavaScript: "Missing", engine.TypeScript: "Missing", engine.Jsonnet: "{\"general\": 1}\n"}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDecodeObject(t *testing.T) {
	got, err := decodeObject(`{"int": 1, "float": 1.0, "exp": 1e3, "big": 9007199254740993, "list": [-1, {"x": null}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"int": int64(1), "float": 1.0, "exp": 1000.0, "big": int64(9007199254740993),
		"list": []any{int64(-1), map[string]any{"x": nil}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
	for _, bad := range []string{``, `1`, `{`, `{}x`, `{"a": 9223372036854775808}`, `{"a": [1e999]}`} {
		if got, err := decodeObject(bad); err == nil {
			t.Errorf("%s: got %v, want an error", bad, got)
		}
	}
}

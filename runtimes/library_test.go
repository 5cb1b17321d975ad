package runtimes_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
	"metascript/runtimes"
	"metascript/scripts/lib"
)

// languages has the names that the manual of the library uses for each language, and a script that returns the value of an
// expression. arrow separates an expression from its result in the manual.
var languages = map[string]struct{ language, entry, arrow, script string }{
	"python":  {engine.Starlark, "sync.star", "# ->", "load(\"metascript.star\", %[1]s)\ndef sync():\n    return {\"v\": %[2]s}\n"},
	"js":      {engine.JavaScript, "sync.js", "// ->", "const {%[1]s} = require('metascript')\nfunction sync() { return {v: %[2]s} }\n"},
	"jsonnet": {engine.Jsonnet, "sync.jsonnet", "// ->", "local m = import 'metascript.libsonnet'; // %[1]s\n{ sync(): { v: %[2]s } }\n"},
}

// block matches a block of code.
var block = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// Every example in the manual returns the value after its arrow, and every function has an example in every language.
func TestLibraryManual(t *testing.T) {
	manual, err := os.ReadFile("../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(manual), "\n## ")[1:] {
		name, _, _ := strings.Cut(section, "\n")
		wants := map[string][]string{}
		for _, m := range block.FindAllStringSubmatch(section, -1) {
			w := languages[m[1]]
			for line := range strings.Lines(m[2]) {
				expression, want, found := strings.Cut(strings.TrimSpace(line), w.arrow)
				if !found {
					t.Errorf("%s: no %q in %s", name, w.arrow, line)
				}
				tryExample(t, w.language, w.entry, exampleText(w.language, w.script, expression), strings.TrimSpace(want))
				wants[m[1]] = append(wants[m[1]], strings.TrimSpace(want))
			}
		}
		for language := range languages {
			if len(wants[language]) == 0 || !cmp.Equal(wants[language], wants["js"]) {
				t.Errorf("%s: the examples in %s give %q, those in js %q", name, language, wants[language], wants["js"])
			}
		}
	}
	for _, f := range lib.Functions() {
		if n := strings.Count(string(manual), "`"+signature(f)+"`"); n != 1 {
			t.Errorf("the manual has `%s` %d times, want it once", signature(f), n)
		}
		if n := len(regexp.MustCompile(`(?m)^[^|\n]*\b`+regexp.QuoteMeta(f.Name)+`\(.*->`).FindAllString(string(manual), -1)); n < len(languages) {
			t.Errorf("%s has %d examples, want one in each language", f.Name, n)
		}
	}
}

func signature(f *lib.Function) string {
	var names []string
	for _, p := range f.Params {
		names = append(names, p.Name)
	}
	return f.Name + "(" + strings.Join(names, ", ") + ")"
}

func exampleText(language, script, expression string) string {
	names := slices.Clone(lib.Names())
	if language == engine.Starlark {
		for i := range names {
			names[i] = `"` + names[i] + `"`
		}
	}
	return fmt.Sprintf(script, strings.Join(names, ", "), expression)
}

// tryExample checks that a script returns want, which is JSON, or an error that contains the text after "error: ".
func tryExample(t *testing.T, language, entry, text, want string) {
	t.Helper()
	s := engine.Script{Language: language, Entry: entry, Files: fstest.MapFS{entry: {Data: []byte(text)}}}
	var answer map[string]any
	p, err := runtimes.All()[language].Compile(t.Context(), s, engine.Limits{})
	if err == nil {
		random := &engine.Random{Key: []byte("the key of this controller and parent")}
		answer, err = p.Call(t.Context(), "sync", map[string]any{}, engine.Env{Random: random})
	}
	if message, fails := strings.CutPrefix(want, "error: "); fails {
		var fault *engine.Error
		if !errors.As(err, &fault) || !strings.Contains(fault.Msg, message) {
			t.Errorf("%s\ngives %v, want an error with %q", text, err, message)
		}
		return
	}
	value := decoded(t, want)
	if err != nil || !cmp.Equal(answer["v"], value) {
		t.Errorf("%s\ngives %v, %v, want %v", text, answer["v"], err, value)
	}
}

// decoded decodes JSON as the library does.
func decoded(t *testing.T, text string) any {
	t.Helper()
	all := lib.Functions()
	f := all[slices.IndexFunc(all, func(f *lib.Function) bool { return f.Name == "json.decode" })]
	v, err := f.Call([]any{text}, unmetered{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// An unmetered meter has no limits.
type unmetered struct{}

func (unmetered) Spend(int64) error             { return nil }
func (unmetered) CheckSize(int64, string) error { return nil }

package enginetest

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"metascript/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is a runtime whose programs call functions of a test. It tests that the suite reports problems.
type fake struct {
	compile error
	call    func(arg map[string]any, env engine.Env) (map[string]any, error)
}

func (f fake) Compile(context.Context, engine.Script, engine.Limits) (engine.Program, error) {
	return f, f.compile
}

func (f fake) Functions() []string { return []string{"sync"} }

func (f fake) Call(_ context.Context, _ string, arg map[string]any, env engine.Env) (map[string]any, error) {
	return f.call(arg, env)
}

// answer returns a function that always returns v.
func answer(v map[string]any) func(map[string]any, engine.Env) (map[string]any, error) {
	return func(map[string]any, engine.Env) (map[string]any, error) { return v, nil }
}

// fails returns a function that always fails with e.
func fails(e *engine.Error) func(map[string]any, engine.Env) (map[string]any, error) {
	return func(map[string]any, engine.Env) (map[string]any, error) { return nil, e }
}

const (
	answering = only + `-- request.json --
{"list": [1]}
-- sync.js --
first line
-- want.json --
{"n": 1}
`
	failing = only + `-- sync.js --
first line
ünd  // ERROR Runtime: "missing .x" col=2
last()  // FRAME 1 sync
`
	printing = answering + `-- log.txt --
info sync.js:1 one
...
warn sync.js:1 ~t[ow]+
`
)

// good returns the error that failing expects.
func good() *engine.Error {
	return &engine.Error{
		Kind: engine.KindRuntime, Pos: engine.Pos{File: "sync.js", Line: 2, Col: 2}, Func: "sync", Msg: "missing xx",
		Source: `ünd  // ERROR Runtime: "missing .x" col=2`,
		Trace:  []engine.Frame{{Func: "f", Pos: engine.Pos{File: "sync.js", Line: 2}}, {Func: "sync", Pos: engine.Pos{File: "sync.js", Line: 3, Col: 1}}},
	}
}

// with returns the error good with a change.
func with(change func(e *engine.Error)) *engine.Error {
	e := good()
	change(e)
	return e
}

// problems returns the problems of a case with a fake.
func problems(t *testing.T, text string, f fake) string {
	t.Helper()
	c, err := parseCase("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := c.scripts[engine.JavaScript].run(t.Context(), f, decodeObject)
	return strings.Join(r.problems, "\n")
}

func TestCheckAcceptsCorrectResults(t *testing.T) {
	one := map[string]any{"n": int64(1)}
	prints := func(_ map[string]any, env engine.Env) (map[string]any, error) {
		for _, text := range []string{"one", "between", "two"} {
			level := engine.Info
			if text == "two" {
				level = engine.Warn
			}
			env.Log(engine.Message{Level: level, Pos: engine.Pos{File: "sync.js", Line: 1}, Text: text})
		}
		return one, nil
	}
	for text, f := range map[string]fake{
		answering: {call: answer(one)},
		failing:   {call: fails(good())},
		printing:  {call: prints},
		only + "-- sync.js --\n-- error --\nSyntax nothing\n": {compile: &engine.Error{Kind: engine.KindSyntax, Pos: engine.Pos{File: "sync.js"}, Msg: "nothing there"}},
	} {
		if got := problems(t, text, f); got != "" {
			t.Errorf("%s\n%s", text, got)
		}
	}
}

func TestCheckReportsWrongResults(t *testing.T) {
	var calls atomic.Int64
	for name, test := range map[string]struct {
		call func(map[string]any, engine.Env) (map[string]any, error)
		want string
	}{
		"other number":   {answer(map[string]any{"n": int64(2)}), "not the expected one"},
		"float, not int": {answer(map[string]any{"n": 1.0}), "not the expected one"},
		"one key more":   {answer(map[string]any{"n": int64(1), "m": nil}), "not the expected one"},
		"an error":       {fails(good()), "failed: sync.js:2:2"},
		"another next time": {func(map[string]any, engine.Env) (map[string]any, error) {
			return map[string]any{"n": calls.Add(1)}, nil
		}, "second call returned another answer"},
		"argument changed": {func(arg map[string]any, _ engine.Env) (map[string]any, error) {
			if calls.Add(1) == 2 {
				arg["list"].([]any)[0] = int64(2)
			}
			return map[string]any{"n": int64(1)}, nil
		}, "argument was changed"},
		"message": {func(_ map[string]any, env engine.Env) (map[string]any, error) {
			env.Log(engine.Message{Level: engine.Info, Text: "hello"})
			return map[string]any{"n": int64(1)}, nil
		}, "messages: got"},
		"too many messages": {func(_ map[string]any, env engine.Env) (map[string]any, error) {
			env.Log(engine.Message{Level: engine.Info, Text: strings.Repeat("x", 100_000)})
			return map[string]any{"n": int64(1)}, nil
		}, "more than the limit"},
	} {
		calls.Store(0)
		if got := problems(t, answering, fake{call: test.call}); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestCheckReportsWrongErrors(t *testing.T) {
	for name, test := range map[string]struct {
		change func(e *engine.Error)
		want   string
	}{
		"kind":              {func(e *engine.Error) { e.Kind = engine.KindRaised }, "kind: got Raised"},
		"message":           {func(e *engine.Error) { e.Msg = "missing" }, "message: got"},
		"line":              {func(e *engine.Error) { e.Pos.Line, e.Source = 1, "first line" }, "position: got sync.js:1:2"},
		"column":            {func(e *engine.Error) { e.Pos.Col = 3 }, "position: got sync.js:2:3"},
		"column outside":    {func(e *engine.Error) { e.Pos.Col = 100 }, "characters"},
		"line outside":      {func(e *engine.Error) { e.Pos.Line = 9 }, "the file has"},
		"no file":           {func(e *engine.Error) { e.Pos = engine.Pos{} }, "has no file"},
		"file":              {func(e *engine.Error) { e.Pos.File = "other.js" }, "other.js"},
		"function":          {func(e *engine.Error) { e.Func = "" }, "Func is"},
		"source":            {func(e *engine.Error) { e.Source = "x" }, "Source is"},
		"empty message":     {func(e *engine.Error) { e.Msg = "" }, "message is empty"},
		"endless message":   {func(e *engine.Error) { e.Msg = strings.Repeat("missing xx", 1000) }, "too long"},
		"position in text":  {func(e *engine.Error) { e.Msg += " at sync.js:2:2" }, "contains the position"},
		"no frame":          {func(e *engine.Error) { e.Trace = e.Trace[:1] }, "no frame 1 sync"},
		"frame's name":      {func(e *engine.Error) { e.Trace[1].Func = "x" }, "no frame 1 sync"},
		"frame outside":     {func(e *engine.Error) { e.Trace[0].Pos.File = "goja" }, "goja"},
		"frame of the host": {func(e *engine.Error) { e.Trace[0].Pos.Line = 0 }, "no position"},
		"endless trace":     {func(e *engine.Error) { e.Trace = append(e.Trace, make([]engine.Frame, 20)...) }, "22 frames"},
	} {
		if got := problems(t, failing, fake{call: fails(with(test.change))}); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	other := func(map[string]any, engine.Env) (map[string]any, error) { return nil, errors.New("plain") }
	if got := problems(t, failing, fake{call: other}); !strings.Contains(got, "engine.Error") {
		t.Errorf("plain error: got %q", got)
	}
	if got := problems(t, failing, fake{call: answer(map[string]any{})}); !strings.Contains(got, "got an answer") {
		t.Errorf("no error: got %q", got)
	}
}

func TestMatchMessages(t *testing.T) {
	for _, test := range []struct {
		got, want string
		match     bool
	}{
		{"", "", true}, {"a", "", false}, {"", "a", false}, {"a|b", "a|b", true}, {"b|a", "a|b", false},
		{"a", "...", true}, {"", "...", true}, {"a|b|c", "a|...|c", true}, {"a|b", "a|...|c", false},
		{"info f:1 abc", "info f:1 ~b", true}, {"info f:1 abc", "info f:1 ~x", false}, {"info f:2 abc", "info f:1 ~b", false},
	} {
		split := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == '|' }) }
		if match := matchMessages(split(test.got), split(test.want)); match != test.match {
			t.Errorf("%q, %q: got %v", test.got, test.want, match)
		}
	}
}

// TestVariants checks that the variants of settings have different names in different languages.
func TestVariants(t *testing.T) {
	seen := map[string]string{}
	for _, d := range dialects {
		for _, setting := range settings {
			seen[d.variant(setting)] = d.language
		}
	}
	if len(seen) != len(dialects)*len(settings) || seen["want.star.json"] != engine.Starlark || seen["error.js"] != engine.JavaScript {
		t.Errorf("%v", maps.Collect(maps.All(seen)))
	}
}

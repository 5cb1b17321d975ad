package starlark

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// A hintedError is an error of our builtins and views, which has a kind and a hint besides its text.
type hintedError interface {
	error
	advice() (kind engine.Kind, hint string)
}

// A fault is a hintedError.
type fault struct {
	kind      engine.Kind
	msg, hint string
}

// Error implements error.
func (f *fault) Error() string { return f.msg }

// advice implements hintedError.
func (f *fault) advice() (engine.Kind, string) { return f.kind, f.hint }

// A crash is a panic of the interpreter. It affects only the script that caused it, so it is an error like others. The stack of the
// interpreter goes only to our log.
type crash struct {
	what  any
	stack []byte
}

// Error implements error.
func (c *crash) Error() string {
	return fmt.Sprintf("the interpreter cannot evaluate this: %v", c.what)
}

// recovering does work, and makes an error of a panic in it.
func recovering[T any](work func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &crash{r, debug.Stack()}
		}
	}()
	return work()
}

// recovered makes a builtin whose panic is an error at the position of the call.
func recovered(f method) method {
	return func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (v starlark.Value, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = &crash{r, debug.Stack()}
			}
		}()
		return f(thread, b, args, kwargs)
	}
}

// maxStack bounds what is kept of the interpreter's stack.
const maxStack = 8 << 10

// errStopped ends an evaluation whose steps or time are used up; fault finds out which.
var errStopped = errors.New("stopped")

// fault translates the error of running code. If the ctx is done, it is an error even if the code ended without one: a single
// instruction may have run longer than the interpreter notices.
func (ev *evaluation) fault(ctx context.Context, err error) error {
	if err == nil && ctx.Err() == nil {
		return nil
	}
	pos, trace := errorPosition(err)
	switch {
	case ev.tooLong:
		return &engine.Error{
			Kind: engine.KindSteps, Pos: pos, Trace: trace,
			Msg:  fmt.Sprintf("ran more than %d steps", ev.limits.Steps),
			Hint: "look for a loop that does not end, or raise limits.steps",
		}
	case ctx.Err() != nil:
		stopped := engine.Stopped(ctx, pos, ev.limits)
		stopped.Trace = trace
		return stopped
	}
	out := &engine.Error{Kind: engine.KindRuntime, Pos: pos, Trace: trace, Msg: clip(err.Error())}
	var own hintedError
	var crashed *crash
	switch {
	case errors.As(err, &own):
		out.Msg = clip(own.Error())
		out.Kind, out.Hint = own.advice()
	case errors.As(err, &crashed):
		out.Hint = "this is a mistake of the interpreter: write it in another way"
		out.Stack = engine.Clip(string(crashed.stack), maxStack)
	default:
		out.Hint = hintFor(out.Msg)
	}
	return out
}

// errorPosition returns the position of an error, and, if that is within calls, the calls that led there.
func errorPosition(err error) (engine.Pos, []engine.Frame) {
	var eval *starlark.EvalError
	if !errors.As(err, &eval) {
		return engine.Pos{}, nil
	}
	stack := eval.CallStack
	if notEntered(eval) {
		stack.Pop()
	}
	var frames []engine.Frame
	for i := range stack {
		if frame := stack.At(i); frame.Pos.Line > 0 { // else it is a builtin
			frames = append(frames, engine.Frame{Func: frameName(frame.Name), Pos: position(frame.Pos)})
		}
	}
	switch len(frames) {
	case 0:
		return engine.Pos{}, nil
	case 1:
		return frames[0].Pos, nil
	}
	return frames[0].Pos, frames
}

// refusal matches the errors of calling a function that are found before it begins.
var refusal = regexp.MustCompile(`^function (\S+) (called recursively|accepts |missing |got )`)

// notEntered reports whether the innermost function of the stack was not entered: the fault is in its caller.
func notEntered(err *starlark.EvalError) bool {
	m := refusal.FindStringSubmatch(clip(err.Msg))
	var own hintedError
	return m != nil && len(err.CallStack) > 1 && err.CallStack.At(0).Name == m[1] && !errors.As(err, &own)
}

func frameName(name string) string {
	if name == "<toplevel>" {
		return "top level"
	}
	return name
}

// position translates a position. The interpreter, too, counts columns in characters from 1.
func position(p syntax.Position) engine.Pos {
	return engine.Pos{File: p.Filename(), Line: int(p.Line), Col: int(p.Col)}
}

// hints are for mistakes that are common among people who know Python, and in the use of our views.
var hints = []struct {
	message *regexp.Regexp
	hint    string
}{
	{regexp.MustCompile(`called recursively`), "Starlark has no recursion: loop over a list or a range"},
	{regexp.MustCompile(`while loops`), "loop over a range instead: for i in range(1000): ... break"},
	{regexp.MustCompile(`^undefined: while$`), "loop over a range instead: for i in range(1000): ... break"},
	{regexp.MustCompile(`NoneType\[|^NoneType has no \.`), `the value before it is None, as a field that is null: test it first, or read with .get("key", {})`},
	{regexp.MustCompile(`^dict has no \.\w+ field or method`), `dot access works on what comes from the request; on a dict of your own write x["key"]`},
	{regexp.MustCompile(`unknown binary op: (string \+ \w+|\w+ \+ string)`), "make a string of it with str(x), or use \"%s\" % x"},
	{regexp.MustCompile(`frozen (hash table|list)|frozen (dict|set)`), "what the top level of a file makes cannot change in a call: copy it with dict(x) or list(x)"},
	{regexp.MustCompile(`during iteration`), "go through a copy: for x in list(xs)"},
	{regexp.MustCompile(`^cannot reassign (global|top-level) `), "a name of the top level is set once: use a function, or another name"},
	{regexp.MustCompile(`^undefined: (try|raise|except)`), "Starlark has no exceptions: test first, and end with fail(message)"},
	{regexp.MustCompile(`got (import|from|class|try|raise|with|async|yield|is|del|assert|except|global|nonlocal)\b`), "Starlark has no such statement: load(\"file.star\", \"name\") imports, fail(message) raises"},
	{regexp.MustCompile(`^undefined: f\b`), "Starlark has no f-strings: use \"%s\" % x or \"{}\".format(x)"},
	{regexp.MustCompile(`got string literal, want`), "Starlark has no f-strings, and does not join strings that stand side by side: use + or \"%s\" % x"},
}

// hintFor returns advice about a message of the interpreter, or "".
func hintFor(message string) string {
	for _, h := range hints {
		if h.message.MatchString(message) {
			return h.hint
		}
	}
	return ""
}

// maxMessage bounds a message; the engine clips what comes out once more.
const maxMessage = 4 << 10

func clip(s string) string { return strings.ToValidUTF8(engine.Clip(s, maxMessage), "\ufffd") }

// naming is how messages show names.
var naming = host.Names{Max: 100, Quoted: true, More: func(n int) string { return fmt.Sprintf("and %d more", n) }}

// article puts an indefinite article before a type's name.
func article(name string) string {
	switch {
	case name == "NoneType":
		return "None"
	case strings.ContainsRune("aeiou", rune(name[0])):
		return "an " + name
	}
	return "a " + name
}

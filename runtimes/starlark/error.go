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

// A hintedError is an error of the builtins and views of this package. It has a kind and a hint in addition to its text.
type hintedError interface {
	error
	advice() (kind engine.Kind, hint string)
}

// A fault is a hintedError with a fixed text.
type fault struct {
	kind      engine.Kind
	msg, hint string
}

// Error implements error.
func (f *fault) Error() string { return f.msg }

// advice implements hintedError.
func (f *fault) advice() (engine.Kind, string) { return f.kind, f.hint }

// A crash is a panic of the interpreter. It affects only the script that caused it, so it is an error like others. The stack of
// the interpreter is only for the server's log.
type crash struct {
	what  any
	stack []byte
}

// Error implements error.
func (c *crash) Error() string {
	return fmt.Sprintf("the interpreter cannot evaluate this: %v", c.what)
}

// catchPanic calls work, and returns a panic in it as an error.
func catchPanic[T any](work func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &crash{r, debug.Stack()}
		}
	}()
	return work()
}

// catchingPanics returns f with panics converted to errors, so that the error has the position of the call.
func catchingPanics(f method) method {
	return func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (v starlark.Value, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = &crash{r, debug.Stack()}
			}
		}()
		return f(thread, b, args, kwargs)
	}
}

// maxStack is the maximum size of the interpreter's stack in an error, in bytes.
const maxStack = 8 << 10

// errStopped ends an evaluation whose steps or time are used up. evaluation.fault finds out which.
var errStopped = errors.New("stopped")

// fault converts the error of running code to the error that the script's author sees, or nil. It returns an error if ctx is
// done, even if err is nil: a single instruction may have run past the deadline.
func (ev *evaluation) fault(ctx context.Context, err error) error {
	if err == nil && ctx.Err() == nil {
		return nil
	}
	pos, trace := errorPosition(err)
	switch {
	case ev.outOfSteps:
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
		out.Hint = "this is a bug in the interpreter: write the code in another way"
		out.Stack = engine.Clip(string(crashed.stack), maxStack)
	default:
		out.Hint = hintFor(out.Msg)
	}
	return out
}

// errorPosition returns the position of an error, and the stack of calls if there is more than one.
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
		if frame := stack.At(i); frame.Pos.Line > 0 { // builtins have no position
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

// argumentErrors matches the errors of a call that the interpreter reports before the function begins.
var argumentErrors = regexp.MustCompile(`^function (\S+) (called recursively|accepts |missing |got )`)

// notEntered reports whether the innermost function of the stack did not begin. Then the mistake is in its caller.
func notEntered(err *starlark.EvalError) bool {
	m := argumentErrors.FindStringSubmatch(clip(err.Msg))
	var own hintedError
	return m != nil && len(err.CallStack) > 1 && err.CallStack.At(0).Name == m[1] && !errors.As(err, &own)
}

func frameName(name string) string {
	if name == "<toplevel>" {
		return "top level"
	}
	return name
}

// position converts a position of the interpreter, which also counts columns in characters from 1.
func position(p syntax.Position) engine.Pos {
	return engine.Pos{File: p.Filename(), Line: int(p.Line), Col: int(p.Col)}
}

// hints are for common mistakes of people who know Python, and of people who use views.
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
	{regexp.MustCompile(`frozen (hash table|list)|frozen (dict|set)`), "a value made at the top level of a file cannot be changed in a call: copy it with dict(x) or list(x)"},
	{regexp.MustCompile(`during iteration`), "loop over a copy: for x in list(xs)"},
	{regexp.MustCompile(`^cannot reassign (global|top-level) `), "a name of the top level is set once: use a function, or another name"},
	{regexp.MustCompile(`^undefined: (try|raise|except)`), "Starlark has no exceptions: test first, and end with fail(message)"},
	{regexp.MustCompile(`got (import|from|class|try|raise|with|async|yield|is|del|assert|except|global|nonlocal)\b`), "Starlark has no such statement: load(\"file.star\", \"name\") imports, fail(message) raises"},
	{regexp.MustCompile(`^undefined: f\b`), "Starlark has no f-strings: use \"%s\" % x or \"{}\".format(x)"},
	{regexp.MustCompile(`got string literal, want`), "Starlark has no f-strings, and does not join strings that stand side by side: use + or \"%s\" % x"},
}

// hintFor returns the hint for a message of the interpreter, or "".
func hintFor(message string) string {
	for _, h := range hints {
		if h.message.MatchString(message) {
			return h.hint
		}
	}
	return ""
}

// maxMessage is the maximum size of a message, in bytes. The engine may cut it again.
const maxMessage = 4 << 10

func clip(s string) string { return strings.ToValidUTF8(engine.Clip(s, maxMessage), "\ufffd") }

// naming formats names in messages.
var naming = host.Names{Max: 100, Quoted: true, More: func(n int) string { return fmt.Sprintf("and %d more", n) }}

// article returns the name of a type with "a" or "an" before it.
func article(name string) string {
	switch {
	case name == "NoneType":
		return "None"
	case strings.ContainsRune("aeiou", rune(name[0])):
		return "an " + name
	}
	return "a " + name
}

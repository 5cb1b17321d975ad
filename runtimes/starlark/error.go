package starlark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
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
		improve(out)
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

// noMember matches the error for a field or method that a value does not have.
var noMember = regexp.MustCompile(`^(\S+) has no \.(\w+) field or method`)

// improve sets the message and the hint of an error of the interpreter.
func improve(e *engine.Error) {
	e.Hint = hintFor(e.Msg)
	if m := noMember.FindStringSubmatch(e.Msg); m != nil {
		e.Msg = fmt.Sprintf("%s has no field or method %s", article(m[1]), naming.Quote(m[2]))
		if m[1] == "dict" && slices.Contains(ofDicts, m[2]) {
			e.Hint = ""
		}
		e.Hint = cmp.Or(e.Hint, otherMethods[m[2]], naming.DidYouMean(m[2], membersOf(m[1])))
		return
	}
	for _, r := range rewordings {
		if r.message.MatchString(e.Msg) {
			e.Msg = r.message.ReplaceAllString(e.Msg, r.words)
			e.Hint = cmp.Or(e.Hint, r.hint)
			return
		}
	}
}

// membersOf returns the names of the fields and methods of a type.
func membersOf(typeName string) []string {
	for _, x := range builtinTypes {
		if x.Type() == typeName {
			return attrNames(x)
		}
	}
	return nil
}

// otherMethods are methods and fields of other languages, and what to write in Starlark.
var otherMethods = map[string]string{
	"length": "write len(x)", "size": "write len(x)", "push": "write x.append(y)", "add": "write x.append(y) for a list, and set([…]) for a set",
	"concat": "write x + y", "includes": "write y in x", "contains": "write y in x", "has": "write y in x", "indexOf": "write x.index(y)",
	"has_key": "write key in x", "hasOwnProperty": "write key in x", "iteritems": "write x.items()", "entries": "write x.items()",
	"toLowerCase": "write x.lower()", "toUpperCase": "write x.upper()", "trim": "write x.strip()", "toString": "write str(x)",
	"startsWith": "write x.startswith(y)", "endsWith": "write x.endswith(y)", "substring": "write x[start:end]", "slice": "write x[start:end]",
	"map": "write [f(x) for x in list]", "filter": "write [x for x in list if condition]", "forEach": "write for x in list:",
	"sort": "write sorted(list)", "reverse": "write reversed(list)", "copy": "write list(x) or dict(x)", "deepcopy": "write json.decode(json.encode(x))",
	"zfill": `write "0" * (3 - len(x)) + x`, "ljust": `write x + " " * (9 - len(x))`, "rjust": `write " " * (9 - len(x)) + x`,
	"center": `write " " * ((9 - len(x)) // 2) + x`, "count": "write len([1 for y in x if y == z])",
	"encode": "a script needs no bytes: use the string", "decode": "a script needs no bytes: it is a string already", "isnumeric": "write x.isdigit()", "isdecimal": "write x.isdigit()",
	"casefold": "write x.lower()", "format_map": "write x.format(**y)", "expandtabs": `write x.replace("\t", "    ")`,
}

// ofDicts are methods of dicts in Python. A dict of a script has no fields with dot access, so no field is meant.
var ofDicts = []string{"copy", "deepcopy", "has_key", "iteritems"}

// rewordings are messages of the interpreter in the words of the author, with hints.
var rewordings = []struct {
	message     *regexp.Regexp
	words, hint string
}{
	{regexp.MustCompile(`^local variable (\w+) referenced before assignment$`), "$1 has no value yet",
		"assign to it before this on every path; a function cannot change a name of the top level"},
	{regexp.MustCompile(`^invalid call of non-function \((\w+)\)$`), "this is not a function: it has the type $1", "does a variable have the name of a function?"},
	{regexp.MustCompile(`^unknown binary op: (\S+) (\S+) (\S+)$`), "$1 $2 $3 is not possible", ""},
	{regexp.MustCompile(`^(\S+) ([<>]=?) (\S+) not implemented$`), "the operator $2 does not compare $1 and $3", "convert one of them with int(x) or str(x)"},
	{regexp.MustCompile(`^not enough arguments for format string$`), "the format has more % than there are values", `write a tuple with all values: "%s-%s" % (x, y)`},
	{regexp.MustCompile(`^too many arguments for format string$`), "the format has fewer % than there are values", "write a %s for each value"},
	{regexp.MustCompile(`^(\w+) index (-?\d+) out of range: empty \w+$`), "index $2 is out of range: the $1 is empty", "test it first: if x:"},
	{regexp.MustCompile(`^(\w+) index (-?\d+) out of range \[-(\d+):\d+\]$`), "index $2 is out of range: the length of the $1 is $3", "the first index is 0, and the last is -1"},
	{regexp.MustCompile(`^(\w+) value is not iterable$`), "for needs a list or a dict, and not the type $1", "write range(n) for the numbers below n"},
	{regexp.MustCompile(`^len: value of type (\w+) has no len$`), "the type $1 has no length", "len is for strings, lists and dicts"},
	{regexp.MustCompile(`^key (.+) not in dict$`), "key $1 is not in the dict", `test it first: if key in x, or read it with .get(key)`},
	{regexp.MustCompile(`^(\w+): cannot convert NoneType to \w+$`), "$1: the value is None", `test it first, or read it with .get("key", 0)`},
	{regexp.MustCompile(`^got (\w+) in sequence assignment$`), "there are several names, and one value of the type $1", "for the keys and values of a dict write for key, value in x.items()"},
	{regexp.MustCompile(`^too many values to unpack \(got (\d+), want (\d+)\)$`), "there are $1 values and $2 names", "write a name for each value, or take a part: a, b = list[:2]"},
	{regexp.MustCompile(`^too few values to unpack \(got (\d+), want (\d+)\)$`), "there are $1 values and $2 names", "write a value for each name"},
	{regexp.MustCompile(`^function (\w+) got an unexpected keyword argument "(\w+)"$`), `the function $1 has no parameter "$2"`, ""},
	{regexp.MustCompile(`^function (\w+) missing (\d+) arguments? \((.*)\)$`), "the call of $1 is missing $3", ""},
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
	{regexp.MustCompile(`^undefined: import$`), `write load("file.star", "name")`},
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

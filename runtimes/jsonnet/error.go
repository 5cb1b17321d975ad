package jsonnet

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// maxMessage is the maximum length of a message, before anything else is done with it.
const maxMessage = 4 << 10

func clip(s string) string { return engine.Clip(strings.TrimSpace(s), maxMessage) }

// position returns the beginning of a range, if it is in a script. The interpreter counts columns in bytes, engine.Pos in characters.
func position(loc *ast.LocationRange) engine.Pos {
	if loc == nil || !inScript(loc) {
		return engine.Pos{}
	}
	at := engine.Pos{File: loc.FileName, Line: loc.Begin.Line, Col: loc.Begin.Column}
	if at.Line >= 1 && at.Line <= len(loc.File.Lines) {
		line := loc.File.Lines[at.Line-1]
		at.Col = utf8.RuneCountInString(line[:min(max(0, at.Col-1), len(line))]) + 1
	}
	return at
}

// syntaxError translates an error of parsing a file with text.
func syntaxError(file, text string, err error) error {
	e := &engine.Error{Kind: engine.KindSyntax, Pos: engine.Pos{File: file}, Msg: clip(err.Error())}
	var static interface{ Loc() ast.LocationRange }
	if errors.As(err, &static) {
		if loc := static.Loc(); loc.IsSet() {
			e.Pos = position(&loc)
			e.Msg = strings.TrimPrefix(err.Error(), loc.String())
			e.Msg = clip(strings.TrimPrefix(strings.TrimSpace(e.Msg), loc.String())) // errors of strings have it twice
		}
	}
	explain(e, text)
	return e
}

// fault translates an error of an evaluation that g watched. The function f gave the answer, if there is one.
func (g *guard) fault(err error, f function) error {
	var runtimeErr gojsonnet.RuntimeError
	switch {
	case g.stopped != nil:
		return g.stopped
	case !errors.As(err, &runtimeErr):
		return g.crash(err)
	}
	msg, frames := clip(runtimeErr.Msg), scriptFrames(runtimeErr.StackTrace)
	e := &engine.Error{Kind: engine.KindRuntime, Msg: msg, Trace: frames, Pos: position(g.at)}
	if len(frames) > 0 {
		e.Pos = frames[0].Pos
	}
	failed, raising := g.failed.(*ast.Error)
	switch {
	case strings.HasPrefix(msg, msgStack):
		return g.overflow(e)
	case raising && inScript(failed.Loc()):
		e.Kind = engine.KindRaised
	case g.libraryError != nil && runtimeErr.Msg == g.libraryError.Msg:
		e.Kind, e.Hint = g.libraryError.Kind, g.libraryError.Hint
	case g.request.read != nil && aboutFunction(msg):
		return g.request.read.fault(*e)
	default:
		e.Msg = goType.ReplaceAllStringFunc(msg, func(s string) string { return strings.ToLower(strings.TrimPrefix(s, goTypes)) })
		g.advise(e)
	}
	if g.failedMessage != nil {
		e.Hint = cmp.Or(e.Hint, "this error occurred while the message of the error at "+position(g.failedMessage).String()+" was made")
	}
	return e
}

// Messages of the interpreter that fault recognizes.
const (
	msgStack   = "max stack frames exceeded"
	msgNoField = "Field does not exist: "
	msgOfNull  = "Value non indexable: null"

	goTypes = "*jsonnet.value"

	// The interpreter panics with this when a call with tailstrict evaluates the default of a parameter.
	msgNoVariable = "RUNTIME: Unknown variable: "
	hintStrict    = "a call with tailstrict evaluates the defaults of parameters too early: give all arguments"
	hintCrash     = "this is a bug in go-jsonnet, the interpreter: write the code in another way"
)

// goType matches what the interpreter calls values that are not indexable, such as *jsonnet.valueNull.
var goType = regexp.MustCompile(`\*jsonnet\.value[A-Za-z]+`)

// aboutFunction reports whether msg complains that something is a function, and not about its arguments.
func aboutFunction(msg string) bool {
	return strings.Contains(strings.ToLower(msg), "function") && !strings.HasPrefix(msg, "function ")
}

// crash converts an error that is not one of Jsonnet: a panic, which the interpreter has recovered. It affects only the script
// that caused it, so it is an error like others. The interpreter's stack is only for the server's log.
func (g *guard) crash(err error) error {
	var own *engine.Error
	if errors.As(err, &own) {
		return own
	}
	e := &engine.Error{Kind: engine.KindRuntime, Pos: position(g.at), Msg: clip(err.Error())}
	if what, ok := strings.CutPrefix(err.Error(), "(CRASH) "); ok {
		what, e.Stack, _ = strings.Cut(what, "\n")
		e.Stack = engine.Clip(e.Stack, maxStack)
		e.Msg, e.Hint = "the interpreter cannot evaluate this: "+clip(what), hintCrash
		if name, ok := strings.CutPrefix(what, msgNoVariable); ok {
			name, _, _ = strings.Cut(name, " ")
			e.Msg, e.Hint = "the variable "+engine.Clip(name, naming.Max)+" is not defined yet", hintStrict
		}
	}
	return e
}

// maxStack is the maximum length of the interpreter's stack in an error.
const maxStack = 8 << 10

// overflow returns the error of too many nested calls.
func (g *guard) overflow(e *engine.Error) error {
	e.Kind = engine.KindStack
	e.Msg = fmt.Sprintf("more than %d nested calls", g.limits.Stack)
	e.Hint = "does the recursion end? std.foldl and comprehensions need no stack"
	if index, ok := g.failed.(*ast.Index); ok {
		if _, self := index.Target.(*ast.Self); self {
			e.Hint = "self is the innermost { } around it, so the field may be its own value: write a local outside of it, or $"
		}
	}
	return e
}

// scriptFrames returns the script's part of a stack trace, innermost first.
func scriptFrames(trace []gojsonnet.TraceFrame) []engine.Frame {
	var frames []engine.Frame
	for _, f := range slices.Backward(trace) {
		frame := engine.Frame{Func: f.Name, Pos: position(&f.Loc)}
		if inScript(&f.Loc) && (len(frames) == 0 || frames[len(frames)-1] != frame) {
			frames = append(frames, frame)
		}
	}
	folded := host.Fold(frames)
	frames = frames[:0]
	for _, call := range folded {
		frame := call.Call
		frame.Times = call.Times
		frames = append(frames, frame)
	}
	return frames
}

// stdNames lists the fields of std.
var stdNames = sync.OnceValue(func() []string {
	vm := gojsonnet.MakeVM()
	vm.StringOutput = true
	names, err := vm.Evaluate(mustParse(`std.join(' ', std.objectFieldsAll(std))`))
	if err != nil {
		return nil
	}
	return strings.Fields(names)
})

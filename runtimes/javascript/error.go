package javascript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// maxText is the maximum size of a message, in bytes.
const maxText = 4 << 10

// naming formats names in messages.
var naming = host.Names{Max: 80, Dollar: true, More: func(n int) string { return fmt.Sprintf("and %d more", n) }}

// fault converts err, which goja or this package returned, to the error that the script's author sees.
func (r *run) fault(ctx context.Context, err error) *engine.Error {
	if r.refused != nil {
		return r.refused
	}
	switch e := err.(type) {
	case *engine.Error:
		return e
	case refusal: // a native function that was not started
		stopped := engine.Stopped(ctx, e.fault.Pos, r.limits)
		stopped.Trace = e.fault.Trace
		return stopped
	case *goja.Exception:
		return r.thrown(e)
	case *goja.InterruptedError:
		at, trace := r.trace(e.Stack())
		stopped := engine.Stopped(ctx, at, r.limits)
		stopped.Trace = trace
		return stopped
	case *goja.StackOverflowError:
		at, trace := r.trace(e.Stack())
		return &engine.Error{
			Kind: engine.KindStack, Pos: at, Trace: trace,
			Msg:  fmt.Sprintf("calls are nested more than %d deep", r.limits.Stack),
			Hint: "does a function call itself without end?",
		}
	}
	return r.interpreterFault(err)
}

// panicked is fault for a panic of goja: an error that no script may catch, or a bug, such as 'ab'.repeat(2**62).
func (r *run) panicked(ctx context.Context, x any) *engine.Error {
	switch err, _ := x.(error); err.(type) {
	case *goja.InterruptedError, *goja.StackOverflowError, refusal:
		return r.fault(ctx, err)
	}
	return r.interpreterFault(x)
}

func (r *run) interpreterFault(x any) *engine.Error {
	text := ""
	switch x := x.(type) {
	case error:
		text = x.Error()
	case string:
		text = x
	default:
		text = fmt.Sprintf("%T", x)
	}
	return &engine.Error{
		Kind: engine.KindPanic, Pos: engine.Pos{File: r.p.entry},
		Msg: "the interpreter failed: " + engine.Clip(text, maxText/2),
	}
}

// throwable returns the value with which a function that scripts call has to panic, so that the script can catch err, unless
// no script may catch it.
func (r *run) throwable(err error) any {
	fault := (*engine.Error)(nil)
	if !errors.As(err, &fault) {
		return err // it is goja's own error
	}
	return r.noted(r.vm.NewTypeError(fault.Msg), fault)
}

// noted returns an object that is thrown for an error.
func (r *run) noted(object *goja.Object, fault *engine.Error) *goja.Object {
	if r.faults == nil {
		r.faults = map[*goja.Object]*engine.Error{}
	}
	r.faults[object] = fault
	return object
}

// thrown is fault for a value that was thrown, by the script or by goja.
func (r *run) thrown(ex *goja.Exception) *engine.Error {
	at, trace := r.trace(r.outsideConstructors(ex.Stack()))
	if at.File == "" {
		at.File = r.p.entry
	}
	object, _ := ex.Value().(*goja.Object)
	if fault := r.faults[object]; fault != nil {
		e := *fault
		if e.Pos.File == "" {
			e.Pos = at
		}
		e.Trace = trace
		return &e
	}
	e := &engine.Error{Kind: engine.KindRaised, Pos: at, Trace: trace}
	if object == nil || object.ClassName() != "Error" {
		e.Msg = kind(ex.Value())
		_ = r.vm.Try(func() { e.Msg = r.inspect(maxText, ex.Value()) })
		return e
	}
	name, message := r.nameAndMessage(object)
	e.Msg = message
	if name != "Error" || message == "" {
		e.Msg = strings.TrimSuffix(name+": "+message, ": ")
	}
	if r.madeByEngine(object) && !r.deliberate(ex) {
		e.Kind = engine.KindRuntime
		e.Hint = advice(message)
		if m, ok := r.p.modules.Load(at.File); ok && name == "ReferenceError" && len(trace) == 1 && trace[0].Func == "top level" {
			text, language := m.(*module).written()
			host.WrongLanguage(e, text, language) // such as YAML, whose keys are labels
		}
		if name == "TypeError" {
			e.Hint = cmp.Or(r.missedGroup(), e.Hint)
		}
		if f := r.failure(e, ex.Stack()); f != nil {
			r.explain(f, name, message)
		}
	}
	return e
}

// outsideConstructors removes the constructors of the script's own error classes, so that the position of an error is new
// NotReady(…), not super(…).
func (r *run) outsideConstructors(stack []goja.StackFrame) []goja.StackFrame {
	for len(stack) > 1 {
		before, _ := r.source(stack[0])
		if !strings.HasSuffix(before, "super") {
			break
		}
		stack = stack[1:]
	}
	return stack
}

// source returns the text of a frame's file before and after the position of the frame; "" if it is not in the script.
func (r *run) source(f goja.StackFrame) (before, from string) {
	at := f.Position()
	if m, ok := r.p.modules.Load(at.Filename); ok {
		m := m.(*module)
		return m.src[:m.offset(at)], m.src[m.offset(at):]
	}
	return "", ""
}

// nameAndMessage returns an Error's name and message. They may be getters, so a script may run, and throw again.
func (r *run) nameAndMessage(object *goja.Object) (name, message string) {
	_ = r.vm.Try(func() { name = word(object.Get("name")) })
	_ = r.vm.Try(func() { message = word(object.Get("message")) })
	if name == "" {
		name = "Error"
	}
	return name, message
}

func word(v goja.Value) string {
	if s, ok := v.(goja.String); ok {
		return text(s, maxText/2)
	}
	return ""
}

// text returns at most about n bytes of s, without making a copy of a huge one.
func text(s goja.String, n int) string {
	if s.Length() > n {
		s = s.Substring(0, n)
	}
	return engine.Clip(s.String(), n)
}

// engineErrors are the classes of the errors that goja throws by itself. It never makes a plain Error.
var engineErrors = []string{
	"TypeError", "ReferenceError", "RangeError", "SyntaxError", "URIError", "EvalError", "AggregateError",
}

// madeByEngine reports whether an Error is of a class that goja itself throws: whether its prototype, and not that of a
// derived class, has the name.
func (r *run) madeByEngine(object *goja.Object) bool {
	made := false
	_ = r.vm.Try(func() {
		proto := object.Prototype()
		made = proto != nil && kindOfObject(proto) == "an object" && slices.Contains(proto.GetOwnPropertyNames(), "name") &&
			slices.Contains(engineErrors, word(proto.Get("name")))
	})
	return made
}

var newError = regexp.MustCompile(`^new\s+(` + strings.Join(engineErrors, "|") + `)\b`)

// deliberate reports whether the script made the error itself, for example with new TypeError(…), according to the source at
// the position where it was made. An Error knows where it was made, not where it was thrown.
func (r *run) deliberate(ex *goja.Exception) bool {
	stack := ex.Stack()
	if len(stack) == 0 {
		return false
	}
	if slices.Contains(engineErrors, stack[0].FuncName()) && stack[0].Position().Line == 0 {
		return true // called without new: the top frame is a function of goja
	}
	_, from := r.source(stack[0])
	return newError.MatchString(from)
}

// advices are hints for messages of goja that begin with start.
var advices = []struct{ start, hint string }{
	{"Cannot read property", "use ?. where a field may be missing"},
	{"Cannot convert undefined or null", "the value on the left is undefined or null"},
	{"Value is not object coercible", "the value that is destructured with {…} is undefined or null"},
	{"Assignment to constant variable", "declare it with let"},
	{"Cannot access a variable before", "move its const or let above this line"},
	{"object is not iterable", "to loop over an object, use Object.values or Object.entries"},
}

// advice returns the hint for an error of goja, or "".
func advice(message string) string {
	if name, ok := strings.CutSuffix(message, " is not defined"); ok {
		return cmp.Or(absent[name], otherNames[name])
	}
	for _, a := range advices {
		if strings.HasPrefix(message, a.start) {
			return a.hint
		}
	}
	return ""
}

// trace returns the calls of a stack that are in the script's files, and the position of the innermost.
func (r *run) trace(stack []goja.StackFrame) (engine.Pos, []engine.Frame) {
	var frames []engine.Frame
	for _, call := range host.Fold(r.inScript(stack)) {
		at, name := call.Call.Position(), call.Call.FuncName()
		if name == topLevel {
			name = "top level"
		}
		if m, ok := r.p.modules.Load(at.Filename); ok {
			frames = append(frames, engine.Frame{
				Func: engine.Clip(name, 80), Pos: m.(*module).pos(at.Filename, at), Times: call.Times,
			})
		}
	}
	if len(frames) == 0 {
		return engine.Pos{}, nil
	}
	return frames[0].Pos, frames
}

// inScript returns the calls of a stack that are in the script's files.
func (r *run) inScript(stack []goja.StackFrame) []goja.StackFrame {
	files := map[string]bool{"": false} // of functions of goja
	return slices.DeleteFunc(slices.Clone(stack), func(f goja.StackFrame) bool {
		name := f.Position().Filename
		if _, known := files[name]; !known {
			_, files[name] = r.p.modules.Load(name)
		}
		return !files[name]
	})
}

// where returns the position of the script's code that called the running Go function.
func (r *run) where() engine.Pos {
	for _, call := range r.vm.CaptureCallStack(4, nil) {
		at := call.Position()
		if m, ok := r.p.modules.Load(at.Filename); ok {
			return m.(*module).pos(at.Filename, at)
		}
	}
	return engine.Pos{}
}

// Place implements [engine.Placed]. It returns where the entry file declares name, or the file if that is not known.
func (p *program) Place(name string) engine.Pos {
	if m, ok := p.modules.Load(p.entry); ok {
		if at, ok := m.(*module).declared[name]; ok && !p.ported {
			return m.(*module).pos(p.entry, at)
		}
	}
	return engine.Pos{File: p.entry}
}

// Outline implements [engine.Outlined]. It is known for functions in the entry file.
func (p *program) Outline(name string) *engine.Outline { return p.outline(name).results }

// Lookups implements [engine.Reading]. They are known for functions in the entry file.
func (p *program) Lookups(name string) []engine.Lookup { return p.outline(name).lookups }

func (p *program) outline(name string) outline {
	m, ok := p.modules.Load(p.entry)
	if !ok {
		return outline{}
	}
	if p.ported {
		name = ""
	}
	return m.(*module).outlines[name]
}

// invalid returns the error of a file that does not parse or compile.
func (m *module) invalid(name string, err error) *engine.Error {
	e := &engine.Error{Kind: engine.KindSyntax, Pos: engine.Pos{File: name}}
	var at file.Position
	list, syntax := parser.ErrorList(nil), (*goja.CompilerSyntaxError)(nil)
	switch {
	case errors.As(err, &list) && len(list) > 0:
		at, e.Msg = list[0].Position, list[0].Message
	case errors.As(err, &syntax) && syntax.File != nil:
		at, e.Msg = syntax.File.Position(syntax.Offset), syntax.Message
	default:
		e.Msg = err.Error()
		return e
	}
	e.Pos, e.Msg = m.pos(name, at), engine.Clip(e.Msg, maxText)
	switch word, _, _ := strings.Cut(m.src[m.offset(at):], " "); word {
	case "import":
		e.Msg, e.Hint = "import is not supported", "use const lib = require(\"./lib.js\")"
	case "export":
		e.Msg, e.Hint = "export is not supported and not needed", "remove the word, or use module.exports = {…}"
	}
	m.explain(e)
	return e
}

// pos converts a position of goja, which counts bytes and ends lines in all of JavaScript's four ways, to one that counts
// characters in lines as editors show them.
func (m *module) pos(name string, at file.Position) engine.Pos {
	if m.from == nil {
		return host.At(name, m.src, m.offset(at))
	}
	before := m.src[:m.offset(at)]
	return m.from.pos(name, strings.Count(before, "\n"), before[strings.LastIndexByte(before, '\n')+1:])
}

// places returns a function that converts offsets of the file to positions.
func (m *module) places(name string) func(offset int) engine.Pos {
	lines := host.NewLines(m.src)
	return func(offset int) engine.Pos {
		line, before, ok := lines.Place(offset)
		if m.from == nil || !ok {
			return lines.At(name, offset)
		}
		return m.from.pos(name, line, before)
	}
}

// offset is where in the file a position of goja is.
func (m *module) offset(at file.Position) int {
	offset := 0
	for line := 1; line < at.Line; line++ {
		end := strings.IndexAny(m.src[offset:], "\n\r\u2028\u2029")
		if end < 0 {
			break
		}
		offset += end
		_, size := utf8.DecodeRuneInString(m.src[offset:])
		if strings.HasPrefix(m.src[offset:], "\r\n") {
			size = 2
		}
		offset += size
	}
	return min(offset+max(0, at.Column-1), len(m.src))
}

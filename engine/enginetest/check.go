package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
	"metascript/engine/tree"
)

// A report is the result of testing a script.
type report struct {
	problems []string // differences from what is expected
	detail   string   // the Detail of the error of the script, if there is one
}

// addf adds a problem.
func (r *report) addf(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// An outcome is the result of one call, or of compiling if that failed.
type outcome struct {
	called   bool // compiling did not fail
	answer   map[string]any
	err      error
	messages []engine.Message
	drawn    map[string]string
}

// A decoder makes an argument of a JSON object.
type decoder func(text string) (map[string]any, error)

// run compiles s, calls it several times with the same argument, and compares the outcomes with s.want.
func (s *script) run(ctx context.Context, runtime engine.Runtime, decode decoder) report {
	var r report
	arg, err := decode(s.request)
	if err != nil {
		r.addf("request.json: %v", err)
		return r
	}
	program, err := runtime.Compile(ctx, s.Script, s.limits)
	if err != nil {
		s.check(&r, outcome{err: err})
		return r
	}
	if f := program.Functions(); s.want.functions != nil && !slices.Equal(f, s.want.functions) {
		r.addf("functions: got %q, want %q", f, s.want.functions)
	}
	first := s.call(ctx, program, arg)
	s.check(&r, first)
	if len(r.problems) > 0 {
		return r // further calls would have the same problems
	}
	s.repeat(ctx, &r, program, arg, first)
	if before, _ := decodeObject(s.request); !reflect.DeepEqual(tree.Native(arg), any(before)) {
		r.addf("the argument was changed:\n%s", cmp.Diff(any(before), tree.Native(arg)))
	}
	return r
}

// repeat calls program a second time, and then concurrently, and compares the outcomes with the first. They differ if the program
// keeps state between calls.
func (s *script) repeat(ctx context.Context, r *report, program engine.Program, arg map[string]any, first outcome) {
	compare(r, "the second call", first, s.call(ctx, program, arg))
	var stopped *engine.Error
	if errors.As(first.err, &stopped) && (stopped.Kind.Limit() || stopped.Kind == engine.KindCanceled) {
		return // further calls would take as long as the first
	}
	var outcomes [4]outcome
	var wg sync.WaitGroup
	for i := range outcomes {
		wg.Go(func() { outcomes[i] = s.call(ctx, program, arg) })
	}
	wg.Wait()
	for _, o := range outcomes {
		compare(r, "a concurrent call", first, o)
	}
}

// call calls the function once, with the limits for compiling.
func (s *script) call(ctx context.Context, program engine.Program, arg map[string]any) outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := outcome{called: true}
	env := engine.Env{Limits: s.limits, Log: func(m engine.Message) {
		o.messages = append(o.messages, m)
		if s.cancel {
			cancel()
		}
	}}
	env.Random, o.drawn = s.random.forCall()
	o.answer, o.err = program.Call(ctx, s.function, arg, env)
	return o
}

// compare adds how a later outcome differs from the first. Scripts that were stopped may have been stopped at different positions.
func compare(r *report, which string, first, later outcome) {
	var a, b *engine.Error
	errors.As(first.err, &a)
	errors.As(later.err, &b)
	switch {
	case a != nil && b != nil && (a.Kind.Limit() || a.Kind == engine.KindCanceled):
		if a.Kind != b.Kind {
			r.addf("%s failed with %s, the first with %s", which, b.Kind, a.Kind)
		}
	case !reflect.DeepEqual(a, b):
		r.addf("%s returned another error:\n%s", which, cmp.Diff(a, b))
	case !reflect.DeepEqual(first.answer, later.answer):
		r.addf("%s returned another answer:\n%s", which, cmp.Diff(first.answer, later.answer))
	case !slices.Equal(first.messages, later.messages):
		r.addf("%s printed other messages:\n%s", which, cmp.Diff(first.messages, later.messages))
	}
}

// check compares an outcome with s.want.
func (s *script) check(r *report, o outcome) {
	var fault *engine.Error
	if errors.As(o.err, &fault) {
		r.detail = string(fault.Kind) + " " + fault.Detail()
		s.checkError(r, fault, o.called)
	}
	switch {
	case s.want.fault != nil:
		s.checkFault(r, o, fault)
	case o.err != nil:
		r.addf("failed: %s", engine.DetailOf(o.err))
	default:
		s.checkAnswer(r, o.answer)
	}
	s.checkMessages(r, o.messages)
	if s.random != nil && s.random.Drawn != nil && !maps.Equal(o.drawn, s.random.Drawn) {
		r.addf("drawn (-want +got):\n%s", cmp.Diff(s.random.Drawn, o.drawn))
	}
}

// checkAnswer compares an answer with the expected one. The dynamic types must be equal too: an int64 is not equal to a float64.
func (s *script) checkAnswer(r *report, got map[string]any) {
	want, err := decodeObject(s.want.answer)
	if err != nil {
		r.addf("want.json: %v", err)
		return
	}
	if !reflect.DeepEqual(got, want) {
		r.addf("the answer is not the expected one (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// checkFault compares the error of an outcome with the expected one.
func (s *script) checkFault(r *report, o outcome, got *engine.Error) {
	want := s.want.fault
	switch {
	case o.err == nil:
		text, err := json.Marshal(o.answer)
		r.addf("want an error %s, got an answer: %s %v", want.kinds, engine.Clip(string(text), 1000), err)
		return
	case got == nil:
		r.addf("want an engine.Error, got %T: %v", o.err, o.err)
		return
	}
	if !slices.Contains(want.kinds, got.Kind) {
		r.addf("kind: got %s, want %s", got.Kind, want.kinds)
	}
	if text := got.Msg + " (" + got.Hint + ")"; !want.message.MatchString(text) {
		r.addf("message: got %q, want a match of %q", text, want.message)
	}
	if want.pos.Line != 0 {
		pos := got.Pos
		if want.pos.Col == 0 {
			pos.Col = 0
		}
		if pos != want.pos {
			r.addf("position: got %s, want %s", got.Pos, want.pos)
		}
	}
	s.checkFrames(r, got.Trace)
}

// checkFrames checks that the trace has the expected frames in the expected order.
func (s *script) checkFrames(r *report, trace []engine.Frame) {
	rest := trace
	for _, want := range s.want.frames {
		at := slices.IndexFunc(rest, func(f engine.Frame) bool {
			return f.Pos.File == want.file && f.Pos.Line == want.line && (want.name == "" || f.Func == want.name)
		})
		if at < 0 {
			r.addf("trace: no frame %d %s at %s:%d after the frames before it in %v", want.depth, want.name, want.file, want.line, trace)
			return
		}
		rest = rest[at+1:]
	}
}

// The limits that engine.Error documents.
const (
	maxMsg   = 4 << 10
	maxTrace = 20
)

// checkError checks what must be true for every error, whether it is expected or not.
func (s *script) checkError(r *report, e *engine.Error, called bool) {
	function := ""
	if called {
		function = s.function
	}
	if e.Func != function {
		r.addf("error: Func is %q, want %q", e.Func, function)
	}
	if e.Msg == "" || len(e.Msg) > maxMsg || !utf8.ValidString(e.Msg) {
		r.addf("error: the message is empty, too long or not UTF-8: %q", engine.Clip(e.Msg, 200))
	}
	if e.Pos.File == "" {
		r.addf("error: the position has no file: %v", e)
	}
	if where := e.Pos.String(); e.Pos.Line > 0 && strings.Contains(e.Msg, where) {
		r.addf("error: the message contains the position %s: %q", where, e.Msg)
	}
	if line := s.checkPos(r, "error", e.Pos); line != e.Source {
		r.addf("error: Source is %q, want %q", e.Source, line)
	}
	if len(e.Trace) > maxTrace {
		r.addf("error: the trace has %d frames, want at most %d", len(e.Trace), maxTrace)
	}
	for i, f := range e.Trace {
		if f.Pos.Line == 0 {
			r.addf("trace[%d]: %v has no position in the script", i, f)
		}
		s.checkPos(r, fmt.Sprintf("trace[%d]", i), f.Pos)
	}
}

// checkPos checks that a position is inside a file of the script, unless it is zero. It returns the text of the line.
func (s *script) checkPos(r *report, what string, pos engine.Pos) string {
	if pos.File == "" && pos.Line == 0 && pos.Col == 0 {
		return ""
	}
	data, err := fs.ReadFile(s.Files, pos.File)
	if err != nil {
		r.addf("%s: position %s: %v", what, pos, err)
		return ""
	}
	if pos.Line == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
	if pos.Line < 0 || pos.Line > len(lines) {
		r.addf("%s: position %s: the file has %d lines", what, pos, len(lines))
		return ""
	}
	line := strings.TrimSuffix(lines[pos.Line-1], "\r")
	if n := utf8.RuneCountInString(line); pos.Col < 0 || pos.Col > n+1 {
		r.addf("%s: position %s: the line has %d characters", what, pos, n)
	}
	return line
}

// checkMessages compares the printed messages with the expected ones.
func (s *script) checkMessages(r *report, messages []engine.Message) {
	var got []string
	var size int64
	for _, m := range messages {
		s.checkPos(r, "message", m.Pos)
		got = append(got, fmt.Sprintf("%s %s:%d %s", m.Level, m.Pos.File, m.Pos.Line, m.Text))
		size += int64(len(m.Text))
	}
	if limit := s.limits.WithDefaults().Log + truncation; size > limit {
		r.addf("messages: %d bytes, more than the limit of %d", size, limit)
	}
	if !matchMessages(got, s.want.messages) {
		r.addf("messages: got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(s.want.messages, "\n  "))
	}
}

// truncation is the maximum size of the message with which an engine reports that it dropped further messages.
const truncation = 64

// matchMessages reports whether the lines got match the lines want: "..." matches any number of lines, and a text that begins with
// ~ is a regular expression.
func matchMessages(got, want []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "..." {
		for i := range len(got) + 1 {
			if matchMessages(got[i:], want[1:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && matchMessage(got[0], want[0]) && matchMessages(got[1:], want[1:])
}

func matchMessage(got, want string) bool {
	head, pattern, ok := strings.Cut(want, " ~")
	if !ok {
		return got == want
	}
	text, ok := strings.CutPrefix(got, head+" ")
	matched, err := regexp.MatchString("(?s)"+pattern, text)
	return ok && matched && err == nil
}

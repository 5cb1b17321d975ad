package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Kind classifies an [Error]: callers use it for decisions, and show the message to people.
type Kind string

// The kinds of faults.
const (
	KindSyntax   Kind = "Syntax"   // the source does not parse or resolve
	KindModule   Kind = "Module"   // load, require or import of a file that does not exist, or in a cycle
	KindMissing  Kind = "Missing"  // the script defines no such function
	KindParams   Kind = "Params"   // the function's parameters cannot be filled from the request
	KindRuntime  Kind = "Runtime"  // an operation of the script failed: a missing key, a TypeError
	KindRaised   Kind = "Raised"   // the script raised it on purpose: fail(), throw new Error(), Jsonnet's error
	KindResult   Kind = "Result"   // the answer is not JSON-shaped: not an object, a function in it, NaN, a cycle
	KindTimeout  Kind = "Timeout"  // Limits.Timeout
	KindSteps    Kind = "Steps"    // Limits.Steps
	KindMemory   Kind = "Memory"   // Limits.Memory
	KindOutput   Kind = "Output"   // Limits.Output, Nodes or Depth
	KindStack    Kind = "Stack"    // Limits.Stack
	KindSource   Kind = "Source"   // Limits.Source, or source that cannot be read
	KindKey      Kind = "Key"      // it draws a random value, and there is no key; see [Random]
	KindCanceled Kind = "Canceled" // the caller's ctx is done, there was no CPU time for it, or the key of its random values cannot be read; not a fault of the script
	KindPanic    Kind = "Panic"    // the interpreter panicked
)

// Limit reports whether k means that a limit was exceeded.
func (k Kind) Limit() bool {
	switch k {
	case KindTimeout, KindSteps, KindMemory, KindOutput, KindStack, KindSource:
		return true
	}
	return false
}

// IsKind reports whether err is an [*Error] of kind k.
func IsKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e != nil && e.Kind == k
}

// IsLimit reports whether err is an [*Error] that says that a limit was exceeded.
func IsLimit(err error) bool {
	var e *Error
	return errors.As(err, &e) && e != nil && e.Kind.Limit()
}

// A Pos is a place in a script. Line and Col count from 1, Col in characters; zero means unknown.
type Pos struct {
	File      string // a path in Script.Files
	Line, Col int
}

// String returns "file:line:col", without the parts that are unknown.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// A Frame is one call in a script's stack.
type Frame struct {
	Func  string // the name of the called function
	Pos   Pos    // the position in that function
	Times int    // how often this call, or the group of calls with the same Times to which it belongs, repeats; 0 is once
}

// An Error is a fault of a user's script, not of the server. Error returns one line for events, Detail the full text for logs,
// conditions and terminals.
type Error struct {
	Kind   Kind
	Pos    Pos     // where it happened, where the compiler stopped, or the called function if no more is known
	At     Path    // of KindResult: the value in the answer that it is about; nil if it is not about a single one
	Func   string  // the function that Call called; "" while compiling
	Msg    string  // what is wrong, at most maxMsg bytes
	Source string  // the text of line Pos.Line, without the newline; "" if unknown
	Hint   string  // what to do about it, or ""
	Trace  []Frame // the calls that led there, innermost first, at most maxTrace
	Stack  string  // the interpreter's stack if it panicked, only for the server's log
}

// The limits of an [Error]'s message, in bytes, and of its trace, in frames.
const (
	maxMsg   = 4 << 10
	maxTrace = 20
)

// Error returns "file:line:col: in function: message (hint)" on one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.where())
	b.WriteString(strings.Join(strings.Fields(e.Msg), " "))
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// where returns "file:line:col: in function: ", without the parts that are unknown.
func (e *Error) where() string {
	where := ""
	if pos := e.Pos.String(); pos != "" {
		where = pos + ": "
	}
	if e.Func != "" {
		where += "in " + e.Func + ": "
	}
	return where
}

// Detail returns the error over several lines: position and message, the source line with a caret below it, the
// calls that led there, and the hint.
func (e *Error) Detail() string {
	var b strings.Builder
	b.WriteString(e.where())
	b.WriteString(e.Msg)
	if e.Source != "" {
		b.WriteString("\n" + Excerpt(e.Source, e.Pos.Col))
	}
	for _, f := range e.shownTrace() {
		fmt.Fprintf(&b, "\n  at %s (%s)", f.Func, f.Pos)
		if f.Times > 1 {
			fmt.Fprintf(&b, ", %d times", f.Times)
		}
	}
	if e.Hint != "" {
		b.WriteString("\n  hint: " + e.Hint)
	}
	return b.String()
}

// shownTrace returns the trace, unless it only repeats the function and the line.
func (e *Error) shownTrace() []Frame {
	if len(e.Trace) != 1 || e.Trace[0].Pos.File != e.Pos.File || e.Trace[0].Pos.Line != e.Pos.Line || e.Func != "" && e.Func != e.Trace[0].Func {
		return e.Trace
	}
	return nil
}

// excerptWidth is how many characters of a long source line are shown around the caret.
const excerptWidth = 120

// Excerpt returns a line of a text, indented, and below it a caret under column col, counted from 1 in characters. If col is 0 there is no
// caret. Of a long line only a part is shown.
func Excerpt(line string, col int) string {
	r := []rune(line)
	at := min(max(col-1, 0), len(r))
	from := 0
	if len(r) > excerptWidth {
		from = max(0, at-excerptWidth/2)
	}
	shown := r[from:min(len(r), from+excerptWidth)]
	out := "    " + string(shown)
	if col == 0 {
		return out
	}
	pad := make([]rune, at-from)
	for i := range pad {
		pad[i] = ' '
		if shown[i] == '\t' { // so that the caret has the same indentation
			pad[i] = '\t'
		}
	}
	return out + "\n    " + string(pad) + "^"
}

// complete adds the called function and the source line, if they are missing, and cuts texts that are too long.
func (e *Error) complete(fn string, from *sources) *Error {
	if e.Func == "" {
		e.Func = fn
	}
	if e.Source == "" {
		e.Source, e.Pos = from.line(e.Pos)
	}
	e.Msg = Clip(e.Msg, maxMsg)
	e.Hint = Clip(e.Hint, maxMsg)
	e.Trace = e.Trace[:min(len(e.Trace), maxTrace):min(len(e.Trace), maxTrace)]
	return e
}

// Clip shortens s to at most n bytes and adds a note that it was cut. It cuts between two words, if that is near: the beginning of a word can be
// that of a value of a Secret, and too short to be recognized later. Otherwise it cuts between two characters.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const more = "…"
	cut := max(0, n-len(more))
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	if near := max(cut-longestWord, cut/2); near < cut {
		if at := strings.LastIndexAny(s[near:cut], " \t\r\n\"'=:,;"); at >= 0 {
			cut = near + at + 1
		}
	}
	return s[:cut] + more
}

// longestWord is how many bytes Clip looks back for the beginning of a word.
const longestWord = 256

// Stopped returns the error of a script that was stopped because ctx is done: a timeout if its deadline passed, otherwise
// canceled.
func Stopped(ctx context.Context, at Pos, l Limits) *Error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &Error{
			Kind: KindTimeout, Pos: at,
			Msg:  fmt.Sprintf("timed out after %s", l.WithDefaults().Timeout),
			Hint: "look for a loop that does not end, or raise timeout",
		}
	}
	return &Error{Kind: KindCanceled, Pos: at, Msg: "canceled"}
}

// TooManySteps returns the error of a script that exceeded its limit of steps.
func TooManySteps(at Pos, l Limits) *Error {
	return &Error{
		Kind: KindSteps, Pos: at,
		Msg:  fmt.Sprintf("ran more than %d steps", l.WithDefaults().Steps),
		Hint: "look for a loop that does not end, or raise limits.steps",
	}
}

// TooMuchMemory returns the error of a script that exceeded its limit of memory. what names the operation, such as "the string
// repetition"; "" is the script as a whole.
func TooMuchMemory(at Pos, l Limits, what string) *Error {
	if what == "" {
		what = "the script"
	}
	return &Error{
		Kind: KindMemory, Pos: at,
		Msg:  fmt.Sprintf("%s needs more than %s of memory", Clip(what, maxName), Size(l.WithDefaults().Memory)),
		Hint: "build less at a time, or raise limits.memory",
	}
}

// Size formats a number of bytes as the API does: 64Mi.
func Size(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// DetailOf returns the Detail of the [*Error] or [*Located] in err, in its context, or err's own text if there is none.
func DetailOf(err error) string {
	var e interface {
		error
		Detail() string
	}
	if !errors.As(err, &e) {
		return err.Error()
	}
	return strings.Replace(err.Error(), e.Error(), e.Detail(), 1)
}

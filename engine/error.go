package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// A Kind says what sort of fault an [Error] is; callers decide by it, people read the message.
type Kind string

// The kinds of faults.
const (
	KindSyntax   Kind = "Syntax"   // the source does not parse or resolve
	KindModule   Kind = "Module"   // load, require or import of a file that is not there, or in a cycle
	KindMissing  Kind = "Missing"  // the script defines no such function
	KindParams   Kind = "Params"   // the function's parameters cannot be filled from the request
	KindRuntime  Kind = "Runtime"  // the script failed by itself: a missing key, a TypeError
	KindRaised   Kind = "Raised"   // the script said so on purpose: fail(), throw new Error(), Jsonnet's error
	KindResult   Kind = "Result"   // the answer is not JSON-shaped: not an object, a function in it, NaN, a cycle
	KindTimeout  Kind = "Timeout"  // Limits.Timeout
	KindSteps    Kind = "Steps"    // Limits.Steps
	KindMemory   Kind = "Memory"   // Limits.Memory
	KindOutput   Kind = "Output"   // Limits.Output, Nodes or Depth
	KindStack    Kind = "Stack"    // Limits.Stack
	KindSource   Kind = "Source"   // Limits.Source, or source that cannot be read
	KindCanceled Kind = "Canceled" // the caller gave up, or there was no processor for it; not the script's fault
	KindPanic    Kind = "Panic"    // the interpreter panicked
)

// Limit reports whether k says that a limit was hit.
func (k Kind) Limit() bool {
	switch k {
	case KindTimeout, KindSteps, KindMemory, KindOutput, KindStack, KindSource:
		return true
	}
	return false
}

// A Pos is a place in a script. Line and Col count from 1, Col in characters; zero means unknown.
type Pos struct {
	File      string
	Line, Col int
}

// String returns "file:line:col", leaving out what is unknown.
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
	Func string
	Pos  Pos
}

// An Error is a fault of a user's script, never of ours. Error gives one line for events, Detail the whole for
// logs, conditions and terminals.
type Error struct {
	Kind   Kind
	Pos    Pos     // where it happened, where the compiler gave up, or where the function begins if no more is known
	Func   string  // the function that was called from outside; "" while compiling
	Msg    string  // what is wrong, at most maxMsg bytes
	Source string  // the text of line Pos.Line, without its end; "" when unknown
	Hint   string  // what to do about it, when we know
	Trace  []Frame // the calls that led there, innermost first, at most maxTrace
	Stack  string  // the interpreter's own stack when it panicked, for our log alone
}

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

// where returns "file:line:col: in function: ", as far as it is known.
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
		b.WriteString("\n" + excerpt(e.Source, e.Pos.Col))
	}
	for _, f := range e.Trace {
		fmt.Fprintf(&b, "\n  at %s (%s)", f.Func, f.Pos)
	}
	if e.Hint != "" {
		b.WriteString("\n  hint: " + e.Hint)
	}
	return b.String()
}

// excerptWidth is how much of a long source line is shown around the caret.
const excerptWidth = 120

// excerpt returns the source line and, below it, a caret under column col.
func excerpt(line string, col int) string {
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
		if shown[i] == '\t' { // a tab is as wide above as below
			pad[i] = '\t'
		}
	}
	return out + "\n    " + string(pad) + "^"
}

// complete fills in what e can do without and a reader cannot: the function that was called, the source line, and
// that nothing is longer than it may be.
func (e *Error) complete(fn string, files fs.FS) *Error {
	if e.Func == "" {
		e.Func = fn
	}
	if e.Source == "" {
		e.Source, e.Pos = sourceLine(files, e.Pos)
	}
	e.Msg = Clip(e.Msg, maxMsg)
	e.Hint = Clip(e.Hint, maxMsg)
	e.Trace = e.Trace[:min(len(e.Trace), maxTrace):min(len(e.Trace), maxTrace)]
	return e
}

// sourceLine returns the text of the line at pos, "" when it is unknown, and the position in it. A position behind the
// last line, where a compiler misses the rest, becomes the end of what there is, since there is nothing to show
// behind it.
func sourceLine(files fs.FS, pos Pos) (string, Pos) {
	if pos.Line <= 0 || !fs.ValidPath(pos.File) {
		return "", pos
	}
	text, err := fs.ReadFile(files, pos.File)
	if err != nil {
		return "", pos
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // which no compiler counts as a column
	number, last, end := 0, "", pos
	for line := range bytes.Lines(text) {
		number++
		shown := string(bytes.TrimRight(line, "\r\n"))
		if number == pos.Line {
			return shown, pos
		}
		if strings.TrimSpace(shown) != "" {
			last, end.Line, end.Col = shown, number, utf8.RuneCountInString(shown)+1
		}
	}
	return last, end
}

// Clip shortens s to at most n bytes, at a character's border, and says so.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const more = "…"
	cut := max(0, n-len(more))
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}

// Stopped is the error of a script that was ended because ctx is done: a timeout when its deadline passed, else
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

// TooManySteps is the error of a script that took more steps than it may.
func TooManySteps(at Pos, l Limits) *Error {
	return &Error{
		Kind: KindSteps, Pos: at,
		Msg:  fmt.Sprintf("ran more than %d steps", l.WithDefaults().Steps),
		Hint: "look for a loop that does not end, or raise limits.steps",
	}
}

// TooMuchMemory is the error of a script that wants more memory than it may have. What names the operation, such as
// "the string repetition"; "" is the script as a whole.
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

// Size writes a number of bytes as the API does: 64Mi.
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

// DetailOf returns the Detail of the script error in err, in its context, or err's own text when there is none.
func DetailOf(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return strings.Replace(err.Error(), e.Error(), e.Detail(), 1)
}

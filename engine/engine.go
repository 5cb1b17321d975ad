// Package engine runs user scripts within limits. It knows nothing of Kubernetes: a request comes in as a
// JSON-shaped value, a script's function is called with it, and its answer goes out as a JSON-shaped value.
//
// The vocabulary is small. A [Script] is source text. A [Runtime] compiles scripts of one language into a
// [Program], whose functions are called. An [Engine] is a Runtime for every language it was given: it keeps
// compiled programs by content ([Script.Digest]), bounds how many scripts run at once, puts a deadline on every
// compile and every call, and fences panics. Whatever goes wrong in a script comes out as an [*Error], which says
// where, what and, when we know one, what to do.
//
// # Values
//
// JSON-shaped means exactly these dynamic types: nil, bool, int64, float64, string, []any and map[string]any with
// string keys, nested at will. An argument may be shared with others and is never written to, neither by the
// runtime nor by the script. An answer may contain parts of the argument by reference: treat it as read-only, and
// copy what you mean to change.
package engine

import (
	"context"
	"io/fs"
	"time"
)

// The languages a script may be written in, as they are spelled in the API.
const (
	Starlark   = "Starlark"
	JavaScript = "JavaScript"
	Jsonnet    = "Jsonnet"
)

// A Script is source text in one language: an entry file and the files it may load.
type Script struct {
	// Language is one of the languages above.
	Language string
	// Entry is the path of the entry file in Files, such as "sync.star". It is the name that errors show.
	Entry string
	// Files is an immutable snapshot of all that load, require or import can reach; nothing outside it exists.
	Files fs.FS
	// Owner names on whose behalf the script is compiled; see [Env]. It is no part of the content.
	Owner string
}

// A Runtime compiles scripts of one language. Compiling may run user code (a module's top level), so it is bounded
// by ctx and l like a call. A fault of the script is returned as an [*Error].
type Runtime interface {
	Compile(ctx context.Context, s Script, l Limits) (Program, error)
}

// A Program is compiled, immutable and safe for concurrent use, and remembers nothing from one call to the next.
type Program interface {
	// Functions lists, sorted, the names of the functions that Call can run.
	Functions() []string

	// Call runs function fn with arg, a JSON-shaped map whose fields the function's parameters are named after,
	// and returns its answer, a JSON-shaped map within env.Limits. It returns soon after ctx is done. A fault of
	// the script is an [*Error].
	Call(ctx context.Context, fn string, arg map[string]any, env Env) (map[string]any, error)
}

// A Ported program was written for another host, whose conventions it keeps: a JavaScript file whose export is one
// function (the shape of Metacontroller's Node.js examples) or a Jsonnet file that is one function (jsonnetd's).
// Functions lists "sync" alone, Call accepts every name and runs that one function, and answers are to be judged
// as leniently as those of a webhook.
type Ported interface{ Ported() bool }

// A Placed program knows where its functions are written. The position has no line for a function of which it does not.
type Placed interface{ Place(fn string) Pos }

// An Accuser makes errors about what a program's functions answered, by rules that the engine does not know: of kind
// Result, at the function, with its line. The programs of an [Engine] are Accusers.
type Accuser interface {
	Accuse(fn, msg string) *Error
}

// Env is what a single call is given besides its argument.
type Env struct {
	// Owner names on whose behalf the script runs. Owners take turns, and no two of them share a worker process at
	// the same time.
	Owner string
	// Limits bound the call; the zero value means the defaults.
	Limits Limits
	// Identify, if set, says which version of which thing a map within the argument is, or gives "" for one that it
	// does not know. Two maps with the same id and version are equal, so that a runtime or a worker may keep what it
	// derived from one for the other. Maps are looked up down to the fourth level of the argument.
	Identify func(object map[string]any) (id, version string)
	// Log receives what the script prints, in order, from the goroutine that runs it; nil drops it. An Engine
	// hands on at most Limits.Log bytes.
	Log func(Message)
}

// A Message is a line that a script printed.
type Message struct {
	Level Level
	Pos   Pos // where the print stands, as far as the language tells
	Text  string
}

// A Level says how a message is to be logged.
type Level string

// The levels of messages: print and std.trace give Info.
const (
	Debug Level = "debug"
	Info  Level = "info"
	Warn  Level = "warn"
	Err   Level = "error"
)

// Limits bound one compile or one call. A field that is zero or negative means its default.
type Limits struct {
	Timeout time.Duration // processor time that the script has, never more than the time that passes; default 5s
	Steps   int64         // in the language's nearest measure: Starlark opcodes, Jsonnet AST nodes; default 50 million
	Memory  int64         // bytes that one call may hold, approximately; default 64 MiB
	Output  int64         // bytes of the answer, as JSON; default 4 MiB
	Nodes   int           // values in the answer, scalars included; default 100,000
	Depth   int           // nesting of the answer; default 64
	Stack   int           // nested calls of script functions; default 500
	Source  int64         // bytes of all source files of a script together; default 1 MiB
	Log     int64         // bytes of messages in one call, 16 for each besides its text; default 64 KiB
}

// WithDefaults returns l with every field that is unset given its default.
func (l Limits) WithDefaults() Limits {
	orDefault(&l.Timeout, 5*time.Second)
	orDefault(&l.Steps, 50_000_000)
	orDefault(&l.Memory, 64<<20)
	orDefault(&l.Output, 4<<20)
	orDefault(&l.Nodes, 100_000)
	orDefault(&l.Depth, 64)
	orDefault(&l.Stack, 500)
	orDefault(&l.Source, 1<<20)
	orDefault(&l.Log, 64<<10)
	return l
}

func orDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

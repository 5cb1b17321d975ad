// Package engine runs user scripts within limits. It does not depend on Kubernetes: a request is a JSON-shaped value, a
// function of a script is called with it, and its answer is a JSON-shaped value.
//
// The main types: a [Script] is source text. A [Runtime] compiles scripts of one language into a [Program], whose functions
// are called. An [Engine] is a Runtime for several languages: it caches compiled programs by content ([Script.Digest]), limits
// how many scripts run at the same time, sets a deadline for every compilation and every call, and recovers panics. Every
// fault of a script is returned as an [*Error], which says where, what and, if known, what to do.
//
// # Values
//
// JSON-shaped means exactly these dynamic types: nil, bool, int64, float64, string, []any and map[string]any with string keys,
// nested at any depth. In an argument, a [Map] may be in place of a map, and an [Array] in place of a slice: so large objects are read
// where they are, and only the parts that a script reads are converted. Package packed has an implementation.
//
// An argument may be shared with others and is never modified, neither by the runtime nor by the script. An answer has only maps and
// slices. It may contain parts of the argument by reference: treat it as read-only, and copy what you want to change.
package engine

import (
	"context"
	"io/fs"
	"time"
)

// The languages of scripts, with their names in the API.
const (
	Starlark   = "Starlark"
	JavaScript = "JavaScript"
	TypeScript = "TypeScript"
	Jsonnet    = "Jsonnet"
)

// A Script is source text in one language: an entry file and the files it may load.
type Script struct {
	// Language is one of the languages above.
	Language string
	// Entry is the path of the entry file in Files, such as "sync.star". It is the name that errors show.
	Entry string
	// Files is an immutable snapshot of all files that load, require or import can find.
	Files fs.FS
	// Tenant and Owner say for whom the script is compiled; see [Env]. They are not part of the content.
	Tenant, Owner string
}

// A Runtime compiles scripts of one language. Compiling may run user code (a module's top level), so it is limited
// by ctx and l like a call. A fault of the script is returned as an [*Error].
type Runtime interface {
	Compile(ctx context.Context, s Script, l Limits) (Program, error)
}

// A Program is compiled, immutable and safe for concurrent use. It keeps no state between calls.
type Program interface {
	// Functions returns the names of the functions that Call can run, sorted.
	Functions() []string

	// Call calls function fn with arg, a JSON-shaped map whose keys are the names of parameters, and returns its answer, a
	// JSON-shaped map within env.Limits. It returns soon after ctx is done. A fault of the script is an [*Error].
	Call(ctx context.Context, fn string, arg map[string]any, env Env) (map[string]any, error)
}

// A Ported program was written for another host, and follows its conventions: a JavaScript file whose export is one function
// (like Metacontroller's Node.js examples) or a Jsonnet file that is one function (like jsonnetd's). Functions returns only
// "sync", Call accepts every name and runs that one function, and answers are to be decoded as leniently as those of a
// webhook.
type Ported interface{ Ported() bool }

// A Placed program knows the positions of its functions. A position has no line if it is unknown.
type Placed interface{ Place(fn string) Pos }

// An ErrorMaker makes errors about the requests and answers of a program's functions, for rules that the engine does not know. The
// programs of an [Engine] are ErrorMakers.
type ErrorMaker interface {
	// ResultError returns an error of KindResult about the value at a place in an answer of the function fn. Its position is
	// where the value is written, if that is known, or else that of the function.
	ResultError(fn string, answer map[string]any, at Path, msg, hint string) *Error

	// LookupError returns an error about a lookup of the function fn.
	LookupError(fn string, l Lookup, msg, hint string) *Error
}

// A Written program knows its source text. The programs of an [Engine] are Written.
type Written interface {
	// Language returns the language of the script.
	Language() string
	// Quotes reports whether the text occurs in a string in the source. It may be true for other quoted text too.
	Quotes(text string) bool
}

// A Timed program knows which of its files may read the time: that of the request, or of a clock.
type Timed interface {
	// MayReadTime reports whether a file of the script may read the time. It is true if it is not known. It is not noticed if a script goes
	// through all fields of the request, or computes a name.
	MayReadTime(file string) bool
}

// Env is the environment of a single call.
type Env struct {
	// Tenant is the group of controllers to which Owner belongs. Tenants do not trust each other: they take turns, never share
	// a worker process, and nothing that is remembered of a script of one tenant is used for another, so that no tenant can
	// find out whether another has the same script. Owners of different tenants are different, also if their names are equal.
	Tenant string
	// Owner is the controller for which the script runs. The owners of a tenant take turns, and no two of them share a worker
	// process at the same time.
	Owner string
	// Limits bound the call; the zero value means the defaults.
	Limits Limits
	// Identify, if set, returns the identity and version of a map within the argument, or "" for one that it does not know.
	// Two maps with the same id and version are equal, so that a runtime or a worker may reuse what it derived from one for
	// the other, in calls of the same tenant. Maps are looked up down to the fourth level of the argument.
	Identify func(object Map) (id, version string)
	// Random gives the script random values. If it is nil, a call that draws one fails with KindKey.
	Random *Random
	// Log receives what the script prints, in order, from the goroutine that runs it; nil drops it. An Engine passes at most
	// Limits.Log bytes.
	Log func(Message)
}

// A Message is a line that a script printed.
type Message struct {
	Level Level
	Pos   Pos // the position of the call that printed it; zero if the language does not report it
	Text  string
}

// A Level is the log level of a message.
type Level string

// The levels of messages. print and std.trace use Info.
const (
	Debug Level = "debug"
	Info  Level = "info"
	Warn  Level = "warn"
	Err   Level = "error"
)

// Limits limit one compilation or one call. A field that is zero or negative means its default.
type Limits struct {
	Timeout time.Duration // CPU time of the script, never more than the time that passes; default 5s
	Steps   int64         // operations: Starlark opcodes, Jsonnet AST nodes; default 50 million
	Memory  int64         // bytes that one call may use, approximately; default 64 MiB
	Output  int64         // bytes of the answer, as JSON; default 4 MiB
	Nodes   int           // values in the answer, with scalars; default 100,000
	Depth   int           // nesting of the answer; default 64
	Stack   int           // nested calls of script functions; default 500
	Source  int64         // bytes of all source files of a script together; default 1 MiB
	Log     int64         // bytes of messages in one call, plus 16 for each; default 64 KiB
}

// WithDefaults returns l with the default for every field that is not set.
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

// orDefault sets a field that is zero or negative to value.
func orDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

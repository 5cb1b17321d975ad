// Package jsonnet runs Jsonnet scripts with go-jsonnet. [New] is all there is to call.
//
// A script is a file that evaluates to a function, the shape of jsonnetd's (it serves sync, and its program is
// [engine.Ported]), or to an object with fields that are functions, visible or hidden:
//
//	{
//	  sync(parent, children):: { status: { pods: std.length(children['Pod.v1']) }, children: [] },
//	}
//
// Compiling parses the entry file and everything it imports, once, and links them to one syntax tree that all calls
// share (module.go). Then it evaluates the entry to see which functions there are (discover.go): it looks at values
// and not at source text, so that `lib + {...}`, `local lib = import ...; {...}` and `sync: lib.make('x')` are all
// the same to it. A field that fails with an `error` is taken for a function that fails so when it is called: it may
// be abstract, there for others to override. A field that fails in another way is a mistake, and so is an object all
// of whose fields fail: the script does not compile. The parameters of a function are read off its syntax tree,
// which we come by in the interpreter's hook (hook.go), whoever made the function.
//
// A call has a VM of its own (program.go). The request becomes nodes of a syntax tree, each filled in when the
// interpreter first evaluates it (value.go), so that a large request of which little is read costs little.
//
// The library that every language has is imported as metascript.libsonnet: a file that calls std.native, which has no other
// use here (library.go).
//
// # Limits
//
// The interpreter has no notion of a context, of steps or of a deadline. Its hook for debuggers is called before
// and after each node is evaluated, those of std included: there we count steps, look at the context and bound how
// deep the Go stack grows (hook.go). What it does in Go, without a node, is looked at before it begins: rules.go has
// a rule for each operator and each field of std, and what has none does not exist for a script; walk.go goes through
// values as comparing and printing them does. For that
// the interpreter's builtins are wrapped in place, once in a process, after the layout of its values has been
// compared with what we know of it (native.go): with another version of go-jsonnet nothing compiles. Source that
// the parser would choke on is refused before (module.go).
//
// What remains:
//   - The parser and the analysis of one file, at most 256 KiB, see no context. They take up to a second and a few
//     hundred megabytes of stack for the worst of texts that pass.
//   - One value is bounded by Limits.Memory; what many values hold together is not counted here but left to the
//     engine's watchdog, which ends the context.
//   - A native pass over a value of that size, such as sorting or hashing it, is finished before the context is
//     looked at: some 100 ms.
//
// # Speed
//
// The trees of objects that [engine.Env.Identify] has a name for are kept from call to call (objects.go). Plain
// uses of the operator % do not go through std.format (format.go). The answer is taken from the interpreter's
// values as they are, with exact integers in it (value.go).
//
// # Numbers
//
// Jsonnet has only float64, exact up to 2^53. An integer of the request beyond that can be passed on, and nothing
// else: it is exact in the answer, and an attempt to read it as a number is an error that names it. What does not
// notice is std.type, which says "function", std.length, and std.equals and == of what contains such an integer,
// which find it different from a number. A float64 of the request is read as it is. In an answer, numbers without a fraction are int64, and one
// beyond 2^53 is an error unless the request had the same float64.
package jsonnet

import (
	"context"

	gojsonnet "github.com/google/go-jsonnet"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/runtimes/internal/measure"
)

// New returns the runtime for Jsonnet.
func New() engine.Runtime { return runtime{} }

type runtime struct{}

// Compile implements [engine.Runtime].
func (runtime) Compile(ctx context.Context, s engine.Script, l engine.Limits) (engine.Program, error) {
	if err := hookError(); err != nil {
		return nil, err
	}
	if err := ready(); err != nil {
		return nil, err
	}
	limits := l.WithDefaults()
	files := loader{
		files: s.Files, limits: limits, loaded: map[string]bool{}, data: map[string]gojsonnet.Contents{}, tally: measure.Tally{},
	}
	if err := files.load(ctx, s.Entry, nil); err != nil {
		return nil, err
	}
	p := &program{entry: s.Entry, binds: files.binds, data: files.data, library: files.loaded[host.Library]}
	if err := p.discover(ctx, limits); err != nil {
		return nil, err
	}
	return p, nil
}

// Package jsonnet runs Jsonnet scripts with go-jsonnet. [New] returns the runtime.
//
// A script is a file that evaluates to an object with fields that are functions, visible or hidden, or to a function. The latter is
// the form of jsonnetd: the function is sync, and the program is [engine.Ported]. A script with an object looks like this:
//
//	{
//	  sync(parent, children):: { status: { pods: std.length(children['Pod.v1']) }, children: [] },
//	}
//
// Compile parses the entry file and everything that it imports, once, and links them to one syntax tree that all calls share
// (module.go). Then it evaluates the entry file to find the functions (discover.go). It checks values and not source text, so
// `lib + {...}`, `local lib = import ...; {...}` and `sync: lib.make('x')` all work. A field whose evaluation fails with an `error`
// counts as a function that fails with that error when it is called: it may be abstract, to be overridden. If a field fails in
// another way, or all fields fail, the script does not compile. The parameters of a function are read from its syntax tree, which
// the interpreter's hook provides (hook.go), even if the function was made in another file.
//
// A call has its own interpreter (program.go), a copy of one that is ready (interpreter.go). The request becomes nodes of a syntax
// tree. A node is filled in when the interpreter first evaluates it (part.go), so a large request costs little if the script reads
// little of it. Packed objects are read where they are.
//
// The library that every language has is imported as metascript.libsonnet. That file calls std.native, which has no other use
// (library.go).
//
// # Limits
//
// The interpreter has no context, no steps and no deadline. Its hook for debuggers is called before and after the evaluation of
// each node, including those of std. The hook counts steps, checks the context and limits the depth of the Go stack (hook.go).
// Operations that are written in Go, without nodes, are checked before they begin: rules.go has a rule for each operator and each
// field of std, and what has no rule does not exist for a script. walk.go visits values in the same way as the interpreter compares
// and prints them. For these checks, the interpreter's builtins are wrapped in place, once in a process, after the layout of its
// values has been checked (native.go). If a version of go-jsonnet has another layout, no script compiles. Source that is too
// expensive for the parser is refused before it is parsed (measure.go).
//
// What is not limited exactly:
//   - The parser and the analysis of one file, at most 256 KiB, check no context. For the most expensive texts that are accepted,
//     they use up to a second and a few hundred megabytes of stack.
//   - Limits.Memory limits one value. The memory of many values together is limited by the engine's watchdog, which cancels the
//     context.
//   - A native operation on a value of that size, such as sorting or hashing it, finishes before the context is checked: some
//     100 ms.
//
// # Speed
//
// Loops, and the conversion of the answer, are evaluated here instead of by the interpreter where that is possible (fast.go,
// fastcall.go).
//
// The trees of objects that [engine.Env.Identify] can identify are cached between calls (objects.go). Simple uses of the operator %
// do not call std.format (format.go). The result is converted directly from the interpreter's values, with exact integers
// (value.go).
//
// # Numbers
//
// Jsonnet has only float64, which is exact up to 2^53. An integer of the request beyond that can only be returned: it is exact in
// the result, and to use it as a number is an error with its path. There are exceptions without an error: std.type returns
// "function", std.length works, and std.equals and == of values that contain such an integer find it different from a number. A
// float64 of the request is read as it is. In a result, numbers without a fraction are int64; a number beyond 2^53 is an error
// unless the request has the same float64.
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
	if err := prepareInterpreter(); err != nil {
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
	p.outline()
	return p, nil
}

// Package starlark runs Starlark scripts with go.starlark.net.
//
// A script is a file whose top-level functions serve:
//
//	def sync(parent, children):
//	    return {"status": {"pods": len(children["Pod.v1"])}, "children": []}
//
// [New] is all there is to call. Compiling parses the entry file and all that it loads, depth first (module.go),
// rewrites a few operators (rewrite.go), runs every file's top level once, and freezes what that leaves: it is shared
// by all calls, which may run at once. Which functions there are is seen then, so that an assigned lambda or a
// function that comes from a module serves as well.
//
// A call has a thread of its own (program.go). The request is shown through views (view.go), which read the caller's
// maps and lists when they are asked to and copy nothing; what the script answers is converted within limits
// (value.go), and parts of the request in it go out as they came in.
//
// # Dialect
//
// Sets, and if and for at the top level, are on; while and recursion are off. There are the modules json (encode,
// decode), math, and time (parsing and arithmetic, no clock); see builtin.go. The library that every language has is loaded
// as metascript.star (library.go). Dot access works on what comes from the
// request: parent.spec.image is parent["spec"]["image"], but a method of dicts such as items wins over a field of that
// name. To a script, a view's type is "dict" or "list", and it behaves like one that is frozen. What `x |= y` and
// `x += y` do where x is a view is to make a new dict or list, as with tuples.
//
// # Limits
//
// Steps are the interpreter's: an instruction is one. It cannot be ended within one, so what an instruction may do is
// bounded, and counted as more than one where it does much: rules.go has a rule for all that a script can reach, and what
// has none does not exist; guard.go says what the guards do.
//
// What remains: reading a file, before it runs, sees no deadline, and takes some tenths of a second for a mebibyte; one
// pass over a value as large as limits.memory takes some hundredths; and the sum of many values is left to the engine's
// watchdog.
package starlark

import (
	"context"
	"slices"

	"go.starlark.net/starlark"

	"metascript/engine"
	"metascript/runtimes/internal/measure"
)

// New returns the runtime for Starlark.
func New() engine.Runtime { return runtime{} }

type runtime struct{}

// Compile implements [engine.Runtime]. What the top level prints is dropped.
func (runtime) Compile(ctx context.Context, s engine.Script, l engine.Limits) (engine.Program, error) {
	ev, end := newEvaluation(ctx, l, nil)
	defer end()
	modules := loader{files: s.Files, ev: ev, loaded: map[string]starlark.StringDict{}, tally: measure.Tally{}}
	globals, err := modules.load(ctx, s.Entry)
	if err != nil {
		return nil, err
	}
	p := &program{entry: s.Entry, globals: globals}
	for name, v := range globals {
		if _, ok := v.(*starlark.Function); ok {
			p.functions = append(p.functions, name)
		}
	}
	slices.Sort(p.functions)
	return p, nil
}

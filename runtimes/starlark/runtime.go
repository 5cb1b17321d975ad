// Package starlark runs Starlark scripts with go.starlark.net.
//
// A script is a file whose top-level functions are the hooks:
//
//	def sync(parent, children):
//	    return {"status": {"pods": len(children["Pod.v1"])}, "children": []}
//
// [New] returns the runtime. Compile parses the entry file and all files that it loads, depth first (module.go), rewrites a
// few operators (rewrite.go), runs the top level of every file once, and freezes the globals: all calls share them, and calls
// may run at the same time. The functions are found after the top level has run, so a lambda that is assigned to a name, or a
// function that is loaded from a module, is a function of the script too.
//
// A call has its own thread (program.go). The script reads the request through views (view.go), which read the caller's maps
// and lists on demand and copy nothing. The result of the function is converted within limits (value.go); parts of the request
// that are in the result are returned by reference.
//
// # Dialect
//
// Sets, and if and for at the top level, are enabled; while and recursion are disabled. The modules are json (encode, decode),
// math, and time (parsing and arithmetic, no clock); see builtin.go. The library that every language has is loaded as
// metascript.star (library.go). Dot access works on parts of the request: parent.spec.image is parent["spec"]["image"]. If a
// dict has a method and a field of the same name, such as items, the dot returns the method. For a script, the type of a view
// is "dict" or "list", and the view behaves like a frozen one. If x is a view, `x |= y` and `x += y` make a new dict or list, as
// they do for tuples.
//
// # Limits
//
// Steps are the interpreter's: an instruction is one step. The interpreter cannot be stopped within an instruction. So what an
// instruction may do is limited, and an instruction that does much is charged more steps: rules.go has a rule for everything
// that a script can use, and what has no rule does not exist. guard.go says what the guards do.
//
// What is not limited exactly: parsing a file checks no deadline, and takes some tenths of a second for one MiB. One pass over a
// value as large as limits.memory takes some hundredths of a second. The memory of many values together is limited by the
// engine's watchdog.
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

// Compile implements [engine.Runtime]. Output of print at the top level is discarded.
func (runtime) Compile(ctx context.Context, s engine.Script, l engine.Limits) (engine.Program, error) {
	ev, end := newEvaluation(ctx, l, nil)
	defer end()
	modules := loader{files: s.Files, ev: ev, loaded: map[string]starlark.StringDict{}, tally: measure.Tally{}, outlines: map[engine.Pos]*engine.Outline{}, lookups: map[engine.Pos][]engine.Lookup{}, timeless: map[string]bool{}}
	globals, err := modules.load(ctx, s.Entry)
	if err != nil {
		return nil, err
	}
	p := &program{entry: s.Entry, globals: globals, outlines: modules.outlines, lookups: modules.lookups, timeless: modules.timeless}
	for name, v := range globals {
		if _, ok := v.(*starlark.Function); ok {
			p.functions = append(p.functions, name)
		}
	}
	slices.Sort(p.functions)
	return p, nil
}

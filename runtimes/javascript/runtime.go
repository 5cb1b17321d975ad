// Package javascript runs scripts written in JavaScript, on goja: ECMAScript up to about 2023 without import and
// export, and with require instead, as in Node.js.
//
// # Functions of a file
//
// A file is a CommonJS module. Its functions are those that it exports (exports.sync = …, module.exports = {sync}). If it
// exports none, they are the functions that it declares at its top level with function, const, let or var; so small scripts need
// no export. A function gets one argument, the request: function sync({parent, children}) destructures it. It may be async; then
// its promise is awaited.
//
// A file whose export is itself a function (module.exports = async function (context) {…}) is written for
// Metacontroller's Node.js server: it is [engine.Ported]. Its argument has the fields of the request, and the request again as
// request.body.
//
// # Values
//
// The request is not converted. Scripts see maps and lists through views (view.go), which read the shared Go values and store the
// changes of the script in the view. Parts of the request that the script did not change are returned by reference, exactly.
// Numbers are float64 in JavaScript. So an integer beyond 2^53 is not a number but an object: it may be returned, compared with
// itself and converted to a string, and it throws if it is used as a number. A result is converted step by step within the limits
// of the call (value.go), not with goja's Export: getters may run, arrays may be sparse, and objects may contain themselves.
//
// # Running
//
// Every call gets its own virtual machine (program.go), which costs microseconds, and runs the top level of the file again. So no
// state remains from one call to the next. Compiled code is shared. The time does not change during a call, and
// Math.random ends it with an error; see random.go. Date uses the time zone of the process, which the command sets to UTC.
//
// A machine that all calls share, with frozen built-in objects, would need about two thirds of the time for a small call
// (BenchmarkMachines). But one object that is not frozen by mistake would let a call change later calls, and scripts could not
// assign toString any more. To prepare machines in advance does not save processor time.
//
// # Guards
//
// Scripts are not trusted. builtins.go has a table of everything that is built into goja: what is harmless and why, what has a
// guard, and what is removed. What is not in the table does not exist for a script. guard.go says what guards are. hook.go puts
// them into goja, where they cost nothing until a function is used. source.go limits the text of a script, and rewrites syntax
// that could make large values in one step. When a guard refuses, the call ends; no catch and no finally runs.
//
// What is not limited here: memory that grows gradually is limited by the engine's watchdog. Compilation is not interrupted, but
// its input is limited. An attacker may find weaknesses of goja that are not known here. For that reason scripts can be run in a
// separate process.
//
// # Where goja differs
//
// A function of goja that gives a wrong value without an error is corrected by its guard (number.go, date.go), or refuses. Regular
// expressions are translated by package pattern, because goja understands only a part of them. provided.go has functions that goja
// lacks. TestBuiltins compares all with Node.js, and the manual lists what differs.
//
// # TypeScript
//
// A script in TypeScript is converted to JavaScript, file by file, and then is a script like others. Positions are those in the
// original text.
//
// The files: Compile is here, Call in program.go, require in module.go, the names
// of imports in imports.go, the result of require("metascript") in library.go, errors
// and their positions in error.go, TypeScript in typescript.go.
package javascript

import (
	"context"
	"path"
	"slices"

	"metascript/engine"
)

// New returns the runtime for JavaScript.
func New() engine.Runtime { return runtime{} }

// NewTypeScript returns the runtime for TypeScript; see typescript.go. Its parser is not limited like the others: scripts that are
// not trusted must be compiled in a process that can be killed.
func NewTypeScript() engine.Runtime { return runtime{typescript: true} }

type runtime struct{ typescript bool }

// Compile implements [engine.Runtime]. It parses the entry file and runs its top level once, to find the functions. Other files
// are compiled when they are first required.
func (rt runtime) Compile(ctx context.Context, s engine.Script, l engine.Limits) (engine.Program, error) {
	if err := instrument(); err != nil {
		return nil, err
	}
	p := &program{entry: path.Clean(s.Entry), files: s.Files, typescript: rt.typescript}
	r := p.newRun(l, nil)
	r.compiling = true
	err := r.within(ctx, func() error {
		top, err := r.load(p.entry)
		if err != nil {
			return err
		}
		p.ported = top.isFunction()
		p.functions = functions(top.functionsObject())
		if top.functionsObject() != top.declared {
			p.unexported = functions(top.declared)
		}
		r.warn()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.ported {
		p.functions = []string{"sync"}
	}
	slices.Sort(p.functions)
	return p, nil
}

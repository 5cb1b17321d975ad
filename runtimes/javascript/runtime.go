// Package javascript runs scripts written in JavaScript, on goja: ECMAScript up to about 2023 without import and
// export, and with require instead, as in Node.js.
//
// # Which functions a file offers
//
// A file is a CommonJS module. It offers the functions it exports (exports.sync = …, module.exports = {sync}) or, so
// that small scripts need no export, if it exports none, the functions it declares at its top level, be it with
// function or with const, let or var. A function gets one argument, the request: function sync({parent, children})
// takes it apart. It may be async; then its promise is awaited.
//
// A file whose export is itself a function (module.exports = async function (context) {…}) is written for
// Metacontroller's Node.js server: it is [engine.Ported], and finds the request in request.body beside the
// request's own fields.
//
// # Values
//
// The request is not converted. Scripts see maps and lists through views (view.go) that read the shared Go values
// and keep what a script changes to themselves; what comes back untouched goes out by reference, exactly. Numbers
// are float64 in JavaScript, so an integer beyond 2^53 is no number there but an object that may be passed on,
// compared with itself and turned into a string, and that throws where it is used as a number. An answer is walked
// within the call's limits (value.go) and never exported blindly: getters run, arrays are sparse, objects contain
// themselves.
//
// # Running
//
// Every call gets a virtual machine of its own (program.go), which costs microseconds, and runs the file's top level
// again in it, so nothing is left over from one call to the next. Compiled code is shared. The clock stands still
// during a call, and Math.random gives the same numbers in each. Date shows the time zone of our process, which the
// command sets to UTC.
//
// One machine whose built-in objects are frozen once, and that all calls share, would take some two thirds of the time
// for a small call (BenchmarkWays). But whatever the freezing forgets is a way from one call into the next, and scripts
// may not assign toString any more. Machines that are prepared beforehand take no less of the processor.
//
// # Guards
//
// Scripts are not trusted. builtins.go is a table of all that goja has built in: what is harmless and why, what is guarded
// and by what, what is removed. What is not in it does not exist for a script. guard.go says what guards are; hook.go puts
// them into goja, where they cost nothing until a function is used; source.go bounds the text of a script and rewrites the
// syntax that makes much at once. What a guard refuses ends the call, past every catch and finally.
//
// What remains: memory that grows gradually is left to the engine's watchdog. Compiling is not interrupted, but what
// goes in is bounded.
// In the hands of an attacker, goja has surely more to offer than we know of: that is what isolation in a process of
// its own is for.
//
// Map the way through the package: Compile here, Call in program.go, require in module.go, what require("metascript") gives
// in library.go, errors and their positions
// in error.go.
package javascript

import (
	"context"
	"path"
	"slices"

	"metascript/engine"
)

// New returns the runtime for JavaScript.
func New() engine.Runtime { return runtime{} }

type runtime struct{}

// Compile parses the entry file and runs its top level once, to see which functions it offers. Other files are
// compiled when they are first required.
func (runtime) Compile(ctx context.Context, s engine.Script, l engine.Limits) (engine.Program, error) {
	if err := instrument(); err != nil {
		return nil, err
	}
	setMatchTimeout()
	p := &program{entry: path.Clean(s.Entry), files: s.Files}
	r := p.newRun(l, nil)
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

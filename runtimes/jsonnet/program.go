package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
)

// A program is a compiled script. Nothing in it is written to after Compile: the interpreter only reads trees.
type program struct {
	entry     string
	binds     ast.LocalBinds                // every file of code, see loader
	data      map[string]gojsonnet.Contents // every file of data
	functions map[string]function
	ported    bool
}

// portedName is what Functions calls the function of a file that is a function.
const portedName = "sync"

// identifier matches the names of functions that can be called, as opposed to fields such as "a b" or "$x".
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Functions implements [engine.Program].
func (p *program) Functions() []string { return slices.Sorted(maps.Keys(p.functions)) }

// Ported implements [engine.Ported].
func (p *program) Ported() bool { return p.ported }

// Call implements [engine.Program].
func (p *program) Call(ctx context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
	f, err := p.function(fn)
	if err != nil {
		return nil, err
	}
	log := &logger{emit: env.Log, limits: env.Limits.WithDefaults()}
	answer, err := p.run(ctx, f, fn, arg, log, false)
	if errors.Is(err, errExact) {
		answer, err = p.run(ctx, f, fn, arg, log.again(), true)
	}
	return answer, err
}

// errExact is the error of an answer that has in it integers of the request beyond 2^53, or functions.
var errExact = errors.New("jsonnet: the answer may need exact integers")

// run calls f once, and gives its answer. With exact set, integers of the request beyond 2^53 may be in it: that
// takes a pass over the answer in Jsonnet, so we do it when a run without has failed. Two runs of a call are alike,
// since Jsonnet is pure.
func (p *program) run(ctx context.Context, f function, name string, arg map[string]any, log *logger, exact bool) (map[string]any, error) {
	g := guard{limits: log.limits}
	expr, err := f.apply(&g.request, arg)
	if err != nil {
		return nil, err
	}
	if exact {
		expr = applyNode(passExact, expr)
	}
	v, err := p.evaluate(ctx, &g, log, expr)
	if err != nil {
		return nil, g.fault(err, f, exact)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, notObject(v, f, name)
	}
	o := outcome{Walk: engine.NewWalk(log.limits), exact: exact, floats: g.request.floats}
	if err := o.object(m); err != nil {
		err.Pos = f.position()
		return nil, err
	}
	return m, nil
}

// notObject is the error of an answer that is something else.
func notObject(v any, f function, name string) error {
	err := &engine.Error{Kind: engine.KindResult, Pos: f.position(), Msg: name + " returned null, want an object"}
	switch v.(type) {
	case nil:
		err.Hint = "does every path return one? an if without an else gives null"
	case bool:
		err.Msg = name + " returned a boolean, want an object"
	case float64:
		err.Msg = name + " returned a number, want an object"
	case string:
		err.Msg = name + " returned a string, want an object"
	case []any:
		err.Msg = name + " returned an array, want an object"
	}
	return err
}

// answerFunction is the name of the native function that takes an evaluation's result.
const answerFunction = "metascript.answer"

// answerNode is std.native(answerFunction).
var answerNode = applyNode(indexNode(variableNode(std), "native"), stringNode(answerFunction))

// evaluate gives the value of expr, an expression over std and the program's files, as the interpreter converts it:
// every number is a float64. Its errors are the interpreter's own.
//
// The value comes out through a native function, inside the evaluation of the root, where the guard still counts:
// elements and fields are evaluated as they are converted.
func (p *program) evaluate(ctx context.Context, g *guard, log *logger, expr ast.Node) (any, error) {
	if ctx.Err() != nil {
		return nil, engine.Stopped(ctx, engine.Pos{File: p.entry}, g.limits)
	}
	var result any
	vm := gojsonnet.MakeVM()
	vm.MaxStack = g.limits.Stack + ownFrames
	vm.Importer(&gojsonnet.MemoryImporter{Data: p.data})
	vm.SetTraceOut(log)
	vm.NativeFunction(&gojsonnet.NativeFunction{
		Name: answerFunction, Params: ast.Identifiers{"value"},
		Func: func(args []any) (any, error) {
			result = args[0]
			return nil, nil
		},
	})
	root := localNode(p.binds, applyNode(answerNode, expr))
	g.root = root
	g.hook(ctx).install(vm)
	_, err := vm.Evaluate(root)
	return result, err
}

// ownFrames is how many nested calls we make around a script's: the root, the answer, and what it is applied to.
const ownFrames = 4

// function finds a function by name.
func (p *program) function(name string) (function, error) {
	if p.ported {
		name = portedName
	}
	f, ok := p.functions[name]
	switch {
	case !ok:
		return function{}, p.missing(name)
	case f.fault != nil:
		fault := *f.fault // errors are completed by whom they are given to
		return function{}, &fault
	}
	return f, nil
}

func (p *program) missing(name string) error {
	err := &engine.Error{
		Kind: engine.KindMissing, Pos: engine.Pos{File: p.entry},
		Msg:  fmt.Sprintf("the script defines no function %q", engine.Clip(name, maxName)),
		Hint: "it defines none: write { " + engine.Clip(name, maxName) + "(parent, children):: { ... } }",
	}
	if names := p.Functions(); len(names) > 0 {
		err.Hint = "it defines " + list(names)
		if near := engine.Nearest(name, names); near != "" {
			err.Hint = "did you mean " + near + "?"
		}
	}
	return err
}

package jsonnet

import (
	"context"
	"maps"
	"slices"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
)

// A program is a compiled script. It does not change after Compile: the interpreter only reads trees.
type program struct {
	entry     string
	binds     ast.LocalBinds                // the files that are code, see loader
	data      map[string]gojsonnet.Contents // the files of importstr and importbin
	functions map[string]function
	ported    bool
	library   bool // the script imports the library
}

// portedName is the name of the function of a file that evaluates to a function.
const portedName = "sync"

// Functions implements [engine.Program].
func (p *program) Functions() []string { return slices.Sorted(maps.Keys(p.functions)) }

// Ported implements [engine.Ported].
func (p *program) Ported() bool { return p.ported }

// Place implements [engine.Placed].
func (p *program) Place(fn string) engine.Pos {
	f, err := p.function(fn)
	if at := f.position(); err == nil && at != (engine.Pos{}) {
		return at
	}
	return engine.Pos{File: p.entry}
}

// Outline implements [engine.Outlined].
func (p *program) Outline(fn string) *engine.Outline {
	if f, err := p.function(fn); err == nil {
		return f.outline
	}
	return nil
}

// Lookups implements [engine.Reading].
func (p *program) Lookups(fn string) []engine.Lookup {
	if f, err := p.function(fn); err == nil {
		return f.lookups
	}
	return nil
}

// Call implements [engine.Program].
func (p *program) Call(ctx context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
	f, err := p.function(fn)
	if err != nil {
		return nil, err
	}
	limits := env.Limits.WithDefaults()
	g := guard{limits: limits, log: &logger{emit: env.Log, limits: limits}, random: env.Random, out: outcome{Walk: engine.NewWalk(limits), f: f}}
	g.request.tenant, g.request.identify = env.Tenant, env.Identify
	expr, err := f.apply(&g.request, arg)
	if err != nil {
		return nil, err
	}
	v, err := p.evaluate(ctx, &g, expr)
	if err != nil {
		return nil, g.fault(err, f)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, notObject(v, f, fn)
	}
	return m, nil
}

// notObject returns the error for a result v that is not an object.
func notObject(v any, f function, name string) error {
	err := &engine.Error{Kind: engine.KindResult, Pos: f.position(), At: engine.Path{}, Msg: name + " returned null, want an object"}
	switch v.(type) {
	case nil:
		err.At, err.Hint = nil, "does every path return one? an if without an else gives null"
	case bool:
		err.Msg = name + " returned a boolean, want an object"
	case float64, int64:
		err.Msg = name + " returned a number, want an object"
	case string:
		err.Msg = name + " returned a string, want an object"
	case []any:
		err.Msg = name + " returned an array, want an object"
	}
	return err
}

// evaluate returns the value of expr, an expression that may use std and the program's files. Its errors are those of the
// interpreter; guard.fault converts them.
//
// The hook converts the value after the right side of null == expr has been evaluated. At that time the guard still counts steps:
// the conversion evaluates elements and fields.
func (p *program) evaluate(ctx context.Context, g *guard, expr ast.Node) (any, error) {
	if ctx.Err() != nil {
		return nil, engine.Stopped(ctx, engine.Pos{File: p.entry}, g.limits)
	}
	g.log.guard = g
	comparison := &ast.Binary{Op: ast.BopManifestEqual, Left: nullNode, Right: expr}
	comparison.SetFreeVariables(expr.FreeVariables())
	root := localNode(p.binds, comparison)
	g.root, g.answer = root, expr
	g.library = p.library
	err := evaluateNode(newInterpreter(g.hook(ctx), g.log, g.limits.Stack+ownFrames, p.data), root)
	if g.scriptErr != nil {
		err = g.scriptErr
	}
	return g.result, err
}

// ownFrames is the number of frames of the interpreter's stack that are not of the script: the root and the expressions around it.
const ownFrames = 4

// function returns the function with that name, or the error of calling it.
func (p *program) function(name string) (function, error) {
	if p.ported {
		name = portedName
	}
	f, ok := p.functions[name]
	switch {
	case !ok:
		none := "it defines none: write { " + engine.Clip(name, naming.Max) + "(parent, children):: { ... } }"
		return function{}, naming.NoFunction(p.entry, name, p.Functions(), none)
	case f.fault != nil:
		fault := *f.fault // a copy, since callers modify errors
		return function{}, &fault
	}
	return f, nil
}

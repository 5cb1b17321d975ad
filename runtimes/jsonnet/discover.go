package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
)

// A function is a function of the script that can be called.
type function struct {
	value ast.Node      // the expression whose value it is
	code  *ast.Function // its syntax tree; nil for a function of the interpreter, such as std.length
	fault *engine.Error // the error of evaluating value

	outline *engine.Outline // of its results; may be nil
	lookups []engine.Lookup
}

var (
	// shapeOf returns a value's type and, of an object, the names of all fields.
	shapeOf = mustParse(`function(v) {
	  type: std.type(v),
	  fields: if std.type(v) == 'object' then std.objectFieldsAll(v) else [],
	}`)
	// typeOf returns a value's type, in an object, since an evaluation must return one.
	typeOf = mustParse(`function(v) { type: std.type(v) }`)
)

// discover sets the functions of the program.
func (p *program) discover(ctx context.Context, l engine.Limits) error {
	entry := variableNode(variable(p.entry))
	code, shape, err := p.inspect(ctx, l, shapeOf, entry)
	if err != nil {
		return err
	}
	switch shape["type"] {
	case "function":
		p.ported = true
		p.functions = map[string]function{portedName: {value: entry, code: code}}
		return nil
	case "object":
		return p.discoverFields(ctx, l, entry, identifiers(shape["fields"]))
	}
	return &engine.Error{
		Kind: engine.KindMissing, Pos: engine.Pos{File: p.entry, Line: 1, Col: 1},
		Msg:  fmt.Sprintf("the script is %s, want an object of functions, or a function", article(shape["type"])),
		Hint: "write { sync(parent, children):: { ... } }",
	}
}

// discoverFields evaluates the named fields of an object.
func (p *program) discoverFields(ctx context.Context, l engine.Limits, entry ast.Node, names []string) error {
	p.functions = map[string]function{}
	var faults []*engine.Error
	for _, name := range names {
		field := indexNode(entry, name)
		code, shape, err := p.inspect(ctx, l, typeOf, field)
		var fault *engine.Error
		switch {
		case errors.As(err, &fault) && fault.Kind == engine.KindRaised:
			faults = append(faults, fault)
			p.functions[name] = function{value: field, fault: fault}
		case err != nil:
			return err
		case shape["type"] == "function":
			p.functions[name] = function{value: field, code: code}
		}
	}
	if len(names) > 0 && len(faults) == len(names) {
		return faults[0] // an assertion of the object failed, or the like
	}
	return nil
}

// maxShape is the maximum number of fields of the object that a script is.
const maxShape = 10_000

// inspect applies f, a function of this package, to an expression, and returns the result. code is set if the value of the
// expression is a function that is written in Jsonnet.
func (p *program) inspect(ctx context.Context, l engine.Limits, f, expr ast.Node) (code *ast.Function, answer map[string]any, err error) {
	out := engine.NewWalk(engine.Limits{Nodes: maxShape, Output: l.Source})
	g := guard{
		limits: l, log: &logger{limits: l}, out: outcome{Walk: out}, tracedNode: expr, functionCode: map[value]*ast.Function{},
	}
	v, err := p.evaluate(ctx, &g, applyNode(f, expr))
	if err != nil {
		return nil, nil, g.fault(err, function{})
	}
	return g.tracedCode, v.(map[string]any), nil
}

// identifiers returns the strings in names, a list, that look like identifiers, sorted.
func identifiers(names any) []string {
	var out []string
	for _, name := range names.([]any) {
		if s := name.(string); naming.Identifier(s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// article puts "a" or "an" before the name of a type.
func article(typeName any) string {
	if typeName == "null" {
		return "null"
	}
	if typeName == "array" || typeName == "object" {
		return fmt.Sprintf("an %v", typeName)
	}
	return fmt.Sprintf("a %v", typeName)
}

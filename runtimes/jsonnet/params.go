package jsonnet

import (
	"maps"
	"slices"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// apply returns the expression that calls f with what its parameters ask for: each parameter that is named like a
// field of arg gets the field, one with a default and no field keeps the default, and a single parameter of another
// name gets the whole of arg. Which parameters the interpreter's own functions have, we do not know: they get the
// whole as well.
func (f function) apply(r *request, arg map[string]any) (ast.Node, error) {
	n := applyNode(f.value)
	if f.code == nil {
		return applyNode(f.value, r.node(arg, nil)), nil
	}
	params := f.code.Parameters
	if len(params) == 1 {
		name := string(params[0].Name)
		if host.TakesWhole(name, arg) {
			n.Arguments.Named = []ast.NamedArgument{{Name: params[0].Name, Arg: r.node(arg, nil)}}
			return n, nil
		}
	}
	var unknown []ast.Parameter
	for _, param := range params {
		name := string(param.Name)
		if v, ok := arg[name]; ok {
			n.Arguments.Named = append(n.Arguments.Named, ast.NamedArgument{Name: param.Name, Arg: r.node(v, &place{key: name})})
		} else if param.DefaultArg == nil {
			unknown = append(unknown, param)
		}
	}
	if len(unknown) > 0 {
		return nil, f.unknownParameters(unknown, slices.Sorted(maps.Keys(arg)))
	}
	return n, nil
}

// unknownParameters says which parameters are named like no field.
func (f function) unknownParameters(unknown []ast.Parameter, fields []string) error {
	var names []string
	for _, param := range unknown {
		names = append(names, string(param.Name))
	}
	return naming.UnknownParameters(position(&unknown[0].LocRange), names, names[:1], fields)
}

// position is where the function is written, as far as the syntax tree tells.
func (f function) position() engine.Pos {
	if f.code == nil {
		return engine.Pos{}
	}
	locs := []*ast.LocationRange{f.code.Loc()}
	if len(f.code.Parameters) > 0 {
		locs = append(locs, &f.code.Parameters[0].LocRange)
	}
	for _, loc := range append(locs, f.code.Body.Loc()) {
		if inScript(loc) {
			return position(loc)
		}
	}
	return engine.Pos{}
}

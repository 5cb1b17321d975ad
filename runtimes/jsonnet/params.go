package jsonnet

import (
	"maps"
	"slices"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// apply returns the expression that calls f. A parameter with the name of a field of arg gets that field. A parameter with a default
// and no such field keeps the default. If f has only one parameter and its name is not a field, it gets the whole of arg. The
// parameters of functions of the interpreter are not known: such a function also gets the whole of arg.
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

// unknownParameters returns the error for parameters whose names are not fields of the request.
func (f function) unknownParameters(unknown []ast.Parameter, fields []string) error {
	var names []string
	for _, param := range unknown {
		names = append(names, string(param.Name))
	}
	return naming.UnknownParameters(position(&unknown[0].LocRange), names, names[:1], fields)
}

// position returns where the function is defined, or the zero value if the syntax tree does not have the position.
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

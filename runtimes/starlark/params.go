package starlark

import (
	"maps"
	"slices"

	"go.starlark.net/starlark"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// bind returns the arguments for f. A parameter with the name of a field of arg gets that field. A parameter with a default
// and no such field keeps the default. If f has only one parameter and its name is not a field, it gets the whole of arg.
// **kwargs gets the remaining fields.
func bind(f *starlark.Function, arg map[string]any) ([]starlark.Tuple, *engine.Error) {
	named := f.NumParams()
	if f.HasVarargs() {
		named--
	}
	if f.HasKwargs() {
		named--
	}
	if named == 1 && f.NumParams() == 1 {
		name, _ := f.Param(0)
		if host.TakesWhole(name, arg) {
			return []starlark.Tuple{{starlark.String(name), plainDict{arg}}}, nil
		}
	}
	var kwargs []starlark.Tuple
	var unknown []int
	taken := map[string]bool{}
	for i := range named {
		name, _ := f.Param(i)
		taken[name] = true
		if v, ok := arg[name]; ok {
			kwargs = append(kwargs, starlark.Tuple{starlark.String(name), toValue(v)})
		} else if f.ParamDefault(i) == nil {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) > 0 {
		return nil, unknownParameters(f, unknown, arg)
	}
	if f.HasKwargs() {
		for _, name := range slices.Sorted(maps.Keys(arg)) {
			if !taken[name] {
				kwargs = append(kwargs, starlark.Tuple{starlark.String(name), toValue(arg[name])})
			}
		}
	}
	return kwargs, nil
}

// unknownParameters returns the error for parameters whose names are not fields of arg. unknown has their indexes.
func unknownParameters(f *starlark.Function, unknown []int, arg map[string]any) *engine.Error {
	fields := slices.Sorted(maps.Keys(arg))
	names := make([]string, len(unknown))
	for i, param := range unknown {
		names[i], _ = f.Param(param)
	}
	_, pos := f.Param(unknown[0])
	return naming.UnknownParameters(position(pos), names, names, fields)
}

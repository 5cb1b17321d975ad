package starlark

import (
	"maps"
	"slices"
	"sync"

	"go.starlark.net/starlark"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/scripts/lib"
)

// libraryFile is the name with which a script loads the library, unless the script has a file of that name.
const libraryFile = "metascript.star"

// library returns the globals of that file: a module for each group, and the functions that are in no group.
var library = sync.OnceValue(func() starlark.StringDict {
	defined := starlark.StringDict{}
	for _, group := range lib.Groups() {
		into := defined
		if group.Name != "" {
			module := newModule(group.Name)
			defined[group.Name], into = module, module.Members
		}
		for _, f := range group.Functions {
			_, name := f.Group()
			into[name] = starlark.NewBuiltin(f.Name, libraryFunction(f))
		}
	}
	defined.Freeze()
	return defined
})

// libraryFunction returns the builtin for f.
func libraryFunction(f *lib.Function) method {
	return func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		ev := evaluationOf(thread)
		values := make([]starlark.Value, len(f.Params))
		var pairs []any
		for i, p := range f.Params {
			name := p.Name
			if p.Optional {
				name += "?"
			}
			pairs = append(pairs, name, &values[i])
		}
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, pairs...); err != nil {
			return nil, err
		}
		data := make([]any, len(values))
		for i, v := range values {
			if v == nil {
				continue
			}
			var fault *engine.Error
			if data[i], fault = ev.data(v, f.Name+": "+f.Params[i].Name); fault != nil {
				return nil, asFault(fault)
			}
		}
		result, err := f.Call(data, ev)
		if fault := host.LibraryError(err); fault != nil {
			return nil, asFault(fault)
		}
		if err != nil {
			return nil, err
		}
		return ev.toScript(result)
	}
}

// Spend implements [lib.Meter].
func (ev *evaluation) Spend(steps int64) error { return ev.charge(steps) }

// CheckSize implements [lib.Meter].
func (ev *evaluation) CheckSize(bytes int64, what string) error { return ev.reserve(bytes, what) }

// Random implements [lib.Drawer].
func (ev *evaluation) Random() *engine.Random { return ev.random }

// data converts v to a JSON-shaped value. Error messages call it what. Each value in it costs one step.
func (ev *evaluation) data(v starlark.Value, what string) (any, *engine.Error) {
	a := converter{Walk: engine.NewArgument(what, lib.MaxDepth, ev.limits), spend: ev.charge}
	return a.convert(v)
}

func asFault(e *engine.Error) *fault { return &fault{kind: e.Kind, msg: e.Msg, hint: e.Hint} }

// toScript converts a JSON-shaped value to a value that the script can change. Each value in it costs one step.
func (ev *evaluation) toScript(v any) (starlark.Value, error) {
	if err := ev.spend(); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		elems := make([]starlark.Value, len(v))
		for i, element := range v {
			var err error
			if elems[i], err = ev.toScript(element); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(elems), nil
	case map[string]any:
		return ev.toScriptDict(v)
	}
	return toValue(v), nil
}

// toScriptDict converts a map to a dict with sorted keys, like the dicts of the request.
func (ev *evaluation) toScriptDict(m map[string]any) (starlark.Value, error) {
	d := starlark.NewDict(len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if err := ev.countKey(starlark.String(key)); err != nil {
			return nil, err
		}
		v, err := ev.toScript(m[key])
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(starlark.String(key), v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

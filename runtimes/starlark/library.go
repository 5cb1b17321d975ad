package starlark

import (
	"errors"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"metascript/engine"
	"metascript/scripts/lib"
)

// libraryFile is the name by which a script loads the library, unless it has a file of that name itself.
const libraryFile = "metascript.star"

// builtIn is what the library is called among the files, of which none can have that name.
const builtIn = "\x00" + libraryFile

// library is what that file defines: groups as modules, and functions that stand alone.
var library = sync.OnceValue(func() starlark.StringDict {
	names := starlark.StringDict{}
	for _, f := range lib.Functions() {
		group, name := f.Group()
		b := starlark.NewBuiltin(f.Name, libraryFunction(f))
		if group == "" {
			names[name] = b
			continue
		}
		if names[group] == nil {
			names[group] = &starlarkstruct.Module{Name: group, Members: starlark.StringDict{}}
		}
		names[group].(*starlarkstruct.Module).Members[name] = b
	}
	names.Freeze()
	return names
})

// libraryFunction makes a builtin of f.
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
		if err != nil {
			return nil, libraryFault(err)
		}
		return ev.own(result)
	}
}

// Spend implements [lib.Meter].
func (ev *evaluation) Spend(steps int64) error { return ev.charge(steps) }

// Hold implements [lib.Meter].
func (ev *evaluation) Hold(bytes int64, what string) error { return ev.room(bytes, what) }

// data gives the JSON-shaped value of v, which messages call what. It takes a step for each value in it.
func (ev *evaluation) data(v starlark.Value, what string) (any, *engine.Error) {
	a := answer{engine.NewArgument(what, lib.MaxDepth, ev.limits), ev.charge}
	return a.convert(v)
}

func asFault(e *engine.Error) *fault { return &fault{kind: e.Kind, msg: e.Msg, hint: e.Hint} }

// libraryFault gives what a script is shown of an error of the library's; one of ours goes on as it is.
func libraryFault(err error) error {
	var mistake *lib.Error
	if errors.As(err, &mistake) {
		return &fault{kind: engine.KindRuntime, msg: mistake.Msg, hint: mistake.Hint}
	}
	return err
}

// own makes a value of the script's own of what is JSON-shaped.
func (ev *evaluation) own(v any) (starlark.Value, error) {
	if err := ev.spend(); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		elems := make([]starlark.Value, len(v))
		for i, element := range v {
			var err error
			if elems[i], err = ev.own(element); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(elems), nil
	case map[string]any:
		return ev.ownDict(v)
	}
	return toValue(v), nil
}

// ownDict makes a dict, with its keys in the order that those of the request have.
func (ev *evaluation) ownDict(m map[string]any) (starlark.Value, error) {
	d := starlark.NewDict(len(m))
	for _, key := range dict(m).sorted() {
		if err := ev.countKey(starlark.String(key)); err != nil {
			return nil, err
		}
		v, err := ev.own(m[key])
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(starlark.String(key), v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

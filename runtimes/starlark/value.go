package starlark

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"metascript/engine"
)

// convertResult converts the value that the function fn returned to a JSON-shaped map, within limits. Parts of the request
// are returned by reference, and count like other values.
func convertResult(v starlark.Value, fn string, l engine.Limits) (map[string]any, *engine.Error) {
	switch v.(type) {
	case dict, *starlark.Dict:
		out, err := (&converter{Walk: engine.NewWalk(l)}).convert(v)
		if err != nil {
			return nil, err
		}
		return out.(map[string]any), nil
	}
	err := &engine.Error{
		Kind: engine.KindResult, At: engine.Path{},
		Msg: fmt.Sprintf("%s returned %s, want an object, that is a dict", engine.Clip(fn, naming.Max), article(typeName(v))),
	}
	if v == starlark.None {
		err.At, err.Hint = nil, "does every path return one?"
	}
	return nil, err
}

// A converter converts values to JSON-shaped values, and counts them.
type converter struct {
	*engine.Walk
	spend func(steps int64) error // charges steps; nil if steps are not counted
}

// Count counts a value of n bytes as JSON.
func (a *converter) Count(n int) *engine.Error {
	if a.spend != nil && a.spend(1) != nil {
		return &engine.Error{Kind: engine.KindSteps} // evaluation.fault finds the actual reason
	}
	return a.Walk.Count(n)
}

func (a *converter) convert(v starlark.Value) (any, *engine.Error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return nil, a.Count(4)
	case starlark.Bool:
		return bool(v), a.Count(5)
	case starlark.Int:
		return a.integer(v)
	case starlark.Float:
		return float64(v), a.float(float64(v))
	case starlark.String:
		return string(v), a.Count(len(v) + 2)
	case dict:
		return map[string]any(v), a.count(map[string]any(v))
	case slice:
		return []any(v), a.count([]any(v))
	case *starlark.Dict:
		return a.dict(v)
	case *starlark.List:
		return a.list(v)
	case starlark.Tuple:
		return a.list(v)
	}
	return nil, a.notJSON(v)
}

// numberSize is the approximate size of a number as JSON, in bytes. To format every number only to count it would cost too much.
const numberSize = 8

func (a *converter) integer(v starlark.Int) (any, *engine.Error) {
	i, ok := v.Int64()
	if !ok {
		err := a.Errorf("is an int beyond 64 bits")
		err.Hint = "make it a string"
		return nil, err
	}
	return i, a.Count(numberSize)
}

func (a *converter) float(f float64) *engine.Error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return a.Errorf("is %v, which JSON does not have", f)
	}
	return a.Count(numberSize)
}

func (a *converter) dict(d *starlark.Dict) (any, *engine.Error) {
	if err := a.Count(2); err != nil {
		return nil, err
	}
	out := make(map[string]any, min(d.Len(), maxPrealloc))
	for k, v := range d.Entries() {
		key, ok := k.(starlark.String)
		if !ok {
			err := a.Errorf("has a key that is %s, want strings only", article(typeName(k)))
			err.Hint = "make a string of it with str(key)"
			return nil, err
		}
		if err := a.EnterKey(string(key)); err != nil {
			return nil, err
		}
		w, err := a.convert(v)
		if err != nil {
			return nil, err
		}
		out[string(key)] = w
		a.Leave()
	}
	return out, nil
}

func (a *converter) list(l starlark.Indexable) (any, *engine.Error) {
	if err := a.Count(2); err != nil {
		return nil, err
	}
	out := make([]any, 0, min(l.Len(), maxPrealloc))
	for i := range l.Len() {
		if err := a.EnterIndex(i); err != nil {
			return nil, err
		}
		v, err := a.convert(l.Index(i))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		a.Leave()
	}
	return out, nil
}

// maxPrealloc is the maximum number of elements for which memory is allocated before the elements are counted.
const maxPrealloc = 1000

// count counts a part of the request that is returned by reference.
func (a *converter) count(v any) *engine.Error {
	switch v := v.(type) {
	case nil:
		return a.Count(4)
	case string:
		return a.Count(len(v) + 2)
	case map[string]any:
		return a.countMap(v)
	case []any:
		if err := a.Count(2); err != nil {
			return err
		}
		for i, element := range v {
			if err := a.EnterIndex(i); err != nil {
				return err
			}
			if err := a.count(element); err != nil {
				return err
			}
			a.Leave()
		}
		return nil
	}
	return a.Count(numberSize)
}

// countMap visits the keys in the random order of the map, so the path in the error of a limit may differ from call to call.
// Sorting the keys would cost more than everything else here.
func (a *converter) countMap(m map[string]any) *engine.Error {
	if err := a.Count(2); err != nil {
		return err
	}
	for key, v := range m {
		if err := a.EnterKey(key); err != nil {
			return err
		}
		if err := a.count(v); err != nil {
			return err
		}
		a.Leave()
	}
	return nil
}

// notJSON returns the error for a value that JSON does not have.
func (a *converter) notJSON(v starlark.Value) *engine.Error {
	err := a.Errorf("is %s, which JSON does not have", article(typeName(v)))
	switch v := v.(type) {
	case *starlark.Builtin:
		if d, ok := v.Receiver().(dict); ok {
			err = a.Errorf("is the method %s of a dict", v.Name())
			err.Hint = fmt.Sprintf("call it, or write x[%q] for the field of that name", v.Name())
			if _, ok := d[v.Name()]; !ok {
				err.Hint = fmt.Sprintf("call it: %s()", v.Name())
			}
		}
	case *starlark.Set:
		err.Hint = "make a list of it with sorted(x) or list(x)"
	case starlark.Iterable:
		err.Hint = "make a list of it with list(x)"
	case *starlark.Function:
		err.Hint = "is a call's () missing?"
	default:
		err.Hint = "make a string of it with str(x)"
	}
	return err
}

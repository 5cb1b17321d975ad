package starlark

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"metascript/engine"
)

// convertAnswer makes a JSON-shaped map of what the function fn returned, within limits. Parts of the request go out
// by reference, and count like all else.
func convertAnswer(v starlark.Value, fn string, l engine.Limits) (map[string]any, *engine.Error) {
	switch v.(type) {
	case dict, *starlark.Dict:
		out, err := (&answer{Walk: engine.NewWalk(l)}).convert(v)
		if err != nil {
			return nil, err
		}
		return out.(map[string]any), nil
	}
	err := &engine.Error{
		Kind: engine.KindResult,
		Msg:  fmt.Sprintf("%s returned %s, want an object, that is a dict", engine.Clip(fn, naming.Max), article(typeName(v))),
	}
	if v == starlark.None {
		err.Hint = "does every path return one?"
	}
	return nil, err
}

// An answer converts values, counting.
type answer struct {
	*engine.Walk
	spend func(steps int64) error // nil where steps no longer matter
}

// Count counts a value.
func (a *answer) Count(n int) *engine.Error {
	if a.spend != nil && a.spend(1) != nil {
		return &engine.Error{Kind: engine.KindSteps} // the evaluation knows why it ends
	}
	return a.Walk.Count(n)
}

func (a *answer) convert(v starlark.Value) (any, *engine.Error) {
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
	return nil, a.unfit(v)
}

// numberSize is about what a number takes as JSON; what it is exactly is not worth formatting it.
const numberSize = 8

func (a *answer) integer(v starlark.Int) (any, *engine.Error) {
	i, ok := v.Int64()
	if !ok {
		err := a.Errorf("is an int beyond 64 bits")
		err.Hint = "make it a string"
		return nil, err
	}
	return i, a.Count(numberSize)
}

func (a *answer) float(f float64) *engine.Error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return a.Errorf("is %v, which JSON does not have", f)
	}
	return a.Count(numberSize)
}

func (a *answer) dict(d *starlark.Dict) (any, *engine.Error) {
	if err := a.Count(2); err != nil {
		return nil, err
	}
	out := make(map[string]any, min(d.Len(), maxGrown))
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

func (a *answer) list(l starlark.Indexable) (any, *engine.Error) {
	if err := a.Count(2); err != nil {
		return nil, err
	}
	out := make([]any, 0, min(l.Len(), maxGrown))
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

// maxGrown is for how many elements room is made before they are counted.
const maxGrown = 1000

// count counts a part of the request that goes out as it is.
func (a *answer) count(v any) *engine.Error {
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

// countMap goes through the keys as they come: the message of a limit may name another path each time, and sorting
// them would cost more than all else.
func (a *answer) countMap(m map[string]any) *engine.Error {
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

// unfit is the error of a value that JSON does not have.
func (a *answer) unfit(v starlark.Value) *engine.Error {
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

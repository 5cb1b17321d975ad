package starlark

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"metascript/engine"
	"metascript/engine/packed"
)

// convertResult converts the value that the function fn returned to a JSON-shaped map, within limits. Parts of the request
// that are maps and slices are returned by reference, others are converted; all count like other values.
func convertResult(v starlark.Value, fn string, l engine.Limits) (map[string]any, *engine.Error) {
	switch v.(type) {
	case dictView, *starlark.Dict:
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

	// What was made of the packed maps and lists so far. An answer is read-only, so that it may contain the same map twice.
	maps  map[packed.Map]map[string]any
	lists map[packed.Array][]any
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
		if !utf8.ValidString(string(v)) {
			return nil, a.notUTF8("is a string that is not valid UTF-8: %q", v)
		}
		return string(v), a.Count(len(v) + 2)
	case plainDict:
		return a.element(map[string]any(v.m))
	case plainSlice:
		return a.element([]any(v.a))
	case dictView:
		return a.built(v.data())
	case listView:
		return a.builtList(v.data())
	case *starlark.Dict:
		return a.dict(v)
	case *starlark.List:
		return a.list(v)
	case starlark.Tuple:
		return a.list(v)
	}
	return nil, a.notJSON(v)
}

// notUTF8 returns the error for a string with a part of a character. The API server would store another string in its place, so that the
// object would be updated again and again.
func (a *converter) notUTF8(format string, s starlark.String) *engine.Error {
	err := a.Errorf(format, engine.Clip(string(s), naming.Max))
	err.Hint = "s[i] and s[i:j] count bytes; list(s.codepoints()) has the characters"
	return err
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
		if !utf8.ValidString(string(key)) {
			return nil, a.notUTF8("has a key that is not valid UTF-8: %q", key)
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

// part counts a part of the request. It returns the value that takes its place in the answer, or nil if that is the part itself.
func (a *converter) part(v any) (native any, err *engine.Error) {
	switch v := v.(type) {
	case nil:
		return nil, a.Count(4)
	case string:
		return nil, a.Count(len(v) + 2)
	case map[string]any:
		return a.plain(v)
	case []any:
		return a.plainList(v)
	case engine.Map:
		return a.built(v)
	case engine.Array:
		return a.builtList(v)
	}
	return nil, a.Count(numberSize)
}

// plain is part for a map. It visits the keys in the random order of the map, so the path in the error of a limit may differ from call
// to call. Sorting the keys would cost more than everything else here.
func (a *converter) plain(m map[string]any) (native any, err *engine.Error) {
	if err := a.Count(2); err != nil {
		return nil, err
	}
	var out map[string]any
	for key, v := range m {
		if err := a.EnterKey(key); err != nil {
			return nil, err
		}
		w, err := a.part(v)
		if err != nil {
			return nil, err
		}
		if w != nil {
			if out == nil {
				out = maps.Clone(m)
			}
			out[key] = w
		}
		a.Leave()
	}
	if out == nil {
		return nil, nil
	}
	return out, nil
}

// plainList is part for a slice.
func (a *converter) plainList(l []any) (native any, err *engine.Error) {
	if err := a.Count(2); err != nil {
		return nil, err
	}
	var out []any
	for i, v := range l {
		if err := a.EnterIndex(i); err != nil {
			return nil, err
		}
		w, err := a.part(v)
		if err != nil {
			return nil, err
		}
		if w != nil {
			if out == nil {
				out = slices.Clone(l)
			}
			out[i] = w
		}
		a.Leave()
	}
	if out == nil {
		return nil, nil
	}
	return out, nil
}

// built makes a map of one that is none in Go. It makes one map of a packed one that is in the answer many times, such as the template
// of many children.
func (a *converter) built(m engine.Map) (any, *engine.Error) {
	m = packed.Whole(m).(engine.Map)
	object, isPacked := m.(packed.Map)
	if known, ok := a.maps[object]; ok && isPacked {
		_, err := a.plain(known)
		return known, err
	}
	if err := a.Count(2); err != nil {
		return nil, err
	}
	out := make(map[string]any, min(m.Len(), maxPrealloc))
	for e := entriesOf(m); e.next(); {
		if err := a.EnterKey(e.key); err != nil {
			return nil, err
		}
		w, err := a.element(e.value)
		if err != nil {
			return nil, err
		}
		out[e.key] = w
		a.Leave()
	}
	if isPacked {
		if a.maps == nil {
			a.maps = map[packed.Map]map[string]any{}
		}
		a.maps[object] = out
	}
	return out, nil
}

// builtList makes a slice of an array that is none in Go.
func (a *converter) builtList(l engine.Array) (any, *engine.Error) {
	l = packed.Whole(l).(engine.Array)
	array, isPacked := l.(packed.Array)
	if known, ok := a.lists[array]; ok && isPacked {
		_, err := a.plainList(known)
		return known, err
	}
	if err := a.Count(2); err != nil {
		return nil, err
	}
	out := make([]any, 0, min(l.Len(), maxPrealloc))
	for i := range l.Len() {
		if err := a.EnterIndex(i); err != nil {
			return nil, err
		}
		w, err := a.element(l.Index(i))
		if err != nil {
			return nil, err
		}
		out = append(out, w)
		a.Leave()
	}
	if isPacked {
		if a.lists == nil {
			a.lists = map[packed.Array][]any{}
		}
		a.lists[array] = out
	}
	return out, nil
}

// element is part for an element of a map or list that is made: it always returns the value.
func (a *converter) element(v any) (any, *engine.Error) {
	w, err := a.part(v)
	if w == nil {
		w = v
	}
	return w, err
}

// notJSON returns the error for a value that JSON does not have.
func (a *converter) notJSON(v starlark.Value) *engine.Error {
	err := a.Errorf("is %s, which JSON does not have", article(typeName(v)))
	switch v := v.(type) {
	case *starlark.Builtin:
		if d, ok := v.Receiver().(dictView); ok {
			err = a.Errorf("is the method %s of a dict", v.Name())
			err.Hint = fmt.Sprintf("call it, or write x[%q] for the field of that name", v.Name())
			if _, ok := d.data().Get(v.Name()); !ok {
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

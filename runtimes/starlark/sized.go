package starlark

import (
	gojson "encoding/json"
	"strings"
	"unicode/utf8"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
)

// sized is a builtin that makes a collection of an iterable, which is its first argument, with so many bytes for each
// element.
func sized(size int64, native starlark.Value) method {
	return func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(args) > 0 {
			ev := evaluationOf(thread)
			what := "the result of " + b.Name()
			x, err := ev.concrete(args[0], what)
			if err != nil {
				return nil, err
			}
			if err := ev.room(times(int64(max(starlark.Len(x), 0)), size), what); err != nil {
				return nil, err
			}
			args[0] = x
		}
		return starlark.Call(thread, native, args, kwargs)
	}
}

// bytesOf is bytes(x), of a text or of numbers. What is no UTF-8 in a text takes three bytes then.
func bytesOf(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		if s, ok := args[0].(starlark.String); ok && !utf8.ValidString(string(s)) {
			if err := evaluationOf(thread).room(3*sizeOf(s), "the result of bytes"); err != nil {
				return nil, err
			}
		}
	}
	return sized(1, starlark.Universe["bytes"])(thread, b, args, kwargs)
}

// zip is zip(*iterables): as many tuples as the shortest has elements.
func zip(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	ev := evaluationOf(thread)
	rows := int64(-1)
	for i, x := range args {
		n := int64(starlark.Len(x))
		if n < 0 {
			y, err := ev.concrete(x, "the result of zip")
			if err != nil {
				return nil, err
			}
			args[i], n = y, int64(starlark.Len(y))
		}
		if n >= 0 && (rows < 0 || n < rows) {
			rows = n
		}
	}
	if err := ev.room(times(max(rows, 0), elementSize*int64(len(args))+tupleSize), "the result of zip"); err != nil {
		return nil, err
	}
	return starlark.Call(thread, starlark.Universe["zip"], args, kwargs)
}

// decide is any or all: found is what an element decides the matter by.
func decide(found bool) method {
	return func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var iterable starlark.Iterable
		if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &iterable); err != nil {
			return nil, err
		}
		ev := evaluationOf(thread)
		for v := range starlark.Elements(iterable) {
			if err := ev.spend(); err != nil {
				return nil, err
			}
			if bool(v.Truth()) == found {
				return starlark.Bool(found), nil
			}
		}
		return starlark.Bool(!found), nil
	}
}

// setOf is set(iterable=[]), dictOf is dict(iterable=[], **kwargs).
func setOf(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return keyedBy(thread, starlark.Universe["set"], false, args, kwargs)
}

func dictOf(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return keyedBy(thread, starlark.Universe["dict"], true, args, kwargs)
}

func keyedBy(thread *starlark.Thread, native starlark.Value, pairs bool, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		x, err := evaluationOf(thread).keys(args[0], pairs)
		if err != nil {
			return nil, err
		}
		args[0] = x
	}
	return starlark.Call(thread, native, args, kwargs)
}

// textOf is str(x) and repr(x).
func textOf(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 1 {
		if _, ok := args[0].(starlark.String); ok && b.Name() == "str" {
			return starlark.Call(thread, starlark.Universe["str"], args, kwargs)
		}
		if _, err := evaluationOf(thread).textSize(args[0], "the text of the value"); err != nil {
			return nil, err
		}
	}
	return starlark.Call(thread, starlark.Universe[b.Name()], args, kwargs)
}

// intOf is int(x, base=10).
func intOf(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 && sizeOf(args[0]) > maxDigits {
		return nil, errLongInt
	}
	for _, pair := range kwargs {
		if sizeOf(pair[1]) > maxDigits {
			return nil, errLongInt
		}
	}
	return starlark.Call(thread, starlark.Universe["int"], args, kwargs)
}

// encodeJSON is json.encode(x).
func encodeJSON(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 1 {
		x, err := evaluationOf(thread).concrete(args[0], "the JSON text")
		if err != nil {
			return nil, err
		}
		if err := evaluationOf(thread).checkEncodable(x); err != nil {
			return nil, err
		}
		args[0] = x
	}
	return starlark.Call(thread, json.Module.Members["encode"], args, kwargs)
}

// decodedSize is how much memory a byte of JSON may take decoded: "[]," becomes a list.
const decodedSize = 24

// decodeJSON is json.decode(text, default).
func decodeJSON(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	for _, arg := range args[:min(len(args), 1)] {
		if s, ok := arg.(starlark.String); ok {
			if err := evaluationOf(thread).checkJSON(string(s)); err != nil {
				return nil, err
			}
		}
	}
	for _, pair := range kwargs {
		if s, ok := pair[1].(starlark.String); ok {
			if err := evaluationOf(thread).checkJSON(string(s)); err != nil {
				return nil, err
			}
		}
	}
	return starlark.Call(thread, json.Module.Members["decode"], args, kwargs)
}

// quotedSteps is what a text in quotes takes that may be a key, and escaped.
const quotedSteps = 8

// maxEscaped is how long a key of maxChosen characters may be in quotes, each of them escaped.
const maxEscaped = 2 + 6*maxChosen

// checkJSON looks at a text that is to be decoded: how large it is, how deeply nested, and how long its numbers are.
func (ev *evaluation) checkJSON(text string) error {
	values := int64(strings.Count(text, ",") + strings.Count(text, "[") + strings.Count(text, "{"))
	if err := ev.room(plus(int64(len(text)), times(values, decodedSize*4)), "the decoded JSON"); err != nil {
		return err
	}
	depth, digits := 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			end := quotedEnd(text, i)
			if err := ev.charge(quotedSteps); err != nil { // what is between them may be anything, as in """"""
				return err
			}
			if err := ev.countKey(starlark.String(unquoted(text[i:end]))); err != nil {
				return err
			}
			i = end - 1
		case c == '[' || c == '{':
			if depth++; depth > maxNested {
				return errDeep
			}
		case c == ']' || c == '}':
			depth--
		}
		if digits++; c < '0' || c > '9' {
			if err := ev.charge(wordSteps(digits / 20)); err != nil {
				return err
			}
			digits = 0
		}
		if digits > maxDigits {
			return errLongInt
		}
	}
	return nil
}

// quotedEnd is where the text in quotes ends that begins at i.
func quotedEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// unquoted is what a JSON text in quotes says. It may be a key, which are short only when that is.
func unquoted(quoted string) string {
	if len(quoted) > maxEscaped || !strings.Contains(quoted, `\`) {
		return strings.Trim(quoted, `"`)
	}
	var s string
	_ = gojson.Unmarshal([]byte(quoted), &s) // if it is wrong, decoding says so
	return s
}

// checkGlobals walks what a file leaves behind, before it is frozen by recursion.
func (ev *evaluation) checkGlobals(globals starlark.StringDict) error {
	w := freezing{ev: ev, seen: map[starlark.Value]bool{}}
	for _, v := range globals {
		if err := w.walk(v, 0); err != nil {
			return err
		}
	}
	return nil
}

// A freezing walks values as Freeze does: lists, dicts, sets and functions once each, tuples whenever they come.
type freezing struct {
	ev   *evaluation
	seen map[starlark.Value]bool
}

// maxFrozen is how deeply they may be nested: Go's stack is large enough for that.
const maxFrozen = 10_000

func (w *freezing) walk(v starlark.Value, depth int) error {
	if depth > maxFrozen {
		return errDeep
	}
	if err := w.ev.spend(); err != nil {
		return err
	}
	switch v := v.(type) {
	case starlark.Tuple:
		return w.all(v, depth)
	case *starlark.List, *starlark.Set:
		if !w.seen[v] {
			w.seen[v] = true
			return w.all(v.(starlark.Iterable), depth)
		}
	case *starlark.Dict:
		if w.seen[v] {
			return nil
		}
		w.seen[v] = true
		for k, x := range v.Entries() {
			if err := w.walk(k, depth+1); err != nil {
				return err
			}
			if err := w.walk(x, depth+1); err != nil {
				return err
			}
		}
	case *starlark.Function:
		if !w.seen[v] {
			w.seen[v] = true
			return w.function(v, depth)
		}
	case *starlark.Builtin:
		if v.Receiver() != nil {
			return w.walk(v.Receiver(), depth+1)
		}
	}
	return nil
}

func (w *freezing) all(values starlark.Iterable, depth int) error {
	for v := range starlark.Elements(values) {
		if err := w.walk(v, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// function walks the defaults of parameters, and what the function has from those around it.
func (w *freezing) function(f *starlark.Function, depth int) error {
	for i := range f.NumParams() {
		if v := f.ParamDefault(i); v != nil {
			if err := w.walk(v, depth+1); err != nil {
				return err
			}
		}
	}
	for i := range f.NumFreeVars() {
		if _, v := f.FreeVar(i); v != nil {
			if err := w.walk(v, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

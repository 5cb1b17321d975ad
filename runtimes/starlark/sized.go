package starlark

import (
	gojson "encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"

	"metascript/engine/jsonescapes"
)

// sized returns a builtin that makes a collection from an iterable, its first argument. It reserves size bytes for each element,
// and then calls native.
func sized(size int64, native starlark.Value) method {
	return func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(args) > 0 {
			ev := evaluationOf(thread)
			what := "the result of " + b.Name()
			x, err := ev.materialize(args[0], what)
			if err != nil {
				return nil, err
			}
			if err := ev.reserve(times(int64(max(starlark.Len(x), 0)), size), what); err != nil {
				return nil, err
			}
			args[0] = x
		}
		return starlark.Call(thread, native, args, kwargs)
	}
}

// bytesOf implements bytes(x), where x is a string or an iterable of numbers. A byte of a string that is not valid UTF-8 becomes
// three bytes.
func bytesOf(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 0 {
		if s, ok := args[0].(starlark.String); ok && !utf8.ValidString(string(s)) {
			if err := evaluationOf(thread).reserve(3*sizeOf(s), "the result of bytes"); err != nil {
				return nil, err
			}
		}
	}
	return sized(1, starlark.Universe["bytes"])(thread, b, args, kwargs)
}

// zip implements zip(*iterables). It returns as many tuples as the shortest iterable has elements.
func zip(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	ev := evaluationOf(thread)
	rows := int64(-1)
	for i, x := range args {
		n := int64(starlark.Len(x))
		if n < 0 {
			y, err := ev.materialize(x, "the result of zip")
			if err != nil {
				return nil, err
			}
			args[i], n = y, int64(starlark.Len(y))
		}
		if n >= 0 && (rows < 0 || n < rows) {
			rows = n
		}
	}
	if err := ev.reserve(times(max(rows, 0), elementSize*int64(len(args))+tupleSize), "the result of zip"); err != nil {
		return nil, err
	}
	return starlark.Call(thread, starlark.Universe["zip"], args, kwargs)
}

// anyOrAll returns any, if stopAt is true, or all. The result is stopAt as soon as an element has that truth value.
func anyOrAll(stopAt bool) method {
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
			if bool(v.Truth()) == stopAt {
				return starlark.Bool(stopAt), nil
			}
		}
		return starlark.Bool(!stopAt), nil
	}
}

// setOf implements set(iterable=[]).
func setOf(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return keyedBy(thread, starlark.Universe["set"], false, args, kwargs)
}

// dictOf implements dict(iterable=[], **kwargs).
func dictOf(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return keyedBy(thread, starlark.Universe["dict"], true, args, kwargs)
}

// keyedBy checks the keys in the first argument, and calls native. The elements are pairs of a key and a value if pairs is set.
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

// textOf implements str(x) and repr(x).
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

// intOf implements int(x, base=10).
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

// encodeJSON implements json.encode(x).
func encodeJSON(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 1 {
		x, err := evaluationOf(thread).materialize(args[0], "the JSON text")
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

// decodedSize is the memory of a decoded byte of JSON in the worst case: "[]," becomes a list.
const decodedSize = 24

// decodeJSON implements json.decode(text, default).
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
	v, err := starlark.Call(thread, json.Module.Members["decode"], args, kwargs)
	if err != nil {
		return nil, err
	}
	return wellFormed(v, args, kwargs)
}

// wellFormed returns what json.decode returned, unless the text has half of a surrogate pair, which the package reads as U+FFFD. Then it
// returns the default, or an error.
func wellFormed(v starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	var otherwise starlark.Value
	if err := starlark.UnpackArgs("json.decode", args, kwargs, "x", &text, "default?", &otherwise); err != nil {
		return nil, err
	}
	at := jsonescapes.Lone(text)
	switch {
	case at < 0:
		return v, nil
	case otherwise != nil:
		return otherwise, nil
	}
	return nil, fmt.Errorf("json.decode: at offset %d, half of a surrogate pair, for example \\ud83d without \\ude00", at)
}

// quotedSteps is how many steps a JSON string costs. It may be a key, and may have escapes.
const quotedSteps = 8

// maxEscaped is the length of a key of maxUnseeded characters in quotes if all characters are escaped.
const maxEscaped = 2 + 6*maxUnseeded

// checkJSON limits a JSON text before it is decoded: its size, its nesting, and the length of its numbers.
func (ev *evaluation) checkJSON(text string) error {
	values := int64(strings.Count(text, ",") + strings.Count(text, "[") + strings.Count(text, "{"))
	if err := ev.reserve(plus(int64(len(text)), times(values, decodedSize*4)), "the decoded JSON"); err != nil {
		return err
	}
	depth, digits := 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			end := quotedEnd(text, i)
			if err := ev.charge(quotedSteps); err != nil { // also if no comma separates the strings, as in """"""
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

// quotedEnd returns the offset after the JSON string that begins at i.
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

// unquoted returns the value of a JSON string, which may be a key. It does not decode the escapes of a long one: its value is
// longer than maxUnseeded too.
func unquoted(quoted string) string {
	if len(quoted) > maxEscaped || !strings.Contains(quoted, `\`) {
		return strings.Trim(quoted, `"`)
	}
	var s string
	_ = gojson.Unmarshal([]byte(quoted), &s) // json.decode reports invalid JSON later
	return s
}

// checkGlobals visits the globals of a file before they are frozen, since Freeze recurses.
func (ev *evaluation) checkGlobals(globals starlark.StringDict) error {
	w := globalsWalk{ev: ev, seen: map[starlark.Value]bool{}}
	for _, v := range globals {
		if err := w.walk(v, 0); err != nil {
			return err
		}
	}
	return nil
}

// A globalsWalk visits values in the same way as Freeze: each list, dict, set and function once, a tuple each time.
type globalsWalk struct {
	ev   *evaluation
	seen map[starlark.Value]bool
}

// maxFrozen is the maximum nesting of values that are frozen. Go's stack is large enough for it.
const maxFrozen = 10_000

func (w *globalsWalk) walk(v starlark.Value, depth int) error {
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

func (w *globalsWalk) all(values starlark.Iterable, depth int) error {
	for v := range starlark.Elements(values) {
		if err := w.walk(v, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// function visits the defaults of the parameters, and the variables of enclosing functions that f uses.
func (w *globalsWalk) function(f *starlark.Function, depth int) error {
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

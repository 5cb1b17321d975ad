package starlark

import (
	"iter"
	"math"
	"strings"

	"go.starlark.net/starlark"

	"metascript/engine"
)

// repr writes a part of the request as Starlark does.
func repr(v starlark.Value) string {
	w := writer{left: math.MaxInt}
	w.value(v, 0)
	return w.String()
}

// A writer writes values as Starlark does, but stops when it has written as much as it may, so that what a message
// shows of a huge value costs no more than what is shown.
type writer struct {
	strings.Builder
	left int
}

const (
	// maxShown is how deeply values may be nested that are written; a script's may contain themselves.
	maxShown = 200
	// maxDigits bounds the integers that are written: it takes the square of their length.
	maxDigits = 10_000
)

// text writes s, or what fits.
func (w *writer) text(s string) {
	if w.left <= 0 {
		return
	}
	if len(s) > w.left {
		s = engine.Clip(s, w.left)
		w.left = 0
	}
	w.left -= len(s)
	w.WriteString(s)
}

// full reports whether nothing more will be written.
func (w *writer) full() bool { return w.left <= 0 }

func (w *writer) value(v starlark.Value, depth int) {
	if depth > maxShown {
		w.text("...")
		return
	}
	switch v := v.(type) {
	case starlark.String:
		w.text(starlark.String(engine.Clip(string(v), w.left)).String())
	case starlark.Bytes:
		w.text(v[:min(len(v), w.left)].String())
	case starlark.Int:
		w.integer(v)
	case starlark.Tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		w.elements("(", v.Elements(), depth, end)
	case *starlark.List:
		w.elements("[", v.Elements(), depth, "]")
	case *starlark.Set:
		w.elements("set([", v.Elements(), depth, "])")
	case slice:
		w.elements("[", starlark.Elements(v), depth, "]")
	case *starlark.Dict:
		w.entries(v.Entries(), depth)
	case dict:
		w.entries(starlark.Entries(v), depth)
	case starlark.Iterable:
		if v.Type() != "range" { // the parts of a text would show it whole
			w.text("<" + v.Type() + ">")
			return
		}
		w.text(v.String())
	default:
		w.text(v.String())
	}
}

func (w *writer) integer(i starlark.Int) {
	if _, small := i.Int64(); !small && i.BigInt().BitLen() > 4*maxDigits {
		w.text("<an int of more than 10000 digits>")
		return
	}
	w.text(i.String())
}

func (w *writer) elements(begin string, elems iter.Seq[starlark.Value], depth int, end string) {
	w.text(begin)
	first := true
	for v := range elems {
		if w.full() {
			return
		}
		if !first {
			w.text(", ")
		}
		first = false
		w.value(v, depth+1)
	}
	w.text(end)
}

func (w *writer) entries(entries iter.Seq2[starlark.Value, starlark.Value], depth int) {
	w.text("{")
	first := true
	for k, v := range entries {
		if w.full() {
			return
		}
		if !first {
			w.text(", ")
		}
		first = false
		w.value(k, depth+1)
		w.text(": ")
		w.value(v, depth+1)
	}
	w.text("}")
}

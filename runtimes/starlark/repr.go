package starlark

import (
	"iter"
	"math"
	"strings"

	"go.starlark.net/starlark"

	"metascript/engine"
)

// repr formats a part of the request as Starlark does.
func repr(v starlark.Value) string {
	w := writer{remaining: math.MaxInt}
	w.value(v, 0)
	return w.String()
}

// A writer formats values as Starlark does, and stops at a maximum length. So it is cheap to show the beginning of a huge value
// in a message.
type writer struct {
	strings.Builder
	remaining int
}

const (
	// maxShown is the nesting up to which values are written. A value may contain itself.
	maxShown = 200
	// maxDigits is the maximum length of an integer: the time to format it grows with the square of its length.
	maxDigits = 10_000
)

// text writes s, or as much of it as fits.
func (w *writer) text(s string) {
	if w.remaining <= 0 {
		return
	}
	if len(s) > w.remaining {
		s = engine.Clip(s, w.remaining)
		w.remaining = 0
	}
	w.remaining -= len(s)
	w.WriteString(s)
}

// full reports whether nothing more will be written.
func (w *writer) full() bool { return w.remaining <= 0 }

func (w *writer) value(v starlark.Value, depth int) {
	if depth > maxShown {
		w.text("...")
		return
	}
	switch v := v.(type) {
	case starlark.String:
		w.text(starlark.String(engine.Clip(string(v), w.remaining)).String())
	case starlark.Bytes:
		w.text(v[:min(len(v), w.remaining)].String())
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
	case listView:
		w.elements("[", starlark.Elements(v), depth, "]")
	case *starlark.Dict:
		w.entries(v.Entries(), depth)
	case dictView:
		w.entries(starlark.Entries(v), depth)
	case starlark.Iterable:
		if v.Type() != "range" { // "ab".elems() would show the whole string
			w.text("<" + v.Type() + ">")
			return
		}
		w.text(v.String())
	default:
		w.text(v.String())
	}
}

func (w *writer) integer(i starlark.Int) {
	if _, fits := i.Int64(); !fits && i.BigInt().BitLen() > 4*maxDigits {
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

package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// FuzzDeepLine checks that brackets after any text are counted.
func FuzzDeepLine(f *testing.F) {
	for _, text := range []string{
		"", "f(x)[0]", "'(' # (", `"\"(" // )`, "`(\n(`", `'it\'s' it's (`, "\\(", "((\n))\n((",
		strings.Repeat("([{", 200), strings.Repeat("(\n", 501), `"` + strings.Repeat("(", 501) + `"`,
	} {
		for _, comments := range lineComments {
			f.Add(text, strings.Join(comments, " "))
		}
	}
	f.Fuzz(func(t *testing.T, text, comments string) {
		begins := strings.Fields(comments)
		line, lines := deepLine(text, begins), 1+strings.Count(text, "\n")
		if line < 0 || line > lines {
			t.Errorf("line %d of %d", line, lines)
		}
		if opening := strings.Count(text, "(") + strings.Count(text, "[") + strings.Count(text, "{"); line > 0 && opening <= maxNesting {
			t.Errorf("%d brackets are reported as too deep", opening)
		}
		if deep := strings.Repeat("(", maxNesting+1); deepLine(text+"\n"+deep, begins) == 0 {
			t.Error("a line with deep brackets is not found after this text")
		}
		if plain := !strings.ContainsAny(text, "\\\"'`") && len(begins) == 0; plain && line != deepLineOf(text) {
			t.Errorf("line %d, want %d", line, deepLineOf(text))
		}
	})
}

// deepLineOf is deepLine for text without strings and comments.
func deepLineOf(text string) int {
	d, number := depth{}, 1
	for i := range len(text) {
		if d.add(text[i]); d.deep {
			return number
		}
		if text[i] == '\n' {
			number++
		}
	}
	return 0
}

// FuzzWalk converts arbitrary graphs, which may have shared parts and cycles, in the way in which a runtime converts the values of its
// interpreter.
func FuzzWalk(f *testing.F) {
	f.Add([]byte("\x02\x01\x01\x02\x02\x02\x03"), uint16(1000), byte(60), uint16(10000)) // each twice in the one before
	f.Add([]byte("\x01\x00"), uint16(100), byte(10), uint16(1000))                       // in itself
	f.Add([]byte("\x81\x00"), uint16(100), byte(10), uint16(1000))
	f.Add([]byte("\x82\x01\x02\x00\x00"), uint16(100), byte(10), uint16(1000))
	f.Add([]byte("\x00"), uint16(1), byte(1), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, nodes uint16, depth byte, output uint16) {
		limits := Limits{Nodes: int(nodes), Depth: int(depth), Output: int64(output)}.WithDefaults()
		g := parseGraph(data)
		w := NewWalk(limits)
		value, err := g.convert(w, 0)
		if err != nil {
			if err.Kind != KindOutput || len(err.Msg) > 2*maxMsg || len(w.Path()) > 2*maxMsg {
				t.Errorf("a %s of %d bytes at a path of %d", err.Kind, len(err.Msg), len(w.Path()))
			}
			return
		}
		if w.Path() != "" {
			t.Errorf("the path is %s at the end", w.Path())
		}
		text, jsonErr := json.Marshal(value)
		if count, deep := measure(value); jsonErr != nil || count > limits.Nodes || deep > limits.Depth || int64(len(text)) > limits.Output {
			t.Errorf("%d values, %d deep, in %d bytes (%v) pass %+v", count, deep, len(text), jsonErr, limits)
		}
	})
}

// A graph is a list of vertices, which are strings, lists and maps. The elements of the latter two are indexes.
type graph []vertex

type vertex struct {
	isMap    bool
	elements []int
}

// parseGraph reads vertices: a byte with their kind and the number of elements, and a byte for each of these.
func parseGraph(data []byte) graph {
	var g graph
	for len(data) > 0 {
		head := data[0]
		n := min(int(head&0x7f), len(data)-1)
		v := vertex{isMap: head >= 0x80}
		for _, element := range data[1 : 1+n] {
			v.elements = append(v.elements, int(element))
		}
		g = append(g, v)
		data = data[1+n:]
	}
	return g
}

// convert returns vertex i as a JSON-shaped value. It is a string if the vertex does not exist or has no elements.
func (g graph) convert(w *Walk, i int) (any, *Error) {
	if i >= len(g) || len(g[i].elements) == 0 {
		return "text", w.Count(len(`"text"`))
	}
	if err := w.Count(len("[]")); err != nil {
		return nil, err
	}
	list, byKey := []any{}, map[string]any{}
	for place, element := range g[i].elements {
		key := strings.Repeat("k", 1+place)
		if err := g[i].enter(w, place, key); err != nil {
			return nil, err
		}
		value, err := g.convert(w, element)
		if err != nil {
			return nil, err
		}
		w.Leave()
		list, byKey[key] = append(list, value), value
	}
	if g[i].isMap {
		return byKey, nil
	}
	return list, nil
}

func (v vertex) enter(w *Walk, place int, key string) *Error {
	if v.isMap {
		return w.EnterKey(key)
	}
	return w.EnterIndex(place)
}

// measure returns the number of values in v, and the depth of v.
func measure(v any) (count, deep int) {
	var elements []any
	switch v := v.(type) {
	case []any:
		elements = v
	case map[string]any:
		for _, element := range v {
			elements = append(elements, element)
		}
	}
	for _, element := range elements {
		c, d := measure(element)
		count, deep = count+c, max(deep, 1+d)
	}
	return count + 1, deep
}

// FuzzClip checks that Clip shortens only texts that are too long, and does not cut within a character.
func FuzzClip(f *testing.F) {
	f.Add("", 0)
	f.Add("äöü€", 4)
	f.Add("\xff\x80\x80\x80\x80", 4)
	f.Fuzz(func(t *testing.T, s string, n int) {
		got := Clip(s, n)
		switch {
		case len(s) <= n && got != s:
			t.Errorf("%q became %q", s, got)
		case len(got) > max(n, len("…")):
			t.Errorf("%d bytes, at most %d", len(got), n)
		case strings.ToValidUTF8(s, "") == s && strings.ToValidUTF8(got, "") != got:
			t.Errorf("%q is cut within a character", got)
		}
	})
}

// FuzzError tests errors with invalid positions, and with invalid text in the source.
func FuzzError(f *testing.F) {
	f.Add("a = 1\n\tb\n", "main", 2, 3)
	f.Add("\ufeff", "main", 9, -1)
	f.Add("x", "../main", 1, 1)
	f.Fuzz(func(t *testing.T, text, file string, line, col int) {
		s := fakeScript(text)
		e := &Error{Kind: KindSyntax, Pos: Pos{File: file, Line: line, Col: col}, Msg: text}
		e = e.complete("sync", newSources(s.Files))
		if len(e.Msg) > maxMsg {
			t.Errorf("%d bytes of message", len(e.Msg))
		}
		if strings.Contains(e.Error(), "\n") && !strings.Contains(file, "\n") {
			t.Errorf("not one line: %q", e.Error())
		}
		if !errors.As(error(e), new(*Error)) || e.Detail() == "" {
			t.Error("Detail returns an empty text")
		}
	})
}

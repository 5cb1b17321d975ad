package engine

import "slices"

// A Path leads to a value in an answer. Its elements are keys (string) and indices (int). If the last one is a [Key], the path
// leads to the key itself, not to its value.
type Path []any

// A Key is a key at the end of a [Path].
type Key string

// An Outline says where in a script the parts of a value are written, as far as the source text shows it: {"a": [1, f()]} has a
// place for the whole, for a, and for both elements. What a script computes in other ways is not in the outline. An Outline is
// not changed after it was made, and may be part of several others.
type Outline struct {
	Pos    Pos                 // where the value is written; no line if unknown
	Key    Pos                 // where its key is written, for a field
	Text   string              // the value, if it is a text that is written there
	Fields map[string]*Outline // of an object
	Items  []*Outline          // the first elements of a list
	Each   *Outline            // any other element
	Either []*Outline          // the value may be any of these, in addition
}

// Or returns the outline of a value that is written at one of two places. Either may be nil.
func (o *Outline) Or(other *Outline) *Outline {
	switch {
	case o == nil || o == other:
		return other
	case other == nil:
		return o
	}
	return &Outline{Either: []*Outline{o, other}}
}

// Find returns the place of the value at path, or of the innermost value around it whose place is known. It has no line if none
// is. answer is the answer, or nil if it is not known: where a value is written in several places, those that write another
// text, such as another kind of object, are not considered.
func (o *Outline) Find(path Path, answer map[string]any) Pos {
	var at Pos
	var value any = answer
	for candidates := []*Outline{o}; ; path = path[1:] {
		candidates = matching(candidates, value)
		if pos, ok := common(candidates, func(c *Outline) Pos { return c.Pos }); ok {
			at = pos
		}
		if len(path) == 0 {
			return at
		}
		var next []*Outline
		for _, c := range candidates {
			next = append(next, c.step(path[0]))
		}
		if _, key := path[0].(Key); key {
			if pos, ok := common(next, func(c *Outline) Pos { return c.Key }); ok {
				return pos
			}
			if pos, ok := common(matching(next, nil), func(c *Outline) Pos { return c.Pos }); ok {
				return pos
			}
			return at
		}
		candidates, value = next, element(value, path[0])
	}
}

// common returns the position of the candidates that have one, if it is the same for all of these.
func common(candidates []*Outline, of func(*Outline) Pos) (pos Pos, ok bool) {
	for _, c := range candidates {
		if c == nil {
			continue
		}
		switch at := of(c); {
		case at.Line == 0 || at == pos:
		case ok:
			return Pos{}, false
		default:
			pos, ok = at, true
		}
	}
	return pos, ok
}

func (o *Outline) step(to any) *Outline {
	switch to := to.(type) {
	case string:
		return o.Fields[to]
	case Key:
		return o.Fields[string(to)]
	case int:
		if to >= 0 && to < len(o.Items) {
			return o.Items[to]
		}
		return o.Each
	}
	return nil
}

// element returns the value at one element of a path, or nil.
func element(v, at any) any {
	switch v := v.(type) {
	case map[string]any:
		key, _ := at.(string)
		return v[key]
	case []any:
		if i, ok := at.(int); ok && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// matching returns the places that candidates stand for, without those that write another value, unless all do. Of a place that
// only collects others, only these are returned.
func matching(candidates []*Outline, value any) []*Outline {
	var all []*Outline
	seen := map[*Outline]bool{}
	var add func([]*Outline)
	add = func(list []*Outline) {
		for _, c := range list {
			if c == nil || seen[c] {
				continue
			}
			seen[c] = true
			if c.written() {
				all = append(all, c)
			}
			add(c.Either)
		}
	}
	add(candidates)
	fits := slices.DeleteFunc(slices.Clone(all), func(c *Outline) bool { return c.contradicts(value, 2) })
	if len(fits) == 0 {
		return all
	}
	return fits
}

// contradicts reports whether the value cannot be written at the place, looking at fields down to depth.
func (o *Outline) contradicts(value any, depth int) bool {
	if o == nil || value == nil {
		return false
	}
	if text, ok := value.(string); o.Text != "" && ok && text != o.Text {
		return true
	}
	if !o.written() && len(o.Either) == 1 { // a field
		return o.Either[0].contradicts(value, depth)
	}
	m, _ := value.(map[string]any)
	if depth == 0 || m == nil {
		return false
	}
	for key, field := range o.Fields {
		if field.contradicts(m[key], depth-1) {
			return true
		}
	}
	return false
}

// written reports whether o is a place itself, and not only a collection of others.
func (o *Outline) written() bool {
	return o.Pos.Line > 0 || o.Text != "" || o.Fields != nil || o.Items != nil || o.Each != nil
}

// An Outlined program knows how its functions write their answers.
type Outlined interface {
	// Outline returns the outline of the answers of the function fn, or nil if it is not known.
	Outline(fn string) *Outline
}

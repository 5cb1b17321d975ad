package process

import (
	"maps"
	"slices"
	"strings"

	"metascript/engine"
)

// maxOutlines is how many parts the outlines of one program may have that are sent. Without them, errors about answers have the
// position of the function.
const maxOutlines = 20_000

// An outlineEncoder numbers the parts of outlines, which may share parts. Every part comes after those in it; 0 is no outline.
type outlineEncoder struct {
	*encoder
	numbers map[*engine.Outline]uint64
	parts   encoder
}

// outlines writes the outlines of functions.
func (e *encoder) outlines(of []*engine.Outline) {
	o := &outlineEncoder{encoder: e, numbers: map[*engine.Outline]uint64{}}
	roots := make([]uint64, len(of))
	for i, outline := range of {
		roots[i] = o.part(outline)
	}
	if len(o.numbers) >= maxOutlines {
		o.parts, o.numbers = encoder{}, nil
		clear(roots)
	}
	e.uint(uint64(len(o.numbers)))
	e.buf = append(e.buf, o.parts.buf...)
	for _, root := range roots {
		e.uint(root)
	}
}

// part writes a part, unless it is written already, and returns its number.
func (e *outlineEncoder) part(o *engine.Outline) uint64 {
	if o == nil || len(e.numbers) >= maxOutlines {
		return 0
	}
	if n, ok := e.numbers[o]; ok {
		return n
	}
	keys := slices.Sorted(maps.Keys(o.Fields))
	fields := make([]uint64, len(keys))
	for i, key := range keys {
		fields[i] = e.part(o.Fields[key])
	}
	items, either, each := e.all(o.Items), e.all(o.Either), e.part(o.Each)
	e.parts.pos(o.Pos)
	e.parts.pos(o.Key)
	e.parts.text(o.Text)
	e.parts.texts(keys)
	for _, list := range [][]uint64{fields, {uint64(len(items))}, items, {uint64(len(either))}, either, {each}} {
		for _, n := range list {
			e.parts.uint(n)
		}
	}
	n := uint64(len(e.numbers)) + 1
	e.numbers[o] = n
	return n
}

func (e *outlineEncoder) all(list []*engine.Outline) []uint64 {
	numbers := make([]uint64, len(list))
	for i, o := range list {
		numbers[i] = e.part(o)
	}
	return numbers
}

// outlines reads the outlines of n functions.
func (d *decoder) outlines(n int) []*engine.Outline {
	parts := []*engine.Outline{nil}
	part := func() *engine.Outline {
		n := d.uint()
		if n >= uint64(len(parts)) {
			d.fail()
			return nil
		}
		return parts[n]
	}
	list := func() []*engine.Outline {
		all := make([]*engine.Outline, d.count())
		for i := range all {
			all[i] = part()
		}
		return all
	}
	count := d.count()
	if count > maxOutlines {
		d.fail()
	}
	for range count {
		if d.err != nil {
			return make([]*engine.Outline, n)
		}
		o := &engine.Outline{Pos: d.pos(), Key: d.pos(), Text: strings.Clone(d.text())}
		keys := d.texts()
		if len(keys) > 0 {
			o.Fields = map[string]*engine.Outline{}
		}
		for _, key := range keys {
			o.Fields[strings.Clone(key)] = part()
		}
		o.Items, o.Either, o.Each = list(), list(), part()
		parts = append(parts, o)
	}
	all := make([]*engine.Outline, n)
	for i := range all {
		all[i] = part()
	}
	return all
}

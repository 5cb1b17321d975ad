package jsonnet

import (
	"errors"
	"math"
	"slices"
	"unicode/utf8"
)

// The interpreter compares and prints values by recursion, and does not count steps for values that are evaluated already: a
// value that contains itself overflows the stack, and [x, x] of [x, x] of ... takes as long as the whole tree. The functions
// here visit the same values first, evaluate them in the same order as the interpreter would, and count.

// step charges for one value, and refuses a value that is nested too deeply below the start of the walk.
func (o *operation) step(depth int) {
	o.charge(1)
	if depth > maxNesting || depth+o.depth > maxDepth {
		o.tooDeep()
	}
}

// evaluateAt calls get, which evaluates a value that is depth levels below the start of a walk. The evaluation uses Go's stack too,
// and may begin another walk.
func (o *operation) evaluateAt(depth int, get func() (value, error)) (value, error) {
	o.depth += depth
	v, err := get()
	o.depth -= depth
	if err != nil && o.fatal == nil {
		o.fatal = err
	}
	return v, err
}

func (o *operation) element(t *thunk, depth int) (value, error) {
	if t.content != nil {
		return t.content, nil
	}
	return o.evaluateAt(depth, func() (value, error) { return o.forced(o.i, t) })
}

func (o *operation) field(x *objectValue, name string, depth int) (value, error) {
	return o.evaluateAt(depth, func() (value, error) { return o.guard.fieldOf(o.i, x, name) })
}

// equal implements ==.
func (o *operation) equal(x, y value, depth int) (bool, error) {
	kx, px := kindOf(x)
	ky, py := kindOf(y)
	switch {
	case isString(x) && isString(y):
		if length(x) != length(y) {
			return false, nil
		}
		o.charge(1 + int64(length(x))/64)
		return slices.Equal(runesOf(x), runesOf(y)), nil
	case kx != ky:
		return false, nil
	case kx == arrayKind:
		return o.equalArrays((*arrayValue)(px).elements, (*arrayValue)(py).elements, depth)
	case kx == objectKind:
		return o.equalObjects((*objectValue)(px), (*objectValue)(py), depth)
	case kx == numberKind:
		return (*numberValue)(px).value == (*numberValue)(py).value, nil
	case kx == booleanKind:
		return (*booleanValue)(px).value == (*booleanValue)(py).value, nil
	}
	return kx == nullKind, nil
}

// pair evaluates two elements for a comparison.
func (o *operation) pair(x, y *thunk, depth int) (a, b value, err error) {
	if a, err = o.element(x, depth); err == nil {
		b, err = o.element(y, depth)
	}
	return a, b, err
}

func (o *operation) equalArrays(x, y []*thunk, depth int) (bool, error) {
	if len(x) != len(y) {
		return false, nil
	}
	for n := range x {
		o.step(depth)
		a, b, err := o.pair(x[n], y[n], depth)
		if err != nil {
			return false, err
		}
		if same, err := o.equal(a, b, depth+1); !same || err != nil {
			return same, err
		}
	}
	return true, nil
}

func (o *operation) equalObjects(x, y *objectValue, depth int) (bool, error) {
	names := o.visible(x)
	if !slices.Equal(names, o.visible(y)) {
		return false, nil
	}
	for _, name := range names {
		o.step(depth)
		a, err := o.field(x, name, depth)
		if err != nil {
			return false, err
		}
		b, err := o.field(y, name, depth)
		if err != nil {
			return false, err
		}
		if same, err := o.equal(a, b, depth+1); !same || err != nil {
			return same, err
		}
	}
	return true, nil
}

// visible returns the names of an object's visible fields, sorted.
func (g *guard) visible(x *objectValue) []string {
	g.chargeMerging(x.uncached)
	names := fieldNames(x, withoutHidden)
	slices.Sort(names)
	g.charge(int64(len(names)) / 4)
	return names
}

// order visits two values as < does, up to the first difference. It reports whether they differ.
func (o *operation) order(x, y value, depth int) (differ bool, err error) {
	if isString(x) && isString(y) {
		o.charge(1 + int64(min(length(x), length(y)))/64)
		return !slices.Equal(runesOf(x), runesOf(y)), nil
	}
	a, ok := arrayOf(x)
	b, also := arrayOf(y)
	if !ok || !also {
		return number(x) != number(y), nil
	}
	for n := range min(len(a), len(b)) {
		o.step(depth)
		v, w, err := o.pair(a[n], b[n], depth)
		if err != nil {
			return false, err
		}
		if differ, err := o.order(v, w, depth+1); differ || err != nil {
			return differ, err
		}
	}
	return len(a) != len(b), nil
}

// A printing measures a value before it is converted to text.
type printing struct {
	*operation
	indent, between int  // bytes of one level of indentation, and between a key and its value or between two lines
	lines           bool // whether the lines of strings are indented too
	bytes           int64
	nodes, deepest  int64
	longestKey      int
	squares         float64 // sum of the squares of the keys' lengths
}

func (o *operation) print(v value, p printing) *printing {
	p.operation = o
	_ = p.nested(v, 0) // the error is in came, or the interpreter reports it again
	return &p
}

// errFunction is the error for a function, which cannot be printed.
var errFunction = errors.New("a function")

// errDeep is the error for a value that is nested more deeply than the interpreter prints.
var errDeep = errors.New("nested too deep")

// add counts bytes. They are in memory more than once: as bytes, as a tree, and as a string of runes.
func (p *printing) add(n int) {
	p.bytes += int64(n)
	p.size(float64(p.bytes) * runeSize)
}

func (p *printing) nested(v value, depth int) error {
	if depth > p.limits.Stack+ownFrames {
		return errDeep // the interpreter will stop too
	}
	p.step(depth)
	p.nodes++
	p.deepest = max(p.deepest, int64(depth))
	p.add(8 + depth*p.indent + p.between)
	switch k, at := kindOf(v); k {
	case flatKind, treeKind:
		p.charge(int64(length(v)) / 64)
		p.add(length(v))
		p.add(escapes(v))
		if p.lines {
			p.add(linesOf(v) * (depth + 1) * p.indent)
		}
	case numberKind:
		p.add(digits((*numberValue)(at).value))
	case arrayKind:
		for _, e := range (*arrayValue)(at).elements {
			w, err := p.element(e, depth)
			if err == nil {
				err = p.nested(w, depth+1)
			}
			if err != nil {
				return err
			}
		}
	case functionKind:
		return errFunction
	case objectKind:
		return p.object((*objectValue)(at), depth)
	}
	return nil
}

// digits returns about how many bytes a number takes at most in any format. No format always writes an exponent.
func digits(f float64) int {
	const few = 16
	if f = math.Abs(f); f == 0 || f >= 1e-4 && f < 1e16 || math.IsInf(f, 0) || math.IsNaN(f) {
		return few
	}
	return few + int(math.Abs(math.Log10(f)))
}

func linesOf(v value) int {
	n := 0
	for _, r := range runesOf(v) {
		if r == '\n' {
			n++
		}
	}
	return n
}

// escapes returns how many bytes escaping adds to a string, with its UTF-8 encoding not counted.
func escapes(v value) int {
	n := 0
	for _, r := range runesOf(v) {
		switch {
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029':
			n += 5 // \u0001
		case r == '"' || r == '\\':
			n++
		}
	}
	return n
}

func (p *printing) object(x *objectValue, depth int) error {
	names := p.visible(x)
	if err := checkAssertions(p.i, x); err != nil {
		p.fatal = err
		return err
	}
	for _, name := range names {
		w, err := p.field(x, name, depth)
		if err != nil {
			return err
		}
		key := utf8.RuneCountInString(name)
		p.longestKey = max(p.longestKey, key)
		p.squares += float64(key) * float64(key)
		p.add(len(name) + p.between)
		if err := p.nested(w, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkManifestJSON also charges for copies: the JSON of each level is copied into that of the level above.
func checkManifestJSON(o *operation) {
	p := o.print(o.args[0], printing{indent: length(o.args[1]), between: length(o.args[2]) + length(o.args[3])})
	o.charge(p.bytes * p.deepest / 256)
}

// maxKey limits the keys of YAML together, by the sum of their squares: each key is escaped by appending one character at a
// time to a string.
const maxKey = 32 << 10

func checkManifestYAML(o *operation) {
	if p := o.print(o.args[0], printing{indent: 2, between: 4, lines: true}); p.squares > maxKey*maxKey {
		o.refuse("std.manifestYamlDoc of a key so long")
	}
}

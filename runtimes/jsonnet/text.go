package jsonnet

import (
	"math"
	"slices"
	"strconv"
	"strings"
	_ "unsafe" // for linkname
)

// The interpreter writes a number that has a fraction with 17 digits in most texts: 26.01 as 26.010000000000002. So texts are written
// here: those of std.toString, of the operator +, of %s and all that uses it, and of std.manifestTomlEx. std.manifestJsonEx and
// std.manifestYamlDoc write few digits.

// quoted returns a string as in JSON.
//
//go:linkname quoted github.com/google/go-jsonnet.unparseString
func quoted(s string) string

// formatted returns a number in decimal: all digits of an integer, and as many digits of a fraction as distinguish it from others.
func formatted(f float64) string {
	switch {
	case f == math.Trunc(f):
		return strconv.FormatFloat(f, 'f', 0, 64)
	case math.Abs(f) < 1e-4:
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// toString implements std.toString.
func toString(o *operation) (value, error, bool) {
	if isString(o.args[0]) {
		return nil, nil, false
	}
	text, ok := o.written(o.args[0])
	if !ok {
		return nil, o.fatal, o.fatal != nil
	}
	return newString(text), nil, true
}

// escapeString implements std.escapeStringJson.
func escapeString(o *operation) (value, error, bool) {
	text := ""
	if isString(o.args[0]) {
		o.print(o.args[0], printing{})
		text = string(runesOf(o.args[0]))
	} else {
		written, ok := o.written(o.args[0])
		if !ok {
			return nil, o.fatal, o.fatal != nil
		}
		text = written
	}
	return newString(quoted(text)), nil, true
}

// written returns the text of a value that is not a string. It returns false if the interpreter has to report an error; if it has done
// so already, fatal is set.
func (o *operation) written(v value) (string, bool) {
	p := printing{operation: o, between: 2}
	if p.nested(v, 0) != nil {
		return "", false
	}
	var b strings.Builder
	err := o.write(&b, v, 0)
	return b.String(), err == nil
}

// write writes a value that has been measured.
func (o *operation) write(b *strings.Builder, v value, depth int) error {
	switch k, at := kindOf(v); k {
	case arrayKind:
		return o.writeArray(b, (*arrayValue)(at).elements, depth)
	case objectKind:
		return o.writeObject(b, (*objectValue)(at), depth)
	default:
		b.WriteString(o.scalarText(v))
	}
	return nil
}

// scalarText returns the text of a value that contains no others.
func (o *operation) scalarText(v value) string {
	switch k, at := kindOf(v); k {
	case booleanKind:
		return strconv.FormatBool((*booleanValue)(at).value)
	case numberKind:
		return formatted((*numberValue)(at).value)
	case flatKind, treeKind:
		return quoted(string(runesOf(v)))
	}
	return "null"
}

func (o *operation) writeArray(b *strings.Builder, elements []*thunk, depth int) error {
	if len(elements) == 0 {
		b.WriteString("[ ]")
		return nil
	}
	before := "["
	for _, e := range elements {
		v, err := o.element(e, depth)
		if err != nil {
			return err
		}
		b.WriteString(before)
		if err := o.write(b, v, depth+1); err != nil {
			return err
		}
		before = ", "
	}
	b.WriteString("]")
	return nil
}

func (o *operation) writeObject(b *strings.Builder, x *objectValue, depth int) error {
	names := fieldNames(x, withoutHidden)
	slices.Sort(names)
	if len(names) == 0 {
		b.WriteString("{ }")
		return nil
	}
	before := "{"
	for _, name := range names {
		v, err := o.field(x, name, depth)
		if err != nil {
			return err
		}
		b.WriteString(before + quoted(name) + ": ")
		if err := o.write(b, v, depth+1); err != nil {
			return err
		}
		before = ", "
	}
	b.WriteString("}")
	return nil
}

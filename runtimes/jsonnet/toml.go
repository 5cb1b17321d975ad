package jsonnet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	_ "unsafe" // for linkname
)

// tomlKey returns a key of TOML, in quotes if it needs them.
//
//go:linkname tomlKey github.com/google/go-jsonnet.tomlEncodeKey
func tomlKey(s string) string

// A tomlWriter writes the text of a value as TOML, in the form of the interpreter's own function.
type tomlWriter struct {
	*operation
	strings.Builder
	indent string // of one level
	path   []string
}

// manifestTOML implements std.manifestTomlEx.
func manifestTOML(o *operation) (value, error, bool) {
	x, ok := objectOf(o.args[0])
	if !ok || !isString(o.args[1]) {
		return nil, nil, false // the interpreter reports it
	}
	o.measureTOML()
	if o.fatal != nil {
		return nil, o.fatal, true
	}
	w := tomlWriter{operation: o, indent: string(runesOf(o.args[1]))}
	if err := w.table(x, nil, "", 0); err != nil {
		return nil, err, true
	}
	return newString(w.String()), nil, true
}

// measureTOML refuses a value whose text is too large: a table repeats all keys on its path.
func (o *operation) measureTOML() {
	p := o.print(o.args[0], printing{indent: length(o.args[1]), between: 4})
	bytes := float64(p.bytes) + float64(p.nodes)*float64(p.deepest)*float64(p.longestKey)
	o.size(bytes * runeSize)
	o.charge(int64(bytes) / 16)
}

// table writes the fields of an object: first the values, and then the tables. heading has the keys of the heading of x.
func (w *tomlWriter) table(x *objectValue, heading []string, indent string, depth int) error {
	names := fieldNames(x, withoutHidden)
	slices.Sort(names)
	var tables []string
	before := indent
	for _, name := range names {
		v, err := w.field(x, name, depth)
		if err != nil {
			return err
		}
		is, err := w.isTable(v, depth)
		if err != nil {
			return err
		}
		if is {
			tables = append(tables, name)
			continue
		}
		w.WriteString(before + tomlKey(name) + " = ")
		if err := w.within(name, func() error { return w.value(v, "\n"+indent, depth+1) }); err != nil {
			return err
		}
		before = "\n" + indent
	}
	for _, name := range tables {
		v, err := w.field(x, name, depth)
		if err == nil {
			err = w.within(name, func() error { return w.tables(v, append(slices.Clip(heading), tomlKey(name)), indent, depth+1) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tables writes an object, or a list of objects, as tables.
func (w *tomlWriter) tables(v value, heading []string, indent string, depth int) error {
	if x, ok := objectOf(v); ok {
		return w.withHeading(x, "[", "]", heading, indent, depth)
	}
	elements, _ := arrayOf(v)
	for n, e := range elements {
		v, err := w.element(e, depth)
		if err != nil {
			return err
		}
		x, _ := objectOf(v)
		if err := w.within(strconv.Itoa(n), func() error { return w.withHeading(x, "[[", "]]", heading, indent, depth+1) }); err != nil {
			return err
		}
	}
	return nil
}

func (w *tomlWriter) withHeading(x *objectValue, open, end string, heading []string, indent string, depth int) error {
	w.WriteString("\n\n" + indent + open + strings.Join(heading, ".") + end)
	if len(fieldNames(x, withoutHidden)) > 0 {
		w.WriteString("\n")
	}
	return w.table(x, heading, indent+w.indent, depth)
}

// value writes a value that is not a table. The elements of a list are in lines of their own; newline is "" for a value within another.
func (w *tomlWriter) value(v value, newline string, depth int) error {
	switch k, at := kindOf(v); k {
	case arrayKind:
		return w.array((*arrayValue)(at).elements, newline, depth)
	case objectKind:
		return w.inline((*objectValue)(at), depth)
	case nullKind:
		return raise(w.i, fmt.Sprintf("Tried to manifest \"null\" at %v", w.path))
	case functionKind:
		return raise(w.i, fmt.Sprintf("Tried to manifest function at %v", w.path))
	}
	w.WriteString(w.scalarText(v))
	return nil
}

func (w *tomlWriter) array(elements []*thunk, newline string, depth int) error {
	if len(elements) == 0 {
		w.WriteString("[]")
		return nil
	}
	before, after := newline+w.indent, newline
	if newline == "" {
		before, after = " ", " "
	}
	w.WriteString("[")
	for n, e := range elements {
		v, err := w.element(e, depth)
		if err != nil {
			return err
		}
		if n > 0 {
			w.WriteString(",")
		}
		w.WriteString(before)
		if err := w.within(strconv.Itoa(n), func() error { return w.value(v, "", depth+1) }); err != nil {
			return err
		}
	}
	w.WriteString(after + "]")
	return nil
}

// inline writes an object in one line.
func (w *tomlWriter) inline(x *objectValue, depth int) error {
	names := fieldNames(x, withoutHidden)
	slices.Sort(names)
	w.WriteString("{ ")
	for n, name := range names {
		v, err := w.field(x, name, depth)
		if err != nil {
			return err
		}
		if n > 0 {
			w.WriteString(", ")
		}
		w.WriteString(tomlKey(name) + " = ")
		if err := w.within(name, func() error { return w.value(v, "", depth+1) }); err != nil {
			return err
		}
	}
	w.WriteString(" }")
	return nil
}

// within calls f, in which errors are at a key or an index.
func (w *tomlWriter) within(key string, f func() error) error {
	w.path = append(w.path, key)
	err := f()
	w.path = w.path[:len(w.path)-1]
	return err
}

// isTable reports whether v is an object, or a list of only objects.
func (w *tomlWriter) isTable(v value, depth int) (bool, error) {
	if _, ok := objectOf(v); ok {
		return true, nil
	}
	elements, ok := arrayOf(v)
	for _, e := range elements {
		v, err := w.element(e, depth)
		if _, is := objectOf(v); err != nil || !is {
			return false, err
		}
	}
	return ok && len(elements) > 0, nil
}

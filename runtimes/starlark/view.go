package starlark

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"metascript/engine"
)

// A dict is a view of a map in the request, and a slice, below, is a view of a list. For a script they are frozen dicts and lists.
// They convert an element each time it is read, and do not store the result: the data may be shared with other calls, and to
// make a view again costs less than to store it.
//
// Their types must not be named "dict" and "list": the interpreter assumes that two values with the same type name have the
// same Go type, and would panic when it compares them. The builtin type (builtin.go) returns the names that scripts know, and
// the comparison operators are rewritten (rewrite.go).
type dict map[string]any

// A slice is a view of a list in the request. See dict.
type slice []any

const (
	dictType = "read-only dict"
	listType = "read-only list"
)

var (
	_ starlark.IterableMapping = dict(nil)
	_ starlark.Sequence        = dict(nil)
	_ starlark.Container       = dict(nil)
	_ starlark.HasAttrs        = dict(nil)
	_ starlark.HasBinary       = dict(nil)
	_ starlark.HasSetKey       = dict(nil)
	_ starlark.HasSetField     = dict(nil)
	_ starlark.Comparable      = dict(nil)

	_ starlark.Sequence    = slice(nil)
	_ starlark.Sliceable   = slice(nil)
	_ starlark.Container   = slice(nil)
	_ starlark.HasAttrs    = slice(nil)
	_ starlark.HasBinary   = slice(nil)
	_ starlark.HasSetIndex = slice(nil)
	_ starlark.Comparable  = slice(nil)
)

// toValue returns a part of the request as a value for the script. It checks for strings first: scripts read mostly strings.
func toValue(v any) starlark.Value {
	switch t := v.(type) {
	case string:
		return retyped(stringValue, v)
	case map[string]any:
		return dict(t)
	case []any:
		return retyped(sliceValue, v)
	case nil:
		return starlark.None
	case bool:
		return starlark.Bool(t)
	case int64:
		return starlark.MakeInt64(t)
	case float64:
		return starlark.Float(t)
	}
	panic(fmt.Sprintf("the request has a %T in it", v)) // a bug in this server
}

func (d dict) String() string        { return repr(d) }
func (d dict) Type() string          { return dictType }
func (d dict) Freeze()               {}
func (d dict) Truth() starlark.Bool  { return len(d) > 0 }
func (d dict) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: dict") }
func (d dict) Len() int              { return len(d) }

// sorted returns the keys in the order that scripts see.
func (d dict) sorted() []string { return slices.Sorted(maps.Keys(d)) }

// Get implements starlark.Mapping. It returns an error if the key does not exist: the interpreter shows it for x[key].
func (d dict) Get(key starlark.Value) (v starlark.Value, found bool, err error) {
	name, ok := key.(starlark.String)
	if !ok {
		return nil, false, &fault{kind: engine.KindRuntime, msg: "the keys of the request are strings, not " + typeName(key)}
	}
	if v, ok := d[string(name)]; ok {
		return toValue(v), true, nil
	}
	return nil, false, &missingKey{d, "key", string(name)}
}

// Has implements starlark.Container: key in d.
func (d dict) Has(key starlark.Value) (bool, error) {
	name, ok := key.(starlark.String)
	_, found := d[string(name)]
	return ok && found, nil
}

// A missingKey is the error for a key that does not exist. Its text is made by Error, since most of these errors are never shown.
type missingKey struct {
	from dict
	what string
	key  string
}

// Error implements error.
func (m *missingKey) Error() string {
	return m.what + " " + naming.Quote(m.key) + " is not in the dict"
}

func (m *missingKey) advice() (engine.Kind, string) {
	if m.key == "copy" && m.what != "key" {
		return engine.KindRuntime, "write dict(x)"
	}
	if len(m.from) == 0 {
		return engine.KindRuntime, "the dict is empty"
	}
	return engine.KindRuntime, naming.Suggest(m.key, m.from.sorted(), "its keys are ")
}

// Attr returns the method with that name or, if there is none, the value of the key: parent.spec is parent["spec"].
func (d dict) Attr(name string) (starlark.Value, error) {
	if m, ok := dictMethods[name]; ok {
		return m.BindReceiver(d), nil
	}
	if v, ok := d[name]; ok {
		return toValue(v), nil
	}
	return nil, &missingKey{d, "field or method", name}
}

// AttrNames implements starlark.HasAttrs.
func (d dict) AttrNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(d)), maps.Keys(dictMethods))
	slices.Sort(names)
	return slices.Compact(names)
}

// Items implements starlark.IterableMapping.
func (d dict) Items() []starlark.Tuple {
	items := make([]starlark.Tuple, 0, len(d))
	pairs := make(starlark.Tuple, 0, 2*len(d)) // one allocation for all tuples
	for _, key := range d.sorted() {
		pairs = append(pairs, starlark.String(key), toValue(d[key]))
		items = append(items, pairs[len(pairs)-2:len(pairs):len(pairs)])
	}
	return items
}

// Iterate returns the keys.
func (d dict) Iterate() starlark.Iterator { return &keyIterator{d.sorted()} }

// A keyIterator implements [starlark.Iterator] for the keys of a dict.
type keyIterator struct{ keys []string }

// Next implements [starlark.Iterator].
func (it *keyIterator) Next(p *starlark.Value) bool {
	if len(it.keys) == 0 {
		return false
	}
	*p, it.keys = starlark.String(it.keys[0]), it.keys[1:]
	return true
}

// Done implements [starlark.Iterator].
func (*keyIterator) Done() {}

// copied returns a dict with the same values that the script can change.
func (d dict) copied() *starlark.Dict {
	out := starlark.NewDict(len(d))
	for _, item := range d.Items() {
		_ = out.SetKey(item[0], item[1]) // cannot fail: strings are hashable, and the dict is not frozen
	}
	return out
}

// Binary implements starlark.HasBinary: d | other is a new dict.
func (d dict) Binary(op syntax.Token, other starlark.Value, side starlark.Side) (starlark.Value, error) {
	operand, ok := mutableDict(other)
	if op != syntax.PIPE || !ok {
		return nil, nil
	}
	if side == starlark.Left {
		return d.copied().Union(operand), nil
	}
	return operand.Union(d.copied()), nil
}

// mutableDict returns v if it is a Starlark dict, or a copy if it is a view. ok is false for other values.
func mutableDict(v starlark.Value) (d *starlark.Dict, ok bool) {
	switch v := v.(type) {
	case *starlark.Dict:
		return v, true
	case dict:
		return v.copied(), true
	}
	return nil, false
}

// CompareSameType implements starlark.Comparable.
func (d dict) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	switch op {
	case syntax.EQL, syntax.NEQ:
		same, err := equalData(map[string]any(d), map[string]any(other.(dict)), unmetered{})
		return same == (op == syntax.EQL), err
	}
	return false, fmt.Errorf("dict %s dict not implemented", op)
}

// SetKey returns the error for d[key] = v.
func (d dict) SetKey(starlark.Value, starlark.Value) error { return errReadOnly("dict") }

// SetField returns the error for d.key = v.
func (d dict) SetField(string, starlark.Value) error { return errReadOnly("dict") }

// errReadOnly returns the error for a change of the request. kind is "dict" or "list".
func errReadOnly(kind string) error {
	return &fault{
		kind: engine.KindRuntime,
		msg:  "the request is read-only: this " + kind + " is part of it",
		hint: "change a copy: " + kind + "(x) copies the outermost level, json.decode(json.encode(x)) all",
	}
}

func (l slice) String() string             { return repr(l) }
func (l slice) Type() string               { return listType }
func (l slice) Freeze()                    {}
func (l slice) Truth() starlark.Bool       { return len(l) > 0 }
func (l slice) Hash() (uint32, error)      { return 0, fmt.Errorf("unhashable type: list") }
func (l slice) Len() int                   { return len(l) }
func (l slice) Index(i int) starlark.Value { return toValue(l[i]) }

// Slice returns l[start:end:step] as a new list.
func (l slice) Slice(start, end, step int) starlark.Value {
	var elems []starlark.Value
	for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
		elems = append(elems, toValue(l[i]))
	}
	return starlark.NewList(elems)
}

// Has implements starlark.Container. Scripts do not call it: the operator in is rewritten.
func (l slice) Has(v starlark.Value) (bool, error) { return has(l, v, unmetered{}) }

// Attr returns the method with that name.
func (l slice) Attr(name string) (starlark.Value, error) {
	if m, ok := listMethods[name]; ok {
		return m.BindReceiver(l), nil
	}
	return nil, starlark.NoSuchAttrError("list has no ." + name + " field or method")
}

// AttrNames implements starlark.HasAttrs.
func (l slice) AttrNames() []string { return slices.Sorted(maps.Keys(listMethods)) }

// Iterate returns the elements.
func (l slice) Iterate() starlark.Iterator { return &elementIterator{l} }

// An elementIterator implements [starlark.Iterator] for the elements of a slice.
type elementIterator struct{ rest slice }

// Next implements [starlark.Iterator].
func (it *elementIterator) Next(p *starlark.Value) bool {
	if len(it.rest) == 0 {
		return false
	}
	*p, it.rest = it.rest.Index(0), it.rest[1:]
	return true
}

// Done implements [starlark.Iterator].
func (*elementIterator) Done() {}

// copied returns a list with the same elements that the script can change.
func (l slice) copied() *starlark.List {
	elems := make([]starlark.Value, len(l))
	for i, v := range l {
		elems[i] = toValue(v)
	}
	return starlark.NewList(elems)
}

// Binary implements starlark.HasBinary: l + other and l * n are new lists.
func (l slice) Binary(op syntax.Token, other starlark.Value, side starlark.Side) (starlark.Value, error) {
	operand := other
	switch other := other.(type) {
	case *starlark.List:
		if op != syntax.PLUS {
			return nil, nil
		}
	case slice:
		if op != syntax.PLUS {
			return nil, nil
		}
		operand = other.copied()
	case starlark.Int:
		if op != syntax.STAR {
			return nil, nil
		}
	default:
		return nil, nil
	}
	if side == starlark.Left {
		return starlark.Binary(op, l.copied(), operand)
	}
	return starlark.Binary(op, operand, l.copied())
}

// CompareSameType implements starlark.Comparable.
func (l slice) CompareSameType(op syntax.Token, other starlark.Value, depth int) (bool, error) {
	switch op {
	case syntax.EQL, syntax.NEQ:
		same, err := equalData([]any(l), []any(other.(slice)), unmetered{})
		return same == (op == syntax.EQL), err
	}
	return starlark.CompareDepth(op, l.copied(), other.(slice).copied(), depth)
}

// SetIndex returns the error for l[i] = v.
func (l slice) SetIndex(int, starlark.Value) error { return errReadOnly("list") }

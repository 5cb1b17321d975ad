package starlark

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"metascript/engine"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// A dict is a view of a map in the request, and a slice, below, is a view of a list. For a script they are frozen dicts and lists.
// They convert an element each time it is read, and do not store the result: the data may be shared with other calls, and to
// make a view again costs less than to store it. There is a Go type of view for each type of map, so that a view of a map[string]any
// or of a packed.Map is a pointer, and to make one allocates nothing.
//
// Their types must not be named "dict" and "list": the interpreter assumes that two values with the same type name have the
// same Go type, and would panic when it compares them. All views of maps have the same name, and all views of lists: CompareSameType,
// which the interpreter calls for them, compares views of every type. The builtin type (builtin.go) returns the names that scripts
// know, and the comparison operators are rewritten (rewrite.go).
type dict[M engine.Map] struct{ m M }

// A slice is a view of a list in the request. See dict.
type slice[A engine.Array] struct{ a A }

// The views of the types that the request may have. Other types of maps and lists have views too, which are allocated.
type (
	plainDict   = dict[engine.GoMap]
	packedDict  = dict[packed.Map]
	plainSlice  = slice[engine.GoSlice]
	packedSlice = slice[packed.Array]

	recordedDict  = dict[packed.RecordedMap]
	recordedSlice = slice[packed.RecordedArray]
)

// A dictView is a dict of any type.
type dictView interface {
	starlark.IterableMapping
	data() engine.Map
	copied() *starlark.Dict
}

// A listView is a slice of any type.
type listView interface {
	starlark.Sequence
	starlark.Indexable
	data() engine.Array
	copied() *starlark.List
}

const (
	dictType = "read-only dict"
	listType = "read-only list"
)

var (
	_ starlark.IterableMapping = plainDict{}
	_ starlark.Sequence        = plainDict{}
	_ starlark.Container       = plainDict{}
	_ starlark.HasAttrs        = plainDict{}
	_ starlark.HasBinary       = plainDict{}
	_ starlark.HasSetKey       = plainDict{}
	_ starlark.HasSetField     = plainDict{}
	_ starlark.Comparable      = plainDict{}
	_ dictView                 = plainDict{}

	_ starlark.Sequence    = plainSlice{}
	_ starlark.Sliceable   = plainSlice{}
	_ starlark.Container   = plainSlice{}
	_ starlark.HasAttrs    = plainSlice{}
	_ starlark.HasBinary   = plainSlice{}
	_ starlark.HasSetIndex = plainSlice{}
	_ starlark.Comparable  = plainSlice{}
	_ listView             = plainSlice{}
)

// toValue returns a part of the request as a value for the script. It checks for strings first: scripts read mostly strings.
func toValue(v any) starlark.Value {
	switch t := v.(type) {
	case string:
		return retyped(stringValue, v)
	case packed.Map:
		return packedDict{t}
	case packed.Array:
		return packedSlice{t}
	case packed.RecordedMap:
		return recordedDict{t}
	case packed.RecordedArray:
		return recordedSlice{t}
	case map[string]any:
		return plainDict{t}
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
	case engine.GoMap:
		return plainDict{t}
	case engine.GoSlice:
		return plainSlice{t}
	case engine.Map:
		return dict[engine.Map]{t}
	case engine.Array:
		return slice[engine.Array]{t}
	}
	panic(fmt.Sprintf("the request has a %T in it", v)) // a bug in this server
}

func (d dict[M]) String() string        { return repr(d) }
func (d dict[M]) Type() string          { return dictType }
func (d dict[M]) Freeze()               {}
func (d dict[M]) Truth() starlark.Bool  { return d.m.Len() > 0 }
func (d dict[M]) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: dict") }
func (d dict[M]) Len() int              { return d.m.Len() }

func (d dict[M]) data() engine.Map { return d.m }

// sortedKeys returns the keys in the order that scripts see.
func sortedKeys(m engine.Map) []string {
	switch m := m.(type) {
	case engine.GoMap:
		keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
		slices.Sort(keys)
		return keys
	case interface{ Keys() []string }: // without the values
		return m.Keys()
	}
	keys := make([]string, 0, m.Len())
	for key := range m.All() {
		keys = append(keys, key)
	}
	return keys
}

// entries are the entries of a map that are not read yet, in the order that scripts see.
type entries struct {
	m    engine.Map
	keys []string      // of m, if it is neither packed nor sorted
	rest packed.Reader // of m, if it is packed

	sorted *tree.Sorted // m, if it is sorted
	index  int

	// The current entry.
	key   string
	value any
}

func entriesOf(m engine.Map) entries {
	switch m := m.(type) {
	case packed.Map:
		return entries{rest: m.Reader()}
	case *tree.Sorted:
		return entries{sorted: m}
	}
	return entries{m: m, keys: sortedKeys(m)}
}

// next moves to the next entry, and reports whether there is one.
func (e *entries) next() (found bool) {
	switch {
	case e.sorted != nil:
		if e.index == e.sorted.Len() {
			return false
		}
		e.key, e.value = e.sorted.Entry(e.index)
		e.index++
		return true
	case e.m == nil:
		e.key, e.value, found = e.rest.NextEntry()
		return found
	}
	if len(e.keys) == 0 {
		return false
	}
	e.key, e.keys = e.keys[0], e.keys[1:]
	e.value, found = e.m.Get(e.key)
	return found
}

// Get implements starlark.Mapping. It returns an error if the key does not exist: the interpreter shows it for x[key].
func (d dict[M]) Get(key starlark.Value) (v starlark.Value, found bool, err error) {
	name, ok := key.(starlark.String)
	if !ok {
		return nil, false, &fault{kind: engine.KindRuntime, msg: "the keys of the request are strings, not " + typeName(key)}
	}
	var data any
	switch m := any(d.m).(type) { // a direct call is faster
	case packed.Map:
		data, found = m.Get(string(name))
	case packed.RecordedMap:
		data, found = m.Get(string(name))
	default:
		data, found = d.m.Get(string(name))
	}
	if !found {
		return nil, false, &missingKey{d.m, "key", string(name)}
	}
	return toValue(data), true, nil
}

// Has implements starlark.Container: key in d.
func (d dict[M]) Has(key starlark.Value) (bool, error) {
	name, ok := key.(starlark.String)
	_, found := d.m.Get(string(name))
	return ok && found, nil
}

// A missingKey is the error for a key that does not exist. Its text is made by Error, since most of these errors are never shown.
type missingKey struct {
	from engine.Map
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
	if m.from.Len() == 0 {
		return engine.KindRuntime, "the dict is empty"
	}
	return engine.KindRuntime, naming.Suggest(m.key, sortedKeys(m.from), "its keys are ")
}

// Attr returns the method with that name or, if there is none, the value of the key: parent.spec is parent["spec"].
func (d dict[M]) Attr(name string) (starlark.Value, error) {
	if m, ok := dictMethods[name]; ok {
		return m.BindReceiver(d), nil
	}
	if v, ok := d.m.Get(name); ok {
		return toValue(v), nil
	}
	return nil, &missingKey{d.m, "field or method", name}
}

// AttrNames implements starlark.HasAttrs.
func (d dict[M]) AttrNames() []string {
	names := slices.AppendSeq(sortedKeys(d.m), maps.Keys(dictMethods))
	slices.Sort(names)
	return slices.Compact(names)
}

// Items implements starlark.IterableMapping.
func (d dict[M]) Items() []starlark.Tuple {
	items := make([]starlark.Tuple, 0, d.m.Len())
	pairs := make(starlark.Tuple, 0, 2*d.m.Len()) // one allocation for all tuples
	for e := entriesOf(d.m); e.next(); {
		pairs = append(pairs, starlark.String(e.key), toValue(e.value))
		items = append(items, pairs[len(pairs)-2:len(pairs):len(pairs)])
	}
	return items
}

// Iterate returns the keys.
func (d dict[M]) Iterate() starlark.Iterator { return &keyIterator{sortedKeys(d.m)} }

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
func (d dict[M]) copied() *starlark.Dict {
	out := starlark.NewDict(d.m.Len())
	for _, item := range d.Items() {
		_ = out.SetKey(item[0], item[1]) // cannot fail: strings are hashable, and the dict is not frozen
	}
	return out
}

// Binary implements starlark.HasBinary: d | other is a new dict.
func (d dict[M]) Binary(op syntax.Token, other starlark.Value, side starlark.Side) (starlark.Value, error) {
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
	case dictView:
		return v.copied(), true
	}
	return nil, false
}

// CompareSameType implements starlark.Comparable.
func (d dict[M]) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	switch op {
	case syntax.EQL, syntax.NEQ:
		same, err := equalMaps(d.m, other.(dictView).data(), unmetered{})
		return same == (op == syntax.EQL), err
	}
	return false, fmt.Errorf("dict %s dict not implemented", op)
}

// SetKey returns the error for d[key] = v.
func (d dict[M]) SetKey(starlark.Value, starlark.Value) error { return errReadOnly("dict") }

// SetField returns the error for d.key = v.
func (d dict[M]) SetField(string, starlark.Value) error { return errReadOnly("dict") }

// errReadOnly returns the error for a change of the request. kind is "dict" or "list".
func errReadOnly(kind string) error {
	return &fault{
		kind: engine.KindRuntime,
		msg:  "the request is read-only: this " + kind + " is part of it",
		hint: "change a copy: " + kind + "(x) copies the outermost level, json.decode(json.encode(x)) all",
	}
}

func (l slice[A]) String() string             { return repr(l) }
func (l slice[A]) Type() string               { return listType }
func (l slice[A]) Freeze()                    {}
func (l slice[A]) Truth() starlark.Bool       { return l.a.Len() > 0 }
func (l slice[A]) Hash() (uint32, error)      { return 0, fmt.Errorf("unhashable type: list") }
func (l slice[A]) Len() int                   { return l.a.Len() }
func (l slice[A]) Index(i int) starlark.Value { return toValue(l.a.Index(i)) }
func (l slice[A]) data() engine.Array         { return l.a }

// Slice returns l[start:end:step] as a new list.
func (l slice[A]) Slice(start, end, step int) starlark.Value {
	var elems []starlark.Value
	for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
		elems = append(elems, toValue(l.a.Index(i)))
	}
	return starlark.NewList(elems)
}

// Has implements starlark.Container. Scripts do not call it: the operator in is rewritten.
func (l slice[A]) Has(v starlark.Value) (bool, error) { return has(l, v, unmetered{}) }

// Attr returns the method with that name.
func (l slice[A]) Attr(name string) (starlark.Value, error) {
	if m, ok := listMethods[name]; ok {
		return m.BindReceiver(l), nil
	}
	return nil, starlark.NoSuchAttrError("list has no ." + name + " field or method")
}

// AttrNames implements starlark.HasAttrs.
func (l slice[A]) AttrNames() []string { return slices.Sorted(maps.Keys(listMethods)) }

// Iterate returns the elements.
func (l slice[A]) Iterate() starlark.Iterator {
	switch a := any(&l.a).(type) { // l.a itself would be copied to the heap
	case *engine.GoSlice:
		return &elementIterator{*a}
	case *packed.Array:
		return &packedIterator{a.Reader()}
	case *packed.RecordedArray:
		return &recordedIterator{a.Reader()}
	}
	return &indexIterator{of: l.a}
}

// An elementIterator implements [starlark.Iterator] for the elements of a slice.
type elementIterator struct{ rest []any }

// Next implements [starlark.Iterator].
func (it *elementIterator) Next(p *starlark.Value) bool {
	if len(it.rest) == 0 {
		return false
	}
	*p, it.rest = toValue(it.rest[0]), it.rest[1:]
	return true
}

// Done implements [starlark.Iterator].
func (*elementIterator) Done() {}

// A packedIterator is an elementIterator for a packed array.
type packedIterator struct{ rest packed.Reader }

// Next implements [starlark.Iterator].
func (it *packedIterator) Next(p *starlark.Value) bool {
	v, ok := it.rest.Next()
	if ok {
		*p = toValue(v)
	}
	return ok
}

// Done implements [starlark.Iterator].
func (*packedIterator) Done() {}

// A recordedIterator is an elementIterator for an array whose reads are recorded.
type recordedIterator struct{ rest packed.RecordedReader }

// Next implements [starlark.Iterator].
func (it *recordedIterator) Next(p *starlark.Value) bool {
	v, ok := it.rest.Next()
	if ok {
		*p = toValue(v)
	}
	return ok
}

// Done implements [starlark.Iterator].
func (*recordedIterator) Done() {}

// An indexIterator is an elementIterator for any array.
type indexIterator struct {
	of   engine.Array
	next int
}

// Next implements [starlark.Iterator].
func (it *indexIterator) Next(p *starlark.Value) bool {
	if it.next == it.of.Len() {
		return false
	}
	*p = toValue(it.of.Index(it.next))
	it.next++
	return true
}

// Done implements [starlark.Iterator].
func (*indexIterator) Done() {}

// copied returns a list with the same elements that the script can change.
func (l slice[A]) copied() *starlark.List {
	elems := make([]starlark.Value, 0, l.a.Len())
	for v := range starlark.Elements(l) {
		elems = append(elems, v)
	}
	return starlark.NewList(elems)
}

// Binary implements starlark.HasBinary: l + other and l * n are new lists.
func (l slice[A]) Binary(op syntax.Token, other starlark.Value, side starlark.Side) (starlark.Value, error) {
	operand := other
	switch other := other.(type) {
	case *starlark.List:
		if op != syntax.PLUS {
			return nil, nil
		}
	case listView:
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
func (l slice[A]) CompareSameType(op syntax.Token, other starlark.Value, depth int) (bool, error) {
	switch op {
	case syntax.EQL, syntax.NEQ:
		same, err := equalArrays(l.a, other.(listView).data(), unmetered{})
		return same == (op == syntax.EQL), err
	}
	return starlark.CompareDepth(op, l.copied(), other.(listView).copied(), depth)
}

// SetIndex returns the error for l[i] = v.
func (l slice[A]) SetIndex(int, starlark.Value) error { return errReadOnly("list") }

package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

func operatorEqual(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if x, ok := args[0].(starlark.String); ok {
		y, ok := args[1].(starlark.String)
		return starlark.Bool(ok && x == y), nil
	}
	same, err := equal(args[0], args[1], evaluationOf(thread))
	return starlark.Bool(same), err
}

func ordering(op syntax.Token) method {
	return func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		ordered, err := inOrder(op, args[0], args[1], maxCompared, evaluationOf(thread))
		return starlark.Bool(ordered), err
	}
}

func operatorIn(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	ev := evaluationOf(thread)
	switch y := args[1].(type) {
	case *starlark.List, starlark.Tuple, listView:
		found, err := has(y.(starlark.Indexable), args[0], ev)
		return starlark.Bool(found), err
	case *starlark.Dict, *starlark.Set:
		if err := ev.key(args[0]); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(syntax.IN, args[0], args[1])
}

func operatorAdd(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if n := sizeOf(args[0]) + sizeOf(args[1]); n > smallSize {
		if err := evaluationOf(thread).reserve(n, "the concatenation"); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(syntax.PLUS, args[0], args[1])
}

func operatorMultiply(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, y := args[0], args[1]
	m, xIsInt := x.(starlark.Int)
	n, yIsInt := y.(starlark.Int)
	switch {
	case xIsInt && yIsInt:
		if bits(m)+bits(n) > maxBits {
			return nil, errLongInt
		}
	case xIsInt || yIsInt:
		repeated, count := y, m
		if yIsInt {
			repeated, count = x, n
		}
		if err := evaluationOf(thread).reserveRepeated(repeated, count); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(syntax.STAR, x, y)
}

// reserveRepeated reserves memory for v * n.
func (ev *evaluation) reserveRepeated(v starlark.Value, n starlark.Int) error {
	size := sizeOf(v)
	if size == 0 || n.Sign() <= 0 {
		return nil
	}
	count, ok := n.Int64()
	if !ok {
		return ev.tooLarge("the repetition")
	}
	return ev.reserve(times(size, count), "the repetition")
}

// limitSlice is called with the result of x[i:j]. It reserves memory if that is a list.
func limitSlice(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if _, ok := args[0].(*starlark.List); !ok {
		return args[0], nil
	}
	return limitStepSlice(thread, b, args, kwargs)
}

// limitStepSlice is called with the result of x[i:j:k], and reserves memory for it.
func limitStepSlice(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], evaluationOf(thread).reserve(sizeOf(args[0]), "the slice")
}

// operatorPercent implements x % y for numbers, and the formatting of strings.
func operatorPercent(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	format, ok := args[0].(starlark.String)
	if !ok {
		return starlark.Binary(syntax.PERCENT, args[0], args[1])
	}
	if err := evaluationOf(thread).reserveFormat(string(format), "%(", starlark.Tuple{args[1]}, nil); err != nil {
		return nil, err
	}
	v, err := starlark.Binary(syntax.PERCENT, args[0], args[1])
	if err != nil {
		return nil, percentFault(string(format), err)
	}
	return v, nil
}

func operatorShift(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	m, xIsInt := args[0].(starlark.Int)
	n, yIsInt := args[1].(starlark.Int)
	if xIsInt && yIsInt {
		if by, ok := n.Int64(); !ok || by > 0 && int64(bits(m))+by > maxBits {
			return nil, errLongInt
		}
	}
	return starlark.Binary(syntax.LTLT, args[0], args[1])
}

// operatorExtend returns the value that replaces the right side of x += y. It is called with y and x.
func operatorExtend(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	y, x := args[0], args[1]
	ev := evaluationOf(thread)
	if _, ok := x.(*starlark.List); !ok {
		return y, ev.reserve(plus(sizeOf(x), sizeOf(y)), "the concatenation")
	}
	y, err := ev.materialize(y, "the list")
	if err != nil {
		return nil, err
	}
	return y, ev.reserve(2*sizeOf(y), "the list") // x is not counted, since it is not copied; y may be x
}

// addTo returns x + y. If x is a list, it appends to x, as x += y does.
func addTo(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	l, ok := args[0].(*starlark.List)
	if _, iterable := args[1].(starlark.Iterable); !ok || !iterable {
		return operatorAdd(thread, b, args, nil)
	}
	y, err := operatorExtend(thread, b, starlark.Tuple{args[1], l}, nil)
	if err != nil {
		return nil, err
	}
	extend, err := l.Attr("extend")
	if err != nil {
		return nil, err
	}
	_, err = starlark.Call(thread, extend, starlark.Tuple{y}, nil)
	return l, err
}

// operatorKeys returns the guard for an operator of sets and dicts.
func operatorKeys(op syntax.Token) method {
	return func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		switch args[0].(type) {
		case *starlark.Set, *starlark.Dict, dictView:
			if err := evaluationOf(thread).chargeLookups(args[0], args[1]); err != nil {
				return nil, err
			}
		}
		return starlark.Binary(op, args[0], args[1])
	}
}

// chargeLookups charges for looking up all keys of the given dicts and sets in others.
func (ev *evaluation) chargeLookups(collections ...starlark.Value) error {
	var n int64
	for _, c := range collections {
		switch c.(type) {
		case *starlark.Dict, *starlark.Set, dictView:
			n = plus(n, plus(int64(starlark.Len(c)), ev.collisionSteps))
		}
	}
	return ev.charge(n)
}

// operatorUpdate returns the value that replaces the right side of x |= y. It converts a view to a dict, since the interpreter
// changes the dict x only if y is a dict.
func operatorUpdate(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if err := evaluationOf(thread).chargeLookups(args[0]); err != nil {
		return nil, err
	}
	if d, ok := args[0].(dictView); ok {
		return d.copied(), nil
	}
	return args[0], nil
}

// assignIndex returns the function for x[i] op= y.
func assignIndex(operator method) method {
	return func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		x, i, y := args[0], args[1], args[2]
		old, err := element(x, i)
		if err != nil {
			return nil, err
		}
		v, err := operator(thread, b, starlark.Tuple{old, y}, nil)
		if err != nil {
			return nil, err
		}
		return starlark.None, setElement(x, i, v)
	}
}

// element returns x[i], for types whose elements can be assigned to.
func element(x, i starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.Mapping:
		v, found, err := x.Get(i)
		if err == nil && !found {
			err = fmt.Errorf("key %s not in %s", i, x.Type())
		}
		return v, err
	case starlark.Indexable:
		n, err := starlark.AsInt32(i)
		if err == nil && n < 0 {
			n += x.Len()
		}
		if err == nil && (n < 0 || n >= x.Len()) {
			err = fmt.Errorf("%s index %s out of range [%d:%d]", typeName(x), i, -x.Len(), x.Len()-1)
		}
		if err != nil {
			return nil, err
		}
		return x.Index(n), nil
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", typeName(x), typeName(i))
}

func setElement(x, i, v starlark.Value) error {
	switch x := x.(type) {
	case starlark.HasSetKey:
		return x.SetKey(i, v)
	case starlark.HasSetIndex:
		n, err := starlark.AsInt32(i)
		if err == nil && n < 0 {
			n += x.Len()
		}
		if err != nil {
			return err
		}
		return x.SetIndex(n, v)
	}
	return fmt.Errorf("%s value does not support item assignment", typeName(x))
}

// refuseField returns the error for x.f op= y.
func refuseField(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if x, ok := args[0].(starlark.HasSetField); ok {
		return nil, x.SetField("", starlark.None)
	}
	return nil, fmt.Errorf("can't assign to a field of %s", typeName(args[0]))
}

// hashable returns its argument after checking it as a key.
func hashable(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if s, ok := args[0].(starlark.String); ok && len(s) > maxUnseeded && len(s) <= smallSize {
		return args[0], nil
	}
	return args[0], evaluationOf(thread).key(args[0])
}

// spreadArguments returns the x of f(*x), and reserves memory: the elements are in a list, and the called function has them in a
// tuple.
func spreadArguments(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	ev := evaluationOf(thread)
	x, err := ev.materialize(args[0], "the list of arguments")
	if err != nil {
		return nil, err
	}
	return x, ev.reserve(times(int64(max(starlark.Len(x), 0)), 3*elementSize), "the list of arguments")
}

// namedSize is how many bytes a keyword argument of f(**x) counts. A call makes a tuple for each pair, searches each name in the
// parameters, and may make a dict: some microseconds for each.
const namedSize = 1 << 10

// spreadNamedArguments returns the x of f(**x), and reserves memory for the arguments.
func spreadNamedArguments(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	ev := evaluationOf(thread)
	if err := ev.chargeLookups(args[0]); err != nil {
		return nil, err
	}
	return args[0], ev.reserve(times(int64(max(starlark.Len(args[0]), 0)), namedSize), "the named arguments")
}

package starlark

import (
	"errors"
	"fmt"
	"sort"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Ordering has to support views as well: see equal.go.

// inOrder reports whether x op y, where op is <, <=, > or >=.
func inOrder(op syntax.Token, x, y starlark.Value, depth int, m meter) (bool, error) {
	if !sequences(x, y) {
		if err := m.charge(min(lengthSteps(x), lengthSteps(y))); err != nil {
			return false, err
		}
		if err := chargeSets(m, x, y); err != nil {
			return false, err
		}
		return starlark.Compare(op, x, y)
	}
	if depth == 0 {
		return false, errDeep
	}
	xs, ys := x.(starlark.Indexable), y.(starlark.Indexable)
	for i := range min(xs.Len(), ys.Len()) { // the first elements that differ decide
		same, err := equalWithin(xs.Index(i), ys.Index(i), depth-1, m)
		if err != nil {
			return false, err
		}
		if !same {
			return inOrder(op, xs.Index(i), ys.Index(i), depth-1, m)
		}
	}
	return starlark.Compare(op, starlark.MakeInt(xs.Len()), starlark.MakeInt(ys.Len()))
}

// sequences reports whether x and y are both lists, or both tuples.
func sequences(x, y starlark.Value) bool {
	_, tuple := x.(starlark.Tuple)
	_, other := y.(starlark.Tuple)
	return tuple && other || isList(x) && isList(y)
}

// sorted implements sorted(iterable, key=None, reverse=False).
func sorted(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var iterable starlark.Iterable
	var key starlark.Callable
	var reverse bool
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "iterable", &iterable, "key?", &key, "reverse?", &reverse); err != nil {
		return nil, err
	}
	ev := evaluationOf(thread)
	values, err := ev.collect(iterable, 2*elementSize, "the sorted list")
	if err != nil {
		return nil, err
	}
	s := &sorting{m: ev}
	for _, v := range values {
		k, err := keyOf(thread, key, v)
		if err != nil {
			return nil, err
		}
		s.values, s.keys = append(s.values, v), append(s.keys, k)
	}
	if reverse {
		sort.Stable(sort.Reverse(s))
	} else {
		sort.Stable(s)
	}
	return starlark.NewList(s.values), s.err
}

// keyOf returns the value by which v is ordered. It checks ctx: if key is a builtin, as in max(texts, key=hash), no instruction
// runs between two calls, and the interpreter would not notice the deadline.
func keyOf(thread *starlark.Thread, key starlark.Callable, v starlark.Value) (starlark.Value, error) {
	if key == nil {
		return v, nil
	}
	if evaluationOf(thread).ctx.Err() != nil {
		return nil, errStopped
	}
	return starlark.Call(thread, key, starlark.Tuple{v}, nil)
}

// A sorting implements sort.Interface for values and their keys.
type sorting struct {
	values, keys []starlark.Value
	m            meter
	err          error // the first error of a comparison; after it, Less returns false at once
}

// Len implements [sort.Interface].
func (s *sorting) Len() int { return len(s.keys) }

// Less implements [sort.Interface].
func (s *sorting) Less(i, j int) bool {
	if s.err != nil {
		return false
	}
	if s.err = s.m.charge(1); s.err != nil {
		return false
	}
	var less bool
	less, s.err = inOrder(syntax.LT, s.keys[i], s.keys[j], maxCompared, s.m)
	return less
}

// Swap implements [sort.Interface].
func (s *sorting) Swap(i, j int) {
	s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
	s.values[i], s.values[j] = s.values[j], s.values[i]
}

var errEmpty = errors.New("argument is an empty sequence")

// minOrMax returns the builtin min, if op is <, or max, if op is >.
func minOrMax(op syntax.Token) method {
	return func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var key starlark.Callable
		if err := starlark.UnpackArgs(b.Name(), nil, kwargs, "key?", &key); err != nil {
			return nil, err
		}
		if len(args) == 0 {
			return nil, fmt.Errorf("%s requires at least one positional argument", b.Name())
		}
		var values starlark.Iterable = args
		if len(args) == 1 {
			iterable, ok := args[0].(starlark.Iterable)
			if !ok {
				return nil, fmt.Errorf("%s: %s value is not iterable", b.Name(), typeName(args[0]))
			}
			values = iterable
		}
		return best(thread, op, values, key)
	}
}

// best returns the first value with the smallest key, if op is <, or with the largest, if op is >.
func best(thread *starlark.Thread, op syntax.Token, values starlark.Iterable, key starlark.Callable) (starlark.Value, error) {
	m := evaluationOf(thread)
	var bestValue, bestKey starlark.Value
	for v := range starlark.Elements(values) {
		if err := m.charge(1); err != nil {
			return nil, err
		}
		k, err := keyOf(thread, key, v)
		if err != nil {
			return nil, err
		}
		better := bestValue == nil
		if !better {
			if better, err = inOrder(op, k, bestKey, maxCompared, m); err != nil {
				return nil, err
			}
		}
		if better {
			bestValue, bestKey = v, k
		}
	}
	if bestValue == nil {
		return nil, errEmpty
	}
	return bestValue, nil
}

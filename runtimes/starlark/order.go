package starlark

import (
	"errors"
	"fmt"
	"sort"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// What puts values in order has to know views as well: see equal.go.

// inOrder reports whether x op y, where op is one of the four that order.
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
	for i := range min(xs.Len(), ys.Len()) { // the first two that differ decide
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

// sorted is sorted(iterable, key=None, reverse=False).
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

// keyOf returns what v is put in order by. Between two calls of a builtin no instruction is run, so that the interpreter does
// not see that the time is up: max(texts, key=hash).
func keyOf(thread *starlark.Thread, key starlark.Callable, v starlark.Value) (starlark.Value, error) {
	if key == nil {
		return v, nil
	}
	if evaluationOf(thread).ctx.Err() != nil {
		return nil, errStopped
	}
	return starlark.Call(thread, key, starlark.Tuple{v}, nil)
}

// A sorting is a sort.Interface of values and their keys.
type sorting struct {
	values, keys []starlark.Value
	m            meter
	err          error // the first of a comparison; then all are equal, and the sort is soon over
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

// extreme is min or max, by the operator that a better value has to the best so far.
func extreme(op syntax.Token) method {
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

func best(thread *starlark.Thread, op syntax.Token, values starlark.Iterable, key starlark.Callable) (starlark.Value, error) {
	m := evaluationOf(thread)
	var winner, winnerKey starlark.Value
	for v := range starlark.Elements(values) {
		if err := m.charge(1); err != nil {
			return nil, err
		}
		k, err := keyOf(thread, key, v)
		if err != nil {
			return nil, err
		}
		better := winner == nil
		if !better {
			if better, err = inOrder(op, k, winnerKey, maxCompared, m); err != nil {
				return nil, err
			}
		}
		if better {
			winner, winnerKey = v, k
		}
	}
	if winner == nil {
		return nil, errEmpty
	}
	return winner, nil
}

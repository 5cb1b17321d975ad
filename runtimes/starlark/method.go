package starlark

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"

	"metascript/engine"
)

// A methodCall is a call of a method, or of a field that is a function, that has a guard.
type methodCall struct {
	thread   *starlark.Thread
	ev       *evaluation
	receiver starlark.Value
	name     string
	function starlark.Value
	args     starlark.Tuple
	kwargs   []starlark.Tuple
}

// native calls the method itself.
func (c *methodCall) native() (starlark.Value, error) {
	return starlark.Call(c.thread, c.function, c.args, c.kwargs)
}

// callMethod is x.f(...), called with x and the name of f before the arguments.
func callMethod(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	name := string(args[1].(starlark.String))
	f, err := attribute(args[0], name)
	if err != nil {
		return nil, err
	}
	c := &methodCall{thread, evaluationOf(thread), args[0], name, f, args[2:], kwargs}
	if b, ok := f.(*starlark.Builtin); !ok || b.Receiver() == nil {
		return c.native() // a field, which has a guard of its own if it needs one
	}
	if guard := guardOf(args[0], name); guard != nil {
		return guard(c)
	}
	return c.native()
}

// boundMethod is x.f, called with x and the name of f.
func boundMethod(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	v, err := attribute(args[0], string(args[1].(starlark.String)))
	if err != nil {
		return nil, err
	}
	return withGuard(v), nil
}

// withGuard returns a method that has a guard with it.
func withGuard(v starlark.Value) starlark.Value {
	b, ok := v.(*starlark.Builtin)
	if !ok || b.Receiver() == nil {
		return v
	}
	guard := guardOf(b.Receiver(), b.Name())
	if guard == nil {
		return v
	}
	call := func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return guard(&methodCall{thread, evaluationOf(thread), b.Receiver(), b.Name(), b, args, kwargs})
	}
	return starlark.NewBuiltin(b.Name(), recovered(call)).BindReceiver(b.Receiver())
}

// attribute is x.name as the interpreter does it.
func attribute(x starlark.Value, name string) (starlark.Value, error) {
	object, ok := x.(starlark.HasAttrs)
	if !ok {
		return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
	}
	if unjudged[name] && !judged(x, name) {
		return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
	}
	v, err := object.Attr(name)
	none, generic := err.(starlark.NoSuchAttrError)
	if err != nil && !generic {
		return nil, err
	}
	if v != nil {
		return v, nil
	}
	msg := string(none)
	if !generic {
		msg = fmt.Sprintf("%s has no .%s field or method", x.Type(), name)
	}
	if near := engine.Nearest(name, attrNames(object)); near != "" {
		msg += fmt.Sprintf(" (did you mean .%s?)", near)
	}
	return nil, fmt.Errorf("%s", msg)
}

// getattr is getattr(x, name, default=None).
func getattr(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if absent, name := absentIn(args); absent {
		if len(args) > 2 {
			return args[2], nil
		}
		return attribute(args[0], name)
	}
	v, err := starlark.Call(thread, starlark.Universe["getattr"], args, kwargs)
	if err != nil {
		return nil, err
	}
	return withGuard(v), nil
}

// absentIn reports whether args begin with a value and the name of what scripts do not have of it.
func absentIn(args starlark.Tuple) (absent bool, name string) {
	if len(args) < 2 {
		return false, ""
	}
	s, _ := args[1].(starlark.String)
	return unjudged[string(s)] && !judged(args[0], string(s)), string(s)
}

// hasattr is hasattr(x, name).
func hasattr(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if absent, _ := absentIn(args); absent {
		return starlark.False, nil
	}
	return starlark.Call(thread, starlark.Universe["hasattr"], args, kwargs)
}

// dirOf is dir(x).
func dirOf(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &x); err != nil {
		return nil, err
	}
	var elems []starlark.Value
	if object, ok := x.(starlark.HasAttrs); ok {
		for _, name := range slices.Sorted(slices.Values(attrNames(object))) {
			elems = append(elems, starlark.String(name))
		}
	}
	return starlark.NewList(elems), nil
}

// shortTexts is for what takes no long texts.
func shortTexts(c *methodCall) (starlark.Value, error) {
	if err := checkShort(c.args, c.kwargs); err != nil {
		return nil, err
	}
	return c.native()
}

// argument is the nth argument, or nil.
func (c *methodCall) argument(n int) starlark.Value {
	if n < len(c.args) {
		return c.args[n]
	}
	return nil
}

// texts returns the receiver and the first arguments, as far as they are texts.
func (c *methodCall) texts() (self, first, second string) {
	receiver, _ := c.receiver.(starlark.String)
	x, _ := c.argument(0).(starlark.String)
	y, _ := c.argument(1).(starlark.String)
	return string(receiver), string(x), string(y)
}

func joinTexts(c *methodCall) (starlark.Value, error) {
	separator, _, _ := c.texts()
	x := c.argument(0)
	if x == nil {
		return c.native()
	}
	x, err := c.ev.concrete(x, "the text that join makes")
	if err != nil {
		return nil, err
	}
	if iterable, ok := x.(starlark.Iterable); ok {
		var size int64
		for v := range starlark.Elements(iterable) {
			size += int64(len(separator)) + sizeOf(v)
			if err := c.ev.spend(); err != nil {
				return nil, err
			}
		}
		if err := c.ev.room(size, "the text that join makes"); err != nil {
			return nil, err
		}
	}
	c.args[0] = x
	return c.native()
}

func replaceText(c *methodCall) (starlark.Value, error) {
	self, old, with := c.texts()
	count := int64(strings.Count(self, old))
	if err := c.ev.room(plus(int64(len(self)), times(count, int64(len(with)))), "the text that replace makes"); err != nil {
		return nil, err
	}
	return c.native()
}

func formatText(c *methodCall) (starlark.Value, error) {
	self, _, _ := c.texts()
	// Each name is looked for among all, and compared with those that are as long.
	var names int64
	for _, pair := range c.kwargs {
		names += bytesPerStep/stringSize + sizeOf(pair[0])
	}
	if err := c.ev.charge(times(int64(strings.Count(self, "{")), names) / bytesPerStep); err != nil {
		return nil, err
	}
	if err := c.ev.roomFormat(self, "{", c.args, c.kwargs); err != nil {
		return nil, err
	}
	return c.native()
}

// roomFormat is room for a text that shows args. Those of a list are shown once each; but named ones may be, as often as
// what begins one, and those of format by number as well.
func (ev *evaluation) roomFormat(format, begin string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	const what = "the formatted text"
	var total, largest int64
	for _, v := range args {
		s := sizing{ev: ev, what: what, verbs: true}
		if err := s.add(v, 0); err != nil {
			return err
		}
		total, largest = plus(total, s.total), max(largest, s.total)
	}
	for _, pair := range kwargs {
		n, err := ev.textSize(pair[1], what)
		if err != nil {
			return err
		}
		largest = max(largest, n)
	}
	times := times(int64(strings.Count(format, begin)), largest)
	if times <= small && total <= small && len(format) <= small {
		return nil
	}
	return ev.room(plus(int64(len(format)), max(total, times)), what)
}

func splitText(c *methodCall) (starlark.Value, error) {
	self, separator, _ := c.texts()
	parts := fields(self)
	if separator != "" {
		parts = strings.Count(self, separator) + 1
	}
	if most, ok := c.argument(1).(starlark.Int); ok {
		if n, ok := most.Int64(); ok && n > int64(parts) {
			c.args[1] = starlark.MakeInt(parts) // rsplit allocates maxsplit+1 parts at once, however few there are
		}
	}
	if len(self) <= small {
		return c.native()
	}
	if err := c.ev.room(int64(parts)*(elementSize+stringSize)+int64(len(self)), "the list of parts"); err != nil {
		return nil, err
	}
	return c.native()
}

// fields counts what is between white space.
func fields(s string) int {
	n, within := 0, false
	for _, r := range s {
		space := unicode.IsSpace(r)
		if !space && !within {
			n++
		}
		within = !space
	}
	return n
}

func splitLines(c *methodCall) (starlark.Value, error) {
	self, _, _ := c.texts()
	lines := strings.Count(self, "\n") + strings.Count(self, "\r") + 1
	if err := c.ev.room(int64(lines)*(elementSize+stringSize)+int64(len(self)), "the list of lines"); err != nil {
		return nil, err
	}
	return c.native()
}

// caseText is for what writes a text character by character, which takes long and grows some of them.
func caseText(c *methodCall) (starlark.Value, error) {
	self, _, _ := c.texts()
	if err := c.ev.room(4*int64(len(self)), "the text that "+c.name+" makes"); err != nil {
		return nil, err
	}
	return c.native()
}

// prefixText is for startswith and endswith, which may compare with each text of a tuple.
func prefixText(c *methodCall) (starlark.Value, error) {
	if t, ok := c.argument(0).(starlark.Tuple); ok {
		for _, v := range t {
			if err := c.ev.charge(1 + min(lengthSteps(c.receiver), lengthSteps(v))); err != nil {
				return nil, err
			}
		}
	}
	return c.native()
}

func stripText(c *methodCall) (starlark.Value, error) {
	self, cutset, _ := c.texts()
	if err := c.ev.charge(times(int64(len(self)), int64(utf8.RuneCountInString(cutset))) / stringSize); err != nil {
		return nil, err
	}
	return c.native()
}

func extendList(c *methodCall) (starlark.Value, error) {
	if x := c.argument(0); x != nil {
		x, err := c.ev.concrete(x, "the list")
		if err != nil {
			return nil, err
		}
		if err := c.ev.room(2*sizeOf(x), "the list"); err != nil {
			return nil, err
		}
		c.args[0] = x
	}
	return c.native()
}

// updateKeys is for the methods of dicts and sets that take keys, or pairs with keys, from iterables.
func updateKeys(c *methodCall) (starlark.Value, error) {
	_, pairs := c.receiver.(*starlark.Dict)
	for i, x := range c.args {
		x, err := c.ev.keys(x, pairs)
		if err != nil {
			return nil, err
		}
		c.args[i] = x
	}
	return c.native()
}

// withOther is for methods of sets that need another: without one, the interpreter would panic.
func withOther(c *methodCall) (starlark.Value, error) {
	if len(c.args) == 0 && len(c.kwargs) == 0 {
		return nil, fmt.Errorf("%s: got 0 arguments, want 1", c.name)
	}
	return updateKeys(c)
}

// keys returns an iterable whose elements may be keys, or pairs of which the first may be one.
func (ev *evaluation) keys(v starlark.Value, pairs bool) (starlark.Value, error) {
	v, err := ev.concrete(v, "the collection")
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *starlark.Dict, dict, *starlark.Set: // they are keys already; but taken out and put in once more
		return v, ev.charge(plus(int64(starlark.Len(v)), ev.collided))
	case starlark.Iterable:
		if err := ev.room(times(int64(max(starlark.Len(v), 0)), entrySize), "the collection"); err != nil {
			return nil, err
		}
		for element := range starlark.Elements(v) {
			if pair, ok := element.(starlark.Indexable); ok && pairs && pair.Len() > 0 {
				element = pair.Index(0)
			}
			if err := ev.key(element); err != nil {
				return nil, err
			}
			if err := ev.spend(); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func keyedMethod(c *methodCall) (starlark.Value, error) {
	if x := c.argument(0); x != nil {
		if err := c.ev.key(x); err != nil {
			return nil, err
		}
	}
	return c.native()
}

func indexOf(c *methodCall) (starlark.Value, error) {
	if l, ok := c.receiver.(*starlark.List); ok {
		return listIndexIn(c.thread, l, c.name, c.args, c.kwargs)
	}
	return c.native()
}

func removeElement(c *methodCall) (starlark.Value, error) {
	l := c.receiver.(*starlark.List)
	if len(c.args) != 1 || len(c.kwargs) > 0 {
		return c.native() // which says what is wrong
	}
	at, err := listIndexIn(c.thread, l, c.name, c.args, nil)
	if err != nil {
		return nil, err
	}
	pop, err := l.Attr("pop")
	if err != nil {
		return nil, err
	}
	if _, err := starlark.Call(c.thread, pop, starlark.Tuple{at}, nil); err != nil {
		return c.native() // which says what is wrong in its own name, before it compares
	}
	return starlark.None, nil
}

// inLocation is t.in_location(name).
func inLocation(c *methodCall) (starlark.Value, error) {
	if _, ok := c.receiver.(startime.Time); ok {
		if name, ok := c.argument(0).(starlark.String); ok {
			if err := checkLocation(string(name)); err != nil {
				return nil, err
			}
		}
	}
	return c.native()
}

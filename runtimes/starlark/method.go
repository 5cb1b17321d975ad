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

// A methodCall is a call of a method that has a guard, or of a field with the same name whose value is a function.
type methodCall struct {
	thread   *starlark.Thread
	ev       *evaluation
	receiver starlark.Value
	name     string
	function starlark.Value
	args     starlark.Tuple
	kwargs   []starlark.Tuple
}

// native calls the method of the interpreter.
func (c *methodCall) native() (starlark.Value, error) {
	return starlark.Call(c.thread, c.function, c.args, c.kwargs)
}

// callMethod implements x.f(...). It is called with x, the name of f, and the arguments.
func callMethod(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	name := string(args[1].(starlark.String))
	f, err := attribute(args[0], name)
	if err != nil {
		return nil, err
	}
	c := &methodCall{thread, evaluationOf(thread), args[0], name, f, args[2:], kwargs}
	if b, ok := f.(*starlark.Builtin); !ok || b.Receiver() == nil {
		return c.native() // the value of a field, which has its own guard if it needs one
	}
	if guard := guardOf(args[0], name); guard != nil {
		return guard(c)
	}
	return c.native()
}

// boundMethod implements x.f without a call. It is called with x and the name of f.
func boundMethod(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	v, err := attribute(args[0], string(args[1].(starlark.String)))
	if err != nil {
		return nil, err
	}
	return withGuard(v), nil
}

// withGuard returns v with its guard if v is a method that has one, else v.
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
	return starlark.NewBuiltin(b.Name(), catchingPanics(call)).BindReceiver(b.Receiver())
}

// attribute returns x.name, with the same errors as the interpreter.
func attribute(x starlark.Value, name string) (starlark.Value, error) {
	object, ok := x.(starlark.HasAttrs)
	if !ok {
		return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
	}
	if withoutRule[name] && !hasRule(x, name) {
		return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
	}
	v, err := object.Attr(name)
	noSuchAttr, generic := err.(starlark.NoSuchAttrError)
	if err != nil && !generic {
		return nil, err
	}
	if v != nil {
		return v, nil
	}
	msg := string(noSuchAttr)
	if !generic {
		msg = fmt.Sprintf("%s has no .%s field or method", x.Type(), name)
	}
	if near := engine.Nearest(name, attrNames(object)); near != "" {
		msg += fmt.Sprintf(" (did you mean .%s?)", near)
	}
	return nil, fmt.Errorf("%s", msg)
}

// getattr implements getattr(x, name, default=None).
func getattr(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if lacks, name := lacksRule(args); lacks {
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

// lacksRule reports whether the first arguments are a value and the name of a member of it that has no rule.
func lacksRule(args starlark.Tuple) (lacks bool, name string) {
	if len(args) < 2 {
		return false, ""
	}
	s, _ := args[1].(starlark.String)
	return withoutRule[string(s)] && !hasRule(args[0], string(s)), string(s)
}

// hasattr implements hasattr(x, name).
func hasattr(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if lacks, _ := lacksRule(args); lacks {
		return starlark.False, nil
	}
	return starlark.Call(thread, starlark.Universe["hasattr"], args, kwargs)
}

// dirOf implements dir(x).
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

// limitTexts is the guard of methods whose string arguments must be short.
func limitTexts(c *methodCall) (starlark.Value, error) {
	if err := checkTextLength(c.args, c.kwargs); err != nil {
		return nil, err
	}
	return c.native()
}

// argument returns the nth argument, or nil.
func (c *methodCall) argument(n int) starlark.Value {
	if n < len(c.args) {
		return c.args[n]
	}
	return nil
}

// texts returns the receiver and the first two arguments. A value that is no string is "".
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
	x, err := c.ev.materialize(x, "the text that join makes")
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
		if err := c.ev.reserve(size, "the text that join makes"); err != nil {
			return nil, err
		}
	}
	c.args[0] = x
	return c.native()
}

func replaceText(c *methodCall) (starlark.Value, error) {
	self, old, replacement := c.texts()
	count := int64(strings.Count(self, old))
	if err := c.ev.reserve(plus(int64(len(self)), times(count, int64(len(replacement)))), "the text that replace makes"); err != nil {
		return nil, err
	}
	return c.native()
}

func formatText(c *methodCall) (starlark.Value, error) {
	self, _, _ := c.texts()
	// Each name in the format is compared with all keyword arguments of the same length.
	var names int64
	for _, pair := range c.kwargs {
		names += bytesPerStep/stringSize + sizeOf(pair[0])
	}
	if err := c.ev.charge(times(int64(strings.Count(self, "{")), names) / bytesPerStep); err != nil {
		return nil, err
	}
	if err := c.ev.reserveFormat(self, "{", c.args, c.kwargs); err != nil {
		return nil, err
	}
	v, err := c.native()
	if err != nil {
		return nil, fieldFault(err)
	}
	return v, nil
}

// reserveFormat reserves memory for a formatted string. Each argument may appear once. But an argument that is referred to by its
// name or number may appear as often as the format contains begin, so the size of the largest argument counts that many times.
func (ev *evaluation) reserveFormat(format, begin string, args starlark.Tuple, kwargs []starlark.Tuple) error {
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
	repeated := times(int64(strings.Count(format, begin)), largest)
	if repeated <= smallSize && total <= smallSize && len(format) <= smallSize {
		return nil
	}
	return ev.reserve(plus(int64(len(format)), max(total, repeated)), what)
}

func splitText(c *methodCall) (starlark.Value, error) {
	self, separator, _ := c.texts()
	parts := fields(self)
	if separator != "" {
		parts = strings.Count(self, separator) + 1
	}
	if most, ok := c.argument(1).(starlark.Int); ok {
		if n, ok := most.Int64(); ok && n > int64(parts) {
			c.args[1] = starlark.MakeInt(parts) // rsplit allocates maxsplit+1 parts at once, even if there are fewer
		}
	}
	if len(self) <= smallSize {
		return c.native()
	}
	if err := c.ev.reserve(int64(parts)*(elementSize+stringSize)+int64(len(self)), "the list of parts"); err != nil {
		return nil, err
	}
	return c.native()
}

// fields returns the number of words in s, which are separated by white space.
func fields(s string) int {
	n, inWord := 0, false
	for _, r := range s {
		space := unicode.IsSpace(r)
		if !space && !inWord {
			n++
		}
		inWord = !space
	}
	return n
}

func splitLines(c *methodCall) (starlark.Value, error) {
	self, _, _ := c.texts()
	lines := strings.Count(self, "\n") + strings.Count(self, "\r") + 1
	if err := c.ev.reserve(int64(lines)*(elementSize+stringSize)+int64(len(self)), "the list of lines"); err != nil {
		return nil, err
	}
	return c.native()
}

// ofCase implements islower, isupper and istitle by the properties of characters, as in Python. The interpreter's compare with a copy,
// so that "ß" is in upper case, and know only ASCII in titles.
func ofCase(c *methodCall) (starlark.Value, error) {
	text, ok := c.receiver.(starlark.String)
	if !ok || len(c.args)+len(c.kwargs) > 0 {
		return c.native() // reports the arguments
	}
	if err := c.ev.charge(wordSteps(len(text))); err != nil {
		return nil, err
	}
	found, after := false, false // a character that has the case, and one that has any right before
	for _, r := range string(text) {
		lower := unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r)
		title := unicode.IsTitle(r)
		upper := unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r)
		switch {
		case c.name == "islower" && (upper || title), c.name == "isupper" && (lower || title), c.name == "istitle" && (lower && !after || (upper || title) && after):
			return starlark.False, nil
		}
		after = lower || title || upper
		found = found || after
	}
	return starlark.Bool(found), nil
}

// caseText is the guard of methods that write a string character by character. That is slow, and some characters become longer.
func caseText(c *methodCall) (starlark.Value, error) {
	self, _, _ := c.texts()
	if err := c.ev.reserve(4*int64(len(self)), "the text that "+c.name+" makes"); err != nil {
		return nil, err
	}
	return c.native()
}

// prefixText is the guard of startswith and endswith, which may compare with each string of a tuple.
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
		x, err := c.ev.materialize(x, "the list")
		if err != nil {
			return nil, err
		}
		if err := c.ev.reserve(2*sizeOf(x), "the list"); err != nil {
			return nil, err
		}
		c.args[0] = x
	}
	return c.native()
}

// updateKeys is the guard of methods of dicts and sets whose arguments are iterables of keys, or of pairs of a key and a value.
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

// requireArgument is the guard of methods of sets that need an argument: without one, the interpreter would panic.
func requireArgument(c *methodCall) (starlark.Value, error) {
	if len(c.args) == 0 && len(c.kwargs) == 0 {
		return nil, fmt.Errorf("%s: got 0 arguments, want 1", c.name)
	}
	return updateKeys(c)
}

// keys checks an iterable whose elements become keys, or, if pairs is set, pairs of a key and a value. It returns the iterable to
// use in place of v.
func (ev *evaluation) keys(v starlark.Value, pairs bool) (starlark.Value, error) {
	v, err := ev.materialize(v, "the collection")
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *starlark.Dict, dictView, *starlark.Set: // their elements are keys already, and only inserted again
		return v, ev.charge(plus(int64(starlark.Len(v)), ev.collisionSteps))
	case starlark.Iterable:
		if err := ev.reserve(times(int64(max(starlark.Len(v), 0)), entrySize), "the collection"); err != nil {
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
		return c.native() // it returns the error
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
		return c.native() // it returns the error, with the name remove in it, before it compares
	}
	return starlark.None, nil
}

// inLocation implements t.in_location(name).
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

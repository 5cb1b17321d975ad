package starlark

import (
	"fmt"
	"maps"
	"time"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	startime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"metascript/engine"
)

// predeclared is what every file can use besides those of the language's own builtins that are not replaced.
var predeclared = func() starlark.StringDict {
	names := starlark.StringDict{
		"json": module(json.Module, starlark.StringDict{
			"encode": starlark.NewBuiltin("json.encode", recovered(encodeJSON)),
			"decode": starlark.NewBuiltin("json.decode", recovered(decodeJSON)),
		}),
		"math": module(math.Module, nil),
		// Without the clock, and with no time zone of the host's.
		"time": module(startime.Module, starlark.StringDict{
			"from_timestamp": starlark.NewBuiltin("from_timestamp", fromTimestamp),
			"parse_duration": starlark.NewBuiltin("parse_duration", recovered(parseDuration)),
			"parse_time":     located("parse_time", 2),
			"time":           located("time", -1),
		}),
	}
	for name, r := range nameRules {
		if r.replaced != nil {
			names[name] = starlark.NewBuiltin(name, recovered(r.replaced))
		}
	}
	maps.Copy(names, operators)
	names.Freeze()
	return names
}()

// module is what a script has of a module: what there is a rule for, with our own in place of some.
func module(from *starlarkstruct.Module, ours starlark.StringDict) *starlarkstruct.Module {
	m := &starlarkstruct.Module{Name: from.Name, Members: starlark.StringDict{}}
	for name, v := range from.Members {
		if r, ok := moduleRules[m.Name][name]; ok && r != removed {
			m.Members[name] = v
		}
	}
	maps.Copy(m.Members, ours)
	return m
}

// located is a function of the time module whose argument location, the nth, may be UTC only.
func located(name string, nth int) starlark.Value {
	native := startime.Module.Members[name]
	return starlark.NewBuiltin(name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := checkShort(args, kwargs); err != nil {
			return nil, err
		}
		var location starlark.Value
		if nth >= 0 && nth < len(args) {
			location = args[nth]
		}
		for _, pair := range kwargs {
			if pair[0] == starlark.String("location") {
				location = pair[1]
			}
		}
		if zone, ok := location.(starlark.String); ok {
			if err := checkLocation(string(zone)); err != nil {
				return nil, err
			}
		}
		return starlark.Call(thread, native, args, kwargs)
	})
}

// parseDuration is time.parse_duration(text).
func parseDuration(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := checkShort(args, kwargs); err != nil {
		return nil, err
	}
	return starlark.Call(thread, startime.Module.Members["parse_duration"], args, kwargs)
}

// maxTime bounds the texts that times are read from and written by. Go's errors about them show all of them, quoted.
const maxTime = 1 << 10

func checkShort(args starlark.Tuple, kwargs []starlark.Tuple) error {
	for _, pair := range kwargs {
		args = append(args[:len(args):len(args)], pair[1])
	}
	for _, arg := range args {
		if s, ok := arg.(starlark.String); ok && len(s) > maxTime {
			return &fault{
				kind: engine.KindRuntime, msg: fmt.Sprintf("the text is longer than %d bytes", maxTime),
				hint: "no time, duration or layout of one is that long",
			}
		}
	}
	return nil
}

func checkLocation(name string) error {
	if name == "" || name == "UTC" {
		return nil
	}
	return &fault{
		kind: engine.KindRuntime, msg: "there is no time zone " + naming.Quote(name) + ": only UTC",
		hint: "work in UTC: what other zones are depends on the machine",
	}
}

// fromTimestamp is time.from_timestamp(sec, nsec=0), in UTC.
func fromTimestamp(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var sec, nsec int64
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &sec, &nsec); err != nil {
		return nil, err
	}
	return startime.Time(time.Unix(sec, nsec).UTC()), nil
}

// fail is fail(*args, sep=" "), without the message growing beyond what an error shows.
func fail(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	text, err := joined(b, args, kwargs, maxMessage)
	if err != nil {
		return nil, err
	}
	return nil, &fault{kind: engine.KindRaised, msg: text}
}

// print is print(*args, sep=" ") to the call's log.
func print(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	ev := evaluationOf(thread)
	text, err := joined(b, args, kwargs, int(min(ev.limits.Log, maxPrinted)))
	if err != nil || ev.emit == nil {
		return starlark.None, err
	}
	ev.emit(engine.Message{Level: engine.Info, Pos: position(thread.CallFrame(1).Pos), Text: text})
	if ev.ctx.Err() != nil {
		return nil, errStopped
	}
	return starlark.None, nil
}

// maxPrinted bounds one message, whatever the limit for all.
const maxPrinted = 1 << 20

// joined is the text of the arguments of fail or print, at most limit bytes.
func joined(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple, limit int) (string, error) {
	sep := " "
	if err := starlark.UnpackArgs(b.Name(), nil, kwargs, "sep?", &sep); err != nil {
		return "", err
	}
	w := writer{left: limit}
	for i, arg := range args {
		if w.full() {
			break // a number of many digits is written before it is cut off
		}
		if i > 0 {
			w.text(sep)
		}
		switch arg := arg.(type) {
		case starlark.String:
			w.text(string(arg))
		case starlark.Bytes:
			w.text(string(arg))
		default:
			w.value(arg, 0)
		}
	}
	return w.String(), nil
}

// typeOf is type(x), which tells no view from a dict or list.
func typeOf(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &x); err != nil {
		return nil, err
	}
	return starlark.String(typeName(x)), nil
}

// typeName is the name of x's type as scripts know it.
func typeName(x starlark.Value) string {
	switch x.(type) {
	case dict:
		return "dict"
	case slice:
		return "list"
	}
	return x.Type()
}

// The methods of views. Those that change a dict or list are there, too, so that hasattr and dir say the same as for
// any other, and are refused when they are called.
var (
	dictMethods = methods(map[string]method{
		"get": dictGet, "items": dictItems, "keys": dictKeys, "values": dictValues, "setdefault": dictSetDefault,
	}, "dict", "clear", "pop", "popitem", "update")

	listMethods = methods(map[string]method{"index": listIndex}, "list", "append", "clear", "extend", "insert", "pop", "remove")
)

type method = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

func methods(readers map[string]method, kind string, writers ...string) map[string]*starlark.Builtin {
	all := map[string]*starlark.Builtin{}
	for name, m := range readers {
		all[name] = starlark.NewBuiltin(name, m)
	}
	refuse := func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return nil, errReadOnly(kind)
	}
	for _, name := range writers {
		all[name] = starlark.NewBuiltin(name, refuse)
	}
	return all
}

// lookUp unpacks the arguments of get and setdefault, and returns the value of the key if there is one.
func lookUp(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (v, otherwise starlark.Value, err error) {
	var key starlark.Value
	otherwise = starlark.None
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &key, &otherwise); err != nil {
		return nil, nil, err
	}
	if name, ok := key.(starlark.String); ok {
		if v, ok := b.Receiver().(dict)[string(name)]; ok {
			return toValue(v), nil, nil
		}
	} else if _, err := key.Hash(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return nil, otherwise, nil
}

func dictGet(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, otherwise, err := lookUp(b, args, kwargs)
	if v == nil {
		v = otherwise
	}
	return v, err
}

func dictSetDefault(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, _, err := lookUp(b, args, kwargs)
	if v == nil && err == nil {
		err = errReadOnly("dict")
	}
	return v, err
}

func dictItems(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 0); err != nil {
		return nil, err
	}
	items := b.Receiver().(dict).Items()
	elems := make([]starlark.Value, len(items))
	for i, item := range items {
		elems[i] = item
	}
	return starlark.NewList(elems), nil
}

func dictKeys(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return dictList(b, args, kwargs, func(_ dict, key string) starlark.Value { return starlark.String(key) })
}

func dictValues(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return dictList(b, args, kwargs, func(d dict, key string) starlark.Value { return toValue(d[key]) })
}

// dictList makes a list of an element for each key.
func dictList(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple, element func(dict, string) starlark.Value) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 0); err != nil {
		return nil, err
	}
	d := b.Receiver().(dict)
	elems := make([]starlark.Value, 0, len(d))
	for _, key := range d.sorted() {
		elems = append(elems, element(d, key))
	}
	return starlark.NewList(elems), nil
}

// listIndex is l.index(x, start=0, end=len).
func listIndex(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return listIndexIn(thread, b.Receiver().(slice), b.Name(), args, kwargs)
}

func listIndexIn(thread *starlark.Thread, l starlark.Indexable, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	start, end := 0, l.Len()
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &x, &start, &end); err != nil {
		return nil, err
	}
	for i := fromEnd(start, l.Len()); i < fromEnd(end, l.Len()); i++ {
		same, err := equal(l.Index(i), x, evaluationOf(thread))
		if err != nil {
			return nil, err
		}
		if same {
			return starlark.MakeInt(i), nil
		}
	}
	return nil, fmt.Errorf("%s: value not in list", name)
}

// fromEnd is where the index i is in a list of n elements; a negative one counts from the end.
func fromEnd(i, n int) int {
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}

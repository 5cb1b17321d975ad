package starlark

import (
	"cmp"
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

// predeclared has the names that every file can use, without the builtins of the language that are not replaced.
var predeclared = func() starlark.StringDict {
	names := starlark.StringDict{
		"json": module(json.Module, starlark.StringDict{
			"encode": starlark.NewBuiltin("json.encode", catchingPanics(encodeJSON)),
			"decode": starlark.NewBuiltin("json.decode", catchingPanics(decodeJSON)),
		}),
		"math": module(math.Module, nil),
		// Without now, and without the time zones of the host.
		"time": module(startime.Module, starlark.StringDict{
			"from_timestamp": starlark.NewBuiltin("from_timestamp", fromTimestamp),
			"parse_duration": starlark.NewBuiltin("parse_duration", catchingPanics(parseDuration)),
			"parse_time":     withLocation("parse_time", 2),
			"time":           withLocation("time", -1),
		}),
	}
	for name, r := range nameRules {
		if r.replaced != nil {
			names[name] = starlark.NewBuiltin(name, catchingPanics(r.replaced))
		}
	}
	maps.Copy(names, operators)
	names.Freeze()
	return names
}()

// module returns the members of a module that have a rule. replacements are added, and replace members of the same name.
func module(from *starlarkstruct.Module, replacements starlark.StringDict) *namedModule {
	m := newModule(from.Name)
	for name, v := range from.Members {
		if r, ok := moduleRules[m.Name][name]; ok && r != removed {
			m.Members[name] = v
		}
	}
	maps.Copy(m.Members, replacements)
	return m
}

// A namedModule is a module whose errors name it.
type namedModule struct{ *starlarkstruct.Module }

func newModule(name string) *namedModule {
	return &namedModule{&starlarkstruct.Module{Name: name, Members: starlark.StringDict{}}}
}

// Attr implements [starlark.HasAttrs].
func (m *namedModule) Attr(name string) (starlark.Value, error) {
	if v, ok := m.Members[name]; ok {
		return v, nil
	}
	return nil, &missingMember{m, name}
}

// A missingMember is the error for a function that a module does not have.
type missingMember struct {
	module *namedModule
	name   string
}

// Error implements error.
func (m *missingMember) Error() string {
	return m.module.Name + " has no " + naming.Quote(m.name)
}

// advice implements hintedError.
func (m *missingMember) advice() (engine.Kind, string) {
	return engine.KindRuntime, cmp.Or(otherMembers[m.name], naming.Suggest(m.name, m.module.Members.Keys(), "it has "))
}

// timeInRequest is the hint for the clock.
const timeInRequest = "the time is in the request: write a parameter now"

// otherMembers are functions of modules of Python, and what to write in Starlark.
var otherMembers = map[string]string{
	"loads": "write json.decode(text)", "dumps": "write json.encode(x)", "parse": "write json.decode(text)", "stringify": "write json.encode(x)",
	"now": timeInRequest, "today": timeInRequest, "utcnow": timeInRequest, "strftime": `write time.parse_time(now).format("2006-01-02")`,
	"strptime": "write time.parse_time(text)", "fromisoformat": "write time.parse_time(text)", "sleep": "return resyncAfterSeconds in the answer: a call does not wait",
	"b64encode": "write base64.encode(text)", "b64decode": "write base64.decode(text)", "dump": "write the module's encode(x)",
	"safe_load": "write yaml.decode(text)", "load": "write yaml.decode(text)", "safe_load_all": "write yaml.decodeAll(text)", "safe_dump": "write yaml.encode(x)",
	"max": "write max(a, b) without a module", "min": "write min(a, b) without a module",
}

// withLocation returns the function of the time module with that name. Its argument location, which is the nth, must be UTC. nth
// is -1 if location can only be a keyword argument.
func withLocation(name string, nth int) starlark.Value {
	native := startime.Module.Members[name]
	return starlark.NewBuiltin(name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if name == "time" && len(args)+len(kwargs) == 0 { // in Python it is the current time
			return nil, &fault{kind: engine.KindRuntime, msg: "time.time: want the parts of a time, such as year=2026", hint: timeInRequest}
		}
		if err := checkTextLength(args, kwargs); err != nil {
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

// parseDuration implements time.parse_duration(text).
func parseDuration(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := checkTextLength(args, kwargs); err != nil {
		return nil, err
	}
	return starlark.Call(thread, startime.Module.Members["parse_duration"], args, kwargs)
}

// maxTimeText is the maximum length of a time, a duration or a layout. Go's errors about them show the whole text, quoted.
const maxTimeText = 1 << 10

func checkTextLength(args starlark.Tuple, kwargs []starlark.Tuple) error {
	for _, pair := range kwargs {
		args = append(args[:len(args):len(args)], pair[1])
	}
	for _, arg := range args {
		if s, ok := arg.(starlark.String); ok && len(s) > maxTimeText {
			return &fault{
				kind: engine.KindRuntime, msg: fmt.Sprintf("the text is longer than %d bytes", maxTimeText),
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
		hint: "use UTC: other time zones depend on the machine",
	}
}

// fromTimestamp implements time.from_timestamp(sec, nsec=0), in UTC.
func fromTimestamp(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var sec, nsec int64
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &sec, &nsec); err != nil {
		return nil, err
	}
	return startime.Time(time.Unix(sec, nsec).UTC()), nil
}

// fail implements fail(*args, sep=" "). The message is cut at maxMessage bytes.
func fail(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	text, err := joinArguments(b, args, kwargs, maxMessage)
	if err != nil {
		return nil, err
	}
	return nil, &fault{kind: engine.KindRaised, msg: text}
}

// print implements print(*args, sep=" "). It writes to the log of the call.
func print(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	ev := evaluationOf(thread)
	text, err := joinArguments(b, args, kwargs, int(min(ev.limits.Log, maxPrinted)))
	if err != nil || ev.emit == nil {
		return starlark.None, err
	}
	ev.emit(engine.Message{Level: engine.Info, Pos: position(thread.CallFrame(1).Pos), Text: text})
	if ev.ctx.Err() != nil {
		return nil, errStopped
	}
	return starlark.None, nil
}

// maxPrinted is the maximum size of one printed message, in bytes. limits.Log limits all messages together.
const maxPrinted = 1 << 20

// joinArguments returns the text of the arguments of fail or print, at most limit bytes.
func joinArguments(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple, limit int) (string, error) {
	sep := " "
	if err := starlark.UnpackArgs(b.Name(), nil, kwargs, "sep?", &sep); err != nil {
		return "", err
	}
	w := writer{remaining: limit}
	for i, arg := range args {
		if w.full() {
			break // a number would be formatted in full before it is cut
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

// typeOf implements type(x). A view has the type "dict" or "list".
func typeOf(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &x); err != nil {
		return nil, err
	}
	return starlark.String(typeName(x)), nil
}

// typeName returns the name of x's type as scripts know it.
func typeName(x starlark.Value) string {
	switch x.(type) {
	case dictView:
		return "dict"
	case listView:
		return "list"
	}
	return x.Type()
}

// The methods of views. They include the methods that change a dict or list, so that hasattr and dir return the same as for other
// dicts and lists. To call those is an error.
var (
	dictMethods = methods(map[string]method{
		"get": dictGet, "items": dictItems, "keys": dictKeys, "values": dictValues, "setdefault": dictSetDefault,
	}, "dict", "clear", "pop", "popitem", "update")

	listMethods = methods(map[string]method{"index": listIndex}, "list", "append", "clear", "extend", "insert", "pop", "remove")
)

type method = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

// methods returns the methods of a view: readers, and a method for each of the names in writers that returns an error.
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

// lookUp unpacks the arguments of get and setdefault. It returns the value of the key, or nil and the default value.
func lookUp(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (v, defaultValue starlark.Value, err error) {
	var key starlark.Value
	defaultValue = starlark.None
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &key, &defaultValue); err != nil {
		return nil, nil, err
	}
	if name, ok := key.(starlark.String); ok {
		if v, ok := b.Receiver().(dictView).data().Get(string(name)); ok {
			return toValue(v), nil, nil
		}
	} else if _, err := key.Hash(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return nil, defaultValue, nil
}

func dictGet(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, defaultValue, err := lookUp(b, args, kwargs)
	if v == nil {
		v = defaultValue
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
	items := b.Receiver().(dictView).Items()
	elems := make([]starlark.Value, len(items))
	for i, item := range items {
		elems[i] = item
	}
	return starlark.NewList(elems), nil
}

func dictKeys(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 0); err != nil {
		return nil, err
	}
	keys := sortedKeys(b.Receiver().(dictView).data())
	elems := make([]starlark.Value, len(keys))
	for i, key := range keys {
		elems[i] = starlark.String(key)
	}
	return starlark.NewList(elems), nil
}

func dictValues(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 0); err != nil {
		return nil, err
	}
	m := b.Receiver().(dictView).data()
	elems := make([]starlark.Value, 0, m.Len())
	for e := entriesOf(m); e.next(); {
		elems = append(elems, toValue(e.value))
	}
	return starlark.NewList(elems), nil
}

// listIndex implements l.index(x, start=0, end=len).
func listIndex(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return listIndexIn(thread, b.Receiver().(listView), b.Name(), args, kwargs)
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

// fromEnd converts an index, which counts from the end if it is negative, to one between 0 and n, the length of the list.
func fromEnd(i, n int) int {
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}

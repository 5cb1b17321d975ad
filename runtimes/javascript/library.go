package javascript

import (
	"slices"

	"github.com/dop251/goja"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/scripts/lib"
)

// libraryNames are the names by which a script requires the library, unless it has a file of that name.
var libraryNames = []string{"metascript", "metascript.js"}

// A library is the object that a script gets, or one of the groups in it. It makes a function when a script reads it, since
// most scripts use few.
type library struct {
	r     *run
	group string // "" for the whole library
	names []string
	made  map[string]goja.Value // the functions and groups that were read, by name
}

func (r *run) library() goja.Value {
	return r.vm.NewDynamicObject(&library{r: r, names: lib.Names(), made: map[string]goja.Value{}})
}

// ofAny are names that JavaScript, scripts that inspect objects, or source.go may read from any object.
var ofAny = []string{
	restProperty,
	"__proto__", "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "then", "toJSON",
	"toLocaleString", "toString", "valueOf",
}

// Get returns the function or group of that name. It throws for an unknown name, with a suggestion.
func (l *library) Get(name string) goja.Value {
	if v, ok := l.made[name]; ok {
		return v
	}
	if !slices.Contains(l.names, name) {
		if !slices.Contains(ofAny, name) {
			panic(l.r.throwable(l.unknown(name)))
		}
		return nil
	}
	l.made[name] = l.make(name)
	return l.made[name]
}

func (l *library) make(name string) goja.Value {
	members := []string{}
	for _, group := range lib.Groups() {
		for _, f := range group.Functions {
			switch _, member := f.Group(); {
			case group.Name == l.group && member == name:
				return l.r.vm.ToValue(l.r.libraryFunction(f))
			case l.group == "" && group.Name == name:
				members = append(members, member)
			}
		}
	}
	return l.r.vm.NewDynamicObject(&library{r: l.r, group: name, names: members, made: map[string]goja.Value{}})
}

func (l *library) unknown(name string) *engine.Error {
	from := "metascript"
	if l.group != "" {
		from += "." + l.group
	}
	return &engine.Error{
		Kind: engine.KindModule, Msg: from + " has no " + engine.Clip(name, naming.Max), Hint: naming.Suggest(name, l.names, "it has "),
	}
}

// Has implements [goja.DynamicObject].
func (l *library) Has(name string) bool { return slices.Contains(l.names, name) }

// Set implements [goja.DynamicObject].
func (l *library) Set(string, goja.Value) bool { return false }

// Delete implements [goja.DynamicObject].
func (l *library) Delete(string) bool { return false }

// Keys implements [goja.DynamicObject].
func (l *library) Keys() []string { return l.names }

// libraryFunction returns the JavaScript function for f. It ignores additional arguments, like other functions of JavaScript. An argument
// that is undefined means null if it may be null, as in conditions.isTrue(object.status?.conditions, "Ready").
func (r *run) libraryFunction(f *lib.Function) native {
	return func(call goja.FunctionCall) goja.Value {
		r.begin()
		defer r.end()
		args := make([]any, len(f.Params))
		for i, p := range f.Params {
			v := call.Argument(i)
			if goja.IsUndefined(v) {
				if given := i < len(call.Arguments); !p.Optional && !(p.Nullable && given) {
					panic(r.throwable(&engine.Error{Kind: engine.KindRuntime, Msg: f.Name + ": " + p.Name + " is missing"}))
				}
				continue
			}
			args[i] = r.data(v, f.Name+": "+p.Name)
		}
		result, err := f.Call(args, meter{r})
		if err != nil {
			panic(r.libraryFault(err))
		}
		return r.value(result, place{})
	}
}

// data returns the JSON-shaped value of v; what is its name in messages.
func (r *run) data(v goja.Value, what string) any {
	limits := r.limits
	limits.Nodes, limits.Output = int(limits.Memory/elementSize), limits.Memory
	a := converter{Walk: engine.NewArgument(what, lib.MaxDepth, r.limits), limits: limits, check: r.check}
	data, fault := a.value(v)
	if fault == nil {
		return data
	}
	if fault.Kind.Limit() || fault.Kind == engine.KindOutput {
		r.refuse(fault)
	}
	panic(r.throwable(fault))
}

// libraryFault returns the value with which to panic for an error of the library. If a key is missing, the call ends: with the key it is
// made again, and a script that catches the error would answer without it.
func (r *run) libraryFault(err error) any {
	if fault := host.LibraryError(err); fault != nil {
		if fault.Kind == engine.KindKey {
			r.refuse(fault)
		}
		return r.throwable(fault)
	}
	return r.throwable(err)
}

// A meter limits the library's functions. There are no steps in JavaScript.
type meter struct{ r *run }

// Spend implements [lib.Meter].
func (m meter) Spend(int64) error {
	m.r.check()
	return nil
}

// Random implements [lib.Drawer].
func (m meter) Random() *engine.Random { return m.r.random }

// CheckSize implements [lib.Meter].
func (m meter) CheckSize(bytes int64, what string) error {
	m.r.need(float64(bytes), what)
	return nil
}

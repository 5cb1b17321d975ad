package javascript

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

// unnamed has the objects without a global name, by their paths in the table, and an expression for each.
var unnamed = map[string]string{
	"GeneratorFunction.prototype":    "Object.getPrototypeOf(function* () {})",
	"AsyncFunction.prototype":        "Object.getPrototypeOf(async () => {})",
	"ArrayIterator.prototype":        "Object.getPrototypeOf([].values())",
	"MapIterator.prototype":          "Object.getPrototypeOf(new Map().values())",
	"SetIterator.prototype":          "Object.getPrototypeOf(new Set().values())",
	"StringIterator.prototype":       "Object.getPrototypeOf(''[Symbol.iterator]())",
	"RegExpStringIterator.prototype": "Object.getPrototypeOf('x'.matchAll(/x/g))",
	"(array)":                        "[]",
	"(text)":                         "Object('')",
	"(regexp)":                       "/x/",
	"(arguments)":                    "(function () { return arguments })()",
	"(strict-arguments)":             "(function () { 'use strict'; return arguments })()",
	"(template)":                     "(parts => parts)``",
	"(class)":                        "class {}",
	"(generator)":                    "function* () {}",
	"(error)":                        "(() => { try { null.x } catch (e) { return e } })()",
	"(aggregate-error)":              "new AggregateError([])",
	"(arrow)":                        "() => {}",
	"(method)":                       "({m() {}}).m",
	"(bound)":                        "(() => {}).bind()",
	"(iterator-result)":              "[].values().next()",
	"(promise)":                      "Promise.resolve()",
	"(resolving)":                    "(() => { let f; new Promise(resolve => f = resolve); return f })()",
	"(map)":                          "new Map()",
	"(date)":                         "new Date()",
	"(match)":                        "/(?<a>x)/.exec('x').groups",
}

// made lists properties of instances that a script could also have made itself.
var made = map[string]bool{
	"(template).0": true, "(iterator-result).value": true, "(iterator-result).done": true, "(match).a": true,
}

// pristine has the paths of all properties of goja, found before any is removed from its templates.
var pristine = enumerate(func(source string) *goja.Object {
	v, err := pristineMachine.RunString("(" + source + ")")
	if err != nil {
		panic(err)
	}
	return v.(*goja.Object)
})

var pristineMachine = goja.New()

// enumerate returns the paths of all properties that a script can reach. It reads every property of every object.
// eval evaluates JavaScript.
func enumerate(eval func(string) *goja.Object) map[string]bool {
	e := enumeration{seen: map[*goja.Object]bool{}, paths: map[string]bool{}}
	e.describe, _ = goja.AssertFunction(eval("Object.getOwnPropertyDescriptor"))
	e.symbols, _ = goja.AssertFunction(eval("o => Object.getOwnPropertySymbols(o)"))
	e.value, _ = goja.AssertFunction(eval("v => v"))
	e.object(eval("globalThis"), "")
	instances := func(path string) bool { return strings.HasPrefix(path, "(") }
	paths := slices.Sorted(maps.Keys(unnamed))
	slices.SortStableFunc(paths, func(a, b string) int { return cmpBool(instances(a), instances(b)) })
	for _, path := range paths {
		e.object(eval(unnamed[path]), path)
	}
	return e.paths
}

func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

type enumeration struct {
	describe, symbols, value goja.Callable
	seen                     map[*goja.Object]bool
	paths                    map[string]bool
}

func (e *enumeration) object(o *goja.Object, path string) {
	if o == nil || e.seen[o] || path == "console" {
		return
	}
	e.seen[o] = true
	_, function := goja.AssertFunction(o)
	for _, name := range o.GetOwnPropertyNames() {
		if of := joinPath(path, name); !(function && ofEachFunction[name]) && !made[of] {
			e.property(o, name, of)
		}
	}
	symbols, err := e.symbols(nil, o)
	if err != nil {
		panic(err)
	}
	for i := range symbols.(*goja.Object).Get("length").ToInteger() {
		symbol := symbols.(*goja.Object).Get(strconv.Itoa(int(i))).(*goja.Symbol)
		e.property(o, symbol, joinPath(path, keyName(symbol)))
	}
	e.object(o.Prototype(), prototypeOf(path, function))
}

func (e *enumeration) property(o *goja.Object, key any, path string) {
	e.paths[path] = true
	if b, listed := builtins[path]; listed && b.safety == removed {
		return // nor what hangs on it
	}
	if strings.HasPrefix(path, "(") {
		return // it is the script's
	}
	name, ok := key.(goja.Value)
	if !ok {
		name, _ = e.value(nil, asString(key.(string)))
	}
	d, err := e.describe(nil, o, name)
	if err != nil || goja.IsUndefined(d) {
		return
	}
	for _, part := range []string{"value", "get", "set"} {
		if v, ok := d.(*goja.Object).Get(part).(*goja.Object); ok {
			e.object(v, path)
		}
	}
}

// The table lists every built-in property of goja, and no others. A property that a new version of goja adds does not exist for
// scripts until there is a row for it in builtins.go.
func TestTableIsComplete(t *testing.T) {
	listed := map[string]bool{}
	for path, b := range builtins {
		listed[path] = true
		if b.why == "" || b.safety == "" {
			t.Errorf("%s: no reason in the table", path)
		}
	}
	for path := range provided {
		if !listed[path] || pristine[path] {
			t.Errorf("%s: not in the table, or goja has it now", path)
		}
		delete(listed, path)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(pristine)), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("- goja, + the table:\n%s", diff)
	}
	if len(pristine) < 400 {
		t.Errorf("found only %d properties", len(pristine))
	}
}

// Scripts have exactly the properties of the table.
func TestRealm(t *testing.T) {
	want := map[string]bool{"console": true}
	for path := range provided {
		want[path], want[path+".prototype"] = true, true
	}
	for path := range pristine {
		if builtins[path].safety != removed {
			want[path] = true
		}
	}
	var got map[string]bool
	inRealm(t, func(r *run) {
		got = enumerate(func(source string) *goja.Object {
			v, err := r.vm.RunString("(" + source + ")")
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			return v.(*goja.Object)
		})
	})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("- wanted for scripts, + found:\n%s", diff)
	}
}

// inRealm calls f with a machine like that of scripts, with all features of the syntax in use.
func inRealm(t *testing.T, f func(*run)) {
	t.Helper()
	if err := instrument(); err != nil {
		t.Fatal(err)
	}
	p := &program{entry: "sync.js", files: files("sync.js", `
		const {...rest} = {}
		async function sync() { try { /x/.test('x') } catch (e) { return function* () {} } }`).Files}
	r := p.newRun(engine.Limits{}, nil)
	err := r.within(t.Context(), func() error {
		if _, err := r.load("sync.js"); err != nil {
			return err
		}
		f(r)
		return nil
	})
	if err != nil {
		t.Fatal(err.Detail())
	}
}

// A function that a new version of goja adds does not exist for a script, neither in an object made from a template nor in one that
// is made when it is first used.
func TestBuiltinsWithoutARowAreRemoved(t *testing.T) {
	const has = "globalThis.amplify || ''.amplify || [].amplify || Math.amplify || ''[Symbol.unscopables]"
	if err := instrument(); err != nil {
		t.Fatal(err)
	}
	paths := []string{"", "String.prototype", "Array.prototype", "Math"}
	vm := goja.New()
	for _, path := range paths {
		add(template(find(vm, path)))
	}
	if v, err := goja.New().RunString(has); err != nil || !v.ToBoolean() {
		t.Fatalf("nothing was added: %v, %v", v, err)
	}
	for _, path := range paths {
		confine(template(find(vm, path)), path)
	}
	inRealm(t, func(r *run) {
		if v, err := r.vm.RunString(has); err != nil || v.ToBoolean() {
			t.Errorf("the function added to a template still exists: %v, %v", v, err)
		}
	})

	p := &program{entry: "sync.js", files: files("sync.js", "").Files}
	r := p.newRun(engine.Limits{}, nil)
	class := r.vm.Get("Map").(*goja.Object) // before the machine is one of ours
	prototype := class.Get("prototype").(*goja.Object)
	for _, o := range []*goja.Object{class, prototype} {
		_ = o.Set("amplify", 1)
		_ = o.SetSymbol(goja.SymMatch, 1)
	}
	r.sweep(class, "Map")
	for _, o := range []*goja.Object{class, prototype} {
		if o.Get("amplify") != nil || o.GetSymbol(goja.SymMatch) != nil || slices.Contains(o.GetOwnPropertyNames(), "amplify") {
			t.Errorf("the added function still exists: %v", o.GetOwnPropertyNames())
		}
	}
	if prototype.Get("get") == nil || class.GetSymbol(goja.SymSpecies) == nil {
		t.Error("an existing function was removed")
	}
}

// add adds a property and a symbol that the table does not have to a template.
func add(tmpl reflect.Value) {
	for _, field := range []struct {
		props, names string
		key          any
	}{{"props", "propNames", unistring.String("amplify")}, {"symProps", "symPropNames", goja.SymUnscopables}} {
		props, names := templateField(tmpl, field.props), templateField(tmpl, field.names)
		if props.IsNil() || props.MapIndex(reflect.ValueOf(field.key)).IsValid() {
			continue
		}
		make := func(vm *goja.Runtime) goja.Value { return vm.ToValue(true) }
		props.SetMapIndex(reflect.ValueOf(field.key), reflect.ValueOf(make).Convert(props.Type().Elem()))
		names.Set(reflect.Append(names, reflect.ValueOf(field.key)))
	}
}

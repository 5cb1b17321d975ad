package javascript

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// This file puts the guards of guard.go around the native functions of goja.
//
// goja makes a built-in function when a script first uses it, from templates that all virtual machines share, and has no way to
// change it in between. To define a guarded copy of each function in each machine would take 250 µs for each call, nearly all of it
// for functions that the script never uses. So this file changes goja itself, and guards only the functions that are used:
//
//   - The factories in the templates are replaced, once for the process, by factories that guard the functions that they make (see
//     instrument). Other machines get the same functions as before, except those that do not exist for scripts (see builtins.go):
//     that is removed from the templates, which costs a machine nothing.
//   - A function is guarded in place: the Go function inside the function object is replaced (see guardFunction). So every path to
//     the object, by reflection or by the shortcuts of goja, leads to the guard.
//   - What goja makes without a template, when a constructor is first used, is guarded then, together with all that can be reached
//     from it (see sweep). What it makes on its own, such as the prototype of a regular expression literal, is guarded before the
//     script runs (see features).
//
// All of this depends on the layout of unexported structs. It is looked up by name and type. If a new version of goja has another
// layout, no script is run: Compile returns an error, and the tests fail.

type (
	native    = func(goja.FunctionCall) goja.Value
	construct = func(args []goja.Value, newTarget *goja.Object) *goja.Object
	factory   = func(*goja.Runtime) goja.Value
)

// running maps the virtual machines that run scripts to their runs.
var running sync.Map // *goja.Runtime -> *run

// instrument guards goja, once for the process.
var instrument = sync.OnceValue(func() (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("this version of goja cannot be guarded: %v", x)
		}
	}()
	vm := goja.New()
	learn(vm)
	for _, path := range templates {
		tmpl := template(find(vm, path))
		confine(tmpl, path)
		patch(tmpl, path)
		provide(tmpl, path)
		confined[tmpl.UnsafePointer()] = true
	}
	return nil
})

// confined are the templates that confine has handled. It is complete before the first machine runs.
var confined = map[unsafe.Pointer]bool{}

// templates are the paths of the objects that are made from templates, without those that are removed; "" is the global
// object.
var templates = []string{
	"", "Object", "Object.prototype", "Function.prototype", "Array.prototype", "String.prototype", "Number",
	"Number.prototype", "Date", "Date.prototype", "Math",
}

// find returns the object at a path of one or two names.
func find(vm *goja.Runtime, path string) *goja.Object {
	switch path {
	case "":
		return vm.GlobalObject()
	case "Function.prototype":
		return vm.Get("parseInt").(*goja.Object).Prototype()
	}
	at := vm.GlobalObject()
	for name := range strings.SplitSeq(path, ".") {
		at = at.Get(name).(*goja.Object)
	}
	return at
}

// An inside has the offsets of the fields of the struct to which a goja.Object points. The booleans say which of them the type has.
type inside struct {
	values    uintptr // map[unistring.String]goja.Value
	symbols   uintptr // *orderedMap of the same for symbols, a list of entries
	native    uintptr // the function of a call
	construct uintptr // the function of new, may be nil there
	tmpl      uintptr // *objectTemplate
	names     uintptr // []unistring.String, of the properties
	sorted    uintptr // int, how many of them are sorted
	numbers   uintptr // int, how many of those are numbers
	wrapped   uintptr // goja.Value, what a pattern with a rest splits
	entries   uintptr // *orderedMap, of a Map or Set
	source    uintptr // goja.String, of a RegExp
	pattern   uintptr // *regexpPattern, of a RegExp
	compiled  uintptr // string, the source in that
	frames    uintptr // []goja.StackFrame, of an Error
	stacked   uintptr // bool, whether its stack was converted to text

	hasValues, callable, templated, named, wraps, collects, fails, matches bool
}

var (
	insides sync.Map // reflect.Type -> inside

	// Of orderedMap and its entries.
	orderedMapType                                   reflect.Type
	symbolsFirst, symbolNext, symbolKey, symbolValue uintptr

	// Of goja.Object and its property values.
	selfOffset, valueOffset, getterOffset, setterOffset uintptr
	selfType, propertyType                              reflect.Type
)

// learn finds the layout that does not depend on the type of an object.
func learn(vm *goja.Runtime) {
	self := mustField(reflect.TypeFor[goja.Object](), "self", nil)
	selfOffset, selfType = self.Offset, self.Type
	_, t := innerOf(vm.GlobalObject())
	tmpl, ok := t.Elem().FieldByName("tmpl")
	if !ok {
		panic("the global object has no template")
	}
	orderedMapType = mustField(t.Elem(), "symValues", nil).Type
	props := mustField(tmpl.Type.Elem(), "props", nil)
	made := reflect.NewAt(props.Type, unsafe.Add(template(vm.GlobalObject()).UnsafePointer(), props.Offset)).Elem()
	methodProperty = made.MapIndex(reflect.ValueOf(unistring.String("parseInt"))).Convert(reflect.TypeFor[factory]()).Interface().(factory)
	v := methodProperty(vm)
	propertyType = reflect.TypeOf(v)
	valueOffset = mustField(propertyType.Elem(), "value", reflect.TypeFor[goja.Value]()).Offset
	getterOffset = mustField(propertyType.Elem(), "getterFunc", reflect.TypeFor[*goja.Object]()).Offset
	setterOffset = mustField(propertyType.Elem(), "setterFunc", reflect.TypeFor[*goja.Object]()).Offset
	if _, l, ok := insideOf(propertyValues(v)[0]); !ok || !l.callable || !l.named {
		panic("a native function is not as it was")
	}
	list := orderedMapType.Elem()
	first := mustField(list, "iterFirst", nil)
	entry := first.Type.Elem()
	symbolsFirst, symbolNext = first.Offset, mustField(entry, "iterNext", first.Type).Offset
	symbolKey = mustField(entry, "key", reflect.TypeFor[goja.Value]()).Offset
	symbolValue = mustField(entry, "value", reflect.TypeFor[goja.Value]()).Offset
	for _, made := range []string{"Map", "Set"} {
		if _, l, ok := insideOf(instance(vm, made)); !ok || !l.collects {
			panic("a " + made + " is not as it was")
		}
	}
	learnDynamic(vm)
	learnIteration(vm)
	if _, l, ok := insideOf(instance(vm, "RegExp")); !ok || !l.matches {
		panic("a RegExp is not as it was")
	}
	if _, l, ok := insideOf(instance(vm, "Error")); !ok || !l.fails {
		panic("an Error is not as it was")
	}
}

// instance makes a sample of a class.
func instance(vm *goja.Runtime, class string) *goja.Object {
	o, err := vm.New(vm.Get(class))
	if err != nil {
		panic(err)
	}
	return o
}

func pointerAt(p unsafe.Pointer, offset uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Add(p, offset))
}

func mustField(t reflect.Type, name string, want reflect.Type) reflect.StructField {
	f, ok := t.FieldByName(name)
	if !ok || want != nil && f.Type != want {
		panic(fmt.Sprintf("%s has no field %s as expected", t, name))
	}
	return f
}

// innerOf returns the struct to which an object points.
func innerOf(o *goja.Object) (unsafe.Pointer, reflect.Type) {
	inner := reflect.NewAt(selfType, unsafe.Add(unsafe.Pointer(o), selfOffset)).Elem().Elem()
	if inner.Kind() != reflect.Pointer {
		return nil, inner.Type()
	}
	return inner.UnsafePointer(), inner.Type()
}

// insideOf is innerOf with the offsets.
func insideOf(o *goja.Object) (unsafe.Pointer, inside, bool) {
	at, t := innerOf(o)
	if at == nil || t.Elem().Kind() != reflect.Struct {
		return nil, inside{}, false
	}
	if l, ok := insides.Load(t); ok {
		return at, l.(inside), true
	}
	var l inside
	l.values, l.hasValues = offset(t.Elem(), "values", reflect.TypeFor[map[unistring.String]goja.Value]())
	if l.hasValues {
		l.symbols, l.hasValues = offset(t.Elem(), "symValues", nil)
	}
	if l.names, l.named = offset(t.Elem(), "propNames", reflect.TypeFor[[]unistring.String]()); l.named {
		if l.sorted, l.named = offset(t.Elem(), "lastSortedPropLen", reflect.TypeFor[int]()); l.named {
			l.numbers, l.named = offset(t.Elem(), "idxPropCount", reflect.TypeFor[int]())
		}
	}
	l.wrapped, l.wraps = offset(t.Elem(), "wrapped", reflect.TypeFor[goja.Value]())
	l.native, l.callable = offset(t.Elem(), "f", reflect.TypeFor[native]())
	if l.callable {
		l.construct, l.callable = offset(t.Elem(), "construct", reflect.TypeFor[construct]())
	}
	l.tmpl, l.templated = offset(t.Elem(), "tmpl", nil)
	l.entries, l.collects = offset(t.Elem(), "m", orderedMapType)
	if l.source, l.matches = offset(t.Elem(), "source", reflect.TypeFor[goja.String]()); l.matches {
		l.pattern, l.compiled, l.matches = patternOffsets(t.Elem())
	}
	if l.frames, l.fails = offset(t.Elem(), "stack", reflect.TypeFor[[]goja.StackFrame]()); l.fails {
		l.stacked, l.fails = offset(t.Elem(), "stackPropAdded", reflect.TypeFor[bool]())
	}
	insides.Store(t, l)
	return at, l, true
}

// patternOffsets returns the offset of the pattern of a RegExp, and that of the source in it.
func patternOffsets(t reflect.Type) (pattern, compiled uintptr, ok bool) {
	f, ok := t.FieldByName("pattern")
	if !ok || f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct {
		return 0, 0, false
	}
	if pattern, ok = offset(t, "pattern", nil); !ok {
		return 0, 0, false
	}
	compiled, ok = offset(f.Type.Elem(), "src", reflect.TypeFor[string]())
	return pattern, compiled, ok
}

// offset returns the offset of a field, which may be in an embedded struct.
func offset(t reflect.Type, name string, want reflect.Type) (sum uintptr, ok bool) {
	f, ok := t.FieldByName(name)
	if !ok || want != nil && f.Type != want {
		return 0, false
	}
	for _, i := range f.Index {
		if t.Kind() != reflect.Struct {
			return 0, false
		}
		sum += t.Field(i).Offset
		t = t.Field(i).Type
	}
	return sum, true
}

// template returns the objectTemplate of an object that has one.
func template(o *goja.Object) reflect.Value {
	at, l, ok := insideOf(o)
	if !ok || !l.templated {
		panic("an object is not made from a template")
	}
	_, t := innerOf(o)
	field, _ := t.Elem().FieldByName("tmpl")
	return reflect.NewAt(field.Type, unsafe.Add(at, l.tmpl)).Elem()
}

func templateField(tmpl reflect.Value, name string) reflect.Value {
	f := mustField(tmpl.Type().Elem(), name, nil)
	return reflect.NewAt(f.Type, unsafe.Add(tmpl.UnsafePointer(), f.Offset)).Elem()
}

// exists reports whether scripts have the built-in property at a path: it must be in the table, and not removed.
func exists(table map[string]builtin, path string) bool {
	b, listed := table[path]
	return listed && b.safety != removed
}

// ofEachFunction are properties that every function has.
var ofEachFunction = map[string]bool{"name": true, "length": true}

// confine removes the properties that scripts do not have from a template. path is the path of the object.
func confine(tmpl reflect.Value, path string) {
	function := slices.Contains([]string{"Object", "Number", "Date", "Function.prototype"}, path)
	for _, field := range []struct{ props, names string }{{"props", "propNames"}, {"symProps", "symPropNames"}} {
		props, names := templateField(tmpl, field.props), templateField(tmpl, field.names)
		kept := reflect.MakeSlice(names.Type(), 0, names.Len())
		for i := range names.Len() {
			key := names.Index(i)
			if name := keyName(key.Interface()); exists(builtins, joinPath(path, name)) || function && ofEachFunction[name] {
				kept = reflect.Append(kept, key)
				continue
			}
			props.SetMapIndex(key, reflect.Value{})
		}
		names.Set(kept)
	}
}

// keyName returns the key of a property as the table has it.
func keyName(key any) string {
	switch key := key.(type) {
	case unistring.String:
		return key.String()
	case *goja.Symbol:
		return "@@" + key.String()
	}
	panic(fmt.Sprintf("the key of a property is a %T", key))
}

// patch replaces the factories of a template by factories that guard the functions they make. path is the path of the object.
func patch(tmpl reflect.Value, path string) {
	for _, field := range []string{"props", "symProps"} {
		props := templateField(tmpl, field)
		for _, key := range props.MapKeys() {
			f := props.MapIndex(key)
			make := f.Convert(reflect.TypeFor[factory]()).Interface().(factory)
			name := keyName(key.Interface())
			guarded := func(vm *goja.Runtime) goja.Value {
				v := make(vm)
				if r, ok := running.Load(vm); ok {
					r.(*run).sweepProperty(v, joinPath(path, name))
					if path == "" && name == "Promise" { // it catches what goja throws
						r.(*run).sweepErrors()
					}
				}
				return v
			}
			props.SetMapIndex(key, reflect.ValueOf(guarded).Convert(f.Type()))
		}
	}
}

// joinPath returns the path of a property. The constructor of A.prototype is A, whatever the path to the prototype.
func joinPath(path, name string) string {
	if of, ok := strings.CutSuffix(path, ".prototype"); ok && name == "constructor" {
		return of
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// propertyValues returns the objects of a property: its value, its getter and its setter; nil for those that are none.
func propertyValues(v goja.Value) (found [3]*goja.Object) {
	if o, ok := v.(*goja.Object); ok {
		found[0] = o
		return found
	}
	if v == nil || reflect.TypeOf(v) != propertyType {
		return found
	}
	at := reflect.ValueOf(v).UnsafePointer()
	found[0], _ = (*(*goja.Value)(unsafe.Add(at, valueOffset))).(*goja.Object)
	found[1], found[2] = (*goja.Object)(pointerAt(at, getterOffset)), (*goja.Object)(pointerAt(at, setterOffset))
	return found
}

func (r *run) sweepProperty(v goja.Value, path string) {
	for _, o := range propertyValues(v) {
		r.sweep(o, path)
	}
}

// sweptFirst is about how many objects are swept for a class such as Set.
const sweptFirst = 40

// sweep guards the function o, and all objects that can be reached from o and exist already. It does so once.
func (r *run) sweep(o *goja.Object, path string) {
	if o == nil || r.swept[o] {
		return
	}
	if r.swept == nil {
		r.swept = make(map[*goja.Object]bool, sweptFirst)
	}
	r.swept[o] = true
	at, l, ok := insideOf(o)
	if !ok {
		return
	}
	if l.callable {
		r.guardFunction(at, l, path)
	}
	if l.templated && !confined[pointerAt(at, l.tmpl)] {
		panic("a built-in object of this version of goja is made from a template that is not guarded: " + path)
	}
	if l.templated || !l.hasValues {
		return
	}
	r.sweepNames(at, l, path)
	r.sweepSymbols(o, at, l, path)
	if proto := o.Prototype(); !r.swept[proto] {
		r.sweep(proto, prototypeOf(path, l.callable))
	}
}

// sweepNames guards the properties with names, and removes those that scripts do not have.
func (r *run) sweepNames(at unsafe.Pointer, l inside, path string) {
	values := *(*map[unistring.String]goja.Value)(unsafe.Add(at, l.values))
	for name, v := range values {
		if l.callable && (name == "name" || name == "length") && propertyValues(v) == [3]*goja.Object{} {
			continue // most properties are these, and to look up their paths takes long
		}
		of := joinPath(path, name.String())
		switch {
		case exists(r.table, of):
			r.sweepProperty(v, of)
		case !l.callable || !ofEachFunction[name.String()]:
			delete(values, name)
			if names := (*[]unistring.String)(unsafe.Add(at, l.names)); l.named {
				*names = slices.DeleteFunc(slices.Clone(*names), func(n unistring.String) bool { return n == name })
			}
		}
	}
}

// sweepSymbols is sweepNames for symbols.
func (r *run) sweepSymbols(o *goja.Object, at unsafe.Pointer, l inside, path string) {
	symbols := pointerAt(at, l.symbols)
	if symbols == nil {
		return
	}
	var unknown []*goja.Symbol
	for entry := pointerAt(symbols, symbolsFirst); entry != nil; entry = pointerAt(entry, symbolNext) {
		if symbol, ok := (*(*goja.Value)(unsafe.Add(entry, symbolKey))).(*goja.Symbol); ok {
			if of := joinPath(path, keyName(symbol)); exists(r.table, of) {
				r.sweepProperty(*(*goja.Value)(unsafe.Add(entry, symbolValue)), of)
			} else {
				unknown = append(unknown, symbol)
			}
		}
	}
	for _, symbol := range unknown {
		if err := o.DeleteSymbol(symbol); err != nil {
			panic(err) // goja is not used at all
		}
	}
}

// prototypes are the prototypes of built-in objects for which it is not Object.prototype or Function.prototype.
var prototypes = map[string]string{
	"ArrayIterator.prototype": "Iterator.prototype", "MapIterator.prototype": "Iterator.prototype",
	"SetIterator.prototype": "Iterator.prototype", "StringIterator.prototype": "Iterator.prototype",
	"RegExpStringIterator.prototype": "Iterator.prototype", "GeneratorFunction.prototype.prototype": "Iterator.prototype",
	"GeneratorFunction.prototype": "Function.prototype", "AsyncFunction.prototype": "Function.prototype",
}

func init() {
	for _, class := range engineErrors {
		prototypes[class], prototypes[class+".prototype"] = "Error", "Error.prototype"
	}
}

// prototypeOf returns the path of the prototype of the built-in object at a path.
func prototypeOf(path string, function bool) string {
	if of, ok := prototypes[path]; ok {
		return of
	}
	if function {
		return "Function.prototype"
	}
	return "Object.prototype"
}

// guardFunction replaces the Go functions in a function object.
func (r *run) guardFunction(at unsafe.Pointer, l inside, path string) {
	g := r.table[path].guard
	f := (*native)(unsafe.Add(at, l.native))
	if inner := *f; inner != nil {
		*f = func(call goja.FunctionCall) goja.Value {
			r.begin()
			defer r.end()
			call.Arguments = present(call.Arguments)
			if g.call != nil {
				return g.call(r, call, inner)
			}
			v := inner(call)
			if g.made != nil {
				g.made(r, v)
			}
			return v
		}
	}
	c := (*construct)(unsafe.Add(at, l.construct))
	if inner := *c; inner != nil {
		*c = func(args []goja.Value, target *goja.Object) *goja.Object {
			r.begin()
			defer r.end()
			args = present(args)
			if g.args != nil {
				args = g.args(r, args)
			}
			o := inner(args, target)
			if g.made != nil {
				g.made(r, o)
			}
			return o
		}
	}
}

// present replaces missing arguments: find and similar functions pass nil for a hole in an array, which native functions do
// not expect.
func present(args []goja.Value) []goja.Value {
	if !slices.Contains(args, nil) {
		return args
	}
	args = slices.Clone(args) // they may be the elements of an array
	for i, v := range args {
		if v == nil {
			args[i] = goja.Undefined()
		}
	}
	return args
}

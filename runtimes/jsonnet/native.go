package jsonnet

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// This file has everything that depends on the interpreter's unexported types: the layout of its values, which checkValues compares
// with go-jsonnet before the first script runs, and some of its functions; if one is missing, the linker fails. Fields have the same
// names as in go-jsonnet, or _ if they are not used.

// An interpreter is *gojsonnet.interpreter.
type interpreter = unsafe.Pointer

type (
	flatString struct{ value []rune }

	// A treeString is a concatenation that has not been carried out yet. If right is nil, the whole string is left.
	treeString struct {
		left, right value
		len         int
	}

	arrayValue struct{ elements []*thunk }

	// A thunk is an element, a variable or an argument. content is nil until it is evaluated.
	thunk struct {
		env     *environment
		body    ast.Node
		content value
		_       error
	}

	objectValue struct {
		assertionError error
		cache          map[cacheKey]value
		uncached       layers
	}

	// A cacheKey is the name of a field and the depth of the layer that has it.
	cacheKey struct {
		field string
		depth int
	}

	// A field is what an object has for a name: a readyField, a codeField or something else.
	field struct {
		field unbound
		hide  int
	}
	unbound    interface{ loc() *ast.LocationRange }
	readyField struct{ content value }
	codeField  struct{ body ast.Node }

	// An objectLocal is a variable of an object.
	objectLocal struct {
		node ast.Node
		name ast.Identifier
	}

	// A madeElement is the node of an element that std.makeArray makes.
	madeElement struct {
		function *functionValue
		_        ast.NodeBase
		index    int
	}

	// Bindings are variables.
	bindings map[ast.Identifier]*thunk

	// An environment is what an expression can use.
	environment struct {
		upValues    bindings
		selfBinding selfBinding
	}
	selfBinding struct {
		self       *objectValue
		superDepth int
	}

	functionValue struct{ ec evalCallable }

	// A closure is a function that is written in Jsonnet.
	closure struct {
		env      environment
		function *ast.Function
		params   []parameter
	}
	parameter struct {
		defaultArg ast.Node
		name       ast.Identifier
	}
	numberValue  struct{ value float64 }
	booleanValue struct{ value bool }

	// An evalCallable is a function.
	evalCallable interface{ evalCall() }

	// Layers are the objects of which an object is the sum: simpleLayers, which is one object, extendedLayers or
	// restrictedLayers.
	layers       interface{ inheritanceSize() int }
	simpleLayers struct {
		upValues bindings
		fields   map[string]field
		asserts  []unbound
		locals   []objectLocal
	}
	extendedLayers struct {
		left, right          layers
		totalInheritanceSize int
	}
	restrictedLayers struct {
		obj            layers
		retainedFields map[string]int
	}

	callArguments struct {
		positional []*thunk
		_          []unsafe.Pointer // the named arguments
		_          bool             // tailstrict
	}
	unaryBuiltin struct {
		name     string
		function func(interpreter, value) (value, error)
		params   []string
	}
	binaryBuiltin struct {
		name     string
		function func(interpreter, value, value) (value, error)
		params   []string
	}
	ternaryBuiltin struct {
		name     string
		function func(interpreter, value, value, value) (value, error)
		params   []string
	}
	generalBuiltin struct {
		name     string
		function func(interpreter, []value) (value, error)
		params   []unsafe.Pointer
	}
)

//go:linkname bopBuiltins github.com/google/go-jsonnet.bopBuiltins
var bopBuiltins []*binaryBuiltin

//go:linkname uopBuiltins github.com/google/go-jsonnet.uopBuiltins
var uopBuiltins []*unaryBuiltin

// funcBuiltins are the functions of std that are written in Go.
//
//go:linkname funcBuiltins github.com/google/go-jsonnet.funcBuiltins
var funcBuiltins map[string]evalCallable

//go:linkname force github.com/google/go-jsonnet.(*cachedThunk).getValue
func force(t *thunk, i interpreter) (value, error)

//go:linkname fieldOf github.com/google/go-jsonnet.(*valueObject).index
func fieldOf(o *objectValue, i interpreter, field string) (value, error)

//go:linkname fieldNames github.com/google/go-jsonnet.objectFields
func fieldNames(o *objectValue, hidden int) []string

//go:linkname checkAssertions github.com/google/go-jsonnet.checkAssertions
func checkAssertions(i interpreter, o *objectValue) error

//go:linkname callFunction github.com/google/go-jsonnet.(*valueFunction).call
func callFunction(f unsafe.Pointer, i interpreter, args callArguments) (value, error)

//go:linkname raise github.com/google/go-jsonnet.(*interpreter).Error
func raise(i interpreter, msg string) error

//go:linkname valueCmp github.com/google/go-jsonnet.valueCmp
func valueCmp(i interpreter, x, y value) (int, error)

//go:linkname flatten github.com/google/go-jsonnet.(*valueStringTree).flattenToLeft
func flatten(s *treeString)

// withoutHidden is the argument of fieldNames for visible fields only.
const withoutHidden = 1

// A kind is the dynamic type of a value.
type kind int

const (
	unknownKind kind = iota
	nullKind
	booleanKind
	numberKind
	flatKind
	treeKind
	arrayKind
	objectKind
	functionKind
)

// twoWords is the layout of an interface.
type twoWords struct{ typ, data unsafe.Pointer }

func wordsOf(v value) twoWords { return wordsOfAny(v) }

func wordsOfAny(a any) twoWords { return *(*twoWords)(unsafe.Pointer(&a)) }

// layout is what checkValues has found out about the interpreter. It does not change after installGuards.
var layout struct {
	kinds    [functionKind + 1]unsafe.Pointer // the type words
	simple   unsafe.Pointer                   // the type words of layers
	extended unsafe.Pointer
	restrict unsafe.Pointer
	baseStd  uintptr // the offset of std in an interpreter
	traceOut uintptr // the offset of the writer for std.trace in an interpreter
	array    value   // samples of what this package makes
	text     value
	number   value
	object   value
	function value
	null     value // there is only one
	yes, no  value
	plain    layers
	ready    unbound
	code     unbound
	closure  evalCallable
	made     unsafe.Pointer // the type word of a madeElement
	unary    unsafe.Pointer // the type words of builtins
	binary   unsafe.Pointer
	ternary  unsafe.Pointer
	calls    uintptr // the offsets of the number of nested calls, and of its limit, in an interpreter
	limit    uintptr
	builtins map[string]reflect.Value
	removed  map[string]bool // the fields that were removed from std
}

// kindOf returns v's kind and the address of what it points to.
func kindOf(v value) (kind, unsafe.Pointer) {
	if v == nil {
		return unknownKind, nil
	}
	w := wordsOf(v)
	for k, typ := range layout.kinds {
		if typ == w.typ {
			return kind(k), w.data
		}
	}
	return unknownKind, w.data
}

// newArray returns an array value with these elements.
func newArray(elements []*thunk) value {
	v := layout.array
	(*twoWords)(unsafe.Pointer(&v)).data = unsafe.Pointer(&arrayValue{elements: elements})
	return v
}

// noEnvironment is for nodes without free variables. The interpreter only reads it.
var noEnvironment = &environment{}

// evaluated returns the value of a node that has no free variables.
func evaluated(n ast.Node, i interpreter) (value, error) {
	return force(&thunk{env: noEnvironment, body: n}, i)
}

// newString returns a string value.
func newString(s string) value {
	v := layout.text
	(*twoWords)(unsafe.Pointer(&v)).data = unsafe.Pointer(&flatString{value: []rune(s)})
	return v
}

// newNumber returns a number value.
func newNumber(f float64) value {
	v := layout.number
	(*twoWords)(unsafe.Pointer(&v)).data = unsafe.Pointer(&numberValue{value: f})
	return v
}

// newBoolean returns a boolean value.
func newBoolean(b bool) value {
	if b {
		return layout.yes
	}
	return layout.no
}

// newObject returns an object value of one layer.
func newObject(simple *simpleLayers) value {
	o := &objectValue{cache: map[cacheKey]value{}, uncached: layout.plain}
	(*twoWords)(unsafe.Pointer(&o.uncached)).data = unsafe.Pointer(simple)
	return objectFrom(o)
}

// objectFrom returns o as a value.
func objectFrom(o *objectValue) value {
	v := layout.object
	(*twoWords)(unsafe.Pointer(&v)).data = unsafe.Pointer(o)
	return v
}

// functionFrom returns c as a value.
func functionFrom(c *closure) value {
	f := &functionValue{ec: layout.closure}
	(*twoWords)(unsafe.Pointer(&f.ec)).data = unsafe.Pointer(c)
	v := layout.function
	(*twoWords)(unsafe.Pointer(&v)).data = unsafe.Pointer(f)
	return v
}

// newField returns a visible field. e must stay as it is.
func newField(e *entry) field {
	if e.body != nil {
		return newCodeField(&e.body, ast.ObjectFieldInherit)
	}
	f := field{field: layout.ready, hide: int(ast.ObjectFieldInherit)}
	(*twoWords)(unsafe.Pointer(&f.field)).data = unsafe.Pointer(&e.content)
	return f
}

// newCodeField returns a field with an expression, which must stay as it is.
func newCodeField(body *ast.Node, hide ast.ObjectFieldHide) field {
	f := field{field: layout.code, hide: int(hide)}
	(*twoWords)(unsafe.Pointer(&f.field)).data = unsafe.Pointer(body)
	return f
}

// runesOf returns the text of a string.
func runesOf(v value) []rune {
	for {
		k, p := kindOf(v)
		if k == flatKind {
			return (*flatString)(p).value
		}
		if k != treeKind {
			return nil
		}
		t := (*treeString)(p)
		flatten(t)
		v = t.left
	}
}

// loggerOf returns the logger of an interpreter, or nil if the interpreter was not made by program.evaluate. The logger has the
// guard.
func loggerOf(i interpreter) *logger {
	l, _ := (*(*io.Writer)(unsafe.Add(i, layout.traceOut))).(*logger)
	return l
}

// samples evaluates a value of every kind, and then every builtin function.
const samples = `local s = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
[std.type(x) for x in [null, false, true, 1, s, s + s, [1], { a: 1 }, function() 1, { a: 1 } + { b: 1 }, std.objectRemoveKey({ a: 1 }, 'a'), std.makeArray(1, function(i) i)]]
+ [std.type(std[f]) for f in std.objectFieldsAll(std)]`

// checkValues sets layout, and returns an error if the interpreter's values do not have the layout of the types in this file.
func checkValues() error {
	field, ok := reflect.TypeFor[gojsonnet.EvalHook]().Field(0).Type.In(0).Elem().FieldByName("traceOut")
	if !ok || field.Type != reflect.TypeFor[io.Writer]() {
		return errors.New("jsonnet: scripts cannot be bounded: this version of go-jsonnet has no interpreter.traceOut")
	}
	layout.traceOut = field.Offset
	field, ok = reflect.TypeFor[gojsonnet.EvalHook]().Field(0).Type.In(0).Elem().FieldByName("baseStd")
	if !ok || field.Type.Kind() != reflect.Pointer || field.Type.Elem().Name() != "valueObject" {
		return errors.New("jsonnet: scripts cannot be bounded: this version of go-jsonnet has no interpreter.baseStd")
	}
	layout.baseStd = field.Offset
	if err := learnStack(reflect.TypeFor[gojsonnet.EvalHook]().Field(0).Type.In(0).Elem()); err != nil {
		return err
	}
	layout.builtins = map[string]reflect.Value{}
	var wrong error
	vm := gojsonnet.MakeVM()
	hook{pre: func(interpreter, ast.Node) {}, post: func(_ interpreter, _ ast.Node, v value, err error) {
		if err == nil && v != nil && wrong == nil {
			wrong = learnType(v)
		}
	}}.install(vm)
	if _, err := vm.Evaluate(mustParse(samples)); err != nil {
		return fmt.Errorf("jsonnet: scripts cannot be bounded with this version of go-jsonnet: %w", err)
	}
	for k, typ := range layout.kinds[nullKind:] {
		if typ == nil && wrong == nil {
			wrong = fmt.Errorf("no values of kind %d", k)
		}
	}
	if wrong == nil && (layout.yes == nil || layout.no == nil || layout.ready == nil || layout.code == nil || layout.closure == nil || layout.ternary == nil || layout.made == nil) {
		wrong = errors.New("fields or functions are made in another way")
	}
	if wrong == nil && (layout.simple == nil || layout.extended == nil || layout.restrict == nil || layout.array == nil || layout.text == nil) {
		wrong = errors.New("objects are made in another way")
	}
	if wrong != nil {
		return fmt.Errorf("jsonnet: scripts cannot be bounded with this version of go-jsonnet: %w", wrong)
	}
	return nil
}

// learnStack finds the number of nested calls in the type of an interpreter, and its limit.
func learnStack(theirs reflect.Type) error {
	stack, ok := theirs.FieldByName("stack")
	if ok && stack.Type.Kind() == reflect.Struct {
		calls, found := stack.Type.FieldByName("calls")
		limit, also := stack.Type.FieldByName("limit")
		if found && also && calls.Type.Kind() == reflect.Int && limit.Type.Kind() == reflect.Int {
			layout.calls, layout.limit = stack.Offset+calls.Offset, stack.Offset+limit.Offset
			return nil
		}
	}
	return errors.New("jsonnet: scripts cannot be bounded: this version of go-jsonnet counts calls in another way")
}

// shapes has the kind and the expected layout of the interpreter's types, by name.
var shapes = map[string]struct {
	kind kind
	ours reflect.Type
}{
	"valueNull":       {nullKind, nil},
	"valueBoolean":    {booleanKind, reflect.TypeFor[booleanValue]()},
	"valueNumber":     {numberKind, reflect.TypeFor[numberValue]()},
	"valueFlatString": {flatKind, reflect.TypeFor[flatString]()},
	"valueStringTree": {treeKind, reflect.TypeFor[treeString]()},
	"valueArray":      {arrayKind, reflect.TypeFor[arrayValue]()},
	"valueObject":     {objectKind, reflect.TypeFor[objectValue]()},
	"valueFunction":   {functionKind, reflect.TypeFor[functionValue]()},
}

// learnType records the type of v, if it is new.
func learnType(v value) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return nil
	}
	shape, ok := shapes[rv.Elem().Type().Name()]
	if !ok {
		return fmt.Errorf("there are values of type %s", rv.Type())
	}
	if shape.ours != nil {
		if err := checkShape(rv.Elem().Type(), shape.ours); err != nil {
			return err
		}
	}
	layout.kinds[shape.kind] = wordsOf(v).typ
	switch shape.kind {
	case nullKind:
		layout.null = v
	case booleanKind:
		if (*booleanValue)(wordsOf(v).data).value {
			layout.yes = v
		} else {
			layout.no = v
		}
	case numberKind:
		layout.number = v
	case flatKind:
		layout.text = v
	case arrayKind:
		layout.array = v
		element := rv.Elem().FieldByName("elements").Type().Elem().Elem()
		if err := checkShape(element, reflect.TypeFor[thunk]()); err != nil {
			return err
		}
		env, _ := element.FieldByName("env")
		if err := checkShape(env.Type.Elem(), reflect.TypeFor[environment]()); err != nil {
			return err
		}
		return learnElement((*arrayValue)(wordsOf(v).data).elements)
	case objectKind:
		layout.object = v
		return learnLayers((*objectValue)(wordsOf(v).data), rv.Elem().FieldByName("uncached").Elem())
	case functionKind:
		layout.function = v
		callable := rv.Elem().FieldByName("ec")
		if err := checkCall(callable.Type()); err != nil {
			return err
		}
		if callable.Elem().Elem().Type().Name() == "closure" {
			layout.closure = (*functionValue)(wordsOf(v).data).ec
			return checkShape(callable.Elem().Elem().Type(), reflect.TypeFor[closure]())
		}
		return learnBuiltin(callable.Elem())
	}
	return nil
}

// learnElement recognizes an element that std.makeArray has made.
func learnElement(elements []*thunk) error {
	if len(elements) == 0 || elements[0].body == nil {
		return nil
	}
	t := reflect.TypeOf(elements[0].body).Elem()
	if t.Name() != "astMakeArrayElement" {
		return nil
	}
	layout.made = wordsOfAny(elements[0].body).typ
	return checkShape(t, reflect.TypeFor[madeElement]())
}

// checkCall checks the layout of callArguments, the argument of callFunction. It is the first parameter of the method evalCall.
func checkCall(theirs reflect.Type) error {
	call, ok := theirs.MethodByName("evalCall")
	if !ok || call.Type.NumIn() == 0 {
		return fmt.Errorf("%s has no method evalCall", theirs)
	}
	return checkShape(call.Type.In(0), reflect.TypeFor[callArguments]())
}

func learnLayers(o *objectValue, rv reflect.Value) error {
	a := any(o.uncached)
	typ := (*twoWords)(unsafe.Pointer(&a)).typ
	switch t := rv.Elem().Type(); t.Name() {
	case "simpleObject":
		layout.simple, layout.plain = typ, o.uncached
		if err := checkShape(t, reflect.TypeFor[simpleLayers]()); err != nil {
			return err
		}
		return learnFields(o.uncached)
	case "extendedObject":
		layout.extended = typ
		if err := checkShape(t, reflect.TypeFor[extendedLayers]()); err != nil {
			return err
		}
		return learnFields((*extendedLayers)(layerWords(o.uncached).data).right)
	case "restrictedObject":
		layout.restrict = typ
		return checkShape(t, reflect.TypeFor[restrictedLayers]())
	}
	return nil
}

// learnFields records samples of the two kinds of fields.
func learnFields(l layers) error {
	if layerWords(l).typ != layout.simple {
		return nil
	}
	for _, f := range (*simpleLayers)(layerWords(l).data).fields {
		switch t := reflect.TypeOf(f.field).Elem(); t.Name() {
		case "readyValue":
			layout.ready = f.field
			return checkShape(t, reflect.TypeFor[readyField]())
		case "codeUnboundField":
			layout.code = f.field
			return checkShape(t, reflect.TypeFor[codeField]())
		}
	}
	return nil
}

func learnBuiltin(rv reflect.Value) error {
	ours := map[string]reflect.Type{
		"unaryBuiltin": reflect.TypeFor[unaryBuiltin](), "binaryBuiltin": reflect.TypeFor[binaryBuiltin](),
		"ternaryBuiltin": reflect.TypeFor[ternaryBuiltin](), "generalBuiltin": reflect.TypeFor[generalBuiltin](),
	}[rv.Elem().Type().Name()]
	if ours == nil {
		return nil
	}
	layout.builtins[rv.Elem().FieldByName("name").String()] = rv
	typ := wordsOfAny(reflect.Zero(rv.Type()).Interface()).typ
	switch rv.Elem().Type().Name() {
	case "unaryBuiltin":
		layout.unary = typ
	case "binaryBuiltin":
		layout.binary = typ
	case "ternaryBuiltin":
		layout.ternary = typ
	}
	return checkShape(rv.Elem().Type(), ours)
}

// checkShape returns how theirs, a type of go-jsonnet, differs from ours, or nil. Each field of ours must have the same offset in
// theirs, a type with the same storage, and the same name unless it is _. The names are compared because two fields of the same
// type may have been swapped.
func checkShape(theirs, ours reflect.Type) error {
	if theirs.Kind() != reflect.Struct || theirs.Size() != ours.Size() {
		return fmt.Errorf("%s is not of %d bytes", theirs, ours.Size())
	}
	at := map[uintptr]reflect.StructField{}
	for i := range theirs.NumField() {
		if f := theirs.Field(i); f.Type.Size() > 0 {
			at[f.Offset] = f
		}
	}
	for i := range ours.NumField() {
		f := ours.Field(i)
		t, ok := at[f.Offset]
		if !ok || t.Name != f.Name && f.Name != "_" || !sameStorage(t.Type, f.Type) {
			return fmt.Errorf("%s has no %s where we expect it", theirs, f.Name)
		}
	}
	return nil
}

// sameStorage reports whether a value of the type theirs can be read as one of the type ours. An unsafe.Pointer in ours may be any
// pointer or map in theirs; of a slice or map of those only the length may be read.
func sameStorage(theirs, ours reflect.Type) bool {
	if ours.Kind() == reflect.UnsafePointer {
		return slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Map, reflect.UnsafePointer}, theirs.Kind())
	}
	if theirs.Kind() != ours.Kind() || theirs.Size() != ours.Size() {
		return false
	}
	switch ours.Kind() {
	case reflect.Slice:
		return ours.Elem().Kind() == reflect.UnsafePointer || sameStorage(theirs.Elem(), ours.Elem())
	case reflect.Map:
		return sameStorage(theirs.Key(), ours.Key()) && sameStorage(theirs.Elem(), ours.Elem())
	case reflect.Struct:
		return checkShape(theirs, ours) == nil
	case reflect.Interface: // an interface without methods has another layout
		return (theirs.NumMethod() > 0) == (ours.NumMethod() > 0)
	case reflect.Func:
		return theirs.NumIn() == ours.NumIn() && theirs.NumOut() == ours.NumOut() && theirs.IsVariadic() == ours.IsVariadic()
	}
	return true
}

// prepareInterpreter checks the interpreter and installs the guards, once. It returns an error if scripts cannot be limited.
var prepareInterpreter = sync.OnceValue(func() error {
	if err := checkValues(); err != nil {
		return err
	}
	if err := installGuards(); err != nil {
		return err
	}
	return prepareTemplate()
})

package javascript

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"

	"metascript/engine"
)

const (
	// maxNative is how deeply calls of native functions may be nested: String([[[…]]]), bound functions.
	maxNative = 1000
	// maxArguments is the maximum length of a list of arguments.
	maxArguments = 1 << 17
	// maxProtos is the maximum length of a chain of prototypes.
	maxProtos = 200
	// maxProduct is how many characters a search may compare in the worst case.
	maxProduct = 1 << 30
	// elementSize is the memory of an element of an array, in bytes. It limits time as well: goja's functions take about 100
	// ns for each element.
	elementSize = 64
	// textCost is how many times a text counts against the memory limit: it is copied when it is joined, converted or written
	// into a message, and a step that reads it must not take long.
	textCost = 4
	// descriptionSize is the memory of a property and its description.
	descriptionSize = 640
	// entrySize is the memory of an array of a property's name and value.
	entrySize = 256
)

// A refusal ends a call. It passes through goja as a panic that no script can catch.
type refusal struct{ fault *engine.Error }

func (r refusal) Error() string { return r.fault.Error() }

// begin is called before each native function, end after it.
func (r *run) begin() {
	if r.stopped.Load() {
		at, trace := r.trace(r.vm.CaptureCallStack(0, nil))
		panic(refusal{&engine.Error{Kind: engine.KindCanceled, Pos: at, Trace: trace}}) // see run.fault
	}
	r.depth++
	if r.depth > maxNative {
		r.refuse(&engine.Error{
			Kind: engine.KindStack, Msg: fmt.Sprintf("built-in functions call one another more than %d deep", maxNative),
			Hint: "is something nested without end?",
		})
	}
}

func (r *run) end() { r.depth-- }

// check ends the call if it was stopped. The loops of this package call it.
func (r *run) check() {
	r.begin()
	r.end()
}

// refuse ends the call with e.
func (r *run) refuse(e *engine.Error) {
	e.Pos, e.Trace = r.trace(r.vm.CaptureCallStack(0, nil))
	if e.Pos.File == "" {
		e.Pos.File = r.p.entry
	}
	if r.refused == nil {
		r.refused = e
	}
	r.stopped.Store(true)
	panic(refusal{e})
}

// need refuses a value of more bytes than the limit, and waits until there is memory for it.
func (r *run) need(bytes float64, what string) {
	if bytes > float64(r.limits.Memory) {
		r.refuse(engine.TooMuchMemory(engine.Pos{}, r.limits, what))
	}
	if engine.WaitForMemory(r.ctx, int64(bytes)) != nil {
		r.stopped.Store(true)
		r.check()
	}
}

// needText calls need for a text.
func (r *run) needText(bytes float64, what string) { r.need(bytes*textCost, what) }

// product refuses a search that compares n characters if that is too many.
func (r *run) product(n float64) {
	if n > maxProduct {
		r.refuse(&engine.Error{
			Kind: engine.KindTimeout, Msg: "the search would take too long: the texts are too large",
			Hint: "search in smaller texts",
		})
	}
}

// size returns how many bytes a text takes.
func size(s goja.String) float64 { return float64(s.Length()) * width(s) }

// width returns how many bytes a character of s takes.
func width(s goja.String) float64 {
	if reflect.TypeOf(s).Kind() == reflect.String {
		return 1
	}
	return 2
}

// text returns v as a text, as goja's functions convert it; nil where they throw. The caller passes the text on, because a
// second conversion of an object may return another text.
func (r *run) text(v goja.Value) goja.String {
	switch v := v.(type) {
	case goja.String:
		return v
	case nil, *goja.Symbol:
		return nil
	default:
		if goja.IsNull(v) || goja.IsUndefined(v) {
			return nil
		}
		return toText(v)
	}
}

// toText returns String(v). It throws for symbols.
func toText(v goja.Value) goja.String {
	v = v.ToString()
	if s, ok := v.(goja.String); ok {
		return s
	}
	return asString(v.String()) // goja does not convert numbers
}

// texts replaces this and the arguments at the given places by their texts. It also returns the text of this.
func (r *run) texts(call goja.FunctionCall, places ...int) (goja.FunctionCall, goja.String) {
	s := r.text(call.This)
	if s == nil {
		return call, nil
	}
	call.This = s
	return r.argTexts(call, places...), s
}

func (r *run) argTexts(call goja.FunctionCall, places ...int) goja.FunctionCall {
	args := append([]goja.Value(nil), call.Arguments...)
	for _, i := range places {
		if i < len(args) {
			if s := r.text(args[i]); s != nil {
				args[i] = s
			}
		}
	}
	call.Arguments = args
	return call
}

// number converts the argument at a place to a number, and returns it.
func number(call goja.FunctionCall, at int) (goja.FunctionCall, float64) {
	if at >= len(call.Arguments) {
		return call, 0
	}
	args := append([]goja.Value(nil), call.Arguments...)
	args[at] = args[at].ToNumber()
	call.Arguments = args
	f := args[at].ToFloat()
	if math.IsNaN(f) {
		f = 0
	}
	return call, f
}

// forbidden returns a function that throws; what is the name in the message.
func forbidden(what string) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, _ goja.FunctionCall, _ native) goja.Value {
		panic(r.vm.NewTypeError(what + " is not supported"))
	}
}

func forbiddenArgs(r *run, _ []goja.Value) []goja.Value {
	panic(r.vm.NewTypeError("code from text is not supported"))
}

// applied limits a list of arguments, which is the argument at that place.
func applied(at int) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		if o, ok := call.Argument(at).(*goja.Object); ok {
			list := r.snapshot(o, maxArguments, "a list of arguments")
			args := append([]goja.Value(nil), call.Arguments...)
			args[at] = list
			call.Arguments = args
		}
		return f(call)
	}
}

// maxName is the maximum length of a function's name. goja writes it into the stack of an error once for each call.
const maxName = 1000

// binding guards the function that bind returns, since it calls a native function without a guard of its own. Its name is kept
// short, and cannot be changed.
func binding(r *run, call goja.FunctionCall, f native) goja.Value {
	v := f(call)
	if o, ok := v.(*goja.Object); ok {
		if at, l, ok := insideOf(o); ok && l.callable {
			r.guardFunction(at, l, "")
		}
		if name, ok := o.Get("name").(goja.String); ok {
			name = name.Substring(0, min(maxName, name.Length()))
			_ = o.DefineDataProperty("name", name, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
		}
	}
	return v
}

// unchanged throws for a native function: its name, and the place where the name is looked up, must not change. goja reads the
// name whenever it records the position of an error, also while the call is being stopped. No script may run then, and the
// text must be short.
func (r *run) unchanged(v goja.Value) {
	if o, ok := v.(*goja.Object); ok {
		if _, l, ok := insideOf(o); ok && l.callable {
			panic(r.vm.NewTypeError("a built-in function keeps its name, its properties and its prototype"))
		}
	}
}

// defined is the guard of functions that define the property of their first argument that the second names.
func defined(r *run, call goja.FunctionCall, f native) goja.Value {
	call = r.argTexts(call, 1)
	if name, ok := call.Argument(1).(goja.String); ok && name.Length() == 4 && name.String() == "name" {
		r.unchanged(call.Argument(0))
	}
	return f(call)
}

// allDefined is the guard of Object.defineProperties.
func allDefined(r *run, call goja.FunctionCall, f native) goja.Value {
	if o, ok := call.Argument(1).(*goja.Object); ok && slices.Contains(keysOf(o), "name") {
		r.unchanged(call.Argument(0))
	}
	return described(r, call, f)
}

// deleted is the guard of functions that delete a property of their first argument.
func deleted(r *run, call goja.FunctionCall, f native) goja.Value {
	r.unchanged(call.Argument(0))
	return f(call)
}

// protectName is inserted by source.go around the operand of delete and of with.
func (r *run) protectName(call goja.FunctionCall) goja.Value {
	r.unchanged(call.Argument(0))
	return call.Argument(0)
}

// field is inserted by source.go around the initial value of a field of a class with a superclass, whose constructor may
// return any object. The second argument is that object.
func (r *run) field(call goja.FunctionCall) goja.Value {
	r.unchanged(call.Argument(1))
	return call.Argument(0)
}

// rest is inserted by source.go as the name of the property that checker.restProbe adds. It is called before goja enumerates the
// properties of the object that a pattern with a rest element destructures, and limits them. The object has no name. It is on goja's
// stack, three places before the argument of this call: the value of this and the function are between them.
func (r *run) rest(call goja.FunctionCall) goja.Value {
	name := &call.Arguments[0]
	source := *(*goja.Value)(unsafe.Add(unsafe.Pointer(name), -3*int(unsafe.Sizeof(*name))))
	if o, ok := source.(*goja.Object); ok {
		if at, l, ok := insideOf(o); ok && l.wraps {
			source = *(*goja.Value)(unsafe.Add(at, l.wrapped))
			return enumerated(r, goja.FunctionCall{Arguments: []goja.Value{source}}, func(goja.FunctionCall) goja.Value { return *name })
		}
	}
	panic("goja's stack is not as expected")
}

// keysOf returns the names of an object's own properties.
func keysOf(o *goja.Object) []string {
	arrange(o)
	return o.Keys()
}

// arrange sorts the names of an object's properties into the order in which they are listed: numbers first, by size. goja
// would do this too, but inserts each number separately, which takes quadratic time.
func arrange(o *goja.Object) {
	at, l, ok := insideOf(o)
	if !ok || !l.named {
		return
	}
	names, sorted := (*[]unistring.String)(unsafe.Add(at, l.names)), (*int)(unsafe.Add(at, l.sorted))
	if len(*names)-*sorted < 1000 {
		return
	}
	type number struct {
		value uint64
		name  unistring.String
	}
	var numbers []number
	others := make([]unistring.String, 0, len(*names))
	for _, name := range *names {
		n, err := strconv.ParseUint(string(name), 10, 32)
		if err != nil || n == math.MaxUint32 || len(name) > 1 && (name[0] == '0' || name[0] == '+') {
			others = append(others, name)
			continue
		}
		numbers = append(numbers, number{n, name})
	}
	slices.SortFunc(numbers, func(a, b number) int { return cmp.Compare(a.value, b.value) })
	arranged := make([]unistring.String, 0, len(*names)) // a new slice: other objects may share the old one
	for _, n := range numbers {
		arranged = append(arranged, n.name)
	}
	*names = append(arranged, others...)
	*sorted, *(*int)(unsafe.Add(at, l.numbers)) = len(*names), len(numbers)
}

// names arranges an object's properties, and returns how many characters their names have together: goja reads a whole name at
// each lookup, and names may be parts of one long text.
func names(o *goja.Object) (characters float64) {
	arrange(o)
	if at, l, ok := insideOf(o); ok && l.named {
		for _, name := range *(*[]unistring.String)(unsafe.Add(at, l.names)) {
			characters += float64(len(name))
		}
	}
	return characters
}

// enumerated limits functions that visit all properties of their arguments in one step, at about 100 ns each. It refuses texts
// that would be converted to objects with a property for each character.
func enumerated(r *run, call goja.FunctionCall, f native) goja.Value {
	return r.enumerate(call, f, elementSize)
}

// values is the guard of Object.values. It reads the values of a view itself: goja would look up each key twice.
func values(r *run, call goja.FunctionCall, f native) goja.Value {
	return enumerated(r, call, func(call goja.FunctionCall) goja.Value {
		o, ok := call.Argument(0).(*goja.Object)
		if !ok || o.ExportType() != typeMapView {
			return f(call)
		}
		m := o.Export().(*mapView)
		keys := m.Keys()
		list := make([]any, len(keys))
		for i, key := range keys {
			list[i] = m.Get(key)
		}
		return r.vm.NewArray(list...)
	})
}

// listedInFull is like enumerated, for functions that make an object of each property.
func listedInFull(each float64) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value { return r.enumerate(call, f, each) }
}

// characterSize is the memory of a character as a property of an object, in bytes.
const characterSize = 128

// enumerate calls f unless the properties of its arguments are too many; each property counts that many bytes.
func (r *run) enumerate(call goja.FunctionCall, f native, each float64) goja.Value {
	total, characters := float64(0), float64(0)
	for _, v := range call.Arguments {
		if s, ok := v.(goja.String); ok {
			total += size(s) * characterSize
			r.need(total, "an object of a text's characters")
		}
		o, ok := v.(*goja.Object)
		if !ok {
			continue
		}
		if o.ClassName() == "String" {
			total += o.Get("length").ToFloat() * characterSize
			r.need(total, "an object of a text's characters")
		}
		characters += names(o)
		r.product(characters)
		total += properties(o) * each
		r.need(total, "a list of properties")
	}
	return f(call)
}

// properties returns how many own properties an object has.
func properties(o *goja.Object) (n float64) {
	if o.ExportType() == typeMapView {
		return float64(len(o.Export().(*mapView).Keys()))
	}
	if kindOfObject(o) == "an array" {
		n = o.Get("length").ToFloat()
		if n > maxArguments { // it may have holes
			n = float64(len(o.Keys()))
		}
	}
	at, l, ok := insideOf(o)
	if ok && l.named {
		n += float64(len(*(*[]unistring.String)(unsafe.Add(at, l.names))))
	}
	if ok && l.hasValues && pointerAt(at, l.symbols) != nil {
		for entry := pointerAt(pointerAt(at, l.symbols), symbolsFirst); entry != nil; entry = pointerAt(entry, symbolNext) {
			n++
		}
	}
	return n
}

// limitProperties is inserted by source.go around what is spread in an object literal, and around the object of for…in.
func (r *run) limitProperties(call goja.FunctionCall) goja.Value {
	if o, ok := call.Argument(0).(*goja.Object); ok {
		characters := float64(0)
		for o = o.Prototype(); o != nil; o = o.Prototype() { // for…in lists their names too
			characters += names(o)
			r.product(characters)
		}
	}
	return enumerated(r, call, func(c goja.FunctionCall) goja.Value { return c.Argument(0) })
}

// inherited is the guard of functions whose second argument becomes the prototype of the first.
func inherited(r *run, call goja.FunctionCall, f native) goja.Value {
	r.unchanged(call.Argument(0))
	r.chain(call.Argument(1))
	return f(call)
}

// inheritedByName is the guard of the getter and setter of __proto__.
func inheritedByName(r *run, call goja.FunctionCall, f native) goja.Value {
	if len(call.Arguments) > 0 {
		r.unchanged(call.This)
	}
	r.chain(call.Argument(0))
	return f(call)
}

// described is the guard of functions whose second argument describes properties: goja lists all descriptions before it
// defines the first.
func described(r *run, call goja.FunctionCall, f native) goja.Value {
	if o, ok := call.Argument(1).(*goja.Object); ok {
		r.need(properties(o)*descriptionSize, "a list of property descriptions")
	}
	return enumerated(r, call, f)
}

// created is the guard of Object.create.
func created(r *run, call goja.FunctionCall, f native) goja.Value {
	r.chain(call.Argument(0))
	return described(r, call, f)
}

// limitPrototypes is inserted by source.go around the superclass of a class, and around __proto__ in a literal.
func (r *run) limitPrototypes(call goja.FunctionCall) goja.Value {
	r.chain(call.Argument(0))
	return call.Argument(0)
}

func (r *run) chain(v goja.Value) {
	o, _ := v.(*goja.Object)
	for n := 0; o != nil; n++ {
		if n > maxProtos {
			r.refuse(&engine.Error{
				Kind: engine.KindStack, Msg: fmt.Sprintf("an object has more than %d prototypes behind it", maxProtos),
			})
		}
		o = o.Prototype()
	}
}

// iterated guards the iterator that a function makes: no template has its next. path is the path of its prototype.
func iterated(path string) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		if o, ok := call.This.(*goja.Object); ok && kindOfObject(o) != "an array" {
			r.lengthOf(o, "an iterator")
		}
		v := f(call)
		r.sweepIterator(v, path)
		return v
	}
}

func (r *run) sweepIterator(v goja.Value, path string) {
	if o, ok := v.(*goja.Object); ok {
		r.sweep(o.Prototype(), path)
	}
}

// ofSets limits the texts in two sets: goja reads all of them again, and they may be parts of one long text.
func ofSets(r *run, call goja.FunctionCall, f native) goja.Value {
	r.product(textsIn(call.This) + textsIn(call.Argument(0)))
	return f(call)
}

// textsIn returns how many characters the texts among the keys of a Map or a Set have.
func textsIn(v goja.Value) (sum float64) {
	o, ok := v.(*goja.Object)
	if !ok {
		return 0
	}
	at, l, ok := insideOf(o)
	if !ok || !l.collects {
		return 0
	}
	for entry := pointerAt(pointerAt(at, l.entries), symbolsFirst); entry != nil; entry = pointerAt(entry, symbolNext) {
		if s, ok := (*(*goja.Value)(unsafe.Add(entry, symbolKey))).(goja.String); ok {
			sum += float64(s.Length())
		}
	}
	return sum
}

// ofNumbers limits the texts among arguments that are converted to numbers.
func ofNumbers(r *run, call goja.FunctionCall, f native) goja.Value {
	numberArgs(r, call.Arguments)
	return f(call)
}

func numberArgs(r *run, args []goja.Value) []goja.Value {
	total := 0
	for _, v := range args {
		if s, ok := v.(goja.String); ok {
			total += s.Length()
		}
	}
	r.need(float64(total)*64, "the conversion of a text")
	return args
}

// limitOperand is inserted by source.go around the parts of expressions that combine several values.
func (r *run) limitOperand(call goja.FunctionCall) goja.Value {
	r.weighParts(call.Arguments[0], 1)
	return call.Arguments[0]
}

// spread is inserted by source.go around what is spread in the arguments of a call. The second argument is how many of them
// are spread.
func (r *run) spread(call goja.FunctionCall) goja.Value {
	r.weighParts(call.Arguments[0], call.Argument(1).ToFloat())
	return call.Arguments[0]
}

func (r *run) weighParts(v goja.Value, times float64) {
	switch v := v.(type) {
	case goja.String:
		if v.Length() > 1<<16 {
			r.needText(size(v)*times, "the text")
		}
	case *goja.Object:
		if v.ClassName() == "Array" {
			r.need(float64(r.lengthOf(v, "the array"))*elementSize*times, "the array")
		}
	}
}

// syntaxFunctions returns the functions that source.go inserts, in the order in which wrap names them. They are made once for
// a run, if a file uses them.
func (r *run) syntaxFunctions(used bool) []goja.Value {
	if used && r.syntax == nil {
		for _, f := range []native{r.limitProperties, r.limitPrototypes, r.limitOperand, r.spread, r.protectName, r.field, r.rest, r.literal} {
			r.syntax = append(r.syntax, r.vm.ToValue(f))
		}
	}
	if !used {
		return nil
	}
	return r.syntax
}

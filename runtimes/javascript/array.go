package javascript

import (
	"math"
	goruntime "runtime"
	"strconv"

	"github.com/dop251/goja"
)

// Guards of functions that visit the elements of arrays and array-like objects.

// lengthOf returns the length of an array or array-like object, and refuses it if it is too long.
func (r *run) lengthOf(o *goja.Object, what string) int {
	if n, ok := arrayLength(headerOf(o)); ok {
		r.need(float64(n)*elementSize, what)
		return n
	}
	v := o.Get("length")
	if v == nil {
		return 0
	}
	n := v.ToNumber().ToFloat()
	r.need(n*elementSize, what)
	if !(n > 0) { // NaN too
		return 0
	}
	return int(n)
}

// snapshot returns an array with the elements of o, at most that many; a real array is returned itself.
func (r *run) snapshot(o *goja.Object, most int, what string) *goja.Object {
	n := r.lengthOf(o, what)
	if n > most {
		r.need(math.Inf(1), what)
	}
	if kindOfObject(o) == "an array" {
		return o
	}
	values := make([]any, n)
	for i := range values {
		r.check()
		values[i] = element(o, i)
	}
	return r.vm.NewArray(values...)
}

// objectOf returns the object to which goja converts the receiver of a method, or an array-like argument: even a number may
// have a length, by its prototype. It is nil for null and undefined, for which goja throws.
func (r *run) objectOf(v goja.Value) *goja.Object {
	if v == nil || goja.IsNull(v) || goja.IsUndefined(v) {
		return nil
	}
	return v.ToObject(r.vm)
}

func element(o *goja.Object, i int) goja.Value {
	if v := o.Get(strconv.Itoa(i)); v != nil {
		return v
	}
	return goja.Undefined()
}

// listed is the guard of methods that read; their receiver may be any array-like object.
func listed(r *run, call goja.FunctionCall, f native) goja.Value {
	switch this := call.This.(type) {
	case *goja.Object:
		call.This = r.snapshot(this, math.MaxInt, "the array")
	case goja.String:
		r.need(size(this)*2*elementSize, "an array of a text's characters")
	default:
		if o := r.objectOf(this); o != nil {
			call.This = r.snapshot(o, math.MaxInt, "the array")
		}
	}
	return f(call)
}

// changed is the guard of methods that change their receiver. An array-like object, such as arguments, is changed through a
// copy, since its length may be another at each read.
func changed(r *run, call goja.FunctionCall, f native) goja.Value {
	o := r.objectOf(call.This)
	if o == nil {
		return f(call)
	}
	list := r.snapshot(o, math.MaxInt, "the array")
	if list == o {
		return f(call)
	}
	before := r.lengthOf(list, "the array")
	call.This = list
	v := f(call)
	after := r.lengthOf(list, "the array")
	for i := range max(before, after) {
		r.check()
		var err error
		if i < after {
			err = o.Set(strconv.Itoa(i), element(list, i))
		} else {
			err = o.Delete(strconv.Itoa(i))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := o.Set("length", after); err != nil {
		panic(err)
	}
	if v == list {
		return o
	}
	return v
}

func newArray(r *run, call goja.FunctionCall, f native) goja.Value {
	call.Arguments = arrayArgs(r, call.Arguments)
	return f(call)
}

func arrayArgs(r *run, args []goja.Value) []goja.Value {
	if len(args) == 1 && kind(args[0]) == "a number" {
		r.need(args[0].ToFloat()*elementSize, "the array")
	}
	return args
}

func arrayFrom(r *run, call goja.FunctionCall, f native) goja.Value {
	switch from := call.Argument(0).(type) {
	case *goja.Object:
		args := append([]goja.Value(nil), call.Arguments...)
		if iterate, ok := goja.AssertFunction(from.GetSymbol(goja.SymIterator)); ok && kindOfObject(from) != "an array" {
			args[0] = r.iterable(from, iterate)
		} else {
			args[0] = r.snapshot(from, math.MaxInt, "the array")
		}
		call.Arguments = args
	case goja.String:
		r.need(size(from)*2*elementSize, "an array of a text's characters")
	default:
		if o := r.objectOf(from); o != nil {
			call.Arguments = append([]goja.Value{o}, call.Arguments[1:]...)
			return arrayFrom(r, call, f)
		}
	}
	return f(call)
}

// iterable wraps an object and the method that returns its iterator. goja would read that method again, and might get another
// one, or none.
func (r *run) iterable(o *goja.Object, iterate goja.Callable) *goja.Object {
	stand := r.vm.NewObject()
	_ = stand.SetSymbol(goja.SymIterator, func(goja.FunctionCall) goja.Value {
		iterator, err := iterate(o)
		if err != nil {
			panic(err)
		}
		return iterator
	})
	return stand
}

// setArgs makes a set read an array through an iterator, which can be stopped: goja would read it in one step, and hash all
// its texts.
func setArgs(r *run, args []goja.Value) []goja.Value {
	if len(args) == 0 {
		return args
	}
	o, ok := args[0].(*goja.Object)
	if !ok || kindOfObject(o) != "an array" || r.lengthOf(o, "the array") < 16 {
		return args
	}
	iterate, ok := goja.AssertFunction(o.GetSymbol(goja.SymIterator))
	if !ok {
		return args
	}
	return append([]goja.Value{r.iterable(o, iterate)}, args[1:]...)
}

func concatenatedLists(r *run, call goja.FunctionCall, f native) goja.Value {
	args := append([]goja.Value{call.This}, call.Arguments...)
	if o := r.objectOf(call.This); o != nil {
		args[0] = o
	}
	total := float64(0)
	for i, v := range args {
		o, ok := v.(*goja.Object)
		if !ok {
			continue
		}
		if kindOfObject(o) != "an array" {
			if spread := o.GetSymbol(goja.SymIsConcatSpreadable); spread != nil && spread.ToBoolean() {
				o = r.snapshot(o, math.MaxInt, "the array")
			} else {
				o = r.vm.NewArray(o) // a getter might return another value when goja reads it again
			}
			args[i] = o
		}
		total += float64(r.lengthOf(o, "the array"))
		r.need(total*elementSize, "the concatenation of arrays")
	}
	call.This, call.Arguments = args[0], args[1:]
	return f(call)
}

// joined implements Array.prototype.join, and counts.
func joined(r *run, call goja.FunctionCall, f native) goja.Value {
	o := r.objectOf(call.This)
	if o == nil {
		return f(call) // throws
	}
	sep := asString(",")
	if v := call.Argument(0); !goja.IsUndefined(v) {
		sep = r.textOrThrow(v)
	}
	return r.join(o, sep, r.textOrThrow)
}

// localJoined implements Array.prototype.toLocaleString, and counts. It calls the method of that name of each element.
func localJoined(r *run, call goja.FunctionCall, f native) goja.Value {
	o := r.objectOf(call.This)
	if o == nil {
		return f(call) // throws
	}
	return r.join(o, asString(","), func(v goja.Value) goja.String {
		method, ok := goja.AssertFunction(r.objectOf(v).Get("toLocaleString"))
		if !ok {
			panic(r.vm.NewTypeError("an element has no method toLocaleString"))
		}
		made, err := method(v, call.Arguments...)
		if err != nil {
			panic(err)
		}
		return r.textOrThrow(made)
	})
}

// join returns the texts of the elements of an array, except null and undefined.
func (r *run) join(o *goja.Object, sep goja.String, text func(goja.Value) goja.String) goja.Value {
	if r.joining[o] {
		return asString("") // an array that contains itself is left out
	}
	if r.joining == nil {
		r.joining = map[*goja.Object]bool{}
	}
	r.joining[o] = true
	defer delete(r.joining, o)

	w := textWriter{r: r, what: "the text of an array"}
	for i := range r.lengthOf(o, "the array") {
		if i > 0 {
			w.write(sep)
		}
		if v := o.Get(strconv.Itoa(i)); v != nil && !goja.IsNull(v) && !goja.IsUndefined(v) {
			w.write(text(v))
		}
	}
	return w.b.String()
}

// textOrThrow converts like String(v), but throws for symbols.
func (r *run) textOrThrow(v goja.Value) goja.String {
	if _, ok := v.(*goja.Symbol); ok {
		panic(r.vm.NewTypeError("Cannot convert a Symbol value to a string"))
	}
	return toText(v)
}

// flattened implements Array.prototype.flat, and counts: an array that contains itself, or the same array many times, has no
// end.
func flattened(r *run, call goja.FunctionCall, f native) goja.Value {
	o := r.objectOf(call.This)
	if o == nil {
		return f(call)
	}
	depth := 1.0
	if v := call.Argument(0); !goja.IsUndefined(v) {
		depth = v.ToNumber().ToFloat()
	}
	var values []any
	r.flatten(&values, o, depth)
	return r.vm.NewArray(values...)
}

func (r *run) flatten(values *[]any, o *goja.Object, depth float64) {
	r.begin()
	defer r.end()
	for i := range r.lengthOf(o, "the array") {
		v := o.Get(strconv.Itoa(i))
		if v == nil {
			continue
		}
		if inner, ok := v.(*goja.Object); ok && depth >= 1 && kindOfObject(inner) == "an array" {
			r.flatten(values, inner, depth-1)
			continue
		}
		r.check()
		*values = append(*values, v)
		r.need(float64(len(*values))*2*elementSize, "the flat array")
	}
}

func flatMapped(r *run, call goja.FunctionCall, f native) goja.Value {
	if fn, ok := goja.AssertFunction(call.Argument(0)); ok {
		args, total := append([]goja.Value(nil), call.Arguments...), 0
		args[0] = r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			v, err := fn(c.This, c.Arguments...)
			if err != nil {
				panic(err)
			}
			if o, ok := v.(*goja.Object); ok && kindOfObject(o) == "an array" {
				total += r.lengthOf(o, "the array")
				r.need(float64(total)*elementSize, "the flat array")
			}
			return v
		})
		call.Arguments = args
	}
	return listed(r, call, f)
}

// found limits the comparisons of a search for a long text.
func found(r *run, call goja.FunctionCall, f native) goja.Value {
	if o, ok := call.This.(*goja.Object); ok {
		if what, ok := call.Argument(0).(goja.String); ok {
			r.product(float64(r.lengthOf(o, "the array")) * float64(what.Length()))
		}
	}
	return listed(r, call, f)
}

// included is the guard of includes. goja does not find -0.
func included(r *run, call goja.FunctionCall, f native) goja.Value {
	what, o := call.Argument(0), r.objectOf(call.This)
	if _, object := what.(*goja.Object); object || o == nil || kind(what) != "a number" || what.ToFloat() != 0 {
		return found(r, call, f)
	}
	list := r.snapshot(o, math.MaxInt, "the array")
	n := r.lengthOf(list, "the array")
	_, from := number(call, 1)
	if from = math.Trunc(from); from < 0 {
		from = max(0, from+float64(n))
	}
	for i := int(min(from, float64(n))); i < n; i++ {
		r.check()
		if element(list, i).StrictEquals(what) {
			return r.vm.ToValue(true)
		}
	}
	return r.vm.ToValue(false)
}

// sorted passes the default order as a function, so that sorting can be stopped. Then it calls next.
func sorted(next func(*run, goja.FunctionCall, native) goja.Value) func(*run, goja.FunctionCall, native) goja.Value {
	return func(r *run, call goja.FunctionCall, f native) goja.Value {
		if len(call.Arguments) == 0 || goja.IsUndefined(call.Arguments[0]) {
			if r.order == nil {
				r.order = r.vm.ToValue(r.byText)
			}
			call.Arguments = []goja.Value{r.order}
		}
		defer func() {
			// goja panics if the array became shorter while it was sorted.
			if x := recover(); x != nil {
				if _, ok := x.(goruntime.Error); ok {
					panic(r.vm.NewTypeError("the array was changed while it was sorted"))
				}
				panic(x)
			}
		}()
		return next(r, call, f)
	}
}

func (r *run) byText(call goja.FunctionCall) goja.Value {
	r.check()
	a, b := r.text(call.Argument(0)), r.text(call.Argument(1))
	if a == nil || b == nil { // null, as a text; goja sorts undefined by itself
		a, b = asString(call.Argument(0).String()), asString(call.Argument(1).String())
	}
	return r.vm.ToValue(a.CompareTo(b))
}

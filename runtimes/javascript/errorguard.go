package javascript

import (
	"fmt"
	"unsafe"

	"github.com/dop251/goja"
)

// Guards of functions that make errors, or text from errors.

// errorText implements Error.prototype.toString, which works for any object.
func errorText(r *run, call goja.FunctionCall, f native) goja.Value {
	o, ok := call.This.(*goja.Object)
	if !ok {
		return f(call)
	}
	w := textWriter{r: r, what: "the text of an error"}
	r.writeError(&w, o)
	return w.b.String()
}

func (r *run) writeError(w *textWriter, o *goja.Object) {
	name, message := asString("Error"), asString("")
	if v := orUndefined(o.Get("name")); !goja.IsUndefined(v) {
		name = r.textOrThrow(v)
	}
	if v := orUndefined(o.Get("message")); !goja.IsUndefined(v) {
		message = r.textOrThrow(v)
	}
	w.write(name)
	if name.Length() > 0 && message.Length() > 0 {
		w.write(asString(": "))
	}
	w.write(message)
}

func orUndefined(v goja.Value) goja.Value {
	if v == nil {
		return goja.Undefined()
	}
	return v
}

// maxFrames is the maximum number of calls in the stack of an error that a script reads.
const maxFrames = 100

// limitStack makes stackText return the stack of an error. goja's own text would have the name and the message of the error, and a
// line for each nested call, and so may be very long.
func (r *run) limitStack(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok {
		return
	}
	at, l, ok := insideOf(o)
	if !ok || !l.fails {
		return
	}
	if r.stack.get == nil {
		r.stack.get, r.stack.set = r.vm.ToValue(r.stackText), r.vm.ToValue(r.setStack)
	}
	*(*bool)(unsafe.Add(at, l.stacked)) = true
	_ = o.DefineAccessorProperty("stack", r.stack.get, r.stack.set, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// stackText implements the getter of stack, for an error or an object that has an error as a prototype.
func (r *run) stackText(call goja.FunctionCall) goja.Value {
	o, _ := call.This.(*goja.Object)
	for ; o != nil; o = o.Prototype() {
		at, l, ok := insideOf(o)
		if !ok || !l.fails {
			continue
		}
		w := textWriter{r: r, what: "the stack of an error"}
		r.writeError(&w, o)
		w.write(asString("\n"))
		for i, frame := range *(*[]goja.StackFrame)(unsafe.Add(at, l.frames)) {
			if i == maxFrames {
				w.write(asString("\t...\n"))
				break
			}
			w.write(asString(frameText(frame)))
		}
		return w.b.String()
	}
	return goja.Undefined()
}

func frameText(frame goja.StackFrame) string {
	name, at := frame.FuncName(), frame.Position()
	if at.Line == 0 {
		return fmt.Sprintf("\tat %.100s (native)\n", name)
	}
	return fmt.Sprintf("\tat %.100s (%s:%d:%d)\n", name, at.Filename, at.Line, at.Column)
}

func (r *run) setStack(call goja.FunctionCall) goja.Value {
	if o, ok := call.This.(*goja.Object); ok {
		_ = o.DefineDataProperty("stack", call.Argument(0), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	return goja.Undefined()
}

// promiseAnyScript implements Promise.any.
var promiseAnyScript = goja.MustCompile("", `(function any(promises) {
	return new this((resolve, reject) => {
		const errors = []
		let left = 1
		const failed = () => { if (--left === 0) reject(new AggregateError(errors)) }
		let i = 0
		for (const promise of promises) {
			const at = i++
			left++
			errors.push(undefined)
			this.resolve(promise).then(resolve, error => { errors[at] = error; failed() })
		}
		failed()
	})
})`, true)

// promiseAny replaces goja's Promise.any, which makes its error without calling a guard.
func promiseAny(r *run, call goja.FunctionCall, _ native) goja.Value {
	if r.any == nil {
		r.any, _ = goja.AssertFunction(r.sample(promiseAnyScript))
	}
	v, err := r.any(call.This, call.Arguments...)
	if err != nil {
		panic(err)
	}
	return v
}

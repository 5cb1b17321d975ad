package javascript

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// Functions of JavaScript and Node.js that goja lacks. They are written in JavaScript, so that they can be stopped like a script, and use
// no more than a script can. A script evaluates to a function that gets the function kind of this package.
var provided = map[string]*goja.Program{
	"structuredClone": goja.MustCompile("", `(kind => {
	const {keys, defineProperty, hasOwn} = Object, copies = {TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError}
	const refuse = what => { const e = new Error(what + ' could not be cloned'); e.name = 'DataCloneError'; e.code = 25; throw e }
	return function structuredClone(value) {
		if (arguments.length === 0) throw new TypeError('structuredClone needs a value')
		const seen = new Map()
		const remember = (v, copy) => { seen.set(v, copy); return copy }
		const fill = (v, copy) => {
			for (const key of keys(v)) defineProperty(copy, key, {value: clone(v[key]), writable: true, enumerable: true, configurable: true})
			return copy
		}
		const clone = v => {
			if (typeof v === 'symbol') refuse('a Symbol')
			if (typeof v === 'function') refuse('a function')
			if (typeof v !== 'object' || v === null) return v
			if (seen.has(v)) return seen.get(v)
			const what = v instanceof WeakMap || v instanceof WeakSet ? 'a weak collection' : kind(v)
			switch (what) {
			case 'a number': return v
			case 'an array': {
				const copy = remember(v, [])
				copy.length = v.length
				return fill(v, copy)
			}
			case 'an object': return fill(v, remember(v, {}))
			case 'a Date': return remember(v, new Date(v.getTime()))
			case 'a RegExp': return remember(v, new RegExp(v.source, v.flags))
			case 'a Number': case 'a String': case 'a Boolean': return remember(v, Object(v.valueOf()))
			case 'a Map': {
				const copy = remember(v, new Map())
				for (const [key, item] of v) copy.set(clone(key), clone(item))
				return copy
			}
			case 'a Set': {
				const copy = remember(v, new Set())
				for (const item of v) copy.add(clone(item))
				return copy
			}
			case 'an Error': {
				const copy = remember(v, new (copies[v.name] ?? Error)(v.message))
				if (hasOwn(v, 'cause')) defineProperty(copy, 'cause', {value: clone(v.cause), writable: true, configurable: true})
				return copy
			}
			}
			refuse(what)
		}
		return clone(value)
	}
})`, true),
	"Object.groupBy": goja.MustCompile("", `(() => {
	const {create} = Object
	return function groupBy(items, callback) {
		if (items == null) throw new TypeError('Object.groupBy needs something to go through')
		if (typeof callback !== 'function') throw new TypeError('Object.groupBy needs a function')
		const groups = create(null)
		let i = 0
		for (const item of items) {
			let key = callback(item, i++)
			if (typeof key !== 'symbol') key = String(key)
			if (key in groups) groups[key][groups[key].length] = item
			else groups[key] = [item]
		}
		return groups
	}
})`, true),
	"String.prototype.isWellFormed": goja.MustCompile("", `(() => function isWellFormed() {
	if (this == null) throw new TypeError('isWellFormed needs a text')
	for (const c of String(this)) if (c.length === 1 && c >= '\ud800' && c <= '\udfff') return false
	return true
})`, true),
	"String.prototype.toWellFormed": goja.MustCompile("", `(() => function toWellFormed() {
	if (this == null) throw new TypeError('toWellFormed needs a text')
	const parts = []
	for (const c of String(this)) parts[parts.length] = c.length === 1 && c >= '\ud800' && c <= '\udfff' ? '\ufffd' : c
	return parts.join('')
})`, true),
}

// provide adds the functions of an object to its template. path is the path of the object.
func provide(tmpl reflect.Value, path string) {
	props, names := templateField(tmpl, "props"), templateField(tmpl, "propNames")
	for _, of := range slices.Sorted(maps.Keys(provided)) {
		name := of[strings.LastIndexByte(of, '.')+1:]
		if joinPath(path, name) != of {
			continue
		}
		make := func(vm *goja.Runtime) goja.Value { return newProvided(vm, provided[of]) }
		props.SetMapIndex(reflect.ValueOf(unistring.String(name)), reflect.ValueOf(make).Convert(props.Type().Elem()))
		names.Set(reflect.Append(names, reflect.ValueOf(unistring.String(name))))
	}
}

// methodProperty makes a property of a native function, which is not listed in loops. It is set by learn.
var methodProperty factory

// newProvided makes the property of a function.
func newProvided(vm *goja.Runtime, program *goja.Program) goja.Value {
	make, _ := goja.AssertFunction(mustValue(vm.RunProgram(program)))
	f := mustValue(make(nil, vm.ToValue(func(call goja.FunctionCall) goja.Value {
		if o, ok := call.Argument(0).(*goja.Object); ok && iterates(o) {
			return asString("an iterator")
		}
		return asString(kind(call.Argument(0)))
	})))
	v := methodProperty(vm)
	*(*goja.Value)(unsafe.Add(reflect.ValueOf(v).UnsafePointer(), valueOffset)) = f
	return v
}

// iterates reports whether o is an iterator or a generator of goja.
func iterates(o *goja.Object) bool {
	_, t := innerOf(o)
	name := strings.ToLower(t.String())
	return strings.Contains(name, "iter") || strings.Contains(name, "generator")
}

func mustValue(v goja.Value, err error) goja.Value {
	if err != nil {
		panic(err)
	}
	return v
}

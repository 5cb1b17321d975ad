package javascript

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
)

// This file makes loops over arrays cheaper. For each step of a loop, goja calls the method next of the array's iterator, which makes an
// object {value, done} with a map of properties: 500 bytes, which are garbage as soon as goja has read them.

// layouts are where goja keeps what this file reads; see learnIteration.
var layouts struct {
	iterator, array, object, view uintptr // the interface tables of the structs behind objects of these kinds; the last two are dynamic

	list, index, kind uintptr // fields of an iterator
	values, length    uintptr // fields of an array
	ofValues          int     // the kind of iterators of values

	machine, program uintptr // fields of the runtime and of its machine
}

// learnIteration finds the layouts.
func learnIteration(vm *goja.Runtime) {
	v, err := vm.RunString("[1][Symbol.iterator]()")
	if err != nil {
		panic(err)
	}
	l := &layouts
	iterator, array := v.(*goja.Object), vm.NewArray(1)
	_, ofIterator := innerOf(iterator)
	_, ofArray := innerOf(array)
	field := func(t reflect.Type, name string, want reflect.Type) uintptr {
		at, ok := offset(t.Elem(), name, want)
		if !ok {
			panic(fmt.Sprintf("%s has no field %s as expected", t, name))
		}
		return at
	}
	l.iterator, l.array = headerOf(iterator).table, headerOf(array).table
	l.list = field(ofIterator, "obj", reflect.TypeFor[*goja.Object]())
	l.index = field(ofIterator, "nextIdx", reflect.TypeFor[int64]())
	l.kind = field(ofIterator, "kind", nil)
	if f, _ := ofIterator.Elem().FieldByName("kind"); f.Type.Kind() != reflect.Int {
		panic("the kind of an iterator is no int")
	}
	l.ofValues = *(*int)(unsafe.Add(headerOf(iterator).data, l.kind))
	l.values = field(ofArray, "values", reflect.TypeFor[[]goja.Value]())
	l.length = field(ofArray, "length", reflect.TypeFor[uint32]())

	machine := mustField(reflect.TypeFor[goja.Runtime](), "vm", nil)
	program := mustField(machine.Type.Elem(), "prg", reflect.TypeFor[*goja.Program]())
	l.machine, l.program = machine.Offset, program.Offset
}

// inSyntax reports whether a native function that was just called was called by syntax, such as a loop: a call by a script or by another
// native function makes the machine forget its program until it returns.
func (r *run) inSyntax() bool {
	return pointerAt(pointerAt(unsafe.Pointer(r.vm), layouts.machine), layouts.program) != nil
}

// nextElement is the guard of the method next of the iterators of arrays. If syntax calls it, which reads the result and forgets it,
// the result is a smaller object.
func nextElement(r *run, call goja.FunctionCall, f native) goja.Value {
	if o, ok := call.This.(*goja.Object); ok && r.inSyntax() {
		if v := advance(headerOf(o)); v != nil {
			step := r.steps.next()
			step.r, step.value = r, v
			r.becomeObject(&step.object, &step.inner, step)
			return &step.object
		}
	}
	return f(call)
}

// advance returns the next value of an iterator, or nil without a change if goja is to do that.
func advance(iterator *header) goja.Value {
	if iterator.table != layouts.iterator || *(*int)(unsafe.Add(iterator.data, layouts.kind)) != layouts.ofValues {
		return nil
	}
	list := (*goja.Object)(pointerAt(iterator.data, layouts.list))
	if list == nil { // it has ended
		return nil
	}
	index := (*int64)(unsafe.Add(iterator.data, layouts.index))
	v := elementOf(headerOf(list), *index)
	if v != nil {
		*index++
	}
	return v
}

// elementOf returns an element of an array, or nil if there is none, or if it is not a simple one.
func elementOf(array *header, i int64) goja.Value {
	switch array.table {
	case layouts.array:
		values := *(*[]goja.Value)(unsafe.Add(array.data, layouts.values))
		length := *(*uint32)(unsafe.Add(array.data, layouts.length))
		if i >= int64(len(values)) || i >= int64(length) || reflect.TypeOf(values[i]) == propertyType {
			return nil
		}
		return values[i]
	case layouts.view:
		if view, ok := (*dynamic[goja.DynamicArray])(array.data).d.(*listView); ok {
			return view.Get(int(i))
		}
	}
	return nil
}

// arrayLength returns the length of an array, and whether it is one.
func arrayLength(array *header) (n int, ok bool) {
	switch array.table {
	case layouts.array:
		return int(*(*uint32)(unsafe.Add(array.data, layouts.length))), true
	case layouts.view:
		if view, ok := (*dynamic[goja.DynamicArray])(array.data).d.(*listView); ok {
			return view.n, true
		}
	}
	return 0, false
}

// An iteration is a result of an iterator that has not ended.
type iteration struct {
	object goja.Object
	inner  dynamic[goja.DynamicObject]
	r      *run
	value  goja.Value
}

// Get implements [goja.DynamicObject].
func (s *iteration) Get(key string) goja.Value {
	switch key {
	case "done":
		return s.r.vm.ToValue(false)
	case "value":
		return s.value
	}
	return nil
}

// Has implements [goja.DynamicObject].
func (s *iteration) Has(key string) bool { return key == "done" || key == "value" }

// Set implements [goja.DynamicObject].
func (s *iteration) Set(string, goja.Value) bool { return false }

// Delete implements [goja.DynamicObject].
func (s *iteration) Delete(string) bool { return false }

// Keys implements [goja.DynamicObject].
func (s *iteration) Keys() []string { return []string{"value", "done"} }

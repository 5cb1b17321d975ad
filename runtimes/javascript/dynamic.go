package javascript

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
)

// This file makes the objects and the texts of views with fewer allocations than goja. A call that reads some fields of many objects
// spends most of its time on them: for each view, goja would allocate an object and another struct in addition to the view. Like
// hook.go, this depends on the layout of unexported structs, which is verified before the first script is compiled.

// A dynamic has the layout of goja's struct for a dynamic object or array, whose interface D is.
type dynamic[D any] struct {
	val, prototype *goja.Object
	d              D
}

// A header has the layout of goja.Object: an interface value, whose table never moves, and the machine.
type header struct {
	table   uintptr
	data    unsafe.Pointer
	runtime *goja.Runtime
}

func headerOf(o *goja.Object) *header { return (*header)(unsafe.Pointer(o)) }

// viewState is what a run needs to make views.
type viewState struct {
	objects, arrays *goja.Object // the prototypes of objects and arrays; nil until needed
	mapViews        slab[mapView]
	listViews       slab[listView]
	steps           slab[iteration]
}

// becomeObject makes o the object of d. inner is memory for the struct that goja needs for it.
func (r *run) becomeObject(o *goja.Object, inner *dynamic[goja.DynamicObject], d goja.DynamicObject) {
	if r.objects == nil {
		r.objects = r.vm.NewDynamicObject(nil).Prototype()
	}
	h := headerOf(o)
	h.table, h.data, h.runtime = layouts.object, unsafe.Pointer(inner), r.vm
	inner.val, inner.prototype, inner.d = o, r.objects, d
}

// becomeArray is becomeObject for arrays.
func (r *run) becomeArray(o *goja.Object, inner *dynamic[goja.DynamicArray], d goja.DynamicArray) {
	if r.arrays == nil {
		r.arrays = r.vm.NewDynamicArray(nil).Prototype()
	}
	h := headerOf(o)
	h.table, h.data, h.runtime = layouts.view, unsafe.Pointer(inner), r.vm
	inner.val, inner.prototype, inner.d = o, r.arrays, d
}

// A slab allocates values together: first few, since most calls need few.
type slab[T any] struct {
	free []T
	size int
}

// maxSlab is how many bytes a slab allocates at once. The Go runtime has large blocks for values of this size, so that it seldom needs
// a new one.
const maxSlab = 6912

// next returns a new value.
func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.size = min(2*s.size+1, int(maxSlab/unsafe.Sizeof(s.free[0])))
		s.free = make([]T, s.size)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}

// ascii is a text of goja that has only ASCII characters. Its type is that of all of them.
var ascii goja.Value

// maxScanned is up to how many bytes a text is scanned when a script reads it. goja scans a longer one when that is needed.
const maxScanned = 64

// string returns x, which is a string, as a text of goja. A short one with only ASCII characters is used where it is: goja has it as a
// type whose underlying type is string.
func (r *run) string(x any) goja.Value {
	s := x.(string)
	if len(s) > maxScanned || !onlyASCII(s) {
		return r.vm.ToValue(x)
	}
	v := ascii
	(*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1] = (*[2]unsafe.Pointer)(unsafe.Pointer(&x))[1]
	return v
}

// onlyASCII reports whether a text has only ASCII characters.
func onlyASCII(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		if *(*uint64)(unsafe.Pointer(unsafe.StringData(s)))&0x8080808080808080 != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// learnDynamic verifies the layouts that this file depends on.
func learnDynamic(vm *goja.Runtime) {
	ascii = vm.ToValue("a")
	if reflect.TypeOf(ascii).Kind() != reflect.String {
		panic(fmt.Sprintf("a text is a %T", ascii))
	}
	object := reflect.TypeFor[goja.Object]()
	machine := mustField(object, "runtime", reflect.TypeFor[*goja.Runtime]())
	if selfOffset != 0 || machine.Offset != unsafe.Offsetof(header{}.runtime) || object.Size() != unsafe.Sizeof(header{}) {
		panic("an object has other fields than expected")
	}
	layouts.object, layouts.view = headerOf(vm.NewDynamicObject(nil)).table, headerOf(vm.NewDynamicArray(nil)).table
	learnLayout[goja.DynamicObject](vm.NewDynamicObject(nil))
	learnLayout[goja.DynamicArray](vm.NewDynamicArray(nil))
}

// learnLayout verifies that dynamic has the layout of the struct of an object.
func learnLayout[D any](o *goja.Object) {
	_, made := innerOf(o)
	made, ours := made.Elem(), reflect.TypeFor[dynamic[D]]()
	var flat []reflect.StructField
	for _, f := range reflect.VisibleFields(made) {
		if !f.Anonymous {
			flat = append(flat, f)
		}
	}
	same := made.Size() == ours.Size() && len(flat) == ours.NumField()
	for i := 0; same && i < len(flat); i++ {
		at, _ := offset(made, flat[i].Name, nil)
		same = at == ours.Field(i).Offset && flat[i].Type == ours.Field(i).Type
	}
	if !same {
		panic(fmt.Sprintf("%s has other fields than expected", made))
	}
}

package starlark

import (
	"unsafe"

	"go.starlark.net/starlark"
)

// interfaceWords is the layout of a Go interface: a type and a pointer to a value. starlark.String and plainSlice have the same
// layout as string and []any. So an interface of one type becomes an interface of the other if its type word is replaced. A conversion
// would copy the string header to the heap for every string that a script reads.
type interfaceWords struct{ kind, value unsafe.Pointer }

var (
	stringValue starlark.Value = starlark.String("")
	sliceValue  starlark.Value = plainSlice{}
)

// retyped returns the value in v with the type of sample. The two types must have the same layout.
func retyped(sample starlark.Value, v any) starlark.Value {
	(*interfaceWords)(unsafe.Pointer(&sample)).value = (*interfaceWords)(unsafe.Pointer(&v)).value
	return sample
}

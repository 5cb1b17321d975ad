package starlark

import (
	"unsafe"

	"go.starlark.net/starlark"
)

// An interface holds a type and a pointer to a value. The types below have the same layout as those that the request is
// made of, so that an interface with the one makes an interface with the other, without the copy on the heap that a
// conversion would make for every string that a script reads.
type contents struct{ kind, value unsafe.Pointer }

var (
	stringValue starlark.Value = starlark.String("")
	sliceValue  starlark.Value = slice(nil)
)

// retyped returns what v holds, as a value of the type that like has.
func retyped(like starlark.Value, v any) starlark.Value {
	(*contents)(unsafe.Pointer(&like)).value = (*contents)(unsafe.Pointer(&v)).value
	return like
}

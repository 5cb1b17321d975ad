package javascript

import "github.com/dop251/goja"

// This file says what guards are. builtins.go lists what of JavaScript's own functions is guarded, and by what; hook.go
// puts the guards where they belong.
//
// A virtual machine sees that it was interrupted between two of its instructions. A function of goja's own is one
// instruction, however long it takes and however much it makes, so none may do much more than what the script has
// paid for already. Three rules hold for every native function, those without a guard included:
//
//   - It is not begun once the call is stopped: so a loop within goja that calls functions, such as the spreading of
//     an iterator whose next is itself native, ends like a loop of the script's.
//   - Native functions are not nested more than maxNative deep, since they take up Go's stack: String([[[…]]]).
//   - What a guard refuses ends the call for good. No catch and no finally runs after it.
//
// Beyond that: text and lists that a function makes are computed before they are made (bounds.go), arguments that are
// merely like an array are copied into one first, as far as their length is bounded, since a getter may give another
// length the second time. Functions that recurse without calling one another are replaced (json.go, array.go). Regular
// expressions are bounded by their size times that of the text (regexp.go). What syntax does by itself is bounded
// before it runs (source.go).

// A guard stands around a native function. It may refuse (see run.refuse), or call the function with other arguments.
type guard struct {
	call func(*run, goja.FunctionCall, native) goja.Value
	args func(*run, []goja.Value) []goja.Value // of a constructor called with new
	made func(*run, goja.Value)                // sees what a constructor made
}

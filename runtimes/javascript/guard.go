package javascript

import "github.com/dop251/goja"

// This file says what guards are. builtins.go lists which of JavaScript's own functions are guarded, and by what; hook.go puts the
// guards in place.
//
// A virtual machine checks between two instructions whether it was interrupted. A function of goja is one instruction, however long
// it runs and however much it makes. So none of them may do much more than the work that the script has done to get there. Three
// rules hold for every native function, also for those without a guard:
//
//   - It does not begin after the call was stopped. So a loop inside goja that calls functions, such as the spreading of an iterator
//     whose next is itself native, ends like a loop of the script.
//   - Native functions are nested at most maxNative deep, because they use Go's stack: String([[[…]]]).
//   - When a guard refuses, the call ends at once. No catch and no finally runs after it.
//
// In addition, the size of texts and lists is computed before they are made (bounds.go). Arguments that are array-like objects
// are first copied into an array, since a getter may return another length the second time. Functions that recurse without calling one
// another are replaced (json.go, array.go). Searches of regular
// expressions are bounded by the size of the pattern times the size of the text, or by their steps (regexp.go).
// What syntax does without a function is bounded before it runs (source.go).

// A guard wraps a native function. It may refuse (see run.refuse), or call the function with other arguments.
type guard struct {
	call func(*run, goja.FunctionCall, native) goja.Value
	args func(*run, []goja.Value) []goja.Value // of a constructor called with new
	made func(*run, goja.Value)                // sees what a constructor made
}

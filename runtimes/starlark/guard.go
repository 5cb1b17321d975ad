package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file says what is guarded in Starlark, and why.
//
// The interpreter counts steps and checks the time between two instructions. One instruction may call a builtin, a method or an
// operator, which is one step, however long it runs and however much memory it uses. So none of them may do much more than the
// steps that the script has been charged for:
//
//   - An operation that makes a value first computes how large the value will be, and waits for the engine's watchdog if it is
//     large. One value may take at most limits.memory. The watchdog limits the memory of many small values together.
//   - An operation that loops over a range is charged a step for each element: a range may have any length, and takes no memory.
//   - An operation that recurses over a value, to format, hash, encode or freeze it, first visits the value, with a limit on the
//     depth and a step for each part: a list may contain itself, and a list that is contained a thousand times counts a thousand
//     times.
//   - An operation that hashes values visits them, too, and is charged if many values have the same hash: see key.go.
//   - Integers have 10,000 digits at most: the time to multiply, divide and write them grows with the square of their length.
//   - UTC is the only time zone: others are files of the host.
//
// rules.go has a rule for everything that exists. rewrite.go adds calls of the guards to the parsed file, under names that no
// script can write. When a guard returns an error, the call ends: Starlark cannot catch errors.

// operators are the guards that rewrite.go calls in place of the operators of the language.
var operators = starlark.StringDict{
	// These compare. They treat views like dicts and lists, and support values that contain themselves.
	"==": starlark.NewBuiltin("==", operatorEqual),
	"<":  starlark.NewBuiltin("<", ordering(syntax.LT)),
	"<=": starlark.NewBuiltin("<=", ordering(syntax.LE)),
	">":  starlark.NewBuiltin(">", ordering(syntax.GT)),
	">=": starlark.NewBuiltin(">=", ordering(syntax.GE)),
	"in": starlark.NewBuiltin("in", operatorIn),
	// These make one value from two: x + x doubles the size, "x" * n has n characters, "%s%s" % (x, x) formats.
	"+":  starlark.NewBuiltin("+", operatorAdd),
	"*":  starlark.NewBuiltin("*", operatorMultiply),
	"%":  starlark.NewBuiltin("%", operatorPercent),
	"<<": starlark.NewBuiltin("<<", operatorShift),
	// These copy: a list always, a string or a tuple if there is a step.
	"[:]":  starlark.NewBuiltin("[:]", limitSlice),
	"[::]": starlark.NewBuiltin("[::]", limitStepSlice),
	// These look up each key of one set or dict in another.
	"-": starlark.NewBuiltin("-", operatorKeys(syntax.MINUS)),
	"&": starlark.NewBuiltin("&", operatorKeys(syntax.AMP)),
	"|": starlark.NewBuiltin("|", operatorKeys(syntax.PIPE)),
	"^": starlark.NewBuiltin("^", operatorKeys(syntax.CIRCUMFLEX)),
	// These return the right side of x += y and x |= y. The interpreter then changes x.
	"+=": starlark.NewBuiltin("+=", operatorExtend),
	"|=": starlark.NewBuiltin("|=", operatorUpdate),
	// These implement x[i] += y and the like as a whole, and x.f += y, which is always an error.
	"[]+=":  starlark.NewBuiltin("+=", assignIndex(addTo)),
	"[]*=":  starlark.NewBuiltin("*=", assignIndex(operatorMultiply)),
	"[]%=":  starlark.NewBuiltin("%=", assignIndex(operatorPercent)),
	"[]<<=": starlark.NewBuiltin("<<=", assignIndex(operatorShift)),
	"[]-=":  starlark.NewBuiltin("-=", assignIndex(operatorKeys(syntax.MINUS))),
	"[]&=":  starlark.NewBuiltin("&=", assignIndex(operatorKeys(syntax.AMP))),
	"[]^=":  starlark.NewBuiltin("^=", assignIndex(operatorKeys(syntax.CIRCUMFLEX))),
	".=":    starlark.NewBuiltin(".=", refuseField),
	// This is called for a value that will be hashed: it visits tuples, and charges for hashes that collide.
	"[key]": starlark.NewBuiltin("[key]", hashable),
	// These are for f(*x), which makes a tuple of x, and f(**x), which makes a tuple of each pair of x.
	"f(*":  starlark.NewBuiltin("f(*", spreadArguments),
	"f(**": starlark.NewBuiltin("f(**", spreadNamedArguments),
	// These are x.f(...) and x.f for methods that have a guard.
	".()": starlark.NewBuiltin(".()", catchingPanics(callMethod)),
	".":   starlark.NewBuiltin(".", boundMethod),
}

// Memory of values, in bytes.
const (
	elementSize = 16 // an element of a list or tuple
	tupleSize   = 40 // a tuple without its elements
	stringSize  = 16 // a string without its characters
	entrySize   = 64 // an entry of a dict or set
)

const (
	// maxNested is the maximum nesting of values that guards visit.
	maxNested = 200
	// maxBits is the maximum length of an integer in bits.
	maxBits = maxDigits * 3322 / 1000
	// smallSize is the size in bytes up to which a value is not counted.
	smallSize = 1 << 10
)

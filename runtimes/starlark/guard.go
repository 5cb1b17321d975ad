package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file says what is guarded in Starlark, and why.
//
// The interpreter counts steps and checks the time between two instructions. One instruction may call a builtin, a method or an
// operator, which is one step, however long it runs and however much it makes. So none of them may do much more than the steps
// that the script has been charged for:
//
//   - What makes a value first computes how large the value will be, and waits for the engine's watchdog if it is large. One value
//     may take at most limits.memory. Growth by many small values is left to the watchdog.
//   - What loops over a range is charged a step for each element: a range may be as long as a number says, and takes no memory.
//   - What recurses over a value, to write, hash, encode or freeze it, first walks it, with a bound on the depth and a step for each
//     part: a list may contain itself, and a list that is contained a thousand times counts a thousand times.
//   - What hashes values walks them, too, and is charged where many values have the same hash: see key.go.
//   - Integers have 10,000 digits at most: the time to multiply, divide and write them grows with the square of their length.
//   - UTC is the only time zone: others are files of the host.
//
// rules.go has a rule for everything that exists. rewrite.go puts calls of the guards into the parsed file, under names that no
// script can write. When a guard refuses, the call ends: Starlark cannot catch errors.

// operators are the guards that rewrite.go calls instead of the language's own operators.
var operators = starlark.StringDict{
	// They compare. For them views are dicts and lists, and a value may contain itself.
	"==": starlark.NewBuiltin("==", operatorEqual),
	"<":  starlark.NewBuiltin("<", ordering(syntax.LT)),
	"<=": starlark.NewBuiltin("<=", ordering(syntax.LE)),
	">":  starlark.NewBuiltin(">", ordering(syntax.GT)),
	">=": starlark.NewBuiltin(">=", ordering(syntax.GE)),
	"in": starlark.NewBuiltin("in", operatorIn),
	// They make one value of two: x + x doubles, "x" * n is as long as n says, "%s%s" % (x, x) writes.
	"+":  starlark.NewBuiltin("+", operatorAdd),
	"*":  starlark.NewBuiltin("*", operatorMultiply),
	"%":  starlark.NewBuiltin("%", operatorPercent),
	"<<": starlark.NewBuiltin("<<", operatorShift),
	// They copy: a list always, a text or a tuple where there is a step.
	"[:]":  starlark.NewBuiltin("[:]", sliced),
	"[::]": starlark.NewBuiltin("[::]", stepped),
	// They look up, in one set or dict, each key of another.
	"-": starlark.NewBuiltin("-", operatorKeys(syntax.MINUS)),
	"&": starlark.NewBuiltin("&", operatorKeys(syntax.AMP)),
	"|": starlark.NewBuiltin("|", operatorKeys(syntax.PIPE)),
	"^": starlark.NewBuiltin("^", operatorKeys(syntax.CIRCUMFLEX)),
	// What is added to x in x += y and x |= y; x itself the interpreter changes.
	"+=": starlark.NewBuiltin("+=", operatorExtend),
	"|=": starlark.NewBuiltin("|=", operatorUpdate),
	// x[i] += y and the like as a whole, and x.f += y, which nothing allows.
	"[]+=":  starlark.NewBuiltin("+=", assigning(addTo)),
	"[]*=":  starlark.NewBuiltin("*=", assigning(operatorMultiply)),
	"[]%=":  starlark.NewBuiltin("%=", assigning(operatorPercent)),
	"[]<<=": starlark.NewBuiltin("<<=", assigning(operatorShift)),
	"[]-=":  starlark.NewBuiltin("-=", assigning(operatorKeys(syntax.MINUS))),
	"[]&=":  starlark.NewBuiltin("&=", assigning(operatorKeys(syntax.AMP))),
	"[]^=":  starlark.NewBuiltin("^=", assigning(operatorKeys(syntax.CIRCUMFLEX))),
	".=":    starlark.NewBuiltin(".=", refuseField),
	// It hashes a value: tuples are walked, and values whose hashes collide are charged.
	"[key]": starlark.NewBuiltin("[key]", hashable),
	// f(*x), which makes a tuple of x, and f(**x), which makes one of each pair of x.
	"f(*":  starlark.NewBuiltin("f(*", spread),
	"f(**": starlark.NewBuiltin("f(**", spreadNamed),
	// x.f(...) and x.f for the methods below.
	".()": starlark.NewBuiltin(".()", recovered(callMethod)),
	".":   starlark.NewBuiltin(".", boundMethod),
}

// What values take, in bytes.
const (
	elementSize = 16 // of a list or tuple
	tupleSize   = 40 // besides its elements
	stringSize  = 16 // besides its text
	entrySize   = 64 // of a dict or set
)

const (
	// maxNested is how deeply values may be nested that are walked.
	maxNested = 200
	// maxBits is how long integers may be.
	maxBits = maxDigits * 3322 / 1000
	// small is up to how many bytes are not worth counting.
	small = 1 << 10
)

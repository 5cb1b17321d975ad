package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file says what of Starlark is guarded, and why.
//
// The interpreter looks at the clock and counts between two instructions. An instruction may call a builtin, a method
// or an operator, which is one step however long it takes and however much it makes. So none may do much more than
// what the script has been counted for already:
//
//   - What makes a value is asked before how large that gets, and waits for the engine's watchdog where that is much.
//     One value takes at most limits.memory. Growth by many small values is for the watchdog alone.
//   - What loops over a range, which is as long as its numbers say and takes no memory, counts a step an element.
//   - What recurses over a value, to write, hash, encode or freeze it, first has it walked, within a depth and a step
//     for each part: a list may contain itself, and one list a thousand times is a thousand parts each time.
//   - What is hashed is walked, too, and counted where many values have the same hash: key.go.
//   - Integers have 10,000 digits at most: multiplying, dividing and writing them takes the square of their length.
//   - No time zone but UTC is there: others are files of the host's.
//
// rules.go has a rule for all that there is. rewrite.go puts calls of the guards into the parsed file, under names that no script can write. A guard's refusal
// ends the call: Starlark has nothing to catch it with.

// operators are what rewrite.go calls in place of the language's own.
var operators = starlark.StringDict{
	// They compare, where views are dicts and lists, and without end for values that contain themselves.
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
	// What they have made: a list is copied, a text or a tuple where there is a step.
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
	// A value that is hashed: tuples are walked, and numbers that a script can make to collide are dear.
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

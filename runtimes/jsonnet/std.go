package jsonnet

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/google/go-jsonnet/ast"
)

// What the interpreter does in Go, without evaluating a node, its hook does not see. So each such operation is
// looked at before it begins: the tables below say what is done about it. All others of std are written in Jsonnet,
// and come down to these and to nodes: std.repeat, lines, flattenArrays, format, set*, mergePatch, prune, deepJoin,
// asciiLower, stringChars and slices among them. std.extVar and std.native find nothing: a VM is given neither.
// What std.native is given by our library is a call of one of its functions (library.go).
//
//	+                      the sum's size; a value made a string is walked; a + b + c... of strings is carried
//	                       out before it nests as deep as the stack; objects of many layers are refused
//	== != equals primitive both sides are walked as the interpreter will: shared parts and cycles count each time
//	< <= > >=              likewise, for arrays
//	sort minArray maxArray done here, with guarded comparisons
//	member contains remove each comparison is walked
//	toString error % manifest*  walked: elements, bytes with indentation, depth
//	escapeStringJson       likewise
//	makeArray range        the array's size
//	flatMap, array comprehensions  done here: the array's size as it grows
//	object comprehensions  the object's size
//	foldl foldr            the array that a string becomes
//	join                   the sum of the parts
//	strReplace splitLimit*  the result, by counting what will be found
//	stripChars lstrip rstrip done here: theirs copies the string for every character
//	encodeUTF8 base64DecodeBytes  the array's size
//	base64 decodeUTF8      elements are counted
//	parseJson parseYaml    the tree's size, by counting what separates values; YAML's nesting
//	%                      plain formats are made here, format.go
//	trace                  nothing is formatted that the log would not take
//	length objectFieldsEx objectHasEx objectRemoveKey  by the object's layers
//	the rest               by the length of their arguments
//
// Each charges steps for what it lets pass, and the context is looked at as for nodes.

// An operation is a builtin that is about to run.
type operation struct {
	*guard
	i    interpreter
	what string
	args []value

	came error // the interpreter's, which nothing may be evaluated after: its stack is not what it was
}

// A check looks at an operation. It ends the evaluation, or returns; done tells that v and err are the result.
type check func(o *operation) (v value, err error, done bool)

// only makes a check of one that does nothing but look.
func only(look func(o *operation)) check {
	return func(o *operation) (value, error, bool) {
		look(o)
		return nil, o.came, o.came != nil
	}
}

var operatorChecks = map[ast.BinaryOp]check{
	ast.BopPlus:            only(checkPlus),
	ast.BopManifestEqual:   only(checkEqual),
	ast.BopManifestUnequal: only(checkEqual),
	ast.BopLess:            only(checkOrder),
	ast.BopLessEq:          only(checkOrder),
	ast.BopGreater:         only(checkOrder),
	ast.BopGreaterEq:       only(checkOrder),
}

var functionChecks = map[string]check{
	"equals":            only(checkEqual),
	"primitiveEquals":   only(checkEqual),
	"sort":              sorted,
	"minArray":          func(o *operation) (value, error, bool) { return extreme(o, 1) },
	"maxArray":          func(o *operation) (value, error, bool) { return extreme(o, -1) },
	"member":            only(checkMember),
	"contains":          only(checkMember),
	"remove":            only(checkMember),
	"toString":          only(func(o *operation) { o.text(o.args[0], "", "") }),
	"escapeStringJson":  only(func(o *operation) { o.text(o.args[0], "", "") }),
	"manifestJsonEx":    only(checkManifestJSON),
	"manifestYamlDoc":   only(checkManifestYAML),
	"manifestTomlEx":    only(checkManifestTOML),
	"makeArray":         only(func(o *operation) { o.elements(number(o.args[0]), 200) }),
	"range":             only(func(o *operation) { o.elements(number(o.args[1])-number(o.args[0])+1, elementSize) }),
	"flatMap":           flatMapped,
	"$flatMapArray":     flatMapped,
	"$objectFlatMerge":  only(func(o *operation) { o.elements(float64(length(o.args[0])), 400) }),
	"foldl":             only(checkFold),
	"foldr":             only(checkFold),
	"join":              only(checkJoin),
	"strReplace":        only(checkReplace),
	"splitLimit":        only(checkSplit),
	"splitLimitR":       only(checkSplit),
	"stripChars":        func(o *operation) (value, error, bool) { return stripped(o, true, true) },
	"lstripChars":       func(o *operation) (value, error, bool) { return stripped(o, true, false) },
	"rstripChars":       func(o *operation) (value, error, bool) { return stripped(o, false, true) },
	"encodeUTF8":        only(func(o *operation) { o.elements(float64(len(string(runesOf(o.args[0])))), elementSize) }),
	"base64DecodeBytes": only(func(o *operation) { o.elements(float64(length(o.args[0])), elementSize) }),
	"parseJson":         only(checkParse),
	"parseYaml":         only(checkParseYAML),
	"trace":             traced,
	"removeAt":          only(checkRemoveAt),
	"modulo":            modulo,
	"native":            called,
	"length":            only(checkLayers),
	"objectFieldsEx":    only(checkLayers),
	"objectHasEx":       only(checkLayers),
	"objectRemoveKey":   only(checkLayers),
}

const (
	// elementSize is what an element of an array takes, if it is a number: a pointer, its thunk and itself.
	elementSize = 104

	// runeSize is what a character of a string takes, and the copies that are made of it on the way.
	runeSize = 4

	// maxLayers bounds the objects that one was added up from: a field is looked for in each of them, recursively.
	maxLayers = 4000

	// maxNesting bounds how deep the interpreter recurses into a value without evaluating a node.
	maxNesting = 5000
)

// placeGuards wraps every builtin function and operator of the interpreter. That is done once in a process, before
// the first script; a VM that has no guard is served as before.
func placeGuards() error {
	for op, check := range operatorChecks {
		if int(op) >= len(bopBuiltins) || bopBuiltins[op] == nil || !strings.HasPrefix(bopBuiltins[op].name, "operator") {
			return fmt.Errorf("jsonnet: scripts cannot be bounded: operator %d is not where it was", op)
		}
		b := bopBuiltins[op]
		wrapOperator(b, check)
	}
	for name := range functionChecks {
		if _, ok := learned.builtins[name]; !ok {
			return errors.New("jsonnet: scripts cannot be bounded: there is no std." + name)
		}
	}
	for name, rv := range learned.builtins {
		check := functionChecks[name]
		if check == nil {
			check = only(func(*operation) {})
		}
		wrapFunction(name, rv, check)
	}
	return nil
}

// small reports whether an operation on x and y is quick whatever it is.
func small(x, y value) bool {
	kx, px := look(x)
	ky, py := look(y)
	short := func(k kind, p unsafe.Pointer) bool {
		return k == numberKind || k == booleanKind || k == nullKind || k == flatKind && len((*flatString)(p).value) < 256
	}
	return short(kx, px) && short(ky, py)
}

// wrapOperator spares small values the check.
func wrapOperator(b *binaryBuiltin, c check) {
	inner, what := b.function, "the operator "+strings.TrimSuffix(strings.TrimPrefix(b.name, "operator"), ",")
	b.function = func(i interpreter, x, y value) (value, error) {
		if l := loggerOf(i); l != nil && l.guard != nil && !small(x, y) {
			o := operation{guard: l.guard, i: i, what: what, args: []value{x, y}}
			if v, err, done := c(&o); done {
				return v, err
			}
		}
		return inner(i, x, y)
	}
}

func wrapFunction(name string, rv reflect.Value, c check) {
	p := rv.UnsafePointer()
	switch rv.Elem().Type().Name() {
	case "unaryBuiltin":
		b := (*unaryBuiltin)(p)
		inner := b.function
		b.function = func(i interpreter, x value) (value, error) {
			if v, err, done := run(name, i, c, []value{x}); done {
				return v, err
			}
			return inner(i, x)
		}
	case "binaryBuiltin":
		b := (*binaryBuiltin)(p)
		inner := b.function
		b.function = func(i interpreter, x, y value) (value, error) {
			args := []value{x, y}
			if v, err, done := run(name, i, c, args); done {
				return v, err
			}
			return inner(i, args[0], args[1])
		}
	case "ternaryBuiltin":
		b := (*ternaryBuiltin)(p)
		inner := b.function
		b.function = func(i interpreter, x, y, z value) (value, error) {
			if v, err, done := run(name, i, c, []value{x, y, z}); done {
				return v, err
			}
			return inner(i, x, y, z)
		}
	case "generalBuiltin":
		b := (*generalBuiltin)(p)
		inner := b.function
		b.function = func(i interpreter, args []value) (value, error) {
			if v, err, done := run(name, i, c, args); done {
				return v, err
			}
			return inner(i, args)
		}
	}
}

// run charges for the length of the arguments, which at least is gone through, and makes the check.
func run(name string, i interpreter, c check, args []value) (value, error, bool) {
	l := loggerOf(i)
	if l == nil || l.guard == nil {
		return nil, nil, false
	}
	o := operation{guard: l.guard, i: i, what: "std." + strings.TrimPrefix(name, "$"), args: args}
	for _, arg := range args {
		if k, _ := look(arg); k == flatKind || k == treeKind || k == arrayKind {
			o.charge(int64(length(arg)) / 16)
		}
	}
	return c(&o)
}

func scalar(v value) bool {
	k, _ := look(v)
	return k == numberKind || k == booleanKind || k == nullKind
}

// number gives a number's value, else 0.
func number(v value) float64 {
	if k, p := look(v); k == numberKind {
		return (*numberValue)(p).value
	}
	return 0
}

// length gives the length of a string or an array, else 0.
func length(v value) int {
	switch k, p := look(v); k {
	case flatKind:
		return len((*flatString)(p).value)
	case treeKind:
		return (*treeString)(p).len
	case arrayKind:
		return len((*arrayValue)(p).elements)
	}
	return 0
}

func isString(v value) bool {
	k, _ := look(v)
	return k == flatKind || k == treeKind
}

// arrayOf gives the elements of an array.
func arrayOf(v value) ([]*thunk, bool) {
	if k, p := look(v); k == arrayKind {
		return (*arrayValue)(p).elements, true
	}
	return nil, false
}

// objectOf gives an object.
func objectOf(v value) (*objectValue, bool) {
	if k, p := look(v); k == objectKind {
		return (*objectValue)(p), true
	}
	return nil, false
}

// size refuses a result of that many bytes, if it is more than a call may hold.
func (o *operation) size(bytes float64) {
	if bytes > float64(o.limits.Memory) {
		o.refuse(o.what)
	}
}

// elements refuses an array of n elements of that many bytes each, and charges for the others: a step takes as long as a dozen.
func (o *operation) elements(n, bytes float64) {
	if n > 0 {
		o.size(n * bytes)
		o.charge(int64(n) / 16)
	}
}

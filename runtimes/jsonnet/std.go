package jsonnet

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/astgen"

	"metascript/engine"
)

// An operation is a builtin that is about to run.
type operation struct {
	*guard
	i    interpreter
	what string
	args []value

	fatal error // an error of the interpreter. Nothing may be evaluated after it, since the interpreter's stack has changed
}

// A check checks an operation before it runs. It may end the evaluation. If done is true, v and err are the result of the
// operation, and it does not run.
type check func(o *operation) (v value, err error, done bool)

// checkOnly returns a check from a function that does not compute the result of the operation.
func checkOnly(look func(o *operation)) check {
	return func(o *operation) (value, error, bool) {
		look(o)
		return nil, o.fatal, o.fatal != nil
	}
}

const (
	// elementSize is the memory of an element of an array that is a number: a pointer, a thunk and the number.
	elementSize = 104

	// runeSize is the memory of a character of a string.
	runeSize = 4

	// maxLayers is the maximum number of objects of which an object may be the sum: a field is looked up in each of them,
	// recursively.
	maxLayers = 4000

	// maxNesting is the maximum depth to which the interpreter may recurse into a value without evaluating a node.
	maxNesting = 5000
)

// rules adds the rules of the names in two lists to a table.
func rules(table map[string]rule, plainNames, jsonnetNames string) map[string]rule {
	for _, name := range strings.Fields(plainNames) {
		table[name] = rule{bound: plain}
	}
	for _, name := range strings.Fields(jsonnetNames) {
		table[name] = rule{bound: inJsonnet}
	}
	return table
}

// installGuards removes what has no rule from the interpreter, and wraps every other builtin function and operator. It is called
// once in a process, before the first script. The wrappers have no effect on VMs without a guard.
func installGuards() error {
	removeWithoutRule()
	installPart()
	for op, r := range binaryRules {
		if r.check == nil {
			continue
		}
		if int(op) >= len(bopBuiltins) || bopBuiltins[op] == nil || !strings.HasPrefix(bopBuiltins[op].name, "operator") {
			return fmt.Errorf("jsonnet: scripts cannot be bounded: operator %d is not where it was", op)
		}
		wrapOperator(bopBuiltins[op], r.check)
	}
	for name, r := range stdRules {
		if _, ok := layout.builtins[name]; !ok && r.check != nil {
			return errors.New("jsonnet: scripts cannot be bounded: there is no std." + name)
		}
	}
	for name, rv := range layout.builtins {
		check := stdRules[name].check
		if check == nil {
			check = checkOnly(func(*operation) {})
		}
		wrapFunction(name, rv, check)
	}
	return nil
}

// installPart adds the operator of parts.
func installPart() {
	uopBuiltins = slices.Grow(uopBuiltins, int(opPart))[:opPart+1]
	uopBuiltins[opPart] = &unaryBuiltin{name: "part", function: evaluatePart}
}

// hasRule reports whether scripts have the field of std of that name.
func hasRule(name string) bool {
	r, ok := stdRules[name]
	return ok && r.bound != removed
}

// remove reports whether the field with that name must be removed from std, and records it in layout.
func remove(name string) bool {
	if hasRule(name) {
		return false
	}
	layout.removed[name] = true
	return true
}

// removeWithoutRule removes from std what has no rule: the functions written in Go, and the fields in the syntax tree from
// which the others come. Operators without a rule are replaced by an error.
func removeWithoutRule() {
	layout.removed = map[string]bool{}
	std := astgen.StdAst
	std.Fields = slices.DeleteFunc(std.Fields, func(f ast.DesugaredObjectField) bool {
		name, ok := f.Name.(*ast.LiteralString)
		return !ok || remove(name.Value)
	})
	maps.DeleteFunc(funcBuiltins, func(name string, _ evalCallable) bool { return remove(name) })
	for op, b := range bopBuiltins {
		if _, ok := binaryRules[ast.BinaryOp(op)]; !ok && b != nil {
			b.function = func(i interpreter, _, _ value) (value, error) { return nil, raise(i, "There is no such operator.") }
		}
	}
	for op, b := range uopBuiltins {
		if _, ok := unaryRules[ast.UnaryOp(op)]; !ok && b != nil {
			b.function = func(i interpreter, _ value) (value, error) { return nil, raise(i, "There is no such operator.") }
		}
	}
}

// small reports whether every operation on x and y is quick.
func small(x, y value) bool {
	kx, px := kindOf(x)
	ky, py := kindOf(y)
	short := func(k kind, p unsafe.Pointer) bool {
		return k == numberKind || k == booleanKind || k == nullKind || k == flatKind && len((*flatString)(p).value) < 256
	}
	return short(kx, px) && short(ky, py)
}

// wrapOperator skips the check for small values, unless a string is added to something else.
func wrapOperator(b *binaryBuiltin, c check) {
	inner, what := b.function, "the operator "+strings.TrimSuffix(strings.TrimPrefix(b.name, "operator"), ",")
	b.function = func(i interpreter, x, y value) (value, error) {
		if l := loggerOf(i); l != nil && l.guard != nil && (!small(x, y) || isString(x) != isString(y)) {
			o := operation{guard: l.guard, i: i, what: what, args: []value{x, y}}
			if v, err, done := c(&o); done {
				return v, err
			}
			x, y = o.args[0], o.args[1]
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

// run charges for the length of the arguments, which are read at least once, and runs the check.
func run(name string, i interpreter, c check, args []value) (value, error, bool) {
	l := loggerOf(i)
	if l == nil || l.guard == nil {
		return nil, nil, false
	}
	o := operation{guard: l.guard, i: i, what: "std." + strings.TrimPrefix(name, "$"), args: args}
	for _, arg := range args {
		if k, _ := kindOf(arg); k == flatKind || k == treeKind || k == arrayKind {
			o.charge(int64(length(arg)) / 16)
		}
	}
	return c(&o)
}

func scalar(v value) bool {
	k, _ := kindOf(v)
	return k == numberKind || k == booleanKind || k == nullKind
}

// number returns a number's value, else 0.
func number(v value) float64 {
	if k, p := kindOf(v); k == numberKind {
		return (*numberValue)(p).value
	}
	return 0
}

// length returns the length of a string or an array, else 0.
func length(v value) int {
	switch k, p := kindOf(v); k {
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
	k, _ := kindOf(v)
	return k == flatKind || k == treeKind
}

// arrayOf returns the elements of an array.
func arrayOf(v value) ([]*thunk, bool) {
	if k, p := kindOf(v); k == arrayKind {
		return (*arrayValue)(p).elements, true
	}
	return nil, false
}

// objectOf returns an object.
func objectOf(v value) (*objectValue, bool) {
	if k, p := kindOf(v); k == objectKind {
		return (*objectValue)(p), true
	}
	return nil, false
}

// size refuses a result of that many bytes if it is more than a call may use, and waits for memory.
func (o *operation) size(bytes float64) {
	if bytes > float64(o.limits.Memory) {
		o.refuse(o.what)
	}
	if engine.WaitForMemory(o.ctx, int64(bytes)) != nil {
		o.stop()
	}
}

// elements refuses an array of n elements of that many bytes each, and charges for them: a step takes as long as about a dozen
// elements.
func (o *operation) elements(n, bytes float64) {
	if n > 0 {
		o.size(n * bytes)
		o.charge(int64(n) / 16)
	}
}

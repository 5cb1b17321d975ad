package jsonnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
)

// A hook has the layout of gojsonnet.EvalHook, whose fields are not exported. The interpreter calls pre before and
// post after it evaluates a node; this is the only way to count steps and to stop it.
type hook struct {
	pre  func(interpreter unsafe.Pointer, n ast.Node)
	post func(interpreter unsafe.Pointer, n ast.Node, v value, err error)
}

// A value is a value of the interpreter. Only its identity matters here.
type value interface{ aValue() }

// hookError returns why scripts cannot be limited with the go-jsonnet that was built in, or nil.
var hookError = sync.OnceValue(func() error {
	if err := checkLayout(reflect.TypeFor[gojsonnet.EvalHook](), reflect.TypeFor[hook]()); err != nil {
		return fmt.Errorf("jsonnet: scripts cannot be bounded with this version of go-jsonnet: %w", err)
	}
	return tryHook()
})

// checkLayout returns how theirs, gojsonnet.EvalHook, differs from ours, or nil.
func checkLayout(theirs, ours reflect.Type) error {
	if theirs.Kind() != reflect.Struct || theirs.NumField() != ours.NumField() || theirs.Size() != ours.Size() {
		return fmt.Errorf("%s is not a struct of %d functions", theirs, ours.NumField())
	}
	for i := range ours.NumField() {
		f, g := theirs.Field(i), ours.Field(i)
		if f.Name != g.Name || f.Offset != g.Offset || !sameCall(f.Type, g.Type) {
			return fmt.Errorf("%s.%s is %s", theirs, f.Name, f.Type)
		}
	}
	return nil
}

// sameCall reports whether functions of types f and g are called in the same way: each parameter has the same type in both, or
// is a pointer in both, or an interface with methods in both.
func sameCall(f, g reflect.Type) bool {
	if f.Kind() != reflect.Func || f.NumIn() != g.NumIn() || f.NumOut() != 0 || f.IsVariadic() {
		return false
	}
	for i := range f.NumIn() {
		p, q := f.In(i), g.In(i)
		pointers := p.Kind() == reflect.Pointer && q.Kind() == reflect.UnsafePointer
		values := p.Kind() == reflect.Interface && p.NumMethod() > 0 && q == reflect.TypeFor[value]()
		if p != q && !pointers && !values {
			return false
		}
	}
	return true
}

// tryHook checks that both functions are called.
func tryHook() error {
	var pre, post int
	vm := gojsonnet.MakeVM()
	hook{
		pre:  func(unsafe.Pointer, ast.Node) { pre++ },
		post: func(unsafe.Pointer, ast.Node, value, error) { post++ },
	}.install(vm)
	if _, err := vm.Evaluate(&ast.LiteralNull{}); err != nil || pre == 0 || pre != post {
		return errors.New("jsonnet: scripts cannot be bounded: this version of go-jsonnet does not call its EvalHook")
	}
	return nil
}

func (h hook) install(vm *gojsonnet.VM) { vm.EvalHook = *(*gojsonnet.EvalHook)(unsafe.Pointer(&h)) }

const (
	// maxDepth is how deeply evaluations may be nested. The interpreter recurses for each, and for a tailstrict call removes
	// frames from its own stack but not from Go's, so that MaxStack does not limit it. Each takes about 2 KiB: 32 MiB in all.
	maxDepth = 14_000

	// checkEvery is how many nodes are evaluated between two checks of the context: about 50 microseconds.
	checkEvery = 256
)

// A guard observes one evaluation. It counts steps, stops the evaluation, fills in the nodes of the request when they are first
// evaluated, and records what the message of an error needs.
type guard struct {
	limits engine.Limits
	log    *logger
	random *engine.Random
	root   ast.Node // steps are counted from the evaluation of root; before it, the interpreter builds std
	answer ast.Node // the node whose value is the result

	steps int64 // counted so far
	depth int   // of nested evaluations and walks
	left  int64 // steps until ctx is checked again
	ctx   context.Context

	raising       ast.Node // the message of an error that is being evaluated
	out           outcome  // converts the result
	result        any
	scriptErr     error              // an error of the script while the result or the message of an error was converted
	failedMessage *ast.LocationRange // the message whose conversion failed

	at           *ast.LocationRange // the node of the script whose evaluation began last
	failed       ast.Node           // the innermost node whose evaluation returned an error
	stopped      *engine.Error      // why the guard ended the evaluation
	libraryError *engine.Error      // the error of the library that the interpreter's error is made from
	library      bool               // the script imports the library

	request request          // has the nodes to fill in
	fast    fast             // one for all
	givenUp map[ast.Node]int // how often fast gave up at a node

	// For discovery: the code of the function that is the value of tracedNode is stored in tracedCode.
	tracedNode   ast.Node
	functionCode map[value]*ast.Function
	tracedCode   *ast.Function
}

// stop is the value with which the guard panics. The interpreter's Evaluate recovers it. The reason is in guard.stopped.
type stop struct{}

// hook returns the functions that the interpreter calls, on the goroutine that evaluates.
func (g *guard) hook(ctx context.Context) hook {
	g.ctx = ctx
	return hook{pre: g.begin, post: g.finish}
}

func (g *guard) begin(_ interpreter, n ast.Node) {
	if g.depth == 0 && n != g.root {
		return
	}
	g.depth++
	if loc := n.Loc(); inScript(loc) {
		g.at = loc
	}
	if g.depth > maxDepth {
		g.tooDeep()
	}
	g.charge(1)
	g.request.begin(n)
	if e, ok := n.(*ast.Error); ok {
		g.raising = e.Expr
	}
}

func (g *guard) finish(i interpreter, n ast.Node, v value, err error) {
	if g.depth == 0 {
		return
	}
	g.depth--
	if err != nil {
		if g.failed == nil {
			g.failed = n
		}
		return
	}
	if v != nil && wordsOf(v).typ == layout.kinds[treeKind] {
		g.left -= int64(length(v)) / 64 // an operation on it first carries out the concatenation
	}
	if w := g.request.end(n, v); w != nil {
		g.stopped = w.fault(engine.Error{Pos: cmp.Or(position(n.Loc()), position(g.at))})
		panic(stop{})
	}
	if g.tracedNode != nil {
		g.trace(n, v)
	}
	switch n {
	case g.answer:
		g.convertAnswer(i, v)
	case g.raising: // the interpreter converts it to a string
		o := operation{guard: g, i: i, what: "the error's message"}
		if !isString(v) {
			o.print(v, printing{})
		}
		if o.fatal != nil { // the interpreter's stack has changed, so it must not continue
			g.scriptErr, g.failedMessage = o.fatal, n.Loc()
			panic(stop{})
		}
	}
}

// charge counts n steps, and checks the context from time to time.
func (g *guard) charge(n int64) {
	g.steps += n
	g.left -= n
	if g.left > 0 && g.steps <= g.limits.Steps {
		return
	}
	g.left = checkEvery
	if g.steps > g.limits.Steps || g.ctx.Err() != nil {
		g.stop()
	}
}

// refuse ends the evaluation because of a value that would need too much memory.
func (g *guard) refuse(what string) {
	g.stopped = engine.TooMuchMemory(position(g.at), g.limits, what)
	panic(stop{})
}

// tooDeep ends the evaluation before Go's stack overflows.
func (g *guard) tooDeep() {
	g.stopped = &engine.Error{
		Kind: engine.KindStack, Pos: position(g.at),
		Msg:  fmt.Sprintf("evaluations nest deeper than %d", maxDepth),
		Hint: "even a tailstrict call takes some stack: use std.foldl or a comprehension for long loops; does a value contain itself?",
	}
	panic(stop{})
}

// convertAnswer converts the result while the guard still counts steps: the conversion evaluates fields and elements.
func (g *guard) convertAnswer(i interpreter, v value) {
	g.out.guard, g.out.i = g, i
	result, err := g.out.convert(v)
	switch {
	case err == nil:
		g.result = result
		return
	case errors.As(err, &g.stopped):
	default:
		g.scriptErr = err
	}
	panic(stop{})
}

// trace records the code of each function, and the code of the function that is the value of tracedNode.
func (g *guard) trace(n ast.Node, v value) {
	if f, ok := n.(*ast.Function); ok {
		g.functionCode[v] = f
	}
	if n == g.tracedNode {
		g.tracedCode = g.functionCode[v]
	}
}

// stop ends the evaluation with the reason.
func (g *guard) stop() {
	if g.steps > g.limits.Steps {
		g.stopped = engine.TooManySteps(position(g.at), g.limits)
	} else {
		g.stopped = engine.Stopped(g.ctx, position(g.at), g.limits)
	}
	panic(stop{})
}

// inScript reports whether loc is in one of the script's files, and not in std, in a node that this package made, or in a text of
// the interpreter such as "During manifestation", which has a name but no file.
func inScript(loc *ast.LocationRange) bool { return loc.FileName != "" && loc.File != nil }

package jsonnet

import (
	"fmt"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
)

// A wideInt is an integer of the request that float64 cannot represent. To the script it is a function: no operator takes a
// function for a number, and the interpreter refuses to convert it. In an answer it is recognized by its identity.
type wideInt struct {
	value int64
	at    *place
}

// exactParam is the parameter of a wideInt's function.
const exactParam = "__exact__"

// wideNode returns function(__exact__) null.
func (r *request) wideNode(v int64, at *place) ast.Node {
	n := &ast.Function{
		Parameters: []ast.Parameter{{Name: exactParam}},
		Body:       nullNode,
	}
	if r.wide == nil {
		r.wide, r.values = map[*ast.Function]*wideInt{}, map[value]*wideInt{}
	}
	r.wide[n] = &wideInt{value: v, at: at}
	return n
}

// A comparison is an == or != that is being evaluated, with the operands so far. The interpreter finds a function and
// a number unequal, so the guard ends an evaluation that compares a wideInt with a number.
type comparison struct {
	node        *ast.Binary
	left, right value
}

// end is called when n has been evaluated to v. It returns the wideInt with which a number was compared, or nil.
func (r *request) end(n ast.Node, v value) *wideInt {
	if f, ok := n.(*ast.Function); ok && r.wide[f] != nil {
		r.read = r.wide[f]
		r.values[v] = r.read
	}
	last := len(r.comparisons) - 1
	if last < 0 {
		return nil
	}
	switch c := &r.comparisons[last]; n {
	case c.node.Left:
		c.left = v
	case c.node.Right:
		c.right = v
	case ast.Node(c.node):
		r.comparisons = r.comparisons[:last]
		return r.comparedWithNumber(*c)
	}
	return nil
}

func (r *request) comparedWithNumber(c comparison) *wideInt {
	const number = goTypes + "Number"
	switch {
	case len(r.values) == 0:
		return nil
	case fmt.Sprintf("%T", c.right) == number:
		return r.values[c.left]
	case fmt.Sprintf("%T", c.left) == number:
		return r.values[c.right]
	}
	return nil
}

// fault converts e, which has a position, to the error of reading w as a number.
func (w *wideInt) fault(e engine.Error) *engine.Error {
	e.Kind = engine.KindRuntime
	e.Msg = fmt.Sprintf("the integer %d (%s) is beyond 2^53 and cannot be read as a number", w.value, w.at)
	e.Hint = "Jsonnet has only floating-point numbers: pass it on as it is, or have it as a string"
	return &e
}

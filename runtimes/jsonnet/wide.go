package jsonnet

import (
	"fmt"
	"strconv"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
)

// A wideInt is an integer of the request that float64 cannot hold. To the script it is a function: the one kind of
// value that no operator takes for a number, and that the interpreter refuses to convert when it is met unawares.
// passExact calls it, with a parameter of a name that no other function has, for the text that stands for the
// integer in the answer.
type wideInt struct {
	value int64
	at    *place
}

const (
	// exactParam is the parameter of a wideInt's function, and exactMark what its text begins with.
	exactParam = "__exact__"
	exactMark  = "\x00exact:"
)

// passExact goes through an answer and has every wideInt in it replaced by its text.
var passExact = mustParse(`
function(answer)
  local pass(v) =
    if std.isObject(v) then { [name]: pass(v[name]) for name in std.objectFields(v) }
    else if std.isArray(v) then [pass(item) for item in v]
    else if std.isFunction(v) then v(` + exactParam + `=function(text) text)
    else v;
  pass(answer)
`)

// wideNode gives function(__exact__) __exact__(text).
func (r *request) wideNode(v int64, at *place) ast.Node {
	n := &ast.Function{
		Parameters: []ast.Parameter{{Name: exactParam}},
		Body:       applyNode(variableNode(exactParam), stringNode(exactMark+strconv.FormatInt(v, 10))),
	}
	if r.wide == nil {
		r.wide, r.values = map[*ast.Function]*wideInt{}, map[value]*wideInt{}
	}
	r.wide[n] = &wideInt{value: v, at: at}
	return n
}

// A comparison is an == or != that is being evaluated, and its operands so far. The interpreter finds a function and
// a number unequal; we do not let it compare a wideInt with a number.
type comparison struct {
	node        *ast.Binary
	left, right value
}

// end is called when n has been evaluated to v. It gives the wideInt that a number was compared with, or nil.
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

// fault makes of e, which has a position, the error of reading w as a number.
func (w *wideInt) fault(e engine.Error) *engine.Error {
	e.Kind = engine.KindRuntime
	e.Msg = fmt.Sprintf("the integer %d (%s) is beyond 2^53 and cannot be read as a number", w.value, w.at)
	e.Hint = "Jsonnet has only floating-point numbers: pass it on as it is, or have it as a string"
	return &e
}

package jsonnet

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/engine/packed"
	"metascript/runtimes/internal/host"
)

// A request makes syntax tree nodes from values, for one call and one goroutine. The node of a map or list is a [part].
type request struct {
	tenant   string                                // the tenant of the call
	identify func(engine.Map) (id, version string) // may be nil

	recorded map[*part][]packed.RecordedMap // the objects whose reads are recorded, by the roots of their trees

	part   *part                      // the part whose evaluation began last
	keys   map[string]bool            // of the maps that were read so far, without those in shared trees; for hints
	floats map[float64]bool           // floats beyond 2^53 that were read so far
	wide   map[*ast.Function]*wideInt // integers beyond 2^53 that were read so far
	read   *wideInt                   // the integer in wide that was evaluated last
	values map[value]*wideInt         // the integers in wide, by the interpreter's value

	comparisons []comparison // the comparisons that are being evaluated, innermost last
}

// A place is the path of a value in the request. nil is the whole request.
type place struct {
	whole string // the name of a whole value that is not the request; "" for a part of the request
	in    *place // the place of the map or list that contains the value
	key   string // the key in a map, or "" in a list
	index int    // the index in a list
}

// String returns a path such as parent.spec.ports[0].
func (p *place) String() string {
	switch {
	case p == nil:
		return "request"
	case p.whole != "":
		return p.whole
	case p.key == "":
		return host.Element(p.in.String(), p.index)
	case p.in == nil && naming.Identifier(p.key):
		return p.key
	}
	return naming.Field(p.in.String(), p.key)
}

// maxExact is the integer up to which float64 represents every integer exactly.
const maxExact = 1 << 53

var (
	nullNode  = &ast.LiteralNull{}
	trueNode  = &ast.LiteralBoolean{Value: true}
	falseNode = &ast.LiteralBoolean{Value: false}
)

// node returns the node for a JSON-shaped value.
func (r *request) node(v any, at *place) ast.Node {
	e := r.entry(v, nil, func() *place { return at })
	if e.body != nil {
		return e.body
	}
	return scalarNode(v)
}

// scalarNode returns the node for a value that is not a map or a list.
func scalarNode(v any) ast.Node {
	switch v := v.(type) {
	case bool:
		if v {
			return trueNode
		}
		return falseNode
	case int64:
		return &ast.LiteralNumber{OriginalString: strconv.FormatInt(v, 10)}
	case float64:
		return &ast.LiteralNumber{OriginalString: strconv.FormatFloat(v, 'g', -1, 64)}
	case string:
		return stringNode(v)
	}
	return nullNode
}

func (r *request) addFloat(v float64) {
	if r.floats == nil {
		r.floats = map[float64]bool{}
	}
	r.floats[v] = true
}

// begin is called when n is about to be evaluated.
func (r *request) begin(n ast.Node) {
	switch n := n.(type) {
	case *ast.Unary:
		if n.Op == opPart {
			r.part = (*part)(unsafe.Pointer(n))
		}
	case *ast.Binary:
		if n.Op == ast.BopManifestEqual || n.Op == ast.BopManifestUnequal {
			r.comparisons = append(r.comparisons, comparison{node: n})
		}
	}
}

// An outcome converts the interpreter's value to a JSON-shaped value, within limits.
type outcome struct {
	*engine.Walk
	*guard
	i        interpreter
	f        function // whose answer it is
	argument bool     // it is not an answer, but an argument of a function of the library
}

// convert returns the JSON-shaped value of v. Its error is an [*engine.Error], or one of the interpreter's.
func (o *outcome) convert(v value) (any, error) {
	o.charge(1)
	switch k, p := kindOf(v); k {
	case nullKind:
		return nil, o.limit(o.Count(4))
	case booleanKind:
		return (*booleanValue)(p).value, o.limit(o.Count(5))
	case flatKind, treeKind:
		if err := o.limit(o.Walk.Count(length(v) + 2)); err != nil {
			return nil, err
		}
		return string(runesOf(v)), nil
	case numberKind:
		return o.number((*numberValue)(p).value)
	case arrayKind:
		return o.list((*arrayValue)(p).elements)
	case objectKind:
		return o.object((*objectValue)(p))
	}
	return o.wide(v)
}

// limit converts err, which may be nil, to an error.
func (o *outcome) limit(err *engine.Error) error {
	if err == nil {
		return nil
	}
	err.Pos = o.f.position()
	return err
}

// wide returns the integer that a function represents.
func (o *outcome) wide(v value) (any, error) {
	if w, ok := o.request.values[v]; ok {
		return w.value, o.limit(o.Count(len(strconv.FormatInt(w.value, 10))))
	}
	err := o.Errorf("is a function")
	if o.Path() == "" && !o.argument {
		err = o.Errorf("is a function, want an object")
	}
	err.Hint = "call it, or hide the field with ::"
	return nil, o.limit(err)
}

// number returns an int64 for a number without a fraction: 1 has to stay 1.
func (o *outcome) number(f float64) (any, error) {
	var text [32]byte
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0): // std.sum may return it
		return nil, o.limit(o.Errorf("is %v, which JSON does not have", f))
	case f == math.Trunc(f) && math.Abs(f) <= maxExact:
		return int64(f), o.limit(o.Count(len(strconv.AppendInt(text[:0], int64(f), 10))))
	case f != math.Trunc(f) || o.request.floats[f]:
		return f, o.limit(o.Count(len(strconv.AppendFloat(text[:0], f, 'g', -1, 64))))
	}
	err := o.Errorf("is the number %g, which is beyond 2^53 and not exact", f)
	err.Hint = "make it a string"
	return nil, o.limit(err)
}

func (o *outcome) list(elements []*thunk) (any, error) {
	if err := o.Count(2); err != nil {
		return nil, o.limit(err)
	}
	l := make([]any, 0, min(len(elements), 1024))
	for n, e := range elements {
		if err := o.EnterIndex(n); err != nil {
			return nil, o.limit(err)
		}
		v, err := o.forced(o.i, e)
		if err != nil {
			return nil, err
		}
		item, err := o.convert(v)
		if err != nil {
			return nil, err
		}
		l = append(l, item)
		o.Leave()
	}
	return l, nil
}

// object visits the fields in order, so that of several errors always the same one is reported.
func (o *outcome) object(x *objectValue) (any, error) {
	if err := o.Count(2); err != nil {
		return nil, o.limit(err)
	}
	if err := checkAssertions(o.i, x); err != nil {
		return nil, err
	}
	names := o.visible(x)
	m := make(map[string]any, len(names))
	for _, name := range names {
		if err := o.EnterKey(name); err != nil {
			return nil, o.limit(err)
		}
		v, err := o.guard.fieldOf(o.i, x, name)
		if err != nil {
			return nil, err
		}
		if m[name], err = o.convert(v); err != nil {
			return nil, err
		}
		o.Leave()
	}
	return m, nil
}

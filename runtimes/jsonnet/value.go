package jsonnet

import (
	"math"
	"strconv"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// A request makes syntax tree nodes from values, for one call. The node of a map or list is empty until the interpreter evaluates
// it; the guard calls begin before that. Nodes belong to one call and one goroutine.
type request struct {
	tenant   string                                // the tenant of the call
	identify func(engine.Map) (id, version string) // may be nil

	keys   map[string]*ast.LiteralString
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

// An object is the node of a map that is filled in later. Until then, its only assertion is the object itself.
type object struct {
	ast.DesugaredObject
	self  [1]ast.Node
	value map[string]any
	at    *place
}

// An array is the node of a list that is filled in later. Until then, its only element is the array itself.
type array struct {
	ast.Array
	self  [1]ast.CommaSeparatedExpr
	value []any
	at    *place
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
	switch v := v.(type) {
	case int64:
		if v > maxExact || v < -maxExact {
			return r.wideNode(v, at)
		}
	case float64:
		if math.Abs(v) > maxExact {
			r.addFloat(v)
		}
	case []any:
		n := &array{value: v, at: at}
		n.self[0].Expr = n
		n.Elements = n.self[:]
		return &n.Array
	case map[string]any:
		if tree := r.sharedTree(v, at); tree != nil {
			return tree
		}
		n := &object{value: v, at: at}
		n.self[0] = n
		n.Asserts = n.self[:]
		return &n.DesugaredObject
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

// maxLevel is the depth in the request down to which objects are looked up in the cache.
const maxLevel = 4

// sharedTree returns the cached tree of an object, or nil if the object cannot be cached.
func (r *request) sharedTree(v map[string]any, at *place) ast.Node {
	level := 0
	for p := at; p != nil; p = p.in {
		if p.whole != "" {
			return nil // not a part of the request
		}
		level++
	}
	if r.identify == nil || level == 0 || level > maxLevel {
		return nil
	}
	id, version := r.identify(engine.GoMap(v))
	if id == "" {
		return nil
	}
	return objects.tree(identity{r.tenant, id}, version, v)
}

func (r *request) addFloat(v float64) {
	if r.floats == nil {
		r.floats = map[float64]bool{}
	}
	r.floats[v] = true
}

// begin is called when n is about to be evaluated. If it is a map or a list of the request, it completes n the first time.
func (r *request) begin(n ast.Node) {
	switch n := n.(type) {
	case *ast.DesugaredObject:
		if len(n.Asserts) == 1 {
			if o, ok := n.Asserts[0].(*object); ok {
				r.fillObject(o)
			}
		}
	case *ast.Array:
		if len(n.Elements) == 1 {
			if a, ok := n.Elements[0].Expr.(*array); ok {
				r.fillArray(a)
			}
		}
	case *ast.Binary:
		if n.Op == ast.BopManifestEqual || n.Op == ast.BopManifestUnequal {
			r.comparisons = append(r.comparisons, comparison{node: n})
		}
	}
}

// fillObject adds the fields in the random order of the map: the interpreter puts them into a map, and sorts what it shows.
func (r *request) fillObject(o *object) {
	o.Asserts = nil
	o.Fields = make(ast.DesugaredObjectFields, 0, len(o.value))
	for key, v := range o.value {
		o.Fields = append(o.Fields, ast.DesugaredObjectField{
			Name: r.key(key), Body: r.node(v, &place{in: o.at, key: key}), Hide: ast.ObjectFieldInherit,
		})
	}
}

func (r *request) fillArray(a *array) {
	a.Elements = make([]ast.CommaSeparatedExpr, len(a.value))
	for i, v := range a.value {
		a.Elements[i].Expr = r.node(v, &place{in: a.at, index: i})
	}
}

// key returns the node for a key; a request has many that are the same.
func (r *request) key(key string) *ast.LiteralString {
	n, ok := r.keys[key]
	if !ok {
		if r.keys == nil {
			r.keys = map[string]*ast.LiteralString{}
		}
		n = stringNode(key)
		r.keys[key] = n
	}
	return n
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
		v, err := force(e, o.i)
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
		v, err := fieldOf(x, o.i, name)
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

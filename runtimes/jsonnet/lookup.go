package jsonnet

import (
	"slices"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// A reader finds the lookups in a function; see [engine.Lookup]. It follows parameters and local variables.
type reader struct {
	host.Lookups
	names map[ast.Identifier]host.Part // what the parameters and local variables are that can be used now; a part is no request if its field is unknown
	depth int
}

const unknown = "-"

// maxRead is how deeply the nodes of a function are read.
const maxRead = 1000

// lookups returns the lookups in a function.
func lookups(f *ast.Function, inProgram *host.LookupCount) []engine.Lookup {
	r := &reader{Lookups: host.Lookups{InProgram: inProgram}, names: map[ast.Identifier]host.Part{}}
	for _, param := range f.Parameters {
		name := string(param.Name)
		part, ok := host.Part{}.Of(name, name)
		switch {
		case len(f.Parameters) == 1 && host.MayTakeWhole(name):
			part = host.Part{Text: name}
		case !ok:
			part = host.Part{Field: unknown}
		}
		r.names[param.Name] = part
	}
	r.read(f.Body)
	return r.Sorted()
}

// read records the lookups in a node.
func (r *reader) read(n ast.Node) {
	if r.depth == maxRead {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	switch n := n.(type) {
	case *ast.Index:
		r.index(n)
	case *ast.Apply:
		r.apply(n)
	case *ast.Function:
		for _, param := range n.Parameters {
			defer r.bind(param.Name)()
		}
	case *ast.Local:
		defer r.locals(n.Binds)()
	case *ast.DesugaredObject:
		defer r.locals(n.Locals)()
	}
	children(n, func(child *ast.Node, _ string) { r.read(*child) })
}

// bind makes a name that of an unknown value, until undo is called.
func (r *reader) bind(name ast.Identifier) (undo func()) {
	before, bound := r.names[name]
	r.names[name] = host.Part{Field: unknown}
	return func() {
		if r.names[name] = before; !bound {
			delete(r.names, name)
		}
	}
}

// locals sets what local variables are, which can also be used in each other, until undo is called.
func (r *reader) locals(binds ast.LocalBinds) (undo func()) {
	undos := make([]func(), len(binds))
	for i, b := range binds {
		undos[i] = r.bind(b.Variable)
	}
	for _, b := range binds {
		if part, ok := r.part(b.Body, 0); ok {
			part.Text = string(b.Variable)
			r.names[b.Variable] = part
		}
	}
	return func() {
		for _, undo := range slices.Backward(undos) {
			undo()
		}
	}
}

// maxParts is how many nodes that may be a part of the request are looked at, one in another.
const maxParts = 20

// part returns the part of the request that a node is.
func (r *reader) part(n ast.Node, depth int) (host.Part, bool) {
	if depth > maxParts {
		return host.Part{}, false
	}
	switch n := n.(type) {
	case *ast.Var:
		part, ok := r.names[n.Id]
		return part, ok && part.Field != unknown
	case *ast.Index:
		of, ok := r.part(n.Target, depth+1)
		if key, text := n.Index.(*ast.LiteralString); ok && text {
			return of.Of(key.Value, of.Text+"."+key.Value)
		}
	}
	return host.Part{}, false
}

// index records the lookup that an index is.
func (r *reader) index(n *ast.Index) {
	key, ok := n.Index.(*ast.LiteralString)
	if of, known := r.part(n.Target, 0); ok && known {
		loc := key.Loc()
		if !inScript(loc) { // in children.Pod
			loc = n.Loc()
		}
		r.Add(of, key.Value, at(loc), of.Text+"['", "']")
	}
}

// apply records the lookup that a call of std.get or std.objectHas is. The operator in has become a call of std.objectHasAll.
func (r *reader) apply(n *ast.Apply) {
	method, ok := n.Target.(*ast.Index)
	if !ok || len(n.Arguments.Positional) < 2 {
		return
	}
	of, known := r.part(n.Arguments.Positional[0].Expr, 0)
	key, text := n.Arguments.Positional[1].Expr.(*ast.LiteralString)
	name, named := method.Index.(*ast.LiteralString)
	library, isVar := method.Target.(*ast.Var)
	if !known || !text || !named || !isVar || !slices.Contains([]string{"get", "objectHas", "objectHasAll"}, name.Value) {
		return
	}
	if _, other := r.names[library.Id]; other {
		return
	}
	switch library.Id {
	case std:
		r.Add(of, key.Value, at(key.Loc()), "'", "' in "+of.Text)
	case "std":
		after := "')"
		if len(n.Arguments.Positional)+len(n.Arguments.Named) > 2 {
			after = "', …)"
		}
		r.Add(of, key.Value, at(key.Loc()), "std."+name.Value+"("+of.Text+", '", after)
	}
}

func at(loc *ast.LocationRange) func() engine.Pos {
	return func() engine.Pos { return position(loc) }
}

package jsonnet

import (
	"slices"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// A reader finds the lookups in a function; see [engine.Lookup]. It follows parameters and local variables.
type reader struct{ host.Lookups }

// parts say which part of the request each name in a function is. A name that is another value has a part with the field unknown.
type parts struct {
	up    *parts
	names map[ast.Identifier]host.Part
}

const unknown = "-"

// maxRead is how deeply the nodes of a function are read.
const maxRead = 1000

// lookups returns the lookups in a function.
func lookups(f *ast.Function) []engine.Lookup {
	in := &parts{nil, map[ast.Identifier]host.Part{}}
	for _, param := range f.Parameters {
		name := string(param.Name)
		part, ok := host.Part{}.Of(name, name)
		switch {
		case len(f.Parameters) == 1 && host.MayTakeWhole(name):
			part = host.Part{Text: name}
		case !ok:
			part = host.Part{Field: unknown}
		}
		in.names[param.Name] = part
	}
	r := &reader{}
	r.read(f.Body, in, 0)
	return r.Sorted()
}

// read records the lookups in a node.
func (r *reader) read(n ast.Node, in *parts, depth int) {
	if depth++; depth > maxRead {
		return
	}
	switch n := n.(type) {
	case *ast.Index:
		r.index(n, in)
	case *ast.Apply:
		r.apply(n, in)
	case *ast.Function:
		inner := &parts{in, map[ast.Identifier]host.Part{}}
		for _, param := range n.Parameters {
			inner.names[param.Name] = host.Part{Field: unknown}
		}
		in = inner
	case *ast.Local:
		in = in.with(n.Binds)
	case *ast.DesugaredObject:
		in = in.with(n.Locals)
	}
	children(n, func(child *ast.Node, _ string) { r.read(*child, in, depth) })
}

// with returns the parts in the scope of variables, which can also be used in each other.
func (p *parts) with(binds ast.LocalBinds) *parts {
	inner := &parts{p, map[ast.Identifier]host.Part{}}
	for _, b := range binds {
		inner.names[b.Variable] = host.Part{Field: unknown}
	}
	for _, b := range binds {
		if part, ok := inner.of(b.Body, 0); ok {
			part.Text = string(b.Variable)
			inner.names[b.Variable] = part
		}
	}
	return inner
}

// of returns the part of the request that a node is.
func (p *parts) of(n ast.Node, depth int) (host.Part, bool) {
	if depth > maxParts {
		return host.Part{}, false
	}
	switch n := n.(type) {
	case *ast.Var:
		part, ok := p.find(n.Id)
		return part, ok && part.Field != unknown
	case *ast.Index:
		of, ok := p.of(n.Target, depth+1)
		if key, text := n.Index.(*ast.LiteralString); ok && text {
			return of.Of(key.Value, of.Text+"."+key.Value)
		}
	}
	return host.Part{}, false
}

// find returns what a name is, if a parameter or a local variable of the function has it.
func (p *parts) find(name ast.Identifier) (host.Part, bool) {
	for ; p != nil; p = p.up {
		if part, ok := p.names[name]; ok {
			return part, true
		}
	}
	return host.Part{}, false
}

// maxParts is how many nodes that may be a part of the request are looked at, one in another.
const maxParts = 20

// index records the lookup that an index is.
func (r *reader) index(n *ast.Index, in *parts) {
	key, ok := n.Index.(*ast.LiteralString)
	if of, known := in.of(n.Target, 0); ok && known {
		at := position(key.Loc())
		if at.Line == 0 { // in children.Pod
			at = position(n.Loc())
		}
		r.Add(of, key.Value, at, of.Text+"['", "']")
	}
}

// apply records the lookup that a call of std.get or std.objectHas is. The operator in has become a call of std.objectHasAll.
func (r *reader) apply(n *ast.Apply, in *parts) {
	method, ok := n.Target.(*ast.Index)
	if !ok || len(n.Arguments.Positional) < 2 {
		return
	}
	of, known := in.of(n.Arguments.Positional[0].Expr, 0)
	key, text := n.Arguments.Positional[1].Expr.(*ast.LiteralString)
	name, named := method.Index.(*ast.LiteralString)
	library, isVar := method.Target.(*ast.Var)
	if !known || !text || !named || !isVar || !slices.Contains([]string{"get", "objectHas", "objectHasAll"}, name.Value) {
		return
	}
	if _, other := in.find(library.Id); other {
		return
	}
	switch {
	case library.Id == std:
		r.Add(of, key.Value, position(key.Loc()), "'", "' in "+of.Text)
	case library.Id == "std":
		after := "')"
		if len(n.Arguments.Positional)+len(n.Arguments.Named) > 2 {
			after = "', …)"
		}
		r.Add(of, key.Value, position(key.Loc()), "std."+name.Value+"("+of.Text+", '", after)
	}
}

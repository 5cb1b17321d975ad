package jsonnet

import (
	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// An outliner makes the outline of a function; see [engine.Outline]. It follows the names of variables, also those of files, and
// the calls of functions.
type outliner struct{ host.Outliner }

// A scope binds names to expressions.
type scope struct {
	up    *scope
	binds ast.LocalBinds
}

// find returns the expression that is bound to a name, and its scope; nil if there is none, or the name is that of a parameter.
func (s *scope) find(name ast.Identifier) (ast.Node, *scope) {
	for ; s != nil; s = s.up {
		for _, b := range s.binds {
			if b.Variable == name {
				return b.Body, s
			}
		}
	}
	return nil, nil
}

// within returns the scope of a function's body.
func (s *scope) within(f *ast.Function) *scope {
	params := make(ast.LocalBinds, len(f.Parameters))
	for i, param := range f.Parameters {
		params[i].Variable = param.Name
	}
	return &scope{s, params}
}

// outline sets the outlines and the lookups of the functions of the program.
func (p *program) outline() {
	top, scopes := &scope{nil, p.binds}, map[*ast.Function]*scope{}
	for _, f := range p.functions {
		if f.code != nil {
			scopes[f.code] = nil
		}
	}
	for _, b := range p.binds {
		top.search(b.Body, scopes)
	}
	o, read, count := &outliner{}, map[*ast.Function][]engine.Lookup{}, &host.LookupCount{}
	for _, name := range p.Functions() {
		f := p.functions[name]
		if in := scopes[f.code]; in != nil {
			f.outline = o.node(f.code.Body, in.within(f.code))
		}
		if _, known := read[f.code]; !known && f.code != nil {
			read[f.code] = lookups(f.code, count)
		}
		f.lookups = read[f.code]
		p.functions[name] = f
	}
}

// search sets the scopes of those functions in n that are keys of scopes.
func (s *scope) search(n ast.Node, scopes map[*ast.Function]*scope) {
	switch n := n.(type) {
	case *ast.Function:
		if _, wanted := scopes[n]; wanted {
			scopes[n] = s
		}
		s = s.within(n)
	case *ast.Local:
		s = &scope{s, n.Binds}
	case *ast.DesugaredObject:
		s = &scope{s, n.Locals}
	}
	children(n, func(child *ast.Node, _ string) { s.search(*child, scopes) })
}

// node returns the outline of the value of a node.
func (o *outliner) node(n ast.Node, in *scope) *engine.Outline {
	if n == nil {
		return nil
	}
	return o.Within(func() *engine.Outline {
		switch n := n.(type) {
		case *ast.Conditional:
			return o.node(n.BranchTrue, in).Or(o.node(n.BranchFalse, in))
		case *ast.Local:
			return o.node(n.Body, &scope{in, n.Binds})
		}
		at := &engine.Outline{Pos: position(n.Loc())}
		switch n := n.(type) {
		case *ast.LiteralString:
			at.Text = host.Text(n.Value)
		case *ast.DesugaredObject:
			o.object(at, n, &scope{in, n.Locals})
		case *ast.Array:
			at.Items = []*engine.Outline{}
			for _, e := range n.Elements {
				at.Items = append(at.Items, o.node(e.Expr, in))
			}
		case *ast.Binary:
			if n.Op == ast.BopPlus {
				at.Either = host.Sum(o.node(n.Left, in), o.node(n.Right, in))
			}
		case *ast.Var:
			if value, of := in.find(n.Id); value != nil {
				return o.node(value, of)
			}
		case *ast.Apply:
			return o.apply(at, n, in)
		}
		return at
	})
}

func (o *outliner) object(at *engine.Outline, n *ast.DesugaredObject, in *scope) {
	at.Fields = map[string]*engine.Outline{}
	for i := range n.Fields {
		field := &n.Fields[i]
		if name, ok := field.Name.(*ast.LiteralString); ok && field.Hide != ast.ObjectFieldHidden {
			at.Fields[name.Value] = &engine.Outline{Key: position(&field.LocRange), Either: []*engine.Outline{o.node(field.Body, in)}}
		}
	}
}

// apply returns the outline of the result of a call: of a function of the script, or of one of std that calls such a function for
// each element. A list comprehension is a call of flatMap.
func (o *outliner) apply(at *engine.Outline, n *ast.Apply, in *scope) *engine.Outline {
	if f, of := o.function(n.Target, in, 0); f != nil {
		if result := o.node(f.Body, of.within(f)); result != nil {
			return result
		}
		return at
	}
	index, ok := n.Target.(*ast.Index)
	if !ok || len(n.Arguments.Positional) == 0 {
		return at
	}
	f, of := o.function(n.Arguments.Positional[0].Expr, in, 0)
	name, ok := index.Index.(*ast.LiteralString)
	if !ok || f == nil {
		return at
	}
	switch result := o.node(f.Body, of.within(f)); name.Value {
	case "map", "mapWithIndex", "filterMap":
		at.Each = result
	case "flatMap", "$flatMapArray":
		at.Each = host.AnyElement(result)
	}
	return at
}

// function returns the function that an expression is, and its scope, or nil.
func (o *outliner) function(n ast.Node, in *scope, depth int) (*ast.Function, *scope) {
	switch n := n.(type) {
	case *ast.Function:
		return n, in
	case *ast.Var:
		if value, of := in.find(n.Id); value != nil && depth < 5 {
			return o.function(value, of, depth+1)
		}
	case *ast.Local:
		return o.function(n.Body, &scope{in, n.Binds}, depth)
	}
	return nil, nil
}

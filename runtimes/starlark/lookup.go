package starlark

import (
	"go.starlark.net/syntax"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// A reader finds the lookups in a function; see [engine.Lookup]. Functions and comprehensions in it count as parts of it. It follows
// parameters, and variables that are set once.
type reader struct {
	host.Lookups
	bound map[string]int         // how often each name is bound
	parts map[string]host.Part   // what the parameters are
	set   map[string]syntax.Expr // what variables are set to
	whole bool                   // the function was read to the end, so that bound is complete
}

// lookups returns the lookups in a function.
func lookups(f *syntax.DefStmt, inProgram *host.LookupCount) []engine.Lookup {
	r := &reader{Lookups: host.Lookups{InProgram: inProgram}, bound: map[string]int{}, parts: map[string]host.Part{}, set: map[string]syntax.Expr{}, whole: true}
	for _, param := range f.Params {
		name, named := parameterName(param)
		r.bound[name]++
		switch {
		case named && len(f.Params) == 1 && host.MayTakeWhole(name):
			r.parts[name] = host.Part{Text: name}
		case named:
			if part, ok := (host.Part{}).Of(name, name); ok {
				r.parts[name] = part
			}
		}
	}
	r.walk(f.Body, r.bind)
	if r.whole {
		r.walk(f.Body, r.look)
	}
	return r.Sorted()
}

// parameterName returns the name of a parameter. It is not named if it is *args or **kwargs.
func parameterName(param syntax.Expr) (name string, named bool) {
	named = true
	switch p := param.(type) {
	case *syntax.BinaryExpr: // with a default
		param = p.X
	case *syntax.UnaryExpr:
		param, named = p.X, false
	}
	id, ok := param.(*syntax.Ident)
	if !ok {
		return "", false
	}
	return id.Name, named
}

// walk visits the nodes in statements. It sets whole to false if some are too deep.
func (r *reader) walk(body []syntax.Stmt, visit func(syntax.Node)) {
	depth := 0
	for _, stmt := range body {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if n == nil { // the end of a node for which this function returned true
				depth--
				return false
			}
			if depth == maxWalked {
				r.whole = false
				return false
			}
			depth++
			visit(n)
			return true
		})
	}
}

// bind records what a node binds.
func (r *reader) bind(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.AssignStmt:
		r.target(n.LHS, 0)
		if id, ok := n.LHS.(*syntax.Ident); ok && n.Op == syntax.EQ {
			r.set[id.Name] = n.RHS
		}
	case *syntax.ForStmt:
		r.target(n.Vars, 0)
	case *syntax.ForClause:
		r.target(n.Vars, 0)
	case *syntax.DefStmt:
		r.target(n.Name, 0)
		r.parameters(n.Params)
	case *syntax.LambdaExpr:
		r.parameters(n.Params)
	}
}

func (r *reader) parameters(params []syntax.Expr) {
	for _, param := range params {
		name, _ := parameterName(param)
		r.bound[name]++
	}
}

// target records the names that an assignment or a loop binds.
func (r *reader) target(e syntax.Expr, depth int) {
	if depth > maxSteps {
		r.whole = false
		return
	}
	switch e := e.(type) {
	case *syntax.Ident:
		r.bound[e.Name]++
	case *syntax.ParenExpr:
		r.target(e.X, depth+1)
	case *syntax.TupleExpr:
		for _, item := range e.List {
			r.target(item, depth+1)
		}
	case *syntax.ListExpr:
		for _, item := range e.List {
			r.target(item, depth+1)
		}
	}
}

// part returns the part of the request that an expression is.
func (r *reader) part(e syntax.Expr, depth int) (host.Part, bool) {
	if depth > maxSteps {
		return host.Part{}, false
	}
	switch e := e.(type) {
	case *syntax.Ident:
		if r.bound[e.Name] != 1 {
			return host.Part{}, false
		}
		if part, ok := r.parts[e.Name]; ok {
			return part, true
		}
		part, ok := r.part(r.set[e.Name], depth+1)
		part.Text = e.Name
		return part, ok
	case *syntax.ParenExpr:
		return r.part(e.X, depth+1)
	case *syntax.BinaryExpr: // request.related or {}
		if e.Op == syntax.OR {
			return r.part(e.X, depth+1)
		}
	case *syntax.DotExpr:
		if of, ok := r.part(e.X, depth+1); ok {
			return of.Of(e.Name.Name, of.Text+"."+e.Name.Name)
		}
	case *syntax.IndexExpr:
		of, ok := r.part(e.X, depth+1)
		if key, text := literalText(e.Y); ok && text {
			return of.Of(key, of.Text+`["`+key+`"]`)
		}
	}
	return host.Part{}, false
}

// look records the lookup that a node is.
func (r *reader) look(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.IndexExpr:
		r.add(n.X, n.Y, `["`, `"]`)
	case *syntax.DotExpr:
		if _, method := dictMethods[n.Name.Name]; method {
			return
		}
		if part, ok := r.part(n.X, 0); ok {
			r.Add(part, n.Name.Name, at(n.Name.NamePos), part.Text+`["`, `"]`)
		}
	case *syntax.CallExpr:
		method, ok := n.Fn.(*syntax.DotExpr)
		if !ok || method.Name.Name != "get" || len(n.Args) == 0 {
			return
		}
		after := `")`
		if len(n.Args) > 1 {
			after = `", …)`
		}
		r.add(method.X, n.Args[0], `.get("`, after)
	case *syntax.BinaryExpr:
		part, ok := r.part(n.Y, 0)
		key, text := literalText(n.X)
		if start, _ := n.X.Span(); ok && text && (n.Op == syntax.IN || n.Op == syntax.NOT_IN) {
			r.Add(part, key, at(start), `"`, `" `+n.Op.String()+" "+part.Text)
		}
	}
}

// add records a lookup of a key in an expression, if it is a constant and the expression is a part of the request.
func (r *reader) add(of, key syntax.Expr, before, after string) {
	text, ok := literalText(key)
	if part, known := r.part(of, 0); ok && known {
		start, _ := key.Span()
		r.Add(part, text, at(start), part.Text+before, after)
	}
}

func at(pos syntax.Position) func() engine.Pos {
	return func() engine.Pos { return position(pos) }
}

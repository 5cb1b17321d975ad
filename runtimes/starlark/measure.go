package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"metascript/engine"
	"metascript/runtimes/internal/measure"
)

// A costMeter visits the syntax tree of a file and counts what the resolver and the compiler will do for it.
type costMeter struct {
	tally     measure.Tally // of the script
	scopes    measure.Scopes
	ancestors []syntax.Node   // from the outermost to the current node
	used      []*syntax.Ident // all uses of names
	fault     *engine.Error
}

// checkCosts returns an error for a file that would take too long to resolve and to compile. The tree must have been rewritten:
// rewrite limits its nesting.
func checkCosts(tree *syntax.File, tally measure.Tally) *engine.Error {
	m := &costMeter{tally: tally}
	m.scopes.Enter()
	for _, stmt := range tree.Stmts {
		syntax.Walk(stmt, m.node)
	}
	if m.fault == nil {
		m.checkUndefined()
	}
	return m.fault
}

// exceed records the first bound that is exceeded.
func (m *costMeter) exceed(b *measure.Bound, at syntax.Position) {
	if m.fault == nil {
		m.fault = b.Exceeded(position(at))
	}
}

// node is called by syntax.Walk: for each node, and with nil after the children of a node.
func (m *costMeter) node(n syntax.Node) bool {
	if m.fault != nil {
		return false
	}
	if n == nil {
		m.leave(m.ancestors[len(m.ancestors)-1])
		m.ancestors = m.ancestors[:len(m.ancestors)-1]
		return true
	}
	m.ancestors = append(m.ancestors, n)
	m.enter(n)
	return true
}

func (m *costMeter) enter(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Ident:
		if m.isUse(n) {
			m.scopes.Use(n.Name)
			m.used = append(m.used, n)
		}
	case *syntax.AssignStmt:
		m.declare(n.LHS)
	case *syntax.ForStmt:
		m.declare(n.Vars)
	case *syntax.LoadStmt:
		for _, name := range n.To {
			m.declare(name)
		}
	case *syntax.DefStmt:
		m.declare(n.Name)
		m.function(n.Params)
	case *syntax.LambdaExpr:
		m.function(n.Params)
	case *syntax.Comprehension:
		m.scopes.Enter()
		for _, clause := range n.Clauses {
			if f, ok := clause.(*syntax.ForClause); ok {
				m.declare(f.Vars)
			}
		}
	}
}

// isUse reports whether an identifier is a use of a name, and not an attribute, the keyword of an argument, or part of a load
// statement.
func (m *costMeter) isUse(id *syntax.Ident) bool {
	if len(m.ancestors) < 2 {
		return true
	}
	switch parent := m.ancestors[len(m.ancestors)-2].(type) {
	case *syntax.DotExpr:
		return parent.Name != id
	case *syntax.BinaryExpr:
		return parent.Op != syntax.EQ || parent.X != id
	case *syntax.LoadStmt:
		return false
	}
	return true
}

func (m *costMeter) leave(n syntax.Node) {
	switch n.(type) {
	case *syntax.DefStmt, *syntax.LambdaExpr, *syntax.Comprehension:
		if captures := m.scopes.Leave(); !m.tally.Add(measure.Captures, captures) {
			start, _ := n.Span()
			m.exceed(measure.Captures, start)
		}
	}
}

// function enters the scope of a function, and declares its parameters.
func (m *costMeter) function(params []syntax.Expr) {
	m.scopes.Enter()
	for i, param := range params {
		if i == measure.Parameters.Max {
			start, _ := param.Span()
			m.exceed(measure.Parameters, start)
		}
		m.declare(param)
	}
}

// declare declares the names that an assignment to target, or a parameter, binds.
func (m *costMeter) declare(target syntax.Expr) {
	for part := range targets(target) {
		switch x := part.(type) {
		case *syntax.Ident:
			m.scopes.Declare(x.Name)
		case *syntax.BinaryExpr: // a parameter with a default
			m.declare(x.X)
		case *syntax.UnaryExpr: // *args
			m.declare(x.X)
		}
	}
}

// checkUndefined limits how long the resolver searches for names that are similar to undefined names.
func (m *costMeter) checkUndefined() {
	known := func(name string) bool { return predeclared.Has(name) || starlark.Universe.Has(name) }
	names, uses := m.scopes.Undefined(known)
	if uses < 2 || m.tally.Add(measure.Undefined, names*uses) {
		return
	}
	for _, id := range m.used {
		if !known(id.Name) && !m.scopes.Declared(id.Name) {
			m.exceed(measure.Undefined, id.NamePos)
			m.fault.Kind, m.fault.Msg = engine.KindSyntax, "undefined: "+clip(id.Name)+", and many names more"
			return
		}
	}
}

package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"metascript/engine"
	"metascript/runtimes/internal/measure"
)

// costs walks the syntax tree of a file and counts what the resolver and the compiler will do for it.
type costs struct {
	tally  measure.Tally // of the script
	scopes measure.Scopes
	open   []syntax.Node // the nodes around
	used   []*syntax.Ident
	fault  *engine.Error
}

// measured refuses a file that would take too long to resolve and to compile. The tree is one that is rewritten, and so
// not nested too deeply to go through.
func measured(tree *syntax.File, tally measure.Tally) *engine.Error {
	m := &costs{tally: tally}
	m.scopes.Enter()
	for _, stmt := range tree.Stmts {
		syntax.Walk(stmt, m.node)
	}
	if m.fault == nil {
		m.undefined()
	}
	return m.fault
}

// pass notes the first bound that is passed.
func (m *costs) pass(b *measure.Bound, at syntax.Position) {
	if m.fault == nil {
		m.fault = b.Passed(position(at))
	}
}

// node is called for each node, and with nil when it has been gone through.
func (m *costs) node(n syntax.Node) bool {
	if m.fault != nil {
		return false
	}
	if n == nil {
		m.leave(m.open[len(m.open)-1])
		m.open = m.open[:len(m.open)-1]
		return true
	}
	m.open = append(m.open, n)
	m.enter(n)
	return true
}

func (m *costs) enter(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Ident:
		if m.means(n) {
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

// means reports whether an identifier means what is bound to the name: it is no attribute, no keyword of a call, and not in
// a load.
func (m *costs) means(id *syntax.Ident) bool {
	if len(m.open) < 2 {
		return true
	}
	switch around := m.open[len(m.open)-2].(type) {
	case *syntax.DotExpr:
		return around.Name != id
	case *syntax.BinaryExpr:
		return around.Op != syntax.EQ || around.X != id
	case *syntax.LoadStmt:
		return false
	}
	return true
}

func (m *costs) leave(n syntax.Node) {
	switch n.(type) {
	case *syntax.DefStmt, *syntax.LambdaExpr, *syntax.Comprehension:
		if captures := m.scopes.Leave(); !m.tally.Add(measure.Captures, captures) {
			start, _ := n.Span()
			m.pass(measure.Captures, start)
		}
	}
}

// function begins the scope of a function.
func (m *costs) function(params []syntax.Expr) {
	m.scopes.Enter()
	for i, param := range params {
		if i == measure.Parameters.Most {
			start, _ := param.Span()
			m.pass(measure.Parameters, start)
		}
		m.declare(param)
	}
}

// declare declares the names that an assignment to target, or a parameter, binds.
func (m *costs) declare(target syntax.Expr) {
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

// undefined bounds how long the resolver looks for names that are like those that are not defined.
func (m *costs) undefined() {
	known := func(name string) bool { return predeclared.Has(name) || starlark.Universe.Has(name) }
	names, uses := m.scopes.Undefined(known)
	if uses < 2 || m.tally.Add(measure.Undefined, names*uses) {
		return
	}
	for _, id := range m.used {
		if !known(id.Name) && !m.scopes.Declared(id.Name) {
			m.pass(measure.Undefined, id.NamePos)
			m.fault.Kind, m.fault.Msg = engine.KindSyntax, "undefined: "+clip(id.Name)+", and many names more"
			return
		}
	}
}

package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// The operators for which a view has to be taken for a dict or list become calls of builtins of ours, whose names
// no script can write:
//
//	x == y   x != y   x < y   x <= y   x > y   x >= y   x in y   x not in y   x |= y
//
// An operand that is a literal number or string is no dict or list: then the operator stays, which is faster.
var operators = starlark.StringDict{
	"==": starlark.NewBuiltin("==", operatorEqual),
	"<":  starlark.NewBuiltin("<", ordering(syntax.LT)),
	"<=": starlark.NewBuiltin("<=", ordering(syntax.LE)),
	">":  starlark.NewBuiltin(">", ordering(syntax.GT)),
	">=": starlark.NewBuiltin(">=", ordering(syntax.GE)),
	"in": starlark.NewBuiltin("in", operatorIn),
	"|=": starlark.NewBuiltin("|=", operatorUpdate),
}

func operatorEqual(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	same, err := equal(args[0], args[1], evaluationOf(thread).spend)
	return starlark.Bool(same), err
}

func ordering(op syntax.Token) method {
	return func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		holds, err := inOrder(op, args[0], args[1], maxCompared, evaluationOf(thread).spend)
		return starlark.Bool(holds), err
	}
}

func operatorIn(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch y := args[1].(type) {
	case *starlark.List, starlark.Tuple, slice:
		found, err := has(y.(starlark.Indexable), args[0], evaluationOf(thread).spend)
		return starlark.Bool(found), err
	}
	return starlark.Binary(syntax.IN, args[0], args[1])
}

// operatorUpdate gives what the right side of x |= y should be: the interpreter changes the dict x when y is one.
func operatorUpdate(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if d, ok := args[0].(dict); ok {
		return d.copied(), nil
	}
	return args[0], nil
}

// rewrite replaces the operators in a file that is not resolved yet.
func rewrite(file *syntax.File) { rewriteAll(file.Stmts) }

func rewriteAll(stmts []syntax.Stmt) {
	for _, stmt := range stmts {
		rewriteStmt(stmt)
	}
}

func rewriteStmt(stmt syntax.Stmt) {
	switch s := stmt.(type) {
	case *syntax.AssignStmt:
		rewriteExpr(&s.LHS)
		rewriteExpr(&s.RHS)
		if _, literal := s.RHS.(*syntax.DictExpr); s.Op == syntax.PIPE_EQ && !literal {
			s.RHS = call("|=", s.OpPos, s.RHS)
		}
	case *syntax.DefStmt:
		rewriteExprs(s.Params)
		rewriteAll(s.Body)
	case *syntax.ExprStmt:
		rewriteExpr(&s.X)
	case *syntax.ForStmt:
		rewriteExpr(&s.X)
		rewriteAll(s.Body)
	case *syntax.WhileStmt:
		rewriteExpr(&s.Cond)
		rewriteAll(s.Body)
	case *syntax.IfStmt:
		rewriteExpr(&s.Cond)
		rewriteAll(s.True)
		rewriteAll(s.False)
	case *syntax.ReturnStmt:
		rewriteExpr(&s.Result)
	}
}

func rewriteExprs(exprs []syntax.Expr) {
	for i := range exprs {
		rewriteExpr(&exprs[i])
	}
}

// rewriteExpr rewrites the expression at slot, if there is one, and all within.
func rewriteExpr(slot *syntax.Expr) {
	switch e := (*slot).(type) {
	case *syntax.BinaryExpr:
		rewriteExpr(&e.X)
		rewriteExpr(&e.Y)
		*slot = rewriteOperator(e)
	case *syntax.CallExpr:
		rewriteExpr(&e.Fn)
		rewriteExprs(e.Args)
	case *syntax.Comprehension:
		rewriteComprehension(e)
	case *syntax.CondExpr:
		rewriteEach(&e.Cond, &e.True, &e.False)
	case *syntax.DictEntry:
		rewriteEach(&e.Key, &e.Value)
	case *syntax.DictExpr:
		rewriteExprs(e.List)
	case *syntax.DotExpr:
		rewriteExpr(&e.X)
	case *syntax.IndexExpr:
		rewriteEach(&e.X, &e.Y)
	case *syntax.LambdaExpr:
		rewriteExprs(e.Params)
		rewriteExpr(&e.Body)
	case *syntax.ListExpr:
		rewriteExprs(e.List)
	case *syntax.ParenExpr:
		rewriteExpr(&e.X)
	case *syntax.SliceExpr:
		rewriteEach(&e.X, &e.Lo, &e.Hi, &e.Step)
	case *syntax.TupleExpr:
		rewriteExprs(e.List)
	case *syntax.UnaryExpr:
		rewriteExpr(&e.X)
	}
}

func rewriteEach(slots ...*syntax.Expr) {
	for _, slot := range slots {
		rewriteExpr(slot)
	}
}

func rewriteComprehension(e *syntax.Comprehension) {
	rewriteExpr(&e.Body)
	for _, clause := range e.Clauses {
		switch c := clause.(type) {
		case *syntax.ForClause:
			rewriteExpr(&c.X)
		case *syntax.IfClause:
			rewriteExpr(&c.Cond)
		}
	}
}

func rewriteOperator(e *syntax.BinaryExpr) syntax.Expr {
	switch e.Op {
	case syntax.EQL, syntax.NEQ:
		if !isLiteral(e.X) && !isLiteral(e.Y) {
			return negate(e, syntax.NEQ, call("==", e.OpPos, e.X, e.Y))
		}
	case syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		if !isLiteral(e.X) && !isLiteral(e.Y) {
			return call(e.Op.String(), e.OpPos, e.X, e.Y)
		}
	case syntax.IN, syntax.NOT_IN:
		if !isLiteral(e.X) && !isLiteral(e.Y) {
			return negate(e, syntax.NOT_IN, call("in", e.OpPos, e.X, e.Y))
		}
	}
	return e
}

// negate negates the call if e is the operator that means the opposite.
func negate(e *syntax.BinaryExpr, opposite syntax.Token, call syntax.Expr) syntax.Expr {
	if e.Op == opposite {
		return &syntax.UnaryExpr{OpPos: e.OpPos, Op: syntax.NOT, X: call}
	}
	return call
}

func isLiteral(e syntax.Expr) bool {
	_, ok := e.(*syntax.Literal)
	return ok
}

// call calls one of the operators. Its errors have the position pos.
func call(operator string, pos syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: pos, Name: operator}, Lparen: pos, Args: args, Rparen: pos}
}

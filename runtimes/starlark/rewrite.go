package starlark

import (
	"iter"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"metascript/engine"
	"metascript/runtimes/internal/measure"
)

// A rewriter replaces operators and method calls in a parsed file by calls of the guards (guard.go). It does not replace an
// operator that is harmless because an operand is a literal, which is faster.
type rewriter struct {
	depth   int
	tooDeep *syntax.Position // the position where the file is nested too deeply, or nil
	fault   *engine.Error    // the error for syntax that has no rule or is not allowed, or nil

	literals map[uint32]map[string]bool // literals that are keys, by the hash bucket to which they belong
}

// maxSyntax is the maximum nesting of statements and expressions: the resolver and the compiler recurse. A chain of operators
// or of elifs is nested as deeply as it is long.
var maxSyntax = measure.StarlarkTree.Max

// rewrite rewrites a parsed file in place. It returns an error for a file that is nested too deeply or has syntax without a rule.
func rewrite(file *syntax.File) *engine.Error {
	r := &rewriter{}
	r.stmts(file.Stmts)
	if r.tooDeep == nil {
		return r.fault
	}
	return measure.StarlarkTree.Exceeded(position(*r.tooDeep))
}

// enter increases the depth, and reports whether n is still to be visited.
func (r *rewriter) enter(n syntax.Node) bool {
	if r.depth++; r.depth > maxSyntax && r.tooDeep == nil {
		start, _ := n.Span()
		r.tooDeep = &start
	}
	return r.tooDeep == nil
}

func (r *rewriter) leave() { r.depth-- }

// target records an error if e, the target of an assignment, has a slice in it. The resolver would report it, but sees a call of
// the guard instead.
func (r *rewriter) target(e syntax.Expr) {
	for part := range targets(e) {
		if slice, ok := part.(*syntax.SliceExpr); ok {
			r.fault = &engine.Error{
				Kind: engine.KindSyntax, Pos: position(slice.Lbrack), Msg: "a slice can't be assigned to",
				Hint: "make a new list, such as x[:i] + y + x[j:]",
			}
		}
	}
}

// targets yields the targets of an assignment to e: the elements of a tuple or a list, without parentheses.
func targets(e syntax.Expr) iter.Seq[syntax.Expr] {
	return func(yield func(syntax.Expr) bool) { eachTarget(e, yield) }
}

func eachTarget(e syntax.Expr, yield func(syntax.Expr) bool) bool {
	var parts []syntax.Expr
	switch e := unparen(e).(type) {
	case *syntax.TupleExpr:
		parts = e.List
	case *syntax.ListExpr:
		parts = e.List
	default:
		return yield(e)
	}
	for _, part := range parts {
		if !eachTarget(part, yield) {
			return false
		}
	}
	return true
}

// unknown records the error for syntax that has no rule.
func (r *rewriter) unknown(n syntax.Node) {
	start, _ := n.Span()
	r.fault = &engine.Error{Kind: engine.KindSyntax, Pos: position(start), Msg: "there is no such operator or statement here"}
}

func (r *rewriter) stmts(stmts []syntax.Stmt) {
	for i, stmt := range stmts {
		stmts[i] = r.stmt(stmt)
	}
}

func (r *rewriter) stmt(stmt syntax.Stmt) syntax.Stmt {
	if r.tooDeep != nil {
		return stmt
	}
	defer r.leave()
	if !r.enter(stmt) {
		return stmt
	}
	switch s := stmt.(type) {
	case *syntax.AssignStmt:
		r.target(s.LHS)
		r.each(&s.LHS, &s.RHS)
		if _, ok := assignRules[s.Op]; !ok {
			r.unknown(stmt)
		}
		return assignment(s)
	case *syntax.DefStmt:
		r.exprs(s.Params)
		r.stmts(s.Body)
	case *syntax.ExprStmt:
		r.expr(&s.X)
	case *syntax.ForStmt:
		r.target(s.Vars)
		r.each(&s.Vars, &s.X)
		r.stmts(s.Body)
	case *syntax.WhileStmt:
		r.expr(&s.Cond)
		r.stmts(s.Body)
	case *syntax.IfStmt:
		r.expr(&s.Cond)
		r.stmts(s.True)
		r.stmts(s.False)
	case *syntax.ReturnStmt:
		r.expr(&s.Result)
	case *syntax.BranchStmt, *syntax.LoadStmt:
	default:
		r.unknown(stmt)
	}
	return stmt
}

// augmented has the augmented assignments whose operator has a guard: x op= y becomes x = op(x, y).
var augmented = map[syntax.Token]syntax.Token{
	syntax.STAR_EQ: syntax.STAR, syntax.PERCENT_EQ: syntax.PERCENT, syntax.LTLT_EQ: syntax.LTLT,
	syntax.MINUS_EQ: syntax.MINUS, syntax.AMP_EQ: syntax.AMP, syntax.CIRCUMFLEX_EQ: syntax.CIRCUMFLEX,
}

// assignment rewrites the operator of an assignment.
func assignment(s *syntax.AssignStmt) syntax.Stmt {
	op, hasGuard := augmented[s.Op]
	switch s.Op {
	case syntax.MINUS_EQ, syntax.AMP_EQ, syntax.CIRCUMFLEX_EQ: // expensive for collections only, and no literal is one
		hasGuard = !isLiteral(s.RHS)
	}
	adds := s.Op == syntax.PLUS_EQ && !isNumber(s.RHS)
	switch x := unparen(s.LHS).(type) {
	case *syntax.DotExpr:
		if s.Op != syntax.EQ {
			return &syntax.ExprStmt{X: call(".=", x.Dot, x.X, s.RHS)}
		}
	case *syntax.IndexExpr:
		if hasGuard || adds {
			return &syntax.ExprStmt{X: call("[]"+s.Op.String(), x.Lbrack, x.X, x.Y, s.RHS)}
		}
	case *syntax.Ident:
		switch read := *x; {
		case hasGuard:
			s.Op, s.RHS = syntax.EQ, call(op.String(), s.OpPos, &read, s.RHS)
		case adds:
			s.RHS = call("+=", s.OpPos, s.RHS, &read)
		}
	}
	if _, literal := s.RHS.(*syntax.DictExpr); s.Op == syntax.PIPE_EQ && !literal {
		s.RHS = call("|=", s.OpPos, s.RHS)
	}
	return s
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

func (r *rewriter) exprs(exprs []syntax.Expr) {
	for i := range exprs {
		r.expr(&exprs[i])
	}
}

func (r *rewriter) each(slots ...*syntax.Expr) {
	for _, slot := range slots {
		r.expr(slot)
	}
}

// expr rewrites the expression at slot and the expressions in it. The expression may be nil.
func (r *rewriter) expr(slot *syntax.Expr) {
	if *slot == nil || r.tooDeep != nil {
		return
	}
	defer r.leave()
	if !r.enter(*slot) {
		return
	}
	switch e := (*slot).(type) {
	case *syntax.BinaryExpr:
		r.each(&e.X, &e.Y)
		if _, ok := binaryRules[e.Op]; !ok {
			r.unknown(e)
		}
		*slot = operation(e)
	case *syntax.CallExpr:
		*slot = r.call(e)
	case *syntax.Comprehension:
		r.comprehension(e)
	case *syntax.CondExpr:
		r.each(&e.Cond, &e.True, &e.False)
	case *syntax.DictEntry:
		r.each(&e.Key, &e.Value)
		e.Key = r.key(e.Key)
	case *syntax.DictExpr:
		r.exprs(e.List)
	case *syntax.DotExpr:
		r.expr(&e.X)
		e.Dot = e.Name.NamePos // errors are about the name
		if name := e.Name.Name; guardedMethods[name] || keyedMethods[name] || withoutRule[name] {
			*slot = call(".", e.Dot, e.X, text(e.Name.NamePos, name))
		}
	case *syntax.IndexExpr:
		r.each(&e.X, &e.Y)
		e.Y = r.key(e.Y)
	case *syntax.LambdaExpr:
		r.exprs(e.Params)
		r.expr(&e.Body)
	case *syntax.ListExpr:
		r.exprs(e.List)
	case *syntax.ParenExpr:
		r.expr(&e.X)
	case *syntax.SliceExpr:
		r.each(&e.X, &e.Lo, &e.Hi, &e.Step)
		guard := "[:]"
		if e.Step != nil {
			guard = "[::]"
		}
		*slot = call(guard, e.Lbrack, e)
	case *syntax.TupleExpr:
		r.exprs(e.List)
	case *syntax.UnaryExpr:
		r.expr(&e.X)
		if _, ok := unaryRules[e.Op]; !ok {
			r.unknown(e)
		}
	case *syntax.Ident, *syntax.Literal:
	default:
		r.unknown(e)
	}
}

// call rewrites a call. A method that is called gets another guard than a method that is only looked up.
func (r *rewriter) call(e *syntax.CallExpr) syntax.Expr {
	dot, ok := e.Fn.(*syntax.DotExpr)
	if ok {
		r.expr(&dot.X)
		dot.Dot = dot.Name.NamePos
	} else {
		r.expr(&e.Fn)
	}
	r.exprs(e.Args)
	for _, arg := range e.Args {
		star, ok := arg.(*syntax.UnaryExpr)
		switch {
		case ok && star.Op == syntax.STAR:
			star.X = call("f(*", star.OpPos, star.X)
		case ok && star.Op == syntax.STARSTAR:
			star.X = call("f(**", star.OpPos, star.X)
		}
	}
	switch {
	case !ok:
	case guardedMethods[dot.Name.Name] || withoutRule[dot.Name.Name]:
		args := append([]syntax.Expr{dot.X, text(dot.Name.NamePos, dot.Name.Name)}, e.Args...)
		return &syntax.CallExpr{Fn: ident(".()", dot.Dot), Lparen: e.Lparen, Args: args, Rparen: e.Rparen}
	case keyedMethods[dot.Name.Name] && len(e.Args) > 0:
		if star, ok := e.Args[0].(*syntax.UnaryExpr); ok && star.Op == syntax.STAR {
			e.Fn = call(".", dot.Dot, dot.X, text(dot.Name.NamePos, dot.Name.Name))
			break
		}
		e.Args[0] = r.key(e.Args[0])
	}
	return e
}

func (r *rewriter) comprehension(e *syntax.Comprehension) {
	r.expr(&e.Body)
	for _, clause := range e.Clauses {
		switch c := clause.(type) {
		case *syntax.ForClause:
			r.target(c.Vars)
			r.each(&c.Vars, &c.X)
		case *syntax.IfClause:
			r.expr(&c.Cond)
		}
	}
}

// operation rewrites an operator.
func operation(e *syntax.BinaryExpr) syntax.Expr {
	x, y := isLiteral(e.X), isLiteral(e.Y)
	switch e.Op {
	case syntax.EQL, syntax.NEQ:
		if !x && !y {
			return negate(e, syntax.NEQ, call("==", e.OpPos, e.X, e.Y))
		}
	case syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		if !x && !y {
			return call(e.Op.String(), e.OpPos, e.X, e.Y)
		}
	case syntax.IN, syntax.NOT_IN:
		if !x && !y {
			return negate(e, syntax.NOT_IN, call("in", e.OpPos, e.X, e.Y))
		}
	case syntax.PLUS: // numbers can be added to numbers only
		if !isNumber(e.X) && !isNumber(e.Y) {
			return call("+", e.OpPos, e.X, e.Y)
		}
	case syntax.MINUS, syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX: // expensive for collections only, and no literal is one
		if !x && !y {
			return call(e.Op.String(), e.OpPos, e.X, e.Y)
		}
	case syntax.STAR, syntax.LTLT, syntax.PERCENT:
		return call(e.Op.String(), e.OpPos, e.X, e.Y)
	}
	return e
}

// negate returns not call if the operator of e is opposite, else call.
func negate(e *syntax.BinaryExpr, opposite syntax.Token, call syntax.Expr) syntax.Expr {
	if e.Op == opposite {
		return &syntax.UnaryExpr{OpPos: e.OpPos, Op: syntax.NOT, X: call}
	}
	return call
}

// isLiteral reports whether e is a literal number or short string. Long ones do not count: they may be compared with every
// element of a list.
func isLiteral(e syntax.Expr) bool {
	literal, ok := e.(*syntax.Literal)
	return ok && len(literal.Raw) <= smallSize
}

// isNumber reports whether e is a literal number.
func isNumber(e syntax.Expr) bool {
	literal, ok := e.(*syntax.Literal)
	return ok && (literal.Token == syntax.INT || literal.Token == syntax.FLOAT)
}

// key returns a call of the guard for an expression whose value is hashed. It returns a keyword argument as it is.
func (r *rewriter) key(e syntax.Expr) syntax.Expr {
	if named, ok := e.(*syntax.BinaryExpr); ok && named.Op == syntax.EQ {
		return e
	}
	if literal, ok := e.(*syntax.Literal); ok && r.fewCollide(literal) {
		return e
	}
	start, _ := e.Span()
	return call("[key]", start, e)
}

// maxLiterals is how many literals of a file may belong to the same hash bucket before further ones are counted like other keys.
const maxLiterals = 16

// fewCollide reports whether few literals belong to the same hash bucket as this one: like any key, a literal can be chosen to
// collide.
func (r *rewriter) fewCollide(literal *syntax.Literal) bool {
	var v starlark.Value
	switch value := literal.Value.(type) {
	case string:
		if v = starlark.String(value); len(value) > maxUnseeded {
			return true
		}
	case int64:
		v = starlark.MakeInt64(value)
	case float64:
		v = starlark.Float(value)
	default:
		return false
	}
	hash, err := v.Hash()
	if err != nil {
		return false
	}
	if r.literals == nil {
		r.literals = map[uint32]map[string]bool{}
	}
	bucket := hash % hashBuckets
	if r.literals[bucket] == nil {
		r.literals[bucket] = map[string]bool{}
	}
	r.literals[bucket][literal.Raw] = true
	return len(r.literals[bucket]) <= maxLiterals
}

// call returns a call of a guard. Errors of the guard have the position pos.
func call(guard string, pos syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: ident(guard, pos), Lparen: pos, Args: args, Rparen: pos}
}

func ident(name string, pos syntax.Position) *syntax.Ident {
	return &syntax.Ident{NamePos: pos, Name: name}
}

func text(pos syntax.Position, s string) syntax.Expr {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: pos, Raw: starlark.String(s).String(), Value: s}
}

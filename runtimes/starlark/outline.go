package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// An outliner makes the outlines of the functions of one file; see [engine.Outline]. It follows the names of variables, and the
// calls of functions that are defined at the top level.
type outliner struct {
	host.Outliner
	defined map[string]*syntax.DefStmt
	scopes  map[*syntax.DefStmt]*scope
	loaded  map[string]*engine.Outline // of functions of other files
	top     *scope
}

// A scope has what the names in a function mean, without its parameters.
type scope struct {
	up        *scope
	variables map[string]*variable
	returned  []syntax.Expr
}

// A variable has what the statements of a function put into it.
type variable struct {
	values   []syntax.Expr // it is set to these
	elements []syntax.Expr // these are appended
	lists    []syntax.Expr // the elements of these are appended
	members  []syntax.Expr // it is an element of these
	updates  []syntax.Expr // their fields are set in it
	changes  []change      // parts of it are set
	other    bool          // it has other values too: it is a parameter
}

// A change is an assignment to a part of a variable.
type change struct {
	steps []host.Step
	value syntax.Expr
}

// outline adds the outlines and the lookups of the functions in a file. It must be called before the tree is rewritten.
func (l *loader) outline(tree *syntax.File) {
	o := &outliner{defined: map[string]*syntax.DefStmt{}, scopes: map[*syntax.DefStmt]*scope{}, loaded: map[string]*engine.Outline{}, top: &scope{}}
	for _, stmt := range tree.Stmts {
		switch stmt := stmt.(type) {
		case *syntax.DefStmt:
			o.defined[stmt.Name.Name] = stmt
		case *syntax.LoadStmt:
			for i, name := range stmt.From {
				if f, ok := l.loaded[stmt.ModuleName()][name.Name].(*starlark.Function); ok {
					o.loaded[stmt.To[i].Name] = l.outlines[position(f.Position())]
				}
			}
		default:
			o.top.read(stmt)
		}
	}
	for _, stmt := range tree.Stmts {
		if f, ok := stmt.(*syntax.DefStmt); ok {
			l.outlines[position(f.Def)] = o.function(f)
			l.lookups[position(f.Def)] = lookups(f, &l.count)
		}
	}
}

// function returns the outline of the results of a function.
func (o *outliner) function(f *syntax.DefStmt) *engine.Outline {
	in := o.scopes[f]
	if in == nil {
		in = &scope{up: o.top}
		for _, param := range f.Params {
			in.parameter(param)
		}
		for _, stmt := range f.Body {
			in.read(stmt)
		}
		o.scopes[f] = in
	}
	return o.anyOf(in.returned, in)
}

func (o *outliner) anyOf(exprs []syntax.Expr, in *scope) (all *engine.Outline) {
	for _, e := range exprs {
		if o.Done() {
			break
		}
		all = all.Or(o.expr(e, in))
	}
	return all
}

// maxWalked is how deep read looks into a statement. The syntax tree of a sum of thousands of values is as deep as the sum is long.
const maxWalked = 300

// read records what a statement does with the variables of a function.
func (s *scope) read(stmt syntax.Stmt) {
	depth := 0
	syntax.Walk(stmt, func(n syntax.Node) bool {
		if n == nil { // the end of a node for which this function returned true
			depth--
			return false
		}
		if depth == maxWalked {
			return false
		}
		depth++
		switch n := n.(type) {
		case *syntax.DefStmt, *syntax.LambdaExpr:
			depth--
			return false
		case *syntax.ReturnStmt:
			if n.Result != nil {
				s.returned = append(s.returned, n.Result)
			}
		case *syntax.AssignStmt:
			s.assign(n)
		case *syntax.ForStmt:
			s.loop(n.Vars, n.X)
		case *syntax.Comprehension:
			depth--
			return false // it has a scope of its own
		case *syntax.CallExpr:
			s.call(n)
		}
		return true
	})
}

// parameter records a parameter of a function.
func (s *scope) parameter(param syntax.Expr) {
	switch param := param.(type) {
	case *syntax.Ident:
		s.named(param)
	case *syntax.BinaryExpr: // with a default
		s.named(param.X)
	case *syntax.UnaryExpr: // *args, **kwargs
		s.named(param.X)
	}
}

// named records a parameter that is only a name.
func (s *scope) named(param syntax.Expr) {
	if id, ok := param.(*syntax.Ident); ok {
		s.variable(id.Name).other = true
	}
}

// loop records the variables of a loop over the elements of a value.
func (s *scope) loop(vars, over syntax.Expr) {
	switch vars := vars.(type) {
	case *syntax.Ident:
		s.variable(vars.Name).members = append(s.variable(vars.Name).members, over)
	case *syntax.ParenExpr:
		if tuple, ok := vars.X.(*syntax.TupleExpr); ok {
			s.loop(tuple, over)
		}
	case *syntax.TupleExpr:
		for _, v := range vars.List {
			s.named(v)
		}
	}
}

func (s *scope) assign(n *syntax.AssignStmt) {
	switch to := n.LHS.(type) {
	case *syntax.Ident:
		v := s.variable(to.Name)
		switch n.Op {
		case syntax.EQ:
			v.values = append(v.values, n.RHS)
		case syntax.PIPE_EQ:
			v.updates = append(v.updates, n.RHS)
		case syntax.PLUS_EQ:
			v.lists = append(v.lists, n.RHS)
		}
	case *syntax.TupleExpr, *syntax.ParenExpr:
		s.loop(to, nil)
	case *syntax.IndexExpr:
		if of, steps := target(to, 0); of != "" && n.Op == syntax.EQ {
			s.variable(of).changes = append(s.variable(of).changes, change{steps, n.RHS})
		}
	}
}

// maxSteps is how many steps of an assignment are looked at.
const maxSteps = 20

// target returns the variable of which an expression is a part, and the steps to the part; "" if it is not known.
func target(e syntax.Expr, depth int) (of string, steps []host.Step) {
	switch e := e.(type) {
	case *syntax.Ident:
		return e.Name, nil
	case *syntax.IndexExpr:
		if depth >= maxSteps {
			return "", nil
		}
		step := host.Step{Element: true}
		if key, isText := literalText(e.Y); isText {
			start, _ := e.Y.Span()
			step = host.Step{Key: key, At: position(start)}
		}
		of, steps = target(e.X, depth+1)
		return of, append(steps, step)
	}
	return "", nil
}

// call records the calls of methods that change a list or a dict.
func (s *scope) call(n *syntax.CallExpr) {
	method, ok := n.Fn.(*syntax.DotExpr)
	if !ok || len(n.Args) == 0 {
		return
	}
	of, steps := target(method.X, 0)
	if of == "" {
		return
	}
	v, last := s.variable(of), n.Args[len(n.Args)-1]
	switch name := method.Name.Name; {
	case name == "update":
		v.updates = append(v.updates, n)
	case len(steps) > 0 && (name == "append" || name == "insert"):
		v.changes = append(v.changes, change{append(steps, host.Step{Element: true}), last})
	case name == "append" || name == "insert":
		v.elements = append(v.elements, last)
	case name == "extend" && len(steps) == 0:
		v.lists = append(v.lists, last)
	}
}

func (s *scope) variable(name string) *variable {
	if s.variables == nil {
		s.variables = map[string]*variable{}
	}
	if s.variables[name] == nil {
		s.variables[name] = &variable{}
	}
	return s.variables[name]
}

func literalText(e syntax.Expr) (string, bool) {
	literal, _ := e.(*syntax.Literal)
	if literal == nil {
		return "", false
	}
	text, ok := literal.Value.(string)
	return text, ok && literal.Token == syntax.STRING
}

// expr returns the outline of the value of an expression.
func (o *outliner) expr(e syntax.Expr, in *scope) *engine.Outline {
	return o.Within(func() *engine.Outline {
		switch e := e.(type) {
		case *syntax.ParenExpr:
			return o.expr(e.X, in)
		case *syntax.CondExpr:
			return o.expr(e.True, in).Or(o.expr(e.False, in))
		}
		start, _ := e.Span()
		at := &engine.Outline{Pos: position(start)}
		switch e := e.(type) {
		case *syntax.Literal:
			text, _ := literalText(e)
			at.Text = host.Text(text)
		case *syntax.DictExpr:
			o.dict(at, e, in)
		case *syntax.ListExpr:
			at.Items = []*engine.Outline{}
			for _, item := range e.List {
				at.Items = append(at.Items, o.expr(item, in))
			}
		case *syntax.Comprehension:
			inner := &scope{up: in}
			for _, clause := range e.Clauses {
				if loop, is := clause.(*syntax.ForClause); is {
					inner.loop(loop.Vars, loop.X)
				}
			}
			if !e.Curly {
				at.Each = o.expr(e.Body, inner)
			}
		case *syntax.BinaryExpr:
			if e.Op == syntax.PIPE || e.Op == syntax.PLUS {
				at.Either = host.Sum(o.expr(e.X, in), o.expr(e.Y, in))
			}
		case *syntax.Ident:
			return o.name(at, e.Name, in)
		case *syntax.CallExpr:
			return o.call(at, e, in)
		}
		return at
	})
}

func (o *outliner) dict(at *engine.Outline, e *syntax.DictExpr, in *scope) {
	at.Fields = map[string]*engine.Outline{}
	for _, entry := range e.List {
		entry := entry.(*syntax.DictEntry)
		if key, ok := literalText(entry.Key); ok {
			start, _ := entry.Key.Span()
			at.Fields[key] = field(o.expr(entry.Value, in), start)
		}
	}
}

// field returns the outline of a field whose key is at a position.
func field(value *engine.Outline, key syntax.Position) *engine.Outline {
	return &engine.Outline{Key: position(key), Either: []*engine.Outline{value}}
}

func (o *outliner) name(at *engine.Outline, name string, in *scope) *engine.Outline {
	for ; in != nil; in = in.up {
		v := in.variables[name]
		if v == nil {
			continue
		}
		values, each := o.anyOf(v.values, in), o.anyOf(v.elements, in)
		for _, list := range v.lists {
			each = each.Or(host.AnyElement(o.expr(list, in)))
		}
		for _, list := range v.members {
			if list != nil && !o.Done() {
				values = values.Or(host.AnyElement(o.expr(list, in)))
			}
		}
		var changes []*engine.Outline
		for _, c := range v.changes {
			changes = append(changes, host.Set(c.steps, o.expr(c.value, in)))
		}
		for _, update := range v.updates {
			with := o.update(update, in)
			changes = append(changes, host.Parts(with))
			if !host.Known(with) {
				values = at // any field may be another one
			}
		}
		if v.other || values == nil {
			values = at.Or(values)
		}
		return host.Variable(values, each, changes)
	}
	return at
}

// update returns the outline of what is set in a dict by a |= or a call of update.
func (o *outliner) update(e syntax.Expr, in *scope) *engine.Outline {
	call, is := e.(*syntax.CallExpr)
	if !is {
		return o.expr(e, in)
	}
	if method, is := call.Fn.(*syntax.DotExpr); !is || method.Name.Name != "update" {
		return o.expr(e, in)
	}
	with := o.named(&engine.Outline{}, call, in)
	for _, arg := range call.Args {
		if named, is := arg.(*syntax.BinaryExpr); !is || named.Op != syntax.EQ {
			with.Either = append(with.Either, o.expr(arg, in))
		}
	}
	return with
}

// named sets the fields of at to the named arguments of a call.
func (o *outliner) named(at *engine.Outline, e *syntax.CallExpr, in *scope) *engine.Outline {
	at.Fields = map[string]*engine.Outline{}
	for _, arg := range e.Args {
		if named, ok := arg.(*syntax.BinaryExpr); ok && named.Op == syntax.EQ {
			key := named.X.(*syntax.Ident)
			at.Fields[key.Name] = field(o.expr(named.Y, in), key.NamePos)
		}
	}
	return at
}

func (o *outliner) call(at *engine.Outline, e *syntax.CallExpr, in *scope) *engine.Outline {
	f, ok := e.Fn.(*syntax.Ident)
	if !ok {
		return at
	}
	switch {
	case f.Name == "dict":
		o.named(at, e, in)
		for _, arg := range e.Args {
			if named, ok := arg.(*syntax.BinaryExpr); !ok || named.Op != syntax.EQ {
				at.Either = append(at.Either, host.Parts(o.expr(arg, in)))
			}
		}
	case o.defined[f.Name] != nil:
		if result := o.function(o.defined[f.Name]); result != nil {
			return result
		}
	case o.loaded[f.Name] != nil:
		return o.loaded[f.Name]
	}
	return at
}

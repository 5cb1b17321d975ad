package jsonnet

import (
	"strings"
	"unsafe"

	"github.com/google/go-jsonnet/ast"
)

// apply returns the value of a call.
func (f *fast) apply(n *ast.Apply, s *bindingScope) (value, bool) {
	if n.TailStrict {
		return nil, false
	}
	if isComprehension(n) {
		return f.comprehension(n, s)
	}
	target, ok := f.eval(n.Target, s)
	if !ok {
		return nil, false
	}
	k, p := kindOf(target)
	if k != functionKind {
		return nil, false
	}
	ec := (*functionValue)(p).ec
	if c := closureOf(ec); c != nil {
		args := make([]lazy, len(n.Arguments.Positional))
		for i := range args {
			args[i] = lazy{body: n.Arguments.Positional[i].Expr, in: s}
		}
		in, ok := f.bind(c, args, namedArguments{n.Arguments.Named, s})
		if !ok {
			return nil, false
		}
		return f.evalCall(c.function.Body, in)
	}
	if len(n.Arguments.Named) > 0 {
		return nil, false
	}
	return f.callBuiltin(ec, n.Arguments.Positional, s)
}

// namedArguments are the arguments of a call that have names, in the scope of the call.
type namedArguments struct {
	args []ast.NamedArgument
	in   *bindingScope
}

// bind returns the scope of the body of a function. It fails unless each parameter has exactly one argument or a default.
func (f *fast) bind(c *closure, args []lazy, named namedArguments) (*bindingScope, bool) {
	if len(args) > len(c.params) {
		return nil, false
	}
	s, used := &bindingScope{env: &c.env}, 0
	for i, p := range c.params {
		s = &bindingScope{env: s.env, up: s, id: p.name}
		if i < len(args) {
			s.lazy = args[i]
			continue
		}
		s.body = p.defaultArg // in is set below
		for _, arg := range named.args {
			if arg.Name == p.name {
				s.body, s.in = arg.Arg, named.in
				used++
			}
		}
		if s.body == nil {
			return nil, false
		}
	}
	for inner := s; inner.id != ""; inner = inner.up {
		if inner.in == nil {
			inner.in = s
		}
	}
	return s, used == len(named.args)
}

// isComprehension reports whether n is what the parser makes of a comprehension: $std.$flatMapArray(function(x) ..., array).
func isComprehension(n *ast.Apply) bool {
	target, ok := n.Target.(*ast.Index)
	if !ok || len(n.Arguments.Positional) != 2 {
		return false
	}
	v, isVar := target.Target.(*ast.Var)
	name, isText := target.Index.(*ast.LiteralString)
	if !isVar || !isText || v.Id != std || name.Value != "$flatMapArray" {
		return false
	}
	function, ok := n.Arguments.Positional[0].Expr.(*ast.Function)
	return ok && len(function.Parameters) == 1
}

func (f *fast) comprehension(n *ast.Apply, s *bindingScope) (value, bool) {
	function := n.Arguments.Positional[0].Expr.(*ast.Function)
	v, ok := f.evalCall(n.Arguments.Positional[1].Expr, s)
	if !ok {
		return nil, false
	}
	elements, ok := arrayOf(v)
	if !ok || !f.enter() {
		return nil, false
	}
	var out []*thunk
	for _, e := range elements {
		in := &bindingScope{env: s.env, up: s, id: function.Parameters[0].Name, lazy: lazy{thunk: e}}
		if out, ok = f.collect(out, function.Body, in); !ok {
			return nil, false
		}
	}
	f.calls--
	return newArray(out), true
}

// callBuiltin calls a function that is written in Go. It must not evaluate anything: either its arguments contain no other values, or
// it is in the list below.
func (f *fast) callBuiltin(ec evalCallable, positional []ast.CommaSeparatedExpr, s *bindingScope) (value, bool) {
	w := wordsOfAny(ec)
	want := map[unsafe.Pointer]int{layout.unary: 1, layout.binary: 2, layout.ternary: 3}[w.typ]
	if want == 0 || len(positional) != want {
		return nil, false
	}
	name := (*unaryBuiltin)(w.data).name // all have the name first
	var args [3]value
	all := true
	for n := range positional {
		v, ok := f.evalCall(positional[n].Expr, s)
		if !ok {
			return nil, false
		}
		args[n] = v
		all = all && (simple(v) || strings.Contains(flatNames, " "+name+" ") && f.flat(v))
	}
	switch {
	case name == "filter":
		return f.filter(args[0], args[1])
	case name == "modulo" && !(scalar(args[0]) && scalar(args[1])):
		return f.format(args[0], args[1])
	case strings.Contains(" trace native extVar ", " "+name+" "):
		return nil, false
	case !all && !strings.Contains(" length type objectHasEx objectFieldsEx makeArray ", " "+name+" "):
		return nil, false
	}
	v, err := invoke(w, want, f.i, args)
	return v, err == nil
}

// flatNames are the functions that may also get arrays of values that contain no others.
const flatNames = " join member contains sum "

// flat evaluates the elements of an array, and reports whether they contain no other values.
func (f *fast) flat(array value) bool {
	elements, ok := arrayOf(array)
	for _, e := range elements {
		v, evaluated := f.force(e)
		if !evaluated || !simple(v) {
			return false
		}
	}
	return ok
}

// invoke calls a builtin.
func invoke(w twoWords, arity int, i interpreter, args [3]value) (value, error) {
	switch arity {
	case 1:
		return (*unaryBuiltin)(w.data).function(i, args[0])
	case 2:
		return (*binaryBuiltin)(w.data).function(i, args[0], args[1])
	}
	return (*ternaryBuiltin)(w.data).function(i, args[0], args[1], args[2])
}

// filter implements std.filter.
func (f *fast) filter(function, array value) (value, bool) {
	k, p := kindOf(function)
	elements, ok := arrayOf(array)
	if !ok || k != functionKind {
		return nil, false
	}
	c := closureOf((*functionValue)(p).ec)
	if c == nil {
		return nil, false
	}
	var out []*thunk
	for _, e := range elements {
		in, ok := f.bind(c, []lazy{{thunk: e}}, namedArguments{})
		if !ok || !f.enter() {
			return nil, false
		}
		yes, ok := f.condition(c.function.Body, in)
		if !ok {
			return nil, false
		}
		f.calls--
		if yes {
			out = append(out, e)
		}
	}
	return newArray(out), true
}

// format implements the operator % for plain formats.
func (f *fast) format(text, arg value) (value, bool) {
	elements, _ := arrayOf(arg)
	for _, e := range elements {
		if _, ok := f.force(e); !ok {
			return nil, false
		}
	}
	if !isString(text) || length(text) >= maxPlain {
		return nil, false
	}
	o := operation{guard: f.guard, i: f.i}
	s, ok := o.plain(string(runesOf(text)), arg)
	return newString(s), ok
}

package jsonnet

import (
	"strconv"
	"unsafe"

	"github.com/google/go-jsonnet/ast"
)

// The interpreter makes several maps and a stack frame for each call of a function, and for each variable that it evaluates. Most of
// the time of a script goes to such calls in loops: comprehensions, and functions of std that call a function for each element. So
// the builtins that loop, and the conversion of the answer, first try the evaluator in this file.
//
// A fast evaluator gives up at everything unusual: an error, a value or an expression that it does not know, deep nesting. Then the
// interpreter evaluates the same again, from the beginning, and reports the error with its stack. This is correct because
// expressions have no effects but std.trace, which a fast evaluator does not call, and because it works with the interpreter's own
// values, environments and thunks: what it has evaluated so far is as if the interpreter had evaluated it. It never runs the
// interpreter itself, and it counts nested calls as the interpreter does, so that it gives up where the interpreter would refuse one.
type fast struct {
	*guard
	i      interpreter
	calls  int // nested calls, for each of which the interpreter would have a stack frame
	nested int // nested expressions

	literals map[*ast.LiteralString]value
}

// maxFast is how deeply expressions may be nested for a fast evaluator.
const maxFast = 200

// A bindingScope is one variable that an expression can use, and those around it. The other variables are in env.
type bindingScope struct {
	env *environment
	up  *bindingScope
	id  ast.Identifier // "" if there is no variable
	lazy
}

// A lazy variable has a content, a thunk, or an expression that has not been evaluated yet.
type lazy struct {
	content value
	thunk   *thunk
	body    ast.Node
	in      *bindingScope // of body
}

// maxGivenUp is how often fast evaluators may give up at a node in one call. After that the interpreter evaluates it. Tests set it to 0,
// so that the interpreter evaluates everything.
var maxGivenUp = 3

// fastFor returns the fast evaluator for a node, or nil if the interpreter has to evaluate it.
func (g *guard) fastFor(i interpreter, n ast.Node) *fast {
	if g.tracedNode != nil || g.givenUp[n] >= maxGivenUp {
		return nil
	}
	g.fast.guard, g.fast.i, g.fast.calls, g.fast.nested = g, i, 0, 0
	return &g.fast
}

// giveUp records that the interpreter has to evaluate n.
func (g *guard) giveUp(n ast.Node) {
	if g.givenUp == nil {
		g.givenUp = map[ast.Node]int{}
	}
	g.givenUp[n]++
}

// forced returns the value of t.
func (g *guard) forced(i interpreter, t *thunk) (value, error) {
	if t.content != nil {
		return t.content, nil
	}
	if f := g.fastFor(i, t.body); f != nil {
		n := t.body
		if v, ok := f.force(t); ok {
			return v, nil
		}
		g.giveUp(n)
	}
	return force(t, i)
}

// fieldOf returns the value of an object's field.
func (g *guard) fieldOf(i interpreter, x *objectValue, name string) (value, error) {
	if f := g.fastFor(i, nil); f != nil {
		if v, ok := f.field(x, name); ok {
			return v, nil
		}
	}
	return fieldOf(x, i, name)
}

// A loop calls one function for many elements.
type loop struct {
	*guard
	i       interpreter
	f       unsafe.Pointer // the function
	closure *closure       // nil: the interpreter calls it
}

func (g *guard) loop(i interpreter, f unsafe.Pointer) *loop {
	return &loop{guard: g, i: i, f: f, closure: closureOf((*functionValue)(f).ec)}
}

// call returns what the function returns for some arguments.
func (l *loop) call(args ...*thunk) (value, error) {
	if f := l.fast(); f != nil {
		variables := make([]lazy, len(args))
		for n, arg := range args {
			variables[n].thunk = arg
		}
		if in, ok := f.bind(l.closure, variables, namedArguments{}); ok {
			if v, ok := f.evalCall(l.closure.function.Body, in); ok {
				return v, nil
			}
		}
		l.giveUp(l.closure.function)
	}
	return callFunction(l.f, l.i, callArguments{positional: args})
}

// collect adds the elements of the array that the function returns for e. It fails if the interpreter has to evaluate that.
func (l *loop) collect(out []*thunk, e *thunk) ([]*thunk, bool) {
	f := l.fast()
	if f == nil {
		return out, false
	}
	if in, ok := f.bind(l.closure, []lazy{{thunk: e}}, namedArguments{}); ok && f.enter() {
		if longer, ok := f.collect(out, l.closure.function.Body, in); ok {
			return longer, true
		}
	}
	l.giveUp(l.closure.function)
	return out, false
}

func (l *loop) fast() *fast {
	if l.closure == nil {
		return nil
	}
	return l.fastFor(l.i, l.closure.function)
}

// closureOf returns a function that is written in Jsonnet, or nil.
func closureOf(ec evalCallable) *closure {
	if w := wordsOfAny(ec); w.typ == wordsOfAny(layout.closure).typ {
		return (*closure)(w.data)
	}
	return nil
}

// enter begins a call. It fails if the interpreter may refuse it.
func (f *fast) enter() bool {
	const reserve = 4
	f.calls++
	calls, limit := *(*int)(unsafe.Add(f.i, layout.calls)), *(*int)(unsafe.Add(f.i, layout.limit))
	return calls+f.calls+reserve < limit
}

// evalCall evaluates an expression for which the interpreter has a stack frame.
func (f *fast) evalCall(n ast.Node, s *bindingScope) (value, bool) {
	if !f.enter() {
		return nil, false
	}
	v, ok := f.eval(n, s)
	f.calls--
	return v, ok
}

// force returns the value of a thunk.
func (f *fast) force(t *thunk) (value, bool) {
	if t.content != nil {
		return t.content, true
	}
	if t.env == nil || t.body == nil {
		return nil, false
	}
	v, ok := f.evalCall(t.body, &bindingScope{env: t.env})
	if ok {
		t.content, t.env = v, nil
	}
	return v, ok
}

// lookUp returns the value of a variable.
func (f *fast) lookUp(s *bindingScope, id ast.Identifier) (value, bool) {
	v, t := s.find(id)
	switch {
	case t != nil:
		return f.force(t)
	case v == nil:
		return nil, false
	case v.content == nil:
		content, ok := f.evalCall(v.body, v.in)
		if !ok {
			return nil, false
		}
		v.content = content
	}
	return v.content, true
}

// find returns a variable, or its thunk if it has one.
func (s *bindingScope) find(id ast.Identifier) (*lazy, *thunk) {
	env := s.env
	for ; s != nil; s = s.up {
		if s.id == id {
			return &s.lazy, s.thunk
		}
	}
	return nil, env.upValues[id]
}

// thunkOf returns the thunk of a variable.
func (f *fast) thunkOf(s *bindingScope, id ast.Identifier) (*thunk, bool) {
	v, t := s.find(id)
	if t != nil || v == nil {
		return t, t != nil
	}
	v.thunk = &thunk{content: v.content, body: v.body}
	if v.content != nil {
		return v.thunk, true
	}
	var ok bool
	v.thunk.env, ok = f.environment(v.in, v.body)
	return v.thunk, ok
}

// environment returns what n can use.
func (f *fast) environment(s *bindingScope, n ast.Node) (*environment, bool) {
	free := n.FreeVariables()
	env := &environment{upValues: make(bindings, len(free)), selfBinding: s.env.selfBinding}
	for _, id := range free {
		t, ok := f.thunkOf(s, id)
		if !ok {
			return nil, false
		}
		env.upValues[id] = t
	}
	return env, true
}

// newThunk returns a thunk for an expression, which it does not evaluate unless that takes no time.
func (f *fast) newThunk(n ast.Node, s *bindingScope) (*thunk, bool) {
	switch n := n.(type) {
	case *ast.LiteralNull, *ast.LiteralBoolean, *ast.LiteralNumber, *ast.LiteralString:
		v, ok := f.eval(n, s)
		return &thunk{content: v}, ok
	case *ast.Var:
		v, t := s.find(n.Id)
		if t != nil && t.content != nil {
			return t, true
		}
		if v != nil && v.content != nil {
			return &thunk{content: v.content}, true
		}
	}
	env, ok := f.environment(s, n)
	return &thunk{env: env, body: n}, ok
}

// eval returns the value of an expression.
func (f *fast) eval(n ast.Node, s *bindingScope) (v value, ok bool) {
	if f.nested >= maxFast || f.depth+f.nested >= maxDepth {
		return nil, false
	}
	f.charge(1)
	if loc := n.Loc(); inScript(loc) {
		f.at = loc
	}
	f.nested++
	v, ok = f.evalNode(n, s)
	f.nested--
	return v, ok
}

func (f *fast) evalNode(n ast.Node, s *bindingScope) (value, bool) {
	switch n := n.(type) {
	case *ast.Var:
		return f.lookUp(s, n.Id)
	case *ast.Index:
		return f.index(n, s)
	case *ast.LiteralString:
		return f.literal(n), true
	case *ast.LiteralNumber:
		x, err := strconv.ParseFloat(n.OriginalString, 64)
		return newNumber(x), err == nil
	case *ast.LiteralBoolean:
		return newBoolean(n.Value), true
	case *ast.LiteralNull:
		return layout.null, true
	case *ast.Binary:
		return f.binary(n, s)
	case *ast.Unary:
		return f.unary(n, s)
	case *ast.Conditional:
		yes, ok := f.condition(n.Cond, s)
		switch {
		case !ok:
			return nil, false
		case yes:
			return f.eval(n.BranchTrue, s)
		}
		return f.eval(n.BranchFalse, s)
	case *ast.Apply:
		return f.apply(n, s)
	case *ast.Array:
		out, ok := f.collect(make([]*thunk, 0, len(n.Elements)), n, s)
		return newArray(out), ok
	case *ast.DesugaredObject:
		return f.object(n, s)
	case *ast.Function:
		return f.function(n, s)
	case *ast.Local:
		return f.eval(n.Body, f.locals(n.Binds, s))
	case *ast.Self:
		self := s.env.selfBinding.self
		return objectFrom(self), self != nil
	}
	if w := wordsOfAny(n); w.typ == layout.made {
		return f.element((*madeElement)(w.data))
	}
	return nil, false
}

// element returns the value of an element that std.makeArray has made.
func (f *fast) element(n *madeElement) (value, bool) {
	c := closureOf(n.function.ec)
	if c == nil {
		return nil, false
	}
	in, ok := f.bind(c, []lazy{{content: newNumber(float64(n.index))}}, namedArguments{})
	if !ok {
		return nil, false
	}
	return f.evalCall(c.function.Body, in)
}

// literal returns the value of a string, which is the same in all of a call.
func (f *fast) literal(n *ast.LiteralString) value {
	v, ok := f.literals[n]
	if !ok {
		if f.literals == nil {
			f.literals = map[*ast.LiteralString]value{}
		}
		v = newString(n.Value)
		f.literals[n] = v
	}
	return v
}

// locals returns the scope with some more variables, which can use each other.
func (f *fast) locals(binds ast.LocalBinds, s *bindingScope) *bindingScope {
	outer := s
	for _, b := range binds {
		s = &bindingScope{env: s.env, up: s, id: b.Variable, lazy: lazy{body: b.Body}}
	}
	for inner := s; inner != outer; inner = inner.up {
		inner.in = s
	}
	return s
}

// condition returns a boolean.
func (f *fast) condition(n ast.Node, s *bindingScope) (yes, ok bool) {
	v, ok := f.eval(n, s)
	if !ok {
		return false, false
	}
	k, p := kindOf(v)
	return k == booleanKind && (*booleanValue)(p).value, k == booleanKind
}

func (f *fast) index(n *ast.Index, s *bindingScope) (value, bool) {
	target, ok := f.eval(n.Target, s)
	if !ok {
		return nil, false
	}
	if name, literal := n.Index.(*ast.LiteralString); literal {
		if x, isObject := objectOf(target); isObject {
			f.charge(1)
			return f.field(x, name.Value)
		}
		return nil, false
	}
	index, ok := f.eval(n.Index, s)
	if !ok {
		return nil, false
	}
	k, p := kindOf(target)
	at, _ := kindOf(index)
	switch {
	case k == objectKind && isString(index):
		return f.field((*objectValue)(p), string(runesOf(index)))
	case k == arrayKind && at == numberKind:
		elements, x := (*arrayValue)(p).elements, number(index)
		if x >= 0 && x < float64(len(elements)) {
			return f.force(elements[int(x)])
		}
	}
	return nil, false
}

func (f *fast) binary(n *ast.Binary, s *bindingScope) (value, bool) {
	if n.Op == ast.BopAnd || n.Op == ast.BopOr {
		yes, ok := f.condition(n.Left, s)
		if ok && yes == (n.Op == ast.BopAnd) {
			yes, ok = f.condition(n.Right, s)
		}
		return newBoolean(yes), ok
	}
	left, ok := f.eval(n.Left, s)
	if !ok {
		return nil, false
	}
	right, ok := f.eval(n.Right, s)
	if !ok || int(n.Op) >= len(bopBuiltins) || bopBuiltins[n.Op] == nil {
		return nil, false
	}
	k, p := kindOf(left)
	l, q := kindOf(right)
	switch {
	case simple(left) && simple(right):
		if equal := n.Op == ast.BopManifestEqual; equal || n.Op == ast.BopManifestUnequal {
			return newBoolean(f.equal(left, right) == equal), true
		}
	case n.Op == ast.BopPlus && k == l && k == arrayKind:
	case n.Op == ast.BopPlus && k == l && k == objectKind:
		if !assertionFree((*objectValue)(p).uncached) || !assertionFree((*objectValue)(q).uncached) {
			return nil, false
		}
	default:
		return nil, false
	}
	v, err := bopBuiltins[n.Op].function(f.i, left, right)
	return v, err == nil
}

// simple reports whether v contains no other values.
func simple(v value) bool { return isString(v) || scalar(v) }

// equal compares two simple values.
func (f *fast) equal(x, y value) bool {
	o := operation{guard: f.guard, i: f.i}
	same, _ := o.equal(x, y, 0)
	return same
}

func (f *fast) unary(n *ast.Unary, s *bindingScope) (value, bool) {
	if n.Op == opPart {
		return (*part)(unsafe.Pointer(n)).make(f.guard), true
	}
	v, ok := f.eval(n.Expr, s)
	if !ok || !simple(v) || int(n.Op) >= len(uopBuiltins) || uopBuiltins[n.Op] == nil {
		return nil, false
	}
	v, err := uopBuiltins[n.Op].function(f.i, v)
	return v, err == nil
}

// function returns the value of a function that is written in Jsonnet.
func (f *fast) function(n *ast.Function, s *bindingScope) (value, bool) {
	if len(f.request.wide) > 0 { // it may be an integer
		return nil, false
	}
	env, ok := f.environment(s, n)
	if !ok {
		return nil, false
	}
	c := &closure{env: *env, function: n, params: make([]parameter, len(n.Parameters))}
	for i, p := range n.Parameters {
		c.params[i] = parameter{defaultArg: p.DefaultArg, name: p.Name}
	}
	return functionFrom(c), true
}

// object returns the value of an object without assertions.
func (f *fast) object(n *ast.DesugaredObject, s *bindingScope) (value, bool) {
	if len(n.Asserts) > 0 {
		return nil, false
	}
	o := &simpleLayers{fields: make(map[string]field, len(n.Fields))}
	for i := range n.Fields {
		name, ok := f.fieldName(n.Fields[i].Name, s)
		_, twice := o.fields[name]
		if !ok || twice || n.Fields[i].PlusSuper {
			return nil, false
		}
		o.fields[name] = newCodeField(&n.Fields[i].Body, n.Fields[i].Hide)
	}
	for _, l := range n.Locals {
		o.locals = append(o.locals, objectLocal{name: l.Variable, node: l.Body})
	}
	env, ok := f.environment(s, n)
	if !ok {
		return nil, false
	}
	o.upValues = env.upValues
	return newObject(o), true
}

func (f *fast) fieldName(n ast.Node, s *bindingScope) (string, bool) {
	f.charge(1)
	if literal, ok := n.(*ast.LiteralString); ok {
		return literal.Value, true
	}
	v, ok := f.eval(n, s)
	if !ok || !isString(v) {
		return "", false
	}
	return string(runesOf(v)), true
}

// field returns the value of an object's field.
func (f *fast) field(x *objectValue, name string) (value, bool) {
	if !assertionFree(x.uncached) {
		return nil, false
	}
	found, of, depth := findField(x.uncached, name)
	if of == nil {
		return nil, false
	}
	if w := wordsOfAny(found.field); w.typ == wordsOfAny(layout.ready).typ {
		return (*readyField)(w.data).content, true
	}
	key := cacheKey{name, depth}
	if v, ok := x.cache[key]; ok {
		return v, true
	}
	v, ok := f.fieldValue(found, of, selfBinding{x, depth})
	if ok {
		x.cache[key] = v
	}
	return v, ok
}

// maxFastLayers is the maximum number of objects of which an object may be the sum for a fast evaluator.
const maxFastLayers = 8

// assertionFree reports whether an object has no assertions, and not too many layers.
func assertionFree(l layers) bool {
	switch w := layerWords(l); w.typ {
	case layout.simple:
		return len((*simpleLayers)(w.data).asserts) == 0
	case layout.extended:
		both := (*extendedLayers)(w.data)
		return both.totalInheritanceSize <= maxFastLayers && assertionFree(both.left) && assertionFree(both.right)
	}
	return false
}

// findField returns a field, and the layer that has it with its depth; nil if there is none. The object is assertionFree.
func findField(l layers, name string) (found field, of *simpleLayers, depth int) {
	w := layerWords(l)
	if w.typ == layout.simple {
		of = (*simpleLayers)(w.data)
		if found, ok := of.fields[name]; ok {
			return found, of, 0
		}
		return field{}, nil, 0
	}
	both := (*extendedLayers)(w.data)
	if found, of, depth = findField(both.right, name); of != nil {
		return found, of, depth
	}
	found, of, depth = findField(both.left, name)
	return found, of, depth + sizeOf(both.right)
}

// sizeOf returns the number of layers of an object.
func sizeOf(l layers) int {
	if w := layerWords(l); w.typ == layout.extended {
		return (*extendedLayers)(w.data).totalInheritanceSize
	}
	return 1
}

// fieldValue evaluates a field of a layer that is not ready.
func (f *fast) fieldValue(found field, of *simpleLayers, self selfBinding) (value, bool) {
	if w := wordsOfAny(found.field); w.typ == wordsOfAny(layout.code).typ {
		body := (*codeField)(w.data).body
		if u, ok := body.(*ast.Unary); ok && u.Op == opPart {
			return (*part)(unsafe.Pointer(u)).make(f.guard), true
		}
		if f.givenUp[body] >= maxGivenUp {
			return nil, false
		}
		s := &bindingScope{env: &environment{of.upValues, self}}
		for _, l := range of.locals {
			s = &bindingScope{env: s.env, up: s, id: l.name, lazy: lazy{body: l.node}}
		}
		for inner := s; inner.id != ""; inner = inner.up {
			inner.in = s
		}
		v, ok := f.evalCall(body, s)
		if !ok {
			f.giveUp(body)
		}
		return v, ok
	}
	return nil, false
}

// collect adds the elements of an array, which is the value of n.
func (f *fast) collect(out []*thunk, n ast.Node, s *bindingScope) ([]*thunk, bool) {
	switch n := n.(type) {
	case *ast.Array:
		f.charge(1)
		for i := range n.Elements {
			t, ok := f.newThunk(n.Elements[i].Expr, s)
			if !ok {
				return nil, false
			}
			out = append(out, t)
		}
		return out, true
	case *ast.Conditional:
		f.charge(1)
		yes, ok := f.condition(n.Cond, s)
		switch {
		case !ok:
			return nil, false
		case yes:
			return f.collect(out, n.BranchTrue, s)
		}
		return f.collect(out, n.BranchFalse, s)
	}
	v, ok := f.eval(n, s)
	if !ok {
		return nil, false
	}
	elements, ok := arrayOf(v)
	o := operation{guard: f.guard, i: f.i, what: "std.flatMapArray"}
	o.size(float64(len(out)+len(elements)) * 8)
	o.charge(int64(len(elements)) / 16)
	return append(out, elements...), ok
}

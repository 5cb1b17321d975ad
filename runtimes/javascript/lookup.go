package javascript

import (
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// A reader finds the lookups in a function; see [engine.Lookup]. Functions in it count as parts of it. It follows the first parameter,
// and variables that are declared once and never set.
type reader struct {
	host.Lookups
	*outliner
	seen    map[ast.Node]bool  // bindings, since var is in the list of declarations of the function too, and the defaults in patterns
	bound   map[string]int     // how often each name is declared
	changed map[string]bool    // names whose value, or a part of it, is set
	origins map[string]*origin // of variables
}

// An origin says what a variable is: what keys lead to in an expression, or in the request if that is nil.
type origin struct {
	of   ast.Expression
	keys []string
}

func newReader(o *outliner) *reader {
	return &reader{Lookups: host.Lookups{InProgram: &o.count}, outliner: o, seen: map[ast.Node]bool{}, bound: map[string]int{}, changed: map[string]bool{}, origins: map[string]*origin{}}
}

// then returns the origin of a field, or nil if that of the whole is nil.
func (o *origin) then(key string) *origin {
	if o == nil || key == "" {
		return nil
	}
	return &origin{o.of, append(slices.Clip(o.keys), key)}
}

// lookups returns the lookups in a function of the file.
func (o *outliner) lookups(literal ast.Node) []engine.Lookup {
	r := newReader(o)
	params := parameters(literal)
	if params == nil || len(params.List) == 0 {
		return nil
	}
	request := params.List[0]
	r.seen[request] = true
	r.declare(request.Target, &origin{}, 0)
	whole := reflect.ValueOf(literal)
	if !visit(whole, 0, r.bind) {
		return nil // what is too deep may declare any name
	}
	clear(r.seen)
	r.pattern(request.Target, host.Part{}, 0)
	visit(whole, 0, r.look)
	return r.Sorted()
}

// parameters returns the parameters of a function, or nil.
func parameters(literal ast.Node) *ast.ParameterList {
	switch f := literal.(type) {
	case *ast.FunctionLiteral:
		return f.ParameterList
	case *ast.ArrowFunctionLiteral:
		return f.ParameterList
	}
	return nil
}

// bind records which names a node declares, and which it changes.
func (r *reader) bind(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ParameterList:
		for _, param := range n.List {
			if !r.seen[param] {
				r.seen[param] = true
				r.declare(param.Target, nil, 0)
			}
		}
		r.declare(n.Rest, nil, 0)
	case *ast.Binding:
		if r.seen[n] {
			break
		}
		r.seen[n] = true
		if n.Initializer == nil {
			r.declare(n.Target, nil, 0)
		} else {
			r.declare(n.Target, &origin{of: n.Initializer}, 0)
		}
	case *ast.ForOfStatement:
		r.into(n.Into)
	case *ast.ForInStatement:
		r.into(n.Into)
	case *ast.CatchStatement:
		r.declare(n.Parameter, nil, 0)
	case *ast.FunctionLiteral:
		r.named(n.Name)
	case *ast.ClassLiteral:
		r.named(n.Name)
	case *ast.AssignExpression:
		if !r.seen[n] {
			r.change(n.Left, 0)
		}
	case *ast.UnaryExpression:
		if n.Operator == token.DELETE || n.Operator == token.INCREMENT || n.Operator == token.DECREMENT {
			r.change(n.Operand, 0)
		}
	case *ast.CallExpression:
		if method, args := objectMethod(n); slices.Contains([]string{"assign", "defineProperty", "defineProperties"}, method) {
			r.change(args[0], 0)
		}
	}
	return true
}

// objectMethod returns the method of Object that is called, and its arguments; "" for another call, or if there are none.
func objectMethod(n *ast.CallExpression) (name string, args []ast.Expression) {
	method, ok := n.Callee.(*ast.DotExpression)
	if !ok || nameOf(method.Left) != "Object" || len(n.ArgumentList) == 0 {
		return "", nil
	}
	return method.Identifier.Name.String(), n.ArgumentList
}

// into records the variables of a loop, whose values are not known.
func (r *reader) into(n ast.ForInto) {
	switch n := n.(type) {
	case *ast.ForDeclaration:
		r.declare(n.Target, nil, 0)
	case *ast.ForIntoVar:
		r.seen[n.Binding] = true
		r.declare(n.Binding.Target, nil, 0)
	case *ast.ForIntoExpression:
		r.change(n.Expression, 0)
	}
}

func (r *reader) named(id *ast.Identifier) {
	if id != nil {
		r.bound[id.Name.String()]++
	}
}

// declare records the names in a pattern, whose value has an origin, or nil.
func (r *reader) declare(pattern ast.Node, from *origin, depth int) {
	if depth > maxPatterns {
		return
	}
	switch p := pattern.(type) {
	case *ast.Identifier:
		name := p.Name.String()
		r.bound[name]++
		if from != nil {
			r.origins[name] = from
		}
	case *ast.AssignExpression: // with a default
		r.seen[p] = true
		r.declare(p.Left, from, depth+1)
	case *ast.ObjectPattern:
		for _, property := range p.Properties {
			if key, _, value := patternKey(property); value != nil {
				r.declare(value, from.then(key), depth+1)
			}
		}
		r.declare(p.Rest, nil, depth+1)
	case *ast.ArrayPattern:
		for _, element := range append(slices.Clip(p.Elements), p.Rest) {
			r.declare(element, nil, depth+1)
		}
	}
}

// patternKey returns the key of a property of a pattern, "" if it is computed, its place, and the pattern of its value.
func patternKey(p ast.Property) (key string, at file.Idx, value ast.Expression) {
	switch p := p.(type) {
	case *ast.PropertyShort:
		return p.Name.Name.String(), p.Name.Idx, &p.Name
	case *ast.PropertyKeyed:
		if text, ok := p.Key.(*ast.StringLiteral); ok {
			return text.Value.String(), text.Idx, p.Value
		}
		return "", 0, p.Value
	}
	return "", 0, nil
}

// change records that the value of an expression is set or changed. The expression may be a part of a variable.
func (r *reader) change(e ast.Expression, depth int) {
	if depth > maxPatterns {
		return
	}
	switch e := e.(type) {
	case *ast.Identifier:
		r.changed[e.Name.String()] = true
	case *ast.DotExpression:
		r.change(e.Left, depth+1)
	case *ast.BracketExpression:
		r.change(e.Left, depth+1)
	case *ast.ObjectPattern, *ast.ArrayPattern:
		r.declare(e, nil, depth+1) // as another declaration of its names
	}
}

// part returns the part of the request that an expression is.
func (r *reader) part(e ast.Expression, depth int) (host.Part, bool) {
	if depth > maxSteps {
		return host.Part{}, false
	}
	switch e := e.(type) {
	case *ast.Identifier:
		return r.variable(e.Name.String(), depth)
	case *ast.OptionalChain:
		return r.part(e.Expression, depth+1)
	case *ast.Optional:
		of, ok := r.part(e.Expression, depth+1)
		of.Text += "?."
		return of, ok
	case *ast.BinaryExpression: // request.related ?? {}
		if e.Operator == token.LOGICAL_OR || e.Operator == token.COALESCE {
			return r.part(e.Left, depth+1)
		}
	case *ast.DotExpression, *ast.BracketExpression:
		left, key, _ := member(e)
		if of, ok := r.part(left, depth+1); ok {
			return of.Of(key, strings.TrimSuffix(of.Text, ".")+"."+key)
		}
	}
	return host.Part{}, false
}

// member returns the parts of an expression such as a.b or a["b"]; key is "" if it is computed, or e is another expression.
func member(e ast.Node) (left ast.Expression, key string, at file.Idx) {
	switch e := e.(type) {
	case *ast.DotExpression:
		return e.Left, e.Identifier.Name.String(), e.Identifier.Idx
	case *ast.BracketExpression:
		if text, ok := e.Member.(*ast.StringLiteral); ok {
			return e.Left, text.Value.String(), text.Idx
		}
	}
	return nil, "", 0
}

// variable returns the part of the request that a variable is.
func (r *reader) variable(name string, depth int) (part host.Part, ok bool) {
	from := r.origins[name]
	if from == nil || r.bound[name] != 1 || r.changed[name] {
		return host.Part{}, false
	}
	if from.of != nil {
		if part, ok = r.part(from.of, depth+1); !ok {
			return host.Part{}, false
		}
	}
	for _, key := range from.keys {
		if part, ok = part.Of(key, ""); !ok {
			return host.Part{}, false
		}
	}
	part.Text = name
	return part, true
}

// objectMembers are the members of each object.
var objectMembers = []string{
	"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf", "toJSON", "then",
	"__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
}

// look records the lookups that a node is.
func (r *reader) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Binding:
		if r.seen[n] {
			return false
		}
		r.seen[n] = true
		if of, ok := r.part(n.Initializer, 0); ok {
			r.pattern(n.Target, of, 0)
		}
	case *ast.DotExpression, *ast.BracketExpression:
		left, key, at := member(n)
		if of, ok := r.part(left, 0); ok && !slices.Contains(objectMembers, key) {
			r.Add(of, key, r.place(at), of.Text+`["`, `"]`)
		}
	case *ast.BinaryExpression:
		text, ok := n.Left.(*ast.StringLiteral)
		if of, known := r.part(n.Right, 0); ok && known && n.Operator == token.IN {
			r.Add(of, text.Value.String(), r.place(text.Idx), `"`, `" in `+of.Text)
		}
	case *ast.CallExpression:
		r.call(n)
	}
	return true
}

// call records the lookup that a call of hasOwn or hasOwnProperty is.
func (r *reader) call(n *ast.CallExpression) {
	if method, args := objectMethod(n); method == "hasOwn" && len(args) == 2 {
		r.has(args[0], args[1], func(of string) string { return "Object.hasOwn(" + of + `, "` })
	}
	if left, key, _ := member(n.Callee); key == "hasOwnProperty" && len(n.ArgumentList) == 1 {
		r.has(left, n.ArgumentList[0], func(of string) string { return strings.TrimSuffix(of, ".") + `.hasOwnProperty("` })
	}
}

func (r *reader) has(e, key ast.Expression, before func(of string) string) {
	text, ok := key.(*ast.StringLiteral)
	if of, known := r.part(e, 0); ok && known {
		r.Add(of, text.Value.String(), r.place(text.Idx), before(of.Text), `")`)
	}
}

func (r *reader) place(at file.Idx) func() engine.Pos {
	return func() engine.Pos { return r.pos(at) }
}

// pattern records the lookups in a pattern whose value is a part of the request.
func (r *reader) pattern(pattern ast.Node, of host.Part, depth int) {
	if depth > maxPatterns {
		return
	}
	switch p := pattern.(type) {
	case *ast.AssignExpression: // with a default
		r.pattern(p.Left, of, depth+1)
	case *ast.ObjectPattern:
		for _, property := range p.Properties {
			key, at, value := patternKey(property)
			if field, ok := of.Of(key, key); ok {
				r.pattern(value, field, depth+1)
			} else if key != "" {
				after := `"`
				if _, short := property.(*ast.PropertyShort); short {
					after += ": " + key
				}
				r.Add(of, key, r.place(at), `"`, after)
			}
		}
	}
}

package javascript

import (
	"reflect"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// An outliner makes the outlines of the functions of one file; see [engine.Outline]. It follows the names of variables, and the
// calls of functions of the file.
type outliner struct {
	host.Outliner
	at     func(offset int) engine.Pos
	base   int
	scopes map[ast.Node]*scope // of functions
	count  host.LookupCount
}

// A scope has what the names in a function mean, without its parameters. Blocks are not distinguished.
type scope struct {
	up        *scope
	variables map[string]*variable
	returned  []ast.Expression
}

// A variable has what the statements of a function put into it.
type variable struct {
	values   []ast.Expression // it is set to these
	elements []ast.Expression // these are added by push
	members  []ast.Expression // it is an element of these
	updates  []ast.Expression // their fields are set in it
	changes  []change         // parts of it are set
	other    bool             // it has other values too: it is a parameter
}

// A change is an assignment to a part of a variable.
type change struct {
	steps []step
	value ast.Expression
}

// A step leads to a field or an element of a value; see [host.Step].
type step struct {
	key     string
	at      file.Idx
	element bool
}

// An outline is what is known of a function without running it.
type outline struct {
	results *engine.Outline
	lookups []engine.Lookup
}

// outlines returns the outlines of the functions of a file, by name. It must be called before the file is rewritten. at converts
// an offset to a position.
func outlines(parsed *ast.Program, names []*ast.Identifier, at func(offset int) engine.Pos) map[string]outline {
	o := &outliner{at: at, base: parsed.File.Base(), scopes: map[ast.Node]*scope{}}
	top := &scope{}
	for _, statement := range parsed.Body {
		visit(reflect.ValueOf(statement), 0, top.node)
	}
	all, read := map[string]outline{}, map[ast.Node][]engine.Lookup{}
	add := func(name string, functions []function) {
		found := outline{results: o.results(functions)}
		if len(functions) == 1 {
			literal := functions[0].literal
			if _, known := read[literal]; !known {
				read[literal] = o.lookups(literal)
			}
			found.lookups = read[literal]
		}
		all[name] = found
	}
	for _, id := range names {
		add(id.Name.String(), o.functions(id, top, 0))
	}
	for name, values := range o.exported(top) {
		var functions []function
		for _, v := range values {
			functions = append(functions, o.functions(v, top, 0)...)
		}
		add(name, functions)
	}
	return all
}

// exported returns what the file assigns to the fields of exports, and of module.exports. The name of module.exports itself is "".
func (o *outliner) exported(top *scope) map[string][]ast.Expression {
	all := map[string][]ast.Expression{}
	if v := top.variables["exports"]; v != nil {
		for name, values := range v.fields() {
			all[name] = append(all[name], values...)
		}
	}
	if v := top.variables["module.exports"]; v != nil {
		for _, value := range v.values {
			all[""] = append(all[""], value)
			if object, ok := value.(*ast.ObjectLiteral); ok {
				for _, p := range object.Value {
					if key, _, value := property(p); key != "" {
						all[key] = append(all[key], value)
					}
				}
			}
		}
		for name, values := range v.fields() {
			all[name] = append(all[name], values...)
		}
	}
	return all
}

// maxVisited is how deep visit looks into a value. The syntax tree of a chain of thousands of operators is as deep as it is long.
const maxVisited = 1000

// visit calls node with each node in a value, and with the nodes in that one if it returns true. It reports whether all nodes were
// visited, and none is too deep.
func visit(v reflect.Value, depth int, node func(ast.Node) bool) bool {
	if depth++; depth > maxVisited {
		return false
	}
	all := true
	switch v.Kind() {
	case reflect.Interface:
		return v.IsNil() || visit(v.Elem(), depth, node)
	case reflect.Pointer:
		if v.IsNil() || isLeafType(v.Type().Elem()) {
			return true
		}
		if n, ok := v.Interface().(ast.Node); ok && !node(n) {
			return true
		}
		return visit(v.Elem(), depth, node)
	case reflect.Struct:
		for _, i := range fieldsWithNodes(v.Type()) {
			all = visit(v.Field(i), depth, node) && all
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = visit(v.Index(i), depth, node) && all
		}
	}
	return all
}

// node records what a node does with the variables of a function, and reports whether to visit the nodes in it. Functions in it are not
// visited.
func (s *scope) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FunctionDeclaration:
		s.set(n.Function.Name, n.Function)
		return false
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
		return false
	case *ast.ReturnStatement:
		if n.Argument != nil {
			s.returned = append(s.returned, n.Argument)
		}
	case *ast.Binding:
		if s.declare(n.Target, 0); n.Initializer != nil {
			s.set(n.Target, n.Initializer)
		}
	case *ast.ForOfStatement:
		s.loop(n)
	case *ast.CatchStatement:
		s.declare(n.Parameter, 0)
	case *ast.AssignExpression:
		if n.Operator == token.ASSIGN {
			s.set(n.Left, n.Right)
		}
	case *ast.CallExpression:
		s.call(n)
	}
	return true
}

// call records the calls that change a list or an object.
func (s *scope) call(n *ast.CallExpression) {
	method, ok := n.Callee.(*ast.DotExpression)
	if !ok || len(n.ArgumentList) == 0 {
		return
	}
	args := n.ArgumentList
	switch method.Identifier.Name {
	case "assign":
		if name := nameOf(args[0]); name != "" {
			s.variable(name).updates = append(s.variable(name).updates, args[1:]...)
		}
		return
	case "splice":
		args = args[min(2, len(args)):]
	case "push", "unshift":
	default:
		return
	}
	of, steps := target(method.Left, 0)
	switch {
	case of == "":
	case len(steps) == 0:
		s.variable(of).elements = append(s.variable(of).elements, args...)
	default:
		for _, value := range args {
			s.variable(of).changes = append(s.variable(of).changes, change{append(slices.Clip(steps), step{element: true}), value})
		}
	}
}

// maxPatterns is how many patterns are looked at that are in each other.
const maxPatterns = 20

// declare records the variables of a pattern, whose values are not known.
func (s *scope) declare(pattern ast.Node, depth int) {
	if depth >= maxPatterns {
		return
	}
	switch p := pattern.(type) {
	case *ast.ObjectPattern:
		for _, property := range p.Properties {
			switch property := property.(type) {
			case *ast.PropertyShort:
				s.variable(property.Name.Name.String()).other = true
			case *ast.PropertyKeyed:
				s.parameter(property.Value, depth+1)
			}
		}
		s.parameter(p.Rest, depth+1)
	case *ast.ArrayPattern:
		for _, element := range p.Elements {
			s.parameter(element, depth+1)
		}
		s.parameter(p.Rest, depth+1)
	}
}

// parameter records a parameter of a function, or a part of its pattern.
func (s *scope) parameter(p ast.Node, depth int) {
	switch p := p.(type) {
	case *ast.Identifier:
		s.variable(p.Name.String()).other = true
	case *ast.AssignExpression: // with a default
		if depth < maxPatterns {
			s.parameter(p.Left, depth+1)
		}
	case *ast.ObjectPattern, *ast.ArrayPattern:
		s.declare(p, depth)
	}
}

// parameters records the parameters of a function. The first one is an element of a list, unless that is nil.
func (s *scope) parameters(list *ast.ParameterList, of ast.Expression) {
	if list == nil {
		return
	}
	for i, param := range list.List {
		if id, ok := param.Target.(*ast.Identifier); ok && i == 0 && of != nil {
			s.variable(id.Name.String()).members = append(s.variable(id.Name.String()).members, of)
			continue
		}
		s.parameter(param.Target, 0)
	}
	s.parameter(list.Rest, 0)
}

// loop records the variable of a loop over the elements of a list.
func (s *scope) loop(n *ast.ForOfStatement) {
	var into ast.Node
	switch to := n.Into.(type) {
	case *ast.ForDeclaration:
		into = to.Target
	case *ast.ForIntoVar:
		into = to.Binding.Target
	}
	if id, ok := into.(*ast.Identifier); ok {
		s.variable(id.Name.String()).members = append(s.variable(id.Name.String()).members, n.Source)
		return
	}
	s.declare(into, 0)
}

// maxSteps is how many steps of an assignment are looked at.
const maxSteps = 20

// target returns the variable of which an expression is a part, and the steps to the part; "" if it is not known.
func target(e ast.Expression, depth int) (of string, steps []step) {
	if name := nameOf(e); name != "" || depth >= maxSteps {
		return name, nil
	}
	switch e := e.(type) {
	case *ast.DotExpression:
		of, steps = target(e.Left, depth+1)
		return of, append(steps, step{key: e.Identifier.Name.String(), at: e.Identifier.Idx})
	case *ast.BracketExpression:
		last := step{element: true}
		if text, ok := e.Member.(*ast.StringLiteral); ok {
			last = step{key: text.Value.String(), at: text.Idx}
		}
		of, steps = target(e.Left, depth+1)
		return of, append(steps, last)
	}
	return "", nil
}

// set records that a variable, or a part of one, is set.
func (s *scope) set(to ast.Expression, value ast.Expression) {
	of, steps := target(to, 0)
	switch {
	case of == "":
		return
	case len(steps) == 0:
		s.variable(of).values = append(s.variable(of).values, value)
	default:
		s.variable(of).changes = append(s.variable(of).changes, change{steps, value})
	}
}

// fields returns what the fields of the variable are set to.
func (v *variable) fields() map[string][]ast.Expression {
	all := map[string][]ast.Expression{}
	for _, c := range v.changes {
		if len(c.steps) == 1 && !c.steps[0].element {
			all[c.steps[0].key] = append(all[c.steps[0].key], c.value)
		}
	}
	return all
}

// nameOf returns the name of a variable, or module.exports, or "" for another expression.
func nameOf(e ast.Node) string {
	switch e := e.(type) {
	case *ast.Identifier:
		return e.Name.String()
	case *ast.DotExpression:
		if of, ok := e.Left.(*ast.Identifier); ok && of.Name == "module" && e.Identifier.Name == "exports" {
			return "module.exports"
		}
	}
	return ""
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

// find returns a variable and the scope that has it, or nil.
func (s *scope) find(name string) (*variable, *scope) {
	for ; s != nil; s = s.up {
		if v := s.variables[name]; v != nil {
			return v, s
		}
	}
	return nil, nil
}

// A function is a function literal in the scope around it.
type function struct {
	literal ast.Node
	around  *scope
	over    ast.Expression // the list with whose elements it is called, or nil
}

// functions returns the function literals that an expression may be.
func (o *outliner) functions(e ast.Expression, in *scope, depth int) []function {
	switch e := e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return []function{{literal: e, around: in}}
	case *ast.Identifier:
		v, of := in.find(e.Name.String())
		if v == nil || depth > 5 {
			return nil
		}
		var all []function
		for _, value := range v.values {
			all = append(all, o.functions(value, of, depth+1)...)
		}
		return all
	}
	return nil
}

// results returns the outline of the results of functions.
func (o *outliner) results(functions []function) (all *engine.Outline) {
	for _, f := range functions {
		if o.Done() {
			break
		}
		in := o.scopes[f.literal]
		if in == nil {
			in = &scope{up: f.around}
			o.scopes[f.literal] = in
			switch literal := f.literal.(type) {
			case *ast.FunctionLiteral:
				in.parameters(literal.ParameterList, f.over)
				visit(reflect.ValueOf(literal.Body), 0, in.node)
			case *ast.ArrowFunctionLiteral:
				in.parameters(literal.ParameterList, f.over)
				if body, ok := literal.Body.(*ast.ExpressionBody); ok {
					in.returned = append(in.returned, body.Expression)
				}
				visit(reflect.ValueOf(&literal.Body).Elem(), 0, in.node)
			}
		}
		all = all.Or(o.anyOf(in.returned, in))
	}
	return all
}

func (o *outliner) anyOf(exprs []ast.Expression, in *scope) (all *engine.Outline) {
	for _, e := range exprs {
		if o.Done() {
			break
		}
		all = all.Or(o.expr(e, in))
	}
	return all
}

func (o *outliner) pos(at file.Idx) engine.Pos { return o.at(int(at) - o.base) }

// expr returns the outline of the value of an expression.
func (o *outliner) expr(e ast.Expression, in *scope) *engine.Outline {
	if e == nil {
		return nil
	}
	return o.Within(func() *engine.Outline {
		switch e := e.(type) {
		case *ast.ConditionalExpression:
			return o.expr(e.Consequent, in).Or(o.expr(e.Alternate, in))
		case *ast.AwaitExpression:
			return o.expr(e.Argument, in)
		case *ast.SpreadElement:
			return o.expr(e.Expression, in)
		case *ast.BinaryExpression:
			if e.Operator == token.LOGICAL_OR || e.Operator == token.COALESCE {
				return o.expr(e.Left, in).Or(o.expr(e.Right, in))
			}
		}
		at := &engine.Outline{Pos: o.pos(e.Idx0())}
		switch e := e.(type) {
		case *ast.StringLiteral:
			at.Text = host.Text(e.Value.String())
		case *ast.ObjectLiteral:
			o.object(at, e, in)
		case *ast.ArrayLiteral:
			o.array(at, e.Value, in)
		case *ast.Identifier:
			return o.name(at, e.Name.String(), in)
		case *ast.CallExpression:
			return o.call(at, e, in)
		}
		return at
	})
}

func (o *outliner) object(at *engine.Outline, e *ast.ObjectLiteral, in *scope) {
	at.Fields = map[string]*engine.Outline{}
	for _, p := range e.Value {
		if spread, ok := p.(*ast.SpreadElement); ok {
			o.merge(at, o.expr(spread.Expression, in))
			continue
		}
		if key, idx, value := property(p); key != "" {
			at.Fields[key] = &engine.Outline{Key: o.pos(idx), Either: []*engine.Outline{o.expr(value, in)}}
		}
	}
}

// merge adds the fields of another value to those of at, before which it is not known which fields the other value has.
func (o *outliner) merge(at, other *engine.Outline) {
	if !host.Known(other) { // it may replace any field
		at.Fields, at.Either = map[string]*engine.Outline{}, nil
	}
	at.Either = append(at.Either, host.Parts(other))
}

// property returns the key of a property, its position, and the value; key is "" if it is computed.
func property(p ast.Property) (key string, at file.Idx, value ast.Expression) {
	switch p := p.(type) {
	case *ast.PropertyShort:
		return p.Name.Name.String(), p.Name.Idx, &p.Name
	case *ast.PropertyKeyed:
		if text, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed {
			return text.Value.String(), text.Idx, p.Value
		}
	}
	return "", 0, nil
}

func (o *outliner) array(at *engine.Outline, elements []ast.Expression, in *scope) {
	spread := false
	at.Items = []*engine.Outline{}
	for _, e := range elements {
		item := o.expr(e, in)
		if _, ok := e.(*ast.SpreadElement); ok {
			if spread = true; !host.Known(item) { // what follows may be anywhere
				at.Each, at.Either = nil, []*engine.Outline{host.Unknown()}
				return
			}
			item = host.AnyElement(item)
		}
		if spread {
			at.Each = at.Each.Or(item)
		} else {
			at.Items = append(at.Items, item)
		}
	}
}

func (o *outliner) name(at *engine.Outline, name string, in *scope) *engine.Outline {
	v, of := in.find(name)
	if v == nil || slices.ContainsFunc(v.values, isFunction) {
		return at
	}
	values, added := o.anyOf(v.values, of), &engine.Outline{}
	o.array(added, v.elements, of)
	for _, list := range v.members {
		if !o.Done() {
			values = values.Or(host.AnyElement(o.expr(list, of)))
		}
	}
	var changes []*engine.Outline
	for _, c := range v.changes {
		var steps []host.Step
		for _, s := range c.steps {
			step := host.Step{Key: s.key, Element: s.element}
			if !s.element {
				step.At = o.pos(s.at)
			}
			steps = append(steps, step)
		}
		changes = append(changes, host.Set(steps, o.expr(c.value, of)))
	}
	for _, update := range v.updates {
		with := o.expr(update, of)
		changes = append(changes, host.Parts(with))
		if !host.Known(with) {
			values = at // any field may be another one
		}
	}
	if v.other || values == nil {
		values = at.Or(values)
	}
	return host.Variable(values, host.AnyElement(added), changes)
}

func isFunction(e ast.Expression) bool {
	switch e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return true
	}
	return false
}

func (o *outliner) call(at *engine.Outline, e *ast.CallExpression, in *scope) *engine.Outline {
	if result := o.results(o.functions(e.Callee, in, 0)); result != nil {
		return result
	}
	method, ok := e.Callee.(*ast.DotExpression)
	if !ok {
		return at
	}
	switch method.Identifier.Name {
	case "map", "flatMap":
		for _, f := range e.ArgumentList[:min(1, len(e.ArgumentList))] {
			called := o.functions(f, in, 0)
			if _, inline := f.(*ast.Identifier); !inline && len(called) == 1 && method.Identifier.Name == "map" {
				called[0].over = method.Left
			}
			at.Each = o.results(called)
		}
		if method.Identifier.Name == "flatMap" {
			at.Each = host.AnyElement(at.Each)
		}
	case "filter", "sort", "reverse", "slice", "concat":
		at.Each = host.AnyElement(o.expr(method.Left, in))
		for _, list := range e.ArgumentList {
			if method.Identifier.Name == "concat" {
				at.Each = at.Each.Or(host.AnyElement(o.expr(list, in)))
			}
		}
	case "assign":
		for _, source := range e.ArgumentList {
			o.merge(at, o.expr(source, in))
		}
	}
	return at
}

package javascript

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"metascript/engine"
	"metascript/runtimes/internal/measure"
)

// Source text is bounded before it is compiled, and what its syntax does without calling a function is rewritten
// where it may do too much.

const (
	// maxTemplate is how many expressions goja may put into a template at once. Each may be as large as memory
	// allows, and between two steps only can it be stopped.
	maxTemplate = 4
)

// The functions that the rewriting calls. No script can name them.
const (
	ownFunction  = "<own>"
	heirFunction = "<heir>"

	grownFunction  = "<grown>"
	spreadFunction = "<spread>"
	wholeFunction  = "<whole>"
	fieldFunction  = "<field>"
	restFunction   = "<rest>"
)

var syntaxNames = []string{ownFunction, heirFunction, grownFunction, spreadFunction, wholeFunction, fieldFunction, restFunction}

// features are what a script makes by its syntax, without a name.
type features struct {
	patterns   patternFeatures
	regExp     bool // a literal
	errors     bool // catches what goja throws
	promises   bool
	generators bool
	rewritten  bool // it calls the functions below
}

// A checker goes through a parsed file. It uses reflection, so that no kind of node is forgotten.
type checker struct {
	features
	fault func(at file.Idx, kind engine.Kind, format string, args ...any) *engine.Error
	tally measure.Tally
	err   *engine.Error
	depth int
	at    file.Idx
	around
}

// check bounds and rewrites a parsed file, and notes what it uses.
func (m *module) check(name string, parsed *ast.Program) error {
	c := checker{tally: m.tally, fault: func(at file.Idx, kind engine.Kind, format string, args ...any) *engine.Error {
		pos := engine.Pos{File: name}
		if at > 0 {
			pos = m.pos(name, parsed.File.Position(int(at)-parsed.File.Base()))
		}
		return &engine.Error{Kind: kind, Pos: pos, Msg: fmt.Sprintf(format, args...)}
	}}
	c.visit(reflect.ValueOf(parsed.Body))
	if c.err != nil {
		return c.err
	}
	m.uses = c.features
	return nil
}

// visit goes through v: a node, or a struct or slice that holds nodes.
func (c *checker) visit(v reflect.Value) {
	if c.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			c.visit(v.Elem())
			if e, ok := v.Interface().(ast.Expression); c.err == nil && ok && v.CanSet() && v.Type() == typeExpression && grows(e) {
				v.Set(reflect.ValueOf(c.through(grownFunction, e)))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*file.File]() {
			c.node(v)
		}
	case reflect.Slice:
		if !plain(v.Type().Elem()) {
			for i := range v.Len() {
				c.visit(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !plain(v.Field(i).Type()) && v.Type().Field(i).Name != "DeclarationList" {
				c.visit(v.Field(i))
			}
		}
	}
}

var typeExpression = reflect.TypeFor[ast.Expression]()

// plain reports whether values of a type hold no nodes.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Struct:
		return false
	}
	return true
}

func (c *checker) node(v reflect.Value) {
	c.depth++
	before := c.around
	defer func() { c.depth, c.around = c.depth-1, before }()
	if n, ok := v.Interface().(ast.Node); ok {
		if at := start(n); at > 0 {
			c.at = at
		}
		if c.depth > measure.Tree.Most {
			c.err = measure.Tree.Passed(c.fault(c.at, engine.KindSource, "").Pos)
			return
		}
		if c.count(n); c.err != nil {
			return
		}
		c.look(n)
	}
	c.visit(v.Elem())
}

// start is where a node begins, as far as it can be told without going down into it.
func start(n ast.Node) file.Idx {
	switch n := n.(type) {
	case *ast.Identifier:
		return n.Idx
	case *ast.NumberLiteral:
		return n.Idx
	case *ast.StringLiteral:
		return n.Idx
	case *ast.RegExpLiteral:
		return n.Idx
	case *ast.UnaryExpression:
		return n.Idx
	}
	return 0
}

// look notes what a node means, and rewrites it.
func (c *checker) look(n ast.Node) {
	switch n := n.(type) {
	case *ast.NumberLiteral:
		if strings.HasSuffix(n.Literal, "n") {
			c.err = c.fault(n.Idx, engine.KindSyntax, "BigInt is not supported, since nothing bounds what it takes to calculate with it")
			c.err.Hint = "use a number up to 2^53, or text"
		}
	case *ast.RegExpLiteral:
		c.regExp = true
		if !c.patterns.add(n.Pattern, n.Flags) {
			c.err = c.fault(n.Idx, engine.KindSource, "%s", tooManyStates)
		}
	case *ast.TryStatement:
		c.errors = c.errors || n.Catch != nil
	case *ast.FunctionLiteral:
		c.promises = c.promises || n.Async
		c.generators = c.generators || n.Generator
	case *ast.ArrowFunctionLiteral:
		c.promises = c.promises || n.Async
	case *ast.TemplateLiteral:
		if n.Tag == nil {
			halve(n)
		}
	case *ast.ObjectLiteral:
		for i, p := range n.Value {
			n.Value[i] = c.property(p)
		}
	case *ast.ObjectPattern:
		if n.Rest != nil {
			n.Properties = append(n.Properties, c.probe(n.LeftBrace))
		}
	case *ast.ForInStatement:
		n.Source = c.through(ownFunction, n.Source)
	case *ast.AssignExpression:
		if n.Operator == token.PLUS && !small(n.Right) {
			lengthen(n)
		}
	case *ast.CallExpression:
		c.spreads(n.ArgumentList)
	case *ast.NewExpression:
		c.spreads(n.ArgumentList)
	case *ast.UnaryExpression:
		if n.Operator == token.DELETE {
			c.keepsName(n.Operand)
		}
	case *ast.WithStatement:
		n.Object = c.through(wholeFunction, n.Object)
	case *ast.ClassLiteral:
		c.class(n)
	case *ast.Identifier:
		c.name(n.Idx, string(n.Name))
	case *ast.PrivateIdentifier:
		c.name(n.Idx, string(n.Name))
	}
}

// name bounds a name, which may be that of a function.
func (c *checker) name(at file.Idx, name string) {
	if len(name) > maxName && c.err == nil {
		c.err = c.fault(at, engine.KindSource, "a name has more than %d characters", maxName)
	}
}

// keyed bounds the name of a property whose value is called by it.
func (c *checker) keyed(key, value ast.Expression) {
	if key, ok := key.(*ast.StringLiteral); ok && named(value) {
		c.name(key.Idx, string(key.Value))
	}
}

// named reports whether an expression gets the name of what it is assigned to.
func named(e ast.Expression) bool {
	switch e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
		return true
	}
	return false
}

// class rewrites a class: see run.heir and run.field.
func (c *checker) class(n *ast.ClassLiteral) {
	for _, e := range n.Body {
		switch e := e.(type) {
		case *ast.MethodDefinition:
			c.keyed(e.Key, e.Body)
		case *ast.FieldDefinition:
			c.keyed(e.Key, e.Initializer)
			if n.SuperClass != nil && !e.Static && e.Initializer != nil && !named(e.Initializer) {
				e.Initializer = c.through(fieldFunction, e.Initializer, &ast.ThisExpression{Idx: e.Idx})
			}
		}
	}
	if n.SuperClass != nil {
		n.SuperClass = c.through(heirFunction, n.SuperClass)
	}
}

// spreads rewrites the arguments of a call in which several are spread: a function may give all of them back as one list.
func (c *checker) spreads(list []ast.Expression) {
	n := 0
	for _, e := range list {
		if _, ok := e.(*ast.SpreadElement); ok {
			n++
		}
	}
	if n < 2 {
		return
	}
	for i, e := range list {
		if e, ok := e.(*ast.SpreadElement); ok {
			times := &ast.NumberLiteral{Idx: e.Idx0(), Literal: strconv.Itoa(n), Value: int64(n)}
			list[i] = &ast.SpreadElement{Expression: c.through(spreadFunction, e.Expression, times)}
		}
	}
}

// keepsName rewrites what delete is applied to: see run.whole.
func (c *checker) keepsName(e ast.Expression) {
	switch e := e.(type) {
	case *ast.OptionalChain:
		c.keepsName(e.Expression)
	case *ast.DotExpression:
		c.holder(&e.Left)
	case *ast.BracketExpression:
		c.holder(&e.Left)
	}
}

func (c *checker) holder(left *ast.Expression) {
	switch e := (*left).(type) {
	case *ast.SuperExpression: // it throws
	case *ast.Optional:
		e.Expression = c.through(wholeFunction, e.Expression)
	default:
		*left = c.through(wholeFunction, e)
	}
}

// grows reports whether an expression makes something of several parts each of which may be large, without a native
// function that counts. Where it is done again and again, each time with what came of it before, memory is gone within
// twenty times.
func grows(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.BinaryExpression:
		return e.Operator == token.PLUS && !small(e.Left) && !small(e.Right)
	case *ast.AssignExpression: // of more than a name: see lengthen
		return e.Operator == token.PLUS && !small(e.Right)
	case *ast.TemplateLiteral:
		return e.Tag == nil && (len(e.Expressions) > 1 || !shortElements(e))
	case *ast.ArrayLiteral:
		spreads := 0
		for _, element := range e.Value {
			if _, ok := element.(*ast.SpreadElement); ok {
				spreads++
			}
		}
		return spreads > 1
	}
	return false
}

// maxSmall is how long a text may be that is appended without being counted: a text that is as long as may be has to be
// copied for each.
const maxSmall = 1000

// small reports whether an expression is proven to be no object, and as a text to be short. What a name means proves
// nothing: any object may have a length, and any text may be it.
func small(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		return true
	case *ast.StringLiteral:
		return len(e.Value) <= maxSmall
	case *ast.TemplateLiteral:
		return e.Tag == nil && len(e.Expressions) == 0 && shortElements(e)
	case *ast.UnaryExpression:
		return true // a number, a boolean, undefined, or the name of a type
	case *ast.BinaryExpression:
		return e.Operator != token.PLUS && yieldsScalar[e.Operator] || e.Operator == token.PLUS && scalar(e.Left) && scalar(e.Right)
	}
	return false
}

// yieldsScalar are the operators that give a number or a boolean, whatever they are applied to. There is no BigInt.
var yieldsScalar = map[token.Token]bool{
	token.MINUS: true, token.MULTIPLY: true, token.EXPONENT: true, token.SLASH: true, token.REMAINDER: true,
	token.AND: true, token.OR: true, token.EXCLUSIVE_OR: true, token.SHIFT_LEFT: true, token.SHIFT_RIGHT: true,
	token.UNSIGNED_SHIFT_RIGHT: true, token.EQUAL: true, token.STRICT_EQUAL: true, token.NOT_EQUAL: true,
	token.STRICT_NOT_EQUAL: true, token.LESS: true, token.GREATER: true, token.LESS_OR_EQUAL: true,
	token.GREATER_OR_EQUAL: true, token.IN: true, token.INSTANCEOF: true,
}

// scalar reports whether an expression is proven to be no text: the sum of two such is a number.
func scalar(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		return true
	case *ast.UnaryExpression:
		return e.Operator != token.TYPEOF
	case *ast.BinaryExpression:
		return yieldsScalar[e.Operator] || e.Operator == token.PLUS && scalar(e.Left) && scalar(e.Right)
	}
	return false
}

func shortElements(t *ast.TemplateLiteral) bool {
	n := 0
	for _, e := range t.Elements {
		n += len(e.Parsed)
	}
	return n <= maxSmall
}

// lengthen makes x = x + y of x += y, which grows then looks at. Where x is more than a name, it would be evaluated
// twice; there grows looks at what the assignment gives.
func lengthen(n *ast.AssignExpression) {
	if name, ok := n.Left.(*ast.Identifier); ok {
		read := *name
		n.Operator = token.ASSIGN
		n.Right = &ast.BinaryExpression{Operator: token.PLUS, Left: &read, Right: n.Right}
	}
}

func (c *checker) property(p ast.Property) ast.Property {
	switch p := p.(type) {
	case *ast.SpreadElement:
		return &ast.SpreadElement{Expression: c.through(ownFunction, p.Expression)}
	case *ast.PropertyKeyed:
		if !p.Computed {
			c.keyed(p.Key, p.Value)
		}
		if key, ok := p.Key.(*ast.StringLiteral); ok && key.Value == "__proto__" && !p.Computed && p.Kind == ast.PropertyKindValue {
			p.Value = c.through(heirFunction, p.Value)
		}
	}
	return p
}

// restProperty is a name that no object has.
const restProperty = "metascript.rest"

// probe is a property of a pattern with a rest. It binds nothing, and its name comes from a function that enumerates what the
// pattern splits, see rest.
func (c *checker) probe(at file.Idx) ast.Property {
	return &ast.PropertyKeyed{
		Key:   c.through(restFunction, &ast.StringLiteral{Idx: at, Literal: "'" + restProperty + "'", Value: restProperty}),
		Kind:  ast.PropertyKindValue,
		Value: &ast.AssignExpression{Operator: token.ASSIGN, Left: &ast.ObjectPattern{LeftBrace: at, RightBrace: at}, Right: &ast.NumberLiteral{Idx: at, Literal: "0", Value: int64(0)}},

		Computed: true,
	}
}

// through passes an expression through one of our functions, which may get more arguments.
func (c *checker) through(function string, e ast.Expression, more ...ast.Expression) ast.Expression {
	c.rewritten = true
	at := e.Idx0()
	return &ast.CallExpression{
		Callee:          &ast.Identifier{Name: unistring.NewFromString(function), Idx: at},
		LeftParenthesis: at, ArgumentList: append([]ast.Expression{e}, more...), RightParenthesis: e.Idx1(),
	}
}

// halve makes two templates in one of a long one, again and again.
func halve(t *ast.TemplateLiteral) {
	if len(t.Expressions) <= maxTemplate {
		return
	}
	empty := func(like *ast.TemplateElement) *ast.TemplateElement {
		return &ast.TemplateElement{Idx: like.Idx, Valid: true}
	}
	n := len(t.Expressions) / 2
	left := &ast.TemplateLiteral{OpenQuote: t.OpenQuote, CloseQuote: t.CloseQuote, Elements: t.Elements[: n+1 : n+1], Expressions: t.Expressions[:n:n]}
	right := &ast.TemplateLiteral{OpenQuote: t.OpenQuote, CloseQuote: t.CloseQuote, Expressions: t.Expressions[n:]}
	right.Elements = append([]*ast.TemplateElement{empty(t.Elements[n])}, t.Elements[n+1:]...)
	first := t.Elements[0]
	t.Elements = []*ast.TemplateElement{empty(first), empty(first), empty(first)}
	t.Expressions = []ast.Expression{left, right}
}

// Samples of what syntax makes.
var (
	aPattern   = goja.MustCompile("", "/x/", false)
	aGenerator = goja.MustCompile("", "(function* () {})", false)
	anAsync    = goja.MustCompile("", "(async () => {})", false)
)

// prepare guards what a file makes by its syntax.
func (r *run) prepare(uses features) {
	r.patterns.states = max(r.patterns.states, uses.patterns.states)
	r.patterns.backtracks = r.patterns.backtracks || uses.patterns.backtracks
	if uses.regExp {
		r.sweepRegExp()
	}
	if uses.generators {
		r.sweep(r.sample(aGenerator).Prototype(), "GeneratorFunction.prototype")
	}
	if uses.promises {
		r.sweep(r.sample(anAsync).Prototype(), "AsyncFunction.prototype")
		r.vm.GlobalObject().Get("Promise")
	}
	if uses.errors || uses.promises {
		r.sweepErrors()
	}
}

// sweepErrors guards the classes of the errors that goja throws.
func (r *run) sweepErrors() {
	for _, name := range engineErrors {
		r.vm.GlobalObject().Get(name) // see patch
	}
}

func (r *run) sample(p *goja.Program) *goja.Object {
	v, err := r.vm.RunProgram(p)
	if err != nil {
		panic(err)
	}
	return v.(*goja.Object)
}

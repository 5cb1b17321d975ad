package javascript

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"metascript/engine"
	"metascript/runtimes/internal/measure"
)

// This file limits source text before it is compiled, and rewrites syntax that could do too much without calling a function.

// maxTemplate is the maximum number of expressions in a template. goja joins all of them in one step, which cannot be stopped, and
// each may be as large as the memory limit.
const maxTemplate = 4

// The functions that the rewritten syntax calls. No script can use these names.
const (
	propertiesFunction = "<own>"
	prototypesFunction = "<heir>"

	operandFunction = "<grown>"
	spreadFunction  = "<spread>"
	nameFunction    = "<whole>"
	fieldFunction   = "<field>"
	restFunction    = "<rest>"
	literalFunction = "<pattern>"
)

var syntaxNames = []string{propertiesFunction, prototypesFunction, operandFunction, spreadFunction, nameFunction, fieldFunction, restFunction, literalFunction}

// features say which built-in objects a script creates by its syntax, without using a global name.
type features struct {
	patterns   patternFeatures
	regExp     bool // regular expression literals
	errors     bool // errors of goja, in a catch clause
	promises   bool
	generators bool
	rewritten  bool // it calls the functions above
}

// A checker visits a parsed file. It uses reflection, so that it visits every type of node.
type checker struct {
	features
	fault func(at file.Idx, kind engine.Kind, format string, args ...any) *engine.Error
	tally measure.Tally
	err   *engine.Error
	depth int
	at    file.Idx
	around
	callbacks []*ast.CallExpression         // see callbacks.go
	literals  map[*ast.RegExpLiteral]string // the sources of those that were translated
}

// check limits and rewrites a parsed file, and records its features.
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
	m.once = makeOnce(parsed, c.callbacks)
	return nil
}

// visit visits v, which is a node, or a struct or slice that contains nodes.
func (c *checker) visit(v reflect.Value) {
	if c.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			c.visit(v.Elem())
			if e, ok := v.Interface().(ast.Expression); c.err == nil && ok && v.CanSet() && v.Type() == typeExpression {
				if wrapped, ok := c.withSource(e); ok {
					v.Set(reflect.ValueOf(wrapped))
				} else if combines(e) {
					v.Set(reflect.ValueOf(c.wrapCall(operandFunction, e)))
				}
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*file.File]() {
			c.node(v)
		}
	case reflect.Slice:
		if !isLeafType(v.Type().Elem()) {
			for i := range v.Len() {
				c.visit(v.Index(i))
			}
		}
	case reflect.Struct:
		for _, i := range fieldsWithNodes(v.Type()) {
			if field := v.Field(i); field.Type() != typeDeclarationList {
				c.visit(field)
			}
		}
	}
}

var (
	typeExpression      = reflect.TypeFor[ast.Expression]()
	typeDeclarationList = reflect.TypeFor[[]*ast.VariableDeclaration]() // declarations that are also statements
)

// nodeFields has what fieldsWithNodes returned for a [reflect.Type], since reflect makes each field's description anew.
var nodeFields sync.Map

// fieldsWithNodes returns the indices of the exported fields of a struct that may contain nodes.
func fieldsWithNodes(t reflect.Type) []int {
	if known, ok := nodeFields.Load(t); ok {
		return known.([]int)
	}
	var fields []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && !isLeafType(f.Type) {
			fields = append(fields, i)
		}
	}
	nodeFields.Store(t, fields)
	return fields
}

// isLeafType reports whether values of a type contain no nodes.
func isLeafType(t reflect.Type) bool {
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
		if c.depth > measure.Tree.Max {
			c.err = measure.Tree.Exceeded(c.fault(c.at, engine.KindSource, "").Pos)
			return
		}
		if c.count(n); c.err != nil {
			return
		}
		c.rewriteNode(n)
	}
	c.visit(v.Elem())
}

// start returns where a node begins, or 0 for a node that does not have its own position.
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

// rewriteNode records the features that a node uses, and rewrites it.
func (c *checker) rewriteNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.NumberLiteral:
		if strings.HasSuffix(n.Literal, "n") {
			c.err = c.fault(n.Idx, engine.KindSyntax, "BigInt is not supported, since nothing bounds what it takes to calculate with it")
			c.err.Hint = "use a number up to 2^53, or text"
		}
	case *ast.RegExpLiteral:
		c.pattern(n)
	case *ast.TryStatement:
		c.errors = c.errors || n.Catch != nil
	case *ast.FunctionLiteral:
		c.promises = c.promises || n.Async
		c.generators = c.generators || n.Generator
	case *ast.ArrowFunctionLiteral:
		c.promises = c.promises || n.Async
	case *ast.TemplateLiteral:
		if n.Tag == nil {
			splitTemplate(n)
		}
	case *ast.ObjectLiteral:
		for i, p := range n.Value {
			n.Value[i] = c.property(p)
		}
	case *ast.ObjectPattern:
		if n.Rest != nil {
			n.Properties = append(n.Properties, c.restProbe(n.LeftBrace))
		}
	case *ast.ForInStatement:
		n.Source = c.wrapCall(propertiesFunction, n.Source)
	case *ast.AssignExpression:
		if n.Operator == token.PLUS && !small(n.Right) {
			expandPlusAssign(n)
		}
	case *ast.CallExpression:
		c.wrapSpreads(n.ArgumentList)
		if callback(n) != nil {
			c.callbacks = append(c.callbacks, n)
		}
	case *ast.NewExpression:
		c.wrapSpreads(n.ArgumentList)
	case *ast.UnaryExpression:
		if n.Operator == token.DELETE {
			c.wrapDeleted(n.Operand)
		}
	case *ast.WithStatement:
		n.Object = c.wrapCall(nameFunction, n.Object)
	case *ast.ClassLiteral:
		c.class(n)
	case *ast.Identifier:
		c.name(n.Idx, string(n.Name))
	case *ast.PrivateIdentifier:
		c.name(n.Idx, string(n.Name))
	}
}

// pattern limits and translates a regular expression.
func (c *checker) pattern(n *ast.RegExpLiteral) {
	c.regExp = true
	made, flags, fault := translated(utf16.Encode([]rune(n.Pattern)), n.Flags)
	if fault != nil {
		kind, hint := engine.KindSyntax, fault.Hint
		if fault.Large {
			kind, hint = engine.KindSource, smallerPattern
		}
		c.err = c.fault(n.Idx, kind, "%s", invalidPattern(fault))
		c.err.Hint = hint
		return
	}
	c.patterns.add(made)
	c.add(measure.Patterns, made.Memory)
	if made.Text != n.Pattern {
		if c.literals == nil {
			c.literals = map[*ast.RegExpLiteral]string{}
		}
		c.literals[n] = n.Pattern
	}
	n.Pattern, n.Flags = made.Text, flags
}

// withSource returns what e is replaced by: a translated regular expression gets its source again; see run.literal.
func (c *checker) withSource(e ast.Expression) (ast.Expression, bool) {
	n, _ := e.(*ast.RegExpLiteral)
	source, ok := c.literals[n]
	if !ok {
		return e, false
	}
	return c.wrapCall(literalFunction, n, &ast.StringLiteral{Idx: n.Idx, Literal: "''", Value: unistring.NewFromString(source)}), true
}

// name limits the length of a name, which may become the name of a function.
func (c *checker) name(at file.Idx, name string) {
	if len(name) > maxName && c.err == nil {
		c.err = c.fault(at, engine.KindSource, "a name has more than %d characters", maxName)
	}
}

// propertyName limits the name of a property if its value gets that name.
func (c *checker) propertyName(key, value ast.Expression) {
	if key, ok := key.(*ast.StringLiteral); ok && takesName(value) {
		c.name(key.Idx, string(key.Value))
	}
}

// takesName reports whether an expression gets the name of the variable or property that it is assigned to.
func takesName(e ast.Expression) bool {
	switch e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
		return true
	}
	return false
}

// class rewrites a class: see run.limitPrototypes and run.field.
func (c *checker) class(n *ast.ClassLiteral) {
	for _, e := range n.Body {
		switch e := e.(type) {
		case *ast.MethodDefinition:
			c.propertyName(e.Key, e.Body)
		case *ast.FieldDefinition:
			c.propertyName(e.Key, e.Initializer)
			if n.SuperClass != nil && !e.Static && e.Initializer != nil && !takesName(e.Initializer) {
				e.Initializer = c.wrapCall(fieldFunction, e.Initializer, &ast.ThisExpression{Idx: e.Idx})
			}
		}
	}
	if n.SuperClass != nil {
		n.SuperClass = c.wrapCall(prototypesFunction, n.SuperClass)
	}
}

// wrapSpreads rewrites the arguments of a call with several spread elements: a function may return all of them as one list.
func (c *checker) wrapSpreads(list []ast.Expression) {
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
			list[i] = &ast.SpreadElement{Expression: c.wrapCall(spreadFunction, e.Expression, times)}
		}
	}
}

// wrapDeleted rewrites the operand of delete: see run.protectName.
func (c *checker) wrapDeleted(e ast.Expression) {
	switch e := e.(type) {
	case *ast.OptionalChain:
		c.wrapDeleted(e.Expression)
	case *ast.DotExpression:
		c.wrapObject(&e.Left)
	case *ast.BracketExpression:
		c.wrapObject(&e.Left)
	}
}

func (c *checker) wrapObject(left *ast.Expression) {
	switch e := (*left).(type) {
	case *ast.SuperExpression: // delete throws
	case *ast.Optional:
		e.Expression = c.wrapCall(nameFunction, e.Expression)
	default:
		*left = c.wrapCall(nameFunction, e)
	}
}

// combines reports whether an expression makes one value from several parts that may be large, without calling a native function.
// In a loop that applies it to its own result, memory would be used up after about twenty iterations.
func combines(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.BinaryExpression:
		return e.Operator == token.PLUS && !small(e.Left) && !small(e.Right)
	case *ast.AssignExpression: // to a property: see expandPlusAssign
		return e.Operator == token.PLUS && !small(e.Right)
	case *ast.TemplateLiteral:
		return e.Tag == nil && (len(e.Expressions) > 1 || !shortElements(e))
	case *ast.ArrayLiteral:
		wrapSpreads := 0
		for _, element := range e.Value {
			if _, ok := element.(*ast.SpreadElement); ok {
				wrapSpreads++
			}
		}
		return wrapSpreads > 1
	}
	return false
}

// maxSmall is the maximum length of a text that may be appended without being counted. The other text may have the maximum length,
// and is copied each time.
const maxSmall = 1000

// small reports whether the value of an expression is certainly not an object, and short if it is a text. It is false for names and
// properties, even length: their value may be anything.
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

// yieldsScalar has the operators whose result is always a number or a boolean. There is no BigInt.
var yieldsScalar = map[token.Token]bool{
	token.MINUS: true, token.MULTIPLY: true, token.EXPONENT: true, token.SLASH: true, token.REMAINDER: true,
	token.AND: true, token.OR: true, token.EXCLUSIVE_OR: true, token.SHIFT_LEFT: true, token.SHIFT_RIGHT: true,
	token.UNSIGNED_SHIFT_RIGHT: true, token.EQUAL: true, token.STRICT_EQUAL: true, token.NOT_EQUAL: true,
	token.STRICT_NOT_EQUAL: true, token.LESS: true, token.GREATER: true, token.LESS_OR_EQUAL: true,
	token.GREATER_OR_EQUAL: true, token.IN: true, token.INSTANCEOF: true,
}

// scalar reports whether the value of an expression is certainly not a text: the sum of two such values is a number.
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

// expandPlusAssign rewrites x += y to x = x + y, which combines then checks. It does so only if x is a name; otherwise x would be
// evaluated twice, and combines checks the result of the assignment.
func expandPlusAssign(n *ast.AssignExpression) {
	if name, ok := n.Left.(*ast.Identifier); ok {
		read := *name
		n.Operator = token.ASSIGN
		n.Right = &ast.BinaryExpression{Operator: token.PLUS, Left: &read, Right: n.Right}
	}
}

func (c *checker) property(p ast.Property) ast.Property {
	switch p := p.(type) {
	case *ast.SpreadElement:
		return &ast.SpreadElement{Expression: c.wrapCall(propertiesFunction, p.Expression)}
	case *ast.PropertyKeyed:
		if !p.Computed {
			c.propertyName(p.Key, p.Value)
		}
		if key, ok := p.Key.(*ast.StringLiteral); ok && key.Value == "__proto__" && !p.Computed && p.Kind == ast.PropertyKindValue {
			p.Value = c.wrapCall(prototypesFunction, p.Value)
		}
	}
	return p
}

// restProperty is the name of a property that no object has.
const restProperty = "metascript.rest"

// restProbe returns a property that is added to a destructuring pattern with a rest element. It binds nothing. Its name is computed
// by run.rest, which limits the properties of the destructured object.
func (c *checker) restProbe(at file.Idx) ast.Property {
	return &ast.PropertyKeyed{
		Key:   c.wrapCall(restFunction, &ast.StringLiteral{Idx: at, Literal: "'" + restProperty + "'", Value: restProperty}),
		Kind:  ast.PropertyKindValue,
		Value: &ast.AssignExpression{Operator: token.ASSIGN, Left: &ast.ObjectPattern{LeftBrace: at, RightBrace: at}, Right: &ast.NumberLiteral{Idx: at, Literal: "0", Value: int64(0)}},

		Computed: true,
	}
}

// wrapCall returns a call of one of the functions above with e, and more, as its arguments.
func (c *checker) wrapCall(function string, e ast.Expression, more ...ast.Expression) ast.Expression {
	c.rewritten = true
	at := e.Idx0()
	return &ast.CallExpression{
		Callee:          &ast.Identifier{Name: unistring.NewFromString(function), Idx: at},
		LeftParenthesis: at, ArgumentList: append([]ast.Expression{e}, more...), RightParenthesis: e.Idx1(),
	}
}

// splitTemplate replaces a long template by a template of two halves. The halves are visited, and split, later.
func splitTemplate(t *ast.TemplateLiteral) {
	if len(t.Expressions) <= maxTemplate {
		return
	}
	empty := func(at *ast.TemplateElement) *ast.TemplateElement {
		return &ast.TemplateElement{Idx: at.Idx, Valid: true}
	}
	n := len(t.Expressions) / 2
	left := &ast.TemplateLiteral{OpenQuote: t.OpenQuote, CloseQuote: t.CloseQuote, Elements: t.Elements[: n+1 : n+1], Expressions: t.Expressions[:n:n]}
	right := &ast.TemplateLiteral{OpenQuote: t.OpenQuote, CloseQuote: t.CloseQuote, Expressions: t.Expressions[n:]}
	right.Elements = append([]*ast.TemplateElement{empty(t.Elements[n])}, t.Elements[n+1:]...)
	first := t.Elements[0]
	t.Elements = []*ast.TemplateElement{empty(first), empty(first), empty(first)}
	t.Expressions = []ast.Expression{left, right}
}

// Scripts that return a sample of the objects that syntax creates.
var (
	samplePattern   = goja.MustCompile("", "/x/", false)
	sampleGenerator = goja.MustCompile("", "(function* () {})", false)
	sampleAsync     = goja.MustCompile("", "(async () => {})", false)
)

// prepare guards the objects that a file creates by its syntax.
func (r *run) prepare(uses features) {
	r.patterns.merge(uses.patterns)
	if uses.regExp {
		r.sweepRegExp()
	}
	if uses.generators {
		r.sweep(r.sample(sampleGenerator).Prototype(), "GeneratorFunction.prototype")
	}
	if uses.promises {
		r.sweep(r.sample(sampleAsync).Prototype(), "AsyncFunction.prototype")
		r.vm.GlobalObject().Get("Promise")
	}
	if uses.errors || uses.promises {
		r.sweepErrors()
	}
}

// sweepErrors guards the classes of errors that goja throws.
func (r *run) sweepErrors() {
	for _, name := range engineErrors {
		r.vm.GlobalObject().Get(name) // this calls a factory, which guards the class; see patch
	}
}

func (r *run) sample(p *goja.Program) *goja.Object {
	v, err := r.vm.RunProgram(p)
	if err != nil {
		panic(err)
	}
	return v.(*goja.Object)
}

package javascript

import (
	"unicode"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/runtimes/internal/measure"
)

// measureText limits, before a file is parsed, what the parser recurses for and reads repeatedly.
func (m *module) measureText(name string) error {
	offset, exceeded := checkText(m.src)
	if exceeded == nil {
		offset, exceeded = checkArrows(m.src, m.tally)
	}
	if exceeded == nil {
		return nil
	}
	return exceeded.Exceeded(host.At(name, m.src, offset))
}

// checkText counts brackets, the length of chains of operators, and labels. It returns the offset where a limit is exceeded.
func checkText(src string) (offset int, exceeded *measure.Bound) {
	brackets, chain, colons := 0, 0, 0
	blank := false
	for i, c := range src {
		switch c {
		case '(', '[', '{', '`', '>', '?':
			brackets++
			colons = 0
		case ':':
			colons++
		case ',', ';', '}', '=', '\'', '"':
			colons = 0
		}
		switch c {
		case '(', ')', '[', ']', '{', '}', ',', ';', '\'', '"', '`':
			chain = 0
		case '!', '=', '-', '+', '~', '*', '?':
			chain++
		}
		before := blank
		if blank = c <= ' ' || c >= utf8.RuneSelf && (unicode.IsSpace(c) || c == '\ufeff'); blank && !before {
			chain++
		}
		switch {
		case brackets > measure.Brackets.Max:
			return i, measure.Brackets
		case chain > measure.Chain.Max:
			return i, measure.Chain
		case colons > measure.Labels.Max:
			return i, measure.Labels
		}
	}
	return 0, nil
}

// around counts the enclosing nodes that make a node more expensive to compile.
type around struct {
	scopes int // enclosing functions and blocks
	exits  int // enclosing statements that break and return may leave
	sums   int // enclosing additions
}

// count adds the cost of compiling a node, and updates c.around for the nodes in it.
func (c *checker) count(n ast.Node) {
	if _, expression := n.(ast.Expression); expression && !keepsText(n) {
		defer func() { c.around.sums = 0 }()
	}
	c.leaves(n)
	switch n := n.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral, *ast.BlockStatement, *ast.CatchStatement, *ast.ForStatement,
		*ast.ForInStatement, *ast.ForOfStatement, *ast.SwitchStatement, *ast.WithStatement:
		c.around.scopes++
	case *ast.Identifier, *ast.ThisExpression, *ast.PropertyShort, *ast.PrivateIdentifier, *ast.PrivateDotExpression, *ast.BranchStatement:
		c.add(measure.Lookups, c.around.scopes)
	case *ast.BinaryExpression:
		if n.Operator == token.PLUS {
			c.around.sums++
		}
	case *ast.StringLiteral:
		c.add(measure.Folded, len(n.Literal)*c.around.sums)
	case *ast.TemplateElement:
		c.add(measure.Folded, len(n.Literal)*c.around.sums)
	}
}

// leaves counts the statements that a node leaves: goja looks at each, and makes up to three instructions for it.
func (c *checker) leaves(n ast.Node) {
	switch n.(type) {
	case *ast.BlockStatement, *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.WhileStatement,
		*ast.DoWhileStatement, *ast.LabelledStatement, *ast.SwitchStatement, *ast.TryStatement, *ast.WithStatement:
		c.around.exits++
	case *ast.BranchStatement, *ast.ReturnStatement:
		c.add(measure.Exits, c.around.exits)
	}
}

// keepsText reports whether the compiler may add up the constant texts in an expression.
func keepsText(n ast.Node) bool {
	switch n.(type) {
	case *ast.BinaryExpression, *ast.ConditionalExpression, *ast.SequenceExpression, *ast.TemplateLiteral:
		return true
	}
	return false
}

func (c *checker) add(b *measure.Bound, n int) {
	if !c.tally.Add(b, n) && c.err == nil {
		c.err = b.Exceeded(c.fault(c.at, engine.KindSource, "").Pos)
	}
}

// store stores a compiled module, unless another run has stored it first, and counts its cost.
func (p *program) store(name string, m *module) (*module, error) {
	p.measuring.Lock()
	defer p.measuring.Unlock()
	if shared, ok := p.modules.Load(name); ok {
		return shared.(*module), nil
	}
	if p.tally == nil {
		p.tally = measure.Tally{}
	}
	if exceeded := p.tally.Merge(m.tally); exceeded != nil {
		fault := exceeded.Exceeded(engine.Pos{File: name, Line: 1, Col: 1})
		fault.Msg += ", together with the files that were required before"
		return nil, fault
	}
	p.modules.Store(name, m)
	return m, nil
}

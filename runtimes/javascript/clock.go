package javascript

import (
	"reflect"

	"github.com/dop251/goja/ast"

	"metascript/runtimes/internal/host"
)

// mayReadTime reports whether a file may read the time: that of the request, or that of Date. With globalThis, a global can be found by its
// name.
func mayReadTime(parsed *ast.Program) bool {
	clock := host.NewClock("now", "Date", "globalThis")
	all := visit(reflect.ValueOf(parsed.Body), 0, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Identifier:
			clock.Name(n.Name.String())
		case *ast.DotExpression:
			clock.Name(n.Identifier.Name.String())
		case *ast.PropertyShort:
			clock.Name(n.Name.Name.String())
		case *ast.StringLiteral:
			clock.Text(n.Value.String())
		case *ast.TemplateElement:
			clock.Text(n.Parsed.String())
			clock.Text(n.Literal)
		case *ast.RegExpLiteral:
			clock.Text("/" + n.Pattern)
		}
		return true
	})
	return !all || clock.MayRead()
}

// MayReadTime implements [engine.Timed].
func (p *program) MayReadTime(file string) bool {
	m, _ := p.modules.Load(file)
	loaded, ok := m.(*module)
	return !ok || !loaded.timeless
}

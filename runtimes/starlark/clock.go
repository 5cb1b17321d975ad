package starlark

import (
	"go.starlark.net/syntax"

	"metascript/runtimes/internal/host"
)

// mayReadTime reports whether a file may read the time, which is only in the request: the module time has no clock. A text that is a
// statement, such as the description of a function, is not used.
func mayReadTime(tree *syntax.File) bool {
	clock := host.NewClock("now")
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ExprStmt:
			_, text := n.X.(*syntax.Literal)
			return !text
		case *syntax.Ident:
			clock.Name(n.Name)
		case *syntax.Literal:
			if text, ok := n.Value.(string); ok {
				clock.Text(text)
			}
		}
		return true
	})
	return clock.MayRead()
}

// MayReadTime implements [engine.Timed].
func (p *program) MayReadTime(file string) bool { return !p.timeless[file] }

package jsonnet

import (
	"slices"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// children calls visit with the address of each child of n, a desugared node, and with the name to which the child is bound,
// if any.
func children(n ast.Node, visit func(child *ast.Node, bound string)) {
	switch n := n.(type) {
	case *ast.Apply:
		visit(&n.Target, "")
		for i := range n.Arguments.Positional {
			visit(&n.Arguments.Positional[i].Expr, "")
		}
		for i := range n.Arguments.Named {
			visit(&n.Arguments.Named[i].Arg, string(n.Arguments.Named[i].Name))
		}
	case *ast.Array:
		for i := range n.Elements {
			visit(&n.Elements[i].Expr, "")
		}
	case *ast.Binary:
		visit(&n.Left, "")
		visit(&n.Right, "")
	case *ast.Conditional:
		visit(&n.Cond, "")
		visit(&n.BranchTrue, "")
		visit(&n.BranchFalse, "")
	case *ast.DesugaredObject:
		objectChildren(n, visit)
	case *ast.Error:
		visit(&n.Expr, "")
	case *ast.Function:
		for i := range n.Parameters {
			if n.Parameters[i].DefaultArg != nil {
				visit(&n.Parameters[i].DefaultArg, string(n.Parameters[i].Name))
			}
		}
		visit(&n.Body, "")
	case *ast.InSuper:
		visit(&n.Index, "")
	case *ast.Index:
		visit(&n.Target, "")
		visit(&n.Index, "")
	case *ast.Local:
		for i := range n.Binds {
			visit(&n.Binds[i].Body, string(n.Binds[i].Variable))
		}
		visit(&n.Body, "")
	case *ast.SuperIndex:
		visit(&n.Index, "")
	case *ast.Unary:
		visit(&n.Expr, "")
	}
}

func objectChildren(n *ast.DesugaredObject, visit func(child *ast.Node, bound string)) {
	for i := range n.Locals {
		visit(&n.Locals[i].Body, string(n.Locals[i].Variable))
	}
	for i := range n.Asserts {
		visit(&n.Asserts[i], "")
	}
	for i := range n.Fields {
		name := ""
		if s, ok := n.Fields[i].Name.(*ast.LiteralString); ok {
			name = s.Value
		}
		visit(&n.Fields[i].Name, "")
		visit(&n.Fields[i].Body, name)
	}
}

// setMethodPositions sets the position of functions that are written as f(x): ... to that of their field; the parser sets none.
func setMethodPositions(n *ast.DesugaredObject) {
	for _, field := range n.Fields {
		if f, ok := field.Body.(*ast.Function); ok && !f.Loc().IsSet() {
			f.LocRange = field.LocRange
		}
	}
}

// union returns the identifiers of a and b; it modifies neither.
func union(a, b ast.Identifiers) ast.Identifiers {
	a = slices.Clip(a)
	for _, id := range b {
		if !slices.Contains(a, id) {
			a = append(a, id)
		}
	}
	return a
}

// functionName returns the name of a function bound to name in a stack trace.
func functionName(name string) ast.Context {
	if name == "" {
		name = "function"
	}
	return &name
}

// std is the variable that the desugarer uses for std; a script cannot shadow it.
const std = ast.Identifier("$std")

// The functions below make nodes as the parser and the analyzer would have: above all, with their free variables,
// which is how the interpreter knows what to capture.

func variableNode(id ast.Identifier) ast.Node {
	v := &ast.Var{Id: id}
	v.SetFreeVariables(ast.Identifiers{id})
	return v
}

func stringNode(s string) *ast.LiteralString {
	return &ast.LiteralString{Value: s, Kind: ast.StringDouble}
}

func indexNode(target ast.Node, field string) ast.Node {
	n := &ast.Index{Target: target, Index: stringNode(field)}
	n.SetFreeVariables(target.FreeVariables())
	return n
}

func applyNode(target ast.Node, positional ...ast.Node) *ast.Apply {
	n := &ast.Apply{Target: target}
	n.SetFreeVariables(target.FreeVariables())
	for _, arg := range positional {
		n.Arguments.Positional = append(n.Arguments.Positional, ast.CommaSeparatedExpr{Expr: arg})
		n.SetFreeVariables(union(n.FreeVariables(), arg.FreeVariables()))
	}
	return n
}

func localNode(binds ast.LocalBinds, body ast.Node) *ast.Local {
	n := &ast.Local{Binds: binds, Body: body}
	n.SetFreeVariables(ast.Identifiers{std}) // the only free variable of our nodes
	return n
}

// withStd gives file's tree its own std, as an import does: it differs in std.thisFile.
func withStd(file string, tree ast.Node) ast.Node {
	own := &ast.Binary{Op: ast.BopPlus, Left: variableNode(std), Right: &ast.DesugaredObject{
		Fields: ast.DesugaredObjectFields{{Name: stringNode("thisFile"), Body: stringNode(file), Hide: ast.ObjectFieldHidden}},
	}}
	own.SetFreeVariables(ast.Identifiers{std})
	n := localNode(ast.LocalBinds{{Variable: "std", Body: own}}, tree)
	n.SetFreeVariables(union(n.FreeVariables(), slices.DeleteFunc(slices.Clone(tree.FreeVariables()), func(id ast.Identifier) bool {
		return id == "std"
	})))
	return n
}

// mustParse parses Jsonnet text of this package. The nodes have no file name, which distinguishes them from those of a script.
func mustParse(text string) ast.Node {
	n, err := gojsonnet.SnippetToAST("", text)
	if err != nil {
		panic(err)
	}
	return n
}

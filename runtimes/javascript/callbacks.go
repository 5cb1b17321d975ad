package javascript

import (
	"reflect"
	"strconv"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// This file makes callbacks such as the one in
//
//	const ready = pod => pod.status.conditions.find(c => c.type === 'Ready')
//
// once for a run, and not once for each Pod: goja takes longer to make a function, with a map of its properties, than to call it. A
// callback is made once if it is an arrow function that uses no variable of a function or block around it, so that all functions that
// the expression would make behave alike. A method of a script that is named like these methods of arrays could notice that it gets the
// same function again, but only if it compares functions or changes them.

// predicates are the methods whose callbacks are made once. Their results are no part of an answer; see outline.go.
var predicates = map[string]bool{
	"every": true, "filter": true, "find": true, "findIndex": true, "findLast": true, "findLastIndex": true, "some": true,
}

// maxOnce is how many callbacks of a file are made once.
const maxOnce = 64

// onceName returns the name of the variable for a callback that is made once. No script can use it.
func onceName(i int) string { return "<callback " + strconv.Itoa(i) + ">" }

// callback returns the arrow function that is the callback of a predicate, or nil.
func callback(n *ast.CallExpression) *ast.ArrowFunctionLiteral {
	method, ok := n.Callee.(*ast.DotExpression)
	if !ok || len(n.ArgumentList) == 0 || !predicates[method.Identifier.Name.String()] {
		return nil
	}
	arrow, _ := n.ArgumentList[0].(*ast.ArrowFunctionLiteral)
	return arrow
}

// makeOnce rewrites the callbacks in calls of a file that can be made once. It returns how many these are.
func makeOnce(parsed *ast.Program, calls []*ast.CallExpression) (n int) {
	if len(calls) == 0 {
		return 0
	}
	inner, ok := innerNames(parsed.Body)
	if !ok {
		return 0
	}
	for _, call := range calls {
		if arrow := callback(call); n < maxOnce && independent(arrow, inner) {
			call.ArgumentList[0] = once(onceName(n), arrow)
			n++
		}
	}
	return n
}

// once returns (name || (name = (0, arrow))). The sequence prevents that the function gets the name.
func once(name string, arrow *ast.ArrowFunctionLiteral) ast.Expression {
	at := arrow.Idx0()
	variable := func() *ast.Identifier { return &ast.Identifier{Name: unistring.NewFromString(name), Idx: at} }
	made := &ast.SequenceExpression{Sequence: []ast.Expression{zero(at), arrow}}
	return &ast.BinaryExpression{
		Operator: token.LOGICAL_OR, Left: variable(),
		Right: &ast.AssignExpression{Operator: token.ASSIGN, Left: variable(), Right: made},
	}
}

func zero(at file.Idx) ast.Expression {
	return &ast.NumberLiteral{Idx: at, Literal: "0", Value: int64(0)}
}

// innerNames returns the names that are declared in a file, but not by the statements of its top level. It reports false if it may miss
// some.
func innerNames(body []ast.Statement) (names map[unistring.String]bool, ok bool) {
	outer := map[ast.Node]bool{}
	for _, statement := range body {
		switch s := statement.(type) {
		case *ast.FunctionDeclaration:
			outer[s.Function] = true
		case *ast.VariableStatement:
			markAll(outer, s.List)
		case *ast.LexicalDeclaration:
			markAll(outer, s.List)
		}
	}
	names, dynamic := map[unistring.String]bool{}, false
	ok = visit(reflect.ValueOf(body), 0, func(n ast.Node) bool {
		if _, with := n.(*ast.WithStatement); with {
			dynamic = true
		}
		if !outer[n] {
			for _, id := range declaredBy(n) {
				names[id.Name] = true
			}
		}
		return true
	})
	return names, ok && !dynamic
}

func markAll(nodes map[ast.Node]bool, list []*ast.Binding) {
	for _, b := range list {
		nodes[b] = true
	}
}

// declaredBy returns the names that a node declares itself.
func declaredBy(n ast.Node) []*ast.Identifier {
	switch n := n.(type) {
	case *ast.Binding:
		return targets(nil, n.Target)
	case *ast.ParameterList:
		return targets(nil, n.Rest)
	case *ast.ForDeclaration:
		return targets(nil, n.Target)
	case *ast.CatchStatement:
		return targets(nil, n.Parameter)
	case *ast.FunctionLiteral:
		if n.Name != nil {
			return []*ast.Identifier{n.Name}
		}
	case *ast.ClassLiteral:
		if n.Name != nil {
			return []*ast.Identifier{n.Name}
		}
	}
	return nil
}

// independent reports whether an arrow function uses nothing of the functions and blocks around it, in which inner names are declared.
// It is an expression without functions in it, so that it declares only its parameters.
func independent(arrow *ast.ArrowFunctionLiteral, inner map[unistring.String]bool) bool {
	body, ok := arrow.Body.(*ast.ExpressionBody)
	if !ok || arrow.Async {
		return false
	}
	own := map[unistring.String]bool{}
	for _, id := range targets(nil, arrow.ParameterList.Rest) {
		own[id.Name] = true
	}
	for _, b := range arrow.ParameterList.List {
		for _, id := range targets(nil, b.Target) {
			own[id.Name] = true
		}
	}
	uses := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Identifier:
			ok = ok && (own[n.Name] || !inner[n.Name] && n.Name != "arguments")
		case *ast.PropertyShort:
			ok = ok && (own[n.Name.Name] || !inner[n.Name.Name] && n.Name.Name != "arguments")
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral, *ast.ThisExpression, *ast.SuperExpression,
			*ast.MetaProperty, *ast.YieldExpression, *ast.AwaitExpression, *ast.PrivateDotExpression, *ast.PrivateIdentifier:
			ok = false
		}
		return ok
	}
	return visit(reflect.ValueOf(arrow.ParameterList), 0, uses) && visit(reflect.ValueOf(body), 0, uses) && ok
}

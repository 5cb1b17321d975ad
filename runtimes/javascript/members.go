package javascript

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/scripts/lib"
)

// In const lib = require("./lib.js"), a call of lib.f fails only when it is reached. Compile has run the top level of lib.js, so it
// can warn about a function that does not exist, if the file exports nothing later.

// members are the calls of members of a required file.
type members struct {
	variable, file string // as in the script
	calls          map[string]engine.Pos
}

// calledMembers returns the calls of members of what a file requires at its top level. It leaves out members that the file also uses in
// other ways, such as in a condition, and variables that are used in other ways.
func (m *module) calledMembers(name string, parsed *ast.Program) []members {
	files := map[string]string{}
	for _, statement := range parsed.Body {
		for _, b := range bindings(statement) {
			if file, variable := required(b.Initializer), nameOf(b.Target); file != "" && variable != "" {
				files[variable] = file
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	r := newReader(&outliner{at: m.places(name), base: parsed.File.Base()})
	uses, calls := map[string]int{}, map[string]map[string][]engine.Pos{}
	count := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Identifier:
			uses[n.Name.String()]++
		case *ast.PropertyShort:
			uses[n.Name.Name.String()]++
		case *ast.CallExpression:
			if left, member, at := member(n.Callee); files[nameOf(left)] != "" && member != "" {
				variable := nameOf(left)
				if calls[variable] == nil {
					calls[variable] = map[string][]engine.Pos{}
				}
				calls[variable][member] = append(calls[variable][member], r.pos(at))
			}
		case *ast.DotExpression, *ast.BracketExpression:
			if left, member, _ := member(n); files[nameOf(left)] != "" && member != "" {
				variable := nameOf(left)
				uses[variable]--
				uses[variable+"."+member]++
			}
		}
		return true
	}
	for _, statement := range parsed.Body {
		v := reflect.ValueOf(statement)
		if !visit(v, 0, r.bind) || !visit(v, 0, count) {
			return nil
		}
	}
	var all []members
	for _, variable := range slices.Sorted(maps.Keys(calls)) {
		if r.bound[variable] != 1 || r.changed[variable] || uses[variable] != 1 { // the declaration
			continue
		}
		certain := members{variable, files[variable], map[string]engine.Pos{}}
		for member, places := range calls[variable] {
			if uses[variable+"."+member] == len(places) && !slices.Contains(objectMembers, member) {
				certain.calls[member] = places[0]
			}
		}
		all = append(all, certain)
	}
	return all
}

// bindings returns what a statement declares.
func bindings(statement ast.Statement) []*ast.Binding {
	switch s := statement.(type) {
	case *ast.VariableStatement:
		return s.List
	case *ast.LexicalDeclaration:
		return s.List
	}
	return nil
}

// exportsAtOnce reports whether a file exports only by assignments at its top level, so that it exports nothing later.
func exportsAtOnce(parsed *ast.Program) bool {
	uses := 0
	count := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Identifier:
			if n.Name == "exports" || n.Name == "module" || n.Name == "eval" {
				uses++
			}
		case *ast.PropertyShort:
			if n.Name.Name == "exports" || n.Name.Name == "module" {
				uses++
			}
		case *ast.ThisExpression:
			uses++ // at the top level it is exports
		}
		return true
	}
	for _, statement := range parsed.Body {
		if !visit(reflect.ValueOf(statement), 0, count) {
			return false
		}
		s, ok := statement.(*ast.ExpressionStatement)
		if !ok {
			continue
		}
		if assign, ok := s.Expression.(*ast.AssignExpression); ok && assign.Operator == token.ASSIGN && exporting(assign) {
			uses--
		}
	}
	return uses == 0
}

// exporting reports whether an assignment is one of exports.a = …, module.exports.a = … and module.exports = {…}.
func exporting(assign *ast.AssignExpression) bool {
	if nameOf(assign.Left) == "module.exports" {
		_, object := assign.Right.(*ast.ObjectLiteral)
		return object
	}
	left, key, _ := member(assign.Left)
	return key != "" && (nameOf(left) == "module.exports" || nameOf(left) == "exports")
}

// warn sets the warnings about members that the files do not export. It must be called after their top levels have run.
func (r *run) warn() {
	r.p.modules.Range(func(file, loaded any) bool {
		for _, used := range loaded.(*module).members {
			names, from, known := r.exported(file.(string), used.file)
			if !known {
				continue
			}
			for _, member := range slices.Sorted(maps.Keys(used.calls)) {
				if slices.Contains(names, member) {
					continue
				}
				e := &engine.Error{Kind: engine.KindMissing, Pos: used.calls[member]}
				e.Msg = fmt.Sprintf("%s.%s is not a function: %s exports no %[2]s", engine.Clip(used.variable, naming.Max), engine.Clip(member, naming.Max), from)
				e.Hint = naming.Suggest(member, names, "it exports ")
				r.p.warnings = append(r.p.warnings, e)
			}
		}
		return true
	})
	slices.SortFunc(r.p.warnings, func(a, b *engine.Error) int { return strings.Compare(sortKey(a), sortKey(b)) })
	r.p.warnings = r.p.warnings[:min(len(r.p.warnings), engine.MaxLookups)]
}

func sortKey(e *engine.Error) string {
	return fmt.Sprintf("%s:%9d:%9d", e.Pos.File, e.Pos.Line, e.Pos.Col)
}

// exported returns the names of all that a file exports which the file at from requires. known is false if it may export more.
func (r *run) exported(from, required string) (names []string, file string, known bool) {
	file, err := r.p.resolve(from, required)
	if err != nil {
		return nil, "", false
	}
	if file == host.Library {
		return lib.Names(), "metascript", true
	}
	loaded, ok := r.p.modules.Load(file)
	e, ran := r.exports[file]
	if !ok || !ran || !loaded.(*module).atOnce {
		return nil, "", false
	}
	names, known = exportedNames(e.value)
	return names, file, known
}

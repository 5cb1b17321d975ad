package javascript

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/scripts/lib"
)

// In const lib = require("./lib.js"), a call of lib.f fails only when it is reached. Compile has run the top level of lib.js, so it
// can warn about a function that does not exist, if the file exports nothing later.

// members are the calls of members of a required file.
type members struct {
	variable, file string         // as in the script
	calls          map[string]int // the offset of the first call of each
}

// calledMembers returns the calls of members of what a file requires at its top level. It leaves out members that the file also uses in
// other ways, such as in a condition, and variables that are used in other ways.
func calledMembers(parsed *ast.Program) []members {
	files := map[string]string{}
	for _, statement := range parsed.Body {
		for _, b := range bindings(statement) {
			if from, variable := required(b.Initializer), nameOf(b.Target); from != "" && variable != "" {
				files[variable] = from
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	r := newReader(&outliner{})
	uses, calls := map[string]int{}, map[string]map[string][]file.Idx{}
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
					calls[variable] = map[string][]file.Idx{}
				}
				calls[variable][member] = append(calls[variable][member], at)
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
		certain := members{variable, files[variable], map[string]int{}}
		for member, places := range calls[variable] {
			if uses[variable+"."+member] == len(places) && !slices.Contains(objectMembers, member) {
				certain.calls[member] = int(places[0]) - parsed.File.Base()
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

// warn sets the warnings about members that the files do not export, and about Math.random. It must be called after their top levels have
// run.
func (r *run) warn() {
	exports := map[string]map[string]bool{} // by file
	for _, name := range slices.Sorted(maps.Keys(r.exports)) {
		loaded, _ := r.p.modules.Load(name)
		m, _ := loaded.(*module) // nil for the library
		if m == nil {
			continue
		}
		r.warnOfRandom(name, m)
		places := m.places(name)
		for _, used := range m.members {
			target, err := r.p.resolve(name, used.file)
			if err != nil {
				continue
			}
			if _, known := exports[target]; !known {
				exports[target] = r.allExports(target)
			}
			if names := exports[target]; names != nil {
				r.p.warnings = append(r.p.warnings, used.missing(target, names, places, engine.MaxLookups-len(r.p.warnings))...)
			}
		}
	}
	slices.SortFunc(r.p.warnings, func(a, b *engine.Error) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
}

// allExports returns the names of all that a file exports, or nil if it may export more.
func (r *run) allExports(file string) map[string]bool {
	var list []string
	loaded, _ := r.p.modules.Load(file)
	m, _ := loaded.(*module)
	switch e, ran := r.exports[file]; {
	case file == host.Library:
		list = lib.Names()
	case m != nil && ran && m.atOnce:
		var known bool
		if list, known = exportedNames(e.value); !known {
			return nil
		}
	default:
		return nil
	}
	names := map[string]bool{}
	for _, name := range list {
		names[name] = true
	}
	return names
}

// missing returns at most n warnings about members that are not among the names of what a file exports.
func (m *members) missing(file string, names map[string]bool, places func(offset int) engine.Pos, n int) (all []*engine.Error) {
	if file == host.Library {
		file = "metascript"
	}
	var sorted []string
	for _, member := range slices.Sorted(maps.Keys(m.calls)) {
		if names[member] || len(all) >= n {
			continue
		}
		if sorted == nil {
			sorted = slices.Sorted(maps.Keys(names))
		}
		e := &engine.Error{Kind: engine.KindMissing, Pos: places(m.calls[member])}
		e.Msg = fmt.Sprintf("%s.%s is not a function: %s exports no %[2]s", engine.Clip(m.variable, naming.Max), engine.Clip(member, naming.Max), file)
		e.Hint = naming.Suggest(member, sorted, "it exports ")
		all = append(all, e)
	}
	return all
}

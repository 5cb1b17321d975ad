package javascript

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/scripts/lib"
)

// A name that a file imports and that the other file does not export is undefined in JavaScript, and an error only where it is used.
// Compile reports it where it is imported.

// An imported name is one of those in const {a, b} = require("./file.js"), or in import {a, b} from "./file" of TypeScript.
type imported struct {
	file string // as in the script
	name string
	pos  engine.Pos
}

// imports returns the names that a file imports at its top level.
func (m *module) imports(file string, parsed *ast.Program) []imported {
	if m.from != nil {
		return m.from.imports(file, m.src)
	}
	var names []imported
	places := m.places(file)
	add := func(list []*ast.Binding) {
		for _, binding := range list {
			pattern, ok := binding.Target.(*ast.ObjectPattern)
			from := required(binding.Initializer)
			if !ok || from == "" {
				continue
			}
			for _, property := range pattern.Properties {
				switch p := property.(type) {
				case *ast.PropertyShort:
					if p.Initializer == nil {
						names = append(names, imported{from, p.Name.Name.String(), places(int(p.Name.Idx) - parsed.File.Base())})
					}
				case *ast.PropertyKeyed:
					if key, ok := p.Key.(*ast.StringLiteral); ok {
						names = append(names, imported{from, key.Value.String(), places(int(key.Idx) - parsed.File.Base())})
					}
				}
			}
		}
	}
	for _, statement := range parsed.Body {
		switch s := statement.(type) {
		case *ast.VariableStatement:
			add(s.List)
		case *ast.LexicalDeclaration:
			add(s.List)
		}
	}
	return names
}

// required returns the file of a call of require, or "".
func required(x ast.Expression) string {
	call, ok := x.(*ast.CallExpression)
	if !ok || len(call.ArgumentList) != 1 {
		return ""
	}
	callee, ok := call.Callee.(*ast.Identifier)
	file, text := call.ArgumentList[0].(*ast.StringLiteral)
	if !ok || !text || callee.Name != "require" {
		return ""
	}
	return file.Value.String()
}

// The imports of TypeScript, and what esbuild makes of them: a variable, whose members are used. It leaves out names that are used only
// as types.
var (
	importClause = regexp.MustCompile(`(?m)^[ \t]*import\s[^"';]*["']([^"'\n]+)["']`)
	importedFile = regexp.MustCompile(`(?m)^var (import_\w+) = (?:__toESM\()?require\("([^"\n]+)"\)`)
	importedName = regexp.MustCompile(`\b(import_\w+)\.([A-Za-z_$][\w$]*)`)
)

// imports returns the names that a file in TypeScript imports and uses, according to the JavaScript that was made of it.
func (t *translation) imports(file, made string) (names []imported) {
	files := map[string]string{}
	for _, match := range importedFile.FindAllStringSubmatch(made, -1) {
		files[match[1]] = match[2]
	}
	if len(files) == 0 {
		return nil
	}
	places := t.importPlaces()
	for _, match := range importedName.FindAllStringSubmatch(made, -1) {
		i := imported{file: files[match[1]], name: match[2]}
		if at, ok := places[i]; ok && i.file != "" {
			delete(places, i)
			i.pos = t.lines.At(file, at)
			names = append(names, i)
		}
	}
	return names
}

// importPlaces returns the offsets of the names in the imports of a file; that of default is the import.
func (t *translation) importPlaces() map[imported]int {
	places := map[imported]int{}
	for _, clause := range importClause.FindAllStringSubmatchIndex(t.original, -1) {
		file, text := t.original[clause[2]:clause[3]], t.original[clause[0]:clause[2]]
		places[imported{file: file, name: "default"}] = clause[0] + strings.Index(text, "import")
		for _, word := range words.FindAllStringIndex(text, -1) {
			places[imported{file: file, name: text[word[0]:word[1]]}] = clause[0] + word[0]
		}
	}
	return places
}

// checkImports returns an error for the first name that the file from imports from the file target and that target does not export.
func (r *run) checkImports(from, file, target string, e exports) *engine.Error {
	loaded, ok := r.p.modules.Load(from)
	if !ok || !r.compiling {
		return nil
	}
	for _, i := range loaded.(*module).imported {
		if i.file != file {
			continue
		}
		names, known := exportedNames(e.value)
		what := target + " exports no "
		if target == host.Library {
			names, known = lib.Names(), true
			what = "metascript has no "
		}
		if !known || slices.Contains(names, i.name) || i.name == "default" && !slices.Contains(names, "__esModule") {
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == "default" || name == "__esModule" })
		fault := &engine.Error{Kind: engine.KindModule, Pos: i.pos, Msg: what + engine.Clip(i.name, naming.Max)}
		fault.Hint = naming.Suggest(i.name, names, "it exports ")
		if i.name == "default" {
			fault.Msg = target + " has no export default"
			fault.Hint = "write import { " + naming.List(names) + " } from …"
		}
		return fault
	}
	return nil
}

// exportedNames returns the names that a file exports. known is false if its exports are not an ordinary object.
func exportedNames(v goja.Value) (names []string, known bool) {
	o, ok := v.(*goja.Object)
	if !ok || kindOfObject(o) != "an object" || o.Prototype() == nil || o.Prototype().Prototype() != nil {
		return nil, false
	}
	return o.GetOwnPropertyNames(), true
}

package jsonnet

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/measure"
)

// A loader parses the entry file and all that it imports, and links them to one syntax tree, which can be shared
// by all calls (the interpreter's own import cache lives no longer than its VM, which is a call's):
//
//	local $import:lib.libsonnet = <its tree>, $import:sync.jsonnet = <its tree>; ...
//
// where every import has become a variable. That is what an import means: evaluated when it is first needed, and
// once. The names cannot be written in a script.
type loader struct {
	files  fs.FS
	limits engine.Limits

	tally  measure.Tally
	chain  []string // the files being loaded, each imported by the one before
	loaded map[string]bool
	binds  ast.LocalBinds                // the files that are code
	data   map[string]gojsonnet.Contents // the files of importstr and importbin
}

// variable is the name that the file's value is bound to.
func variable(file string) ast.Identifier { return ast.Identifier("$import:" + file) }

// load parses file and what it imports, unless that has been done. at is the import that asks for it.
func (l *loader) load(ctx context.Context, file string, at *ast.LocationRange) error {
	if l.loaded[file] {
		return nil
	}
	if file == builtIn {
		l.loaded[file] = true
		l.binds = append(l.binds, ast.LocalBind{Variable: variable(file), Body: library()})
		return nil
	}
	if i := slices.Index(l.chain, file); i >= 0 {
		return &engine.Error{
			Kind: engine.KindModule, Pos: position(at),
			Msg: "import cycle: " + strings.Join(append(slices.Clone(l.chain[i:]), file), " -> "),
		}
	}
	if ctx.Err() != nil {
		return engine.Stopped(ctx, position(at), l.limits)
	}
	if len(l.chain) >= maxChain {
		return &engine.Error{
			Kind: engine.KindModule, Pos: position(at), Msg: fmt.Sprintf("more than %d files import each the next", maxChain),
		}
	}
	data, err := fs.ReadFile(l.files, file)
	if err != nil {
		return &engine.Error{Kind: engine.KindSource, Pos: engine.Pos{File: file}, Msg: "cannot be read: " + err.Error()}
	}
	text := strings.TrimPrefix(string(data), "\ufeff") // a byte order mark, which some editors write
	if err := measured(file, text, l.tally); err != nil {
		return err
	}
	tree, err := gojsonnet.SnippetToAST(file, text)
	if err != nil {
		return syntaxError(file, text, err)
	}
	l.chain = append(l.chain, file)
	top := "top level"
	if _, err := l.link(ctx, &tree, &top, ""); err != nil {
		return err
	}
	l.chain = l.chain[:len(l.chain)-1]
	l.loaded[file] = true
	l.binds = append(l.binds, ast.LocalBind{Variable: variable(file), Body: withStd(file, tree)})
	return nil
}

const (
	// maxCode bounds a file of code, whatever Limits.Source allows: the parser, which no context stops, recurses with
	// up to 1 KiB of stack for two bytes of source, and so do those who read its tree.
	maxCode = 256 << 10

	// maxChain bounds how many files import each the next.
	maxChain = 200
)

// link replaces the imports in the tree at slot, and gives its nodes the name of the function they are in, for
// stack traces. bound is the name that the node at slot is bound to. It returns the variables that came in.
func (l *loader) link(ctx context.Context, slot *ast.Node, function ast.Context, bound string) (ast.Identifiers, error) {
	n := *slot
	n.SetContext(function)
	switch n := n.(type) {
	case *ast.Import:
		return l.linkCode(ctx, slot, n)
	case *ast.ImportStr:
		return nil, l.linkData(n.File, n.Loc())
	case *ast.ImportBin:
		return nil, l.linkData(n.File, n.Loc())
	case *ast.Function:
		function = functionName(bound)
	case *ast.DesugaredObject:
		placeMethods(n)
	case *ast.Apply:
		formatsFast(n)
	}
	var used ast.Identifiers
	var err error
	children(n, func(child *ast.Node, bound string) {
		if err == nil {
			var more ast.Identifiers
			more, err = l.link(ctx, child, function, bound)
			if err == nil && !l.tally.Add(measure.Imports, (len(used)+len(more))*len(more)) {
				err = measure.Imports.Passed(position(n.Loc()))
			}
			if err == nil {
				used = union(used, more)
			}
		}
	})
	if err == nil && !l.tally.Add(measure.Imports, len(used)*(len(n.FreeVariables())+len(used))) {
		err = measure.Imports.Passed(position(n.Loc()))
	}
	if err == nil && len(used) > 0 {
		n.SetFreeVariables(union(n.FreeVariables(), used))
	}
	return used, err
}

// linkCode puts a variable in the place of an import.
func (l *loader) linkCode(ctx context.Context, slot *ast.Node, n *ast.Import) (ast.Identifiers, error) {
	file, err := l.resolve(n.File.Value, n.Loc())
	if err != nil {
		return nil, err
	}
	if err := l.load(ctx, file, n.Loc()); err != nil {
		return nil, err
	}
	v := &ast.Var{Id: variable(file), NodeBase: n.NodeBase}
	v.SetFreeVariables(ast.Identifiers{v.Id})
	*slot = v
	return v.FreeVars, nil
}

// linkData reads the file of an importstr or importbin, whose name becomes the one from the root.
func (l *loader) linkData(name *ast.LiteralString, at *ast.LocationRange) error {
	file, err := l.resolve(name.Value, at)
	if err != nil {
		return err
	}
	if file == builtIn {
		return &engine.Error{Kind: engine.KindModule, Pos: position(at), Msg: libraryFile + " is built in, and has no text"}
	}
	if _, ok := l.data[file]; !ok {
		text, err := fs.ReadFile(l.files, file)
		if err != nil {
			return &engine.Error{Kind: engine.KindModule, Pos: position(at), Msg: fmt.Sprintf("import %q: %v", file, err)}
		}
		l.data[file] = gojsonnet.MakeContentsRaw(text)
	}
	name.Value = file
	return nil
}

// resolve finds the file that name means in an import at at: below the importing file's directory, else, unless name
// begins with a dot, below the root.
func (l *loader) resolve(name string, at *ast.LocationRange) (string, error) {
	if file, found := engine.FindFile(l.files, at.FileName, name); found {
		return file, nil
	}
	if name == libraryFile {
		return builtIn, nil
	}
	return "", &engine.Error{
		Kind: engine.KindModule, Pos: position(at),
		Msg:  fmt.Sprintf("import %q: no such file", engine.Clip(name, maxName)),
		Hint: l.loadable(),
	}
}

// maxListed bounds the lists of names in hints, maxName each name.
const (
	maxListed = 20
	maxName   = 200
)

// loadable says what can be imported.
func (l *loader) loadable() string {
	const builtIn = "; " + libraryFile + " is built in"
	if names := engine.ListFiles(l.files, l.chain...); names != "" {
		return "files that can be imported: " + names + builtIn
	}
	return "the script has no other files: put the file beside it" + builtIn
}

// list joins names with commas, at most maxListed of them.
func list(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

package jsonnet

import (
	"context"
	"fmt"
	"io/fs"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/runtimes/internal/measure"
)

// A loader parses the entry file and all files that it imports, and links them to one syntax tree, which all calls share. (The
// interpreter has an import cache too, but only for one VM, and each call has its own.) The tree is
//
//	local $import:lib.libsonnet = <its tree>, $import:sync.jsonnet = <its tree>; ...
//
// where every import is replaced by a variable. A variable has the semantics of an import: it is evaluated when it is first needed,
// and only once. A script cannot use these names.
type loader struct {
	files  fs.FS
	limits engine.Limits

	tally  measure.Tally
	chain  host.Chain // the files being loaded
	loaded map[string]bool
	binds  ast.LocalBinds                // the files that are code
	data   map[string]gojsonnet.Contents // the files of importstr and importbin
}

// variable returns the name of the variable for a file.
func variable(file string) ast.Identifier { return ast.Identifier("$import:" + file) }

// load parses file and the files that it imports, unless file is already loaded. at is the import, nil for the entry file.
func (l *loader) load(ctx context.Context, file string, at *ast.LocationRange) error {
	if l.loaded[file] {
		return nil
	}
	if file == host.Library {
		l.loaded[file] = true
		l.binds = append(l.binds, ast.LocalBind{Variable: variable(file), Body: library()})
		return nil
	}
	if cycle := l.chain.Cycle(file); cycle != "" {
		return &engine.Error{Kind: engine.KindModule, Pos: position(at), Msg: "import cycle: " + cycle}
	}
	if ctx.Err() != nil {
		return engine.Stopped(ctx, position(at), l.limits)
	}
	if len(l.chain) >= maxChain {
		return &engine.Error{
			Kind: engine.KindModule, Pos: position(at), Msg: fmt.Sprintf("more than %d files import one another in a chain", maxChain),
		}
	}
	text, err := host.ReadFile(l.files, file)
	if err != nil {
		return &engine.Error{Kind: engine.KindSource, Pos: engine.Pos{File: file}, Msg: "cannot be read: " + err.Error()}
	}
	if err := checkSource(file, text, l.tally); err != nil {
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
	// maxCode is the maximum size of a file of code in bytes, even if Limits.Source is larger. The parser cannot be stopped, and
	// recurses with up to 1 KiB of stack for two bytes of source. Functions that read its tree also recurse.
	maxCode = 256 << 10

	// maxChain is the maximum length of a chain of files that import each other.
	maxChain = 200
)

// link replaces the imports in the tree at slot by variables, and sets the context of its nodes to the function that contains them,
// for stack traces. bound is the name to which the node at slot is bound. It returns the variables that it added.
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
		setMethodPositions(n)
	case *ast.Apply:
		useFastFormat(n)
	}
	var used ast.Identifiers
	var err error
	children(n, func(child *ast.Node, bound string) {
		if err == nil {
			var more ast.Identifiers
			more, err = l.link(ctx, child, function, bound)
			if err == nil && !l.tally.Add(measure.Imports, (len(used)+len(more))*len(more)) {
				err = measure.Imports.Exceeded(position(n.Loc()))
			}
			if err == nil {
				used = union(used, more)
			}
		}
	})
	if err == nil && !l.tally.Add(measure.Imports, len(used)*(len(n.FreeVariables())+len(used))) {
		err = measure.Imports.Exceeded(position(n.Loc()))
	}
	if err == nil && len(used) > 0 {
		n.SetFreeVariables(union(n.FreeVariables(), used))
	}
	return used, err
}

// linkCode loads the file of an import, and replaces the import by a variable.
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

// linkData reads the file of an importstr or importbin, and sets the name to the path from the root.
func (l *loader) linkData(name *ast.LiteralString, at *ast.LocationRange) error {
	file, err := l.resolve(name.Value, at)
	if err != nil {
		return err
	}
	if file == host.Library {
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

// resolve returns the file that name means in an import at the position at. It looks in the directory of the importing file and
// then, unless name begins with a dot, in the root.
func (l *loader) resolve(name string, at *ast.LocationRange) (string, error) {
	if file, found := host.Find(l.files, at.FileName, name, []string{libraryFile}); found {
		return file, nil
	}
	return "", &engine.Error{
		Kind: engine.KindModule, Pos: position(at),
		Msg:  "import " + naming.Quote(name) + ": no such file",
		Hint: l.chain.Loadable(l.files, "imported", libraryFile),
	}
}

// naming formats names in messages.
var naming = host.Names{Max: 200, More: func(int) string { return "..." }}

package starlark

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/runtimes/internal/measure"
)

// dialect has the parser options for every file.
var dialect = syntax.FileOptions{Set: true, TopLevelControl: true}

// A loader compiles files and runs their top level, each once, all in one evaluation.
//
// The files that a file loads run before the file itself, not when its load statements run. For a script this makes no
// difference: a top level has no side effects, and every error has the position of the load statement.
type loader struct {
	files  fs.FS
	ev     *evaluation
	loaded map[string]starlark.StringDict // the frozen globals of each loaded file
	chain  host.Chain                     // the files being loaded
	tally  measure.Tally                  // the cost of all loaded files

	outlines map[engine.Pos]*engine.Outline // of the functions at the top level of all loaded files, by position
	lookups  map[engine.Pos][]engine.Lookup // of the same functions
	count    host.LookupCount
	timeless map[string]bool // loaded files that certainly do not read the time
}

// load compiles and runs file and the files that it loads, and returns the globals of file.
func (l *loader) load(ctx context.Context, file string) (starlark.StringDict, error) {
	text, err := host.ReadFile(l.files, file)
	if err != nil {
		return nil, &engine.Error{Kind: engine.KindSource, Pos: engine.Pos{File: file}, Msg: "cannot be read: " + clip(err.Error())}
	}
	if line := longNumber(text); line > 0 {
		return nil, &engine.Error{Kind: engine.KindSource, Pos: engine.Pos{File: file, Line: line}, Msg: errLongInt.msg, Hint: errLongInt.hint}
	}
	tree, err := dialect.Parse(file, text, 0)
	if err != nil {
		return nil, syntaxError(file, text, err)
	}
	l.chain = append(l.chain, file)
	for _, stmt := range tree.Stmts {
		if stmt, ok := stmt.(*syntax.LoadStmt); ok {
			if err := l.link(ctx, stmt); err != nil {
				return nil, err
			}
		}
	}
	l.chain = l.chain[:len(l.chain)-1]
	l.outline(tree)
	l.timeless[file] = !mayReadTime(tree)
	if err := rewrite(tree); err != nil {
		return nil, err
	}
	if fault := checkCosts(tree, l.tally); fault != nil {
		return nil, fault
	}
	program, err := starlark.FileProgram(tree, predeclared.Has)
	if err != nil {
		return nil, syntaxError(file, text, err)
	}
	l.ev.thread.Load = func(_ *starlark.Thread, file string) (starlark.StringDict, error) { return l.loaded[file], nil }
	globals, err := catchPanic(func() (starlark.StringDict, error) { return program.Init(l.ev.thread, predeclared) })
	if err := l.ev.fault(ctx, err); err != nil {
		return nil, withFile(err, file)
	}
	if err := l.ev.checkGlobals(globals); err != nil {
		return nil, l.ev.fault(ctx, err)
	}
	globals.Freeze()
	l.loaded[file] = globals
	return globals, nil
}

// withFile sets the position of an error that has none to the file.
func withFile(err error, file string) error {
	var fault *engine.Error
	if errors.As(err, &fault) && fault.Pos == (engine.Pos{}) {
		fault.Pos = engine.Pos{File: file}
	}
	return err
}

// longNumber returns the line of the first number that is too long, or 0 if there is none: the time to parse a number grows
// with the square of its length. Digits in a string count as a number too.
func longNumber(text string) int {
	line, digits := 1, 0
	for i := range len(text) {
		c := text[i]
		digits++
		switch {
		case c == '\n':
			line++
			digits = 0
		case c < '0' || c > '9':
			digits = 0
		case digits > maxDigits:
			return line
		}
	}
	return 0
}

// link loads the file of a load statement, sets the statement's module to the path of the file, and checks that the file
// defines the names.
func (l *loader) link(ctx context.Context, stmt *syntax.LoadStmt) error {
	at := position(stmt.Module.TokenPos)
	file, err := l.resolve(stmt.ModuleName(), at)
	if err != nil {
		return err
	}
	globals, ok := l.loaded[file]
	if file == host.Library {
		globals, ok = library(), true
		l.loaded[file] = globals
	}
	if !ok {
		if globals, err = l.load(ctx, file); err != nil {
			return loadedAt(err, at)
		}
	}
	stmt.Module.Value = file
	for _, name := range stmt.From {
		if !globals.Has(name.Name) {
			return &engine.Error{
				Kind: engine.KindModule, Pos: position(name.NamePos),
				Msg:  fmt.Sprintf("load: %s defines no %s", strings.ReplaceAll(file, host.Library, libraryFile), naming.Quote(name.Name)),
				Hint: naming.Suggest(name.Name, public(globals), "it defines "),
			}
		}
	}
	return nil
}

// loadedAt adds a load statement, whose position is at, to the trace of an error in the loaded file.
func loadedAt(err error, at engine.Pos) error {
	var fault *engine.Error
	if errors.As(err, &fault) {
		fault.Trace = append(fault.Trace, engine.Frame{Func: "load", Pos: at})
	}
	return err
}

// public returns the names that other files can load: those without a leading underscore.
func public(globals starlark.StringDict) []string {
	return slices.DeleteFunc(globals.Keys(), func(name string) bool { return strings.HasPrefix(name, "_") })
}

// resolve returns the file that name means in a load statement at the position at. It looks in the directory of the loading
// file and then, unless name begins with a dot, in the root.
func (l *loader) resolve(name string, at engine.Pos) (string, error) {
	file, found := host.Find(l.files, at.File, name, []string{libraryFile})
	if !found {
		return "", &engine.Error{
			Kind: engine.KindModule, Pos: at,
			Msg:  fmt.Sprintf("load: there is no file %s", naming.Quote(name)),
			Hint: l.chain.Loadable(l.files, "loaded", libraryFile),
		}
	}
	if cycle := l.chain.Cycle(file); cycle != "" {
		return "", &engine.Error{
			Kind: engine.KindModule, Pos: at, Msg: "load: a cycle: " + clip(cycle),
			Hint: "move the parts that both need to another file",
		}
	}
	return file, nil
}

// syntaxError converts an error of the parser or the resolver to the error that the script's author sees.
func syntaxError(file, text string, err error) *engine.Error {
	e := &engine.Error{Kind: engine.KindSyntax, Pos: engine.Pos{File: file}, Msg: clip(err.Error())}
	var parse syntax.Error
	var all resolve.ErrorList
	more := ""
	switch {
	case errors.As(err, &parse):
		e.Pos, e.Msg = position(parse.Pos), clip(parse.Msg)
	case errors.As(err, &all):
		e.Pos, e.Msg = position(all[0].Pos), clip(all[0].Msg)
		if n := len(all) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more, the next in line %d)", n, all[1].Pos.Line)
		}
	}
	explain(e, text)
	e.Msg += more
	return e
}

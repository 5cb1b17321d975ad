// Package scripts finds the scripts of controllers, wherever they are kept, and gives each as an [engine.Script]: an
// entry file and an fs.FS of all that it may load. Text inside the controller's own object is [Inline].
package scripts

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"metascript/engine"
)

// entries are the names under which the text in spec.script.inline is known, in errors and to its modules.
var entries = map[string]string{
	engine.Starlark:   "sync.star",
	engine.JavaScript: "sync.js",
	engine.Jsonnet:    "sync.jsonnet",
}

// Inline is a script from source text and the modules beside it, a map of file names to source text.
func Inline(language, source string, modules map[string]string) (engine.Script, error) {
	entry, known := entries[language]
	if !known {
		return engine.Script{}, fmt.Errorf("language %q: want one of %s", language, strings.Join(slices.Sorted(maps.Keys(entries)), ", "))
	}
	files := fstest.MapFS{entry: file(source)}
	for name, text := range modules {
		if !fs.ValidPath(name) || name == "." {
			return engine.Script{}, fmt.Errorf("module %q: the name of a file is wanted, such as lib/labels%s", name, path.Ext(entry))
		}
		if name == entry {
			return engine.Script{}, fmt.Errorf("module %q: that is the name of the script itself; give the module another", name)
		}
		files[name] = file(text)
	}
	return engine.Script{Language: language, Entry: entry, Files: files}, nil
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o444} }

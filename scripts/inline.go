package scripts

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"metascript/engine"
)

// entries are the names of the text in spec.script.inline, for errors and for its modules.
var entries = map[string]string{
	engine.Starlark:   "sync.star",
	engine.JavaScript: "sync.js",
	engine.TypeScript: "sync.ts",
	engine.Jsonnet:    "sync.jsonnet",
}

// inline returns the name of the entry, and the files of the script, which are its text and its modules, by name.
func inline(w *Wanted) (entry string, files map[string]string, err error) {
	entry, known := entries[w.Language]
	if !known {
		return "", nil, fmt.Errorf("language %q: want one of %s", w.Language, strings.Join(slices.Sorted(maps.Keys(entries)), ", "))
	}
	files = map[string]string{entry: w.Inline}
	for name, text := range w.Modules {
		if !fs.ValidPath(name) || name == "." {
			return "", nil, fmt.Errorf("module %q: want a file name, such as lib/labels%s", name, path.Ext(entry))
		}
		if name == entry {
			return "", nil, fmt.Errorf("module %q: that is the name of the script itself; give the module another name", name)
		}
		files[name] = text
	}
	return entry, files, nil
}

package types

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"metascript/engine"
	"metascript/scripts"
	"metascript/scripts/lib/editor"
)

// functions is the file with the functions for Jsonnet.
const functions = "kinds.libsonnet"

// Languages returns the languages of the scripts in a directory and below it, sorted.
func Languages(dir string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "node_modules":
			return fs.SkipDir
		case entry.IsDir() || entry.Name() == functions:
			return nil
		}
		found[scripts.LanguageOf(name)] = true
		return nil
	})
	delete(found, "") // of files that are not scripts
	return slices.Sorted(maps.Keys(found)), err
}

// Files returns the files for editors of scripts in some languages, or in any language if there are none, by slash-separated paths.
// texts may be nil: then the types suit every controller.
func Files(languages []string, texts *Texts) map[string]string {
	files := editor.Files(slices.Contains(languages, engine.TypeScript))
	if texts != nil {
		files[editor.Declarations] = editor.Declare(texts.TypeScript)
		files[editor.Stubs] += texts.Starlark
		files[functions] = "// " + editor.Header + ": functions that check the fields of children and of the status.\n" + texts.Jsonnet
	}
	maps.DeleteFunc(files, func(name, _ string) bool { return len(languages) > 0 && !suits(name, languages) })
	return files
}

// suits reports whether an editor uses a file for one of the languages. The JSON Schema is for all.
func suits(name string, languages []string) bool {
	has := func(language string) bool { return slices.Contains(languages, language) }
	switch {
	case strings.HasPrefix(name, "metascript-stubs/"):
		return has(engine.Starlark)
	case name == functions:
		return has(engine.Jsonnet)
	case strings.HasSuffix(name, ".schema.json"):
		return true
	}
	return has(engine.JavaScript) || has(engine.TypeScript)
}

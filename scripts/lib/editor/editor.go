// Package editor has the files with which an editor checks and completes scripts: types for JavaScript and TypeScript, stubs for
// Starlark, and a JSON Schema. They describe the requests and the answers of scripts, and the functions of the library. [Write]
// writes them into a directory with scripts.
package editor

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Header is a text in the first lines of every file. [Write] overwrites a file that has it.
const Header = "written by metascript types"

// The files that a command replaces or extends for the controllers that it knows.
const (
	Declarations = "metascript.d.ts"
	Stubs        = "metascript-stubs/__init__.py"
)

//go:embed all:files declarations settings
var embedded embed.FS

// Files returns the texts of the files, by slash-separated paths. The settings of TypeScript are for scripts in that language, and check
// more than those for JavaScript. A directory has only one of them, since an editor uses only one.
func Files(typescript bool) map[string]string {
	files := map[string]string{Declarations: Declare(read("declarations/requests.d.ts"))}
	settings := "jsconfig.json"
	if typescript {
		settings = "tsconfig.json"
	}
	files[settings] = read("settings/" + settings)
	err := fs.WalkDir(embedded, "files", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[strings.TrimPrefix(name, "files/")] = read(name)
		}
		return err
	})
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return files
}

// Declare returns the text of [Declarations] with types of requests and answers. Those of [Files] suit every controller.
func Declare(requests string) string {
	return read("declarations/head.d.ts") + "\n" + requests + "\n" + read("declarations/library.d.ts")
}

// read returns an embedded file.
func read(name string) string {
	text, err := embedded.ReadFile(name)
	if err != nil {
		panic(err) // the file is embedded above
	}
	return string(text)
}

// Write writes files below dir, and returns their slash-separated paths, sorted. If one of them exists and does not have the header,
// it writes nothing and returns an error.
func Write(dir string, files map[string]string) ([]string, error) {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if err := checkOurs(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// headLines is the number of lines at the beginning of a file that may have the header.
const headLines = 3

// checkOurs returns an error if a file exists and does not have the header.
func checkOurs(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	head := strings.SplitN(string(text), "\n", headLines+1)
	if strings.Contains(strings.Join(head[:min(len(head), headLines)], "\n"), Header) {
		return nil
	}
	return fmt.Errorf("%s exists already, and was not %s: move it, or choose another directory", path, Header)
}

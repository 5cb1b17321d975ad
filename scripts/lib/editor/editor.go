// Package editor has the files with which an editor checks and completes scripts: types for JavaScript and TypeScript, stubs for
// Starlark, and a JSON Schema. They describe the requests and the answers of scripts, and the functions of the library. The
// command types writes them into a directory with scripts.
package editor

import (
	"embed"
	"io/fs"
	"strings"
)

// Header is a text in the first lines of every file. The command types overwrites a file that has it.
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

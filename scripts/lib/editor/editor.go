// Package editor has the files by which an editor knows what a script is given, what it may return, and the functions
// of the library: types for JavaScript, stubs for Starlark, and a JSON Schema. [Write] puts them beside scripts.
package editor

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Header is in the first lines of every file; one that has it may be written again.
const Header = "written by metascript types"

//go:embed all:files
var embedded embed.FS

// Files are the files by their names, with / between folders.
func Files() fs.FS {
	files, err := fs.Sub(embedded, "files")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return files
}

// Write writes the files below dir, and gives their names. Before it writes any, it looks at what is there: a file
// without the header is somebody else's, and an error.
func Write(dir string) ([]string, error) {
	var names []string
	err := fs.WalkDir(Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		names = append(names, name)
		return checkOurs(filepath.Join(dir, filepath.FromSlash(name)))
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := write(dir, name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// headLines is how many lines may be looked through for the header.
const headLines = 3

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
	return fmt.Errorf("%s is there, and was not %s: move it, or choose another folder", path, Header)
}

func write(dir, name string) error {
	text, err := fs.ReadFile(Files(), name)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

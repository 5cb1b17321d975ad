// Package editor has the files with which an editor checks and completes scripts: types for JavaScript, stubs for Starlark, and a
// JSON Schema. They describe the requests and the answers of scripts, and the functions of the library. [Write] writes them into
// a directory with scripts.
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

// Header is a text in the first lines of every file. [Write] overwrites a file that has it.
const Header = "written by metascript types"

//go:embed all:files
var embedded embed.FS

// Files returns the files, by slash-separated paths.
func Files() fs.FS {
	files, err := fs.Sub(embedded, "files")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return files
}

// Write writes the files below dir, and returns their slash-separated paths. If one of them exists and does not have the header, it
// writes nothing and returns an error.
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

package simulation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"metascript/cmd/metascript/internal/folder"
	"metascript/scripts"
)

// scriptFiles are the directories with the scripts of the controllers. If a step edits a script, they are copies, so that the files of
// the author stay as they are.
type scriptFiles struct {
	dirs []string
	temp string // the directory of the copies; "" if there are none
}

// open sets the directories.
func (f *scriptFiles) open(dirs []string, edited bool) (err error) {
	if f.dirs = dirs; !edited || len(dirs) == 0 {
		return nil
	}
	if f.temp, err = os.MkdirTemp("", "metascript-simulate-"); err != nil {
		return err
	}
	f.dirs = nil
	for i, dir := range dirs {
		to := filepath.Join(f.temp, strconv.Itoa(i))
		if err := copyScripts(dir, to); err != nil {
			return fmt.Errorf("copying the scripts in %s: %w", dir, err)
		}
		f.dirs = append(f.dirs, to)
	}
	return nil
}

// close removes the copies.
func (f *scriptFiles) close() {
	if f.temp != "" {
		_ = os.RemoveAll(f.temp) // the directory of temporary files is cleaned up in any case
	}
}

// edit changes the copy of a file.
func (f *scriptFiles) edit(name string, change func(string) (string, error)) error {
	for _, dir := range f.dirs {
		copied, err := folder.Open(dir)
		if err != nil {
			return err
		}
		defer copied.Close()
		text, err := copied.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		edited, err := change(string(text))
		if err != nil {
			return err
		}
		return copied.Replace(name, []byte(edited))
	}
	return fmt.Errorf("there is no file %s", name)
}

// copyScripts copies the files of a directory, and of those in it, that can be a script or can be loaded by one. It copies only regular
// files, and what links refer to; like a server, it does not follow those that lead out of the directory.
func copyScripts(from, to string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := folder.Open(to)
	if err != nil {
		return err
	}
	defer target.Close()
	return fs.WalkDir(source.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git"):
			return fs.SkipDir
		case entry.IsDir() || scripts.LanguageOf(name) == "" && filepath.Ext(name) != ".json":
			return nil
		}
		if info, err := source.Stat(filepath.FromSlash(name)); err != nil || !info.Mode().IsRegular() {
			return nil // a pipe, for example, would block; and a script that needs what is not there says so
		}
		text, err := source.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		return target.Replace(name, text)
	})
}

// Package folder reads and writes files below one directory. The names of the files may come from somebody else: no name and no symbolic
// link leads out of the directory.
//
//   - [Open] opens a directory, and makes it if it does not exist
//   - [Folder.Create] writes new files, all or none, and replaces no file
//   - [Folder.Replace] writes a file that may exist
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A File is a file to write.
type File struct {
	Path string // below the directory, with slashes
	Text []byte
}

// A Folder is an open directory. The caller must close it.
type Folder struct {
	dir  string
	root *os.Root
}

// Open opens a directory, and makes it if it does not exist.
func Open(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{dir, root}, nil
}

// Close closes the directory.
func (f *Folder) Close() { _ = f.root.Close() } // nothing is written through it

// Path returns the name of a file for people, with the directory.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// An ExistError says which files exist, so that nothing was written.
type ExistError struct{ Paths []string }

// Error implements error.
func (e *ExistError) Error() string {
	return "nothing was written, because there already is " + strings.Join(e.Paths, ", ")
}

// Create writes new files. If a file exists, or cannot be written because of its name, nothing is written. A symbolic link exists, wherever it leads.
func (f *Folder) Create(files ...File) error {
	exist := &ExistError{}
	folded := map[string]string{}
	for _, file := range files {
		if !fs.ValidPath(file.Path) || file.Path == "." {
			return fmt.Errorf("%q cannot be the name of a file below %s", file.Path, f.dir)
		}
		lower := strings.ToLower(file.Path)
		if other, twice := folded[lower]; twice {
			return fmt.Errorf("%q and %q are one file where the case of letters makes no difference", other, file.Path)
		}
		folded[lower] = file.Path
		switch has, err := f.Has(file.Path); {
		case err != nil:
			return err
		case has:
			exist.Paths = append(exist.Paths, f.Path(file.Path))
		}
	}
	if len(exist.Paths) > 0 {
		return exist
	}
	for _, file := range files {
		if err := f.write(file.Path, file.Text, os.O_EXCL); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether something has that name: a file, a directory, or a link, wherever it leads.
func (f *Folder) Has(name string) (bool, error) {
	_, err := f.root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Read returns the content of a file.
func (f *Folder) Read(name string) ([]byte, error) { return f.root.ReadFile(filepath.FromSlash(name)) }

// Replace writes a file, which may exist.
func (f *Folder) Replace(name string, text []byte) error { return f.write(name, text, os.O_TRUNC) }

// write writes a file.
func (f *Folder) write(name string, text []byte, flag int) error {
	if dir := path.Dir(name); dir != "." {
		if err := f.root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
			return err
		}
	}
	file, err := f.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|flag, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write writes files below a directory, which need not exist. If one of the files exists, it writes nothing and returns an error that
// lists those that exist.
func Write(dir string, files []File) error {
	var exist []string
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		switch _, err := os.Lstat(path); {
		case err == nil:
			exist = append(exist, path)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if len(exist) > 0 {
		return fmt.Errorf("nothing was written, because there already is %s: choose another directory with --dir", strings.Join(exist, ", "))
	}
	for _, f := range files {
		if err := create(filepath.Join(dir, filepath.FromSlash(f.Path)), f.Text); err != nil {
			return err
		}
	}
	return nil
}

// create creates a file. It never opens one that exists, even if that was created a moment ago.
func create(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

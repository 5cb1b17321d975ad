// Package mounttest writes directories as the kubelet does for volumes of ConfigMaps. It is for tests.
package mounttest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	dataLink    = "..data"
	newDataLink = "..data_tmp"
)

// Write replaces the content of dir by files, which has texts by slash-separated paths. It does the same steps as the kubelet:
//
//  1. It creates a directory with the time in its name, and writes the files into it.
//  2. It creates a link ..data_tmp to that directory, and renames it to ..data. At this moment all files change at once.
//  3. It creates links to ..data/NAME for new names.
//  4. It removes such links for names that no longer exist.
//  5. It removes the directory of the previous version.
//
// It creates dir if it does not exist, and does nothing if nothing changes. Calls for the same directory must not be concurrent.
func Write(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	before, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if before != "" && same(filepath.Join(dir, before), files) {
		return nil
	}
	version, err := newVersion(dir, files)
	if err != nil {
		return err
	}
	if err := os.Symlink(version, filepath.Join(dir, newDataLink)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, newDataLink), filepath.Join(dir, dataLink)); err != nil {
		return err
	}
	if err := link(dir, files); err != nil {
		return err
	}
	if before == "" {
		return nil
	}
	if err := unlink(dir, before, files); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, before))
}

// same reports whether a version has exactly these files.
func same(version string, files map[string]string) bool {
	count := 0
	err := filepath.WalkDir(version, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(version, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if want, ok := files[filepath.ToSlash(name)]; ok && want == string(text) {
			count++
			return err
		}
		return fs.ErrInvalid
	})
	return err == nil && count == len(files)
}

// newVersion creates the directory of a version, and returns its name.
func newVersion(dir string, files map[string]string) (string, error) {
	version, err := os.MkdirTemp(dir, time.Now().UTC().Format("..2006_01_02_15_04_05."))
	if err != nil {
		return "", err
	}
	for name, text := range files {
		file := filepath.Join(version, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Base(version), os.Chmod(version, 0o755)
}

// link creates the links of new names.
func link(dir string, files map[string]string) error {
	for name := range files {
		first, _, _ := strings.Cut(name, "/")
		err := os.Symlink(filepath.Join(dataLink, first), filepath.Join(dir, first))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// unlink removes the links of names that the version before has and files does not.
func unlink(dir, before string, files map[string]string) error {
	entries, err := os.ReadDir(filepath.Join(dir, before))
	if err != nil {
		return err
	}
	exist := map[string]bool{}
	for name := range files {
		first, _, _ := strings.Cut(name, "/")
		exist[first] = true
	}
	for _, e := range entries {
		if !exist[e.Name()] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

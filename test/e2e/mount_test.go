package e2e

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Names in a volume of the kubelet's.
const (
	dataLink    = "..data"
	newDataLink = "..data_tmp"
)

func cmdMount(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filesBelow(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(mount(ts.MkAbs(args[0]), files))
}

// filesBelow are the files below dir by their path from there.
func filesBelow(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		files[name] = string(text)
		return err
	})
	return files, err
}

// mount makes files what a volume holds, as the kubelet does when a ConfigMap has changed: all of them into a new
// directory, then ..data becomes a link to it by a rename, then links for new names come, and those for old names
// and the old directory go. See pkg/volume/util/atomic_writer.go of Kubernetes.
func mount(volume string, files map[string]string) error {
	if err := os.MkdirAll(volume, 0o755); err != nil {
		return err
	}
	old, err := os.Readlink(filepath.Join(volume, dataLink))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writePayload(volume, files); err != nil {
		return err
	}
	if err := showNames(volume, files); err != nil || old == "" {
		return err
	}
	return os.RemoveAll(filepath.Join(volume, old))
}

func writePayload(volume string, files map[string]string) error {
	payload, err := os.MkdirTemp(volume, time.Now().UTC().Format("..2006_01_02_15_04_05."))
	if err != nil {
		return err
	}
	if err := os.Chmod(payload, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(payload, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.Symlink(filepath.Base(payload), filepath.Join(volume, newDataLink)); err != nil {
		return err
	}
	return os.Rename(filepath.Join(volume, newDataLink), filepath.Join(volume, dataLink))
}

// showNames makes the links that users see, and removes those of names that are gone.
func showNames(volume string, files map[string]string) error {
	shown := map[string]bool{}
	for name := range files {
		first, _, _ := strings.Cut(name, "/")
		shown[first] = true
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		err := os.Symlink(filepath.Join(dataLink, name), filepath.Join(volume, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	entries, err := os.ReadDir(volume)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, "..") && !shown[name] {
			if err := os.Remove(filepath.Join(volume, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

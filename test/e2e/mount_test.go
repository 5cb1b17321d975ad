package e2e

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"metascript/scripts/mounttest"
)

func cmdMount(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filesBelow(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(mount(ts.MkAbs(args[0]), files))
}

// mount makes files the content of a volume.
func mount(volume string, files map[string]string) error {
	if err := os.MkdirAll(volume, 0o755); err != nil {
		return err
	}
	return mounttest.Write(volume, files)
}

// filesBelow returns the files below dir by their relative path.
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

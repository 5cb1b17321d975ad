package simulation

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A pipe is not read, since this would block.
func TestCopyScriptsCopiesOnlyScripts(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"sync.star": "a", "lib/b.js": "b", "data.json": "{}", "README.md": "c", ".git/hook.js": "d", "node_modules/e/index.js": "e",
	} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(from, "pipe.star"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sync.star", filepath.Join(from, "link.star")); err != nil {
		t.Fatal(err)
	}
	if err := copyScripts(from, to); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(to, path)
			got = append(got, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"data.json", "lib/b.js", "link.star", "sync.star"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

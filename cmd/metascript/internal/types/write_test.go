package types

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"metascript/scripts/lib/editor"
)

func TestWriteDoesNotChangeOtherFiles(t *testing.T) {
	dir := t.TempDir()
	names, err := Write(dir, editor.Files(false))
	if err != nil || !slices.Contains(names, "metascript.d.ts") || !slices.Contains(names, "metascript-stubs/__init__.py") {
		t.Fatalf("it wrote %v, %v", names, err)
	}
	if _, err := Write(dir, editor.Files(false)); err != nil { // its own are written again
		t.Error(err)
	}
	mine, stub := filepath.Join(dir, "jsconfig.json"), filepath.Join(dir, "metascript-stubs", "yaml.py")
	for path, own := range map[string]string{mine: `{"mine": true}`, stub: editor.Header + "\nof before"} {
		if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Write(dir, editor.Files(false)); err == nil || !strings.Contains(err.Error(), "jsconfig.json exists already, and was not written by metascript types") {
		t.Errorf("a file without the header was overwritten: %v", err)
	}
	if got, _ := os.ReadFile(mine); string(got) != `{"mine": true}` {
		t.Errorf("the file is now %s", got)
	}
	if got, _ := os.ReadFile(stub); string(got) != editor.Header+"\nof before" {
		t.Error("other files were written although there is an error")
	}
}

func TestWriteFollowsNoLinkOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for from, to := range map[string]string{"metascript.d.ts": "a", "metascript-stubs": "."} {
		if err := os.Symlink(filepath.Join(outside, to), filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
		if names, err := Write(dir, editor.Files(false)); err == nil {
			t.Errorf("%s leads out of the directory, and it wrote %v", from, names)
		}
		if err := os.Remove(filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("it wrote %v: %v", entries, err)
	}
}

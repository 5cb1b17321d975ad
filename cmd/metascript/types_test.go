package main

import (
	"path/filepath"
	"strings"
	"testing"

	"metascript/scripts/lib/editor"
)

func TestTypesWritesFilesForEditors(t *testing.T) {
	inFolder(t, "-- metascript.d.ts --\nmine\n")
	metascript(t, "types").expect(t, 1, nil, []string{"error: metascript.d.ts exists already, and was not written by metascript types"})
	metascript(t, "types", "nosuch").expect(t, 1, nil, []string{"error: ", "nosuch"})
	metascript(t, "types", "metascript.d.ts").expect(t, 1, nil, []string{"error: metascript.d.ts is not a directory"})
	dir := t.TempDir()
	for range 2 {
		metascript(t, "types", dir).expect(t, 0, []string{filepath.Join(dir, "metascript.d.ts") + "\n", "\nStarlark: "}, nil)
	}
	for _, name := range []string{"metascript.d.ts", "jsconfig.json", "metascript.schema.json", "metascript-stubs/yaml.py"} {
		if !strings.Contains(readText(t, filepath.Join(dir, name)), editor.Header) {
			t.Errorf("%s has no header", name)
		}
	}
}

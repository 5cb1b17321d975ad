package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFindFile(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{"sync.js", "lib.js", "sub/a.js", "sub/lib.js", "sub/b.json", "folder.js/x"} {
		files[name] = &fstest.MapFile{Mode: 0o444}
	}
	for _, c := range []struct{ from, name, want string }{
		{"sync.js", "lib.js", "lib.js"},
		{"sync.js", "./lib.js", "lib.js"},
		{"sync.js", "lib", "lib.js"},
		{"sync.js", "sub/b", "sub/b.json"},
		{"sub/a.js", "lib.js", "sub/lib.js"},
		{"sub/a.js", "sync.js", "sync.js"},
		{"sub/a.js", "./sync.js", ""},
		{"sub/a.js", "../lib.js", ""},
		{"sub/a.js", "b/../lib.js", ""},
		{"sync.js", "/lib.js", ""},
		{"sync.js", `sub\a.js`, ""},
		{"sync.js", "folder.js", ""},
		{"sync.js", "", ""},
	} {
		if got, found := FindFile(files, c.from, c.name, "", ".js", ".json"); got != c.want || found != (c.want != "") {
			t.Errorf("FindFile from %s of %q: got %q, %t, want %q", c.from, c.name, got, found, c.want)
		}
	}
	if _, found := FindFile(files, "sync.js", "lib"); found {
		t.Error("FindFile tried an ending that is not in the list")
	}
}

func TestListFilesNamesTheFirstTwenty(t *testing.T) {
	files := fstest.MapFS{}
	if got := ListFiles(files); got != "" {
		t.Errorf("no files: got %q", got)
	}
	for i := range 30 {
		files[fmt.Sprintf("f%02d", i)] = &fstest.MapFile{Mode: 0o444}
	}
	got := strings.Split(ListFiles(files, "f00"), ", ")
	if len(got) != 21 || got[0] != "f01" || got[20] != "..." {
		t.Errorf("got %v", got)
	}
}

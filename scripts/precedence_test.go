package scripts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
	"metascript/scripts/mounttest"
)

// If there are several files with a name, the first place in the search path is used.
func TestPrecedence(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	put(t, first, map[string]string{
		"a/sync.star":     "load('b.star', 'b'); load('shared/x.star', 'x'); load('y.star', 'y')",
		"a/b.star":        "beside",
		"a/shared/x.star": "below",
		"libs/only.star":  "first",
		"shared/z.star":   "not a's",
	})
	put(t, second, map[string]string{
		"a/sync.star":    "second",
		"a/c.star":       "second",
		"libs/x.star":    "second",
		"libs/y.star":    "second",
		"c/sync.star":    "load('shared/y.star', 'y'); load('shared/x.star', 'x')",
		"root.star":      "load('shared/x.star', 'x')",
		"shared/x.star":  "root's own",
		"elsewhere.star": "",
	})
	libraries := []Library{{Name: "shared", File: "libs"}, {File: "libs/y.star"}}
	for _, c := range []struct {
		file string
		want map[string]string
	}{
		{"a/sync.star", map[string]string{"a/b.star": "beside", "a/shared/x.star": "below", "y.star": "second"}},
		{"c/sync.star", map[string]string{}},
		{"root.star", map[string]string{"shared/x.star": "root's own"}},
	} {
		made, err := in(first, second).Assemble(Wanted{File: c.file, Libraries: libraries}, false)
		if err != nil {
			t.Fatal(err)
		}
		got := contents(t, made.Script)
		delete(got, c.file)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.file, diff)
		}
	}
	made, err := in(second, first).Assemble(Wanted{File: "c/sync.star", Libraries: libraries}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"c/sync.star": "load('shared/y.star', 'y'); load('shared/x.star', 'x')", "shared/x.star": "second", "shared/y.star": "second"}
	if diff := cmp.Diff(want, contents(t, made.Script)); diff != "" {
		t.Error(diff)
	}
}

// A mount inside a mount, names that the kubelet has not added yet, and names that it has not removed yet.
func TestUnusualStatesOfMounts(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, map[string]string{"catset/sync.star": "load('shared/x.star', 'x'); load('late.star', 'l'); load('stale.star', 's')", "late.star": "late"})
	mount(t, filepath.Join(dir, "shared"), map[string]string{"x.star": "x = 1", ".hidden.star": "", "y.star": ""})
	for _, err := range []error{
		os.Remove(filepath.Join(dir, "late.star")),
		os.Symlink("..data/stale.star", filepath.Join(dir, "stale.star")),
		os.Symlink("shared", filepath.Join(dir, "linked.star")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wanted := Wanted{File: "catset/sync.star", Libraries: []Library{{File: "shared"}, {File: "late.star"}}}
	made, err := in(dir).Assemble(wanted, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("catset/sync.star late.star shared/x.star", names(t, made.Script)); diff != "" {
		t.Error(diff)
	}
	made, err = in(dir).Assemble(wanted, true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("catset/sync.star late.star shared/x.star shared/y.star", names(t, made.Script)); diff != "" {
		t.Error(diff)
	}
	v := open(dir)
	defer v.close()
	listed, err := v.list(".", true)
	if diff := cmp.Diff([]string{"catset/sync.star", "late.star", "linked.star", "shared/.hidden.star", "shared/x.star", "shared/y.star"}, listed); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := os.Symlink("../..", filepath.Join(dir, "odd")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "away"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Dir(dir), map[string]string{"sync.star": "outside"})
	if err := os.Symlink("../..", filepath.Join(dir, "away", dataLink)); err != nil {
		t.Fatal(err)
	}
	_, err = in(dir).Assemble(Wanted{File: "away/sync.star"}, false)
	refused(t, err, NotFound, "file away/sync.star: it is not in "+dir)
}

func TestWanted(t *testing.T) {
	w := Wanted{
		ConfigMap: Key{"a", "script", "sync.js"},
		Libraries: []Library{{File: "shared"}, {ConfigMap: Key{"a", "script", ""}}, {ConfigMap: Key{"b", "script", "x"}}},
	}
	if diff := cmp.Diff([]Key{{"a", "script", ""}, {"b", "script", ""}}, w.ConfigMapNames()); diff != "" {
		t.Error(diff)
	}
	if !w.UsesFiles() || (&Wanted{Inline: "x"}).UsesFiles() || !(&Wanted{File: "x"}).UsesFiles() {
		t.Error("UsesFiles must be true for File, and for File of a library")
	}
	for file, want := range map[string]string{"a.star": engine.Starlark, "a.js": engine.JavaScript, "a.jsonnet": engine.Jsonnet, "a.libsonnet": engine.Jsonnet} {
		if got, err := (&Wanted{}).language(file); got != want || err != nil {
			t.Errorf("%s: got %q, %v", file, got, err)
		}
	}
	if got, err := (&Wanted{Language: engine.Jsonnet}).language("script.txt"); got != engine.Jsonnet || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestMounttestDoesNothingWhenNothingChanges(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"a": "1", "b/c": "2"}
	mount(t, dir, files)
	before, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil {
		t.Fatal(err)
	}
	mount(t, dir, files)
	if after, _ := os.Readlink(filepath.Join(dir, dataLink)); after != before {
		t.Errorf("%s became %s", before, after)
	}
	if err := mounttest.Write(dir, map[string]string{"b/c": "3"}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 { // the version, ..data, b
		t.Errorf("got %v, %v", entries, err)
	}
}

// A file whose name looks like the error about a link that leads out of a directory can be read.
func TestFileNamesThatLookLikeErrors(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	put(t, second, map[string]string{
		"escapes.star": "load('landscapes/hills.star', 'x')",
		"l/hills.star": "x = 1",
	})
	made, err := in(first, filepath.Join(first, "escapes"), second).Assemble(Wanted{File: "escapes.star", Libraries: []Library{{Name: "landscapes", File: "l"}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"escapes.star": "load('landscapes/hills.star', 'x')", "landscapes/hills.star": "x = 1"}
	if diff := cmp.Diff(want, contents(t, made.Script)); diff != "" {
		t.Error(diff)
	}
}

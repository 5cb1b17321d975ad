package folder

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// opened returns a Folder in a new directory, beside which is the directory outside.
func opened(t *testing.T) (f *Folder, dir, outside string) {
	t.Helper()
	above := t.TempDir()
	dir, outside = filepath.Join(above, "in"), filepath.Join(above, "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, dir, outside
}

func link(t *testing.T, to, from string) {
	t.Helper()
	if err := os.Symlink(to, from); err != nil {
		t.Fatal(err)
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%s has %v: %v", dir, entries, err)
	}
}

func TestNothingIsWrittenOutside(t *testing.T) {
	f, dir, outside := opened(t)
	link(t, outside, filepath.Join(dir, "away"))
	link(t, filepath.Join(outside, "new"), filepath.Join(dir, "dangling"))
	for _, name := range []string{"../outside/x", "/x", "a/../../outside/x", "a/../b", "", ".", "a//b", "a/", "away/x", "dangling/x"} {
		if err := f.Create(File{name, nil}); err == nil {
			t.Errorf("%q was created", name)
		}
	}
	for _, name := range []string{"../outside/x", "away/x", "dangling", "dangling/x"} {
		if err := f.Replace(name, nil); err == nil {
			t.Errorf("%q was replaced", name)
		}
	}
	empty(t, outside)
}

func TestNothingIsReplaced(t *testing.T) {
	f, dir, outside := opened(t)
	if err := f.Replace("mine", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	link(t, "mine", filepath.Join(dir, "inside"))
	link(t, filepath.Join(outside, "new"), filepath.Join(dir, "dangling"))
	for _, name := range []string{"mine", "inside", "dangling"} {
		err := f.Create(File{"new", nil}, File{name, nil})
		if exist := (*ExistError)(nil); !errors.As(err, &exist) || len(exist.Paths) != 1 || exist.Paths[0] != filepath.Join(dir, name) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if err := f.Create(File{"mine/new", nil}); err == nil {
		t.Error("a file was written below a file")
	}
	if has, err := f.Has("new"); has || err != nil {
		t.Errorf("one of the files was written: %v", err)
	}
	if text, err := f.Read("inside"); err != nil || string(text) != "mine" {
		t.Errorf("the file has %q: %v", text, err)
	}
	empty(t, outside)
}

func TestNamesThatDifferInCase(t *testing.T) {
	f, dir, _ := opened(t)
	if err := f.Create(File{"a/B.star", nil}, File{"A/b.star", nil}); err == nil {
		t.Error("two names that are one file on many systems were written")
	}
	empty(t, dir)
	if err := f.Create(File{"a/b", []byte("x")}, File{"a/c", nil}); err != nil {
		t.Error(err)
	}
}

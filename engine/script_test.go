package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// Digests are stored in the cluster: a new version of the program must compute the same ones.
func TestDigestIsStable(t *testing.T) {
	s := Script{Language: Starlark, Entry: "sync.star", Files: fstest.MapFS{
		"sync.star":    {Data: []byte("def sync(parent):\n    return {}\n")},
		"lib/lib.star": {Data: []byte("x = 1\n")},
	}}
	const want = "4d453b8aba2bd20baaeb97c1449dbfdf952985bfd5eaacee2909f50354593597"
	if got, err := s.Digest(Limits{}); got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestDigestsOfDifferentScriptsDiffer(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	scripts := []Script{
		{Language: Starlark, Entry: "a", Files: fstest.MapFS{"a": file("x"), "b": file("")}},
		{Language: Jsonnet, Entry: "a", Files: fstest.MapFS{"a": file("x"), "b": file("")}},
		{Language: Starlark, Entry: "b", Files: fstest.MapFS{"a": file("x"), "b": file("")}},
		{Language: Starlark, Entry: "a", Files: fstest.MapFS{"a": file(""), "b": file("x")}},
		{Language: Starlark, Entry: "a", Files: fstest.MapFS{"a": file("xb")}},
		{Language: Starlark, Entry: "a", Files: fstest.MapFS{"a": file("x"), "b": file(""), "c": file("")}},
	}
	seen := map[string]int{}
	for i, s := range scripts {
		d, err := s.Digest(Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if j, ok := seen[d]; ok {
			t.Errorf("scripts %d and %d have the same digest", i, j)
		}
		seen[d] = i
	}
}

func TestSourceLimit(t *testing.T) {
	s := fakeScript(strings.Repeat("x", 1000))
	if _, err := s.Digest(Limits{Source: 1004}); err != nil {
		t.Error(err)
	}
	_, err := s.Digest(Limits{Source: 1003})
	e := wantKind(t, err, KindSource)
	for _, want := range []string{"1004 bytes", "1003 bytes", "leave out"} {
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%q does not say %q", e, want)
		}
	}
}

// Only regular files are read, and reading stops at the limit even if a file has no end.
func TestIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("main", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s, _, err := Script{Language: fakeLanguage, Entry: "main", Files: os.DirFS(dir)}.snapshot(100)
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := fs.Glob(s.Files, "*"); len(names) != 1 {
		t.Errorf("got the files %v", names)
	}
	_, _, err = Script{Language: fakeLanguage, Entry: "link", Files: os.DirFS(dir)}.snapshot(100)
	wantKind(t, err, KindSource)
	_, _, err = Script{Language: fakeLanguage, Entry: "main", Files: endless{}}.snapshot(100)
	wantKind(t, err, KindSource)
	_, _, err = Script{Language: fakeLanguage, Entry: "main"}.snapshot(100)
	wantKind(t, err, KindSource)
}

// endless is a directory with a file, main, whose size is 0 and which has no end.
type endless struct{}

func (endless) Open(name string) (fs.File, error) {
	f, err := fstest.MapFS{"main": {}}.Open(name)
	if name == "main" {
		f = endlessFile{f}
	}
	return f, err
}

type endlessFile struct{ fs.File }

func (endlessFile) Read(b []byte) (int, error) { return len(b), nil }

// The compiled text is the text of the digest, even if the files change meanwhile.
func TestSnapshotIsACopy(t *testing.T) {
	files := fstest.MapFS{"main": {Data: []byte("before")}}
	s, _, err := Script{Language: fakeLanguage, Entry: "main", Files: files}.snapshot(100)
	if err != nil {
		t.Fatal(err)
	}
	copy(files["main"].Data, "AFTER!")
	if text, _ := fs.ReadFile(s.Files, "main"); string(text) != "before" {
		t.Errorf("got %q", text)
	}
}

func TestNesting(t *testing.T) {
	deep := strings.Repeat("[", maxNesting+1)
	tests := []struct {
		name, language, text string
		line                 int
	}{
		{"just so", Starlark, strings.Repeat("[", maxNesting), 0},
		{"deep", Starlark, "x = 1\n" + deep, 2},
		{"deep, closed", Starlark, deep + strings.Repeat("]", len(deep)), 1},
		{"over lines", JavaScript, strings.Repeat("f(\n", maxNesting+1), maxNesting + 1},
		{"in a string", JavaScript, "x = '" + deep + "'", 1},
		{"wide", JavaScript, strings.Repeat("[]", 100_000), 0},
		{"smileys in strings", Starlark, strings.Repeat("x = ':('\n", 10_000), 0},
		{"smileys in comments", Jsonnet, strings.Repeat("x // :(\n# :(\n", 10_000), 0},
		{"half a pair per string", JavaScript, strings.Repeat("s.split('(', \"[\", `{`);\n", 10_000), 0},
		{"escaped quotes", JavaScript, strings.Repeat(`x = "\"(" + '\'[';`+"\n", 10_000), 0},
		{"apostrophes", Starlark, strings.Repeat("\"\"\"\ndon't (you)\n\"\"\"\n", 10_000), 0},
		{"a comment's begin elsewhere", JavaScript, strings.Repeat("x # (\n", maxNesting+1), maxNesting + 1},
		{"quotes without end", JavaScript, strings.Repeat(`"\`, 200_000), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := deepLine(test.text, lineComments[test.language]); got != test.line {
				t.Errorf("got line %d, want %d", got, test.line)
			}
		})
	}
	_, err := newFakeEngine(fake{}).Compile(t.Context(), fakeScript("\n"+deep), Limits{})
	if e := wantKind(t, err, KindSource); e.Pos != (Pos{File: "main", Line: 2}) || e.Source != deep {
		t.Errorf("got %+v", e.Pos)
	}
}

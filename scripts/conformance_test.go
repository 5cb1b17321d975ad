package scripts

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"metascript/engine"
	"metascript/runtimes"
)

// opened has files, and records which of them are opened. Checking whether a file exists does not count.
type opened struct {
	fstest.MapFS
	names map[string]bool
}

func (o opened) Open(name string) (fs.File, error) {
	o.names[name] = true
	return o.MapFS.Open(name)
}

func (o opened) ReadFile(name string) ([]byte, error) {
	o.names[name] = true
	return o.MapFS.ReadFile(name)
}

// Each file that a script of the conformance suite opens, while it is compiled or called, is among those that Assemble finds for it.
func TestLoadedFilesAreAssembled(t *testing.T) {
	cases, err := filepath.Glob("../engine/enginetest/testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases, %v", err)
	}
	loaded := map[string]int{}
	for _, file := range cases {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := fstest.MapFS{}
		for _, f := range archive.Files {
			all[f.Name] = &fstest.MapFile{Data: f.Data}
		}
		for name := range all {
			language := endings[path.Ext(name)]
			if strings.TrimSuffix(path.Base(name), path.Ext(name)) != "sync" || strings.HasPrefix(filepath.Base(file), "limit") {
				continue
			}
			files := opened{all, map[string]bool{}}
			run(t, engine.Script{Language: language, Entry: name, Files: files})
			reached := reach(t, language, name, all)
			for other := range files.names {
				if info, err := all.Stat(other); err != nil || info.IsDir() {
					continue
				}
				if loaded[language]++; !slices.Contains(reached, other) {
					t.Errorf("%s: %s opens %s, and reaches only %s", file, name, other, reached)
				}
			}
		}
	}
	for language, n := range loaded {
		if n < 50 {
			t.Errorf("%s: only %d files were opened", language, n)
		}
	}
}

// run compiles and calls a script, and ignores errors.
func run(t *testing.T, s engine.Script) {
	t.Helper()
	ctx := context.Background()
	program, err := runtimes.All()[s.Language].Compile(ctx, s, engine.Limits{})
	if err != nil {
		return
	}
	_, _ = program.Call(ctx, "sync", map[string]any{}, engine.Env{})
}

// reach returns the files that Assemble finds for an entry.
func reach(t *testing.T, language, entry string, all fstest.MapFS) []string {
	t.Helper()
	data := map[string]string{}
	for name, file := range all {
		data[name] = string(file.Data)
	}
	c := newClosure(texts{data: data}, language, 1<<30)
	c.queue(entry, true)
	err := c.run()
	if err == nil && c.everything {
		err = c.all(true)
	}
	if err != nil {
		t.Error(err)
	}
	return slices.Collect(maps.Keys(c.texts))
}

package scripts

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
	"metascript/scripts/mounttest"
)

// put writes files below dir.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func mount(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	if err := mounttest.Write(dir, files); err != nil {
		t.Fatal(err)
	}
}

func in(dirs ...string) Sources {
	return Sources{Folders: NewFolders(dirs, slog.New(slog.DiscardHandler))}
}

// configMaps simulates a cluster with these ConfigMaps, by namespace/name.
func configMaps(all map[string]*ConfigMap) Sources {
	return Sources{ConfigMaps: func(namespace, name string) (*ConfigMap, error) {
		if c, ok := all[namespace+"/"+name]; ok {
			return c, nil
		}
		return nil, errors.New("it is not there")
	}}
}

// contents returns the texts of the files of a script, by name.
func contents(t testing.TB, s engine.Script) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name, file := range s.Files.(fstest.MapFS) {
		files[name] = string(file.Data)
	}
	return files
}

func names(t testing.TB, s engine.Script) string {
	t.Helper()
	list := engine.ListFiles(s.Files)
	return strings.ReplaceAll(list, ", ", " ")
}

// refused checks that err is an Error with that reason, whose text contains each of want.
func refused(t testing.TB, err error, reason Reason, want ...string) {
	t.Helper()
	e, ok := asError(err)
	if !ok || e.Reason != reason {
		t.Fatalf("got %v, want %s", err, reason)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %q, which does not contain %q", err, w)
		}
	}
}

func TestAssembleReadsTheFilesThatTheEntryMayLoad(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"catset/sync.star":       `load("lib/a.star", "a"); load('catset/b.star', "b")`,
		"catset/b.star":          `load("shared/x.star", "x")`,
		"catset/lib/a.star":      `load("c.star", "c")`,
		"catset/lib/c.star":      "",
		"catset/c.star":          "not this one",
		"catset/unused.star":     "\xff",
		"other/b.star":           "",
		"common/x.star":          `load("y.star", "y")`,
		"common/y.star":          "",
		"common/unused.star":     "",
		"js/sync.js":             "const lib = require('./lib'); require(`data`)",
		"js/lib.js":              "",
		"js/data.json":           `{"name": "unused.js"}`,
		"js/unused.js":           "",
		"js/dynamic.js":          "require('./' + name)",
		"js/alias.js":            "const r = require; r(name)",
		"jsonnet/sync.jsonnet":   `(import "a.libsonnet") + { t: importstr 't.txt', b: importbin @"b.bin" }`,
		"jsonnet/a.libsonnet":    "{}",
		"jsonnet/t.txt":          "",
		"jsonnet/b.bin":          "b",
		"jsonnet/odd.jsonnet":    `import "\u0061.libsonnet"`,
		"jsonnet/unused.jsonnet": "",
	})
	common := []Library{{Name: "shared", File: "common"}}
	for _, c := range []struct {
		file       string
		everything bool
		want       string
	}{
		{"catset/sync.star", false, "catset/b.star catset/lib/a.star catset/lib/c.star catset/sync.star shared/x.star shared/y.star"},
		{"js/sync.js", false, "js/data.json js/lib.js js/sync.js"},
		{"js/dynamic.js", false, "js/alias.js js/data.json js/dynamic.js js/lib.js js/sync.js js/unused.js shared/unused.star shared/x.star shared/y.star"},
		{"js/alias.js", false, "js/alias.js js/data.json js/dynamic.js js/lib.js js/sync.js js/unused.js shared/unused.star shared/x.star shared/y.star"},
		{"jsonnet/sync.jsonnet", false, "jsonnet/a.libsonnet jsonnet/b.bin jsonnet/sync.jsonnet jsonnet/t.txt"},
		{"jsonnet/odd.jsonnet", false, "jsonnet/a.libsonnet jsonnet/b.bin jsonnet/odd.jsonnet jsonnet/sync.jsonnet jsonnet/t.txt jsonnet/unused.jsonnet shared/unused.star shared/x.star shared/y.star"},
		{"other/b.star", true, "other/b.star shared/unused.star shared/x.star shared/y.star"},
	} {
		put(t, dir, map[string]string{"other/b.star": "b = 1"})
		made, err := in(filepath.Join(dir, "none"), dir).Assemble(Wanted{File: c.file, Libraries: common}, c.everything)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if diff := cmp.Diff(c.want, names(t, made.Script)); diff != "" {
			t.Errorf("%s: %s", c.file, diff)
		}
		if made.Entry != c.file || made.Source != "file "+c.file || made.Language != endings[path.Ext(c.file)] {
			t.Errorf("%s: got entry %q of %q in %q", c.file, made.Entry, made.Source, made.Language)
		}
	}
}

func TestAssembleConfigMap(t *testing.T) {
	all := configMaps(map[string]*ConfigMap{
		"default/catset": {Data: map[string]string{
			"sync.star":   `load("lib.star", "a"); load("shared/x.star", "x"); load("one.star", "one")`,
			"lib.star":    "a = 1",
			"other.star":  "",
			"empty.star":  "\n",
			"Lib.star":    "",
			"broken.star": `load("logo.star", "x")`,
			"gone.star":   `load("gone/x.star", "x")`,
		}, Binary: []string{"logo.star"}},
		"team/shared": {Data: map[string]string{"x.star": "x = 1", "one": "one = 1"}},
	})
	wanted := func(key string) Wanted {
		return Wanted{ConfigMap: Key{"default", "catset", key}, Libraries: []Library{
			{ConfigMap: Key{"team", "shared", ""}}, {Name: "one.star", ConfigMap: Key{"team", "shared", "one"}}, {ConfigMap: Key{"team", "gone", ""}},
		}}
	}
	made, err := all.Assemble(wanted("sync.star"), false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("lib.star one.star shared/x.star sync.star", names(t, made.Script)); diff != "" {
		t.Error(diff)
	}
	if made.Source != "configMap default/catset/sync.star" {
		t.Errorf("got source %q", made.Source)
	}
	want := []string{"library gone: ConfigMap team/gone: it is not there", "Lib.star and lib.star differ only in case: rename one"}
	if diff := cmp.Diff(want, made.Warnings); diff != "" {
		t.Error(diff)
	}
	_, err = all.Assemble(wanted("snyc.star"), false)
	refused(t, err, NotFound, "ConfigMap default/catset: it has no key snyc.star (did you mean sync.star?)")
	_, err = all.Assemble(wanted("empty.star"), false)
	refused(t, err, Invalid, "ConfigMap default/catset: key empty.star: is empty")
	_, err = all.Assemble(wanted("logo.star"), false)
	refused(t, err, Invalid, "ConfigMap default/catset: key logo.star: is not UTF-8, since it is in binaryData")
	_, err = all.Assemble(wanted("broken.star"), false)
	refused(t, err, Invalid, "key logo.star: is not UTF-8")
	_, err = all.Assemble(wanted("gone.star"), false)
	refused(t, err, NotFound, "library gone: ConfigMap team/gone: it is not there")
	_, err = all.Assemble(Wanted{ConfigMap: Key{"default", "none", "sync.star"}}, false)
	refused(t, err, NotFound, "ConfigMap default/none: it is not there")
}

func TestDigestOfInlineScripts(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"shared/x.star": "x = 1", "shared/y.star": ""})
	s, err := script(engine.Starlark, "def sync(): pass", map[string]string{"lib/labels.star": "x = 1", "empty.star": ""})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Digest(engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	plain := engine.Script{Language: engine.Starlark, Entry: "sync.star", Files: fstest.MapFS{
		"sync.star": {Data: []byte("def sync(): pass")}, "lib/labels.star": {Data: []byte("x = 1")}, "empty.star": {},
	}}
	if want, err := plain.Digest(engine.Limits{}); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	made, err := in(dir).Assemble(Wanted{Language: engine.Starlark, Inline: `load("shared/x.star", "x")`, Libraries: []Library{{File: "shared"}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"sync.star": `load("shared/x.star", "x")`, "shared/x.star": "x = 1"}
	if diff := cmp.Diff(want, contents(t, made.Script)); diff != "" {
		t.Error(diff)
	}
}

func TestAssembleReadsMounts(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"sync.star": `load("lib/a.star", "a")`, "lib/a.star": "a = 1", "old.star": ""}
	mount(t, filepath.Join(dir, "catset"), files)
	for _, lib := range []string{"a = 1", "a = 2"} {
		files["lib/a.star"] = lib
		mount(t, filepath.Join(dir, "catset"), files)
		made, err := in(dir).Assemble(Wanted{File: "catset/sync.star"}, false)
		if err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(files)
		delete(want, "old.star")
		got := contents(t, made.Script)
		if diff := cmp.Diff(map[string]string{"catset/sync.star": files["sync.star"], "catset/lib/a.star": lib}, got); diff != "" {
			t.Error(diff)
		}
	}
	made, err := in(dir).Assemble(Wanted{File: "catset/sync.star"}, true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("catset/lib/a.star catset/old.star catset/sync.star", names(t, made.Script)); diff != "" {
		t.Error(diff)
	}
}

// Scripts that are read together use the same version of each ConfigMap and of each file.
func TestAssembleAllReadsEachConfigMapOnce(t *testing.T) {
	reads := 0
	from := Sources{ConfigMaps: func(string, string) (*ConfigMap, error) {
		reads++
		return &ConfigMap{Data: map[string]string{"a.star": "load('lib/b.star', 'b')", "b.star": fmt.Sprint("b = ", reads)}}, nil
	}}
	lib := []Library{{Name: "lib", ConfigMap: Key{"default", "all", ""}}}
	made, failed := from.AssembleAll(map[string]Wanted{
		"a": {ConfigMap: Key{"default", "all", "a.star"}, Libraries: lib},
		"b": {ConfigMap: Key{"default", "all", "b.star"}},
		"c": {ConfigMap: Key{"default", "all", "c.star"}},
	}, false)
	if reads != 1 || len(made) != 2 || len(failed) != 1 {
		t.Errorf("read %d times, made %v, failed %v", reads, made, failed)
	}
	refused(t, failed["c"], NotFound, "it has no key c.star")
	if diff := cmp.Diff(map[string]string{"a.star": "load('lib/b.star', 'b')", "lib/b.star": "b = 1"}, contents(t, made["a"].Script)); diff != "" {
		t.Error(diff)
	}
}

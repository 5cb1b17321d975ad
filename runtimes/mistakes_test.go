package runtimes_test

import (
	"errors"
	"flag"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"metascript/engine"
	"metascript/runtimes"
)

var update = flag.Bool("update", false, "write the messages in testdata/mistakes")

// TestMistakes checks the whole message for common mistakes: of people who write Python or another language, and of people who set
// the wrong language. Each archive in testdata/mistakes is a table: after each script is the message that its author sees. A directory
// with the name of a script has its other files.
func TestMistakes(t *testing.T) {
	languages := map[string]string{
		".star": engine.Starlark, ".js": engine.JavaScript, ".ts": engine.TypeScript, ".jsonnet": engine.Jsonnet,
	}
	scripts := engine.New(engine.Options{Runtimes: runtimes.All()})
	for _, language := range []string{"starlark", "javascript", "jsonnet"} {
		t.Run(language, func(t *testing.T) {
			name := filepath.Join("testdata", "mistakes", language+".txtar")
			table, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: table.Comment}
			for _, script := range table.Files {
				ending := path.Ext(script.Name)
				if strings.Contains(script.Name, "/") {
					got.Files = append(got.Files, script)
				}
				if strings.Contains(script.Name, "/") || languages[ending] == "" {
					continue
				}
				files := fstest.MapFS{script.Name: {Data: script.Data}}
				stem := strings.TrimSuffix(script.Name, ending)
				for _, other := range table.Files {
					if name, ok := strings.CutPrefix(other.Name, stem+"/"); ok {
						files[name] = &fstest.MapFile{Data: other.Data}
					}
				}
				message := messageOf(t, scripts, engine.Script{Language: languages[ending], Entry: script.Name, Files: files})
				got.Files = append(got.Files, script, txtar.File{Name: stem, Data: []byte(message + "\n")})
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(table)), string(txtar.Format(got))); diff != "" {
				t.Errorf("%s: want -, got +; go test -update writes the file:\n%s", name, diff)
			}
		})
	}
}

// messageOf returns the message of a script that does not compile, or whose call fails.
func messageOf(t *testing.T, scripts *engine.Engine, s engine.Script) string {
	t.Helper()
	program, err := scripts.Compile(t.Context(), s, engine.Limits{})
	if err == nil {
		_, err = program.Call(t.Context(), "sync", map[string]any{
			"parent":   map[string]any{"metadata": map[string]any{"name": "p"}, "spec": map[string]any{"replicas": int64(2)}},
			"children": map[string]any{"Pod.v1": map[string]any{}},
		}, engine.Env{})
	}
	var fault *engine.Error
	if !errors.As(err, &fault) {
		t.Errorf("%s: got %v, want an error of the script", s.Entry, err)
		return ""
	}
	return fault.Detail()
}

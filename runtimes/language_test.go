package runtimes_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// TestScriptsLookLikeTheirLanguage checks that an error in a script is never explained by a wrong language, for all scripts of the
// examples and of the tests with hostile scripts; and that the examples are recognized if the language is another one.
func TestScriptsLookLikeTheirLanguage(t *testing.T) {
	files := map[string]string{".star": engine.Starlark, ".js": engine.JavaScript, ".ts": engine.TypeScript, ".jsonnet": engine.Jsonnet}
	found := map[string]int{}
	check := func(name, language, text string) {
		found[language]++
		e := &engine.Error{Pos: engine.Pos{File: name}}
		if host.WrongLanguage(e, text, language) {
			t.Errorf("%s: %s", name, e)
		}
		for _, other := range files {
			if strings.Contains(name, "examples") && other != language && !(language == engine.JavaScript && other == engine.TypeScript) && !host.WrongLanguage(e, text, other) {
				t.Errorf("%s does not look like %s, but could be %s", name, language, other)
			}
		}
	}
	for _, root := range []string{"../examples", "../test/hostile"} {
		err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Base(filepath.Dir(name)) == "trial" {
				return err
			}
			if language := files[filepath.Ext(name)]; language != "" {
				text, err := os.ReadFile(name)
				check(name, language, string(text))
				return err
			}
			if filepath.Base(name) != "controller.yaml" {
				return nil
			}
			text, err := os.ReadFile(name)
			for _, document := range strings.Split(string(text), "\n---\n") {
				var object struct {
					Spec struct {
						Script struct{ Language, Inline string }
					}
				}
				if yaml.Unmarshal([]byte(document), &object) == nil && object.Spec.Script.Inline != "" {
					check(name, object.Spec.Script.Language, object.Spec.Script.Inline)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, language := range files {
		if found[language] < 5 {
			t.Errorf("found %d scripts in %s", found[language], language)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"metascript/controller/api/v1alpha1"
)

const root = "../.."

// example names a file of an example.
func example(name, file string) string { return filepath.Join(root, "examples", name, file) }

// exampleNames lists the examples.
func exampleNames(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if len(names) == 0 {
		t.Fatal("there are no examples")
	}
	return names
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The script beside a controller is the one inside it: who edits one sees what runs.
func TestTheScriptOfAnExampleIsTheOneInItsController(t *testing.T) {
	for _, name := range exampleNames(t) {
		t.Run(name, func(t *testing.T) {
			var cc v1alpha1.CompositeController
			if err := yaml.UnmarshalStrict([]byte(readText(t, example(name, "controller.yaml"))), &cc); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(example(name, "sync.*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("its scripts are %v, %v, want one", files, err)
			}
			if diff := cmp.Diff(readText(t, files[0]), cc.Spec.Script.Inline); diff != "" {
				t.Errorf("%s and the text in controller.yaml (-file +inline):\n%s", filepath.Base(files[0]), diff)
			}
			if got, want := v1alpha1.LanguageOf(files[0]), cc.Spec.Script.Language; got != want {
				t.Errorf("the file is %s, and the controller says %s", got, want)
			}
		})
	}
}

func TestTheControllerInTheREADMEIsTheExample(t *testing.T) {
	_, rest, _ := strings.Cut(readText(t, filepath.Join(root, "README.md")), "```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("README.md has no block of YAML")
	}
	want := parseYAML(t, readText(t, example("immortalcontainer", "controller.yaml")))
	if diff := cmp.Diff(want, parseYAML(t, text)); diff != "" {
		t.Errorf("README.md and examples/immortalcontainer/controller.yaml (-example +README):\n%s", diff)
	}
}

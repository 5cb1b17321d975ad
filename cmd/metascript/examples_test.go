package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/controller/build"
	"metascript/scripts"
)

const root = "../.."

// example returns the path of a file of an example.
func example(name, file string) string { return filepath.Join(root, "examples", name, file) }

// exampleNames returns the names of the examples.
func exampleNames(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
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

// The script in the folder of an example is equal to the script in the controller object. Its file is called sync, or has the name of
// its controller if there are several; modules have the names with which they are loaded.
func TestScriptFilesOfExamplesEqualTheInlineScripts(t *testing.T) {
	for _, name := range exampleNames(t) {
		t.Run(name, func(t *testing.T) {
			docs, err := manifest.Read([]string{example(name, "controller.yaml")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			found := manifest.Controllers(docs)
			inside := map[string]string{}
			for _, doc := range found {
				stem := "sync"
				if len(found) > 1 {
					stem = doc.GetName()
				}
				scriptFiles(t, doc, stem, inside)
			}
			for _, doc := range docs {
				if doc.GetKind() == "ConfigMap" {
					maps.Copy(inside, build.ConfigMapContent(doc.Object).Data)
				}
			}
			if diff := cmp.Diff(scriptsBeside(t, name), inside); diff != "" {
				t.Errorf("the files differ from the texts in controller.yaml (-files +inline):\n%s", diff)
			}
		})
	}
}

// scriptFiles adds the texts of a controller's script to files, by the names of their files.
func scriptFiles(t *testing.T, doc manifest.Document, stem string, inside map[string]string) {
	t.Helper()
	spec, _ := doc.Object.Map()["spec"].(map[string]any)
	script, _ := spec["script"].(map[string]any)
	if script["inline"] == nil {
		return // it is in a ConfigMap
	}
	language, _ := script["language"].(string)
	extension := map[string]string{"Starlark": ".star", "JavaScript": ".js", "TypeScript": ".ts", "Jsonnet": ".jsonnet"}[language]
	inside[stem+extension], _ = script["inline"].(string)
	modules, _ := script["modules"].(map[string]any)
	for file, text := range modules {
		if other, known := inside[file]; known && other != text {
			t.Errorf("%s is not the same in every controller (-one +%s):\n%s", file, doc.GetName(), cmp.Diff(other, text))
		}
		inside[file], _ = text.(string)
	}
}

// scriptsBeside returns the texts of the scripts in the example's folder, by file name.
func scriptsBeside(t *testing.T, name string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(example(name, "*"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range files {
		if scripts.LanguageOf(file) != "" {
			texts[filepath.Base(file)] = readText(t, file)
		}
	}
	return texts
}

func TestREADMEHasTheControllerOfTheExample(t *testing.T) {
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

// The answers are those that the cases expect, also with worker processes.
func TestCasesOfTheExamples(t *testing.T) {
	for _, isolation := range []string{"InProcess", "Process"} {
		t.Run(isolation, func(t *testing.T) {
			metascript(t, "test", filepath.Join(root, "examples"), "--isolation="+isolation).expect(t, 0, []string{" cases: all as expected\n"}, nil)
		})
	}
}

// Each example has all files that an example must have.
func TestExamplesAreComplete(t *testing.T) {
	index := readText(t, filepath.Join(root, "examples", "README.md"))
	for _, name := range exampleNames(t) {
		for _, file := range []string{"README.md", "controller.yaml", "parent.yaml", "cases", filepath.Join(root, "test", "e2e", "testdata", "example-"+name+".txtar")} {
			path := example(name, file)
			if strings.HasSuffix(file, ".txtar") {
				path = file
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
		if !strings.Contains(index, "]("+name+")") {
			t.Errorf("examples/README.md has no link to %s", name)
		}
	}
}

func TestCheckOfTheExamples(t *testing.T) {
	for _, name := range exampleNames(t) {
		files := []string{"check"}
		for _, file := range []string{"controller.yaml", "crd.yaml", "parent.yaml"} {
			if _, err := os.Stat(example(name, file)); err == nil {
				files = append(files, "-f", example(name, file))
			}
		}
		got := metascript(t, files...)
		got.expect(t, 0, []string{"controller.yaml: ", ": ok, hooks: ", "parent.yaml: "}, nil)
		if strings.Contains(got.stdout, "warning") {
			t.Errorf("%s: there is a warning:\n%s", name, got.stdout)
		}
	}
}

// The two controllers of the example catset differ only in their hooks: one has a script, the other a webhook.
func TestWebhookControllerOfCatSetDiffersOnlyInItsHooks(t *testing.T) {
	spec := func(file string) map[string]any {
		spec := parseYAML(t, readText(t, example("catset", file)))["spec"].(map[string]any)
		delete(spec, "script")
		delete(spec, "hooks")
		return spec
	}
	if diff := cmp.Diff(spec("controller.yaml"), spec(filepath.Join("webhook", "controller.yaml"))); diff != "" {
		t.Errorf("controller.yaml and webhook/controller.yaml (-script +webhook):\n%s", diff)
	}
}

// The steps of the examples have the expected results with both strategies, and the output is the same each time.
func TestSimulationsOfTheExamples(t *testing.T) {
	first := metascript(t, "simulate", filepath.Join(root, "examples"))
	first.expect(t, 0, []string{" expectations: all are met\n"}, nil)
	if diff := cmp.Diff(first.stdout, metascript(t, "simulate", filepath.Join(root, "examples")).stdout); diff != "" {
		t.Errorf("the output is another one the second time (-first +second):\n%s", diff)
	}
	metascript(t, "simulate", "--apply-strategy=server-side-apply", filepath.Join(root, "examples")).expect(t, 0, []string{" expectations: all are met\n"}, nil)
}

// Without steps, the objects in the folder of an example are applied.
func TestSimulationOfEachExample(t *testing.T) {
	for _, name := range exampleNames(t) {
		metascript(t, "simulate", example(name, "")).expect(t, 0, []string{"step 1: apply ", ": runs\n"}, nil)
	}
}

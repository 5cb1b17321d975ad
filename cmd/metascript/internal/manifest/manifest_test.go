package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const controllers = `
{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: c}, spec: {}}
---
{apiVersion: metacontroller.k8s.io/v1alpha1, kind: DecoratorController, metadata: {name: d}, spec: {isolation: Process}}
---
{apiVersion: metacontroller.k8s.io/v1alpha1, kind: ControllerRevision, metadata: {name: r}}
---
{apiVersion: example.com/v1, kind: CompositeController, metadata: {name: other}, spec: {isolation: Process}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: parts.example.com}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: scripts}, data: {sync.star: text}}
`

func parse(t *testing.T, text string) []Document {
	t.Helper()
	docs, err := Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// names returns the kinds and names of documents, with their files.
func names(docs []Document) []string {
	all := []string{}
	for _, doc := range docs {
		all = append(all, doc.File+": "+doc.GetKind()+" "+doc.GetName())
	}
	return all
}

func TestReadFilesFoldersAndStandardInput(t *testing.T) {
	dir := t.TempDir()
	object := func(name string) string { return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}}" }
	for name, text := range map[string]string{"b.yml": object("b"), "a.yaml": object("a") + "\n---\n# nothing\n", "notes.txt": "no object", "simulate.yaml": "- apply: a.yaml", "kustomization.yaml": "resources: [a.yaml]",
		"component.yaml": "{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component}", "types.schema.json": "{}", "tsconfig.json": "{}",
		"c.json": `{"apiVersion": "v1", "kind": "List", "items": [` + object("c") + `, ` + object("d") + `]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	docs, err := Read([]string{"-", ".", "[ks]*.yaml"}, strings.NewReader(object("i")))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-: Pod i", "a.yaml: Pod a", "b.yml: Pod b", "c.json: Pod c", "c.json: Pod d"}
	if diff := cmp.Diff(want, names(docs)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if _, err := Read([]string{"nosuch.yaml"}, nil); err == nil || err.Error() != "there is no file nosuch.yaml" {
		t.Errorf("a file that does not exist: error %v", err)
	}
}

func TestHintNested(t *testing.T) {
	dir := t.TempDir()
	if hint := HintNested([]string{dir, "-", "nosuch"}); hint != "" {
		t.Errorf("there is a hint although there are no subfolders: %s", hint)
	}
	if err := os.Mkdir(filepath.Join(dir, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if hint := HintNested([]string{"-", dir}); !strings.Contains(hint, "the directories in "+dir+" are not read") {
		t.Errorf("the hint is %q", hint)
	}
}

func TestControllersAreThoseOfTheGroup(t *testing.T) {
	docs := parse(t, controllers)
	want := []string{"a.yaml: CompositeController c", "a.yaml: DecoratorController d"}
	if diff := cmp.Diff(want, names(Controllers(docs))); diff != "" {
		t.Errorf("controllers (-want +got):\n%s", diff)
	}
	for n, want := range map[int]bool{1: false, 2: true} {
		if got := NeedWorkers(docs[:n]); got != want {
			t.Errorf("the first %d need workers: %t", n, got)
		}
	}
	if NeedWorkers(docs[2:]) {
		t.Error("documents without a controller need workers")
	}
}

func TestTypeScriptNeedsWorkers(t *testing.T) {
	for spec, want := range map[string]bool{
		`{script: {language: TypeScript, inline: x}}`:                                true,
		`{script: {language: JavaScript, inline: x}}`:                                false,
		`{script: {file: a/sync.ts}}`:                                                true,
		`{script: {file: a/sync.d.ts}}`:                                              false,
		`{script: {language: JavaScript, file: a/sync.ts}}`:                          false,
		`{script: {configMapRef: {name: a, key: sync.ts}}}`:                          true,
		`{hooks: {finalize: {script: {file: sync.ts}}}}`:                             true,
		`{script: {file: sync.js}, hooks: {sync: {script: {language: TypeScript}}}}`: true,
		`{hooks: {sync: {webhook: {url: "http://x/sync.ts"}}}}`:                      false,
	} {
		docs := parse(t, `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: c}, spec: `+spec+`}`)
		if got := NeedWorkers(docs); got != want {
			t.Errorf("%s: needs workers: %t", spec, got)
		}
	}
}

func TestCRDsAreDecoded(t *testing.T) {
	found, err := CRDs(parse(t, controllers))
	if err != nil || len(found) != 1 || found[0].Name != "parts.example.com" {
		t.Errorf("got %v, error %v", found, err)
	}
	_, err = CRDs(parse(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: 1}}"))
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:1:106: CustomResourceDefinition x: spec.group: want a string, got 1\n") {
		t.Errorf("a definition with a wrong type: error %v", err)
	}
}

// A ConfigMap without a namespace is in the namespace default, like one that kubectl creates.
func TestScriptsAreFoundInConfigMapsAmongTheFiles(t *testing.T) {
	sources := ScriptSources(nil, parse(t, controllers))
	found, err := sources.ConfigMaps("default", "scripts")
	if err != nil || found.Data["sync.star"] != "text" {
		t.Errorf("got %v, error %v", found, err)
	}
	for _, c := range [][]string{{"other", "scripts"}, {"default", "nosuch"}, {"default", "c"}} {
		if _, err := sources.ConfigMaps(c[0], c[1]); err == nil || !strings.Contains(err.Error(), "not in the files") {
			t.Errorf("%s: error %v", c, err)
		}
	}
}

// The folder of a controller has its script in a file. Other folders are not searched: they may be large, and dev watches those that
// are.
func TestScriptFolders(t *testing.T) {
	var docs []Document
	for file, spec := range map[string]string{
		"web/a.yaml": `{script: {file: sync.star}}`, "web/b.yaml": `{hooks: {sync: {script: {file: sync.js}}}}`,
		"lib/a.yaml": `{script: {inline: "", libraries: [{file: lib.star}]}}`, "inline/a.yaml": `{script: {inline: "file"}}`, "-": `{script: {file: sync.star}}`,
	} {
		found, err := Parse(file, []byte("{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: c}, spec: "+spec+"}"))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, found...)
	}
	slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(a.File, b.File) })
	if diff := cmp.Diff([]string{"flag", "lib", "web"}, ScriptFolders([]string{"flag"}, docs)); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"web", "lib"}, ScriptFolders([]string{"web"}, docs)); diff != "" {
		t.Errorf("folders, one of them in the flag (-want +got):\n%s", diff)
	}
}

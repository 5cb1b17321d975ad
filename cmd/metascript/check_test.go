package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sound is a valid controller, in JSON, which is also YAML.
func sound(name string) string {
	return strings.ReplaceAll(`{"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "metadata": {"name": "NAME"},
	"spec": {"parentResource": {"apiVersion": "example.com/v1", "resource": "widgets"},
		"hooks": {"sync": {"webhook": {"url": "http://x/"}}}}}
`, "NAME", name)
}

// A definition beside the controller is checked too, if it is not valid.
func TestCheckOfADefinitionBesideTheController(t *testing.T) {
	inFolder(t, strings.Replace(aSite, "storage: true", "storage: false", 1)+"steps: [{apply: parent.yaml}]\n")
	metascript(t, "check", "-f", "controller.yaml").expect(t, 1, []string{
		"crd.yaml:8:3: CustomResourceDefinition sites.example.com: spec.versions: must have exactly one version marked as storage version\n",
		"controller.yaml: CompositeController sites: ok, hooks: sync\n",
	}, []string{"error: not all objects are valid"})
	for _, args := range [][]string{{"run", "-f", "controller.yaml", "--parent", "parent.yaml"}, {"simulate", "."}} {
		metascript(t, args...).expect(t, 1, nil, []string{"must have exactly one version marked as storage version"})
	}
}

func TestCheck(t *testing.T) {
	const list = "apiVersion: v1\nkind: List\nitems:\n"
	head := func(spec string) string {
		return "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: c}\nspec:\n" +
			"  parentResource: {apiVersion: example.com/v1, resource: widgets}\n" + spec
	}
	const webhook = "  hooks: {sync: {webhook: {url: 'http://x/'}}}\n"
	for _, c := range []struct {
		name, text string
		code       int
		want       []string // on stdout
		fails      []string // on stderr
	}{
		{"a sound one", head(webhook), 0, []string{"a.yaml: CompositeController c: ok, hooks: sync\n"}, nil},
		{"JSON", sound("c"), 0, []string{"a.yaml: CompositeController c: ok, hooks: sync\n"}, nil},
		{"several documents", "---\n# nothing\n---\n" + sound("c") + "---\n" + sound("d") + "---\n", 0,
			[]string{"CompositeController c: ok", "CompositeController d: ok"}, nil},
		{"a list", list + "- " + sound("c") + "- " + sound("d"), 0, []string{"a.yaml: CompositeController c: ok", "a.yaml: CompositeController d: ok"}, nil},
		{"one that breaks a rule", head(webhook + "  maxConcurrentSyncs: 0\n"), 1,
			[]string{"a.yaml:7:23: CompositeController c: spec.maxConcurrentSyncs: "}, []string{"error: "}},
		{"a field that is not known", head(webhook + "  resyncPeriodSecond: 1\n"), 1,
			[]string{`a.yaml:7:3: CompositeController c: spec.resyncPeriodSecond: `, `did you mean "resyncPeriodSeconds"?`}, []string{"error: "}},
		{"a script that does not compile", head("  script: {language: JavaScript, inline: \"function sync({parent}) {\\n  return {children: [};\\n}\"}\n"), 1,
			[]string{"a.yaml:6:34: CompositeController c: sync.js:2:21: ", "\n      return {children: [};\n", " ^\n"}, []string{"error: "}},
		{"a file that is not there", head("  script: {file: sync.star}\n"), 1, []string{"a.yaml:6:3: CompositeController c: spec.script: file sync.star: it is not in . (there is "}, []string{"error: "}},
		{"a selector that is none", strings.Replace(head(webhook), "resource: widgets", "resource: widgets, labelSelector: {matchExpressions: [{key: a, operator: Near}]}", 1), 1,
			[]string{"a.yaml:5:121: CompositeController c: parentResource.labelSelector.matchExpressions[0]: "}, []string{"error: "}},
		{"limits above the server's maximums", head("  script: {language: Starlark, limits: {memory: 1Gi}, inline: \"def sync(): return {}\"}\n"), 0,
			[]string{"a.yaml:6:49: CompositeController c: warning: script.limits.memory is 1Gi, above the server's maximum, which is used: --max-script-memory=256Mi", ": ok, hooks: sync\n"}, nil},
		{"warnings", head("  hooks: {sync: {webhook: {url: 'http://x/'}}, finalize: {}}\n"), 0,
			[]string{"a.yaml:6:48: CompositeController c: warning: hooks.finalize is empty", "a.yaml: CompositeController c: ok, hooks: sync\n"}, nil},
		{"one wrong beside one that is sound", sound("c") + "---\n" + strings.Replace(sound("d"), `"widgets"`, "1", 1) + "---\n" + sound("e"), 1,
			[]string{"CompositeController c: ok", "CompositeController d: spec.parentResource.resource: ", "CompositeController e: ok"}, []string{"error: "}},
		{"what has no definition", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: p}}", 0, []string{"a.yaml: Widget p: not checked, its definition is not in the files\n"}, nil},
		{"a kind of Kubernetes", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}], restartPolicy: Allways}}", 1,
			[]string{"a.yaml:1:97: Pod p: spec.restartPolicy: \"Allways\" is not one of Always, Never, OnFailure; did you mean \"Always\"?\n"}, []string{"error: "}},
		{"an empty file", "", 1, nil, []string{"a.yaml"}},
		{"nothing but comments", "# nothing\n---\n# nothing\n", 1, nil, []string{"a.yaml"}},
		{"text", "hello", 1, nil, []string{"a.yaml:1:1: want an object, with apiVersion and kind"}},
		{"garbage in the second document", sound("c") + "---\n{a: [}\n", 1, nil, []string{"a.yaml:5:5: the [ is not closed"}},
		{"a key twice", "apiVersion: v1\nkind: Pod\nkind: Pod\n", 1, nil, []string{`a.yaml:3:1: the key "kind" is there twice, first in line 2`}},
		{"no kind", "apiVersion: v1\nmetadata: {name: x}\n", 1, nil, []string{"a.yaml:1:1: kind is missing"}},
		{"no kind in a list", list + "- metadata: {name: x}\n", 1, nil, []string{"a.yaml:4:3: apiVersion is missing"}},
		{"a list of something else", "apiVersion: v1\nkind: List\nitems: [1]\n", 1, nil, []string{"a.yaml:3:9: items[0]: want an object"}},
		{"bytes", "\x00\x01\xff", 1, nil, []string{"a.yaml:1:1: not valid YAML: "}},
		{"a definition that is none", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {group: 1}\n", 1, []string{"a.yaml:4:15: CustomResourceDefinition x: spec.group: want a string, got 1\n"}, []string{"error: not all objects are valid"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t, "-- a.yaml --\n"+c.text+"\n")
			metascript(t, "check", "-f", "a.yaml").expect(t, c.code, c.want, c.fails)
		})
	}
}

func TestCheckNamesStandardInput(t *testing.T) {
	metascriptReading(t, sound("c"), "check", "-f", "-").expect(t, 0, []string{"-: CompositeController c: ok"}, nil)
	metascriptReading(t, "hello", "check", "-f", "-").expect(t, 1, nil, []string{"-:1:1: want an object"})
}

func TestCheckReadsAFolder(t *testing.T) {
	inFolder(t, "-- a.yaml --\n"+sound("a")+"-- b.yml --\n"+sound("b")+"-- c.json --\n"+sound("c")+"-- notes.txt --\nhello\n")
	metascript(t, "check", "-f", ".").expect(t, 0, []string{"a.yaml: CompositeController a: ok", "b.yml: CompositeController b: ok", "c.json: CompositeController c: ok"}, nil)
	metascript(t, "check", "-f", t.TempDir()).expect(t, 1, nil, []string{"no objects in "})
}

func TestCheckReportsSubfoldersThatItDoesNotRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	metascript(t, "check", "-f", dir).expect(t, 1, nil, []string{"no objects in " + dir, "directories in " + dir + " are not read"})
}

func TestCheckForPrograms(t *testing.T) {
	inFolder(t, "-- a.yaml --\n"+sound("c")+"---\n"+strings.Replace(sound("d"), `"widgets"`, "1", 1)+"---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: p}}\n")
	got := metascript(t, "check", "-f", "a.yaml", "-o", "yaml")
	got.expect(t, 1, []string{"objects:"}, []string{"error: not all objects are valid"})
	results := parseYAML(t, got.stdout)
	objects := results["objects"].([]any)
	var summary []string
	for _, o := range objects {
		o := o.(map[string]any)
		summary = append(summary, strings.Join([]string{o["file"].(string), o["kind"].(string), o["name"].(string), o["result"].(string)}, " "))
	}
	want := []string{"a.yaml CompositeController c valid", "a.yaml CompositeController d invalid", "a.yaml Widget p unchecked"}
	if diff := cmp.Diff(want, summary); diff != "" || results["valid"] != false {
		t.Errorf("the results are %v, the summary (-want +got):\n%s", results, diff)
	}
	if first := objects[0].(map[string]any); !cmp.Equal(first["hooks"], []any{"sync"}) || first["errors"] != nil {
		t.Errorf("the first object: %v", first)
	}
	if errs := objects[1].(map[string]any)["errors"].([]any); len(errs) != 1 || !strings.HasPrefix(errs[0].(string), "spec.parentResource.resource: ") {
		t.Errorf("the errors are %q", errs)
	}
}

// A pattern in quotes is expanded by the program, and one that matches nothing is an error.
func TestCheckExpandsPatterns(t *testing.T) {
	inFolder(t, "-- a.yaml --\n"+sound("a")+"-- b.yaml --\n"+sound("b")+"-- [c].yaml --\n"+sound("c"))
	metascript(t, "check", "-f", "?.yaml").expect(t, 0, []string{"a.yaml: CompositeController a: ok", "b.yaml: CompositeController b: ok"}, nil)
	metascript(t, "check", "-f", "[c].yaml").expect(t, 0, []string{"[c].yaml: CompositeController c: ok"}, nil)
	metascript(t, "check", "-f", "x*.yaml").expect(t, 1, nil, []string{"error: no file matches the pattern x*.yaml"})
	metascript(t, "check", "-f", "[.yaml").expect(t, 1, nil, []string{"error: the pattern [.yaml is not valid: it has a [ without a ]"})
}

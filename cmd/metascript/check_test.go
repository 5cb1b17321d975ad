package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sound is a valid controller, in JSON, which is also YAML.
func sound(name string) string {
	return strings.ReplaceAll(`{"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "metadata": {"name": "NAME"},
	"spec": {"parentResource": {"apiVersion": "example.com/v1", "resource": "widgets"},
		"hooks": {"sync": {"webhook": {"url": "http://x/"}}}}}
`, "NAME", name)
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
			[]string{"a.yaml: CompositeController c: spec.maxConcurrentSyncs: "}, []string{"error: "}},
		{"a field that is not known", head(webhook + "  resyncPeriodSecond: 1\n"), 1,
			[]string{`a.yaml: CompositeController c: spec.resyncPeriodSecond: `, `did you mean "resyncPeriodSeconds"?`}, []string{"error: "}},
		{"a script that does not compile", head("  script: {language: JavaScript, inline: \"function sync({parent}) {\\n  return {children: [};\\n}\"}\n"), 1,
			[]string{"a.yaml: CompositeController c: sync.js:2:", "\n      return {children: [};\n", " ^\n"}, []string{"error: "}},
		{"a file that is not there", head("  script: {file: sync.star}\n"), 1, []string{"a.yaml: CompositeController c: spec.script: file sync.star: there is no scripts directory"}, []string{"error: "}},
		{"a selector that is none", strings.Replace(head(webhook), "resource: widgets", "resource: widgets, labelSelector: {matchExpressions: [{key: a, operator: Near}]}", 1), 1,
			[]string{"a.yaml: CompositeController c: parentResource.labelSelector: "}, []string{"error: "}},
		{"limits above the server's maximums", head("  script: {language: Starlark, limits: {memory: 1Gi}, inline: \"def sync(): return {}\"}\n"), 0,
			[]string{"a.yaml: CompositeController c: warning: script.limits.memory is 1Gi, above the server's maximum, which is used: --max-script-memory=256Mi", ": ok, hooks: sync\n"}, nil},
		{"warnings", head("  hooks: {sync: {webhook: {url: 'http://x/'}}, finalize: {}}\n"), 0,
			[]string{"a.yaml: CompositeController c: warning: hooks.finalize is empty", "a.yaml: CompositeController c: ok, hooks: sync\n"}, nil},
		{"one wrong beside one that is sound", sound("c") + "---\n" + strings.Replace(sound("d"), `"widgets"`, "1", 1) + "---\n" + sound("e"), 1,
			[]string{"CompositeController c: ok", "CompositeController d: spec.parentResource.resource: ", "CompositeController e: ok"}, []string{"error: "}},
		{"what has no definition", "{apiVersion: v1, kind: Pod, metadata: {name: p}}", 0, []string{"a.yaml: Pod p: not checked"}, nil},
		{"an empty file", "", 1, nil, []string{"a.yaml"}},
		{"nothing but comments", "# nothing\n---\n# nothing\n", 1, nil, []string{"a.yaml"}},
		{"text", "hello", 1, nil, []string{"a.yaml, document 1: want an object"}},
		{"garbage in the second document", sound("c") + "---\n{a: [}\n", 1, nil, []string{"a.yaml, document 2: "}},
		{"a key twice", "apiVersion: v1\nkind: Pod\nkind: Pod\n", 1, nil, []string{"a.yaml, document 1: ", `"kind"`}},
		{"no kind", "apiVersion: v1\nmetadata: {name: x}\n", 1, nil, []string{"a.yaml, document 1: apiVersion or kind is missing"}},
		{"no kind in a list", list + "- metadata: {name: x}\n", 1, nil, []string{"a.yaml, document 1: ", "apiVersion or kind is missing"}},
		{"a list of something else", "apiVersion: v1\nkind: List\nitems: [1]\n", 1, nil, []string{"a.yaml, document 1: "}},
		{"bytes", "\x00\x01\xff", 1, nil, []string{"a.yaml, document 1: "}},
		{"a definition that is none", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {group: 1}\n", 1, nil, []string{"a.yaml: CustomResourceDefinition x: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t, "-- a.yaml --\n"+c.text+"\n")
			metascript(t, "check", "-f", "a.yaml").expect(t, c.code, c.want, c.fails)
		})
	}
}

func TestCheckNamesStandardInput(t *testing.T) {
	metascriptReading(t, sound("c"), "check", "-f", "-").expect(t, 0, []string{"-: CompositeController c: ok"}, nil)
	metascriptReading(t, "hello", "check", "-f", "-").expect(t, 1, nil, []string{"-, document 1: want an object"})
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

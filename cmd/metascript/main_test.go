package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"
	"sigs.k8s.io/yaml"
)

func TestMain(m *testing.M) {
	if isWorker(os.Args[1:]) {
		main() // it is a worker process of a test's
	}
	goleak.VerifyTestMain(m)
}

// A result is what came of running the program.
type result struct {
	code           int
	stdout, stderr string
}

func metascript(t *testing.T, args ...string) result {
	t.Helper()
	return metascriptReading(t, "", args...)
}

func metascriptReading(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main{Args: args, Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr}.Run(t.Context())
	return result{code, stdout.String(), stderr.String()}
}

// expect checks the exit code and that each text is in the output, "stdout" first.
func (r result) expect(t *testing.T, code int, stdout, stderr []string) {
	t.Helper()
	if r.code != code {
		t.Errorf("it exits with %d, want %d", r.code, code)
	}
	for name, c := range map[string]struct {
		got  string
		want []string
	}{"stdout": {r.stdout, stdout}, "stderr": {r.stderr, stderr}} {
		for _, want := range c.want {
			if !strings.Contains(c.got, want) {
				t.Errorf("%s has no %q:\n%s", name, want, c.got)
			}
		}
		if len(c.want) == 0 && c.got != "" {
			t.Errorf("want nothing on %s, got:\n%s", name, c.got)
		}
	}
}

// inFolder writes the files of a txtar archive into a new folder, and goes there.
func inFolder(t *testing.T, archive string) {
	t.Helper()
	dir := t.TempDir()
	for _, file := range txtar.Parse([]byte(archive)).Files {
		if err := os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// parseYAML reads one document as data.
func parseYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var data map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &data); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return data
}

func TestVersion(t *testing.T) {
	got := metascript(t, "version")
	if line := regexp.MustCompile(`^metascript \S+ go1\.\S+ \w+/\w+\n$`); got.code != 0 || !line.MatchString(got.stdout) {
		t.Errorf("it exits with %d and prints %q", got.code, got.stdout)
	}
}

func TestHelpNamesEveryVerb(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}} {
		metascript(t, args...).expect(t, 0, []string{"  check ", "  completion ", "  controller ", "  gc ", "  run ", "  test ", "  version ", "--workers"}, nil)
	}
	for _, verb := range []string{"check", "controller", "gc", "run", "test", "version"} {
		metascript(t, "help", verb).expect(t, 0, []string{"metascript " + verb}, nil)
	}
}

func TestWithoutAVerbItIsTheServer(t *testing.T) {
	for _, args := range [][]string{{"controller"}, {}} {
		metascript(t, append(args, "--kubeconfig", "nosuch")...).expect(t, 1, nil, []string{"error: find a cluster: ", "nosuch"})
	}
}

func TestCompletionIsForEveryShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		metascript(t, "completion", shell).expect(t, 0, []string{"metascript"}, nil)
	}
}

func TestAWrongCallExitsWith2(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nosuch"}, `unknown command "nosuch"`},
		{[]string{"--nosuch"}, "unknown flag: --nosuch"},
		{[]string{"run", "--nosuch"}, "unknown flag: --nosuch"},
		{[]string{"controller", "extra"}, `"extra"`},
		{[]string{"version", "extra"}, `"extra"`},
		{[]string{"check"}, `"filename" not set`},
		{[]string{"check", "-f", "a.yaml", "extra"}, `"extra"`},
		{[]string{"run"}, `"filename", "parent" not set`},
		{[]string{"run", "-f", "a.yaml"}, `"parent" not set`},
		{[]string{"test"}, "requires at least 1 arg"},
		{[]string{"--workers", "many"}, `"many"`},
		{[]string{"--isolation", "Container"}, "want InProcess or Process"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			got := metascript(t, c.args...)
			got.expect(t, 2, nil, []string{"error: ", c.want})
			if strings.Count(got.stderr, "error: ") != 1 {
				t.Errorf("the error is told more than once:\n%s", got.stderr)
			}
		})
	}
}

func TestRunNeedsNoDefinitionOfTheParent(t *testing.T) {
	name := "immortalcontainer"
	metascript(t, "run", "-f", example(name, "controller.yaml"), "--parent", example(name, "parent.yaml")).expect(t, 0, []string{"phoenix-immortalpod"}, nil)
}

func TestRunTakesAFolder(t *testing.T) {
	inFolder(t, controllerFile+parentFile)
	metascript(t, "run", "-f", ".", "--parent", "parent.yaml").expect(t, 0, []string{"name: w-part"}, []string{"asked about w"})
}

const controllerFile = `
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: widgets}
  childResources:
  - {apiVersion: v1, resource: configmaps}
  - {apiVersion: example.com/v1, resource: parts}
  script:
    language: Starlark
    inline: |
      def sync(parent, children, now):
          print("asked about", parent["metadata"]["name"])
          return {
              "status": {"now": now, "seen": sorted(children["ConfigMap.v1"])},
              "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": parent["metadata"]["name"] + "-part"}}],
              "resyncAfterSeconds": 1.5,
              "events": [{"type": "Normal", "reason": "Asked", "message": "so it was"}],
          }

      def finalize(parent, children):
          return {"children": [], "finalized": len(children["ConfigMap.v1"]) == 0}
-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: parts.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Part, plural: parts}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

const parentFile = `
-- parent.yaml --
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
-- children.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
`

func TestRun(t *testing.T) {
	flags := []string{"run", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml"}
	part := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "w-part", "namespace": "default", "labels": map[string]any{"controller-uid": "00000000-0000-0000-0000-000000000000"}}}
	event := map[string]any{"type": "Normal", "reason": "Asked", "message": "so it was"}
	for _, c := range []struct {
		name string
		args []string
		want map[string]any
	}{
		{"without children", []string{"--now", "2026-01-02T15:04:05+01:00"},
			map[string]any{"children": []any{part}, "status": map[string]any{"now": "2026-01-02T14:04:05Z", "seen": []any{}},
				"resyncAfterSeconds": 1.5, "events": []any{event}}},
		{"with children", []string{"--now", "2026-01-02T14:04:05Z", "--children", "children.yaml"},
			map[string]any{"children": []any{part}, "status": map[string]any{"now": "2026-01-02T14:04:05Z", "seen": []any{"one", "two"}},
				"resyncAfterSeconds": 1.5, "events": []any{event}}},
		{"finalizing", []string{"--finalizing"}, map[string]any{"children": []any{}, "finalized": true}},
		{"finalizing with children", []string{"--finalizing", "--children", "children.yaml"}, map[string]any{"children": []any{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t, controllerFile+parentFile)
			got := metascript(t, append(flags, c.args...)...)
			if got.code != 0 {
				t.Fatalf("it exits with %d and says:\n%s", got.code, got.stderr)
			}
			if diff := cmp.Diff(c.want, parseYAML(t, got.stdout)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if _, sync := c.want["status"]; sync && got.stderr != "sync.star:2:10: info: in sync: asked about w\n" {
				t.Errorf("stderr is %q, want what the script prints", got.stderr)
			}
		})
	}
}

func TestRunReadsStandardInput(t *testing.T) {
	name := "immortalcontainer"
	text, err := os.ReadFile(example(name, "parent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	metascriptReading(t, string(text), "run", "-f", example(name, "controller.yaml"), "--parent", "-").expect(t, 0, []string{"phoenix-immortalpod"}, nil)
}

func TestRunTellsWhatIsWrong(t *testing.T) {
	const sync = "\n-- c.yaml --\napiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: c}\nspec:\n" +
		"  generateSelector: true\n  parentResource: {apiVersion: example.com/v1, resource: widgets}\n" +
		"  childResources: [{apiVersion: v1, resource: configmaps}]\n"
	const star = sync + "  script:\n    language: Starlark\n    inline: |\n"
	for _, c := range []struct {
		name, files string
		args        []string
		want        []string
	}{
		{"a script that does not compile", star + "      def sync(parent):\n          return {'children': [}\n",
			nil, []string{"CompositeController c: sync.star:2:26: ", "\n        return {'children': [}\n", " ^\n"}},
		{"a key that is not there", star + "      def sync(parent):\n          return {'status': parent['metadata']['nmae']}\n",
			nil, []string{"sync.star:2:", "in sync: ", "\n        return {'status': parent['metadata']['nmae']}\n", " ^\n", `hint: did you mean "name"?`}},
		{"a failure on purpose", star + "      def sync(parent):\n          fail('no image')\n", nil, []string{"sync.star:2:", "no image", " ^"}},
		{"an answer that is none", star + "      def sync(parent):\n          return {'children': [], 'stauts': {}}\n", nil, []string{"in sync: ", `"stauts"`, "did you mean", "status"}},
		{"a child of another kind", star + "      def sync(parent):\n          return {'children': [{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'}}]}\n",
			nil, []string{"in sync: ", "children[0]", "Pod"}},
		{"a limit", sync + "  script:\n    language: Starlark\n    limits: {steps: 1000}\n    inline: |\n      def sync(parent):\n          return {'children': [i for i in range(100000)]}\n",
			nil, []string{"sync.star:2:", "1000", "steps"}},
		{"a limit at the server's ceiling", sync + "  script:\n    language: Starlark\n    limits: {steps: 100000}\n    inline: |\n      def sync(parent):\n          return {'children': [i for i in range(100000)]}\n",
			[]string{"--max-script-steps=1000"}, []string{"sync.star:2:", "ran more than 1000 steps", "limits.steps is at the server's ceiling, --max-script-steps=1000"}},
		{"a script that never ends", sync + "  script:\n    language: JavaScript\n    timeout: 100ms\n    inline: |\n      function sync() { for (;;) {} }\n",
			nil, []string{"sync.js:1:", "in sync: timed out after 100ms", "raise timeout"}},
		{"a ceiling of nothing", star + "      x = 1\n", []string{"--max-script-memory=0"}, []string{"--max-script-memory must be above zero"}},
		{"no sync function", star + "      def main(parent): pass\n", nil, []string{"CompositeController c: ", "no function sync", "it defines main"}},
		{"no finalize hook", star + "      def sync(parent): return {'children': []}\n", []string{"--finalizing"}, []string{"CompositeController c has no finalize hook"}},
		{"what the server refuses", sync + "  script: {file: sync.star}\n", nil, []string{"CompositeController c: spec.script: file sync.star: there is no scripts directory"}},
		{"a selector that is none", strings.Replace(star, "resource: widgets", "resource: widgets, labelSelector: {matchExpressions: [{key: a, operator: Near}]}", 1) + "      def sync(parent): return {'children': []}\n",
			nil, []string{"CompositeController c: parentResource.labelSelector: ", `"Near"`}},
		{"a time that is none", star + "      def sync(parent): return {'children': []}\n", []string{"--now", "noon"}, []string{`now is "noon": want a time such as 2026-01-02T15:04:05Z`}},
		{"no file", star + "      x = 1\n", []string{"--children", "nosuch.yaml"}, []string{"nosuch.yaml", "no such file"}},
		{"a parent of another version", strings.Replace(star, "example.com/v1", "example.com/v2", 1) + "      def sync(parent): return {'children': []}\n", nil, []string{"Widget w", "example.com/v1", "example.com/v2"}},
		{"an observed child of another kind", star + "      def sync(parent): return {'children': []}\n-- pod.yaml --\n{apiVersion: v1, kind: Pod, metadata: {name: a}}\n",
			[]string{"--children", "pod.yaml"}, []string{"Pod a", "childResources"}},
		{"a child kind that nobody knows", strings.Replace(star, "resource: configmaps", "resource: parts", 1) + "      def sync(parent): return {'children': []}\n",
			nil, []string{"CompositeController c: childResources[0]: ", `"parts"`, "CustomResourceDefinition"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t, c.files+parentFile)
			got := metascript(t, append([]string{"run", "-f", "c.yaml", "--parent", "parent.yaml"}, c.args...)...)
			got.expect(t, 1, nil, append(c.want, "error: "))
		})
	}
}

func TestRunWantsOneControllerAndOneParent(t *testing.T) {
	inFolder(t, controllerFile+parentFile+"-- empty.yaml --\n# nothing\n")
	for _, c := range []struct{ controller, parent, want string }{
		{"parent.yaml", "parent.yaml", "-f has 0 controllers, want one"},
		{"controller.yaml,controller.yaml", "parent.yaml", "-f has 2 controllers, want one"},
		{"controller.yaml", "empty.yaml", "--parent has 0 objects, want one"},
		{"controller.yaml", "children.yaml", "--parent has 2 objects, want one"},
	} {
		metascript(t, "run", "-f", c.controller, "--parent", c.parent).expect(t, 1, nil, []string{c.want})
	}
}

// sound is a controller that is well, as JSON and thus as YAML too.
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
		{"limits above the server's ceilings", head("  script: {language: Starlark, limits: {memory: 1Gi}, inline: \"def sync(): return {}\"}\n"), 0,
			[]string{"a.yaml: CompositeController c: warning: script.limits.memory is 1Gi, above the server's ceiling, which counts: --max-script-memory=256Mi", ": ok, hooks: sync\n"}, nil},
		{"warnings", head("  hooks: {sync: {webhook: {url: 'http://x/'}}, finalize: {}}\n"), 0,
			[]string{"a.yaml: CompositeController c: warning: hooks.finalize is empty", "a.yaml: CompositeController c: ok, hooks: sync\n"}, nil},
		{"one wrong beside one that is sound", sound("c") + "---\n" + strings.Replace(sound("d"), `"widgets"`, "1", 1) + "---\n" + sound("e"), 1,
			[]string{"CompositeController c: ok", "CompositeController d: spec.parentResource.resource: ", "CompositeController e: ok"}, []string{"error: "}},
		{"what has no definition", "{apiVersion: v1, kind: Pod, metadata: {name: p}}", 0, []string{"a.yaml: Pod p: passed over"}, nil},
		{"an empty file", "", 1, nil, []string{"a.yaml"}},
		{"nothing but comments", "# nothing\n---\n# nothing\n", 1, nil, []string{"a.yaml"}},
		{"text", "hello", 1, nil, []string{"a.yaml, document 1: an object is wanted"}},
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
	metascriptReading(t, "hello", "check", "-f", "-").expect(t, 1, nil, []string{"-, document 1: an object is wanted"})
}

func TestCheckTakesAFolder(t *testing.T) {
	inFolder(t, "-- a.yaml --\n"+sound("a")+"-- b.yml --\n"+sound("b")+"-- c.json --\n"+sound("c")+"-- notes.txt --\nhello\n")
	metascript(t, "check", "-f", ".").expect(t, 0, []string{"a.yaml: CompositeController a: ok", "b.yml: CompositeController b: ok", "c.json: CompositeController c: ok"}, nil)
	metascript(t, "check", "-f", t.TempDir()).expect(t, 1, nil, []string{"no objects in "})
}

func TestAControllerThatAsksForAProcessGetsOne(t *testing.T) {
	inFolder(t, strings.Replace(controllerFile, "spec:\n", "spec:\n  isolation: Process\n", 1)+parentFile)
	got := metascript(t, "run", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml")
	got.expect(t, 0, []string{"name: w-part"}, []string{"sync.star:2:10: info: in sync: asked about w"})
	metascript(t, "check", "-f", "controller.yaml").expect(t, 0, []string{"CompositeController c: ok, hooks: finalize, sync\n"}, nil)
	metascript(t, "check", "-f", "controller.yaml", "--isolation=Process").expect(t, 0, []string{": ok"}, nil)
}

func TestWhoInsistsOnAProcessIsRefusedWhereItCannotBeHad(t *testing.T) {
	missing := []string{"seccomp: not permitted", "RLIMIT_AS: it does not hold"}
	insists := sandboxFlags{isolation: "Process"}
	if err := insists.refuse(missing); err == nil || !strings.Contains(err.Error(), "--isolation=Process cannot be had here; the system lacks: seccomp: not permitted; RLIMIT_AS: it does not hold") {
		t.Errorf("got error %v, want all that is missing", err)
	}
	if err := (&sandboxFlags{isolation: "InProcess"}).refuse(missing); err != nil {
		t.Errorf("who does not insist is refused: %v", err)
	}
}

func TestRunWarnsOfWhatCheckRefuses(t *testing.T) {
	inFolder(t, `
-- c.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: widgets}
  resyncPeriodSecond: 3
  script:
    language: JavaScript
    inline: "exports.sync = () => ({children: []})"
    timeout: 10m
-- w.yaml --
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
`)
	metascript(t, "run", "-f", "c.yaml", "--parent", "w.yaml").expect(t, 0, []string{"children: []"},
		[]string{"warning: c.yaml: ", "resyncPeriodSecond", "timeout"})
}

func TestCheckSaysThatItDoesNotLookIntoFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	metascript(t, "check", "-f", dir).expect(t, 1, nil, []string{"no objects in " + dir, "folders in " + dir + " are not looked into"})
}

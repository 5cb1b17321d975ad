package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		{"finalizing with children", []string{"--finalizing", "--children", "children.yaml"}, map[string]any{"children": []any{}, "finalized": false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t, controllerFile+parentFile)
			got := metascript(t, append(flags, c.args...)...)
			if got.code != 0 {
				t.Fatalf("the exit code is %d, and stderr:\n%s", got.code, got.stderr)
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

func TestRunNeedsNoDefinitionOfTheParent(t *testing.T) {
	name := "immortalcontainer"
	metascript(t, "run", "-f", example(name, "controller.yaml"), "--parent", example(name, "parent.yaml")).expect(t, 0, []string{"phoenix-immortalpod"}, nil)
}

func TestRunWithANamespace(t *testing.T) {
	inFolder(t, controllerFile+parentFile)
	metascript(t, "run", "-f", ".", "--parent", "parent.yaml", "--children", "children.yaml", "-n", "shop", "--now", "2026-01-02T15:04:05Z").
		expect(t, 0, []string{"namespace: shop", "- one"}, []string{"asked about w"})
}

func TestRunReadsAFolder(t *testing.T) {
	inFolder(t, controllerFile+parentFile)
	metascript(t, "run", "-f", ".", "--parent", "parent.yaml").expect(t, 0, []string{"name: w-part"}, []string{"asked about w"})
}

// kubectl reads JSON as Python writes it, and so do these commands.
func TestJSONWithEscapes(t *testing.T) {
	inFolder(t, controllerFile+`
-- parent.json --
{"apiVersion": "example.com\/v1", "kind": "Widget", "metadata": {"name": "w", "annotations": {"a": "\ud83d\ude00\ud83d"}}}
-- child.json --
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": {"a": "\ud83d\ude00"}}, "dataa": {}}
-- parent.yaml --
apiVersion: "example.com\/v1"
kind: Widget
metadata: {name: w, annotations: {"\ud83d\ude00": "\ud83d\ude00"}}
`)
	metascript(t, "run", "-f", "controller.yaml", "--parent", "parent.json").expect(t, 0, []string{"name: w-part"}, []string{"asked about w"})
	metascript(t, "run", "-f", "controller.yaml", "--parent", "parent.yaml").expect(t, 0, []string{"name: w-part"}, []string{"asked about w"})
	metascript(t, "check", "-f", ".").expect(t, 1, []string{"child.json:1:108: ConfigMap a: dataa: unknown field"}, []string{"not all objects are valid"})
}

func TestRunReadsStandardInput(t *testing.T) {
	name := "immortalcontainer"
	text, err := os.ReadFile(example(name, "parent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	metascriptReading(t, string(text), "run", "-f", example(name, "controller.yaml"), "--parent", "-").expect(t, 0, []string{"phoenix-immortalpod"}, nil)
}

func TestRunPrintsErrors(t *testing.T) {
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
			nil, []string{"CompositeController c: sync.star:2:25: ", "\n        return {'children': [}\n", " ^\n"}},
		{"a key that is not there", star + "      def sync(parent):\n          return {'status': parent['metadata']['nmae']}\n",
			nil, []string{"sync.star:2:", "in sync: ", "\n        return {'status': parent['metadata']['nmae']}\n", " ^\n", `hint: did you mean "name"?`}},
		{"a failure on purpose", star + "      def sync(parent):\n          fail('no image')\n", nil, []string{"sync.star:2:", "no image", " ^"}},
		{"an answer that is none", star + "      def sync(parent):\n          return {'children': [], 'stauts': {}}\n", nil, []string{"in sync: ", `"stauts"`, "did you mean", "status"}},
		{"a child of another kind", star + "      def sync(parent):\n          return {'children': [{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'}}]}\n",
			nil, []string{"in sync: ", "children[0]", "Pod"}},
		{"a limit", sync + "  script:\n    language: Starlark\n    limits: {steps: 1000}\n    inline: |\n      def sync(parent):\n          return {'children': [i for i in range(100000)]}\n",
			nil, []string{"sync.star:2:", "1000", "steps"}},
		{"a limit at the server's maximum", sync + "  script:\n    language: Starlark\n    limits: {steps: 100000}\n    inline: |\n      def sync(parent):\n          return {'children': [i for i in range(100000)]}\n",
			[]string{"--max-script-steps=1000"}, []string{"sync.star:2:", "ran more than 1000 steps", "limits.steps is at the server's maximum, --max-script-steps=1000"}},
		{"a script that never ends", sync + "  script:\n    language: JavaScript\n    timeout: 100ms\n    inline: |\n      function sync() { for (;;) {} }\n",
			nil, []string{"sync.js:1:", "in sync: timed out after 100ms", "raise timeout"}},
		{"a ceiling of nothing", star + "      x = 1\n", []string{"--max-script-memory=0"}, []string{"--max-script-memory must be above zero"}},
		{"no sync function", star + "      def main(parent): pass\n", nil, []string{"CompositeController c: ", "no function sync", "it defines main"}},
		{"no finalize hook", star + "      def sync(parent): return {'children': []}\n", []string{"--finalizing"}, []string{"CompositeController c has no finalize hook"}},
		{"what the server refuses", sync + "  script: {file: sync.star}\n", nil, []string{"CompositeController c: spec.script: file sync.star: it is not in . (there is "}},
		{"a selector that is none", strings.Replace(star, "resource: widgets", "resource: widgets, labelSelector: {matchExpressions: [{key: a, operator: Near}]}", 1) + "      def sync(parent): return {'children': []}\n",
			nil, []string{"CompositeController c: parentResource.labelSelector.matchExpressions[0]: operator is", `"Near"`}},
		{"a time that is none", star + "      def sync(parent): return {'children': []}\n", []string{"--now", "noon"}, []string{`now is "noon": want a time such as 2026-01-02T15:04:05Z`}},
		{"no file", star + "      x = 1\n", []string{"--children", "nosuch.yaml"}, []string{"there is no file nosuch.yaml"}},
		{"a parent of another version", strings.Replace(star, "example.com/v1", "example.com/v2", 1) + "      def sync(parent): return {'children': []}\n", nil, []string{"Widget w", "example.com/v1", "example.com/v2"}},
		{"an observed child of another kind", star + "      def sync(parent): return {'children': []}\n-- pod.yaml --\n{apiVersion: v1, kind: Pod, metadata: {name: a}}\n",
			[]string{"--children", "pod.yaml"}, []string{"Pod a", "childResources"}},
		{"a child kind that nobody knows", strings.Replace(star, "apiVersion: v1, resource: configmaps", "apiVersion: example.com/v1, resource: parts", 1) + "      def sync(parent): return {'children': []}\n",
			nil, []string{"CompositeController c: childResources[0]: ", `"parts"`, "CustomResourceDefinition"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t, c.files+parentFile)
			got := metascript(t, append([]string{"run", "-f", "c.yaml", "--parent", "parent.yaml"}, c.args...)...)
			got.expect(t, 1, nil, append(c.want, "error: "))
		})
	}
}

func TestRunWantsOneControllerAndAParent(t *testing.T) {
	inFolder(t, controllerFile+parentFile+"-- empty.yaml --\n# nothing\n")
	for _, c := range []struct{ controller, parent, want string }{
		{"parent.yaml", "parent.yaml", "no CompositeController and no DecoratorController in parent.yaml"},
		{"controller.yaml,controller.yaml", "parent.yaml", "there are 2 controllers: controller.yaml: "},
		{"controller.yaml", "empty.yaml", "--parent: empty.yaml is empty: want an object, with apiVersion and kind"},
	} {
		metascript(t, "run", "-f", c.controller, "--parent", c.parent).expect(t, 1, nil, []string{c.want})
	}
}

func TestRunPrintsErrorsOfCheckAsWarnings(t *testing.T) {
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
		[]string{"warning: c.yaml:7:3: CompositeController c: ", "resyncPeriodSecond", "timeout"})
}

func TestRunWarnsAboutKeysOfBranchesThatDidNotRun(t *testing.T) {
	inFolder(t, strings.Replace(controllerFile, `          return {
`, `          if parent.metadata.name == "other": return {"status": {"parts": len(children["parts"])}, "children": []}
          return {
`, 1)+parentFile)
	metascript(t, "run", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml").expect(t, 0, []string{"name: w-part"}, []string{
		`warning: controller.yaml:15:88: CompositeController c: sync.star:3:82: in sync: children has no key "parts"
        if parent.metadata.name == "other": return {"status": {"parts": len(children["parts"])}, "children": []}
                                                                                     ^
  hint: did you mean children["Part.example.com/v1"]?
`,
	})
}

func TestIsolationProcessStartsAWorker(t *testing.T) {
	inFolder(t, strings.Replace(controllerFile, "spec:\n", "spec:\n  isolation: Process\n", 1)+parentFile)
	got := metascript(t, "run", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml")
	got.expect(t, 0, []string{"name: w-part"}, []string{"sync.star:2:10: info: in sync: asked about w"})
	metascript(t, "check", "-f", "controller.yaml").expect(t, 0, []string{"CompositeController c: ok, hooks: finalize, sync\n"}, nil)
	metascript(t, "check", "-f", "controller.yaml", "--isolation=Process").expect(t, 0, []string{": ok"}, nil)
}

// The related objects are those that the customize hook selects, as in the server.
func TestRelatedObjectsAreSelected(t *testing.T) {
	const controller = `
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: widgets}
  script:
    language: Starlark
    version: VERSION
    inline: |
      def customize(parent):
          return {"relatedResources": [{"apiVersion": "v1", "resource": "configmaps"} | parent["spec"]]}

      def sync(related):
          return {"status": {"related": [o["metadata"]["namespace"] + "/" + o["metadata"]["name"] for o in related["ConfigMap.v1"].values()]}, "children": []}
-- related.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: near, labels: {a: b}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: far, namespace: far}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: unknown, namespace: unknown}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: far, labels: {distance: great}}}
-- parent.yaml --
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: home}, spec: SPEC}
`
	for _, c := range []struct {
		version, spec string
		want          []any
		fails         string
	}{
		{"v1", "{labelSelector: {}}", []any{"home/near"}, ""},
		{"v2", "{labelSelector: {}}", []any{"far/far", "home/near", "unknown/unknown"}, ""},
		{"v2", "{labelSelector: {matchLabels: {a: b}}}", []any{"home/near"}, ""},
		{"v2", "{names: [far, near], namespace: far}", []any{"far/far"}, ""},
		{"v2", "{namespaceSelector: {matchLabels: {distance: great}}}", []any{"far/far"}, ""},
		{"v2", "{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: unknown}}}", []any{"unknown/unknown"}, ""},
		{"v1", "{namespace: far}", nil, `namespace is "far": Widget home/w sees only its own namespace`},
		{"v1", "{resource: gadgets}", nil, `relatedResources[0] of the customize hook: there is no resource "gadgets" in v1`},
		{"v1", "{apiVersion: example.org/v1, resource: gadgets}", nil, `relatedResources[0] of the customize hook: what kind is resource "gadgets"`},
		{"v1", "{nmaes: []}", nil, `did you mean "names"?`},
	} {
		t.Run(c.version+" "+c.spec, func(t *testing.T) {
			inFolder(t, strings.NewReplacer("VERSION", c.version, "SPEC", c.spec).Replace(controller))
			got := metascript(t, "run", "-f", "controller.yaml", "--parent", "parent.yaml", "--related", "related.yaml")
			if c.fails != "" {
				got.expect(t, 1, nil, []string{c.fails})
				return
			}
			if got.code != 0 {
				t.Fatal(got.stderr)
			}
			want := map[string]any{"children": []any{}, "status": map[string]any{"related": c.want}}
			if diff := cmp.Diff(want, parseYAML(t, got.stdout)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
	inFolder(t, caseController)
	metascript(t, "run", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml", "--related", "children.yaml").
		expect(t, 1, nil, []string{"CompositeController c has no customize hook"})
}

const severalParents = `
-- parents.yaml --
apiVersion: example.com/v1
kind: Widget
metadata: {name: a, namespace: default}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: b, namespace: default}
-- others.yaml --
apiVersion: example.com/v1
kind: Widget
metadata: {name: c, namespace: other}
-- owned.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: of-b, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: b, uid: u}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-nobody}
`

// Each parent gets its own children.
func TestRunWithSeveralParents(t *testing.T) {
	inFolder(t, controllerFile+severalParents)
	args := []string{"run", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parents.yaml", "--parent", "other?.yaml", "--children", "owned.yaml"}
	got := metascript(t, args...)
	got.expect(t, 0, []string{"# Widget default/a\n", "---\n# Widget default/b\n", "---\n# Widget other/c\n"},
		[]string{"warning: owned.yaml: ConfigMap of-nobody is ignored: its ownerReferences name none of the parents\n", "asked about c"})
	var seen []any
	for _, document := range strings.Split(got.stdout, "---\n") {
		seen = append(seen, parseYAML(t, document)["status"].(map[string]any)["seen"])
	}
	if diff := cmp.Diff([]any{[]any{}, []any{"of-b"}, []any{}}, seen); diff != "" {
		t.Errorf("the children that each call saw (-want +got):\n%s", diff)
	}
}

func TestRunForPrograms(t *testing.T) {
	inFolder(t, strings.Replace(controllerFile, "          return {", "          if parent.metadata.name == \"b\": fail(\"as asked\")\n          return {", 1)+severalParents)
	got := metascript(t, "run", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parents.yaml", "-o", "json")
	got.expect(t, 1, []string{"results"}, []string{"error: 1 of 2 calls failed"})
	results := parseYAML(t, got.stdout)["results"].([]any)
	a, b := results[0].(map[string]any), results[1].(map[string]any)
	want := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "namespace": "default", "name": "a"}
	if diff := cmp.Diff(want, a["parent"]); diff != "" {
		t.Errorf("the first parent (-want +got):\n%s", diff)
	}
	if answer := a["answer"].(map[string]any); answer["resyncAfterSeconds"] != 1.5 || a["error"] != nil {
		t.Errorf("the first result: %v", a)
	}
	if text := b["error"].(string); !strings.Contains(text, "in sync: as asked") || b["answer"] != nil {
		t.Errorf("the second result: %v", b)
	}
	metascript(t, "run", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parents.yaml").expect(t, 1, []string{"# Widget default/a\n"},
		[]string{"Widget default/b: controller.yaml:15:47: sync.star:3:41:", "error: 1 of 2 calls failed\n"})
}

// A value that the API server stores in another form with the same meaning is a line, and no warning.
func TestRunShowsInWhichFormValuesAreStored(t *testing.T) {
	inFolder(t, strings.NewReplacer(
		"resource: configmaps}", "resource: configmaps}\n  - {apiVersion: v1, resource: pods}",
		`"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": parent["metadata"]["name"] + "-part"}}]`,
		`"children": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "2000m"}}}]}}]`,
	).Replace(controllerFile)+parentFile)
	got := metascript(t, "run", "-f", "controller.yaml", "--parent", "parent.yaml")
	const want = "Pod default/p: spec.containers[0].resources.limits.cpu: 2000m is stored as 2\n"
	if got.code != 0 || !strings.HasSuffix(got.stderr, want) || strings.Contains(got.stderr, "warning") {
		t.Errorf("the exit code is %d, and stderr:\n%s", got.code, got.stderr)
	}
}

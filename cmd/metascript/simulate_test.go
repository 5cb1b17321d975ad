package main

import (
	"strings"
	"testing"
)

// aSite is a folder with a controller that makes a ConfigMap for each Site.
const aSite = `
-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Site, plural: sites}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {text: {type: string, minLength: 1}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: sites}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: sites}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  script:
    language: Starlark
    inline: |
      def sync(parent, children):
          page = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}, "data": {"text": parent.spec["text"]}}
          return {"status": {"pages": len(children["ConfigMap.v1"])}, "children": [page]}
-- parent.yaml --
apiVersion: example.com/v1
kind: Site
metadata: {name: web}
spec: {text: a}
-- simulate.yaml --
`

func TestSimulateShowsEachStep(t *testing.T) {
	inFolder(t, aSite+`
steps:
- name: a Site
  apply: parent.yaml
  expect:
    objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {text: a}}, {kind: Site, metadata: {name: web}, status: {pages: 1}}]
    count: {ConfigMap: 1}
- patch: {object: Site web, merge: {spec: {text: b}}}
`)
	metascript(t, "simulate", ".").expect(t, 0, []string{`00:00:00 CompositeController sites: runs
00:00:01 CompositeController sites: hooks sync

step 1: a Site: apply parent.yaml
00:00:16 Site default/web
  + ConfigMap default/page
    + data:
    +   text: a
`, `
step 2: patch Site web
00:00:31 Site default/web
  ~ ConfigMap default/page: data.text differs
      data:
    -   text: a
    +   text: b
`, "\n3 expectations: all are met\n"}, nil)
}

func TestSimulateFails(t *testing.T) {
	for _, c := range []struct {
		name, steps    string
		stdout, stderr []string
	}{
		{"an expectation", `
steps:
- apply: parent.yaml
  expect:
    objects: [{kind: ConfigMap, metadata: {name: page}, data: {text: b}}, {kind: ConfigMap, metadata: {name: other}}]
    absent: [Site default/web, Sito web]
    count: {ConfigMap: 2}
    events: [Scaled]
    syncErrors: [boom]
    error: refused`, []string{
			`not as expected: the error of the action: want "refused", got none`,
			`not as expected: ConfigMap default/page: data.text: want "b", got "a"`,
			"not as expected: ConfigMap other does not exist",
			"not as expected: Site default/web exists",
			"simulate.yaml:6:32: not as expected: there is no kind Sito; did you mean \"Site\"?",
			"not as expected: want 2 objects of kind ConfigMap, got 1: default/page",
			`not as expected: there is no event "Scaled" in this step; the events are Started, Starting`,
			`not as expected: no sync failed with "boom" in this step`,
		}, []string{"error: 8 of 8 expectations are not met"}},
		{"a sync that is not expected to fail", `
steps:
- apply: {apiVersion: example.com/v1, kind: Site, metadata: {name: web}, spec: {}}`,
			[]string{"Site default/web failed", "not as expected: a sync of Site default/web failed, and syncErrors does not expect it\n"}, []string{"error: 1 of 1 expectations are not met"}},
		{"an action", "steps: [{apply: {apiVersion: example.com/v1, kind: Site, metadata: {name: web}, spec: {text: ''}}}]", []string{"step 1: apply Site web\n"},
			[]string{`error: simulate.yaml:1:88: step 1: apply Site default/web: Site.example.com "web" is invalid: spec.text: Invalid value: ""`}},
		{"an unknown object", "steps: [{delete: Site web}]", []string{"step 1: delete Site web\n"}, []string{"error: simulate.yaml:1:18: step 1: Site web does not exist\n"}},
		{"no end", `
steps:
- apply: parent.yaml
- script: {replace: 'len(children["ConfigMap.v1"])', with: '(parent.status.get("pages") or 0) + 1'}`, []string{"step 2: edit the script\n"},
			[]string{"error: simulate.yaml:4:3: step 2: objects still change after ", ", most often Site default/web (132 times), last status.pages: "}},
		{"an edit that does not compile", `
steps:
- apply: parent.yaml
- script: {replace: 'def sync', with: 'dfe sync'}
- patch: {object: Site web, merge: {spec: {text: b}}}
  expect: {objects: [{kind: ConfigMap, metadata: {name: page}, data: {text: b}}]}`, []string{
			"step 2: edit the script\n", "not as expected: CompositeController sites: the script does not load (CompileError)\n", "step 3: patch Site web\n",
		}, []string{"error: 1 of 2 expectations are not met"}},
		{"an unknown field in a patch", "steps: [{apply: parent.yaml}, {patch: {object: Site web, merge: {spec: {txet: b}}}}]", []string{"step 2: patch Site web\n"},
			[]string{`step 2: patch Site default/web: Site in version "v1" cannot be handled as a Site: strict decoding error: unknown field "spec.txet"`}},
		{"an unknown field of a new object", "steps: [{apply: {apiVersion: example.com/v1, kind: Site, metadata: {name: web}, spec: {txet: b}}}]", []string{"step 1: apply Site web\n"},
			[]string{`step 1: apply Site default/web: spec.txet: field not declared in schema`}},
		{"no file", "steps: [{apply: other.yaml}]", []string{"step 1"}, []string{"error: simulate.yaml:1:17: step 1: there is no file other.yaml\n"}},
		{"an unknown field", "steps: [{aply: parent.yaml}]", nil, []string{"error: simulate.yaml:1:10: unknown field \"aply\"\n    steps: [{aply: parent.yaml}]\n             ^\n  hint: did you mean \"apply\"?\n"}},
		{"two actions", "steps: [{apply: parent.yaml, restart: true}]", nil, []string{"error: simulate.yaml:1:9: step 1: it has several actions: apply parent.yaml, restart; make a step of each"}},
		{"no steps", "ready: []", nil, []string{"error: simulate.yaml:1:1: there are no steps"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t, aSite+c.steps)
			metascript(t, "simulate", ".").expect(t, 1, c.stdout, c.stderr)
		})
	}
}

// The event comes before the children are deleted, and not again while they cannot be deleted.
func TestSimulateShowsThatAllChildrenAreDeleted(t *testing.T) {
	inFolder(t, aSite+`
steps:
- script: {replace: 'parent.spec["text"]', with: 'parent.metadata.name'}
- script: {replace: '"children": [page]', with: '"children": [page, dict(page, metadata={"name": "other"})], "resyncAfterSeconds": 60'}
- apply: parent.yaml
  wait: 30s
  expect: {count: {ConfigMap: 2}}
- name: an answer that depends on nothing
  script: {replace: '"children": [page, dict(page, metadata={"name": "other"})]', with: '"children": []'}
  refuse: {kind: ConfigMap, verb: delete}
  wait: 5m
  expect: {events: ["AllChildrenDeleted: all 2 are deleted, and the script has read nothing of the spec"], syncErrors: [refused by the simulation]}
- name: now they can be deleted
  wait: 10m
  expect: {count: {ConfigMap: 0}}
`)
	got := metascript(t, "simulate", ".")
	got.expect(t, 0, []string{"4 expectations: all are met"}, nil)
	out := got.stdout
	if n := strings.Count(out, "AllChildrenDeleted"); n != 1 {
		t.Errorf("%d events, want 1:\n%s", n, out)
	}
}

// A controller that does not run is an error, with the message of "metascript check", and the steps that follow are not done.
func TestSimulateFailsIfTheControllerDoesNotRun(t *testing.T) {
	const steps = "\nsteps:\n- apply: parent.yaml\n- delete: Site web\n"
	for _, c := range []struct{ name, replace, with, message string }{
		{"a script that does not compile", "def sync", "dfe sync", "the script does not load (CompileError)\ncontroller.yaml:12:11: sync.star:1:5: "},
		{"no hook", "def sync", "def snyc", "the script does not load (FunctionNotFound)\n"},
		{"an unknown resource", "resource: configmaps", "resource: configmap", `ResourcesNotDiscovered
childResources[0]: the API server does not serve resource "configmap" in v1: did you mean "resource: configmaps"?`},
		{"an unknown parent", "resource: sites", "resource: site", `did you mean "resource: sites"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t, strings.Replace(aSite, c.replace, c.with, 1)+steps)
			got := metascript(t, "simulate", ".")
			got.expect(t, 1, []string{"not as expected: CompositeController sites: "}, []string{"error: simulate.yaml:3:3: step 1: CompositeController sites: ", c.message})
			if strings.Contains(got.stdout, "step 2") {
				t.Errorf("step 2 was done:\n%s", got.stdout)
			}
		})
	}
}

func TestSimulateExpectsThatTheControllerDoesNotRun(t *testing.T) {
	for _, expected := range []string{
		`objects: [{kind: CompositeController, metadata: {name: sites}, status: {conditions: [{type: ScriptReady, status: "False", reason: CompileError}]}}]`,
		`events: ["CreateError: sync.star:1:5"]`,
	} {
		inFolder(t, strings.Replace(aSite, "def sync", "dfe sync", 1)+`
steps:
- expect: {`+expected+`}
- apply: parent.yaml
- script: {replace: dfe, with: def}
  expect: {count: {ConfigMap: 1}}
- script: {replace: def, with: dfe}
  expect:
    events: [CreateError]
    count: {ConfigMap: 1}
`)
		metascript(t, "simulate", ".").expect(t, 0, []string{"4 expectations: all are met\n"}, nil)
	}
}

func TestSimulateWithoutAController(t *testing.T) {
	inFolder(t, "-- crd.yaml --\n")
	metascript(t, "simulate", ".").expect(t, 1, nil, []string{"error: . has no controller.yaml, and no directory in it has controller.yaml and simulate.yaml"})
}

// A script in a file can be edited by a step. The file stays as it is.
func TestSimulateEditsACopyOfAFile(t *testing.T) {
	const script = `def sync(parent, children):
    page = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}, "data": {"text": "a"}}
    return {"status": {}, "children": [page]}
`
	controller, steps, _ := strings.Cut(aSite, "-- parent.yaml --")
	head, _, _ := strings.Cut(controller, "    language: Starlark")
	inFolder(t, head+"    file: sync.star\n-- sync.star --\n"+script+"-- parent.yaml --"+steps+`
steps:
- apply: parent.yaml
  expect: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {text: a}}]}
- script: {replace: '"text": "a"', with: '"text": "b"'}
  expect: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {text: b}}]}
- script: {replace: missing, with: b}
  expect: {error: "script.replace must be in the script of CompositeController sites exactly once, and is in it 0 times: \"missing\""}
`)
	metascript(t, "simulate", ".").expect(t, 0, []string{"CompositeController sites: reloaded\n", "3 expectations: all are met\n"}, nil)
	if text := readText(t, "sync.star"); text != script {
		t.Errorf("the file is now:\n%s", text)
	}
}

func TestSimulateRunsOnlyScripts(t *testing.T) {
	inFolder(t, `
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec: {parentResource: {apiVersion: v1, resource: pods}, hooks: {sync: {webhook: {url: "http://x"}}}}
`)
	metascript(t, "simulate", ".").expect(t, 1, nil, []string{"error: controller.yaml:4:73: CompositeController c: the hook sync is a webhook; a simulation runs only scripts"})
}

func TestSimulateTime(t *testing.T) {
	inFolder(t, aSite+"steps: [{wait: 5h}]")
	metascript(t, "simulate", "--now=2030-05-06T07:08:09Z", ".").expect(t, 0, []string{"07:08:09 CompositeController sites: runs\n", "step 1: wait 5h0m0s\n"}, nil)
	metascript(t, "simulate", "--now=yesterday", ".").expect(t, 1, nil, []string{`error: --now: "yesterday" is not a time since the year 2000, such as 2026-01-01T00:00:00Z`})
}

func TestSimulatePrintsObjects(t *testing.T) {
	inFolder(t, aSite+"steps: [{apply: parent.yaml}]")
	got := metascript(t, "simulate", "-o", "yaml", ".")
	got.expect(t, 0, []string{"---\napiVersion: v1\ndata:\n  text: a\nkind: ConfigMap\n", "status:\n  observedGeneration: 1\n  pages: 1\n"}, nil)
	if strings.Contains(got.stdout, "step") {
		t.Errorf("there are steps in:\n%s", got.stdout)
	}
}

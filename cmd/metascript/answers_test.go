package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"metascript/engine"
)

// answerScripts are, for each language, a script whose function HOOK returns ANSWER, with another hook SYNC. An answer in JSON is an
// expression in all of them.
var answerScripts = map[string]string{
	engine.Starlark:   "def HOOK(controller):\n    return ANSWER\n\ndef SYNC(controller):\n    return {}\n",
	engine.JavaScript: "function HOOK() {\n  return ANSWER\n}\n\nfunction SYNC() {\n  return {}\n}\n",
	engine.TypeScript: "export function HOOK(): unknown {\n  return ANSWER\n}\n\nexport function SYNC(): unknown {\n  return {}\n}\n",
	engine.Jsonnet:    "{\n  HOOK(controller):: ANSWER,\n  SYNC(controller):: {},\n}\n",
}

var extensions = map[string]string{engine.Starlark: ".star", engine.JavaScript: ".js", engine.TypeScript: ".ts", engine.Jsonnet: ".jsonnet"}

const answerController = `
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: widgets}
  childResources: [{apiVersion: apps/v1, resource: deployments}, {apiVersion: v1, resource: pods}]
  script: {file: SCRIPT}
-- decorator.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: c}
spec:
  resources: [{apiVersion: example.com/v1, resource: widgets}]
  attachments: [{apiVersion: v1, resource: pods}]
  script: {file: SCRIPT}
-- parent.yaml --
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}
-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {phase: {type: string}}}}}}}
`

// In each answer, ⟨ is before the place at which the caret must be. The text is the same in all languages.
func TestPlacesOfProblemsInAnswers(t *testing.T) {
	const pod = `"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}`
	child := func(text string) string { return "{\"children\": [\n    {" + text + "}\n  ]}" }
	rule := func(text string) string {
		return "{\"relatedResources\": [\n    {\"apiVersion\": \"v1\", \"resource\": \"configmaps\",\n      " + text + "}\n  ]}"
	}
	for _, c := range []struct {
		name, hook, answer string // hook is sync if it is empty
		want, hint         string
	}{
		{"a misspelled field", "", child(pod + ",\n      " + `"spec": {"containers": [{"name": "c", "image": "i", ⟨"imagee": "i"}]}`), `children[0].spec.containers[0].imagee (Pod "a"): unknown field`, `did you mean "image"?`},
		{"a field of another type", "", child(pod + `, "spec": {"containers": [{"name": "c", "image": ⟨1}]}`), `children[0].spec.containers[0].image (Pod "a"): want a string, got 1`, "put it in quotes"},
		{"a value that is not allowed", "", child(pod + ",\n      " + `"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": ⟨"Alway"}`), `children[0].spec.restartPolicy (Pod "a"): "Alway" is not one of Always, Never, OnFailure`, `did you mean "Always"?`},
		{"a missing field", "", child(pod + `, "spec": ⟨{}`), `children[0].spec.containers (Pod "a"): missing, but required`, ""},
		{"a misspelled field of the status", "", "{\"children\": [],\n  \"status\": {⟨\"phse\": \"x\"}}", `status.phse (Widget "w"): unknown field`, `did you mean "phase"?`},
		{"a status that is a list", "", "{\"children\": [],\n  \"status\": ⟨[1]}", "status in the answer is a list, want an object", ""},
		{"a misspelled key", "", `{⟨"childern": []}`, `unknown key "childern" in the answer: did you mean "children"?`, ""},
		{"a duplicate", "", child(pod + "},\n    {" + `"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ⟨"a"}`), `children[1] (Pod "a"): it is in the list already, as children[0]`, ""},
		{"an apiVersion that is none", "", child(`"apiVersion": ⟨"v1/x/y", "kind": "Pod", "metadata": {"name": "a"}`), `children[0] (Pod "a"): apiVersion is "v1/x/y", want one such as "v1" or "apps/v1"`, ""},
		{"another apiVersion", "", child(`"apiVersion": ⟨"apps/v1beta1", "kind": "Deployment", "metadata": {"name": "a"}`), `children[0] (Deployment "a"): Deployment.apps/v1beta1 is not among the controller's childResources (Deployment.apps/v1, Pod.v1): did you mean "apiVersion: apps/v1"?`, ""},
		{"a kind that is not declared", "", child(`"apiVersion": "v1", "kind": ⟨"Service", "metadata": {"name": "a"}`), `children[0] (Service "a"): Service.v1 is not among the controller's childResources (Deployment.apps/v1, Pod.v1): to allow it, add to childResources: - {apiVersion: v1, resource: services}`, ""},
		{"a child without a name", "", child(`"apiVersion": "v1", "kind": "Pod", "metadata": ⟨{}`), `children[0] (Pod): metadata.name is missing: a child needs a name, so that it is recognized again`, ""},
		{"an empty name", "", child(`"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ⟨""}`), `children[0] (Pod): metadata.name is empty: a child needs a name, so that it is recognized again`, ""},
		{"seconds in a string", "", "{\"children\": [],\n  \"resyncAfterSeconds\": ⟨\"5\"}", "resyncAfterSeconds in the answer is a string, want a number of seconds", ""},
		{"finalized in a string", "finalize", "{\"children\": [],\n  \"finalized\": ⟨\"yes\"}", "finalized in the answer is a string, want true or false", ""},
		{"a label that is a number", "decorator", "{\"attachments\": [],\n  \"labels\": {\"a\": ⟨1}}", `labels["a"] in the answer is a number, want a string, or null to remove it`, ""},
		{"annotations that are a list", "decorator", "{\"attachments\": [],\n  \"annotations\": ⟨[\"a\"]}", "annotations in the answer is a list, want an object", ""},
		{"a misspelled key of a rule", "customize", rule(`⟨"nmes": ["a"]`), `relatedResources[0]: unknown key nmes: did you mean "names"?`, ""},
		{"names that are a string", "customize", rule(`"names": ⟨"a"`), "relatedResources[0]: names is a string, want a list of strings", ""},
		{"names beside a selector", "customize", rule(`"names": ["a"], ⟨"labelSelector": {}`), "relatedResources[0]: names and labelSelector exclude each other: use two rules", ""},
		{"a namespace that is a number", "customize", rule(`"namespace": ⟨1`), "relatedResources[0]: namespace is a number, want a string", ""},
		{"a misspelled operator", "customize", rule(`"labelSelector": {"matchExpressions": [{"key": "a", "operator": ⟨"in", "values": ["b"]}]}`), `relatedResources[0]: labelSelector.matchExpressions[0]: operator is "in", want In, NotIn, Exists or DoesNotExist; did you mean "In"?`, ""},
		{"an operator that is missing", "customize", rule(`"labelSelector": {"matchExpressions": [⟨{"key": "a"}]}`), `relatedResources[0]: labelSelector.matchExpressions[0]: operator is "", want In, NotIn, Exists or DoesNotExist`, ""},
		{"a resource that does not exist", "customize", strings.Replace(rule(`"names": ["a"]`), `"configmaps"`, `⟨"configmap"`, 1), `relatedResources[0] of the customize hook: there is no resource "configmap" in v1: did you mean "resource: configmaps"?`, ""},
		{"another namespace", "customize", rule(`"namespace": ⟨"far"`), `relatedResources[0] of the customize hook: namespace is "far": Widget default/w sees only its own namespace, unless the customize hook is of version v2`, ""},
		{"values that are no strings", "customize", rule(`"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": [⟨1]}]}`), `relatedResources[0]: labelSelector.matchExpressions[0].values[0] is a number, want a string: put it in quotes`, ""},
	} {
		for language, script := range answerScripts {
			t.Run(c.name+" "+language, func(t *testing.T) {
				file, hook, other, controller, flag := "sync"+extensions[language], c.hook, "finalize", "controller.yaml", "--finalizing=false"
				switch c.hook {
				case "", "decorator":
					hook = "sync"
				case "finalize":
					other, flag = "sync", "--finalizing"
				case "customize":
					other = "sync"
				}
				if c.hook == "decorator" {
					controller = "decorator.yaml"
				}
				inFolder(t, strings.ReplaceAll(answerController, "SCRIPT", file))
				before, after, _ := strings.Cut(strings.NewReplacer("HOOK", hook, "SYNC", other, "ANSWER", c.answer).Replace(script), "⟨")
				if err := os.WriteFile(file, []byte(before+after), 0o600); err != nil {
					t.Fatal(err)
				}
				line, column := strings.Count(before, "\n"), utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])
				want := fmt.Sprintf("%s:%d:%d: in %s: %s\n    %s\n    %s^\n", file, line+1, column+1, hook, c.want,
					strings.Split(before+after, "\n")[line], strings.Repeat(" ", column))
				if c.hint != "" {
					want += "  hint: " + c.hint + "\n"
				}
				got := metascript(t, "run", "-f", controller, "-f", "crd.yaml", "--parent", "parent.yaml", flag)
				if text := strings.TrimPrefix(strings.TrimPrefix(got.stderr, "error: "), "warning: "); text != want {
					t.Errorf("got:\n%s\nwant:\n%s", text, want)
				}
			})
		}
	}
}

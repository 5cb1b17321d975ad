package offline

import (
	"errors"
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object/objecttest"
	"metascript/controller/schemas"
	"metascript/engine"
	"metascript/scripts"
)

// partCRD defines the kind Part of example.com/v1.
func partCRD() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "parts.example.com"
	crd.Spec.Group, crd.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Part", Plural: "parts", ShortNames: []string{"pt"}}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
	}}
	return crd
}

// checkLookups returns the texts of the warnings about a script of a controller with these child rules.
func checkLookups(t *testing.T, kind, spec, language, script string) (all []string) {
	t.Helper()
	o := objecttest.ParseObject(t, fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: %s\nmetadata: {name: c}\nspec:\n  %s\n  script: %s", kind, spec, objecttest.Inline(language, script)))
	known, err := schemas.Kubernetes().With(partCRD())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Check(t.Context(), o, testSandbox(), scripts.Sources{}); err != nil {
		t.Fatal(engine.DetailOf(err))
	}
	for _, warning := range CheckScripts(t.Context(), o, testSandbox(), scripts.Sources{}, known) {
		var e *engine.Error
		if !errors.As(warning, &e) {
			t.Fatalf("%v is not an error of a script", warning)
		}
		all = append(all, e.Detail())
	}
	return all
}

const compositeSpec = "generateSelector: true\n  parentResource: {apiVersion: example.com/v1, resource: widgets}\n  childResources: "

func TestLookupsOfChildren(t *testing.T) {
	const rules = "[{apiVersion: v1, resource: pods}, {apiVersion: apps/v1, resource: deployments}, {apiVersion: example.com/v1, resource: parts}]"
	for key, want := range map[string]string{
		"Pod.v1":              "",
		"Deployment.apps/v1":  "",
		"Part.example.com/v1": "",

		"Pod":                  `did you mean children["Pod.v1"]?`,
		"pod":                  `did you mean children["Pod.v1"]?`,
		"pods":                 `did you mean children["Pod.v1"]?`,
		"po.v1":                `did you mean children["Pod.v1"]?`,
		"pods.v1":              `did you mean children["Pod.v1"]?`,
		"Pod.v2":               `did you mean children["Pod.v1"]?`,
		"Pod.apps/v1":          `did you mean children["Pod.v1"]?`,
		"v1.Pod":               `did you mean children["Pod.v1"]?`,
		"Deployment.v1":        `did you mean children["Deployment.apps/v1"]?`,
		"Deployment.apps":      `did you mean children["Deployment.apps/v1"]?`,
		"Deployment.apps.v1":   `did you mean children["Deployment.apps/v1"]?`,
		"Deploymnet.apps/v1":   `did you mean children["Deployment.apps/v1"]?`,
		"deployments.apps/v1":  `did you mean children["Deployment.apps/v1"]?`,
		"deploy":               `did you mean children["Deployment.apps/v1"]?`,
		"parts.example.com/v1": `did you mean children["Part.example.com/v1"]?`,
		"pt":                   `did you mean children["Part.example.com/v1"]?`,
		"Part.v1":              `did you mean children["Part.example.com/v1"]?`,

		"services.v1":        `write children["Service.v1"], and add to spec.childResources: - {apiVersion: v1, resource: services}`,
		"Srevice.v1":         `write children["Service.v1"], and add to spec.childResources: - {apiVersion: v1, resource: services}`,
		"ReplicaSet":         `write children["ReplicaSet.apps/v1"], and add to spec.childResources: - {apiVersion: apps/v1, resource: replicasets}`,
		"Foo.example.com/v1": "its keys are Pod.v1, Deployment.apps/v1, Part.example.com/v1",
		"":                   "its keys are Pod.v1, Deployment.apps/v1, Part.example.com/v1",
	} {
		var all []string
		if want != "" {
			all = []string{fmt.Sprintf("sync.star:1:37: in sync: children has no key %[1]q\n    def sync(children): return children[%[1]q]\n                                        ^\n  hint: %[2]s", key, want)}
		}
		got := checkLookups(t, "CompositeController", compositeSpec+rules, engine.Starlark, fmt.Sprintf("def sync(children): return children[%q]", key))
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

func TestLookupsOfRelatedObjects(t *testing.T) {
	for key, want := range map[string]string{
		"Secret.v1": "", "ConfigMap.v1": "", "Widget.example.com/v1": "", "widgets.example.com/v1": "", "Foo.bar": "", "xyzzy": "", "Xyzzy.v1": "",

		"secrets.v1":           `did you mean related["Secret.v1"]?`,
		"Secret":               `did you mean related["Secret.v1"]?`,
		"secret.v1":            `did you mean related["Secret.v1"]?`,
		"deployments":          `did you mean related["Deployment.apps/v1"]?`,
		"Deployment.v1":        `did you mean related["Deployment.apps/v1"]?`,
		"parts.example.com/v1": `did you mean related["Part.example.com/v1"]?`,
	} {
		var all []string
		if want != "" {
			all = []string{fmt.Sprintf("sync.js:1:43: in sync: related has no key %[1]q\n    function sync({related}) { return related[%[1]q] }\n                                              ^\n  hint: %[2]s", key, want)}
		}
		got := checkLookups(t, "CompositeController", compositeSpec+"[]", engine.JavaScript, fmt.Sprintf("function sync({related}) { return related[%q] }", key))
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

func TestTextsOfLookups(t *testing.T) {
	const pods = compositeSpec + "[{apiVersion: v1, resource: pods}]"
	for _, c := range []struct{ name, kind, spec, language, script, want string }{
		{
			"Starlark", "CompositeController", pods, engine.Starlark, "def sync(parent, children):\n    if parent.spec.x:\n        return children.get(\"pods.v1\", {})\n    return children[\"Pod.v1\"]\n",
			`sync.star:3:29: in sync: children has no key "pods.v1"
            return children.get("pods.v1", {})
                                ^
  hint: did you mean children.get("Pod.v1", …)?`,
		},
		{
			"JavaScript", "CompositeController", pods, engine.JavaScript, "exports.sync = ({children}) => ({status: {n: Object.keys(children?.Pod ?? {}).length}})\n",
			`sync.js:1:68: in sync: children has no key "Pod"
    exports.sync = ({children}) => ({status: {n: Object.keys(children?.Pod ?? {}).length}})
                                                                       ^
  hint: did you mean children?.["Pod.v1"]?`,
		},
		{
			"Jsonnet", "CompositeController", pods, engine.Jsonnet, "{\n  sync(parent, children):: { status: { service: 'Service.v1' in children } },\n}\n",
			`sync.jsonnet:2:49: in sync: children has no key "Service.v1": spec.childResources does not declare this kind
      sync(parent, children):: { status: { service: 'Service.v1' in children } },
                                                    ^
  hint: add to spec.childResources: - {apiVersion: v1, resource: services}`,
		},
		{
			"no children are declared", "CompositeController", compositeSpec + "[]", engine.Starlark, "def sync(children): return children['Foo.example.com/v1']",
			`sync.star:1:37: in sync: children has no key "Foo.example.com/v1"
    def sync(children): return children['Foo.example.com/v1']
                                        ^
  hint: spec.childResources declares no kind`,
		},
		{
			"a decorator", "DecoratorController", "resources: [{apiVersion: v1, resource: pods}]\n  attachments: [{apiVersion: v1, resource: services}]", engine.Starlark,
			"def sync(object, attachments): return [attachments['Service.v1'], attachments['ConfigMap.v1']]",
			`sync.star:1:79: in sync: attachments has no key "ConfigMap.v1": spec.attachments does not declare this kind
    def sync(object, attachments): return [attachments['Service.v1'], attachments['ConfigMap.v1']]
                                                                                  ^
  hint: add to spec.attachments: - {apiVersion: v1, resource: configmaps}`,
		},
		{
			"finalize", "CompositeController", pods, engine.Starlark, "def sync(): return {}\ndef finalize(children): return {'finalized': not children.Pod}",
			`sync.star:2:59: in finalize: children has no key "Pod"
    def finalize(children): return {'finalized': not children.Pod}
                                                              ^
  hint: did you mean children["Pod.v1"]?`,
		},
		{
			"one function for both hooks", "CompositeController", pods + "\n  hooks: {finalize: {script: {function: sync}}}", engine.Starlark, "def sync(children): return children.Pod",
			`sync.star:1:37: in sync: children has no key "Pod"
    def sync(children): return children.Pod
                                        ^
  hint: did you mean children["Pod.v1"]?`,
		},
		{
			"with a fallback", "CompositeController", pods + "\n  hooks: {sync: {script: {}, webhook: {url: http://localhost/}}}", engine.Starlark, "def sync(children): return children.Pod",
			`sync.star:1:37: in sync: children has no key "Pod"
    def sync(children): return children.Pod
                                        ^
  hint: did you mean children["Pod.v1"]?`,
		},
		{
			"a misspelled hook in Starlark", "CompositeController", pods, engine.Starlark, "def sync(): return {}\ndef finalise(): return {}\ndef finalized(): return {}\ndef initialize(): return {}",
			`sync.star:2:1: no hook is called finalise, so that the server does not call it
    def finalise(): return {}
    ^
  hint: did you mean finalize?`,
		},
		{
			"a misspelled hook in JavaScript", "CompositeController", pods, engine.JavaScript, "function sync() { return {} }\nfunction custmoize() { return {} }\n",
			`sync.js:2:10: no hook is called custmoize, so that the server does not call it
    function custmoize() { return {} }
             ^
  hint: did you mean customize?`,
		},
		{
			"a misspelled hook in Jsonnet", "CompositeController", pods, engine.Jsonnet, "{\n  sync():: {},\n  Finalize():: {},\n}",
			`sync.jsonnet:3:3: no hook is called Finalize, so that the server does not call it
      Finalize():: {},
      ^
  hint: did you mean finalize?`,
		},
		{"a hook of this name is there", "CompositeController", pods, engine.Starlark, "def sync(): return {}\ndef finalize(): return finalise()\ndef finalise(): return {}", ""},
		{"functions that are no hooks", "CompositeController", pods, engine.Starlark, "def other(children): return children.Pod\ndef customize(children): return children.Pod\ndef sync(): return {}", ""},
		{"a field of the other kind of controller", "CompositeController", pods, engine.Starlark, "def sync(parent, attachments = {}): return attachments['x']", ""},
		{"a kind that may be the declared one", "CompositeController", compositeSpec + "[{apiVersion: a.b/v1, resource: foos}]", engine.Starlark, "def sync(children): return children['Foo.a.b/v1']", ""},
		{
			"a kind that is not the declared one", "CompositeController", compositeSpec + "[{apiVersion: a.b/v1, resource: foos}]", engine.Starlark, "def sync(children): return children['Foo.c.d/v1']",
			`sync.star:1:37: in sync: children has no key "Foo.c.d/v1"
    def sync(children): return children['Foo.c.d/v1']
                                        ^
  hint: its keys are that of a kind in a.b/v1`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if diff := cmp.Diff(want, checkLookups(t, c.kind, c.spec, c.language, c.script)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

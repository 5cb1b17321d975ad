package v1alpha1_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/api/validation"
	"metascript/manifests"
	"metascript/scripts"
)

// validators holds one Validator for each kind.
var validators = sync.OnceValues(func() (map[string]*validation.Validator, error) {
	crds, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	all := map[string]*validation.Validator{}
	for _, crd := range crds {
		all[crd.Spec.Names.Kind], err = validation.New(crd)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
})

func validator(t *testing.T, kind string) *validation.Validator {
	t.Helper()
	all, err := validators()
	if err != nil {
		t.Fatal(err)
	}
	return all[kind]
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &obj); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return obj
}

// The head of a valid object of each kind, which a spec is completed by.
var heads = map[string]string{
	v1alpha1.KindCompositeController: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: test}
spec:
  parentResource: {apiVersion: example.com/v1, resource: things}
`,
	v1alpha1.KindDecoratorController: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: test}
spec:
  resources: [{apiVersion: apps/v1, resource: statefulsets}]
`,
}

// messages is what the validator says to a spec, in the words that kubectl would print.
func messages(t *testing.T, kind, spec string) []string {
	t.Helper()
	obj := decode(t, heads[kind]+indent(spec))
	var all []string
	for _, err := range validator(t, kind).Validate(obj) {
		all = append(all, err.Error())
	}
	return all
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

const (
	exactlyOne = `a script must have exactly one of inline, file and configMapRef`
	atMostOne  = `the script of a hook can have at most one of inline, file and configMapRef`
	language   = `set language to Starlark, JavaScript, TypeScript or Jsonnet; it can be omitted only if the file, or the key of the configMapRef, ends in .star, .js, .ts, .jsonnet or .libsonnet`
	modules    = `modules can only be set together with inline; a file can load the other files in its directory, and a configMapRef the other keys of its ConfigMap, without modules`
	nowhere    = `a hook that only names a function needs a script: set inline, file or configMapRef in this hook, or set spec.script`
	path       = `file must be a path below the scripts directory, such as catset/sync.js, without / at its beginning, and without . and ..`
	duration   = `timeout must be a duration above zero, such as 500ms, 5s or 1m30s`
)

// Every rule on the new fields, kept and broken. Specs stand for both kinds unless kind says otherwise.
var rules = []struct {
	name, kind, spec string
	want             string // a part of the one message; "" if the spec is valid
}{
	{"inline", "", `script: {language: Starlark, inline: "def sync(parent): pass"}`, ""},
	{"file", "", `script: {file: catset/sync.js}`, ""},
	{"configMapRef", "", `script: {configMapRef: {name: a, namespace: b, key: sync.star}}`, ""},
	{"no source", "", `script: {language: Starlark}`, `spec.script: Invalid value: ` + exactlyOne},
	{"empty script", "", `script: {}`, `spec.script: Invalid value: ` + exactlyOne},
	{"two sources", "", `script: {inline: "{}", language: Jsonnet, file: a.jsonnet}`, `spec.script: Invalid value: inline and file are set, but ` + exactlyOne + `: delete file to use the text in inline, or delete inline to use the file`},
	{"three sources", "", `script: {inline: "{}", file: a.js, configMapRef: {name: a, namespace: b, key: c.js}}`, `spec.script: Invalid value: inline, file and configMapRef are set, but ` + exactlyOne + `: delete two of them`},
	{"empty inline", "", `script: {language: Starlark, inline: ""}`, `spec.script.inline: Invalid value: "": spec.script.inline in body should be at least 1 chars long`},
	{"incomplete configMapRef", "", `script: {configMapRef: {name: a, key: b.js}}`, `spec.script.configMapRef.namespace: Required value`},

	{"hook names a function", "", "script: {file: a.js}\nhooks: {sync: {script: {function: other}}}", ""},
	{"hook has the function of its name", "", "script: {file: a.js}\nhooks: {finalize: {script: {}}}", ""},
	{"hook has a source", "", `hooks: {sync: {script: {file: a.js, function: other}}}`, ""},
	{"hook has bounds of its own", "", "script: {file: a.js}\nhooks: {sync: {script: {timeout: 1s, limits: {steps: 1}}}}", ""},
	{"hook has two sources", "", `hooks: {sync: {script: {file: a.js, inline: "{}", language: Jsonnet}}}`, `spec.hooks.sync.script: Invalid value: inline and file are set, but ` + atMostOne + `: delete file to use the text in inline, or delete inline to use the file`},
	{"sync has nowhere to look", "", `hooks: {sync: {script: {function: f}}}`, `spec.hooks.sync.script: Required value: ` + nowhere},
	{"finalize has nowhere to look", "", `hooks: {sync: {script: {file: a.js}}, finalize: {script: {}}}`, `spec.hooks.finalize.script: Required value: ` + nowhere},
	{"customize has nowhere to look", "", `hooks: {sync: {script: {file: a.js}}, customize: {script: {timeout: 1s}}}`, `spec.hooks.customize.script: Required value: ` + nowhere},
	{"hook without a source has a language", "", "script: {file: a.js}\nhooks: {sync: {script: {language: JavaScript}}}", `spec.hooks.sync.script.language: Invalid value: a hook that only names a function uses the language of spec.script, so that language cannot be set`},

	{"language of a .libsonnet", "", `script: {file: lib/a.libsonnet}`, ""},
	{"language of a .ts", "", `script: {file: lib/a.ts}`, ""},
	{"language of a .d.ts", "", `script: {file: lib/a.d.ts}`, `spec.script.language: Required value: ` + language},
	{"language of a key", "", `script: {configMapRef: {name: a, namespace: b, key: a.jsonnet}}`, ""},
	{"language beside another ending", "", `script: {language: Starlark, file: a.bzl}`, ""},
	{"language of inline", "", `script: {inline: "{}"}`, `spec.script.language: Required value: ` + language},
	{"language of another ending", "", `script: {file: a.py}`, `spec.script.language: Required value: ` + language},
	{"language of no ending", "", `script: {configMapRef: {name: a, namespace: b, key: js}}`, `spec.script.language: Required value: ` + language},
	{"language of a folder", "", `script: {file: a.js/b}`, `spec.script.language: Required value: ` + language},
	{"language of a hook's inline", "", `hooks: {sync: {script: {inline: "{}"}}}`, `spec.hooks.sync.script.language: Required value: ` + language},
	{"unknown language", "", `script: {language: Lua, inline: x}`, `spec.script.language: Unsupported value: "Lua": supported values: "Starlark", "JavaScript", "TypeScript", "Jsonnet"`},

	{"modules", "", `script: {language: Jsonnet, inline: "{}", modules: {lib.libsonnet: "{}", lib/b.libsonnet: ""}}`, ""},
	{"module outside", "", `script: {language: Jsonnet, inline: "{}", modules: {../lib.libsonnet: "{}"}}`, `spec.script.modules: Invalid value: a module's name must be a file name or a path, such as lib.star, without . and ..`},
	{"module without a name", "", `script: {language: Jsonnet, inline: "{}", modules: {"": "{}"}}`, `spec.script.modules: Invalid value: a module's name must be a file name or a path, such as lib.star, without . and ..`},
	{"modules beside a file", "", `script: {file: a.js, modules: {b.js: ""}}`, `spec.script.modules: Invalid value: ` + modules},
	{"modules of a hook without inline", "", "script: {file: a.js}\nhooks: {sync: {script: {modules: {b.js: \"\"}}}}", `spec.hooks.sync.script.modules: Invalid value: ` + modules},

	{"dots in a file name", "", `script: {file: a/..b/c..js}`, ""},
	{"file outside", "", `script: {file: ../a.js}`, `spec.script.file: Invalid value: "../a.js": ` + path},
	{"file outside, by a detour", "", `script: {file: a/../../b.js}`, `spec.script.file: Invalid value: "a/../../b.js": ` + path},
	{"absolute file", "", `script: {file: /a.js}`, `spec.script.file: Invalid value: "/a.js": ` + path},
	{"file with an empty part", "", `script: {file: a//b.js}`, `spec.script.file: Invalid value: "a//b.js": ` + path},
	{"file here", "", `script: {file: ./b.js}`, `spec.script.file: Invalid value: "./b.js": ` + path},
	{"empty file", "", `script: {language: Starlark, file: ""}`, `spec.script.file: Invalid value: "": ` + path},

	{"timeouts", "", "script: {file: a.js, timeout: 1h1m1.5s}\nhooks: {sync: {script: {timeout: 10ms}}, finalize: {script: {timeout: 20µs}}}", ""},
	{"no time", "", `script: {file: a.js, timeout: 0s}`, `spec.script.timeout: Invalid value: "0s": ` + duration},
	{"negative timeout", "", `script: {file: a.js, timeout: -1s}`, `spec.script.timeout: Invalid value: "-1s": ` + duration},
	{"timeout without a unit", "", `script: {file: a.js, timeout: "5"}`, `spec.script.timeout: Invalid value: "5": ` + duration},
	{"timeout in days", "", `script: {file: a.js, timeout: 1 day}`, `spec.script.timeout: Invalid value: "1 day": ` + duration},
	{"timeout beyond all bounds", "", `script: {file: a.js, timeout: 999999999h}`, `spec.script.timeout: Invalid value: "string": type conversion error from 'string' to 'google.protobuf.Duration' evaluating rule: ` + duration},
	{"timeout as a number", "", `script: {file: a.js, timeout: 5}`, `spec.script.timeout: Invalid value: "integer": spec.script.timeout in body must be of type string: "integer"`},

	{"limits", "", `script: {file: a.js, limits: {steps: 1000000000000, memory: 64Mi, output: 1000000}}`, ""},
	{"no steps", "", `script: {file: a.js, limits: {steps: 0}}`, `spec.script.limits.steps: Invalid value: 0: spec.script.limits.steps in body should be greater than or equal to 1`},
	{"no memory", "", `script: {file: a.js, limits: {memory: 0}}`, `spec.script.limits.memory: Invalid value: 0: memory must be a quantity above zero, such as 64M or 64Mi`},
	{"no memory, in words", "", `script: {file: a.js, limits: {memory: 0Gi}}`, `spec.script.limits.memory: Invalid value: "0Gi": memory must be a quantity above zero, such as 64M or 64Mi`},
	{"memory with a unit", "", `script: {file: a.js, limits: {memory: 64MB}}`, `spec.script.limits.memory: Invalid value: "64MB": memory must be a quantity above zero, such as 64M or 64Mi`},
	{"memory is a list", "", `script: {file: a.js, limits: {memory: [1]}}`, `spec.script.limits.memory: Invalid value: "array": spec.script.limits.memory in body must be of type integer,string: "array"`},
	{"negative output", "", `script: {file: a.js, limits: {output: -4Mi}}`, `spec.script.limits.output: Invalid value: "-4Mi": output must be a quantity above zero, such as 4M or 4Mi`},
	{"negative output of a hook", "", `hooks: {sync: {script: {file: a.js, limits: {output: -1}}}}`, `spec.hooks.sync.script.limits.output: Invalid value: -1: output must be a quantity above zero, such as 4M or 4Mi`},

	{"libraries", "", `script: {file: a.js, libraries: [{file: lib/b.js}, {name: c.js, configMapRef: {name: a, namespace: b, key: c}}]}`, ""},
	{"library without a source", "", `script: {file: a.js, libraries: [{name: b}]}`, `spec.script.libraries[0]: Invalid value: a library must have exactly one of file and configMapRef`},
	{"library with two sources", "", `script: {file: a.js, libraries: [{file: b, configMapRef: {name: a, namespace: b, key: c}}]}`, `spec.script.libraries[0]: Invalid value: file and configMapRef are set, but a library must have exactly one of file and configMapRef: delete configMapRef to use the file, or delete file to use the ConfigMap`},
	{"library outside", "", `script: {file: a.js, libraries: [{file: ..}]}`, `spec.script.libraries[0].file: Invalid value: "..": file must be a path below the scripts directory, such as lib/conditions.star, without / at its beginning, and without . and ..`},

	{"ConfigMap of no name", "", `script: {configMapRef: {name: ../x, namespace: b, key: a.js}}`, `spec.script.configMapRef.name: Invalid value: "../x": name must be the name of a ConfigMap: lower-case letters, digits, - and .`},
	{"namespace of no name", "", `script: {configMapRef: {name: x, namespace: B, key: a.js}}`, `spec.script.configMapRef.namespace: Invalid value: "B": namespace must be the name of a namespace: lower-case letters, digits and -`},
	{"key of no name", "", `script: {configMapRef: {name: x, namespace: b, key: a/b.js}}`, `spec.script.configMapRef.key: Invalid value: "a/b.js": key must be a key of a ConfigMap: letters, digits, -, _ and .`},
	{"library of no name", "", `script: {file: a.js, libraries: [{configMapRef: {name: X, namespace: b}}]}`, `spec.script.libraries[0].configMapRef.name: Invalid value: "X": name must be the name of a ConfigMap: lower-case letters, digits, - and .`},
	{"library whose name leads out", "", `script: {file: a.js, libraries: [{file: b, name: ../b}]}`, `spec.script.libraries[0].name: Invalid value: "../b": name must be a file name or a path, such as lib or conditions.star, without . and ..`},
	{"version and rollback", "", `script: {file: a.js, version: v2, rollback: OnError, rollbackPercent: 5}`, ""},
	{"a library that is a folder, or all of a ConfigMap", "", `script: {file: a.js, libraries: [{file: lib}, {name: shared, configMapRef: {name: a, namespace: b}}]}`, ""},
	{"a rollback for none", "", `script: {file: a.js, rollbackPercent: 100}`, `spec.script.rollbackPercent: Invalid value: 100: spec.script.rollbackPercent in body should be less than or equal to 99`},
	{"unknown rollback", "", `script: {file: a.js, rollback: Always}`, `spec.script.rollback: Unsupported value: "Always": supported values: "Off", "OnError"`},

	{"shadow", "", `shadow: {share: 10%, script: {file: b.js, timeout: 1s}}`, ""},
	{"shadow without a share", "", `shadow: {script: {language: Starlark, inline: a}}`, ""},
	{"share of nothing", "", `shadow: {share: 0%, script: {file: b.js}}`, `spec.shadow.share: Invalid value: "0%": share must be a whole percentage from 1% to 100%, such as 10%`},
	{"shadow without a script", "", `shadow: {share: 10%}`, `spec.shadow.script: Required value`},
	{"guard", "", `script: {file: a.js, guard: {maxDeletes: 0, maxRecreates: 5, maxChangedParents: 100%}}`, ""},
	{"guard", "", `script: {file: a.js, guard: {maxDeletes: 0, maxRestarts: 5, maxChangedParents: 100%}}`, ""},
	{"guard without a limit", "", `script: {file: a.js, guard: {}}`, `spec.script.guard: Invalid value: a guard must have at least one of maxDeletes, maxRecreates, maxRestarts and maxChangedParents`},
	{"negative guard", "", `script: {file: a.js, guard: {maxDeletes: -1}}`, `spec.script.guard.maxDeletes: Invalid value: -1: maxDeletes must be a whole number that is not negative, or a percentage from 0% to 100%, such as 10%`},
	{"guard of more than all", "", `script: {file: a.js, guard: {maxRecreates: 101%}}`, `spec.script.guard.maxRecreates: Invalid value: "101%": maxRecreates must be a whole number that is not negative, or a percentage from 0% to 100%, such as 10%`},
	{"guard of more than all", "", `script: {file: a.js, guard: {maxRestarts: 101%}}`, `spec.script.guard.maxRestarts: Invalid value: "101%": maxRestarts must be a whole number that is not negative, or a percentage from 0% to 100%, such as 10%`},
	{"guard as text", "", `script: {file: a.js, guard: {maxChangedParents: "10"}}`, `spec.script.guard.maxChangedParents: Invalid value: "10": maxChangedParents must be a whole number that is not negative, or a percentage from 0% to 100%, such as 10%`},
	{"guard of a hook", "", `hooks: {sync: {script: {file: a.js, guard: {maxDeletes: 1}}}}`, `spec.hooks.sync.script.guard: Forbidden: unknown field`},

	{"fallback", "", `hooks: {sync: {script: {file: a.js}, webhook: {url: "http://a"}, fallback: OnError}}`, ""},
	{"script and webhook", "", `hooks: {sync: {script: {file: a.js}, webhook: {url: "http://a"}}}`, ""},
	{"fallback without a script", "", `hooks: {sync: {webhook: {url: "http://a"}, fallback: OnError}}`, `spec.hooks.sync.fallback: Invalid value: fallback can only be set together with script and webhook: it says when the webhook is called instead of the script`},
	{"fallback without a webhook", "", `hooks: {sync: {script: {file: a.js}, fallback: Never}}`, `spec.hooks.sync.fallback: Invalid value: fallback can only be set together with script and webhook: it says when the webhook is called instead of the script`},
	{"unknown fallback", "", `hooks: {sync: {script: {file: a.js}, webhook: {url: "http://a"}, fallback: Always}}`, `spec.hooks.sync.fallback: Unsupported value: "Always": supported values: "Never", "OnUnavailable", "OnError"`},

	{"settings", "", "script: {file: a.js}\nisolation: Process\napplyStrategy: ServerSideApply\nmaxConcurrentSyncs: 3\npaused: true", ""},
	{"unknown isolation", "", `isolation: Strict`, `spec.isolation: Unsupported value: "Strict": supported values: "InProcess", "Process"`},
	{"unknown applyStrategy", "", `applyStrategy: ssa`, `spec.applyStrategy: Unsupported value: "ssa": supported values: "DynamicApply", "ServerSideApply"`},
	{"no syncs", "", `maxConcurrentSyncs: 0`, `spec.maxConcurrentSyncs: Invalid value: 0: spec.maxConcurrentSyncs in body should be greater than or equal to 1`},

	{"service account", "", `serviceAccount: {namespace: a, name: b.c}`, ""},
	{"service account of no name", "", `serviceAccount: {namespace: a, name: B}`, `spec.serviceAccount.name: Invalid value: "B": name must be the name of a ServiceAccount: lower-case letters, digits, - and .`},
	{"service account in no namespace", "", `serviceAccount: {namespace: a.b, name: b}`, `spec.serviceAccount.namespace: Invalid value: "a.b": namespace must be the name of a namespace: lower-case letters, digits and -`},

	{"uncalled hook with a script", "CompositeController", `hooks: {preUpdateChild: {script: {file: a.js}}}`, `spec.hooks.preUpdateChild.script: Forbidden: unknown field`},
	{"misspelled field", "", `script: {langauge: Starlark, file: a.js}`, `spec.script.langauge: Forbidden: unknown field; did you mean "language"?`},
}

func TestRules(t *testing.T) {
	for _, test := range rules {
		for kind := range heads {
			if test.kind != "" && test.kind != kind {
				continue
			}
			t.Run(test.name+"/"+kind, func(t *testing.T) {
				got := messages(t, kind, test.spec)
				if test.want == "" && len(got) > 0 {
					t.Errorf("refused: %q", got)
				}
				if test.want != "" && (len(got) != 1 || got[0] != test.want) {
					t.Errorf("got  %q\nwant %q", got, test.want)
				}
			})
		}
	}
}

// A rule that does not compile is only found when it is evaluated, and one without a test is not known to be.
func TestEveryRuleIsTested(t *testing.T) {
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		visit(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, func(s *apiextensionsv1.JSONSchemaProps) {
			for _, rule := range s.XValidations {
				broken := func(test struct{ name, kind, spec, want string }) bool {
					return strings.Contains(test.want, rule.Message)
				}
				if !slices.ContainsFunc(rules, broken) {
					t.Errorf("no test breaks the rule %q", rule.Message)
				}
			}
		})
	}
}

func visit(s *apiextensionsv1.JSONSchemaProps, see func(*apiextensionsv1.JSONSchemaProps)) {
	see(s)
	for _, property := range s.Properties {
		visit(&property, see)
	}
	if s.Items != nil {
		visit(s.Items.Schema, see)
	}
	if s.AdditionalProperties != nil {
		visit(s.AdditionalProperties.Schema, see)
	}
}

// What LanguageOf tells of a name is what the rule on languages takes it for.
func TestLanguageOf(t *testing.T) {
	for name, want := range map[string]v1alpha1.Language{
		"a.star": v1alpha1.Starlark, "a/b.js": v1alpha1.JavaScript, "a.ts": v1alpha1.TypeScript, "a.d.ts": "", "a.jsonnet": v1alpha1.Jsonnet, "a.libsonnet": v1alpha1.Jsonnet,
		"a.py": "", "star": "", "a.js/b": "", "a.mjs": "", "a.JS": "",
	} {
		if got := v1alpha1.Language(scripts.LanguageOf(name)); got != want {
			t.Errorf("LanguageOf(%q) = %q, want %q", name, got, want)
		}
		valid := len(messages(t, v1alpha1.KindCompositeController, "script: {file: "+name+"}")) == 0
		if valid != (want != "") {
			t.Errorf("a script with file %s and no language is valid: %v", name, valid)
		}
	}
}

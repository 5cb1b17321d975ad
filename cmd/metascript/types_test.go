package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"metascript/scripts/lib/editor"
)

func TestTypesWritesFilesForEditors(t *testing.T) {
	inFolder(t, "-- metascript.d.ts --\nmine\n")
	metascript(t, "types").expect(t, 1, nil, []string{"error: metascript.d.ts exists already, and was not written by metascript types"})
	metascript(t, "types", "nosuch").expect(t, 1, nil, []string{"error: ", "nosuch"})
	metascript(t, "types", "metascript.d.ts").expect(t, 1, nil, []string{"error: metascript.d.ts is a file, want the directory: ."})
	dir := t.TempDir()
	for range 2 {
		metascript(t, "types", dir).expect(t, 0, []string{filepath.Join(dir, "metascript.d.ts") + "\n", "\nStarlark: "}, nil)
	}
	for _, name := range []string{"metascript.d.ts", "jsconfig.json", "metascript.schema.json", "metascript-stubs/yaml.py"} {
		if !strings.Contains(readText(t, filepath.Join(dir, name)), editor.Header) {
			t.Errorf("%s has no header", name)
		}
	}
}

// A directory gets the files for the languages of its scripts.
func TestTypesAreForTheLanguagesOfTheScripts(t *testing.T) {
	for name, want := range map[string]string{
		"sync.star":                       "metascript-stubs metascript.schema.json",
		"lib/sync.js":                     "jsconfig.json metascript.d.ts metascript.schema.json",
		"sync.ts":                         "metascript.d.ts metascript.schema.json tsconfig.json",
		"sync.jsonnet":                    "kinds.libsonnet metascript.schema.json",
		"README.md":                       "jsconfig.json kinds.libsonnet metascript-stubs metascript.d.ts metascript.schema.json",
		"node_modules/a.js --\n-- a.star": "metascript-stubs metascript.schema.json",
	} {
		inFolder(t, typedController+"-- "+name+" --\n")
		got := metascript(t, "types", "-f", "controller.yaml")
		written, _, _ := strings.Cut(got.stdout, "\n\n")
		var names []string
		for file := range strings.FieldsSeq(written) {
			first, _, _ := strings.Cut(file, "/")
			names = append(names, first)
		}
		if text := strings.Join(slices.Compact(names), " "); got.code != 0 || text != want {
			t.Errorf("%s: exit code %d, files %s, want %s\n%s", name, got.code, text, want, got.stderr)
		}
	}
}

// typedController is a controller, and the definition of its parent.
const typedController = `
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: things}
  childResources: [{apiVersion: v1, resource: pods}]
  script: {file: sync.jsonnet}
-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {image: {type: string}}}
          status: {type: object, properties: {phase: {type: string}}}
`

// typedFiles are the controller with a customize hook, and test cases. There are scripts in several languages.
const typedFiles = typedController + `
-- other.js --
-- other.star --
-- parent.yaml --
apiVersion: example.com/v1
kind: Thing
metadata: {name: t}
spec: {image: nginx}
-- cases/first.yaml --
children: []
-- sync.jsonnet --
local kinds = import 'kinds.libsonnet';
{
  customize(parent):: { relatedResources: [{ apiVersion: 'v1', resource: 'secrets', names: ['a'] }] },
  sync(parent):: {
    children: [kinds.Pod({ metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: parent.spec.image }] } })],
    status: kinds.ThingStatus({ phase: 'Ready' }),
  },
}
`

func TestTypesOfAController(t *testing.T) {
	inFolder(t, typedFiles)
	// The script does not load before its import is written.
	metascript(t, "types", "-f", "controller.yaml").expect(t, 0, []string{"kinds.libsonnet\n"}, []string{
		"warning: CompositeController c: the kinds of related objects are not known: ", "kinds.libsonnet",
	})
	if text := readText(t, "metascript.d.ts"); !strings.Contains(text, "export type Related = {} & {readonly [group: string]: {readonly [name: string]: any}};") {
		t.Error("related objects are checked, although their kinds are not known")
	}
	metascript(t, "types", "-f", "controller.yaml").expect(t, 0, []string{"metascript.d.ts\n"}, nil)
	text := readText(t, "metascript.d.ts")
	for _, want := range []string{
		"export type Parent = ObservedThing;", `readonly "Pod.v1": {readonly [name: string]: ObservedPod};`, `readonly "Secret.v1": {readonly [name: string]: ObservedSecret};`,
		"status?: ThingStatus | null;", "export function hash(value: Value): string;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if stubs := readText(t, editor.Stubs); !strings.Contains(stubs, "class ThingSpec:\n    image: str = None\n") || !strings.Contains(stubs, "def hash(") {
		t.Errorf("the stubs are\n%s", stubs)
	}
	metascript(t, "types", "-f", "controller.yaml", "--related", "Namespace.v1").expect(t, 0, []string{"metascript.d.ts\n"}, nil)
	if text := readText(t, "metascript.d.ts"); !strings.Contains(text, `"Namespace.v1"`) || !strings.Contains(text, `"Secret.v1"`) {
		t.Error("not both related kinds have types")
	}
	metascript(t, "types", "-f", "controller.yaml", "--related", "Namespaces.v1").expect(t, 1, nil, []string{`error: --related "Namespaces.v1": the kind Namespaces in v1 is not known: did you mean "kind: Namespace"?`})
	metascript(t, "types", "-f", "parent.yaml").expect(t, 1, nil, []string{"error: no CompositeController and no DecoratorController in parent.yaml"})
}

func TestTypesOfAnUnknownParent(t *testing.T) {
	inFolder(t, typedFiles)
	if err := os.Remove("crd.yaml"); err != nil {
		t.Fatal(err)
	}
	metascript(t, "types", "-f", "controller.yaml").expect(t, 0, []string{"metascript.d.ts\n"}, []string{
		`warning: CompositeController c: resource "things" in example.com/v1 is not known, so its objects are not checked: give the file of its CustomResourceDefinition with -f too, or use --cluster`,
	})
	if text := readText(t, "metascript.d.ts"); !strings.Contains(text, "export type Parent = KubernetesObject;") || !strings.Contains(text, "status?: any | null;") {
		t.Error("the parent has a type")
	}
}

// The functions of kinds.libsonnet accept what is in the schemas, and name a field that is not.
func TestKindsForJsonnet(t *testing.T) {
	inFolder(t, typedFiles)
	metascript(t, "types", "-f", "controller.yaml").expect(t, 0, []string{"metascript.d.ts\n"}, []string{"warning: "})
	run := []string{"run", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml", "--scripts-dir", "."}
	metascript(t, run...).expect(t, 0, []string{"apiVersion: v1\n  kind: Pod\n", "image: nginx", "phase: Ready"}, nil)
	script := readText(t, "sync.jsonnet")
	for _, c := range []struct{ right, wrong, want string }{
		{"containers", "contianers", `Pod.spec: unknown field "contianers"; did you mean containers?`},
		{"image:", "Image:", `Pod.spec.containers[0]: unknown field "Image"; did you mean image or imagePullPolicy?`},
		{"phase", "phse", `status: unknown field "phse"; did you mean phase?`},
		{"metadata", "status: {}, metadata", `Pod: unknown field "status"; did you mean spec?`},
	} {
		if err := os.WriteFile("sync.jsonnet", []byte(strings.ReplaceAll(script, c.right, c.wrong)), 0o600); err != nil {
			t.Fatal(err)
		}
		metascript(t, run...).expect(t, 1, nil, []string{c.want})
	}
}

// A directory has the settings for one language, since an editor reads only one file.
func TestTypesForTypeScript(t *testing.T) {
	inFolder(t, typedFiles+"-- lib/sync.ts --\n")
	metascript(t, "types", "-f", "controller.yaml").expect(t, 0, []string{"tsconfig.json\n"}, []string{"warning: "})
	if _, err := os.Stat("jsconfig.json"); err == nil {
		t.Error("there are also settings for JavaScript")
	}
	if text := readText(t, "metascript.d.ts"); !strings.Contains(text, "export type Children = {\n  readonly \"Pod.v1\": {readonly [name: string]: ObservedPod};\n};") {
		t.Error("the types are not strict")
	}
}

// What the types accept, a script can do: this one has no error in TypeScript, see test/types.sh.
func TestTypedScriptRuns(t *testing.T) {
	data, err := filepath.Abs("internal/types/testdata")
	if err != nil {
		t.Fatal(err)
	}
	controller := strings.ReplaceAll(readText(t, filepath.Join(data, "controller.yaml")), `inline: "function sync() { return {children: []}; }"`, "file: correct.js")
	inFolder(t, "-- controller.yaml --\n"+controller+"-- parent.yaml --\n{apiVersion: example.com/v1, kind: Site, metadata: {name: a}, spec: {image: nginx, port: http}}\n")
	run := []string{"run", "-f", "controller.yaml", "-f", filepath.Join(data, "crd.yaml"), "--scripts-dir", data, "--parent", "parent.yaml"}
	metascript(t, run...).expect(t, 0, []string{"kind: Deployment", "targetPort: http", "keep: 5", "reason: Synced", "phase: Pending"}, []string{"limits.cpu: 0.5 is stored as 500m"})
	metascript(t, append(run, "--finalizing")...).expect(t, 0, []string{"finalized: true", "phase: Pending"}, nil)
}

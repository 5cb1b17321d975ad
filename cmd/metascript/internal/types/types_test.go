package types

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/controller/kinds"
	"metascript/controller/schemas"
	"metascript/controller/spec"
	"metascript/scripts/lib/editor"
)

var update = flag.Bool("update", false, "write the files in testdata/golden")

// read returns the controllers in a text, and the kinds that they may have.
func read(t *testing.T, text string) ([]Controller, *schemas.Set) {
	t.Helper()
	crds, err := os.ReadFile("testdata/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := manifest.Parse("test.yaml", []byte(text+"\n---\n"+string(crds)))
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := manifest.CRDs(docs)
	if err != nil {
		t.Fatal(err)
	}
	set, err := schemas.Kubernetes().With(definitions...)
	if err != nil {
		t.Fatal(err)
	}
	var all []Controller
	for _, doc := range manifest.Controllers(docs) {
		d, err := spec.Read(doc.Object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Of(d, set.Kinds()))
	}
	return all, set
}

func generate(t *testing.T, set *schemas.Set, controllers []Controller, strict bool) *Texts {
	t.Helper()
	texts, err := Generate(set, controllers, strict)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

const (
	composite = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: sites}
spec:
  parentResource: {apiVersion: example.com/v1, resource: sites}
  childResources: [{apiVersion: v1, resource: configmaps}, {apiVersion: example.com/v1, resource: backups}]
`
	decorator = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: 2.labels-and-more}
spec:
  resources: [{apiVersion: v1, resource: configmaps}, {apiVersion: v1, resource: namespaces}, {apiVersion: v1, resource: configmaps}]
  attachments: [{apiVersion: example.com/v1, resource: others}]
`
)

// The golden files are the output for a CustomResourceDefinition that has every form of a schema.
func TestGolden(t *testing.T) {
	controllers, set := read(t, composite)
	related, err := Parse(set.Kinds(), "Namespace.v1")
	if err != nil {
		t.Fatal(err)
	}
	controllers[0].AddRelated(related, related)
	texts := generate(t, set, controllers, false)
	for name, got := range map[string]string{"site.d.ts": texts.TypeScript, "site.py": texts.Starlark, "site.libsonnet": texts.Jsonnet} {
		file := filepath.Join("testdata/golden", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got); if the change is wanted, run go test with -update:\n%s", name, diff)
		}
	}
}

// Each controller has a namespace, and uses the types of kinds in common.
func TestSeveralControllers(t *testing.T) {
	controllers, set := read(t, composite+"---"+decorator)
	text := generate(t, set, controllers, true).TypeScript
	checkDeclarations(t, text)
	for _, want := range []string{
		"export namespace sites {\n  /** The parent that the functions of CompositeController sites get. */\n  export type Parent = ObservedSite;",
		"export namespace _2LabelsAndMore {",
		"export type Parent = ObservedConfigMap | ObservedNamespace;",
		// Only ConfigMaps have no status.
		"status?: NamespaceStatus | null;",
		"export type Attachment = Others | NoKind;",
		"export interface Others {\n  apiVersion: \"example.com/v1\";\n  kind: string;\n  metadata: NamedMeta;\n  [field: string]: any;\n}",
		"readonly object: Parent;",
		"readonly attachments: Attachments;",
		"export type Attachments = {} & {readonly [group: string]: {readonly [name: string]: any}};",
		"labels?: {[key: string]: string | null};",
		"export type DecoratorSync = (request: DecoratorSyncRequest) => DecoratorSyncResponse;",
		// TypeScript itself says that there is no other group.
		"  export type Children = {\n    readonly \"ConfigMap.v1\": {readonly [name: string]: ObservedConfigMap};\n    readonly \"Backup.example.com/v1\": {readonly [name: string]: ObservedBackup};\n  };",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no\n%s", want)
		}
	}
}

func TestUnknownKinds(t *testing.T) {
	controllers, set := read(t, strings.ReplaceAll(composite, "resource: configmaps", "resource: configmap")+"---"+decorator)
	var got []string
	for i := range controllers {
		got = append(got, controllers[i].Unknown(set.Kinds())...)
	}
	want := []string{
		`resource "configmap" in v1 is not known, so its objects are not checked: did you mean "resource: configmaps"?`,
		`resource "others" in example.com/v1 is not known, so its objects are not checked: give the file of its CustomResourceDefinition with -f too, or use --cluster`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	checkDeclarations(t, generate(t, set, controllers, false).TypeScript)
}

func TestParse(t *testing.T) {
	for group, want := range map[string]string{
		"Secret.v1":          "",
		"Deployment.apps/v1": "",
		"Secret":             `"Secret": want a kind and its API version, such as Secret.v1 or Deployment.apps/v1`,
		"Deployment.v1":      `"Deployment.v1": the kind Deployment in v1 is not known: did you mean "apiVersion: apps/v1"?`,
		"Certificate.cert-manager.io/v1": `"Certificate.cert-manager.io/v1": the kind Certificate in cert-manager.io/v1 is not known: ` +
			`give the file of its CustomResourceDefinition with -f too, or use --cluster`,
	} {
		k, err := Parse(kinds.Kubernetes(), group)
		switch {
		case err == nil && k.group() != group:
			t.Errorf("%s: got %s", group, k.group())
		case err == nil && want != "", err != nil && err.Error() != want:
			t.Errorf("%s: error %v", group, err)
		}
	}
}

// The types of all kinds of Kubernetes have no name twice, and use only names that exist.
func TestAllKindsOfKubernetes(t *testing.T) {
	set := schemas.Kubernetes()
	c := Controller{ID: spec.ID{Kind: "CompositeController", Name: "all"}}
	for _, r := range set.Kinds() {
		c.Children = append(c.Children, Kind(r))
		c.Parents = append(c.Parents, Kind(r))
	}
	for _, strict := range []bool{false, true} {
		texts := generate(t, set, []Controller{c}, strict)
		if declared := checkDeclarations(t, texts.TypeScript); len(declared) < 500 {
			t.Errorf("there are only %d types", len(declared))
		}
	}
}

var (
	comments    = regexp.MustCompile(`(?s)/\*\*.*?\*/|//[^\n]*`)
	literals    = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	declaration = regexp.MustCompile(`(?m)^ *export (?:declare )?(?:interface|type|namespace|function) (\w+)`)
	keys        = regexp.MustCompile(`(\w+|\[\w+)\??: `)
	names       = regexp.MustCompile(`\b[A-Z]\w*`)
)

// checkDeclarations checks declarations without TypeScript, and returns the names of the types.
func checkDeclarations(t *testing.T, text string) []string {
	t.Helper()
	text = literals.ReplaceAllString(comments.ReplaceAllString(editor.Declare(text), ""), `""`)
	for _, pair := range []string{"{}", "[]", "()"} {
		if opens, closes := strings.Count(text, pair[:1]), strings.Count(text, pair[1:]); opens != closes {
			t.Errorf("there are %d of %q and %d of %q", opens, pair[:1], closes, pair[1:])
		}
	}
	var declared []string
	known := []string{"Promise", "Parameters", "ReturnType", "Partial", "Record", "T", "K", "F", "C"} // of TypeScript, and type parameters
	for _, m := range declaration.FindAllStringSubmatch(text, -1) {
		indented := strings.HasPrefix(m[0], " ") // in a namespace, where another one may have the same name
		if slices.Contains(declared, m[1]) && !indented {
			t.Errorf("%s is declared twice", m[1])
		}
		declared = append(declared, m[1])
	}
	for _, name := range names.FindAllString(keys.ReplaceAllString(text, ""), -1) {
		if !slices.Contains(declared, name) && !slices.Contains(known, name) {
			t.Errorf("%s is used, but not declared", name)
			known = append(known, name)
		}
	}
	return declared
}

// All names that the rest of the file declares are reserved.
func TestReservedNames(t *testing.T) {
	controllers, set := read(t, composite+"---"+decorator)
	m, err := newModel(set, controllers)
	if err != nil {
		t.Fatal(err)
	}
	text := editor.Declare(common + strings.Join(reserved, "\n"))
	for _, found := range declaration.FindAllStringSubmatch(text, -1) {
		if name := found[1]; name[0] >= 'A' && name[0] <= 'Z' && !slices.Contains(reserved, name) {
			t.Errorf("%s is not reserved", name)
		}
	}
	for definition, name := range m.names {
		if slices.Contains(reserved, name) && definition != labelSelector {
			t.Errorf("%s has the name %s", definition, name)
		}
	}
}

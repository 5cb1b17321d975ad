package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func crds(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCRDNames(t *testing.T) {
	type names struct{ name, kind, scope, short string }
	var got []names
	for _, crd := range crds(t) {
		got = append(got, names{crd.Name, crd.Spec.Names.Kind, string(crd.Spec.Scope), strings.Join(crd.Spec.Names.ShortNames, ",")})
		if !strings.HasPrefix(crd.Annotations["api-approved.kubernetes.io"], "unapproved") {
			t.Errorf("%s lacks the annotation without which an API server refuses it", crd.Name)
		}
		if crd.Spec.Versions[0].Subresources.Status == nil {
			t.Errorf("%s has no status subresource", crd.Name)
		}
	}
	want := []names{
		{"compositecontrollers.metacontroller.k8s.io", "CompositeController", "Cluster", "cc,cctl"},
		{"controllerrevisions.metacontroller.k8s.io", "ControllerRevision", "Namespaced", ""},
		{"decoratorcontrollers.metacontroller.k8s.io", "DecoratorController", "Cluster", "dec,decorators"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// kubectl apply keeps a copy of what it applied in an annotation, and annotations hold 256 KiB.
func TestCRDsCanBeApplied(t *testing.T) {
	for _, crd := range crds(t) {
		text, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		compact, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(compact) > 200<<10 {
			t.Errorf("%s is %d bytes as JSON, too close to what kubectl apply can handle", crd.Name, len(compact))
		}
	}
}

func TestEveryFieldHasADescription(t *testing.T) {
	for _, crd := range crds(t) {
		described(t, crd.Spec.Names.Kind, *crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
}

// width is what kubectl explain has for a line of a description. It breaks longer ones and keeps the breaks
// that are there, so a longer line leaves a stub.
const width = 76

// borrowed matches the fields whose descriptions come with the types of Kubernetes.
var borrowed = regexp.MustCompile(`^[A-Za-z]+\.(apiVersion|kind)$|[sS]elector\.match(Labels|Expressions)|status\.conditions\[\]`)

func described(t *testing.T, path string, s apiextensionsv1.JSONSchemaProps) {
	for name, property := range s.Properties {
		at := path + "." + name
		// The API server describes metadata itself.
		if property.Description == "" && !(name == "metadata" && strings.Count(at, ".") == 1) {
			t.Errorf("%s has no description", at)
		}
		for line := range strings.Lines(property.Description) {
			if len(strings.TrimSpace(line)) > width && !borrowed.MatchString(at) {
				t.Errorf("%s: a line of the description is longer than %d: %s", at, width, line)
			}
		}
		described(t, at, property)
	}
	if s.Items != nil {
		described(t, path+"[]", *s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		described(t, path+"[*]", *s.AdditionalProperties.Schema)
	}
}

// The generated files are what the generator makes of the types now.
func TestGenerated(t *testing.T) {
	types := filepath.Join("..", "controller", "api", "v1alpha1")
	line := generate(t, types)
	fresh := t.TempDir()
	line = strings.ReplaceAll(line, "dir=../../../manifests/crds", "dir="+fresh)
	args := append(strings.Fields(line), "output:object:dir="+fresh)
	command := exec.Command(args[0], args[1:]...)
	command.Dir = types
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	entries, err := os.ReadDir(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 4 {
		t.Errorf("%d files were generated, want 3 manifests and 1 Go file", len(entries))
	}
	for _, entry := range entries {
		dir := "crds"
		if filepath.Ext(entry.Name()) == ".go" {
			dir = types
		}
		same(t, filepath.Join(dir, entry.Name()), filepath.Join(fresh, entry.Name()))
	}
}

// generate returns the command after go:generate. It reads all of the types, so that the go command knows that
// the result of the test depends on them.
func generate(t *testing.T, types string) (command string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(types, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, found := strings.Cut(string(source), "\n//go:generate "); found {
			command, _, _ = strings.Cut(rest, "\n")
		}
	}
	if command == "" {
		t.Fatalf("%s has no go:generate line", types)
	}
	return command
}

func same(t *testing.T, kept, fresh string) {
	t.Helper()
	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types say: run make generate", kept)
	}
}

// read decodes every object of the folder, refusing fields that its type does not have.
func read(t *testing.T) map[string][]runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionv1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	found := map[string][]runtime.Object{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if path == "chart" { // it has templates, and links to files of this folder
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".yaml" || filepath.Base(path) == "kustomization.yaml" || path == filepath.Join("monitoring", "rules.yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, document := range documents(t, text) {
			obj, _, err := decoder.Decode(document, nil, nil)
			if filepath.Dir(path) == "monitoring" && runtime.IsNotRegisteredError(err) { // a kind of the Prometheus operator
				obj, _, err = unstructured.UnstructuredJSONScheme.Decode(asJSON(t, document), nil, nil)
			}
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			found[filepath.ToSlash(path)] = append(found[filepath.ToSlash(path)], obj)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func asJSON(t *testing.T, document []byte) []byte {
	t.Helper()
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func documents(t *testing.T, text []byte) [][]byte {
	t.Helper()
	var all [][]byte
	reader := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if compact, err := yaml.YAMLToJSON(document); err != nil || string(compact) != "null" {
			all = append(all, document) // and not a comment before the first
		}
	}
}

// A kustomization lists the files of its folder, or folders with a kustomization. Those of a component are in no other kustomization, so they are not installed
// unless a user asks for them.
func TestKustomizationsListEveryFile(t *testing.T) {
	found := read(t)
	kinds := map[string]string{
		"kustomization.yaml":                              "Kustomization",
		"base/kustomization.yaml":                         "Kustomization",
		"crds/Kustomization":                              "Kustomization",
		"overlays/metacontroller/kustomization.yaml":      "Kustomization",
		"components/account-policy/kustomization.yaml":    "Component",
		"components/leader-election/kustomization.yaml":   "Component",
		"components/least-privilege/kustomization.yaml":   "Component",
		"components/network-policy/kustomization.yaml":    "Component",
		"components/server-side-apply/kustomization.yaml": "Component",
		"monitoring/kustomization.yaml":                   "Component",
	}
	folders := map[string]bool{}
	for file := range kinds {
		folders[path.Dir(file)] = true
	}
	for file, kind := range kinds {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		var kustomization struct {
			APIVersion, Kind string
			Resources        []string

			Labels []struct {
				Pairs map[string]string
			}
			ConfigMapGenerator []struct {
				Name, Namespace string
				Files           []string
				Options         map[string]any
			}
			Patches []struct {
				Path, Patch string
				Target      map[string]string
			}
		}
		if err := yaml.UnmarshalStrict(text, &kustomization); err != nil {
			t.Fatal(err)
		}
		if kustomization.Kind != kind {
			t.Errorf("%s has kind %s, want %s", file, kustomization.Kind, kind)
		}
		listed := kustomization.Resources
		for _, patch := range kustomization.Patches {
			if patch.Path != "" {
				listed = append(listed, patch.Path)
			}
		}
		for _, name := range listed {
			name = path.Join(path.Dir(file), name)
			if found[name] == nil && !folders[name] {
				t.Errorf("%s lists %s, which is not there", file, name)
			}
			delete(found, name)
		}
	}
	for name := range found {
		t.Errorf("no kustomization lists %s", name)
	}
}

// The server has no more permissions with the component than its rules name, and may not act as any account. A rule for a
// single account must be in a Role, since a ClusterRole permits the accounts of that name in all namespaces.
func TestLeastPrivilegeNamesEveryPermission(t *testing.T) {
	roles := 0
	for _, o := range read(t)["components/least-privilege/roles.yaml"] {
		var rules []rbacv1.PolicyRule
		switch o := o.(type) {
		case *rbacv1.ClusterRole:
			rules = o.Rules
		case *rbacv1.Role:
			rules = o.Rules
		default:
			continue
		}
		roles++
		for _, r := range rules {
			for _, word := range slices.Concat(r.APIGroups, r.Resources, r.Verbs) {
				if strings.Contains(word, "*") || strings.HasPrefix(word, "impersonate") {
					t.Errorf("a rule has %q: %v", word, r)
				}
			}
		}
	}
	if roles != 3 {
		t.Errorf("%d roles, want those of the cluster, of the server's namespace and of the namespace default", roles)
	}
}

// Metacontroller's StatefulSet is replaced, not joined, by ours: the same object, with the same fields where a
// StatefulSet cannot be changed.
func TestServerReplacesMetacontroller(t *testing.T) {
	set := read(t)["base/metacontroller.yaml"][0].(*appsv1.StatefulSet)
	if set.Namespace != "metacontroller" || set.Name != "metacontroller" {
		t.Errorf("the server is %s/%s", set.Namespace, set.Name)
	}
	labels := map[string]string{"app.kubernetes.io/name": "metacontroller"}
	for what, differs := range map[string]bool{
		"serviceName":          set.Spec.ServiceName != "",
		"selector":             !maps.Equal(set.Spec.Selector.MatchLabels, labels) || set.Spec.Selector.MatchExpressions != nil,
		"podManagementPolicy":  set.Spec.PodManagementPolicy != "",
		"volumeClaimTemplates": set.Spec.VolumeClaimTemplates != nil,
	} {
		if differs {
			t.Errorf("%s differs from Metacontroller's, and a StatefulSet's cannot be changed", what)
		}
	}
	pod := set.Spec.Template.Spec
	if pod.ServiceAccountName != "metacontroller" || !slices.Equal(pod.Containers[0].Command, []string{"/usr/bin/metacontroller"}) {
		t.Errorf("the pod runs %v as %s", pod.Containers[0].Command, pod.ServiceAccountName)
	}
}

// Nothing about the server is privileged; worker processes need nothing that it lacks.
func TestServerIsNotPrivileged(t *testing.T) {
	pod := read(t)["base/metacontroller.yaml"][0].(*appsv1.StatefulSet).Spec.Template.Spec
	container := pod.Containers[0]
	for what, right := range map[string]bool{
		"it does not run as root":             *pod.SecurityContext.RunAsNonRoot,
		"the runtime's seccomp profile is on": pod.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"it gains no privileges":              !*container.SecurityContext.AllowPrivilegeEscalation,
		"it has no capabilities":              slices.Equal(container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"its root file system is read-only":   *container.SecurityContext.ReadOnlyRootFilesystem,
		"it shares nothing of the host":       !pod.HostPID && !pod.HostNetwork && !pod.HostIPC && len(pod.Volumes) == 0,
		"its memory is limited":               !container.Resources.Limits.Memory().IsZero(),
	} {
		if !right {
			t.Errorf("it is not so that %s", what)
		}
	}
}

// The PrometheusRule has the rules that promtool tests.
func TestPrometheusRuleHasTheRules(t *testing.T) {
	parse := func(name string) map[string]any {
		text, err := os.ReadFile(filepath.Join("monitoring", name))
		if err != nil {
			t.Fatal(err)
		}
		var content map[string]any
		if err := yaml.UnmarshalStrict(text, &content); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return content
	}
	if diff := cmp.Diff(parse("rules.yaml"), parse("prometheusrule.yaml")["spec"]); diff != "" {
		t.Errorf("prometheusrule.yaml differs from rules.yaml: run make generate\n%s", diff)
	}
}

// The table in the documentation has every alert, with the time after which it fires, and the runbook has a section for each.
func TestAlertsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("monitoring", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var content struct {
		Groups []struct {
			Rules []struct {
				Alert, For  string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "server.md"))
	if err != nil {
		t.Fatal(err)
	}
	runbook, err := os.ReadFile(filepath.Join("..", "docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules := content.Groups[0].Rules
	for _, r := range rules {
		if got, want := r.Annotations["runbook_url"], "runbook.md#"+strings.ToLower(r.Alert); got != want || !strings.Contains(string(runbook), "\n## "+r.Alert+"\n") {
			t.Errorf("%s: the runbook has no section, or its link is %q and not %q", r.Alert, got, want)
		}
		if row := "\n| " + r.Alert + " | " + r.For + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/server.md has no row %q", row)
		}
	}
	if rows := strings.Count(string(page), "\n| Metascript"); rows != len(rules) {
		t.Errorf("docs/server.md has %d alerts, and rules.yaml %d", rows, len(rules))
	}
}

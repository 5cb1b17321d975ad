package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/manifest"
)

// rolesIn returns the rules of the roles in a text, a line for each: "Role a/name: verbs resource.group [names]".
func rolesIn(t *testing.T, text string) []string {
	t.Helper()
	docs, err := manifest.Parse("output", []byte(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	var lines []string
	for _, doc := range docs {
		data, err := yaml.Marshal(doc.Object.Map())
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.Role // a ClusterRole has the same fields
		if err := yaml.Unmarshal(data, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			line := fmt.Sprintf("%s %s/%s: %s %s.%s %s", doc.GetKind(), doc.GetNamespace(), doc.GetName(), strings.Join(rule.Verbs, ","), rule.Resources[0], rule.APIGroups[0], strings.Join(rule.ResourceNames, ","))
			lines = append(lines, strings.TrimSuffix(line, " "))
		}
	}
	return lines
}

// expectRoles runs the command, which must succeed, and compares the rules that it prints.
func expectRoles(t *testing.T, want []string, args ...string) result {
	t.Helper()
	got := metascript(t, append([]string{"rbac"}, args...)...)
	if got.code != 0 {
		t.Fatalf("the exit code is %d, and stderr:\n%s", got.code, got.stderr)
	}
	if diff := cmp.Diff(want, rolesIn(t, got.stdout)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	return got
}

// rbacController has everything that an account may need: a finalize hook, rolling children, a Secret, a ConfigMap with the script,
// and a customize hook.
const rbacController = `
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  generateSelector: true
  serviceAccount: {namespace: team, name: account}
  parentResource: {apiVersion: example.com/v1, resource: widgets}
  childResources:
  - {apiVersion: v1, resource: pods, updateStrategy: {method: RollingInPlace}}
  script:
    language: Starlark
    configMapRef: {namespace: team, name: scripts, key: sync.star}
  hooks:
    finalize:
      webhook:
        url: https://example.com/finalize
        authorization: {secretRef: {namespace: hooks, name: token, key: token}}
    customize: {version: v2, script: {}}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: team, name: scripts}
data:
  sync.star: |
    def customize(parent):
        shared = {"apiVersion": "v1", "resource": "configmaps", "namespace": parent["spec"]["shared"]}
        own = {"apiVersion": "v1", "resource": "services", "namespace": parent["metadata"]["namespace"]}
        return {"relatedResources": [shared, own]}

    def sync(parent):
        return {"children": []}
-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
-- parent.yaml --
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: a}
spec: {shared: common}
`

func TestRBACPrintsWhatTheAccountNeeds(t *testing.T) {
	inFolder(t, rbacController)
	const role = "/metascript:compositecontroller:c: "
	got := expectRoles(t, []string{
		"ClusterRole " + role + "get,list,watch,update widgets.example.com",
		"ClusterRole " + role + "update widgets/status.example.com",
		"ClusterRole " + role + "update widgets/finalizers.example.com",
		"ClusterRole " + role + "get,list,watch,create,update,delete pods.",
		"ClusterRole " + role + "get,list,watch,create,update,delete controllerrevisions.metacontroller.k8s.io",
		"ClusterRole " + role + "create,patch events.",
		"ClusterRole " + role + "list,watch services.",
		"Role common" + role + "list,watch configmaps.",
		"Role hooks" + role + "list,watch secrets. token",
		"Role team" + role + "list,watch configmaps. scripts",
	}, "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml", "--part", "account")
	if got.stderr != "" {
		t.Errorf("want nothing on stderr, got:\n%s", got.stderr)
	}
	for _, want := range []string{
		"apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: account\n  namespace: team\n",
		"subjects:\n- kind: ServiceAccount\n  name: account\n  namespace: team\n",
		"# list, watch: the controller refers to Secret hooks/token\n",
		"# Its customize hook was called for one parent. ",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("the output does not contain %q:\n%s", want, got.stdout)
		}
	}
}

func TestRBACOfTheServer(t *testing.T) {
	inFolder(t, rbacController)
	const role = "ClusterRole /metascript:compositecontroller:c:server: "
	got := expectRoles(t, []string{
		role + "get,list,watch,update widgets.example.com",
		role + "get,list,watch pods.",
		role + "get,list,watch controllerrevisions.metacontroller.k8s.io",
		role + "get,list,watch secrets. token",
		role + "get,list,watch configmaps.", // also the one with the script
		role + "get,list,watch services.",
		"Role team/metascript:compositecontroller:c:server: impersonate serviceaccounts. account",
	}, "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml", "--part", "server")
	if !strings.Contains(got.stdout, `metacontroller.k8s.io/aggregate-to-server: "true"`) || strings.Contains(got.stdout, "kind: ServiceAccount\nmetadata") {
		t.Errorf("want a ClusterRole with the label, and no ServiceAccount:\n%s", got.stdout)
	}
}

// With constrained impersonation the server may act as the account in the requests that it sends as the account, and in no others.
func TestRBACOfTheServerWithConstrainedImpersonation(t *testing.T) {
	inFolder(t, rbacController)
	got := metascript(t, "rbac", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml", "--part", "server", "--constrained-impersonation", "-n", "a", "--server-account", "home/server")
	lines := rolesIn(t, got.stdout)
	for _, want := range []string{
		"Role team/metascript:compositecontroller:c:server: impersonate:serviceaccount serviceaccounts.authentication.k8s.io account",
		"Role a/metascript:compositecontroller:c:server: impersonate-on:serviceaccount:update widgets/status.example.com",
		"Role a/metascript:compositecontroller:c:server: impersonate-on:serviceaccount:get,impersonate-on:serviceaccount:create,impersonate-on:serviceaccount:update,impersonate-on:serviceaccount:delete pods.",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no %s in:\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if strings.Contains(got.stdout, "serviceaccount:list") || strings.Contains(got.stdout, "finalizers\n") || !strings.Contains(got.stdout, "name: server\n  namespace: home") {
		t.Errorf("lists are requests of the server itself, and the account of the server is home/server:\n%s", got.stdout)
	}
}

func TestRBACInNamespaces(t *testing.T) {
	inFolder(t, rbacController)
	got := metascript(t, "rbac", "-f", ".", "--parent", "parent.yaml", "--part", "account", "--namespace", "a", "-n", "b")
	lines := rolesIn(t, got.stdout)
	for _, want := range []string{
		"Role a/metascript:compositecontroller:c: get,list,watch,update widgets.example.com",
		"Role b/metascript:compositecontroller:c: create,patch events.",
		"Role b/metascript:compositecontroller:c: list,watch services.",
		"Role common/metascript:compositecontroller:c: list,watch configmaps.",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no %s in:\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if strings.Contains(got.stdout, "ClusterRole") {
		t.Errorf("there is a ClusterRole although everything is in namespaces:\n%s", got.stdout)
	}
}

// What a customize hook asks for is not known without calling it, which is said in the output and on standard error.
func TestRBACOfACustomizeHookThatIsNotCalled(t *testing.T) {
	inFolder(t, rbacController)
	const missing = "what its customize hook asks for is known only when the hook is called, and is missing: name parents with --parent FILE, or directories of test cases with --cases DIR, or run the controllers against a cluster for some time with --observe 10m\n"
	metascript(t, "rbac", "-f", "controller.yaml", "-f", "crd.yaml").expect(t, 0, []string{"# Not complete: " + missing}, []string{"warning: CompositeController c: " + missing})
}

func TestRBACFindsTheCasesBesideTheController(t *testing.T) {
	for _, args := range [][]string{
		{"-f", example("secret-propagation", "controller.yaml")},
		{"-f", example("secret-propagation", "")},
		{"-f", example("secret-propagation", "controller.yaml"), "--cases", example("secret-propagation", "")},
	} {
		got := metascript(t, append([]string{"rbac", "--service-account", "team/account"}, args...)...)
		got.expect(t, 0, []string{"# Its customize hook was called for 3 parents.", "list, watch: hooks get the children; the customize hook asks for them"}, nil)
	}
}

// The controllers of the examples need nothing that is not known without a cluster.
func TestRBACOfTheExamples(t *testing.T) {
	for _, name := range exampleNames(t) {
		got := metascript(t, "rbac", "-f", example(name, ""), "--service-account", "team/account")
		got.expect(t, 0, []string{"kind: ServiceAccount", "kind: ClusterRole"}, nil)
		if n := strings.Count(got.stdout, "kind: ServiceAccount\nmetadata:"); n != 1 {
			t.Errorf("%s: the account is printed %d times, want once", name, n)
		}
		rolesIn(t, got.stdout)
	}
}

func TestRBACOfServerSideApply(t *testing.T) {
	inFolder(t, strings.Replace(rbacController, "method: RollingInPlace", "method: OnDelete", 1))
	pods := func(args ...string) string {
		got := metascript(t, append([]string{"rbac", "-f", ".", "--parent", "parent.yaml", "--part", "account"}, args...)...)
		lines := rolesIn(t, got.stdout)
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasSuffix(line, " pods.") })
		return lines[at]
	}
	for want, args := range map[string][]string{
		"get,list,watch,create,update,delete pods.":       nil,
		"get,list,watch,create,update,patch,delete pods.": {"--apply-strategy", "server-side-apply"},
	} {
		if got := pods(args...); !strings.HasSuffix(got, want) {
			t.Errorf("%v: %s, want %s", args, got, want)
		}
	}
}

// Each case changes the files in one place.
func TestRBACErrors(t *testing.T) {
	files := []string{"-f", "controller.yaml", "-f", "crd.yaml"}
	for _, c := range []struct {
		name, old, new string
		args           []string
		want           string
	}{
		{"no account", "  serviceAccount: {namespace: team, name: account}\n", "", files,
			"error: controller.yaml:4:1: CompositeController c: it has no spec.serviceAccount: set it, or propose one with --service-account NAMESPACE/NAME"},
		{"no definition", "", "", files[:2],
			`error: controller.yaml:7:58: CompositeController c: parentResource: the scope of resource "widgets" in example.com/v1 is not known: give its CustomResourceDefinition with -f too`},
		{"no status", "subresources: {status: {}}, ", "", files, "error: controller.yaml:7:3: CompositeController c: CRD [widgets.example.com] does not have subresource 'Status' enabled"},
		{"no controller", "kind: CompositeController", "kind: Other", files, "error: no CompositeController and no DecoratorController in controller.yaml, crd.yaml"},
		{"no script", "name: scripts}\ndata", "name: others}\ndata", files, "it is not in the files: pass its file too, or write it into the file of the controller"},
		{"a script that does not compile", "def sync(parent):", "def sync(parent:", files, "sync.star:"},
		{"a parent of something else", "kind: Widget\nmetadata: {name: w,", "kind: Other\nmetadata: {name: w,", append(files, "--parent", "parent.yaml"), "error: parent.yaml: Other a/w is not a parent of a controller in the files"},
		{"a customize hook that fails", "spec: {shared: common}", "spec: {}", append(files, "--parent", "parent.yaml"), "error: parent.yaml: Widget a/w: the customize hook of CompositeController c fails: controller.yaml:26:92: sync.star:2:"},
		{"an unknown related resource", `"resource": "configmaps"`, `"resource": "gadgets"`, append(files, "--parent", "parent.yaml"), `there is no resource "gadgets" in v1`},
		{"no cases", "", "", append(files, "--cases", "."), "error: . has no directory cases"},
		{"an account that is none", "", "", append(files, "--service-account", "account"), `error: --service-account "account": want NAMESPACE/NAME`},
		{"no cluster", "", "", append(files, "--check", "--kubeconfig", "nosuch"), "error: find a cluster: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(rbacController, c.old, c.new, 1)
			if c.old != "" && text == rbacController {
				t.Fatalf("%q is not in the files", c.old)
			}
			inFolder(t, text)
			metascript(t, append([]string{"rbac"}, c.args...)...).expect(t, 1, nil, []string{c.want})
		})
	}
}

func TestRBACOfControllersWithoutAnAccount(t *testing.T) {
	const account = "# Set in its spec: serviceAccount: {namespace: team, name: account}\n"
	text := strings.ReplaceAll(strings.ReplaceAll(sound("c")+"---\n"+sound("d"), "example.com/v1", "v1"), "widgets", "pods")
	got := metascriptReading(t, text, "rbac", "-f", "-", "--service-account", "team/account")
	got.expect(t, 0, []string{account, "name: metascript:compositecontroller:c\n", "name: metascript:compositecontroller:d\n"}, nil)
}

// The List has the same objects as the YAML documents, and kubectl can apply it.
func TestRBACForPrograms(t *testing.T) {
	inFolder(t, rbacController)
	args := []string{"rbac", "-f", "controller.yaml", "-f", "crd.yaml", "--parent", "parent.yaml"}
	documents := rolesIn(t, metascript(t, args...).stdout)
	got := metascript(t, append(args, "-o", "json")...)
	got.expect(t, 0, []string{`"kind": "List"`}, nil)
	list := parseYAML(t, got.stdout)
	var text strings.Builder
	for _, item := range list["items"].([]any) {
		document, err := yaml.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(document))
	}
	if diff := cmp.Diff(documents, rolesIn(t, text.String())); diff != "" {
		t.Errorf("roles (-YAML +List):\n%s", diff)
	}
}

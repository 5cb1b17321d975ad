package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-jsonnet/formatter"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/scaffold"
	"metascript/engine"
)

// initialized runs init in a new folder, and returns the folder of the project.
func initialized(t *testing.T, args ...string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	got := metascript(t, append([]string{"init"}, args...)...)
	got.expect(t, 0, []string{"\nNext:\n"}, nil)
	return args[0]
}

// Whatever the options are, the new controller is valid, and its script returns what its cases say.
func TestInitializedProjectsWork(t *testing.T) {
	for _, language := range scaffold.Languages() {
		for _, c := range []struct{ kind, parent, children string }{
			{"Composite", "", ""},
			{"Composite", "", "Deployment,Service"},
			{"Composite", "", "Redis.db.example.com/v1"},
			{"Composite", "Cache.db.example.org/v1beta1", "ConfigMap,Pod,Job,Gateway.db.example.com/v1"},
			{"Composite", "", "StatefulSet,DaemonSet,CronJob,Ingress,NetworkPolicy,PersistentVolumeClaim,PodDisruptionBudget,Role,ServiceAccount"},
			{"Composite", "", "Service,Service.serving.knative.dev/v1,ControllerRevision"},
			{"Decorator", "Deployment", ""},
			{"Decorator", "Deployment", "Service,Redis.db.example.com/v1"},
			{"Decorator", "Namespace", "NetworkPolicy,Deployment,Pod"},
			{"Decorator", "Node", "ClusterRole,ConfigMap"},
			{"Decorator", "Certificate.cert-manager.io/v1", "Job,StatefulSet"},
		} {
			t.Run(fmt.Sprintf("%s %s %s of %s", language, c.kind, c.parent, c.children), func(t *testing.T) {
				args := []string{"my-app", "--language", language, "--kind", c.kind}
				if c.parent != "" {
					args = append(args, "--parent", c.parent)
				}
				if c.children != "" {
					args = append(args, "--children", c.children)
				}
				testProject(t, initialized(t, args...), c.kind)
			})
		}
	}
}

// testProject checks and tests the project in the folder dir, and checks how its files are written.
func testProject(t *testing.T, dir, kind string) {
	t.Helper()
	hooks := map[string]string{"Composite": "ok, hooks: sync\n", "Decorator": "ok, hooks: finalize, sync\n"}
	got := metascript(t, "check", "-f", filepath.Join(dir, "controller.yaml"), "-f", filepath.Join(dir, "parent.yaml"))
	got.expect(t, 0, []string{hooks[kind], "parent.yaml: "}, nil)
	if kind == "Composite" && !regexp.MustCompile(`parent.yaml: \w+ example: ok\n`).MatchString(got.stdout) {
		t.Errorf("the parent is not checked:\n%s", got.stdout)
	}
	if strings.Contains(got.stdout, "warning") {
		t.Errorf("there is a warning:\n%s", got.stdout)
	}
	if text := readText(t, filepath.Join(dir, "controller.yaml")); !strings.Contains(text, "\n  applyStrategy: ServerSideApply\n") {
		t.Errorf("a new controller does not use server-side apply:\n%s", text)
	}
	testDirectory(t, dir)
	got = metascript(t, "test", dir)
	got.expect(t, 0, []string{" cases: all as expected\n"}, nil)
	metascript(t, "simulate", dir).expect(t, 0, []string{": runs\n", " expectations: all are met\n"}, nil)
	testText(t, dir)
	testTypes(t, dir)
}

// testDirectory checks that the directory can be an argument: the files that have no objects, such as kustomization.yaml, are not read.
func testDirectory(t *testing.T, dir string) {
	t.Helper()
	metascript(t, "check", "-f", dir).expect(t, 0, []string{"controller.yaml: ", "parent.yaml: "}, nil)
	metascript(t, "check", "-f", filepath.Join(dir, "*.yaml")).expect(t, 0, []string{"controller.yaml: ", "parent.yaml: "}, nil)
}

func TestCommandsReadTheDirectoryOfAnInitializedProject(t *testing.T) {
	dir := initialized(t, "my-app")
	metascript(t, "run", "-f", dir, "--parent", filepath.Join(dir, "parent.yaml")).expect(t, 0, []string{"children:\n"}, nil)
	metascript(t, "rbac", "-f", dir, "--service-account", "default/app").expect(t, 0, []string{"kind: ServiceAccount"}, nil)
}

// testTypes checks that the types are those of the controller: writing them again changes nothing.
func testTypes(t *testing.T, dir string) {
	t.Helper()
	before := texts(t, dir)
	if got := metascript(t, "types", "-f", dir, dir); got.code != 0 {
		t.Errorf("types: exit code %d: %s", got.code, got.stderr)
	}
	if diff := cmp.Diff(before, texts(t, dir)); diff != "" {
		t.Errorf("files (-init +types):\n%s", diff)
	}
}

// texts returns the texts of the files in a folder and below it, by name.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all[path] = readText(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// untidy matches what no file should have: spaces at the end of a line, several blank lines, a tab in YAML and JSON, and what a template
// writes for a missing value.
var untidy = regexp.MustCompile(`[ \t]\n|\n\n\n|<no value>|<nil>|\{\{|^\n|[^\n]\z|\n\n\z`)

// testText checks how the files of a project are written.
func testText(t *testing.T, dir string) {
	t.Helper()
	for path, text := range texts(t, dir) {
		if strings.Contains(path, "-stubs") || strings.HasPrefix(filepath.Base(path), "metascript.") || filepath.Base(path) == "kinds.libsonnet" {
			continue // it is written for editors
		}
		if found := untidy.FindString(text); found != "" {
			t.Errorf("%s contains %q:\n%s", path, found, text)
		}
		if filepath.Ext(path) == ".yaml" && strings.Contains(text, "\t") {
			t.Errorf("%s has a tab", path)
		}
		if filepath.Ext(path) == ".jsonnet" {
			formatted, err := formatter.Format(path, text, formatter.DefaultOptions())
			if diff := cmp.Diff(formatted, text); err != nil || diff != "" {
				t.Errorf("%s is not formatted (-jsonnetfmt +got), error %v:\n%s", path, err, diff)
			}
		}
	}
}

// The answers in new cases are written as --update writes them, so that an update shows only what has changed.
func TestCasesOfInitializedProjectAreWrittenLikeUpdates(t *testing.T) {
	for _, kind := range []string{"Composite", "Decorator"} {
		t.Run(kind, func(t *testing.T) {
			dir := initialized(t, "my-app", "--kind", kind, "--parent", map[string]string{"Composite": "My.example.com/v1", "Decorator": "Pod"}[kind])
			path := filepath.Join(dir, "cases", "new.yaml")
			want := readText(t, path)
			above, _, _ := strings.Cut(want, "answer:")
			if err := os.WriteFile(path, []byte(above), 0o600); err != nil {
				t.Fatal(err)
			}
			metascript(t, "test", "--update", dir).expect(t, 0, []string{": updated"}, nil)
			if diff := cmp.Diff(want, readText(t, path)); diff != "" {
				t.Errorf("cases/new.yaml (-init +update):\n%s", diff)
			}
		})
	}
}

// A test of a new project can fail: the cases are about what the script returns.
func TestCasesOfInitializedProjectNoticeAnEdit(t *testing.T) {
	for language, edit := range map[string][2]string{
		engine.Starlark:   {`"replicas": spec["replicas"]`, `"replicas": 7`},
		engine.JavaScript: {`replicas: spec.replicas`, `replicas: 7`},
		engine.TypeScript: {`replicas: spec.replicas`, `replicas: 7`},
		engine.Jsonnet:    {`replicas: spec.replicas`, `replicas: 7`},
	} {
		t.Run(language, func(t *testing.T) {
			dir := initialized(t, "my-app", "--language", language)
			script, err := filepath.Glob(filepath.Join(dir, "sync.*"))
			if err != nil || len(script) != 1 {
				t.Fatalf("scripts %v, error %v", script, err)
			}
			text := strings.Replace(readText(t, script[0]), edit[0], edit[1], 1)
			if err := os.WriteFile(script[0], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			metascript(t, "test", dir).expect(t, 1, []string{"replicas: 7", "3 cases: 2 "}, []string{"error: "})
		})
	}
}

// No file is overwritten, and none is written beside those that exist.
func TestInitOverwritesNothing(t *testing.T) {
	dir := initialized(t, "my-app")
	for _, name := range []string{"README.md", "crd.yaml", "parent.yaml"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	kept := []string{"controller.yaml", "sync.star", "cases/new.yaml", "cases/ready.yaml", "cases/invalid-version.yaml", "simulate.yaml", "rbac.yaml", "namespace.yaml", "kustomization.yaml"}
	want := "error: nothing was written, because there already is "
	for _, name := range kept {
		want += filepath.Join(dir, name) + ", "
	}
	got := metascript(t, "init", "my-app")
	got.expect(t, 1, nil, []string{want})
	if !strings.HasSuffix(got.stderr, ": choose another directory with --dir\n") {
		t.Errorf("the error has no hint: %s", got.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "README.md")); !os.IsNotExist(err) {
		t.Errorf("README.md was written: %v", err)
	}
	metascript(t, "init", "my-app", "--dir", "another one").expect(t, 0, []string{"\n  cd 'another one'\n", filepath.Join("another one", "crd.yaml")}, nil)
}

func TestInitOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	got := metascript(t, "init", "web-app", "--language", "jsonnet", "--children", "Deployment,Redis.db.example.com/v1", "--dir", ".")
	want := `README.md
crd.yaml
controller.yaml
sync.jsonnet
parent.yaml
cases/new.yaml
cases/ready.yaml
cases/invalid-version.yaml
simulate.yaml
rbac.yaml
namespace.yaml
kustomization.yaml
kinds.libsonnet
metascript.schema.json

CompositeController web-app: a Deployment and a Redis for each WebApp.example.com/v1alpha1.
Redis.db.example.com/v1 is not a kind of Kubernetes. Its plural name in controller.yaml, redis, is a guess: compare it with "kubectl api-resources".
Whoever can edit the objects of the namespace web-app can do what the controller can do.
"kubectl delete -k" deletes this namespace, with everything in it.

Next:
  metascript check -f controller.yaml
  metascript test .
  metascript simulate .
  kubectl apply -f crd.yaml && metascript dev -f controller.yaml   # in a cluster
  kubectl apply -f parent.yaml   # in another terminal
  kubectl apply -k .   # the server in the cluster runs it
`
	if diff := cmp.Diff(want, got.stdout); got.code != 0 || diff != "" {
		t.Errorf("the exit code is %d, and the output (-want +got):\n%s%s", got.code, diff, got.stderr)
	}
}

// The account of a new controller, and its script, are in a namespace that nobody else uses. One that the user names exists already.
func TestNamespaceOfInitializedProject(t *testing.T) {
	for _, c := range []struct {
		args, namespace string
		own             bool
	}{
		{"", "my-app", true},
		{"--kind Decorator --parent Pod", "my-app", true},
		{"--service-account team/web", "team", false},
		{"--service-account default/my-app", "default", false},
	} {
		t.Run(c.args, func(t *testing.T) {
			dir := initialized(t, append([]string{"my-app"}, strings.Fields(c.args)...)...)
			all := texts(t, dir)
			if text, has := all[filepath.Join(dir, "namespace.yaml")]; has != c.own || has && !strings.HasSuffix(text, "\nkind: Namespace\nmetadata:\n  name: my-app\n") {
				t.Errorf("namespace.yaml exists: %t, want %t\n%s", has, c.own, text)
			}
			kustomization, readme := all[filepath.Join(dir, "kustomization.yaml")], all[filepath.Join(dir, "README.md")]
			if strings.Contains(kustomization, "- namespace.yaml\n") != c.own || strings.Count(kustomization, "namespace: "+c.namespace) != 2 {
				t.Errorf("want the namespace %s, written: %t; there is\n%s", c.namespace, c.own, kustomization)
			}
			if strings.Contains(readme, "deletes it with everything in it") != c.own || !strings.Contains(readme, "the namespace `"+c.namespace+"` can change the script") {
				t.Errorf("want the namespace %s, deleted: %t; there is\n%s", c.namespace, c.own, readme)
			}
		})
	}
}

// Names that are words of YAML with another meaning are strings in all files.
func TestInitWithWordsOfYAML(t *testing.T) {
	for _, c := range []string{
		"true", "y", "on", "no", "null", "off", "n --language javascript", "yes --language jsonnet --children No.example.org/on",
		"app --parent Y.example.com/v1", "app --parent True.true.io/yes --language typescript", "app --parent Null.example.com/null",
		"app --parent Ye.example.com/y --children On.example.org/v1", "app --service-account team/true", "app --service-account 1e3/null",
		"app --service-account 2026-01-02/0x1f", "app --service-account 123/0b1", "app --server-account on/0o17",
		"no --kind Decorator --parent Null.example.com/v1",
	} {
		t.Run(c, func(t *testing.T) {
			args := strings.Fields(c)
			dir := initialized(t, args...)
			for path, text := range texts(t, dir) {
				if filepath.Ext(path) == ".yaml" {
					testWords(t, path, text)
				}
			}
			kind := "Composite"
			if slices.Contains(args, "Decorator") {
				kind = "Decorator"
			}
			testProject(t, dir, kind)
		})
	}
}

// testWords checks that in each document all keys, and all values that are names, are strings for both versions of YAML.
func testWords(t *testing.T, path, text string) {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		for version, decode := range map[string]func([]byte, any) error{
			"1.1": func(text []byte, into any) error { return yaml.Unmarshal(text, into) }, "1.2": yamlv3.Unmarshal,
		} {
			var value any
			if err := decode([]byte(document), &value); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			testNames(t, path+" in YAML "+version, value)
		}
	}
}

func testNames(t *testing.T, where string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[any]any:
		t.Errorf("%s: a key is not a string: %v", where, value)
	case []any:
		for _, item := range value {
			testNames(t, where, item)
		}
	case map[string]any:
		for key, item := range value {
			_, is := item.(string)
			_, schema := item.(map[string]any) // a field that is called so
			if slices.Contains([]string{"kind", "name", "namespace", "apiVersion", "group", "plural", "singular", "resource", "key"}, key) && !is && !schema {
				t.Errorf("%s: %s is %v", where, key, item)
			}
			testNames(t, where, item)
		}
	}
}

func TestInitErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "want one NAME, such as metascript init webapp"},
		{"a b", "want one NAME, such as metascript init webapp"},
		{"my_app", `the name "my_app": want lower-case letters, digits and dashes, beginning with a letter, at most 50 characters; did you mean my-app?`},
		{"MyApp", `the name "MyApp": want lower-case letters, digits and dashes, beginning with a letter, at most 50 characters; did you mean my-app?`},
		{"7", `the name "7": want lower-case letters, digits and dashes, beginning with a letter, at most 50 characters`},
		{"app --language starlrk", `--language "starlrk": want Starlark, JavaScript, TypeScript or Jsonnet; did you mean "Starlark"?`},
		{"app --kind decorater", `--kind "decorater": want Composite or Decorator; did you mean "Decorator"?`},
		{"app --children Deploymnet.apps/v1", `--children "Deploymnet.apps/v1": Kubernetes has no kind Deploymnet.apps/v1; did you mean Deployment.apps/v1?`},
		{"app --children Service,deployments", `--children "Service,deployments": Kubernetes has no kind deployments; did you mean Deployment.apps/v1?`},
		{"app --children Deployment.extensions/v1beta1", `--children "Deployment.extensions/v1beta1": Kubernetes has no kind Deployment.extensions/v1beta1; did you mean Deployment.apps/v1?`},
		{"app --children Deployment,Deployment.apps/v1", "--children has Deployment.apps/v1 twice"},
		{"app --children Deployment,", `--children "Deployment,": "" is not a kind: write it with its group and version, such as Deployment.apps/v1 or Service.v1`},
		{"app --children ClusterRole", "--children ClusterRole.rbac.authorization.k8s.io/v1 has no namespace, but the parent App.example.com/v1alpha1 has one: Kubernetes does not permit that an object in a namespace owns such an object"},
		{"app --children App.example.com/v1alpha1", "--children App.example.com/v1alpha1 is the kind of the parent too: the children would be parents"},
		{"app --parent Deployment", "--parent Deployment.apps/v1 is a kind of Kubernetes, but the parent of a CompositeController is a kind of your own: leave it out for App.example.com/v1alpha1, or decorate deployments with --kind Decorator"},
		{"app --kind Decorator", "a DecoratorController needs --parent, the kind that it decorates, such as --parent Deployment.apps/v1"},
		{"default", "the namespace of the controller would be default, which is not a new one, and would be deleted with the controller: choose another NAME, or set --service-account"},
		{"kube-system", "the namespace of the controller would be kube-system, which is not a new one, and would be deleted with the controller: choose another NAME, or set --service-account"},
		{"metascript", "the namespace of the controller would be metascript, which is not a new one, and would be deleted with the controller: choose another NAME, or set --service-account"},
		{"app --server-account app/server", "the namespace of the controller would be app, which is not a new one, and would be deleted with the controller: choose another NAME, or set --service-account"},
		{"app --service-account app", `--service-account "app": want NAMESPACE/NAME, such as default/controller`},
		{"app --server-account Server/a", `--server-account "Server/a": want NAMESPACE/NAME, such as default/controller`},
		{"app --nosuch", "unknown flag --nosuch: see metascript init --help"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Chdir(t.TempDir())
			got := metascript(t, append([]string{"init"}, strings.Fields(c.args)...)...)
			if want := "error: " + c.want + "\n"; got.code != 2 || got.stderr != want || got.stdout != "" {
				t.Errorf("the exit code is %d, and the output (-want +got):\n%s%s", got.code, cmp.Diff(want, got.stderr), got.stdout)
			}
			if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
				t.Errorf("something was written: %v, error %v", entries, err)
			}
		})
	}
}

func TestInitCompletion(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--language ", []string{"Starlark\nJavaScript\nTypeScript\nJsonnet\n"}},
		{"--kind ", []string{"Composite\n", "Decorator\n"}},
		{"--parent ", []string{"Namespace.v1\n", "Deployment.apps/v1\n"}},
		{"--children ", []string{"Service.v1\n"}},
		{"--children Service.v1,", []string{"Service.v1,ConfigMap.v1\n"}},
	} {
		flag, value, _ := strings.Cut(c.args, " ")
		metascript(t, "__complete", "init", "app", flag, value).expect(t, 0, c.want, []string{"Completion ended"})
	}
}

// rbac.yaml is what "metascript rbac" prints for what the kustomization applies: the controller, whose script is in a ConfigMap.
func TestRolesOfInitializedProject(t *testing.T) {
	for _, c := range []struct {
		args        string
		definitions []string // of kinds that are not of Kubernetes and not in crd.yaml
	}{
		{"", nil},
		{"--language typescript --children Deployment,Service,PersistentVolumeClaim,Job", nil},
		{"--kind Decorator --parent Deployment --server-account metacontroller/metacontroller", nil},
		{"--kind Decorator --parent Namespace --children NetworkPolicy,Pod --language jsonnet --service-account team-a/web", nil},
		{"--children Redis.db.example.com/v1,ConfigMap", []string{"Redis"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			dir := initialized(t, append([]string{"my-app"}, strings.Fields(c.args)...)...)
			path := filepath.Join(dir, "controller.yaml")
			var controller map[string]any
			if err := yaml.Unmarshal([]byte(readText(t, path)), &controller); err != nil {
				t.Fatal(err)
			}
			spec := controller["spec"].(map[string]any)
			account := spec["serviceAccount"].(map[string]any)
			script := spec["script"].(map[string]any)["file"].(string)
			source := map[string]any{"namespace": account["namespace"], "name": "my-app-script"}
			configMap := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": source, "data": map[string]any{script: readText(t, filepath.Join(dir, script))}}
			spec["script"] = map[string]any{"configMapRef": map[string]any{"namespace": account["namespace"], "name": "my-app-script", "key": script}}
			text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{controller, configMap}})
			if err != nil {
				t.Fatal(err)
			}
			installed := filepath.Join(dir, "installed.json")
			if err := os.WriteFile(installed, text, 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"rbac", "-f", installed, "--server-account", "metascript/metascript"}
			if !strings.Contains(c.args, "Decorator") {
				args = append(args, "-f", filepath.Join(dir, "crd.yaml"))
			}
			for _, kind := range c.definitions {
				file := filepath.Join(dir, kind+".json")
				if err := os.WriteFile(file, []byte(customDefinition(kind)), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "-f", file)
			}
			if _, after, found := strings.Cut(c.args, "--server-account "); found {
				args = append(args, "--server-account", after)
			}
			got := metascript(t, args...)
			if diff := cmp.Diff(readText(t, filepath.Join(dir, "rbac.yaml")), got.stdout); got.code != 0 || diff != "" {
				t.Errorf("rbac ends with %d, and its output differs (-rbac.yaml +rbac):\n%s%s", got.code, diff, got.stderr)
			}
		})
	}
}

// customDefinition returns a definition of a kind in the group db.example.com, whose plural name is that of the kind in lower case.
func customDefinition(kind string) string {
	plural := strings.ToLower(kind)
	return `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "` + plural + `.db.example.com"}, "spec": {
		"group": "db.example.com", "scope": "Namespaced", "names": {"kind": "` + kind + `", "plural": "` + plural + `"},
		"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`
}

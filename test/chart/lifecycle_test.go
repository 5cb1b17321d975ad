package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// controller has parents in the namespace default: ConfigMaps with the label app=parent, each of which has a Pod.
const controller = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: pods}
spec:
  resources: [{apiVersion: v1, resource: configmaps, labelSelector: {matchLabels: {app: parent}}}]
  attachments: [{apiVersion: v1, resource: pods, updateStrategy: {method: Recreate}}]
  script:
    language: Starlark
    inline: |
      def sync(request):
          name = request["object"]["metadata"]["name"]
          labels = {"size": request["object"]["data"]["size"]}
          return {"labels": labels, "attachments": [{
              "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
              "spec": {"containers": [{"name": "a", "image": "a"}]},
          }]}

      def finalize(request):
          return {"attachments": [], "finalized": len(request["attachments"]["Pod.v1"]) == 0}
`

// parents applies the controller and two parents, and waits for their Pods. When the test ends, it deletes them.
func parents(t *testing.T) {
	t.Helper()
	decorate(t, controller)
	kubectl(t, "wait", "--for=create", "--timeout=3m", "pods/one", "pods/two")
}

// decorate applies a controller and two parents. When the test ends, it deletes them.
func decorate(t *testing.T, controller string) {
	t.Helper()
	apply(t, controller)
	resize(t, "1")
	t.Cleanup(func() {
		_, err := run(build+"metascript", "uninstall", "--yes")
		check(t, err)
		kubectl(t, "delete", "pods", "one", "two", "--ignore-not-found")
		kubectl(t, "delete", "configmaps", "--selector=app=parent")
	})
}

// resize changes the parents, and waits until the server has observed it.
func resize(t *testing.T, size string) {
	t.Helper()
	for _, name := range []string{"one", "two"} {
		apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+", namespace: default, labels: {app: parent}}, data: {size: '"+size+"'}}")
	}
	for _, name := range []string{"one", "two"} {
		until(t, "the parent "+name+" has the size "+size, func() bool {
			return get(t, "{.metadata.labels.size}", "configmap", name) == size
		})
	}
}

// children returns what changes if a Pod is written or recreated.
func children(t *testing.T) string {
	t.Helper()
	return get(t, "{range .items[*]}{.metadata.uid} {.metadata.generation} {.spec.containers[0].image}{\"\\n\"}{end}", "pods")
}

// rolledOut waits until the workload has rolled out.
func rolledOut(t *testing.T, in, workload string) {
	t.Helper()
	kubectl(t, "rollout", "status", "--namespace="+in, "--timeout=3m", workload)
}

// inTurn checks that so many servers have reconciled parents, and that each began after the one before had ended. Each of standbys may have
// been the leader too: the leader ends before it, and it gets the Lease.
func (k *kubelet) inTurn(t *testing.T, want, standbys int) {
	t.Helper()
	spans := k.spans()
	if len(spans) < want || len(spans) > want+standbys {
		t.Errorf("%d servers have reconciled parents, want %d, and at most %d standbys: %v", len(spans), want, standbys, spans)
	}
	for i := 1; i < len(spans); i++ {
		if spans[i][0] < spans[i-1][1] {
			t.Errorf("two servers have reconciled parents at the same time: %v", spans)
		}
	}
}

// A release is installed, upgraded, rolled back and deleted, with parents that have Pods: the Pods stay as they are, and two servers never
// work at the same time.
func TestRelease(t *testing.T) {
	in := namespace(t, "release")
	kubelet := startKubelet(t, in)
	set := []string{"metascript", archive, "--namespace", in, "--wait", "--timeout", "3m", "--set"}
	helm(t, append([]string{"install"}, append(set, "image.tag=1.0,trustedAuthors=true")...)...)
	parents(t)
	before := children(t)

	helm(t, append([]string{"upgrade"}, append(set, "image.tag=1.1,replicas=2,podDisruptionBudget.minAvailable=1")...)...)
	resize(t, "2")
	if got := get(t, "{.spec.template.spec.containers[0].image}", "deployment", "metascript", "--namespace="+in); got != "metascript:1.1" {
		t.Errorf("after the upgrade the image is %s", got)
	}
	helm(t, "rollback", "metascript", "--namespace", in, "--wait", "--timeout", "3m")
	resize(t, "3")
	if got := get(t, "{.spec.template.spec.containers[0].image} {.spec.replicas}", "deployment", "metascript", "--namespace="+in); got != "metascript:1.0 1" {
		t.Errorf("after the rollback the image and the replicas are %s", got)
	}
	if after := children(t); after != before {
		t.Errorf("the Pods were changed:\n%s\n%s", before, after)
	}
	kubelet.inTurn(t, 3, 1)

	// Without the server, the parents and the controller stay. A new release of the same name takes the definitions back.
	if out := helm(t, "uninstall", "metascript", "--namespace", in, "--wait"); strings.Count(out, "[CustomResourceDefinition]") != 3 {
		t.Errorf("helm uninstall does not say that it keeps three CustomResourceDefinitions:\n%s", out)
	}
	if got := get(t, "{.items[*].metadata.name}", "decoratorcontrollers"); got != "pods" {
		t.Errorf("after helm uninstall the controllers are %q", got)
	}
	helm(t, append([]string{"install"}, append(set, "image.tag=1.2,trustedAuthors=true")...)...)
	resize(t, "4")
	if after := children(t); after != before {
		t.Errorf("the Pods were changed:\n%s\n%s", before, after)
	}

	// metascript uninstall names the release. After its commands nothing is left but the parents and their Pods.
	out, err := run(build+"metascript", "uninstall", "--check")
	if err == nil || !strings.Contains(out, "helm uninstall metascript --namespace "+in) {
		t.Errorf("metascript uninstall --check: %v\n%s", err, out)
	}
	out, err = run(build+"metascript", "uninstall", "--yes")
	check(t, err)
	for line := range strings.Lines(out) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 && words[0] == "helm" {
			helm(t, append(words[1:], "--wait")...)
		} else if len(words) > 0 && words[0] == "kubectl" && words[2] != "namespace" {
			kubectl(t, words[1:]...)
		}
	}
	left := kubectl(t, "get", "clusterroles,clusterrolebindings,crds,validatingadmissionpolicies,all,configmaps,leases,pdb,networkpolicies,roles,rolebindings,serviceaccounts",
		"--all-namespaces", "--output=name")
	for name := range strings.Lines(left) {
		if strings.Contains(name, "metascript") || strings.Contains(name, "metacontroller") {
			t.Errorf("it is left: %s", name)
		}
	}
	if after := children(t); after != before {
		t.Errorf("the Pods were changed:\n%s\n%s", before, after)
	}
	if got := get(t, "{.items[*].metadata.finalizers}", "configmaps", "--selector=app=parent"); got != "" {
		t.Errorf("the parents have the finalizers %s", got)
	}
}

// With few permissions the server works, and the values can be changed from one kind of permissions to the other.
func TestLeastPrivilege(t *testing.T) {
	in := namespace(t, "privilege")
	kubelet := startKubelet(t, in)
	values := filepath.Join(t.TempDir(), "values.yaml")
	check(t, os.WriteFile(values, []byte(`
clusterRole:
  rules:
  - {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, update]}
  - {apiGroups: [""], resources: [pods], verbs: [get, list, watch, create, update, patch, delete]}
  - {apiGroups: [""], resources: [events], verbs: [create, patch]}
`), 0o600))
	install := []string{"metascript", archive, "--namespace", in, "--wait", "--timeout", "3m"}
	helm(t, append([]string{"install", "--set", "trustedAuthors=true"}, install...)...)
	parents(t)
	helm(t, append([]string{"upgrade", "--values", values}, install...)...)
	until(t, "the server has only the permissions of the values", func() bool {
		return get(t, "{.items[*].metadata.name}", "clusterrolebindings", "--selector=app.kubernetes.io/name=metascript") == "metascript-controllers metascript-limited metascript-server"
	})
	resize(t, "2")
	kubectl(t, "wait", "--for=condition=Permitted", "--timeout=1m", "decoratorcontrollers/pods")
	helm(t, append([]string{"upgrade", "--set", "podAnnotations.a=b"}, install...)...)
	resize(t, "3")
	kubelet.inTurn(t, 2, 0) // the change of the permissions starts no Pod
}

// In some namespaces only, without the permission to do anything elsewhere.
func TestNamespaces(t *testing.T) {
	in := namespace(t, "some")
	kubelet := startKubelet(t, in)
	helm(t, "install", "metascript", archive, "--namespace", in, "--wait", "--timeout", "3m", "--set", "watchNamespaces={default},trustedAuthors=true")
	parents(t)
	resize(t, "2")
	kubelet.inTurn(t, 1, 0)
	server := "--as=system:serviceaccount:" + in + ":metascript"
	if out, err := run(build+"cluster", "kubectl", "auth", "can-i", "list", "pods", "--namespace=kube-system", server); err == nil {
		t.Errorf("the server may list Pods elsewhere: %s", out)
	}
}

// A user who may write only in two namespaces installs the server, after an administrator has applied what has no namespace.
func TestNamespacesOfAUser(t *testing.T) {
	in := namespace(t, "user")
	apply(t, namespaced)
	t.Cleanup(func() {
		kubectl(t, "delete", "clusterrole,clusterrolebinding,role,rolebinding", "--all-namespaces", "--selector=test=user")
	})
	kubectl(t, "apply", "--server-side", "--filename=../../manifests/crds")
	kubelet := startKubelet(t, in)
	values := filepath.Join(t.TempDir(), "values.yaml")
	check(t, os.WriteFile(values, []byte(`
watchNamespaces: [default]
crds: {install: false}
rbac: {clusterScoped: false}
allowOtherServers: true
trustedAuthors: true
clusterRole:
  rules:
  - {apiGroups: [""], resources: [configmaps, pods], verbs: [get, list, watch, create, update, delete]}
  - {apiGroups: [""], resources: [events], verbs: [create, patch]}
`), 0o600))
	install := []string{"install", "metascript", archive, "--namespace", in, "--kube-as-user", "team", "--wait", "--timeout", "3m"}
	helmFails(t, "is forbidden", install...)
	helm(t, append(install, "--values", values)...)
	parents(t)
	resize(t, "2")
	kubectl(t, "wait", "--for=condition=Permitted", "--timeout=1m", "decoratorcontrollers/pods")
	kubelet.inTurn(t, 1, 0)
}

// namespaced is what an administrator applies: the permissions of the user team, and those of the server without a namespace.
const namespaced = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: team, namespace: user, labels: {test: user}}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: team}]
roleRef: {kind: ClusterRole, apiGroup: rbac.authorization.k8s.io, name: admin}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: team, namespace: default, labels: {test: user}}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: team}]
roleRef: {kind: ClusterRole, apiGroup: rbac.authorization.k8s.io, name: admin}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: aggregate-revisions, labels: {test: user, rbac.authorization.k8s.io/aggregate-to-admin: "true"}}
rules: [{apiGroups: [metacontroller.k8s.io], resources: [controllerrevisions], verbs: [get, list, watch, create, update, patch, delete, deletecollection]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metacontroller-namespaced, labels: {test: user}}
rules:
- {apiGroups: [metacontroller.k8s.io], resources: [compositecontrollers, decoratorcontrollers], verbs: [get, list, watch]}
- {apiGroups: [metacontroller.k8s.io], resources: [compositecontrollers/status, decoratorcontrollers/status], verbs: [update]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: metacontroller-namespaced, labels: {test: user}}
subjects: [{kind: ServiceAccount, name: metascript, namespace: user}]
roleRef: {kind: ClusterRole, apiGroup: rbac.authorization.k8s.io, name: metacontroller-namespaced}
`

// A second server would write the objects of the first one. Helm refuses a second owner of the CustomResourceDefinitions and of the account
// policy too.
func TestSecondServer(t *testing.T) {
	in := namespace(t, "first")
	helm(t, "install", "metascript", archive, "--namespace", in)
	helmFails(t, "the Deployment metascript in the namespace first is a server already", "install", "other", archive, "--namespace", in)
	helmFails(t, "invalid ownership metadata", "install", "other", archive, "--namespace", in, "--set", "allowOtherServers=true")
	helm(t, "install", "other", archive, "--namespace", in, "--set", "allowOtherServers=true,crds.install=false,accountPolicy.enabled=false,commandArgs={--target-label-selector=a=b}")
}

// older applies the definitions of another tool: fewer fields, and no owner.
func older(t *testing.T) {
	t.Helper()
	for kind, scope := range map[string]string{"CompositeController": "Cluster", "DecoratorController": "Cluster", "ControllerRevision": "Namespaced"} {
		apply(t, definition("metacontroller.k8s.io", "v1alpha1", kind, scope, "\nx-kubernetes-preserve-unknown-fields: true"))
	}
}

// The definitions of an older version or of another tool are refused, until the user takes them over or leaves them.
func TestOtherDefinitions(t *testing.T) {
	in := namespace(t, "definitions")
	older(t)
	helmFails(t, "invalid ownership metadata", "install", "metascript", archive, "--namespace", in)
	helm(t, "install", "metascript", archive, "--namespace", in, "--take-ownership", "--force-conflicts")
	if got := get(t, "{.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.script.type}", "crd", "compositecontrollers.metacontroller.k8s.io"); got != "object" {
		t.Errorf("the definition was not replaced: spec.script has the type %q", got)
	}
}

// identity returns what shows that a StatefulSet was not deleted and created again, its image and its container.
func identity(t *testing.T, in, name string) (uid, image string) {
	t.Helper()
	fields := strings.Fields(get(t, "{.metadata.uid} {.spec.template.spec.containers[*].image}", "statefulset", name, "--namespace="+in))
	if len(fields) != 2 {
		t.Fatalf("the StatefulSet %s/%s has the UID and images %v", in, name, fields)
	}
	return fields[0], fields[1]
}

// The manifests are replaced by a release, and a release by the manifests.
func TestReplaceManifests(t *testing.T) {
	in := namespace(t, "metacontroller", "--kustomize=../../manifests")
	kubelet := startKubelet(t, in)
	kubectl(t, "apply", "--kustomize=../../manifests")
	rolledOut(t, in, "statefulset/metacontroller")
	parents(t)
	pods := children(t)
	uid, _ := identity(t, in, "metacontroller")
	helmFails(t, "the StatefulSet metacontroller in the namespace metacontroller is a server already", "install", "metascript", archive, "--namespace", in)
	helm(t, "install", "metascript", archive, "--namespace", in, "--set", "replaces=Manifests,image.tag=1.0", "--take-ownership", "--force-conflicts", "--wait", "--timeout", "3m")
	resize(t, "2")
	if after, image := identity(t, in, "metacontroller"); after != uid || image != "metascript:1.0" {
		t.Errorf("the StatefulSet has the UID %s and the image %s, before %s", after, image, uid)
	}
	helm(t, "uninstall", "metascript", "--namespace", in, "--wait")
	kubectl(t, "apply", "--server-side", "--force-conflicts", "--kustomize=../../manifests")
	rolledOut(t, in, "statefulset/metacontroller")
	resize(t, "3")
	if after := children(t); after != pods {
		t.Errorf("the Pods were changed:\n%s\n%s", pods, after)
	}
	kubelet.inTurn(t, 3, 0)
}

// other is a chart with the fields of the StatefulSet in Metacontroller's chart that cannot be changed, and its names.
var other = map[string]string{
	"Chart.yaml": "{apiVersion: v2, name: metacontroller-helm, version: 4.17.2}\n",
	"templates/all.yaml": `
{{- $name := printf "%s-metacontroller-helm" .Release.Name }}
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ $name }}, namespace: {{ .Release.Namespace }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ $name }}}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: {{ $name }}}
subjects: [{kind: ServiceAccount, name: {{ $name }}, namespace: {{ .Release.Namespace }}}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $name }}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels: &labels {app.kubernetes.io/name: metacontroller-helm, app.kubernetes.io/instance: {{ .Release.Name }}}
spec:
  replicas: 1
  serviceName: ""
  selector: {matchLabels: *labels}
  template:
    metadata: {labels: *labels}
    spec:
      serviceAccountName: {{ $name }}
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: metacontroller-helm
        image: metacontroller:v4.17.2
        command: [/usr/bin/metacontroller]
        args: {{ toJson .Values.commandArgs }}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`,
}

// A release of Metacontroller's chart is upgraded to this chart, and rolled back.
func TestReplaceChart(t *testing.T) {
	in := namespace(t, "replaced")
	dir := t.TempDir()
	for name, text := range other {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(text), 0o600))
	}
	kubelet := startKubelet(t, in)
	kubectl(t, "apply", "--filename=../../manifests/crds")
	helm(t, "install", "controllers", dir, "--namespace", in, "--set", "commandArgs={--discovery-interval=20s}", "--wait", "--timeout", "3m")
	parents(t)
	pods := children(t)
	const name = "controllers-metacontroller-helm"
	uid, _ := identity(t, in, name)
	helm(t, "upgrade", "controllers", archive, "--namespace", in, "--reset-then-reuse-values", "--set", "replaces=Chart,image.tag=1.0",
		"--take-ownership", "--force-conflicts", "--wait", "--timeout", "3m")
	resize(t, "2")
	if after, image := identity(t, in, name); after != uid || image != "metascript:1.0" {
		t.Errorf("the StatefulSet has the UID %s and the image %s, before %s", after, image, uid)
	}
	if args := get(t, "{.spec.template.spec.containers[0].args}", "statefulset", name, "--namespace="+in); !strings.Contains(args, "--discovery-interval=20s") {
		t.Errorf("the flags of the release were lost: %s", args)
	}
	helm(t, "rollback", "controllers", "--namespace", in, "--wait", "--timeout", "3m", "--force-conflicts")
	resize(t, "3")
	if after, image := identity(t, in, name); after != uid || image != "metacontroller:v4.17.2" {
		t.Errorf("after the rollback the StatefulSet has the UID %s and the image %s, before %s", after, image, uid)
	}
	if after := children(t); after != pods {
		t.Errorf("the Pods were changed:\n%s\n%s", pods, after)
	}
	kubelet.inTurn(t, 3, 0)
	if crds := strings.Fields(get(t, "{.items[*].metadata.name}", "crds")); !slices.Contains(crds, "decoratorcontrollers.metacontroller.k8s.io") {
		t.Errorf("after the rollback the definitions are %v", crds)
	}
}

package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shown returns the commands in the notes of Helm that begin with a word: each is a line with two spaces before it.
func shown(notes, word string) []string {
	var all []string
	for line := range strings.Lines(notes) {
		if command, is := strings.CutPrefix(line, "  "+word+" "); is {
			all = append(all, word+" "+strings.TrimSpace(command))
		}
	}
	return all
}

// shell runs a command of the notes in a directory, with the programs of the build.
func shell(t *testing.T, dir, command string) {
	t.Helper()
	bin := t.TempDir()
	programs, err := filepath.Abs(build)
	check(t, err)
	for name, run := range map[string]string{"kubectl": programs + "/cluster kubectl", "metascript": programs + "/metascript", "helm": programs + "/helm"} {
		check(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexec "+run+" \"$@\"\n"), 0o755))
	}
	started := exec.Command("bash", "-e", "-o", "pipefail", "-c", strings.ReplaceAll(command, "CHART", archive))
	started.Dir = dir
	started.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := started.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// firstController runs the commands of the notes for a first controller, applies the parent, and waits until it is ready. The directory is
// that of the controller.
func firstController(t *testing.T, notes string) (dir string) {
	t.Helper()
	work := t.TempDir()
	t.Cleanup(func() {
		_, err := run(build+"metascript", "uninstall", "--yes")
		check(t, err)
		// The garbage collector may not find the children of a parent whose definition is gone.
		kubectl(t, "delete", "--filename="+filepath.Join(work, "hello", "parent.yaml"), "--cascade=foreground", "--ignore-not-found")
		kubectl(t, "delete", "--kustomize="+filepath.Join(work, "hello"), "--ignore-not-found")
	})
	for _, command := range append(shown(notes, "metascript init"), append(shown(notes, "kubectl kustomize"), shown(notes, "kubectl apply")...)...) {
		shell(t, work, command)
	}
	dir = filepath.Join(work, "hello")
	kubectl(t, "wait", "--for=condition=Established", "--timeout=1m", "crd/hellos.example.com")
	kubectl(t, "apply", "--filename="+filepath.Join(dir, "parent.yaml"))
	kubectl(t, "wait", "--for=condition=Ready", "--timeout=3m", "hellos/example")
	kubectl(t, "wait", "--for=condition=Permitted", "--timeout=1m", "compositecontrollers/hello")
	return dir
}

// helmObjects returns the names of the permissions and policies of releases.
func helmObjects(t *testing.T) string {
	t.Helper()
	return kubectl(t, "get", "clusterroles,clusterrolebindings,roles,rolebindings,networkpolicies,validatingadmissionpolicies,validatingadmissionpolicybindings",
		"--all-namespaces", "--output=name", "--selector=app.kubernetes.io/managed-by=Helm")
}

// protections are objects that a release has only if authors are not trusted.
var protections = []string{
	"networkpolicy.networking.k8s.io/metascript", "clusterrole.rbac.authorization.k8s.io/metascript-limited",
	"validatingadmissionpolicy.admissionregistration.k8s.io/metacontroller-accounts", "validatingadmissionpolicybinding.admissionregistration.k8s.io/metacontroller-accounts",
}

// checkProtected checks whether the release trusts the authors of controllers.
func checkProtected(t *testing.T, in, notes string, protected bool) {
	t.Helper()
	objects := helmObjects(t) + "\n"
	for _, name := range protections {
		if strings.Contains(objects, name+"\n") != protected {
			t.Errorf("want that %s exists: %t; there are\n%s", name, protected, objects)
		}
	}
	args := get(t, "{.spec.template.spec.containers[0].args}", "deployment", "metascript", "--namespace="+in)
	for _, flag := range []string{`"--require-service-account"`, `"--process-isolation-namespaces=*"`} {
		if strings.Contains(args, flag) != protected {
			t.Errorf("want the flag %s: %t; there are %s", flag, protected, args)
		}
	}
	if strings.Contains(notes, "Authors of controllers are not trusted") != protected {
		t.Errorf("want notes that authors are not trusted: %t; there are\n%s", protected, notes)
	}
}

// untilRefused waits until a DecoratorController is refused because it has no account.
func untilRefused(t *testing.T, name string) {
	t.Helper()
	until(t, "the controller is refused", func() bool {
		ready := get(t, `{.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].reason} {.status.conditions[?(@.type=="Ready")].message}`, "decoratorcontrollers", name)
		return strings.HasPrefix(ready, "False InvalidSpec spec.serviceAccount is missing")
	})
}

// endpoints are those of an API server with an unusual port. The API server of the tests does not write its own.
const endpoints = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.1]}]
ports: [{name: https, port: 16443}]
`

// A first installation does not trust the authors of controllers, and an upgrade keeps this. A first controller needs two commands.
func TestFirstInstallationDoesNotTrustAuthors(t *testing.T) {
	in := namespace(t, "protected")
	startKubelet(t, in)
	apply(t, endpoints)
	t.Cleanup(func() {
		kubectl(t, "delete", "endpointslices", "kubernetes")
		kubectl(t, "delete", "configmaps", "--selector=app=parent")
	})
	more := []string{"metascript", archive, "--namespace", in, "--wait", "--timeout", "3m"}
	notes := helm(t, append([]string{"install"}, more...)...)
	checkProtected(t, in, notes, true)
	if commands := append(shown(notes, "metascript init"), shown(notes, "kubectl apply")...); len(commands) != 2 {
		t.Errorf("the commands for a first controller are %q", commands)
	}
	if ports := get(t, "{.spec.egress[1].ports[*].port}", "networkpolicy", "metascript", "--namespace="+in); ports != "443 6443 16443" {
		t.Errorf("the server may connect to the ports %s of the API server", ports)
	}
	dir := firstController(t, notes)
	shell(t, dir, "kubectl kustomize . | metascript rbac -f - --check")
	child := get(t, "{.metadata.uid} {.metadata.generation}", "deployments", "example")

	apply(t, texts)
	untilRefused(t, "texts")
	before := helmObjects(t)
	for i, values := range []string{"--reuse-values", "--reset-then-reuse-values", "--reset-values"} {
		notes = helm(t, append([]string{"upgrade", values, "--set", "podAnnotations.a=" + string(rune('b'+i))}, more...)...)
		checkProtected(t, in, notes, true)
	}
	if after := helmObjects(t); after != before {
		t.Errorf("an upgrade changes the objects:\n%s\nbefore\n%s", after, before)
	}
	if out := helm(t, "upgrade", "metascript", archive, "--namespace", in, "--set", "fullnameOverride=other", "--dry-run=server"); !strings.Contains(out, "trusted-authors: \"false\"\n") {
		t.Errorf("an upgrade that changes the name trusts authors:\n%s", out)
	}
	if out, err := run(build+"metascript", "uninstall", "--check"); err == nil || !strings.Contains(out, "helm uninstall metascript --namespace "+in) {
		t.Errorf("metascript uninstall --check: %v\n%s", err, out)
	}
	kubectl(t, "delete", "deployment", "example")
	kubectl(t, "wait", "--for=create", "--timeout=3m", "deployment/example")
	if after := get(t, "{.metadata.uid}", "deployments", "example"); strings.HasPrefix(child, after) {
		t.Errorf("the child was not deleted: %s", after)
	}

	// One value turns it back. Then the controller without an account runs.
	for _, command := range shown(notes, "helm upgrade") {
		shell(t, dir, command+" --wait")
	}
	checkProtected(t, in, helm(t, "get", "notes", "metascript", "--namespace", in), false)
	resize(t, "1")
}

// In some namespaces only, the commands for a first controller give the server and the account only Roles there.
func TestFirstControllerInSomeNamespaces(t *testing.T) {
	in := namespace(t, "somewhere")
	startKubelet(t, in)
	notes := helm(t, "install", "metascript", archive, "--namespace", in, "--wait", "--timeout", "3m", "--set", "watchNamespaces={default}")
	firstController(t, notes)
	if roles := kubectl(t, "get", "clusterroles", "--output=name"); strings.Contains(roles, "metascript:") {
		t.Errorf("there are ClusterRoles for the controller:\n%s", roles)
	}
}

// An upgrade of a release of a chart without the value trusts authors, as before: all controllers run, and no child, role, policy or
// NetworkPolicy is written. The notes say how to change it, and what happens then.
func TestUpgradeKeepsTrustedAuthors(t *testing.T) {
	in := namespace(t, "trusted")
	startKubelet(t, in)
	more := []string{"--namespace", in, "--wait", "--timeout", "3m"}
	helm(t, append([]string{"install", "metascript", earlier(t)}, more...)...)
	decorate(t, texts)
	before, identities, objects := ofTexts(t, versions), ofTexts(t, uids), helmObjects(t)
	notes := ""
	for i, values := range [][]string{{"--reuse-values"}, {"--reset-then-reuse-values", "--set", "podAnnotations.a=b"}, {"--install", "--reset-values"}} {
		notes = helm(t, append(append([]string{"upgrade", "metascript", archive}, values...), more...)...)
		checkProtected(t, in, notes, false)
		resize(t, string(rune('2'+i)))
	}
	if after := ofTexts(t, versions); after != before {
		t.Errorf("children were written:\n%s\n%s", before, after)
	}
	if after := helmObjects(t); after != objects {
		t.Errorf("an upgrade changes the objects:\n%s\nbefore\n%s", after, objects)
	}

	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "controller.yaml"), []byte(texts), 0o600))
	for _, command := range shown(notes, "helm upgrade") {
		shell(t, dir, command+" --wait")
	}
	checkProtected(t, in, helm(t, "get", "notes", "metascript", "--namespace", in), true)
	untilRefused(t, "texts")
	if after := ofTexts(t, versions); after != before {
		t.Errorf("children of a controller that is refused were written:\n%s\n%s", before, after)
	}
	for _, command := range shown(notes, "metascript rbac") {
		command = strings.Replace(command, "NAMESPACE/NAME", "default/texts", 1)
		t.Cleanup(func() { shell(t, dir, strings.Replace(command, "kubectl apply", "kubectl delete", 1)) })
		shell(t, dir, command)
	}
	kubectl(t, "patch", "decoratorcontrollers", "texts", "--type=merge", `--patch={"spec":{"serviceAccount":{"namespace":"default","name":"texts"}}}`)
	resize(t, "9")
	if after := ofTexts(t, uids); after != identities {
		t.Errorf("children were recreated:\n%s\n%s", identities, after)
	}
}

// lost is the error of an upgrade that cannot see what runs.
func lost(in string) string {
	return "the release metascript in the namespace " + in + " has no Deployment, which would say whether the authors of controllers are trusted: set trustedAuthors=false"
}

// An upgrade that does not find the Deployment of the release does not decide whether authors are trusted.
func TestUpgradeWithoutDeployment(t *testing.T) {
	in := namespace(t, "lost")
	more := []string{"metascript", archive, "--namespace", in}
	helm(t, append([]string{"install"}, more...)...)
	apply(t, accounted)
	before := helmObjects(t)
	kubectl(t, "delete", "deployment", "metascript", "--namespace="+in)
	for _, values := range []string{"--reuse-values", "--reset-then-reuse-values", "--reset-values", "--install"} {
		helmFails(t, lost(in), append([]string{"upgrade", values}, more...)...)
	}
	helmFails(t, lost(in), append([]string{"upgrade", "--dry-run=server", "--set", "namespaceOverride=default"}, more...)...)
	if after := helmObjects(t); after != before {
		t.Errorf("an upgrade that is refused changes the objects:\n%s\nbefore\n%s", after, before)
	}
	checkProtected(t, in, helm(t, append([]string{"upgrade", "--set", "trustedAuthors=false"}, more...)...), true)
	checkProtected(t, in, helm(t, append([]string{"upgrade", "--reset-values"}, more...)...), true)
	kubectl(t, "delete", "deployment", "metascript", "--namespace="+in)
	checkProtected(t, in, helm(t, append([]string{"upgrade", "--set", "trustedAuthors=true"}, more...)...), false)
}

// unseen is the error without sight of the cluster.
const unseen = "the chart cannot see the cluster, and so does not know whether the authors of controllers are trusted: set trustedAuthors=false for a new installation"

// What renders the chart without the cluster has to say whether authors are trusted: otherwise a release that does not trust them would lose its
// protections.
func TestWithoutTheCluster(t *testing.T) {
	in := namespace(t, "unseen")
	more := []string{"metascript", archive, "--namespace", in}
	with := func(first ...string) []string { return append(first, more...) }
	trusts := func(want bool, args []string) {
		t.Helper()
		if out := helm(t, args...); strings.Contains(out, "trusted-authors: \"false\"\n") == want {
			t.Errorf("helm %s: want that authors are trusted: %t; the objects are\n%s", strings.Join(args, " "), want, out)
		}
	}
	blinded := func() {
		t.Helper()
		for _, args := range [][]string{with("template"), with("template", "--is-upgrade"), with("template", "--dry-run=client"), with("upgrade", "--install", "--dry-run=client")} {
			helmFails(t, unseen, args...)
			trusts(true, append(args, "--set", "trustedAuthors=true"))
			trusts(false, append(args, "--set", "trustedAuthors=false"))
		}
		helmFails(t, "rbac.create or rbac.clusterScoped is false, and so does not know", with("template", "--set", "rbac.clusterScoped=false")...)
	}
	blinded()
	helmFails(t, unseen, with("install", "--dry-run=client")...)
	trusts(false, with("template", "--dry-run=server"))
	trusts(false, with("template", "--validate"))

	helm(t, with("install")...)
	blinded()
	apply(t, texts) // controllers do not decide what runs
	trusts(false, with("template", "--dry-run=server"))
	trusts(false, with("template", "--dry-run=server", "--is-upgrade"))
	helm(t, with("upgrade", "--set", "trustedAuthors=true")...)
	trusts(true, with("template", "--dry-run=server", "--is-upgrade"))
	helmFails(t, "the Deployment metascript in the namespace unseen trusts the authors of controllers, and this is not an upgrade of it: set trustedAuthors=false", with("template", "--dry-run=server")...)

	// What another tool has applied has no annotations of Helm.
	kubectl(t, "annotate", "deployment", "metascript", "--namespace="+in, "meta.helm.sh/release-name-", "meta.helm.sh/release-namespace-")
	trusts(true, with("template", "--dry-run=server", "--is-upgrade"))
	kubectl(t, "annotate", "deployment", "metascript", "--namespace="+in, "metacontroller.k8s.io/trusted-authors=false")
	trusts(false, with("template", "--dry-run=server", "--is-upgrade"))
}

// An upgrade that moves the objects to another namespace, or makes the Deployment a StatefulSet, keeps what runs.
func TestUpgradeMovesTheServer(t *testing.T) {
	in, other := namespace(t, "here"), namespace(t, "there")
	more := []string{"metascript", archive, "--namespace", in}
	helm(t, append([]string{"install"}, more...)...)
	apply(t, accounted)
	for _, at := range []string{other, in} {
		checkProtected(t, at, helm(t, append([]string{"upgrade", "--reset-values", "--set", "namespaceOverride=" + at}, more...)...), true)
	}
	for _, replaces := range []string{"Manifests", ""} {
		helm(t, append([]string{"upgrade", "--reset-values", "--set", "fullnameOverride=,replaces=" + replaces}, more...)...)
		if policies := helmObjects(t); !strings.Contains(policies, "metacontroller-accounts") {
			t.Errorf("an upgrade with replaces=%s trusts authors; there are\n%s", replaces, policies)
		}
	}
	checkProtected(t, in, helm(t, "get", "notes", "metascript", "--namespace", in), true)
}

// A release that is deleted and installed again does not trust the author of a controller without an account, who may have written it between the two.
func TestInstallationFindsControllers(t *testing.T) {
	in := namespace(t, "again")
	more := []string{"metascript", archive, "--namespace", in}
	install := append([]string{"install"}, more...)
	uninstall := []string{"uninstall", "metascript", "--namespace", in, "--wait"}
	helm(t, install...)
	apply(t, accounted)
	helm(t, uninstall...)
	checkProtected(t, in, helm(t, install...), true)
	helm(t, uninstall...)

	apply(t, texts)
	const found = "the cluster has controllers without an account (spec.serviceAccount): DecoratorController/texts. Set trustedAuthors=true if they may act as the server"
	helmFails(t, found, install...)
	helmFails(t, found, append([]string{"upgrade", "--install"}, more...)...)
	helmFails(t, found, append([]string{"template", "--dry-run=server"}, more...)...)
	if left := helmObjects(t); left != "" {
		t.Errorf("an installation that is refused creates objects:\n%s", left)
	}
	var names []string
	for i := range 6 {
		name := "texts-" + string(rune('0'+i))
		names = append(names, "DecoratorController/"+name)
		apply(t, strings.Replace(texts, "{name: texts}", "{name: "+name+"}", 1))
	}
	helmFails(t, "DecoratorController/texts, "+strings.Join(names[:4], ", ")+" and 2 more. Set", install...)
	checkProtected(t, in, helm(t, append(install, "--set", "trustedAuthors=false")...), true)
	checkProtected(t, in, helm(t, append([]string{"upgrade", "--reset-values"}, more...)...), true)
	helm(t, uninstall...)
	checkProtected(t, in, helm(t, append(install, "--set", "trustedAuthors=true")...), false)
	checkProtected(t, in, helm(t, append([]string{"upgrade", "--reset-values"}, more...)...), false)
	helm(t, uninstall...)
	kubectl(t, "delete", "decoratorcontrollers", "--all")
	checkProtected(t, in, helm(t, install...), true)
}

// An object in another namespace that looks like a Deployment of the release does not decide whether authors are trusted, neither for an
// installation nor for an upgrade.
func TestOthersDoNotDecide(t *testing.T) {
	in, theirs := namespace(t, "ours"), namespace(t, "theirs")
	apply(t, strings.ReplaceAll(imitation, "NAMESPACE", theirs))
	more := []string{"metascript", archive, "--namespace", in}
	checkProtected(t, in, helm(t, append([]string{"install"}, more...)...), true)
	kubectl(t, "delete", "deployment", "metascript", "--namespace="+in)
	helmFails(t, lost(in), append([]string{"upgrade"}, more...)...)
}

// imitation has the name, the labels and the annotations of a release in the namespace ours.
const imitation = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: metascript
  namespace: NAMESPACE
  labels: {helm.sh/chart: metascript-1.0.0, app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: metascript, meta.helm.sh/release-namespace: ours}
spec:
  replicas: 0
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}
`

// A user who has set the flag of the server, and then leaves it out, has to say whether authors are trusted.
func TestUpgradeLosesTheFlag(t *testing.T) {
	in := namespace(t, "flag")
	more := []string{"metascript", archive, "--namespace", in}
	helm(t, "install", "metascript", earlier(t), "--namespace", in, "--set", "commandArgs={--require-service-account}")
	upgrade := func(args ...string) []string { return append(append([]string{"upgrade"}, more...), args...) }
	helmFails(t, "the Deployment metascript in the namespace flag has the flag --require-service-account, which commandArgs does not have: set trustedAuthors=false", upgrade("--reset-values")...)
	if notes := helm(t, upgrade("--reset-then-reuse-values")...); strings.Contains(notes, "Authors of controllers are not trusted") {
		t.Errorf("the release has protections because of a flag of the user; there are\n%s", notes)
	}
	checkProtected(t, in, helm(t, upgrade("--reset-values", "--set", "trustedAuthors=false")...), true)
}

// The server that a release replaces keeps that controllers need accounts. Its flags say it, wherever they are.
func TestReplaceKeepsTheFlag(t *testing.T) {
	in := namespace(t, "metacontroller", "--kustomize=../../manifests")
	kubectl(t, "apply", "--kustomize=../../manifests")
	replace := func(args ...string) []string {
		return append([]string{"install", "metascript", archive, "--namespace", in, "--set", "replaces=Manifests", "--take-ownership", "--force-conflicts"}, args...)
	}
	for _, c := range []struct {
		field, flags string
		protected    bool
	}{
		{"command", `"/usr/bin/metacontroller","--apply-strategy=server-side-apply"`, false},
		{"args", `"--require-service-account=false"`, false},
		{"args", `"--require-service-account","--require-service-account=false"`, false},
		{"args", `"--require-service-account=true"`, true},
		{"args", `"--workers=3"`, false},
		{"command", `"/usr/bin/metacontroller","--require-service-account"`, true},
	} {
		kubectl(t, "patch", "statefulset", "metacontroller", "--namespace="+in, "--type=json", `--patch=[{"op":"add","path":"/spec/template/spec/containers/0/`+c.field+`","value":[`+c.flags+`]}]`)
		out := helm(t, replace("--dry-run=server")...)
		for _, want := range []string{"trusted-authors: \"false\"\n", "- --require-service-account\n", "kind: ValidatingAdmissionPolicy\n", "kind: NetworkPolicy\n", "name: metacontroller-limited\n"} {
			if strings.Contains(out, want) != c.protected {
				t.Errorf("%s %s: want %q: %t; the objects are\n%s", c.field, c.flags, want, c.protected, out)
			}
		}
	}
	if out := helm(t, replace("--dry-run=server", "--set", "trustedAuthors=true")...); strings.Contains(out, "trusted-authors") {
		t.Errorf("with the value, authors are not trusted:\n%s", out)
	}
	notes := helm(t, replace()...)
	for _, want := range []string{"Authors of controllers are not trusted", "the server that this release replaces is limited too", "kubectl delete clusterrolebinding,clusterrole metacontroller"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not have %q:\n%s", want, notes)
		}
	}
	for _, command := range shown(notes, "kubectl delete") {
		shell(t, t.TempDir(), command)
	}
	upgrade := []string{"upgrade", "metascript", archive, "--namespace", in, "--reset-values", "--set", "replaces=Manifests"}
	if notes := helm(t, upgrade...); !strings.Contains(notes, "Authors of controllers are not trusted") || strings.Contains(notes, "kubectl delete clusterrole") {
		t.Errorf("the notes of the upgrade are\n%s", notes)
	}

	// Without the StatefulSet nothing says it.
	kubectl(t, "delete", "statefulset", "metacontroller", "--namespace="+in)
	helmFails(t, strings.Replace(lost(in), "Deployment", "StatefulSet", 1), upgrade...)
	helm(t, "uninstall", "metascript", "--namespace", in, "--wait")
	if out := helm(t, replace("--dry-run=server")...); !strings.Contains(out, "trusted-authors: \"false\"\n") {
		t.Errorf("a release that replaces nothing trusts authors:\n%s", out)
	}
	apply(t, texts)
	helmFails(t, "DecoratorController/texts", replace()...)
}

// accounted is a controller with an account.
var accounted = strings.NewReplacer("{name: texts}", "{name: accounted}", "spec:\n", "spec:\n  serviceAccount: {namespace: default, name: accounted}\n").Replace(texts)

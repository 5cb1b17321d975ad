package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// texts has a ConfigMap in place for each parent, which nothing but the server writes.
const texts = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: texts}
spec:
  resources: [{apiVersion: v1, resource: configmaps, labelSelector: {matchLabels: {app: parent}}}]
  attachments: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  script:
    language: Starlark
    inline: |
      def sync(object):
          child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": object.metadata.name + "-text"}, "data": {"text": "hello"}}
          return {"labels": {"size": object.data.size}, "attachments": [child]}
`

// Fields of the children of texts: what changes with each write, and what dynamic apply stores in a child.
const (
	versions = "{range .items[*]}{.metadata.uid} {.metadata.resourceVersion}\n{end}"
	uids     = "{range .items[*]}{.metadata.uid}\n{end}"
	applied  = `{range .items[*]}{.metadata.annotations.metacontroller\.k8s\.io/last-applied-configuration}{end}`
)

func ofTexts(t *testing.T, field string) string {
	t.Helper()
	return get(t, field, "configmaps", "one-text", "two-text")
}

// strategy returns the value of the flag --apply-strategy of the Deployment; "" if it has none.
func strategy(t *testing.T, in string) string {
	t.Helper()
	_, rest, _ := strings.Cut(get(t, "{.spec.template.spec.containers[0].args}", "deployment", "metascript", "--namespace="+in), `"--apply-strategy=`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// earlier returns the chart as it was before it set a strategy and had the value trustedAuthors, with the definitions of today.
func earlier(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	_, err := run("tar", "--extract", "--file="+archive, "--directory="+dir)
	check(t, err)
	chart := filepath.Join(dir, "metascript")
	check(t, filepath.WalkDir("testdata/earlier", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(chart, strings.TrimPrefix(path, "testdata/earlier/")), text, 0o600)
	}))
	return chart
}

// An upgrade from a chart that set no strategy sets none, and no child is written. A user can change it then.
func TestUpgradeKeepsDynamicApply(t *testing.T) {
	in := namespace(t, "dynamic")
	kubelet := startKubelet(t, in)
	more := []string{"--namespace", in, "--wait", "--timeout", "3m"}
	helm(t, append([]string{"install", "metascript", earlier(t)}, more...)...)
	decorate(t, texts)
	before, identities := ofTexts(t, versions), ofTexts(t, uids)

	for i, values := range [][]string{nil, {"--reset-then-reuse-values", "--set", "podAnnotations.a=b"}, {"--install", "--reset-values"}} {
		out := helm(t, append(append([]string{"upgrade", "metascript", archive}, values...), more...)...)
		if got := strategy(t, in); got != "" || !strings.Contains(out, "Children are updated by dynamic apply") {
			t.Errorf("upgrade %v sets the strategy %q, and says\n%s", values, got, out)
		}
		resize(t, string(rune('2'+i)))
	}
	if after := ofTexts(t, versions); after != before {
		t.Errorf("children were written:\n%s\n%s", before, after)
	}

	out := helm(t, append([]string{"upgrade", "metascript", archive, "--set", "applyStrategy=ServerSideApply"}, more...)...)
	if got := strategy(t, in); got != "server-side-apply" || !strings.Contains(out, "Children are updated by server-side apply") {
		t.Errorf("with the value the strategy is %q, and Helm says\n%s", got, out)
	}
	until(t, "the children are updated by server-side apply", func() bool { return ofTexts(t, applied) == "" })
	if after := ofTexts(t, uids); after != identities {
		t.Errorf("children were recreated:\n%s\n%s", identities, after)
	}
	kubelet.inTurn(t, 4, 0) // the server before, and one for each change of the Pod
}

// A first installation uses server-side apply, and an upgrade keeps it.
func TestFirstInstallationUsesServerSideApply(t *testing.T) {
	in := namespace(t, "fresh")
	startKubelet(t, in)
	more := []string{"--namespace", in, "--wait", "--timeout", "3m"}
	install := append([]string{"upgrade", "--install", "metascript", archive, "--set", "trustedAuthors=true"}, more...)
	first := func() {
		t.Helper()
		out := helm(t, install...)
		if got := strategy(t, in); got != "server-side-apply" || !strings.Contains(out, "Children are updated by server-side apply") {
			t.Errorf("the first installation has the strategy %q, and Helm says\n%s", got, out)
		}
	}
	if out := helm(t, "install", "metascript", archive, "--namespace", in, "--dry-run=server"); !strings.Contains(out, "--apply-strategy=server-side-apply\n") {
		t.Errorf("a dry run does not show the strategy:\n%s", out)
	}
	first()
	helm(t, "uninstall", "metascript", "--namespace", in, "--wait") // as after an installation that failed: the definitions stay
	first()
	decorate(t, texts)
	if got := ofTexts(t, applied); got != "" {
		t.Errorf("the children have what dynamic apply stores: %s", got)
	}
	before := ofTexts(t, versions)
	for i, values := range []string{"podAnnotations.a=b", "podAnnotations.a=c,commandArgs={--workers=3}"} {
		helm(t, append(install, "--set", values)...)
		if got := strategy(t, in); got != "server-side-apply" {
			t.Errorf("after the upgrade with %s the strategy is %q", values, got)
		}
		resize(t, string(rune('2'+i)))
	}
	if after := ofTexts(t, versions); after != before {
		t.Errorf("children were written:\n%s\n%s", before, after)
	}

	// A flag of the user is the only one.
	helm(t, append(install, "--set", "commandArgs={--apply-strategy=dynamic-apply}")...)
	if args := get(t, "{.spec.template.spec.containers[0].args}", "deployment", "metascript", "--namespace="+in); strings.Count(args, "--apply-strategy") != 1 {
		t.Errorf("the flags are %s", args)
	}

	// The controllers that are there now were written for a server which is not known.
	helm(t, "uninstall", "metascript", "--namespace", in, "--wait")
	helm(t, install...)
	if got := strategy(t, in); got != "" {
		t.Errorf("in a cluster with controllers the strategy is %q", got)
	}
}

package main

import (
	"testing"
)

const devFiles = controllerFile + `
-- kubeconfig --
apiVersion: v1
kind: Config
current-context: production
contexts:
- {name: production, context: {cluster: p}}
- {name: local, context: {cluster: l}}
clusters:
- {name: p, cluster: {server: "https://cluster.invalid:6443"}}
- {name: l, cluster: {server: "https://127.0.0.1:1"}}
`

// The command prints the cluster first. It connects only to a local cluster, or to one that the user has named: each error of a
// connection below is about an address without a server.
func TestDevDoesNotWriteToAnotherCluster(t *testing.T) {
	inFolder(t, devFiles)
	refused := "error: the cluster at https://cluster.invalid:6443 is not local, and dev writes to it: name its context with --context, or set --yes"
	for _, c := range []struct {
		name, stdout, stderr string
		flags                []string
	}{
		{"the current context", "context production, API server https://cluster.invalid:6443\n", refused, nil},
		{"a context", "context production, API", "error: the API server https://cluster.invalid", []string{"--context", "production"}},
		{"yes", "context production, API", "error: the API server https://cluster.invalid", []string{"--yes"}},
		{"a dry run", "context production, API", "error: the API server https://cluster.invalid", []string{"--dry-run"}},
		{"a local cluster", "context local, API server https://127.0.0.1:1\n", "error: the API server https://127.0.0.1:1", []string{"--context", "local"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"dev", "-f", "controller.yaml", "--kubeconfig", "kubeconfig"}, c.flags...)
			metascript(t, args...).expect(t, 1, []string{c.stdout}, []string{c.stderr})
		})
	}
	metascript(t, "dev", "-f", "controller.yaml", "--kubeconfig", "kubeconfig", "--context", "locale").expect(t, 1, nil, []string{`there is no context "locale": did you mean "local"?`})
}

func TestDevRefusesWhatTheAPIServerRefuses(t *testing.T) {
	inFolder(t, `
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: c}
spec:
  parentResource: {apiVersion: example.com/v1, resource: widgets}
  childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: recreate}}]
  script: {language: Starlark, inline: "def sync(): return {}"}
`)
	want := "controller.yaml:6:78: CompositeController c: spec.childResources[0].updateStrategy.method: \"recreate\" is not one of OnDelete, Recreate,"
	metascript(t, "check", "-f", "controller.yaml").expect(t, 1, []string{want}, []string{"error: "})
	metascript(t, "dev", "-f", "controller.yaml").expect(t, 1, nil, []string{"error: " + want})
}

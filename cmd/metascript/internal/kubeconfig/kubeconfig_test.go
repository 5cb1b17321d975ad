package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const config = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}],
clusters: [{name: c, cluster: {server: "https://HOST"}}]}`

// write writes a kubeconfig file for an API server at a host.
func write(t *testing.T, host string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(strings.Replace(config, "HOST", host, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPathHasPrecedenceOverTheVariable(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nosuch")
	first, second := write(t, "first"), write(t, "second")
	for _, c := range []struct{ name, path, variable, host string }{
		{"a path", first, second, "https://first"},
		{"the variable", "", second, "https://second"},
		{"a path, and a variable without a file", first, missing, "https://first"},
		{"one of two files of the variable", "", missing + string(filepath.ListSeparator) + second, "https://second"},
	} {
		t.Setenv("KUBECONFIG", c.variable)
		if got, err := Load(c.path); err != nil || got.Host != c.host {
			t.Errorf("%s: got %v, error %v, want %s", c.name, got, err, c.host)
		}
	}
}

func TestErrorsHaveTheNameOfTheFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nosuch")
	for _, c := range []struct{ name, path, variable, want string }{
		{"a path", missing, "", "find a cluster: stat " + missing},
		{"the variable", "", missing, "find a cluster: the variable KUBECONFIG names " + missing + ", and there is no such file"},
	} {
		t.Setenv("KUBECONFIG", c.variable)
		if _, err := Load(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

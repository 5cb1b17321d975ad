package kubeconfig

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
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
		if got, err := (&Flags{Path: c.path}).Load(); err != nil || got.Config.Host != c.host || got.Context != "c" || !strings.HasPrefix(got.Config.UserAgent, "metacontroller/") {
			t.Errorf("%s: got %v, error %v, want %s", c.name, got, err, c.host)
		}
	}
}

func TestErrorsHaveTheNameOfTheFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nosuch")
	for _, c := range []struct{ name, path, variable, want string }{
		{"a path", missing, "", "find a cluster: there is no file " + missing},
		{"the variable", "", missing, "find a cluster: the variable KUBECONFIG names " + missing + ", and there is no such file"},
	} {
		t.Setenv("KUBECONFIG", c.variable)
		if _, err := (&Flags{Path: c.path}).Load(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

const twoContexts = `{apiVersion: v1, kind: Config, current-context: test,
contexts: [{name: test, context: {cluster: t}}, {name: production, context: {cluster: p}}],
clusters: [{name: t, cluster: {server: "https://test"}}, {name: p, cluster: {server: "https://production", proxy-url: "http://proxy"}}]}`

func TestContexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(twoContexts), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ context, want, host string }{{"", "test", "https://test"}, {"production", "production", "https://production"}} {
		if got, err := (&Flags{Path: path, Context: c.context}).Load(); err != nil || got.Context != c.want || got.Config.Host != c.host {
			t.Errorf("context %q: got %+v, error %v", c.context, got, err)
		}
	}
	if got := (&Flags{Path: path}).Contexts(); !slices.Equal(got, []string{"production", "test"}) {
		t.Errorf("the contexts are %v", got)
	}
	for context, want := range map[string]string{
		"prodution": `there is no context "prodution": did you mean "production"?`,
		"other-one": `there is no context "other-one": want one of production, test`,
	} {
		if _, err := (&Flags{Path: path, Context: context}).Load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// parsed returns the Flags of a command line.
func parsed(t *testing.T, line ...string) *Flags {
	t.Helper()
	var f Flags
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Register(set)
	if err := set.Parse(line); err != nil {
		t.Fatal(err)
	}
	return &f
}

func TestFlagsOfKubectl(t *testing.T) {
	path := write(t, "first")
	f := parsed(t, "--kubeconfig="+path, "--as=system:serviceaccount:a:b", "--as-group=g", "--as-group=h i", "--token=secret", "--server=https://second")
	got, err := f.Load()
	if err != nil || got.Config.Host != "https://second" || got.Config.BearerToken != "secret" {
		t.Fatalf("got %+v, error %v", got, err)
	}
	if who := got.Config.Impersonate; who.UserName != "system:serviceaccount:a:b" || !slices.Equal(who.Groups, []string{"g", "h i"}) {
		t.Errorf("the requests are those of %+v", who)
	}
	want := " --as=system:serviceaccount:a:b --as-group=g --as-group='h i' --kubeconfig=" + path + " --server=https://second --token=TOKEN"
	if flags := f.KubectlFlags(); flags != want || !f.Set() {
		t.Errorf("the flags of kubectl are %q, want %q", flags, want)
	}
	if none := parsed(t); none.Set() || none.KubectlFlags() != "" {
		t.Error("a flag is set that was not on the command line")
	}
}

func TestLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://127.8.0.1": true, "https://[::1]:6443": true, "https://0.0.0.0:6550": true,
		"https://localhost:8443": true, "LOCALHOST": true, "localhost:8080": true, "127.0.0.1:8080": true, "https://api.localhost": true,
		"https://kubernetes.docker.internal:6443": true, "https://host.docker.internal": true, "https://host.k3d.internal": true,
		"https://kind-control-plane:6443": true, "https://k3d-dev-serverlb:6443": true,
		"https://192.168.49.2:8443": false, "https://10.0.0.1": false, "https://kubernetes.default.svc": false, "https://test": false,
		"https://ip-10-0-0-1.ec2.internal": false, "https://localhost.example.com": false, "https://k3d-dev.example.com": false,
		"https://a-control-plane.example.com": false, "https://127.0.0.1.example.com": false, "https://internal": false, "": false,
	} {
		if got := (&Cluster{Config: &rest.Config{Host: host}}).Local(); got != want {
			t.Errorf("%q: got %v", host, got)
		}
	}
	proxied := &rest.Config{Host: "https://127.0.0.1", Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
	if (&Cluster{Config: proxied}).Local() {
		t.Error("an address that is reached through a proxy is local")
	}
}

func TestVariablesOfProxies(t *testing.T) {
	path := write(t, "first")
	for value, valid := range map[string]bool{
		"": true, "http://proxy:3128": true, "proxy.example.com:3128": true, "socks5://[::1]:1080": true,
		"http://user:secret@[proxy": false, "http://user:secret@proxy:port": false,
	} {
		t.Setenv("HTTPS_PROXY", value)
		_, err := (&Flags{Path: path}).Load()
		if valid != (err == nil) {
			t.Errorf("%q: error %v", value, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "the variable HTTPS_PROXY is not the address of a proxy") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: error %v", value, err)
		}
	}
}

func TestCertificatesThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := write(t, "first")
	_, err := parsed(t, "--kubeconfig="+path, "--certificate-authority="+file).Load()
	if err == nil || !strings.Contains(err.Error(), "a certificate or a key of the kubeconfig "+path+" cannot be used: ") {
		t.Errorf("error %v", err)
	}
}

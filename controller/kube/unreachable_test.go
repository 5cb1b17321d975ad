package kube

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

func TestUnreachable(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure.Config.ErrorLog = nil
	for name, c := range map[string]struct {
		host string
		want []string
	}{
		"nothing listens":       {closed.URL, []string{"the API server " + closed.URL + " cannot be reached: dial tcp ", "connection refused; check the address in the kubeconfig"}},
		"another authority":     {secure.URL, []string{"certificate", "; check the certificate authority"}},
		"it does not speak TLS": {strings.Replace(plain.URL, "http:", "https:", 1), []string{"; check "}},
		"it answers":            {plain.URL, nil},
	} {
		client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: c.host})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.ServerResourcesForGroupVersionWithContext(t.Context(), schema.GroupVersion{Group: "a", Version: "v1"}.String())
		got := Unreachable(c.host, fmt.Errorf("discover a/v1: %w", err))
		if (got == nil) != (c.want == nil) {
			t.Errorf("%s: got %v", name, got)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(got.Error(), part) {
				t.Errorf("%s: got %q, want %q in it", name, got, part)
			}
		}
	}
	if check := whatToCheck(&net.DNSError{Name: "h"}); !strings.Contains(check, "DNS") {
		t.Errorf("of an unknown host: %q", check)
	}
	if Unreachable("h", errors.New("other")) != nil {
		t.Error("another error is taken for one")
	}
}

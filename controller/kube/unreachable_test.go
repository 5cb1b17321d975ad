package kube

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"metascript/test/authority"
)

func TestUnreachable(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refusing.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail on purpose
	proxy, err := url.Parse(strings.Replace(refusing.URL, "://", "://user:hunter2@", 1))
	if err != nil {
		t.Fatal(err)
	}
	other, err := authority.New("other")
	if err != nil {
		t.Fatal(err)
	}
	right := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	const pod = "/run/secrets/token"
	for name, c := range map[string]struct {
		config rest.Config
		file   Kubeconfig
		want   string // with HOST for the address; "": no error
	}{
		"nothing listens": {rest.Config{Host: closed.URL}, "/config",
			"cannot be reached: dial tcp ADDRESS: connect: connection refused; check the address in the kubeconfig /config, that"},
		"nothing listens, in a Pod": {rest.Config{Host: closed.URL, BearerTokenFile: pod}, "",
			"connection refused; check the address in the variables KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, that"},
		"no authority": {rest.Config{Host: secure.URL}, "/config",
			"unknown authority; the kubeconfig /config names no certificate authority, so only those of the system are trusted: set certificate-authority to"},
		"another authority": {rest.Config{Host: secure.URL, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(other.PEM)}}, "/config",
			"unknown authority; its certificate is not from the certificate authority in certificate-authority-data in the kubeconfig /config: check"},
		"an authority that cannot be read, in a Pod": {rest.Config{Host: secure.URL, BearerTokenFile: pod}, "",
			"unknown authority; its certificate is not from the certificate authority in /run/secrets/ca.crt: check"},
		"another name": {rest.Config{Host: secure.URL, TLSClientConfig: rest.TLSClientConfig{CAData: right, ServerName: "other"}}, "/config",
			"not other; check the address in the kubeconfig /config, or set tls-server-name"},
		"it does not speak TLS": {rest.Config{Host: strings.Replace(plain.URL, "http:", "https:", 1)}, "/config",
			"; check that the address in the kubeconfig /config begins with http:// or https://"},
		"a proxy refuses": {rest.Config{Host: secure.URL, Proxy: http.ProxyURL(proxy)}, "/config",
			"cannot be reached through the proxy " + refusing.URL + ": Forbidden; check the proxy, which is proxy-url in the kubeconfig /config"},
		"it answers": {rest.Config{Host: plain.URL}, "/config", ""},
	} {
		config := c.config
		client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: config.Host, TLSClientConfig: config.TLSClientConfig, Proxy: config.Proxy})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.ServerResourcesForGroupVersionWithContext(t.Context(), schema.GroupVersion{Group: "a", Version: "v1"}.String())
		got := Unreachable(&config, c.file, fmt.Errorf("discover a/v1: %w", err))
		if c.want == "" {
			if got != nil {
				t.Errorf("%s: got %v", name, got)
			}
			continue
		}
		want := strings.ReplaceAll(c.want, "ADDRESS", strings.TrimPrefix(config.Host, "http://"))
		if got == nil || !strings.HasPrefix(got.Error(), "the API server "+config.Host+" cannot be reached") || !strings.Contains(got.Error(), want) {
			t.Errorf("%s: got %q, want %q in it", name, got, want)
		}
	}
	for want, err := range map[string]error{
		"and the DNS": &net.DNSError{Name: "h"},
		"the clock":   &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}},
	} {
		if check := Kubeconfig("").whatToCheck(&rest.Config{Host: "https://h"}, err); !strings.Contains(check, want) {
			t.Errorf("after %v: %q, want %q in it", err, check, want)
		}
	}
	if Unreachable(&rest.Config{}, "", errors.New("other")) != nil {
		t.Error("another error is taken for one")
	}
}

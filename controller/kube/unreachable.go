package kube

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"

	"k8s.io/client-go/rest"

	"metascript/controller/connection"
)

// A Kubeconfig is the path of the file that a [rest.Config] was read from, for errors; "" if there is none, as in a Pod.
type Kubeconfig string

// Unreachable returns an error that says that the API server cannot be reached, why, and what to check, if err is the error of a
// request that got no answer; nil otherwise.
func Unreachable(config *rest.Config, from Kubeconfig, err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return nil
	}
	through := ""
	if proxy := proxyFor(config); proxy != "" {
		through = " through the proxy " + proxy
	}
	return fmt.Errorf("the API server %s cannot be reached%s: %w; %s", config.Host, through, failed.Err, from.whatToCheck(config, failed))
}

// proxyFor returns the proxy of requests to the API server, or "".
func proxyFor(config *rest.Config) string { return connection.Proxy(config.Proxy, config.Host) }

// inPod reports whether the config is the one of a Pod with a ServiceAccount.
func (k Kubeconfig) inPod(config *rest.Config) bool { return k == "" && config.BearerTokenFile != "" }

// String returns the name of the kubeconfig.
func (k Kubeconfig) String() string {
	if k == "" {
		return "the kubeconfig"
	}
	return "the kubeconfig " + string(k)
}

// address says what the address of the API server is read from.
func (k Kubeconfig) address(config *rest.Config) string {
	if k.inPod(config) {
		return "the variables KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"
	}
	return k.String()
}

// whatToCheck says what to check after a request got no answer.
func (k Kubeconfig) whatToCheck(config *rest.Config, err error) string {
	var unknown x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	var invalid *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return k.wrongAuthority(config)
	case errors.As(err, &wrongName):
		return "check the address in " + k.address(config) + ", or set tls-server-name in the kubeconfig to a name of the certificate"
	case errors.As(err, &invalid):
		return "check the clock of this machine, and the certificate of the API server"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "check that the address in " + k.address(config) + " begins with http:// or https:// as the API server expects"
	case config.Proxy != nil && proxyFor(config) != "":
		return "check the proxy, which is proxy-url in " + k.String()
	case proxyFor(config) != "":
		return fmt.Sprintf("check the proxy, or add %s to the variable NO_PROXY, so that the API server is reached without it", connection.Host(config.Host))
	case errors.As(err, &name):
		return "check the host name in " + k.address(config) + ", and the DNS"
	}
	return "check the address in " + k.address(config) + ", that the API server runs, and that no proxy, firewall or NetworkPolicy is in between"
}

// wrongAuthority says what to check after the certificate of the API server was not from the certificate authority of the config.
func (k Kubeconfig) wrongAuthority(config *rest.Config) string {
	authority := config.CAFile
	switch {
	case len(config.CAData) > 0:
		authority = "certificate-authority-data in " + k.String()
	case authority == "" && k.inPod(config):
		authority = filepath.Join(filepath.Dir(config.BearerTokenFile), "ca.crt") // client-go ignores one that it cannot read
	case authority == "":
		return k.String() + " names no certificate authority, so only those of the system are trusted: set certificate-authority to the one of this API server"
	}
	return "its certificate is not from the certificate authority in " + authority + ": check that this is the certificate authority of this API server"
}

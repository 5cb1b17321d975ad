// Package connection says how a server is reached, for the errors of requests, and what to do about these errors.
package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Proxy returns the address of the proxy through which requests to a URL are sent, without its user and password; "" if they are sent
// without a proxy. of is the function of the transport; nil is [http.ProxyFromEnvironment], as in client-go.
func Proxy(of func(*http.Request) (*url.URL, error), to string) string {
	target, err := url.Parse(to)
	if err != nil {
		return ""
	}
	if of == nil {
		of = http.ProxyFromEnvironment
	}
	proxy, err := of(&http.Request{URL: target})
	if err != nil || proxy == nil {
		return ""
	}
	return (&url.URL{Scheme: proxy.Scheme, Host: proxy.Host}).String()
}

// Host returns the host of a URL, without its port.
func Host(of string) string {
	u, err := url.Parse(of)
	if err != nil || u.Hostname() == "" {
		return of
	}
	return u.Hostname()
}

// WithProxy names in an error about a webhook the proxy of the environment through which it is called, if there is one.
func WithProxy(err error, to string) error {
	if proxy := Proxy(nil, to); proxy != "" {
		return fmt.Errorf("through the proxy %s: %w", proxy, err)
	}
	return err
}

// ExplainWebhook adds to an error of a request to a webhook, which got no response, what to do.
func ExplainWebhook(err error, to string) error {
	proxied := Proxy(nil, to) != ""
	err = WithProxy(err, to)
	var unknown x509.UnknownAuthorityError
	var invalid *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: set caBundle to its certificate authority", err)
	case errors.As(err, &invalid) || errors.Is(err, context.DeadlineExceeded):
		return err
	case proxied:
		return fmt.Errorf("%w: check the proxy, or add %s to the variable NO_PROXY of the server", err, Host(to))
	}
	return err
}

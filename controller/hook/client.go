package hook

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"metascript/controller/reach"
	"metascript/controller/spans"
)

// A Client has the connections to the server of a webhook. The zero value is ready for use. Its exported fields must be set
// before the first call.
type Client struct {
	Endpoint func() (Endpoint, error)                       // how to connect now; nil: the zero value
	Wrap     func(next http.RoundTripper) http.RoundTripper // wraps the transport of all requests; may be nil
	Tenant   *reach.Tenant                                  // nil: the controller acts as the server, and nothing is limited

	// mu guards the fields below. Endpoint and Wrap are called with it locked, so they must not use the Client; Endpoint locks
	// references.Watcher.
	mu      sync.Mutex
	with    TLS // the settings of current
	current *http.Client
	idle    func() // closes the idle connections of current
}

// connect returns the client and the settings for a call that begins now. Calls in progress continue with theirs.
func (c *Client) connect() (*http.Client, Endpoint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var to Endpoint
	if c.Endpoint != nil {
		var err error
		if to, err = c.Endpoint(); err != nil {
			return nil, to, err
		}
	}
	if c.current == nil || c.with != to.TLS {
		if err := c.renew(to.TLS); err != nil {
			return nil, to, err
		}
	}
	return c.current, to, nil
}

// renew replaces the http.Client by one without connections.
func (c *Client) renew(with TLS) error {
	config, err := with.config()
	if err != nil {
		return err
	}
	transport, follow := newTransport(), redirect
	transport.TLSClientConfig = config
	if c.Tenant != nil {
		c.Tenant.Apply(transport)
		follow = func(to *http.Request, via []*http.Request) error { return c.Tenant.Redirect(to, redirect(to, via)) }
	}
	wrapped := spans.Webhook(transport)
	if c.Wrap != nil {
		wrapped = c.Wrap(wrapped)
	}
	if c.idle != nil {
		c.idle()
	}
	c.with, c.current, c.idle = with, &http.Client{Transport: wrapped, CheckRedirect: follow}, transport.CloseIdleConnections
	return nil
}

// maxRedirects is how many redirects of a call are followed.
const maxRedirects = 10

// redirect allows redirects within one server. A server with another scheme, host or port would get the request with its
// content, although the user did not name it.
func redirect(to *http.Request, via []*http.Request) error {
	from, there := origin(via[0].URL), origin(to.URL)
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("it was redirected %d times", maxRedirects)
	case from != there:
		return fmt.Errorf("status %s: it was redirected from %s to %s, which is not followed: set the webhook's URL to the new address", to.Response.Status, from, there)
	}
	return nil
}

// origin returns the scheme, host and port of a URL, which are not secret.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// close closes idle connections. Those in use are closed after their call.
func (c *Client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil {
		c.idle()
	}
}

// newTransport returns a transport that keeps as many connections as there may be concurrent calls. It uses HTTP/1.1, where
// each call has its own connection: calls are distributed over the Pods of a Service, and a broken connection affects one
// call.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.MaxIdleConns = 100, 100
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	return t
}

// An Endpoint says how to connect to the server of a webhook. The zero value verifies the server with the system's root
// certificates and sends no credentials.
type Endpoint struct {
	TLS
	Authorization string // the value of this header; "" for none
}

// TLS are the TLS settings of a connection.
type TLS struct {
	CA               Material // root certificates in place of the system's
	Certificate, Key Material // the client certificate
}

// A Material is a certificate or a key in PEM, and where it comes from, for errors. The zero value is none.
type Material struct{ PEM, Where string }

// Check returns an error if t cannot be used. The error does not contain the content of a Material.
func (t TLS) Check() error {
	_, err := t.config()
	return err
}

func (t TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != (Material{}) {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA.PEM)) {
			return nil, fmt.Errorf("caBundle: %s: it contains no certificate in PEM format", t.CA.Where)
		}
	}
	if t.Certificate != (Material{}) {
		pair, err := tls.X509KeyPair([]byte(t.Certificate.PEM), []byte(t.Key.PEM))
		if err != nil {
			return nil, fmt.Errorf("clientTLS: %s and %s: %w", t.Certificate.Where, t.Key.Where, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

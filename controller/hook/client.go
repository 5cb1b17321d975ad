package hook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// A Client keeps connections to the server of a webhook. The zero value is ready for use; its fields are set before it
// is used.
type Client struct {
	Endpoint func() (Endpoint, error)                       // how to connect now; nil: the zero value
	Wrap     func(next http.RoundTripper) http.RoundTripper // what each request goes through; nil: nothing

	mu      sync.Mutex
	with    TLS // what current was made with
	current *http.Client
	idle    func() // closes the connections of current that nobody uses
}

// connect returns what a call that begins now is made with. Calls under way continue with what they began with.
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

// renew replaces the http.Client by one that has no connections yet.
func (c *Client) renew(with TLS) error {
	config, err := with.config()
	if err != nil {
		return err
	}
	transport := newTransport()
	transport.TLSClientConfig = config
	var wrapped http.RoundTripper = transport
	if c.Wrap != nil {
		wrapped = c.Wrap(transport)
	}
	if c.idle != nil {
		c.idle()
	}
	c.with, c.current, c.idle = with, &http.Client{Transport: wrapped, CheckRedirect: redirect}, transport.CloseIdleConnections
	return nil
}

// maxRedirects is how often a server may send a call elsewhere.
const maxRedirects = 10

// redirect allows redirects within one server. A server with another scheme, host or port would get the request, with all
// that is in it, although nobody named it.
func redirect(to *http.Request, via []*http.Request) error {
	from, there := origin(via[0].URL), origin(to.URL)
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("it was redirected %d times", maxRedirects)
	case from != there:
		return fmt.Errorf("status %s: it was redirected from %s to %s, which is not followed: set the webhook's URL to where it is", to.Response.Status, from, there)
	}
	return nil
}

// origin is the scheme, host and port of a URL, which are no secret.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Close closes the connections that nobody uses; those in use are closed after their call.
func (c *Client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil {
		c.idle()
	}
}

// newTransport keeps as many connections as there may be calls at a time. It speaks HTTP/1.1, in which each call has a
// connection of its own: calls spread over the Pods of a Service, and a connection that died is given up with its call.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.MaxIdleConns = 100, 100
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	return t
}

// An Endpoint says how to connect to the server of a webhook: what verifies the server, and which credentials it gets. With
// the zero value the system's certificates verify it, and it gets no credentials.
type Endpoint struct {
	TLS
	Authorization string // the header of that name; "": none
}

// TLS is what a connection is made with.
type TLS struct {
	CA               Material // certificates that verify the server, in place of the system's
	Certificate, Key Material // for a server that asks for them
}

// A Material is a certificate or a key in PEM, and where it is, for errors. The zero value is none.
type Material struct{ PEM, Where string }

// Check says what of t cannot be used. The error never shows the content of a Material.
func (t TLS) Check() error {
	_, err := t.config()
	return err
}

func (t TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != (Material{}) {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA.PEM)) {
			return nil, fmt.Errorf("caBundle: %s: there is no certificate in it, in PEM", t.CA.Where)
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

// explain adds to an error of a connection how to fix it.
func explain(err error) error {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w: name its certificate authority in caBundle", err)
	}
	return err
}

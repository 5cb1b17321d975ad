package hook

import (
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
	Endpoint func() (Endpoint, error)                       // how the server is met now; nil: as the zero value says
	Wrap     func(next http.RoundTripper) http.RoundTripper // what each request goes through; nil: nothing

	mu      sync.Mutex
	with    TLS // what current was made with
	current *http.Client
	idle    func() // closes the connections of current that nobody uses
}

// meet gives what a call that begins now is made with. Calls under way go on with what they began with.
func (c *Client) meet() (*http.Client, Endpoint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var met Endpoint
	if c.Endpoint != nil {
		var err error
		if met, err = c.Endpoint(); err != nil {
			return nil, met, err
		}
	}
	if c.current == nil || c.with != met.TLS {
		if err := c.renew(met.TLS); err != nil {
			return nil, met, err
		}
	}
	return c.current, met, nil
}

// renew begins anew without connections.
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

// redirect follows a server that sends a call elsewhere on itself. Another scheme, host or port would be given the request,
// with all that is in it, although nobody named it.
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
func (c *Client) Close() {
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

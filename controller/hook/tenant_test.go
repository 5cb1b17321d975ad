package hook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"metascript/controller/reach"
)

// resolving replaces the DNS of this process by one that gives each name these addresses, one after the other, and the last one from then on.
func resolving(t *testing.T, addresses ...string) {
	t.Helper()
	var asked atomic.Int32
	serveDNS(t, func(kind uint16) []byte {
		if kind != ofIPv4 {
			return nil
		}
		v4 := netip.MustParseAddr(addresses[min(int(asked.Add(1)), len(addresses))-1]).As4()
		return v4[:]
	})
}

// aTenant returns a Tenant that may call servers at 127.0.0.2, but not at 127.0.0.1.
func aTenant() *reach.Tenant {
	return &reach.Tenant{
		Namespace: "team-a", Networks: &reach.Networks{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}},
		Service: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("there is no Service") },
	}
}

// serveAt serves HTTP at 127.0.0.2, and returns the webhook of a tenant there, whose host is a name.
func serveAt(t *testing.T, host string, handler http.HandlerFunc) *Webhook {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	s := http.Server{Handler: handler}
	ended := make(chan error)
	go func() { ended <- s.Serve(listener) }()
	h := &Webhook{URL: fmt.Sprintf("http://%s:%d/sync", host, listener.Addr().(*net.TCPAddr).Port), Client: Client{Tenant: aTenant()}}
	t.Cleanup(func() {
		h.Client.close()
		s.Close()
		<-ended
	})
	return h
}

func TestNameThatChangesItsAddressIsCheckedEachTime(t *testing.T) {
	resolving(t, "127.0.0.2", "127.0.0.1")
	calls := 0
	h := serveAt(t, "changes.example.com", func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Connection", "close")
		empty(w, r)
	})
	ask(t, h, newRequest(t))
	_, err := h.Call(t.Context(), newRequest(t))
	if got := fault(t, h, err); !strings.Contains(got, "127.0.0.1 is a loopback address, where no webhook of a controller with spec.serviceAccount is called") || calls != 1 {
		t.Errorf("%d calls, error %q", calls, got)
	}
}

// A redirect is to the same host, and the name has another address when it is followed.
func TestRedirectIsCheckedToo(t *testing.T) {
	resolving(t, "127.0.0.2", "127.0.0.1")
	h := serveAt(t, "changes.example.com", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
	})
	_, err := h.Call(t.Context(), newRequest(t))
	if got := fault(t, h, err); !strings.Contains(got, "127.0.0.1 is a loopback address") {
		t.Errorf("error %q", got)
	}
}

func TestControllerWithoutAccountIsNotLimited(t *testing.T) {
	h := answerWith(t, 403, "what the server says")
	_, err := h.Call(t.Context(), newRequest(t))
	if got := fault(t, h, err); got != "status 403 Forbidden: what the server says" {
		t.Errorf("error %q", got)
	}
}

// raw returns a handler that sends a text in place of a response.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, text)
	}
}

// No text that a server chooses is in an error, since it may be an internal one.
func TestErrorsOfTenantsHaveNoTextOfOthers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	const refused = "; the text of the response is not shown: the webhook is not a Service in the namespace team-a"
	resolving(t, "127.0.0.2")
	for _, c := range []struct{ name, response, want string }{
		{"a body", "HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nhunter", "status 403 Forbidden" + refused},
		{"the text of the status", "HTTP/1.1 403 hunter\r\nContent-Length: 0\r\n\r\n", "status 403 Forbidden" + refused},
		{"an unknown status", "HTTP/1.1 599 hunter\r\nContent-Length: 0\r\n\r\n", "status 599" + refused},
		{"an HTML page", ok + "Content-Length: 14\r\n\r\n<title>hunter ", "the answer is not a JSON object: invalid character '<' looking for beginning of value"},
		{"a redirect with a GET", "HTTP/1.1 303 hunter\r\nLocation: /hunter\r\nContent-Length: 0\r\n\r\n", "status 303 See Other: a redirect that changes the request to a GET is not followed"},
		{"the same", "HTTP/1.1 302 hunter\r\nLocation: /hunter\r\nContent-Length: 0\r\n\r\n", "status 302 Found: a redirect that changes the request to a GET is not followed"},
		{"a redirect to another host", "HTTP/1.1 307 hunter\r\nLocation: http://hunter.example.com/\r\nContent-Length: 0\r\n\r\n", "status 307 Temporary Redirect: it was redirected to another scheme, host or port"},
		{"a redirect to nowhere", "HTTP/1.1 307 hunter\r\nLocation: http://[hunter/\r\nContent-Length: 0\r\n\r\n", "what responds is not an HTTP server, or its response is invalid"},
		{"another protocol", "SSH-2.0-hunter\r\n", "what responds is not an HTTP server, or its response is invalid"},
		{"a header that is none", ok + "hunter\r\n\r\n", "what responds is not an HTTP server, or its response is invalid"},
		{"an encoding", ok + "Transfer-Encoding: hunter\r\n\r\n", "what responds is not an HTTP server, or its response is invalid"},
		{"a length", ok + "Content-Length: hunter\r\n\r\n", "what responds is not an HTTP server, or its response is invalid"},
		{"a trailer", ok + "Trailer: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nhunter\r\n\r\n", "the answer broke off after 0 bytes: what responds is not an HTTP server, or its response is invalid"},
		{"nothing", "", "EOF"},
		{"a part", ok + "Content-Length: 10\r\n\r\n{", "the answer broke off after 1 bytes: unexpected EOF"},
	} {
		h := serveAt(t, "internal.example.com", raw(c.response))
		_, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); !strings.HasPrefix(got, c.want) || strings.Contains(got, "hunter") {
			t.Errorf("%s: error %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNamesInCertificatesAreNotShown(t *testing.T) {
	ours := newAuthority(t, "hunter authority")
	s := secure(t, ours, &tls.Config{}, empty)
	port := s.Listener.Addr().(*net.TCPAddr).Port
	for _, c := range []struct {
		host string
		with TLS
		want string
	}{
		{"127.0.0.1", TLS{}, "its certificate is signed by an unknown authority: set caBundle to its certificate authority"},
		{"internal.example.com", trusting(ours), "its certificate is not valid for the host of the URL"},
	} {
		resolving(t, "127.0.0.1")
		tenant := aTenant()
		tenant.Networks.Allowed = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		h := &Webhook{URL: fmt.Sprintf("https://%s:%d/sync", c.host, port), Client: Client{Tenant: tenant, Endpoint: always(Endpoint{TLS: c.with})}}
		t.Cleanup(h.Client.close)
		_, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); got != c.want {
			t.Errorf("%s: error %q, want %q", c.host, got, c.want)
		}
	}
}

// The body of an error is shown if it is from a Service of the tenant: one that has the address to which the connection is.
func TestTextOfOwnServiceIsShown(t *testing.T) {
	for _, c := range []struct {
		host, service string // its address; "" if it cannot be read
		want          string
	}{
		{"web.team-a", "127.0.0.2", "status 403 Hm: hunter"},
		{"web.team-a.svc", "127.0.0.2", "status 403 Hm: hunter"},
		{"Web.Team-A.svc.cluster.local", "127.0.0.2", "status 403 Hm: hunter"},
		{"web.team-a", "10.0.0.1", "status 403 Forbidden; the text of the response is not shown: it is not from the Service team-a/web"},
		{"web.team-a", "", "status 403 Forbidden; the text of the response is not shown: there is no Service"},
		{"web.team-b", "127.0.0.2", "status 403 Forbidden; the text of the response is not shown: the webhook is not a Service in the namespace team-a"},
		{"web.team-a.example.com", "127.0.0.2", "status 403 Forbidden; the text of the response is not shown: the webhook is not a Service in the namespace team-a"},
		{"team-a", "127.0.0.2", "status 403 Forbidden; the text of the response is not shown: the webhook is not a Service in the namespace team-a"},
	} {
		resolving(t, "127.0.0.2")
		h := serveAt(t, c.host, raw("HTTP/1.1 403 Hm\r\nContent-Length: 6\r\n\r\nhunter"))
		h.Client.Tenant.Service = func(_ context.Context, name string) ([]netip.Addr, error) {
			if c.service == "" {
				return nil, errors.New("there is no Service")
			}
			if name != "web" {
				t.Errorf("the Service %s is read", name)
			}
			return []netip.Addr{netip.MustParseAddr(c.service)}, nil
		}
		_, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); got != c.want {
			t.Errorf("%s: error %q, want %q", c.host, got, c.want)
		}
	}
}

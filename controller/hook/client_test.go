package hook

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"metascript/test/authority"
)

func newAuthority(t *testing.T, name string) *authority.Authority {
	t.Helper()
	a, err := authority.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *authority.Authority, name string) authority.Pair {
	t.Helper()
	pair, err := a.Issue(name)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// A secured server has a certificate that may be changed.
type secured struct {
	*httptest.Server
	certificate atomic.Pointer[tls.Certificate]
	connections atomic.Int32
}

// secure serves by TLS with a certificate of a.
func secure(t *testing.T, a *authority.Authority, with *tls.Config, handler http.HandlerFunc) *secured {
	t.Helper()
	s := &secured{Server: httptest.NewUnstartedServer(handler)}
	s.present(t, a)
	s.TLS = with.Clone()
	s.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		s.connections.Add(1)
		now := with.Clone()
		now.Certificates = []tls.Certificate{*s.certificate.Load()}
		return now, nil
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail on purpose
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *secured) present(t *testing.T, a *authority.Authority) {
	t.Helper()
	certificate, err := issue(t, a, "server").TLS()
	if err != nil {
		t.Fatal(err)
	}
	s.certificate.Store(&certificate)
}

// calling gives a webhook that calls the server, which it meets as endpoint says.
func (s *secured) calling(t *testing.T, endpoint func() (Endpoint, error)) *Webhook {
	t.Helper()
	h := &Webhook{URL: s.URL + "/sync", Client: Client{Endpoint: endpoint}}
	t.Cleanup(h.Client.close)
	return h
}

func always(e Endpoint) func() (Endpoint, error) { return func() (Endpoint, error) { return e, nil } }

func trusting(a *authority.Authority) TLS { return TLS{CA: Material{a.PEM, "the test"}} }

func showing(a *authority.Authority, pair authority.Pair) TLS {
	with := trusting(a)
	with.Certificate, with.Key = Material{pair.Certificate, "key tls.crt of Secret ns/s"}, Material{pair.Key, "key tls.key of Secret ns/s"}
	return with
}

func empty(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = io.WriteString(w, `{}`)
}

func TestServerIsVerifiedWithCABundle(t *testing.T) {
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	s := secure(t, ours, &tls.Config{}, empty)
	ask(t, s.calling(t, always(Endpoint{TLS: trusting(ours)})), newRequest(t))
	for name, with := range map[string]TLS{"another bundle": trusting(other), "none": {}} {
		h := s.calling(t, always(Endpoint{TLS: with}))
		_, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); !strings.Contains(got, "certificate signed by unknown authority: set caBundle to its certificate authority") {
			t.Errorf("%s: error %q", name, got)
		}
	}
}

func TestClientCertificateIsSent(t *testing.T) {
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	s := secure(t, ours, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ours.Pool}, func(w http.ResponseWriter, r *http.Request) {
		if name := r.TLS.PeerCertificates[0].Subject.CommonName; name != "client" {
			t.Errorf("the client is %q", name)
		}
		empty(w, r)
	})
	ask(t, s.calling(t, always(Endpoint{TLS: showing(ours, issue(t, ours, "client"))})), newRequest(t))
	for name, with := range map[string]TLS{"none": trusting(ours), "another authority's": showing(ours, issue(t, other, "client"))} {
		h := s.calling(t, always(Endpoint{TLS: with}))
		if _, err := h.Call(t.Context(), newRequest(t)); !strings.Contains(fault(t, h, err), "tls: ") {
			t.Errorf("%s: error %v, want one of TLS", name, err)
		}
	}
}

func TestOldTLSVersionIsAnError(t *testing.T) {
	ours := newAuthority(t, "ours")
	s := secure(t, ours, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}, empty)
	h := s.calling(t, always(Endpoint{TLS: trusting(ours)}))
	if _, err := h.Call(t.Context(), newRequest(t)); !strings.Contains(fault(t, h, err), "protocol version") {
		t.Errorf("error %v, want that the protocol version is not supported", err)
	}
}

func TestErrorForInvalidMaterialNamesItsSource(t *testing.T) {
	ours := newAuthority(t, "ours")
	one, two := issue(t, ours, "client"), issue(t, ours, "client")
	for name, c := range map[string]struct {
		with TLS
		want string
	}{
		"text for an authority":  {TLS{CA: Material{"hunter2", "key ca.crt of Secret ns/s"}}, "caBundle: key ca.crt of Secret ns/s: it contains no certificate in PEM format"},
		"text for a certificate": {showing(ours, authority.Pair{Certificate: "hunter2", Key: one.Key}), "clientTLS: key tls.crt of Secret ns/s and key tls.key of Secret ns/s: tls: failed to find any PEM data in certificate input"},
		"text for a key":         {showing(ours, authority.Pair{Certificate: one.Certificate, Key: "hunter2"}), "clientTLS: key tls.crt of Secret ns/s and key tls.key of Secret ns/s: tls: failed to find any PEM data in key input"},
		"another's key":          {showing(ours, authority.Pair{Certificate: one.Certificate, Key: two.Key}), "clientTLS: key tls.crt of Secret ns/s and key tls.key of Secret ns/s: tls: private key does not match public key"},
	} {
		h := &Webhook{URL: "https://127.0.0.1:1/sync", Client: Client{Endpoint: always(Endpoint{TLS: c.with})}}
		_, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); got != c.want {
			t.Errorf("%s: error %q, want %q", name, got, c.want)
		}
	}
}

func TestEndpointErrorIsReturned(t *testing.T) {
	missing := errors.New("Secret ns/s does not exist")
	h := &Webhook{URL: "https://127.0.0.1:1/sync", Client: Client{Endpoint: func() (Endpoint, error) { return Endpoint{}, missing }}}
	if _, err := h.Call(t.Context(), newRequest(t)); !errors.Is(err, missing) || fault(t, h, err) != missing.Error() {
		t.Errorf("error %v, want %v", err, missing)
	}
}

func TestConnectionsAreReusedUntilEndpointChanges(t *testing.T) {
	ours := newAuthority(t, "ours")
	s := secure(t, ours, &tls.Config{}, empty)
	var met atomic.Pointer[Endpoint]
	met.Store(&Endpoint{TLS: trusting(ours)})
	h := s.calling(t, func() (Endpoint, error) { return *met.Load(), nil })
	calls := func(want int32) {
		t.Helper()
		for range 3 {
			ask(t, h, newRequest(t))
		}
		if got := s.connections.Load(); got != want {
			t.Errorf("%d connections were made, want %d", got, want)
		}
	}
	calls(1)
	met.Store(&Endpoint{TLS: trusting(ours), Authorization: "Bearer new"})
	calls(1)
	met.Store(&Endpoint{TLS: showing(ours, issue(t, ours, "client"))})
	calls(2)
}

// A server that restarts, or that closes idle connections, closes them.
func TestClosedIdleConnectionIsNoError(t *testing.T) {
	ours := newAuthority(t, "ours")
	s := secure(t, ours, &tls.Config{}, empty)
	h := s.calling(t, always(Endpoint{TLS: trusting(ours)}))
	for range 20 {
		ask(t, h, newRequest(t))
		s.CloseClientConnections()
	}
}

func TestRotatedCAIsUsed(t *testing.T) {
	before, after := newAuthority(t, "before"), newAuthority(t, "after")
	s := secure(t, before, &tls.Config{}, empty)
	var met atomic.Pointer[Endpoint]
	met.Store(&Endpoint{TLS: trusting(before)})
	h := s.calling(t, func() (Endpoint, error) { return *met.Load(), nil })
	ask(t, h, newRequest(t))
	s.present(t, after)
	s.CloseClientConnections()
	if _, err := h.Call(t.Context(), newRequest(t)); !strings.Contains(fault(t, h, err), "unknown authority") {
		t.Fatalf("error %v, want one about the authority", err)
	}
	met.Store(&Endpoint{TLS: trusting(after)})
	ask(t, h, newRequest(t))
}

func TestCallInFlightKeepsItsEndpoint(t *testing.T) {
	before, after := newAuthority(t, "before"), newAuthority(t, "after")
	arrived, goOn := make(chan struct{}), make(chan struct{})
	var second atomic.Bool
	s := secure(t, before, &tls.Config{}, func(w http.ResponseWriter, r *http.Request) {
		if !second.Swap(true) {
			close(arrived)
			<-goOn
		}
		empty(w, r)
	})
	var met atomic.Pointer[Endpoint]
	met.Store(&Endpoint{TLS: trusting(before)})
	h := s.calling(t, func() (Endpoint, error) { return *met.Load(), nil })
	done := make(chan error, 1)
	go func() {
		_, err := h.Call(t.Context(), newRequest(t))
		done <- err
	}()
	<-arrived
	s.present(t, after)
	met.Store(&Endpoint{TLS: trusting(after)})
	ask(t, h, newRequest(t))
	close(goOn)
	if err := <-done; err != nil {
		t.Errorf("the call that was under way: %v", err)
	}
}

func TestCredentialsAreSentAndRedacted(t *testing.T) {
	const secret = "hunter2"
	for name, header := range map[string]string{
		"a token":    "Bearer " + secret,
		"a password": "Basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+secret)),
	} {
		h := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			user, password, _ := r.BasicAuth()
			if got := r.Header.Get("Authorization"); got != header || user == "admin" && password != secret {
				t.Errorf("%s: the header is %q", name, got)
			}
			http.Error(w, "not with "+r.Header.Get("Authorization")+" and "+secret, http.StatusUnauthorized)
		})
		h.Client.Endpoint = always(Endpoint{Authorization: header})
		_, err := h.Call(t.Context(), newRequest(t))
		if got, want := fault(t, h, err), "status 401 Unauthorized: not with [redacted] and [redacted]\n"; got != want {
			t.Errorf("%s: error %q, want %q", name, got, want)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: error %q", name, err)
			}
		}
	}
}

// Secrets are removed before a text is truncated. Otherwise a part of one would stay.
func TestSecretIsRedactedBeforeTruncation(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, strings.Repeat("-", maxError-len("status 401 Unauthorized: ")-4)+"hunter2", http.StatusUnauthorized)
	})
	h.Client.Endpoint = always(Endpoint{Authorization: "Bearer hunter2"})
	if _, err := h.Call(t.Context(), newRequest(t)); err == nil || strings.Contains(err.Error(), "hun") {
		t.Errorf("error %v", err)
	}
}

// Another scheme, host or port is another server, which is not configured.
func TestRedirectToOtherServerIsNotFollowed(t *testing.T) {
	const secret = "jklmno" // no part of its hexadecimal form can be a part of a port
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server got %s %s", r.Method, r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{elsewhere.URL, "//" + secret + "@" + elsewhere.Listener.Addr().String() + "/a?" + secret, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)} {
			h := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, code) })
			h.Client.Endpoint = always(Endpoint{Authorization: secret})
			_, err := h.Call(t.Context(), newRequest(t))
			from, _ := url.Parse(h.URL)
			there, _ := from.Parse(to)
			want := fmt.Sprintf("status %d %s: it was redirected from http://%s to http://%s, which is not followed: set the webhook's URL to the new address", code, http.StatusText(code), from.Host, there.Host)
			if got := fault(t, h, err); got != want {
				t.Errorf("status %d: error %q, want %q", code, got, want)
			}
		}
	}
}

func TestRedirectOnSameServerIsFollowed(t *testing.T) {
	for code, want := range map[int]string{301: "GET 0", 302: "GET 0", 303: "GET 0", 307: "POST 1", 308: "POST 1"} {
		h := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/sync" {
				http.Redirect(w, r, "http://"+r.Host+"/there", code)
				return
			}
			body, _ := io.ReadAll(r.Body)
			if got := fmt.Sprint(r.Method, " ", min(len(body), 1)); got != want {
				t.Errorf("status %d: redirected with %s, want %s", code, got, want)
			}
			empty(w, r)
		})
		ask(t, h, newRequest(t))
	}
}

func TestRedirectFromHTTPSToHTTPIsNotFollowed(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("there was a request without TLS: %s", r.URL)
	}))
	t.Cleanup(plain.Close)
	ours := newAuthority(t, "ours")
	s := secure(t, ours, &tls.Config{}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL, http.StatusTemporaryRedirect)
	})
	h := s.calling(t, always(Endpoint{TLS: trusting(ours), Authorization: "Bearer hunter2"}))
	_, err := h.Call(t.Context(), newRequest(t))
	if got := fault(t, h, err); !strings.HasPrefix(got, "status 307 Temporary Redirect: it was redirected from https://") {
		t.Errorf("error %q, want that it was redirected to another server", got)
	}
}

func TestEndlessRedirectIsAnError(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusTemporaryRedirect) })
	_, err := h.Call(t.Context(), newRequest(t))
	if got, want := fault(t, h, err), "it was redirected 10 times"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestSecretsInURLAreRedacted(t *testing.T) {
	for _, url := range []string{
		"http://admin:hunter2@127.0.0.1:1/sync", "http://hunter2@127.0.0.1:1/sync", "http://127.0.0.1:1/sync?token=hunter2",
		"http://admin:hunter2@[/sync", "http://admin:%zzhunter2@x/sync", "http://admin:hunter2/x@host/", "ftp://admin:hunter2@host/",
	} {
		_, err := (&Webhook{URL: url}).Call(t.Context(), newRequest(t))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", url, err)
		}
	}
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		http.Error(w, password+" and "+r.URL.RawQuery, http.StatusForbidden)
	})
	h.URL = strings.Replace(h.URL, "http://", "http://admin:hunter2@", 1) + "?token=hunter3"
	_, err := h.Call(t.Context(), newRequest(t))
	if err == nil || !strings.HasSuffix(err.Error(), "[redacted] and [redacted]\n") {
		t.Errorf("error %v", err)
	}
}

func TestACallContinuesTheTraceOfItsReconcile(t *testing.T) {
	var header string
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Get("traceparent")
		_, _ = w.Write([]byte("{}"))
	})
	if ask(t, h, newRequest(t)); header != "" {
		t.Errorf("without a trace, the header is %q", header)
	}
	of := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	if _, err := h.Call(trace.ContextWithSpanContext(t.Context(), of), newRequest(t)); err != nil {
		t.Fatal(err)
	}
	if want := "00-01000000000000000000000000000000-0200000000000000-01"; header != want {
		t.Errorf("the header is %q, want %q", header, want)
	}
}

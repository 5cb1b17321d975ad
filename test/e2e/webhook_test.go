package e2e

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"metascript/test/authority"
)

// A hookServer is a webhook. It returns one ConfigMap for each name in the parent's spec.names, with a status that counts
// those observed and has the parent's spec.round. /finalize is done once no child is observed. Answers have an ETag.
// spec.fault of a parent selects a fault instead; spec.fail is the text of an answer with status 500. With spec.wait a call is answered
// after the command "release".
type hookServer struct {
	*httptest.Server
	authorization string // the header that requests must have; "": none

	mu          sync.Mutex
	certificate tls.Certificate
	clients     *x509.CertPool // the authority of the clients' certificates
	calls       map[string]int // by the parent's name
	unchanged   map[string]int // the calls that were answered with status 304 or 412
	released    chan struct{}  // is closed by release
	release     func()
}

// cmdWebhook starts a webhook. "tls" gives it a certificate of its own authority, which is $CA_PEM, a string for YAML, and
// the file webhook.crt; with
// "mtls" it also requires a client certificate of that authority: $CERT_PEM with $KEY_PEM is one. The other words are the
// Authorization header that it requires.
func cmdWebhook(ts *testscript.TestScript, _ bool, args []string) {
	s := &hookServer{calls: map[string]int{}, unchanged: map[string]int{}, released: make(chan struct{})}
	s.release = sync.OnceFunc(func() { close(s.released) })
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sync", s.serve(false))
	mux.HandleFunc("POST /finalize", s.serve(true))
	s.Server = httptest.NewUnstartedServer(mux)
	ts.Check(s.Listener.Close())
	listener, err := net.Listen("tcp", worldOf(ts).loopback+":0")
	ts.Check(err)
	s.Listener = listener
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the errors of handshakes are expected
	secure := len(args) > 0 && strings.HasSuffix(args[0], "tls")
	if secure {
		s.rotate(ts)
		s.secure(args[0] == "mtls")
		args = args[1:]
	} else {
		s.Start()
	}
	s.authorization = strings.Join(args, " ")
	ts.Defer(s.Close)
	ts.Defer(s.release) // Close waits for calls
	ts.Setenv("WEBHOOK", s.URL)
	ts.Setenv("WEBHOOK_HOST", s.Listener.Addr().String())
	ts.Setenv("WEBHOOK_PORT", strconv.Itoa(s.Listener.Addr().(*net.TCPAddr).Port))
	worldOf(ts).webhook = s
}

// cmdRelease has the webhook answer the calls that wait.
func cmdRelease(ts *testscript.TestScript, _ bool, _ []string) { worldOf(ts).webhook.release() }

// cmdRotate returns the server another authority and certificate, and closes its connections.
func cmdRotate(ts *testscript.TestScript, _ bool, _ []string) {
	s := worldOf(ts).webhook
	s.rotate(ts)
	s.CloseClientConnections()
}

func (s *hookServer) rotate(ts *testscript.TestScript) {
	a, err := authority.New("webhooks")
	ts.Check(err)
	pair, err := a.Issue("hook.example.com")
	ts.Check(err)
	client, err := a.Issue("client")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("webhook.crt"), []byte(a.PEM), 0o600))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = a.Pool
	s.certificate, err = pair.TLS()
	ts.Check(err)
	for name, text := range map[string]string{"CA_PEM": a.PEM, "CERT_PEM": client.Certificate, "KEY_PEM": client.Key} {
		quoted, err := json.Marshal(text)
		ts.Check(err)
		ts.Setenv(name, string(quoted))
	}
}

// secure starts the server with TLS.
func (s *hookServer) secure(mutual bool) {
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := &tls.Config{Certificates: []tls.Certificate{s.certificate}}
		if mutual {
			now.ClientAuth, now.ClientCAs = tls.RequireAndVerifyClientCert, s.clients
		}
		return now, nil
	}}
	s.StartTLS()
}

// callCounts returns what the command calls prints: how many calls there were for a parent, and how many of them were answered
// with status 304 or 412.
func (s *hookServer) callCounts(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d calls, %d unchanged", s.calls[name], s.unchanged[name])
}

// cmdCalls waits for the minimum of the calls for a parent, and checks the number.
func cmdCalls(ts *testscript.TestScript, _ bool, args []string) {
	s := worldOf(ts).webhook
	least, err := strconv.Atoi(args[1])
	ts.Check(err)
	most, err := strconv.Atoi(args[2])
	ts.Check(err)
	n := 0
	err = eventually(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n = s.calls[args[0]]; n < least {
			return fmt.Errorf("%d calls about %s, want %d to %d", n, args[0], least, most)
		}
		return nil
	})
	fmt.Fprintln(ts.Stdout(), s.callCounts(args[0]))
	ts.Check(err)
	if n > most {
		ts.Fatalf("%d calls about %s, want %d to %d", n, args[0], least, most)
	}
}

type hookRequest struct {
	Parent struct {
		Metadata struct{ Name string }
		Spec     struct {
			Names       []string
			Fail, Fault string
			Round       int
			Wait        bool
		}
	}
	Children   map[string]map[string]any
	Finalizing bool
}

func (s *hookServer) serve(finalize bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req hookRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the caller disconnects
		name := req.Parent.Metadata.Name
		s.count(s.calls, name)
		if got := r.Header.Get("Authorization"); got != s.authorization {
			http.Error(w, "not with "+got, http.StatusUnauthorized)
			return
		}
		if fail := req.Parent.Spec.Fail; fail != "" {
			http.Error(w, fail, http.StatusInternalServerError)
			return
		}
		if req.Parent.Spec.Wait {
			select {
			case <-s.released:
			case <-r.Context().Done():
			}
		}
		if fault := faults[req.Parent.Spec.Fault]; fault != nil {
			fault(w, r)
			return
		}
		body, _ := json.Marshal(answer(&req, finalize))
		etag := fmt.Sprintf(`"%x"`, sha256.Sum256(body))
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			s.count(s.unchanged, name)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(body)
	}
}

func (s *hookServer) count(what map[string]int, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what[name]++
}

func answer(req *hookRequest, finalize bool) map[string]any {
	children := []any{}
	if !finalize {
		for _, name := range req.Parent.Spec.Names {
			children = append(children, map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
			})
		}
	}
	observed := len(req.Children["ConfigMap.v1"])
	status := map[string]any{"observed": observed}
	if round := req.Parent.Spec.Round; round > 0 {
		status["round"] = round
	}
	return map[string]any{
		"status": status, "children": children, "finalized": finalize && observed == 0,
	}
}

// faults are invalid answers of a webhook, by spec.fault.
var faults = map[string]http.HandlerFunc{
	"hang": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"html": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>Welcome</title>")
	},
	"half": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"children": [{"kind":`) },
	"cut": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"children": []`)
	},
	"huge": func(w http.ResponseWriter, _ *http.Request) {
		blanks := bytes.Repeat([]byte(" "), 1<<20)
		for i := 0; i < 200; i++ {
			if _, err := w.Write(blanks); err != nil {
				return
			}
		}
	},
	"unknown": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"children": [], "childs": []}`)
	},
	"twice": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"children": [], "children": []}`)
	},
	"elsewhere": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+strings.Replace(r.Host, "127.0.0.1", "localhost", 1)+r.URL.Path, http.StatusTemporaryRedirect)
	},
	"large": func(w http.ResponseWriter, _ *http.Request) { // 2 MiB
		_, _ = io.WriteString(w, `{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"is": "large"}}]`)
		_, _ = w.Write(bytes.Repeat([]byte(" "), 2<<20))
		_, _ = io.WriteString(w, `}`)
	},
	"empty": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) },
	"null":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"children": null}`) },
	"none":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"children": []}`) },
	"response": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"statusCode": 200, "body": "{\"children\": []}"}`)
	},
	"attachments": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"children": null, "attachments": []}`)
	},
	"case": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status": {}, "Children": [{"kind": "ConfigMap"}]}`)
	},
	"error": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"children": [], "error": "boom"}`)
	},
	"nulls":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"children": [null, null]}`) },
	"silent":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status": {}}`) },
	"message": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"message": "starting"}`) },
	"rule": func(w http.ResponseWriter, _ *http.Request) { // to sync and to customize
		_, _ = io.WriteString(w, `{"relatedResources": [{"apiVersion": "v1", "resource": "secrets", "name": "a"}],
			"children": [null, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rule"}}]}`)
	},
	"500": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusInternalServerError)
	},
	"busy": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusTooManyRequests)
	},
}

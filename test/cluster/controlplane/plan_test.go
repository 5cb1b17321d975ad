package controlplane

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestFreePorts(t *testing.T) {
	ports, err := freePorts(5)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] {
			t.Errorf("port %d is returned twice", port)
		}
		seen[port] = true
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		listener.Close()
	}
}

// Each file in an argument must exist before the component starts, except the
// directories that components create. Each address must be 127.0.0.1.
func TestPlan(t *testing.T) {
	l := &Launcher{Stages: []string{"kind: Stage"}}
	f := folder(t.TempDir())
	p, err := l.newPlan(f)
	if err != nil {
		t.Fatal(err)
	}
	created := []string{f.path("state", "etcd"), f.path("state", "flexvolume")}
	for _, wave := range p.waves {
		for _, component := range wave {
			for _, arg := range component.args {
				_, value, _ := strings.Cut(arg, "=")
				if strings.HasPrefix(value, "/") && value != created[0] && value != created[1] {
					wantExists(t, value, true)
				}
				if strings.Contains(arg, "-address") && !strings.HasSuffix(arg, "=127.0.0.1") {
					t.Errorf("%s: argument %s, want 127.0.0.1", component.name, arg)
				}
			}
		}
	}
	stages, err := os.ReadFile(f.path("state", stagesFile))
	if err != nil || !strings.HasSuffix(string(stages), "\n---\nkind: Stage") {
		t.Errorf("stages: %v:\n%s", err, stages)
	}
}

// apiStub responds like an API server. If exist is set, all objects exist already.
type apiStub struct {
	mu      sync.Mutex
	exist   bool
	created []string
}

func (s *apiStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodPost && s.exist:
		w.WriteHeader(http.StatusConflict)
	case r.Method == http.MethodPost:
		var object struct{ Kind string }
		if err := json.NewDecoder(r.Body).Decode(&object); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.created = append(s.created, object.Kind)
		w.WriteHeader(http.StatusCreated)
	case r.URL.Path == "/missing":
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "no such thing")
	case r.URL.Path == "/api/v1/nodes":
		io.WriteString(w, nodesJSON)
	}
}

// Two of the four nodes are ready: the third has a taint, and the fourth is not
// Ready.
const nodesJSON = `{"items": [
	{"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
	{"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
	{"status": {"conditions": [{"type": "Ready", "status": "True"}]}, "spec": {"taints": [{"key": "k"}]}},
	{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
]}`

// serve starts the stub with the certificate of a new identity, and returns a
// client for it. The certificate must be valid for any port.
func (s *apiStub) serve(t *testing.T) *client {
	t.Helper()
	id, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(id.serverCert, id.serverKey)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // TLS handshakes that fail are part of the tests
	server.StartTLS()
	t.Cleanup(server.Close)
	c, err := newClient(server.URL, id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSeed(t *testing.T) {
	stub := &apiStub{}
	if err := stub.serve(t).seed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := len(stub.created), 1+nodeCount+volumeCount; got != want {
		t.Errorf("created %d objects, want %d: %v", got, want, stub.created)
	}
}

func TestSeedAgain(t *testing.T) {
	if err := (&apiStub{exist: true}).serve(t).seed(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNodesReady(t *testing.T) {
	err := new(apiStub).serve(t).nodesReady(t.Context())
	if err == nil || err.Error() != "2 of 3 nodes are ready" {
		t.Error(err)
	}
}

func TestClientErrorQuotesResponse(t *testing.T) {
	err := new(apiStub).serve(t).get(t.Context(), "/missing", nil)
	if err == nil || err.Error() != "get /missing: 404 Not Found: no such thing" {
		t.Error(err)
	}
}

func TestClientVerifiesTheServer(t *testing.T) {
	stub := new(apiStub)
	c, other := stub.serve(t), stub.serve(t)
	c.url = other.url
	if err := c.get(t.Context(), "/readyz", nil); err == nil {
		t.Error("the client accepted the certificate of another cluster")
	}
}

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

func cmdAuthority(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), worldOf(ts).config.CAData, 0o600))
}

func cmdIPv6(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	w.loopback = "[::1]"
	ts.Check(w.enter(w.config, w.kubeconfig))
}

// A webProxy is an HTTP proxy, for requests and for the method CONNECT. Like the proxy of a company it knows hosts that the server does not:
// each host is this machine.
type webProxy struct {
	refuses bool
	host    string // of this machine

	mu    sync.Mutex
	asked map[string]bool // hosts
}

func cmdWebProxy(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	p := &webProxy{refuses: len(args) > 0, host: w.loopback, asked: map[string]bool{}}
	s := httptest.NewServer(p)
	ts.Defer(s.Close)
	ts.Setenv("WEBPROXY", strings.Replace(s.URL, "http://", "http://user:qzxwkvjy@", 1))
	w.webProxy = p
}

func cmdProxied(ts *testscript.TestScript, neg bool, args []string) {
	p := worldOf(ts).webProxy
	was := func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.asked[args[0]] {
			return fmt.Errorf("the proxy was not asked for %s, but for %v", args[0], p.asked)
		}
		return nil
	}
	if !neg {
		ts.Check(eventually(was))
	} else if was() == nil {
		ts.Fatalf("the proxy was asked for %s", args[0])
	}
}

func (p *webProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := &url.URL{Host: r.Host}
	p.mu.Lock()
	p.asked[target.Hostname()] = true
	p.mu.Unlock()
	local := p.host + ":" + target.Port()
	switch {
	case p.refuses || r.Header.Get("Proxy-Authorization") == "":
		http.Error(w, "not through this proxy", http.StatusForbidden)
	case r.Method == http.MethodConnect:
		p.connect(w, local)
	default:
		httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: local}).ServeHTTP(w, r)
	}
}

// connect connects a client with a server until one of them closes the connection.
func (p *webProxy) connect(w http.ResponseWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	fmt.Fprint(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}

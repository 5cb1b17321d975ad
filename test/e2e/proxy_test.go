package e2e

import (
	"errors"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// A proxy is between a server and the API server, so that a script can disconnect one server without the others.
type proxy struct {
	target   string // host:port of the API server
	listener net.Listener

	mu      sync.Mutex
	down    bool
	refused int           // connections since it went down
	delay   time.Duration // of what is sent to the API server
	conns   map[net.Conn]bool
}

// newProxy returns a proxy that listens on an address of this machine.
func newProxy(on, host string) (*proxy, error) {
	u, err := url.Parse(host)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", on+":0")
	if err != nil {
		return nil, err
	}
	p := &proxy{target: u.Host, listener: listener, conns: map[net.Conn]bool{}}
	go p.serve()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) port() string { return strconv.Itoa(p.listener.Addr().(*net.TCPAddr).Port) }

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.connect(client)
	}
}

func (p *proxy) connect(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.admit(client, server) {
		return
	}
	go func() {
		p.delayed(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// delayed copies, and delivers each part after the delay that was set when it was read. Parts do not wait for each other.
func (p *proxy) delayed(to io.Writer, from io.Reader) {
	type part struct {
		bytes []byte
		at    time.Time
	}
	parts := make(chan part, 1<<10)
	go func() {
		defer close(parts)
		for {
			buffer := make([]byte, 32<<10)
			n, err := from.Read(buffer)
			p.mu.Lock()
			delay := p.delay
			p.mu.Unlock()
			if parts <- (part{buffer[:n], time.Now().Add(delay)}); err != nil {
				return
			}
		}
	}()
	for next := range parts {
		<-time.After(time.Until(next.at))
		if _, err := to.Write(next.bytes); err != nil {
			for range parts { // until the connection is closed, so that the reader is not blocked
			}
			return
		}
	}
}

// slow sets a delay for data that is sent to the API server.
func (p *proxy) slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// admit records a connection, unless the API server is disconnected.
func (p *proxy) admit(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		p.refused++
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

// missed returns nil if a connection was refused since the API server was disconnected.
func (p *proxy) missed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == 0 {
		return errors.New("nobody has missed the API server")
	}
	return nil
}

// set disconnects the API server, which closes every connection, or connects it again.
func (p *proxy) set(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down, p.refused = down, 0
	if down {
		for c := range p.conns {
			c.Close()
			delete(p.conns, c)
		}
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.set(true)
}

package endpoints

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A pipes is a listener for connections within the process, whose deadlines follow the time of a synctest bubble.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.dialed <- server
	return client
}

// serving serves an endpoint while test runs, in a bubble.
func serving(t *testing.T, handler http.HandlerFunc, test func(p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
		s := newServer(Endpoint{Handler: handler})
		ended := make(chan error)
		go func() { ended <- s.Serve(p) }()
		test(p)
		s.Close()
		<-ended
		time.Sleep(time.Minute) // a connection that the server ends is closed a moment later
	})
}

// send sends a text, and returns what the server responds until it closes the connection, and after which time it did.
func send(t *testing.T, p *pipes, text string) (string, time.Duration) {
	t.Helper()
	c, began := p.dial(), time.Now()
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Error(err)
	}
	response, _ := io.ReadAll(c)
	return string(response), time.Since(began)
}

func TestConnectionsHaveLimitsOfTime(t *testing.T) {
	var read error
	handler := func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			read = err
		}
	}
	serving(t, handler, func(p *pipes) {
		for name, c := range map[string]struct {
			text string
			want time.Duration
		}{
			"nothing":               {"", headerTime},
			"a part of a header":    {"GET / HTTP/1.1\r\nHost", headerTime},
			"an idle connection":    {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", idleTime},
			"a part of a body":      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx", requestTime},
			"an endless connection": {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 0},
		} {
			if _, after := send(t, p, c.text); after < c.want || after > c.want+time.Second {
				t.Errorf("%s: the connection was closed after %s, want %s", name, after, c.want)
			}
		}
		if read == nil {
			t.Error("a body that does not end is read")
		}
	})
}

func TestHeadersAreLimited(t *testing.T) {
	serving(t, http.NotFound, func(p *pipes) {
		c := p.dial()
		defer c.Close()
		go func() {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 2*maxHeader)+"\r\n\r\n")
		}()
		if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "431") {
			t.Errorf("the response is %q", line)
		}
	})
}

func TestClientThatReadsNothingIsGivenUp(t *testing.T) {
	var failed error
	handler := func(w http.ResponseWriter, _ *http.Request) { _, failed = w.Write(make([]byte, 1<<20)) }
	serving(t, handler, func(p *pipes) {
		c := p.dial()
		defer c.Close()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Error(err)
		}
		time.Sleep(responseTime + time.Second)
		synctest.Wait()
		if failed == nil {
			t.Error("the handler still writes")
		}
	})
}

// A response that takes longer than a request may take, such as a profile or a recording, is complete.
func TestLongResponse(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			select {
			case <-r.Context().Done():
				t.Error("the request was ended")
			case <-time.After(time.Hour):
			}
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, "part;")
			_ = http.NewResponseController(w).Flush()
		}
	}
	serving(t, handler, func(p *pipes) {
		if got, after := send(t, p, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); strings.Count(got, "part;") != 3 || after != 3*time.Hour {
			t.Errorf("after %s: %q", after, got)
		}
	})
}

// Whoever opens many connections and keeps them does not shut out others.
func TestConnectionsAreBounded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(Endpoint{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
	ended := make(chan error)
	go func() { ended <- s.Serve(listener) }()
	defer func() {
		s.Close()
		<-ended
	}()
	var all []net.Conn
	for range 3 * maxConnections {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + listener.Addr().String())
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got %v, %v", response, err)
	}
	response.Body.Close()
	// The first ones were closed.
	for _, c := range all[:2*maxConnections] {
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Fatalf("a connection has %d bytes", n)
		}
	}
}

func TestWhichConnectionIsClosed(t *testing.T) {
	for _, c := range []struct {
		name string
		long bool
		do   map[int][]http.ConnState // in this order, of 0 and 1
		want string                   // those that are left when 2 is new
	}{
		{"the one that waits longest for a request", false, map[int][]http.ConnState{0: {http.StateActive, http.StateIdle}}, "0 2"},
		{"one without a request", false, map[int][]http.ConnState{0: {http.StateActive}}, "0 2"},
		{"the oldest request", false, map[int][]http.ConnState{0: {http.StateActive}, 1: {http.StateActive}}, "1 2"},
		{"no long response", true, map[int][]http.ConnState{0: {http.StateActive}, 1: {http.StateActive}}, "0 1"},
		{"none after one has ended", false, map[int][]http.ConnState{0: {http.StateClosed}}, "1 2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			open := connections{most: 2, long: c.long, all: map[net.Conn]connection{}}
			var all []net.Conn
			change := func(i int, to http.ConnState) {
				time.Sleep(time.Second)
				open.changed(all[i], to)
			}
			for i := range 3 {
				_, server := net.Pipe()
				all = append(all, server)
				if i == 2 {
					for j := range 2 {
						for _, to := range c.do[j] {
							change(j, to)
						}
					}
				}
				change(i, http.StateNew)
			}
			var got []string
			for i, of := range all {
				_, left := open.all[of]
				if left {
					got = append(got, strconv.Itoa(i))
				}
				// One that has ended by itself is not closed here.
				if closed := of.SetDeadline(time.Time{}) != nil; closed == left && !slices.Contains(c.do[i], http.StateClosed) {
					t.Errorf("%s: connection %d is closed: %t", c.name, i, closed)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %q are left, want %q", c.name, got, c.want)
			}
		})
	}
}

package hook

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// serveIPv6 starts a server for webhooks on ::1, and returns its port.
func serveIPv6(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(empty))
	s.Listener.Close()
	var err error
	if s.Listener, err = net.Listen("tcp", "[::1]:0"); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Close)
	_, port, _ := strings.Cut(s.URL, "]:")
	return port
}

// onlyIPv6 replaces the DNS of this process by one in which each name has only the address ::1.
func onlyIPv6(t *testing.T) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		query := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(answerIPv6(query[:n]), from)
		}
	}()
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answerIPv6 returns the answer to a DNS query: ::1 if it asks for an address of IPv6, and no address otherwise. See RFC 1035, section 4.
func answerIPv6(query []byte) []byte {
	const header, ofIPv6 = 12, 28
	end := header + bytes.IndexByte(query[header:], 0) + 5 // of the question: its name ends with 0, and its type and class follow
	answer := append([]byte{}, query[:end]...)
	answer[2], answer[3] = 0x81, 0x80 // an answer without an error
	clear(answer[6:header])           // the numbers of records
	if binary.BigEndian.Uint16(answer[end-4:]) == ofIPv6 {
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, ofIPv6, 0, 1, 0, 0, 0, 60, 0, net.IPv6len) // the name is that of the question
		answer = append(answer, net.IPv6loopback...)
	}
	return answer
}

// In a cluster with only IPv6, the name of a Service has only addresses of IPv6.
func TestServiceWithOnlyIPv6(t *testing.T) {
	port := serveIPv6(t)
	onlyIPv6(t)
	for _, host := range []string{"hook.team-a", "[::1]"} {
		h := &Webhook{URL: "http://" + host + ":" + port + "/sync"}
		ask(t, h, newRequest(t))
		h.Close()
	}
}

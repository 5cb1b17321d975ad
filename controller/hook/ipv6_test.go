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

// serveDNS replaces the DNS of this process by one in which each name has the address that is returned for a type of records; nil: it has
// none of this type.
func serveDNS(t *testing.T, address func(kind uint16) []byte) {
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
			_, _ = server.WriteTo(answerDNS(query[:n], address), from)
		}
	}()
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// The types of records with an address.
const ofIPv4, ofIPv6 = 1, 28

// answerDNS returns the answer to a DNS query. See RFC 1035, section 4.
func answerDNS(query []byte, address func(kind uint16) []byte) []byte {
	const header = 12
	end := header + bytes.IndexByte(query[header:], 0) + 5 // of the question: its name ends with 0, and its type and class follow
	answer := append([]byte{}, query[:end]...)
	answer[2], answer[3] = 0x81, 0x80 // an answer without an error
	clear(answer[6:header])           // the numbers of records
	kind := binary.BigEndian.Uint16(answer[end-4:])
	if found := address(kind); found != nil {
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, byte(kind), 0, 1, 0, 0, 0, 60, 0, byte(len(found))) // the name is that of the question
		answer = append(answer, found...)
	}
	return answer
}

// In a cluster with only IPv6, the name of a Service has only addresses of IPv6.
func TestServiceWithOnlyIPv6(t *testing.T) {
	port := serveIPv6(t)
	serveDNS(t, func(kind uint16) []byte {
		if kind != ofIPv6 {
			return nil
		}
		return net.IPv6loopback
	})
	for _, host := range []string{"hook.team-a", "[::1]"} {
		h := &Webhook{URL: "http://" + host + ":" + port + "/sync"}
		ask(t, h, newRequest(t))
		h.Close()
	}
}

package inspection

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
)

func TestAddressOfServer(t *testing.T) {
	for address, want := range map[string]string{
		"":                           "",
		"127.0.0.1:9998":             "http://127.0.0.1:9998",
		"http://127.0.0.1:9998/":     "http://127.0.0.1:9998",
		"localhost:9998":             "http://localhost:9998",
		"[::1]:9998":                 "http://[::1]:9998",
		"https://127.0.0.1:9998":     "want an address such as 127.0.0.1:9998",
		"10.0.0.1:9998":              "is not on this machine",
		"http://example.com":         "is not on this machine",
		"127.0.0.1.example.com:9998": "is not on this machine",
		"user@example.com:9998":      "is not on this machine",
		":9998":                      "is not on this machine",
	} {
		base, err := baseOf(address)
		if err == nil && base != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v, want %q", address, base, err, want)
		}
	}
}

// localServer answers without a token, and returns its address.
func localServer(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("it gets a token before it is known who listens")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestServerOnThisMachineIsFoundAndNamed(t *testing.T) {
	var said string
	at := localServer(t, 401, `{"status": 401, "message": "the request has no bearer token"}`)
	c := &Client{flags: &Flags{}, localAt: at, notice: func(text string) { said = text }}
	if found, hint := c.connectLocally(t.Context()); !found || hint != "" || c.base != "http://"+at {
		t.Errorf("found: %t, %q, at %s", found, hint, c.base)
	}
	if want := "asking the server at http://" + at + " on this machine, which gets your token"; said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
}

func TestOtherServersOnThisMachineGetNoToken(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	for _, at := range []string{localServer(t, 401, "no"), localServer(t, 200, `{"status": 401}`), nobody.Addr().String()} {
		c := &Client{flags: &Flags{}, localAt: at, notice: func(text string) { t.Errorf("it says %q", text) }}
		if found, hint := c.connectLocally(t.Context()); found || hint != "" || c.local {
			t.Errorf("%s is taken for a server: %q", at, hint)
		}
	}
}

func TestListener(t *testing.T) {
	if _, err := os.Stat("/proc/net/tcp"); errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no /proc")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if uid, known := listener(netip.MustParseAddrPort(l.Addr().String())); !known || uid != os.Getuid() {
		t.Errorf("user %d, %t", uid, known)
	}
	if _, known := listener(netip.MustParseAddrPort("127.0.0.1:1")); known {
		t.Error("somebody listens at port 1")
	}
}

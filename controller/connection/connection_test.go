package connection

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
)

func TestProxyIsShownWithoutPassword(t *testing.T) {
	always := http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword("user", "secret"), Host: "[fd00::1]:3128"})
	never := func(*http.Request) (*url.URL, error) { return nil, nil }
	broken := func(*http.Request) (*url.URL, error) { return nil, errors.New("broken") }
	for _, c := range []struct {
		of       func(*http.Request) (*url.URL, error)
		to, want string
	}{
		{always, "https://hook.example.com/sync", "http://[fd00::1]:3128"},
		{never, "https://hook.example.com/sync", ""},
		{broken, "https://hook.example.com/sync", ""},
		{always, "://", ""},
	} {
		if got := Proxy(c.of, c.to); got != c.want {
			t.Errorf("%s: got %q, want %q", c.to, got, c.want)
		}
	}
}

package apiserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/transport"
)

// Hold returns a transport that notes the answers, and holds requests while the API server asks to wait. It is for rest.Config.Wrap.
func (c *Connection) Hold(next http.RoundTripper) http.RoundTripper { return &holding{c, next, true} }

// Note returns a transport that only notes the answers, for requests that must not be held: a Lease that is not renewed is lost.
func (c *Connection) Note(next http.RoundTripper) http.RoundTripper { return &holding{c, next, false} }

type holding struct {
	of    *Connection
	next  http.RoundTripper
	holds bool
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *holding) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper. An answer that asks to wait becomes a HeldError, since otherwise client-go would wait, in the
// goroutine of the caller, and each caller for itself. Only the answers to lists and watches are left to client-go, which sends each
// again after the time.
func (t *holding) RoundTrip(r *http.Request) (*http.Response, error) {
	k := keyOf(r)
	k.free = k.free || !t.holds
	first, held := t.of.admit(k)
	if held != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as every RoundTripper must
		}
		return nil, held
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		t.of.passed(k, first, false)
		if !errors.Is(r.Context().Err(), context.Canceled) {
			t.of.answered(0)
		}
		return nil, err
	}
	t.of.answered(response.StatusCode)
	after, asks := retryAfter(response)
	if !asks {
		t.of.passed(k, first, true)
		return response, nil
	}
	held = t.of.closeGate(k, response.StatusCode, after)
	if k.free {
		return response, nil
	}
	_ = response.Body.Close()
	return nil, held
}

// retryAfter returns how long an answer asks to wait, and whether it does.
func retryAfter(response *http.Response) (time.Duration, bool) {
	code := response.StatusCode
	if code != http.StatusTooManyRequests && code < http.StatusInternalServerError {
		return 0, false
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	switch {
	case err == nil && seconds > 0:
		return time.Duration(min(seconds, 1<<20)) * time.Second, true
	case code == http.StatusTooManyRequests:
		return defaultAfter, true
	}
	return 0, false
}

// keyOf returns the key of a request. The path is that of rest.Config.Host, and /api/VERSION or /apis/GROUP/VERSION, then
// namespaces/NAMESPACE if the object has one, the resource and the name.
func keyOf(r *http.Request) key {
	k := key{user: r.Header.Get(transport.ImpersonateUserHeader), free: true}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	root := slices.IndexFunc(parts, func(part string) bool { return part == "api" || part == "apis" })
	if root < 0 {
		return k
	}
	rest := parts[root+1:]
	if parts[root] == "apis" && len(rest) > 0 {
		k.Group, rest = rest[0], rest[1:]
	}
	if len(rest) < 2 {
		k.GroupResource = schema.GroupResource{}
		return k // discovery
	}
	rest = rest[1:] // without the version
	if len(rest) > 2 && rest[0] == "namespaces" && !slices.Contains(namespaceSubresources, rest[2]) {
		rest = rest[2:]
	}
	k.Resource = rest[0]
	// Events are sent one after the other by a goroutine of client-go, which waits and sends each again.
	k.free = r.Method == http.MethodGet && (len(rest) == 1 || r.URL.Query().Has("watch")) || k.Resource == "events"
	return k
}

// namespaceSubresources are the subresources of namespaces, which no resource is called.
var namespaceSubresources = []string{"status", "finalize"}

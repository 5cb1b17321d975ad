package lease

import "net/http"

// Wrap returns a transport that sends writes through next only while the Fence is open. It always sends reads. It is for
// rest.Config.Wrap, so that it applies to every client of the server, and to every attempt of a client that retries.
func (f *Fence) Wrap(next http.RoundTripper) http.RoundTripper {
	return &transport{fence: f, next: next}
}

type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions {
		return t.next.RoundTrip(req)
	}
	if err := t.fence.begin(); err != nil {
		if req.Body != nil {
			req.Body.Close() // as every RoundTripper must
		}
		return nil, err
	}
	defer t.fence.end()
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

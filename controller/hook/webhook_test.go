package hook

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"metascript/controller/bodies"
	"metascript/controller/etags"
)

// answerWith serves a status, headers as pairs, and a body.
func answerWith(t testing.TB, code int, body string, headers ...string) *Webhook {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
}

func TestWebhookGetsRequestAsJSON(t *testing.T) {
	for _, version := range []string{"", V1, V2} {
		req := observing(t, newRequest(t), "a")
		var got map[string]any
		h := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/sync" || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s with Content-Type %q, want POST /sync with application/json", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if err := utiljson.Unmarshal(body, &got); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, `{"children": []}`)
		})
		h.Version = version
		check := unchanged(t, req)
		ask(t, h, req)
		check()
		if diff := cmp.Diff(encode(req, version), got); diff != "" {
			t.Errorf("version %q: request (-want +got):\n%s", version, diff)
		}
		if _, found := got["now"]; found {
			t.Errorf("version %q: the request has a field now, which Metacontroller's has not", version)
		}
	}
}

func TestLargeIntegersAreExact(t *testing.T) {
	const numbers = `"max":9223372036854775807,"min":-9223372036854775808,"odd":9007199254740993`
	req := newRequest(t)
	req.Parent.Map()["spec"] = map[string]any{"max": int64(1<<63 - 1), "min": int64(-1 << 63), "odd": int64(1<<53 + 1)}
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !bytes.Contains(body, []byte(`"spec":{`+numbers+`}`)) {
			t.Errorf("request %s, want it to contain %s", body, numbers)
		}
		_, _ = io.WriteString(w, `{"status":{`+numbers+`},"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{`+numbers+`}}]}`)
	})
	resp := ask(t, h, req)
	want := map[string]any{"max": int64(1<<63 - 1), "min": int64(-1 << 63), "odd": int64(1<<53 + 1)}
	if diff := cmp.Diff(want, resp.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(any(want), resp.Children.Group(podKind)[0].Map()["spec"]); diff != "" {
		t.Errorf("spec of the child (-want +got):\n%s", diff)
	}
}

func TestOnlyStatus200Succeeds(t *testing.T) {
	if resp := ask(t, answerWith(t, 200, `{"status":{"a":1}}`), newRequest(t)); resp.Status["a"] != int64(1) {
		t.Errorf("status %v, want a: 1", resp.Status)
	}
	for code, want := range map[int]string{
		201: `status 201 Created: {"status":{}}`,
		202: `status 202 Accepted: {"status":{}}`,
		400: `status 400 Bad Request: {"status":{}}`,
		404: `status 404 Not Found: {"status":{}}`,
		412: `status 412 Precondition Failed: {"status":{}}`,
		500: `status 500 Internal Server Error: {"status":{}}`,
		503: `status 503 Service Unavailable: {"status":{}}`,
	} {
		h := answerWith(t, code, `{"status":{}}`)
		resp, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); got != want || resp != nil {
			t.Errorf("status %d: response %v, error %q, want %q", code, resp, got, want)
		}
	}
	h := answerWith(t, 204, "")
	if _, err := h.Call(t.Context(), newRequest(t)); fault(t, h, err) != "status 204 No Content: " {
		t.Errorf("status 204: error %v", err)
	}
}

func TestBodyIsTruncatedInError(t *testing.T) {
	h := answerWith(t, 500, strings.Repeat("ü", 5000))
	_, err := h.Call(t.Context(), newRequest(t))
	if got := fault(t, h, err); len(got) > 1100 || !strings.HasSuffix(got, "ü…") {
		t.Errorf("an error of %d bytes, want about a kilobyte cut at a character: %s", len(got), got)
	}
}

func TestStatus429IsRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"30":                            30 * time.Second,
		"1":                             time.Second,
		"0":                             time.Second,
		"":                              time.Second,
		"soon":                          time.Second,
		"Thu, 29 Feb 2024 01:02:03 GMT": time.Second, // long ago
	} {
		resp, err := answerWith(t, 429, "slow down", "Retry-After", header).Call(t.Context(), newRequest(t))
		checkLater(t, fmt.Sprintf("Retry-After %q", header), resp, err, want)
	}
	resp, err := answerWith(t, 429, "").Call(t.Context(), newRequest(t))
	checkLater(t, "no Retry-After", resp, err, time.Second)
}

func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"5":                                5 * time.Second,
		" 7 ":                              7 * time.Second,
		"0":                                time.Second,
		"-3":                               time.Second,
		"":                                 time.Second,
		"soon":                             time.Second,
		"1.5":                              time.Second,
		"5s":                               time.Second,
		"86400":                            24 * time.Hour,
		"9999999999":                       maxSeconds * time.Second,
		"9223372036854775807":              maxSeconds * time.Second,
		"Thu, 29 Feb 2024 01:03:03 GMT":    time.Minute,
		"Thursday, 29-Feb-24 01:03:03 GMT": time.Minute, // RFC 850
		"Thu Feb 29 01:03:03 2024":         time.Minute, // asctime
		"Thu, 29 Feb 2024 01:03:03 UTC":    time.Minute, // which Metacontroller reads
		"Thu, 29 Feb 2024 01:02:03 GMT":    time.Second,
		"Thu, 29 Feb 2024 00:00:00 GMT":    time.Second,
		"2024-02-29T01:03:03Z":             time.Second,
	} {
		if got := retryAfter(value, now); got.After != want {
			t.Errorf("Retry-After %q: call again in %s, want %s", value, got.After, want)
		}
	}
	for value, want := range map[string]bool{"5": false, "0": false, "Thu, 29 Feb 2024 01:03:03 GMT": false, "": true, "soon": true, "1.5": true} {
		if got := retryAfter(value, now); got.Unspecified != want {
			t.Errorf("Retry-After %q: Unspecified is %t, want %t", value, got.Unspecified, want)
		}
	}
}

func TestResponseMustBeJSONObject(t *testing.T) {
	const prefix = "the answer is not a JSON object: "
	for body, want := range map[string]string{
		``:                prefix + "unexpected end of JSON input",
		`null`:            prefix + "it is null",
		`{"status":`:      prefix + "unexpected end of JSON input",
		`<html>`:          prefix + "invalid character '<' looking for beginning of value; it begins with \"<html>\"",
		`{} {}`:           prefix + "invalid character '{' after top-level value",
		`{"children": [}`: prefix + "invalid character '}' looking for beginning of value",
	} {
		h := answerWith(t, 200, body)
		resp, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); got != want || resp != nil {
			t.Errorf("%s: response %v, error %q, want %q", body, resp, got, want)
		}
	}
	for _, body := range []string{`[]`, `"x"`, `1`, `true`} {
		h := answerWith(t, 200, body)
		resp, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); !strings.HasPrefix(got, prefix) || resp != nil {
			t.Errorf("%s: response %v, error %q, want it to begin with %q", body, resp, got, prefix)
		}
	}
}

// wait serves nothing until the caller has gone. started is closed when the request has arrived.
func wait(t testing.TB) (h *Webhook, started chan struct{}) {
	t.Helper()
	started = make(chan struct{})
	return serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the caller went
		close(started)
		<-r.Context().Done()
	}), started
}

func TestTimeoutBeforeResponse(t *testing.T) {
	h, _ := wait(t)
	h.Timeout = 20 * time.Millisecond
	resp, err := h.Call(t.Context(), newRequest(t))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(fault(t, h, err), "no answer within 20ms: ") || resp != nil {
		t.Errorf("response %v, error %v, want that there was no answer within 20ms", resp, err)
	}
}

func TestTimeoutDuringResponse(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"status":`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	h.Timeout = 20 * time.Millisecond
	_, err := h.Call(t.Context(), newRequest(t))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(fault(t, h, err), "no answer within 20ms: ") {
		t.Errorf("error %v, want that there was no answer within 20ms", err)
	}
}

// A clientFunc is an HTTP client without a network.
type clientFunc func(r *http.Request) (*http.Response, error)

func (f clientFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func faked(f clientFunc) Client {
	return Client{Wrap: func(http.RoundTripper) http.RoundTripper { return f }}
}

func TestDefaultTimeoutIsTenSeconds(t *testing.T) {
	for timeout, want := range map[time.Duration]string{
		0: "no answer within 10s: ", -time.Second: "no answer within 10s: ", time.Hour: "no answer within 1h0m0s: ",
	} {
		h := &Webhook{URL: "http://example.com", Timeout: timeout, Client: faked(func(r *http.Request) (*http.Response, error) {
			if _, bounded := r.Context().Deadline(); !bounded {
				t.Errorf("timeout %s: the request has no deadline", timeout)
			}
			return nil, context.DeadlineExceeded
		})}
		_, err := h.Call(t.Context(), newRequest(t))
		if got := fault(t, h, err); !strings.HasPrefix(got, want) {
			t.Errorf("timeout %s: error %q, want it to begin with %q", timeout, got, want)
		}
	}
}

func TestCallEndsWithContext(t *testing.T) {
	h, started := wait(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-started
		cancel()
	}()
	resp, err := h.Call(ctx, newRequest(t))
	var later *RetryAfter
	if !errors.Is(err, context.Canceled) || errors.As(err, &later) || resp != nil {
		t.Errorf("response %v, error %v, want %v", resp, err, context.Canceled)
	}
}

func TestRefusedConnectionIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &Webhook{URL: "http://" + listener.Addr().String() + "/sync"}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	resp, err := h.Call(t.Context(), newRequest(t))
	if !errors.Is(err, syscall.ECONNREFUSED) || resp != nil {
		t.Errorf("response %v, error %v, want %v", resp, err, syscall.ECONNREFUSED)
	}
	if !strings.HasPrefix(err.Error(), "webhook "+h.URL+": ") {
		t.Errorf("error %q does not name the webhook", err)
	}
}

func TestBrokenConnectionIsAnError(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"status":{}`)
	})
	if resp, err := h.Call(t.Context(), newRequest(t)); !errors.Is(err, io.ErrUnexpectedEOF) || resp != nil {
		t.Errorf("response %v, error %v, want %v", resp, err, io.ErrUnexpectedEOF)
	}
}

func TestInvalidURLIsAnError(t *testing.T) {
	for _, url := range []string{"://x", "http://[", "", "ftp://127.0.0.1/x"} {
		if resp, err := (&Webhook{URL: url}).Call(t.Context(), newRequest(t)); err == nil || resp != nil {
			t.Errorf("URL %q: response %v, error %v, want an error", url, resp, err)
		}
	}
}

func TestPasswordInURLIsNotInErrors(t *testing.T) {
	const secret = "hunter2"
	for name, transport := range map[string]clientFunc{
		"no connection": func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED },
		"no JSON":       func(r *http.Request) (*http.Response, error) { return textResponse(200, "x"), nil },
		"bad answer":    func(r *http.Request) (*http.Response, error) { return textResponse(200, `{"status": 1}`), nil },
		"bad status":    func(r *http.Request) (*http.Response, error) { return textResponse(500, "x"), nil },
	} {
		h := &Webhook{URL: "http://user:" + secret + "@example.com/sync", Client: faked(transport)}
		_, err := h.Call(t.Context(), newRequest(t))
		if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "example.com/sync") {
			t.Errorf("%s: error %v, want one that names the webhook without its password", name, err)
		}
	}
}

func textResponse(code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Body: io.NopCloser(strings.NewReader(body))}
}

// A blank body is endless and counts what is read of it.
type blank struct{ read int64 }

var blanks = bytes.Repeat([]byte{' '}, 1<<20)

func (b *blank) Read(p []byte) (int, error) {
	n := copy(p, blanks)
	b.read += int64(n)
	return n, nil
}

func (b *blank) Close() error { return nil }

func TestBodyIsReadUpToLimit(t *testing.T) {
	atBound := bodies.NewReader(io.LimitReader(&blank{}, maxBody), maxBody)
	if n, err := io.Copy(io.Discard, atBound); err != nil || n != maxBody {
		t.Errorf("at the bound: %d bytes, error %v, want %d", n, err, maxBody)
	}
	endless := &blank{}
	_, err := io.Copy(io.Discard, bodies.NewReader(endless, maxBody))
	if err == nil || err.Error() != larger {
		t.Errorf("beyond the bound: error %v, want %q", err, larger)
	}
	if endless.read > maxBody+1 {
		t.Errorf("beyond the bound: %d bytes were read, want %d at most", endless.read, maxBody+1)
	}
}

// larger is the error of an answer that is larger than the default.
const larger = "the answer is larger than 16777216 bytes: return less, or raise maxResponseSize of the webhook"

func TestHugeResponseIsNotReadCompletely(t *testing.T) {
	var sent atomic.Int64 // MiB
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for {
			if _, err := w.Write(blanks); err != nil {
				return // the caller closed the connection, as expected
			}
			sent.Add(1)
		}
	})
	h.Timeout = time.Minute
	_, err := h.Call(t.Context(), newRequest(t))
	if got, want := fault(t, h, err), larger; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	if sent.Load() < maxBody>>20 {
		t.Errorf("%d MiB were sent, which is less than the limit: the test does not reach it", sent.Load())
	}
}

// The compressed response is about a thousandth of the decompressed one.
func TestLimitAppliesToDecompressedResponse(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Encoding", "gzip")
		packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		defer packed.Close()
		for range maxBody>>20 + 1 {
			if _, err := packed.Write(blanks); err != nil {
				return
			}
		}
	})
	h.Timeout = time.Minute
	_, err := h.Call(t.Context(), newRequest(t))
	if got, want := fault(t, h, err), larger; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestConcurrentWebhookCalls(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	h.Cache = etags.New(0, 0)
	req := newRequest(t)
	check := unchanged(t, req)
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			// The server answers with the request, whose children are no list.
			_, err := h.Call(t.Context(), req)
			if got, want := fault(t, h, err), "children in the answer is an object, want a list of objects"; got != want {
				t.Errorf("error %q, want %q", got, want)
			}
		})
	}
	calls.Wait()
	check()
}

func TestStrictWebhookRejectsUnknownAndDuplicateFields(t *testing.T) {
	for body, want := range map[string]string{
		`{"children": [], "childs": []}`:             `unknown key "childs" in the answer: did you mean "children"?`,
		`{"children": [], "status": {"a":1,"a":2}}`:  `duplicate field "status.a"`,
		`{"children": [], "status": {"a":1,"b":[]}}`: "",
	} {
		h := answerWith(t, 200, body)
		h.Strict = true
		_, err := h.Call(t.Context(), newRequest(t))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", body, err, want)
		}
		h.Strict = false
		if _, err := h.Call(t.Context(), newRequest(t)); err != nil {
			t.Errorf("%s: a webhook that is not strict returns error %v", body, err)
		}
	}
}

package hook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	strictjson "sigs.k8s.io/json"

	"metascript/controller/absent"
	"metascript/controller/bodies"
	"metascript/controller/connection"
	"metascript/controller/etags"
	"metascript/controller/reach"
	"metascript/controller/redact"
	"metascript/engine"
	"metascript/engine/tree"
)

const (
	defaultTimeout = 10 * time.Second
	maxBody        = 16 << 20 // bytes of a response; the same as for scripts
	smallBody      = 64 << 10 // bytes of a response for which no memory of InFlight is reserved
)

// A Webhook is a hook that posts the request to a server as JSON and reads its response.
type Webhook struct {
	URL           string
	Timeout       time.Duration // for the whole call; zero or less is 10s
	Version       string        // V1 or V2; "" is V1
	Strict        bool          // refuse unknown and duplicate keys in the response
	RefuseMissing bool          // refuse a response without children while some exist
	Limit         int64         // bytes of a response; zero or less is 16 MiB
	InFlight      *bodies.Share // limits the responses that are processed concurrently; nil: no common limit
	Cache         *etags.Cache  // of responses with an ETag; nil: they are not cached
	Client        Client
}

// Call posts the request. Only status 200 is a success, and 304 and 412 for a cached response; 429 is a [*RetryAfter].
// Errors contain neither credentials nor the secret parts of the URL.
func (w *Webhook) Call(ctx context.Context, req *Request) (*Response, error) {
	timeout := cmp.Or(max(w.Timeout, 0), defaultTimeout)
	limited, cancel := context.WithTimeout(context.WithValue(ctx, callerKey{}, ctx), timeout)
	defer cancel()
	resp, err := w.call(limited, req)
	var later *RetryAfter
	switch {
	case err == nil:
		return resp, nil
	case errors.As(err, &later):
		return nil, later
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s: %w", timeout, err)
	}
	return nil, &WebhookError{w.Address(), err}
}

// callerKey is the key of the context of the caller, in the context with the timeout of a call: an answer that came in time is checked as long as the
// caller waits.
type callerKey struct{}

// A WebhookError is the error of a call of a webhook.
type WebhookError struct {
	Address string // see Webhook.Address
	Err     error
}

func (e *WebhookError) Error() string { return fmt.Sprintf("webhook %s: %v", e.Address, e.Err) }

func (e *WebhookError) Unwrap() error { return e.Err }

// Close closes idle connections and clears the cache.
func (w *Webhook) Close() {
	w.Client.close()
	if w.Cache != nil {
		w.Cache.Clear()
	}
}

// Address returns the URL without the parts that may contain a password or a token.
func (w *Webhook) Address() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return "with a URL that cannot be read"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (w *Webhook) call(ctx context.Context, req *Request) (*Response, error) {
	address, err := url.Parse(w.URL)
	if err != nil {
		return nil, errors.New("it must be http:// or https://, a host and a path") // err has parts of the URL
	}
	redactor := req.redactor(ctx) // also adds the Secrets of the request to the Redactor of the reconcile
	client, endpoint, err := w.Client.connect()
	if err != nil {
		return nil, err
	}
	redactor.AddTexts(redact.Credentials(address, endpoint.Authorization)...)
	resp, err := w.exchange(ctx, client, endpoint, req)
	if err != nil {
		err = shortened(redactor.Error(err))
	}
	return resp, err
}

// exchange posts req and reads the response, or uses the cached one if the server reports that it is still valid.
func (w *Webhook) exchange(ctx context.Context, client *http.Client, endpoint Endpoint, req *Request) (*Response, error) {
	var cached etags.Response
	var key etags.Key
	if w.Cache != nil {
		key = keyOf(req)
		cached = w.Cache.Get(key)
	}
	resp, err := w.post(ctx, client, req, http.Header{
		"Content-Type": {"application/json"}, "Authorization": {endpoint.Authorization}, "If-None-Match": {cached.ETag},
	})
	if err != nil {
		return nil, err
	}
	defer drain(resp.Body)
	if code := resp.StatusCode; cached.ETag != "" && (code == http.StatusNotModified || code == http.StatusPreconditionFailed) {
		return w.again(ctx, cached, req, key)
	}
	answer, err := w.receive(ctx, resp, req, key)
	return answer, w.withoutPage(err, resp)
}

// again returns the response that was cached.
func (w *Webhook) again(ctx context.Context, cached etags.Response, req *Request, key etags.Key) (*Response, error) {
	if req.Settled != nil && req.Settled(cached.ID) {
		return &Response{Shape: req.Shape, Cached: cached.ID, Settled: true}, nil
	}
	answer, err := w.read(ctx, cached.Body, req)
	if err != nil {
		w.Cache.Drop(key) // so that the server sends it again
		return nil, err
	}
	answer.Cached = cached.ID
	return answer, nil
}

// keyOf returns the key for the parent of req. It depends on all fields except the status and the metadata that the API
// server sets.
func keyOf(req *Request) etags.Key {
	content, _ := tree.MapOf(req.Parent.Value())
	fields := maps.Collect(content.All())
	fields["status"], fields["metadata"] = nil, []any{req.Parent.GetLabels(), req.Parent.GetAnnotations()}
	text, _ := json.Marshal(fields) // no error: the whole request is marshalled too
	return etags.Key{Parent: req.Parent.GetUID(), Revision: sha256.Sum256(text)}
}

// post sends req with those of the headers that are not empty.
func (w *Webhook) post(ctx context.Context, client *http.Client, req *Request, headers http.Header) (*http.Response, error) {
	text, err := tree.AppendJSON(nil, encode(req, w.Version))
	if err != nil {
		return nil, err
	}
	if w.Client.Tenant != nil {
		ctx = reach.NoteRemote(ctx)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(text))
	if err != nil {
		return nil, withoutURL(err)
	}
	for name := range headers {
		if value := headers.Get(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	r.Header["Idempotency-Key"] = nil // is not sent: a kept connection that the server closed meanwhile is no error
	resp, err := client.Do(r)
	switch {
	case err == nil && w.Client.Tenant != nil:
		resp.Body = reach.Body{ReadCloser: resp.Body}
	case err != nil && w.Client.Tenant != nil:
		return nil, reach.Conceal(withoutURL(err))
	case err != nil:
		return nil, connection.ExplainWebhook(withoutURL(err), w.URL)
	}
	return resp, nil
}

// drain closes a body. It first reads a short rest, so that the connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	_ = body.Close()
}

// read decodes and checks the text of a response.
func (w *Webhook) read(ctx context.Context, body []byte, req *Request) (*Response, error) {
	answer, err := decodeJSON(body)
	if err != nil {
		return nil, notAnObject(err, body)
	}
	if w.Strict {
		if err := checkDuplicates(body); err != nil {
			return nil, err
		}
	}
	return w.decode(ctx, answer, req, func() []error { return repeated(body) })
}

// decode converts and checks a response. See decodeOptions.twice.
func (w *Webhook) decode(ctx context.Context, answer map[string]any, req *Request, twice func() []error) (*Response, error) {
	if of, ok := ctx.Value(callerKey{}).(context.Context); ok {
		ctx = of
	}
	resp, err := decode(ctx, answer, req, decodeOptions{knownKeys: w.Strict, refuseMissing: w.RefuseMissing, owned: true, twice: twice, absent: &absent.Search{}})
	if err == nil {
		resp.endWarnings()
		resp.Unread = silent(answer, req)
	}
	return resp, err
}

func notAnObject(err error, beginsWith []byte) error {
	err = fmt.Errorf("the answer is not a JSON object: %w", err)
	if page := beginning(beginsWith); page != "" {
		return &pageError{err, page}
	}
	return err
}

// A pageError is the error that a response is an HTML page.
type pageError struct {
	err       error
	beginning string
}

// Error implements error.
func (e *pageError) Error() string { return fmt.Sprintf("%v; it begins with %q", e.err, e.beginning) }

// Unwrap returns the error without the beginning of the page.
func (e *pageError) Unwrap() error { return e.err }

// withoutPage returns the error about a response without the beginning of the page, unless it may be shown.
func (w *Webhook) withoutPage(err error, resp *http.Response) error {
	var page *pageError
	if w.Client.Tenant == nil || !errors.As(err, &page) || w.Client.Tenant.Own(resp) == nil {
		return err
	}
	return page.err
}

// beginning returns how a response that is an HTML page begins; "" for any other. Broken JSON is not shown, since it may
// contain Secrets.
func beginning(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), 1<<10)]))
	if !strings.HasPrefix(text, "<") {
		return ""
	}
	return engine.Clip(text, 80)
}

// maxErrorBody is how many bytes are read of a response that is an error. A shorter text is shown, after Secrets were
// removed.
const maxErrorBody = 64 << 10

// refused returns the error for a response whose status is not 200; nil otherwise. A tenant sees only the text of its own Services.
func (w *Webhook) refused(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusTooManyRequests:
		return retryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	if t := w.Client.Tenant; t != nil {
		if err := t.Own(resp); err != nil {
			return fmt.Errorf("%s; the text of the response is not shown: %w", reach.Status(resp), err)
		}
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // as much as can be read
	return fmt.Errorf("status %s: %s", resp.Status, text)
}

// retryAfter reads the value of a Retry-After header: seconds or a date.
func retryAfter(value string, now time.Time) *RetryAfter {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return &RetryAfter{After: time.Duration(min(max(seconds, 1), maxSeconds)) * time.Second}
	}
	if date, err := parseDate(value); err == nil {
		return &RetryAfter{After: max(date.Sub(now), time.Second)}
	}
	return &RetryAfter{After: time.Second, Unspecified: true}
}

// parseDate parses an HTTP date, or a date in the format of RFC 1123 with another time zone, which Metacontroller accepts.
func parseDate(value string) (time.Time, error) {
	if date, err := http.ParseTime(value); err == nil {
		return date, nil
	}
	return time.Parse(time.RFC1123, value)
}

// decodeJSON decodes one JSON object, with integers as int64.
func decodeJSON(text []byte) (map[string]any, error) {
	var answer map[string]any
	if err := utiljson.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, errNull
	}
	return answer, nil
}

var errNull = errors.New("it is null")

// checkDuplicates returns an error if a key occurs twice in an object, at any depth.
func checkDuplicates(text []byte) error {
	var ignored any
	faults, err := strictjson.UnmarshalStrict(text, &ignored)
	return errors.Join(append(faults, err)...)
}

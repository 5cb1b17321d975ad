package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	strictjson "sigs.k8s.io/json"

	"metascript/controller/bodies"
	"metascript/engine"
)

const (
	defaultTimeout = 10 * time.Second
	maxBody        = 16 << 20 // bytes of an answer, as of a script's
	smallBody      = 64 << 10 // bytes of an answer that needs no room among those in flight
)

// A Webhook is a hook that posts the request to a server as JSON and reads its answer.
type Webhook struct {
	URL           string
	Timeout       time.Duration  // for the whole call; zero or less is 10s
	Version       string         // V1 or V2; "" is V1
	Strict        bool           // refuse unknown and duplicate keys in the answer
	RefuseMissing bool           // refuse an answer without children while there are some
	Limit         int64          // bytes of an answer; zero or less is 16 MiB
	InFlight      *bodies.Share  // for the answers in flight; nil: they are not bounded together
	Cache         *ResponseCache // those that had an ETag; nil: they are not kept
	Client        Client
}

// Call posts the request. Only status 200 succeeds, and 304 and 412 where an answer with an ETag is kept; 429 with
// Retry-After is a [*RetryAfter]. No error shows a credential or what is secret in the URL.
func (w *Webhook) Call(ctx context.Context, req *Request) (*Response, error) {
	timeout := cmp.Or(max(w.Timeout, 0), defaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := w.ask(ctx, req)
	var later *RetryAfter
	switch {
	case err == nil:
		return resp, nil
	case errors.As(err, &later):
		return nil, later
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s: %w", timeout, err)
	}
	return nil, fmt.Errorf("webhook %s: %w", w.Address(), err)
}

// Close closes connections that are not in use, and forgets the answers that are kept.
func (w *Webhook) Close() {
	w.Client.close()
	if w.Cache != nil {
		w.Cache.clear()
	}
}

// Address is the URL as it may be shown: a password or a token may be in the rest of it.
func (w *Webhook) Address() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return "with a URL that cannot be read"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (w *Webhook) ask(ctx context.Context, req *Request) (*Response, error) {
	address, err := url.Parse(w.URL)
	if err != nil {
		return nil, errors.New("it must be http:// or https://, a host and a path") // err has parts of the URL
	}
	hidden := req.redactor(ctx) // also of what comes after an answer that is used
	client, met, err := w.Client.connect()
	if err != nil {
		return nil, err
	}
	hidden.AddTexts(credentials(address, met)...)
	resp, err := w.exchange(ctx, client, met, req)
	if err != nil {
		err = shortened(hidden.Error(err))
	}
	return resp, err
}

// exchange posts req and reads the response, or uses the one that is kept if the server says that it is still valid.
func (w *Webhook) exchange(ctx context.Context, client *http.Client, met Endpoint, req *Request) (*Response, error) {
	var kept cachedResponse
	var key cacheKey
	if w.Cache != nil {
		key = keyOf(req)
		kept, _ = w.Cache.get(key)
	}
	resp, err := w.post(ctx, client, req, http.Header{
		"Content-Type": {"application/json"}, "Authorization": {met.Authorization}, "If-None-Match": {kept.etag},
	})
	if err != nil {
		return nil, err
	}
	defer drain(resp.Body)
	if code := resp.StatusCode; kept.etag != "" && (code == http.StatusNotModified || code == http.StatusPreconditionFailed) {
		answer, err := w.read(kept.body, req)
		if err != nil {
			w.Cache.drop(key) // so that the server says it anew
		}
		return answer, err
	}
	return w.receive(ctx, resp, req, key)
}

// post sends req with those of the headers that are not empty.
func (w *Webhook) post(ctx context.Context, client *http.Client, req *Request, headers http.Header) (*http.Response, error) {
	text, err := json.Marshal(encode(req, w.Version))
	if err != nil {
		return nil, err
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
	if err != nil {
		return nil, explain(withoutURL(err))
	}
	return resp, nil
}

// drain closes a body that may have an end that nobody needs, after which its connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	_ = body.Close()
}

// read decodes and checks the text of a response.
func (w *Webhook) read(body []byte, req *Request) (*Response, error) {
	answer, err := decodeJSON(body)
	if err != nil {
		return nil, notAnObject(err, body)
	}
	if w.Strict {
		if err := checkDuplicates(body); err != nil {
			return nil, err
		}
	}
	return decode(answer, req, w.decodeOptions())
}

func (w *Webhook) decodeOptions() decodeOptions {
	return decodeOptions{knownKeys: w.Strict, refuseMissing: w.RefuseMissing, owned: true}
}

func notAnObject(err error, beginsWith []byte) error {
	return fmt.Errorf("the answer is not a JSON object: %w%s", err, beginning(beginsWith))
}

// beginning shows how a web page begins. JSON that is broken is not shown: it may be of a Secret.
func beginning(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), 1<<10)]))
	if !strings.HasPrefix(text, "<") {
		return ""
	}
	return fmt.Sprintf("; it begins with %q", engine.Clip(text, 80))
}

// maxComplaint is how much is read of an answer that is none; less is told, once secrets are out of it.
const maxComplaint = 64 << 10

// refused is the error of an answer that is none, by its status.
func refused(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusTooManyRequests:
		return retryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxComplaint)) // what there is of it
	return fmt.Errorf("status %s: %s", resp.Status, text)
}

// retryAfter reads the value of a Retry-After header: seconds or a date.
func retryAfter(value string, now time.Time) *RetryAfter {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return &RetryAfter{After: max(time.Duration(min(seconds, maxSeconds))*time.Second, time.Second)}
	}
	if date, err := parseDate(value); err == nil {
		return &RetryAfter{After: max(date.Sub(now), time.Second)}
	}
	return &RetryAfter{After: time.Second, Unspecified: true}
}

// parseDate reads a date as HTTP has it, or in RFC 1123's form with another zone than GMT, which Metacontroller takes.
func parseDate(value string) (time.Time, error) {
	if date, err := http.ParseTime(value); err == nil {
		return date, nil
	}
	return time.Parse(time.RFC1123, value)
}

// decodeJSON reads one JSON object, integers as int64.
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

// checkDuplicates refuses a key that stands twice in an object, at any depth.
func checkDuplicates(text []byte) error {
	var ignored any
	faults, err := strictjson.UnmarshalStrict(text, &ignored)
	return errors.Join(append(faults, err)...)
}

package hook

import (
	"bytes"
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

	"metascript/engine"
)

const (
	defaultTimeout = 10 * time.Second
	maxBody        = 64 << 20 // bytes of an answer: more than a thousand large objects
)

// A Webhook is a hook that posts the request to a server as JSON and reads its answer.
type Webhook struct {
	URL     string
	Timeout time.Duration // for the whole call; zero or less is 10s
	Version string        // V1 or V2; "" is V1
	Strict  bool          // refuse unknown and duplicate keys in the answer
	Client  *http.Client  // nil is http.DefaultClient
}

// Call posts the request. Only status 200 succeeds; 429 with Retry-After is a [*RetryAfter].
func (w *Webhook) Call(ctx context.Context, req *Request) (*Response, error) {
	timeout := w.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := w.post(ctx, encode(req, w.Version))
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s: %w", timeout, err)
		}
		var later *RetryAfter
		if errors.As(err, &later) {
			return nil, later
		}
		return nil, fmt.Errorf("webhook %s: %w", w.name(), err)
	}
	answer, err := decodeJSON(body)
	if err != nil {
		return nil, fmt.Errorf("webhook %s: the answer is not a JSON object: %w", w.name(), err)
	}
	if w.Strict {
		err = checkDuplicates(body)
	}
	var resp *Response
	if err == nil {
		resp, err = decode(answer, req, manners{knownKeys: w.Strict})
	}
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", w.name(), err)
	}
	return resp, nil
}

// name is the URL as it may be shown in an event: a password or a token may be in the rest of it.
func (w *Webhook) name() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return "with a URL that cannot be read"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (w *Webhook) post(ctx context.Context, arg map[string]any) ([]byte, error) {
	text, err := json.Marshal(arg)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	client := w.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return readBody(resp)
}

func readBody(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer: %w", err)
	case len(body) > maxBody:
		return nil, fmt.Errorf("the answer is larger than %d bytes", maxBody)
	case resp.StatusCode == http.StatusTooManyRequests:
		return nil, retryAfter(resp.Header.Get("Retry-After"), time.Now())
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %s: %s", resp.Status, engine.Clip(string(body), 1<<10))
	}
	return body, nil
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
	return &RetryAfter{After: time.Second, Unsaid: true}
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
		return nil, errors.New("it is null")
	}
	return answer, nil
}

// checkDuplicates refuses a key that stands twice in an object, at any depth.
func checkDuplicates(text []byte) error {
	var ignored any
	faults, err := strictjson.UnmarshalStrict(text, &ignored)
	return errors.Join(append(faults, err)...)
}

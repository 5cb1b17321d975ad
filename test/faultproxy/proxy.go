package faultproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// A Proxy passes requests on to an API server, with faults. It is an http.Handler, and safe for concurrent use.
type Proxy struct {
	to        *url.URL
	transport http.RoundTripper
	asked     ledger

	mu    sync.Mutex // guards the fields below
	rules []*Rule
	moved chan struct{} // is closed when the rules are replaced
}

// New returns a Proxy that passes requests on to an address by a transport. The transport adds the credentials, if a request has none.
func New(to *url.URL, transport http.RoundTripper) *Proxy {
	return &Proxy{to: to, transport: transport, moved: make(chan struct{})}
}

// Set replaces all rules. Without one, there are no faults.
func (p *Proxy) Set(rules ...*Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rules {
		close(r.gone)
	}
	for _, r := range rules {
		r.gone, r.hits = make(chan struct{}), 0
	}
	p.rules = rules
	close(p.moved)
	p.moved = make(chan struct{})
}

// Take returns what was asked since the last call.
func (p *Proxy) Take() []Request { return p.asked.take() }

// rule returns the first rule that is about a request, and has an action on watches or not. It counts the request if counts is true.
func (p *Proxy) rule(q *http.Request, watching bool) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rules {
		if onWatches[r.Action] == watching && r.fits(q) && (watching || r.counts()) {
			return r
		}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	at, code := time.Now(), 0
	body, err := io.ReadAll(q.Body)
	defer func() { p.asked.add(q, body, at, code) }()
	if err != nil {
		return
	}
	r := p.rule(q, false)
	if r == nil {
		r = &Rule{}
	}
	if r.Before != nil && r.Before(q) {
		hangUp()
	}
	switch r.Action {
	case Status:
		code = r.Code
		answer(w, r)
		return
	case Delay:
		wait(q, time.After(r.Time))
	case Hang:
		wait(q, r.gone)
	case Drop:
		hangUp()
	}
	response, err := p.pass(q, body)
	if err != nil {
		hangUp()
	}
	defer response.Body.Close()
	code = response.StatusCode
	if r.After != nil && r.After(q) {
		code = 0
		hangUp()
	}
	if isWatch(q) && code == http.StatusOK {
		p.watch(w, q, response)
		return
	}
	text, err := io.ReadAll(response.Body)
	if err != nil || r.Action == Lose {
		code = 0
		hangUp()
	}
	copyHeader(w, response)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	if r.Action == Cut {
		_, _ = w.Write(text[:len(text)/2])
		_ = http.NewResponseController(w).Flush()
		hangUp()
	}
	_, _ = w.Write(text) // the client is gone if this fails
}

// hangUp closes the connection of the request without an answer, or within it.
func hangUp() { panic(http.ErrAbortHandler) }

// wait waits for a channel, or until the client is gone.
func wait[T any](q *http.Request, until <-chan T) {
	select {
	case <-until:
	case <-q.Context().Done():
	}
}

// answer answers in place of the API server.
func answer(w http.ResponseWriter, r *Rule) {
	if r.RetryAfter != "" {
		w.Header().Set("Retry-After", r.RetryAfter)
	}
	if r.Page {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(r.Code)
		fmt.Fprint(w, "<html><body>a page of a gateway</body></html>")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Code)
	reason := reasons[r.Code]
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"a fault of the test","reason":%q,"code":%d}`, reason, r.Code)
}

// reasons are those of the API server.
var reasons = map[int]string{
	http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound", http.StatusConflict: "Conflict", http.StatusGone: "Expired",
	http.StatusUnprocessableEntity: "Invalid", http.StatusTooManyRequests: "TooManyRequests", http.StatusInternalServerError: "InternalError",
	http.StatusServiceUnavailable: "ServiceUnavailable", http.StatusGatewayTimeout: "Timeout",
}

// pass passes a request on.
func (p *Proxy) pass(q *http.Request, body []byte) (*http.Response, error) {
	to := *q.URL
	to.Scheme, to.Host = p.to.Scheme, p.to.Host
	passed, err := http.NewRequestWithContext(q.Context(), q.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	passed.Header = q.Header.Clone()
	passed.Header.Del("Connection")
	passed.Header.Del("Accept-Encoding") // events are lines of text
	return p.transport.RoundTrip(passed)
}

func copyHeader(w http.ResponseWriter, response *http.Response) {
	for name, values := range response.Header {
		w.Header()[name] = values
	}
}

// tooOld is the event that a watch cannot be continued.
const tooOld = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: a fault of the test","reason":"Expired","code":410}}` + "\n"

// watch passes the events of a watch on. Rules that are set while it is open apply to it too.
func (p *Proxy) watch(w http.ResponseWriter, q *http.Request, response *http.Response) {
	copyHeader(w, response)
	w.WriteHeader(response.StatusCode)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	events := make(chan []byte)
	go read(q, response.Body, events)
	for {
		p.mu.Lock()
		moved := p.moved
		p.mu.Unlock()
		if r := p.rule(q, true); r != nil && (r.Action == Close || r.Action == Gone) {
			if r.Action == Gone {
				_, _ = io.WriteString(w, tooOld)
			}
			return
		}
		select {
		case event, open := <-events:
			if !open {
				return
			}
			p.event(w, q, event)
			_ = flush.Flush()
		case <-moved:
		case <-q.Context().Done():
			return
		}
	}
}

// read sends the lines of a body.
func read(q *http.Request, body io.Reader, to chan<- []byte) {
	defer close(to)
	lines := bufio.NewReaderSize(body, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			select {
			case to <- line:
			case <-q.Context().Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// event passes one event on.
func (p *Proxy) event(w http.ResponseWriter, q *http.Request, event []byte) {
	r := p.rule(q, true)
	if r != nil && r.Action == Freeze {
		wait(q, r.gone)
		r = nil
	}
	if r == nil || !p.isAbout(r, event) {
		_, _ = w.Write(event) // the client is gone if this fails
		return
	}
	switch r.Action {
	case Swallow:
		return
	case Break:
		_, _ = w.Write(event[:len(event)/2])
		_ = http.NewResponseController(w).Flush()
		hangUp()
	case Garbage:
		_, _ = io.WriteString(w, `{"type":"MODIFIED","object":"<html>`+"\n")
	case Twice:
		_, _ = w.Write(event)
	case Late:
		wait(q, time.After(r.Time))
	}
	_, _ = w.Write(event)
}

// isAbout counts an event, and reports whether a rule is about it.
func (p *Proxy) isAbout(r *Rule, event []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return (r.Events == nil || r.Events.Match(event)) && r.counts()
}

// Writes is a pattern for the methods of writes.
var Writes = regexp.MustCompile("^(POST|PUT|PATCH|DELETE)$")

// Package faultproxy is a proxy before the API server that makes faults on purpose, so that tests see what a server does then.
//
// A [Proxy] passes requests on, as long as it has no [Rule]. The first rule that fits a request decides what happens to it. Rules are
// written in words, see [Parse]:
//
//	status 429 retry-after=1 path=/configmaps      answer, and do not pass it on
//	drop method=POST|PUT every=3                   close the connection before each third write
//	close                                          close watches
//
// It keeps what was asked, so that tests can count.
package faultproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Action is what happens to a request, or to the events of a watch.
type Action string

// The actions on requests.
const (
	Pass   Action = "pass"   // pass it on, for Rule.Before and After
	Status Action = "status" // answer with a status, and do not pass the request on
	Delay  Action = "delay"  // pass it on later
	Hang   Action = "hang"   // do not answer as long as the rule is there
	Drop   Action = "drop"   // close the connection, and do not pass the request on
	Lose   Action = "lose"   // pass it on, and close the connection in place of the answer
	Cut    Action = "cut"    // pass it on, and close the connection within the answer
)

// The actions on watches that are open, or are opened.
const (
	Close   Action = "close"   // end the watch
	Gone    Action = "gone"    // end it with the error that the resource version is too old
	Freeze  Action = "freeze"  // hold the events as long as the rule is there
	Swallow Action = "swallow" // leave out events
	Break   Action = "break"   // close the connection within an event
	Garbage Action = "garbage" // send something else before an event
	Twice   Action = "twice"   // send each event twice
	Late    Action = "late"    // send each event later
)

var onWatches = map[Action]bool{Close: true, Gone: true, Freeze: true, Swallow: true, Break: true, Garbage: true, Twice: true, Late: true}

// A Rule says which requests have which fault.
type Rule struct {
	Action
	Code       int           // of Status
	RetryAfter string        // the header of Status; "" is none
	Page       bool          // Status answers with a page of HTML in place of an object
	Time       time.Duration // of Delay and Late

	Method, Path, But *regexp.Regexp // which requests: their method, and their path with the query; nil is all
	Events            *regexp.Regexp // which events of a watch; nil is all
	Every             int            // only each nth one
	Skip, Most        int            // not the first ones, and at most so many; zero: no limit

	// Before and After are called for each request that fits, before it is passed on and before its answer is. If one returns true, the
	// connection is closed instead. They may be nil.
	Before, After func(*http.Request) bool

	hits int           // guarded by Proxy.mu
	gone chan struct{} // is closed when the rule is not used any more
}

// Parse reads a rule: an action, the code after status, and options: retry-after=, method=, path=, but=, events=, every=, skip=, most=,
// time= and page.
func Parse(words []string) (*Rule, error) {
	r := &Rule{Action: Action(words[0])}
	rest := words[1:]
	switch r.Action {
	case Status:
		if len(rest) == 0 {
			return nil, fmt.Errorf("status needs a code")
		}
		var err error
		if r.Code, err = strconv.Atoi(rest[0]); err != nil {
			return nil, err
		}
		rest = rest[1:]
	case Pass, Delay, Hang, Drop, Lose, Cut:
	default:
		if !onWatches[r.Action] {
			return nil, fmt.Errorf("there is no fault %q", r.Action)
		}
	}
	for _, word := range rest {
		if err := r.set(word); err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
	}
	return r, nil
}

// set sets an option of a rule.
func (r *Rule) set(word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "retry-after":
		r.RetryAfter = value
	case "page":
		r.Page = true
	case "method":
		r.Method, err = regexp.Compile("^(" + value + ")$")
	case "path":
		r.Path, err = regexp.Compile(value)
	case "but":
		r.But, err = regexp.Compile(value)
	case "events":
		r.Events, err = regexp.Compile(value)
	case "every":
		r.Every, err = strconv.Atoi(value)
	case "skip":
		r.Skip, err = strconv.Atoi(value)
	case "most":
		r.Most, err = strconv.Atoi(value)
	case "time":
		r.Time, err = time.ParseDuration(value)
	default:
		return fmt.Errorf("there is no such option")
	}
	return err
}

// fits reports whether a rule is about a request.
func (r *Rule) fits(q *http.Request) bool {
	asked := q.URL.RequestURI()
	switch {
	case onWatches[r.Action] && !isWatch(q):
	case r.Method != nil && !r.Method.MatchString(q.Method):
	case r.Path != nil && !r.Path.MatchString(asked):
	case r.But != nil && r.But.MatchString(asked):
	default:
		return true
	}
	return false
}

// counts counts a request or an event, and reports whether the rule is about it.
func (r *Rule) counts() bool {
	r.hits++
	n := r.hits - r.Skip
	return n > 0 && (r.Most == 0 || n <= r.Most) && (r.Every < 2 || n%r.Every == 0)
}

func isWatch(q *http.Request) bool {
	return q.Method == http.MethodGet && (q.URL.Query().Get("watch") == "true" || q.URL.Query().Get("watch") == "1")
}

// A Request is what was asked.
type Request struct {
	At     time.Time
	Method string // WATCH for a watch
	Path   string // with the query
	Name   string // of the object that is created
	Code   int    // of the answer; zero: there was none
}

// IsWrite reports whether a request writes.
func (r Request) IsWrite() bool { return r.Method != http.MethodGet && r.Method != "WATCH" }

// ledger is what was asked since the last call of take.
type ledger struct {
	mu  sync.Mutex // guards all
	all []Request
}

func (l *ledger) add(q *http.Request, body []byte, at time.Time, code int) {
	method := q.Method
	var created struct{ Metadata struct{ Name string } }
	if method == http.MethodPost {
		_ = json.Unmarshal(body, &created) // what is no JSON has no name
	}
	if isWatch(q) {
		method = "WATCH"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, Request{at, method, q.URL.RequestURI(), created.Metadata.Name, code})
}

func (l *ledger) take() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

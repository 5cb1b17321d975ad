// Package apiserver knows how the API server answers the requests of a server, and makes all of its workers wait when it asks to wait.
//
// A [Connection] is between the clients and the network. [Connection.Hold] holds requests back: an answer 429, or 5xx, with the header
// Retry-After closes a gate for all requests of the same account to the same resource. Until the gate opens, such a request is not sent,
// and fails at once with a [HeldError], so that no worker waits. Then one request goes first, and the others follow if it is not answered
// in the same way again. Requests for other resources, and of other accounts, are sent meanwhile.
//
// All answers are evidence for the [State] of the connection. [Connection.Run] decides it.
package apiserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Condition is how the API server answers.
type Condition string

// The conditions, the best one first.
const (
	Well         Condition = "well"
	Throttled    Condition = "throttled"    // it has asked to wait for some time
	Unauthorized Condition = "unauthorized" // it does not accept the credentials of the server
	Unreachable  Condition = "unreachable"  // there is no answer, or one that says that the API server does not work
)

// Conditions are all conditions.
var Conditions = []Condition{Well, Throttled, Unauthorized, Unreachable}

// A State is the state of a connection. The zero value is that nothing is known, which counts as Well.
type State struct {
	Condition
	Since     time.Time
	Code      int      // of the last answer that was evidence for it; zero for Well, and if there was no answer
	Resources []string // that are throttled, sorted, such as deployments.apps
}

// When a condition begins and ends.
const (
	fewFailures   = 3               // so many, one after the other, are no coincidence
	doubtAfter    = 2 * time.Second // that they last, and that a gate is closed
	throttledHold = 10 * time.Second
	checkEvery    = 2 * time.Second // while it does not answer
	checkTimeout  = 5 * time.Second
)

// A Connection is the connection of a server to the API server. Its fields must be set before it is used. It is safe for concurrent use.
type Connection struct {
	// Check asks the API server whether it works, with the credentials of the server. It returns the code of the answer, or zero.
	Check func(context.Context) int
	// Turned is called by Run with the State when its Condition has changed. It must not block.
	Turned func(State)
	Log    *slog.Logger

	wake chan struct{} // has an element when the state may have changed

	mu       sync.Mutex // guards the fields below
	state    State
	failures int       // in a row
	failed   time.Time // the first of them
	code     int       // of the last of them
	down     bool      // a check has failed since the last success
	checked  time.Time // the last check
	gates    map[key]*gate
	slow     time.Time // until when it is throttled although all gates are open
}

// New returns a Connection.
func New(log *slog.Logger) *Connection {
	return &Connection{Log: log, Turned: func(State) {}, wake: make(chan struct{}, 1), gates: map[key]*gate{}, state: State{Condition: Well, Since: time.Now()}}
}

// State returns the state.
func (c *Connection) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// answered notes the answer to a request as evidence. The code is zero if there was none.
func (c *Connection) answered(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case code == http.StatusTooManyRequests, code == http.StatusInternalServerError:
		// It answers, but this says nothing of other requests: an admission webhook may have failed.
	case works(code):
		if c.failures = 0; c.down {
			c.down = false
			c.signal()
		}
	default:
		if c.failures++; c.failures == 1 {
			c.failed = time.Now()
		}
		if c.code = code; c.failures == fewFailures {
			c.signal()
		}
	}
}

// works reports whether an answer says that the API server works and accepts the credentials. 502 to 504 come from the API server itself
// or from a proxy before it. They may also concern one API group only, so that Check is asked.
func works(code int) bool {
	return code > 0 && code != http.StatusUnauthorized && code < http.StatusInternalServerError
}

// signal has Run look at the state again.
func (c *Connection) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run keeps the State up to date until ctx is done.
func (c *Connection) Run(ctx context.Context) {
	for {
		var again <-chan time.Time
		if wait := c.examine(ctx); wait > 0 {
			again = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-again:
		}
	}
}

// examine decides the state. It returns after which time that must be done again; zero: only after other evidence.
func (c *Connection) examine(ctx context.Context) time.Duration {
	doubtful, wait := c.doubts()
	if doubtful && c.Check != nil {
		wait = c.check(ctx)
	}
	if ctx.Err() != nil {
		return 0
	}
	next, turned, until := c.update(time.Now())
	if turned {
		c.report(next)
		c.Turned(next)
	}
	if until > 0 && (wait == 0 || until < wait) {
		wait = until
	}
	return wait
}

// doubts reports whether the failures are enough to doubt that the API server answers, or else after which time they may be.
func (c *Connection) doubts() (doubtful bool, after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures < fewFailures && !c.down {
		return false, 0
	}
	after = max(doubtAfter-time.Since(c.failed), checkEvery-time.Since(c.checked)) // an answer to the check is evidence too
	return after <= 0, max(after, 0)
}

// check asks the API server whether it works. It returns after which time it must be asked again; zero: it works.
func (c *Connection) check(ctx context.Context) time.Duration {
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	code := c.Check(limited)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checked = time.Now()
	if works(code) || code == http.StatusTooManyRequests || ctx.Err() != nil {
		c.failures, c.down = 0, false
		return 0
	}
	c.down, c.code = true, code
	return checkEvery
}

// update sets the state, and reports whether its Condition turned. It returns after which time it may turn without other evidence; zero:
// it cannot.
func (c *Connection) update(now time.Time) (next State, turned bool, until time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next = c.throttled(now)
	if next.Condition == Throttled {
		until = max(c.slow.Sub(now), time.Millisecond)
	}
	if c.down {
		next = State{Condition: Unreachable, Since: c.failed, Code: c.code}
		if c.code == http.StatusUnauthorized {
			next.Condition = Unauthorized
		}
	}
	if turned = next.Condition != c.state.Condition; !turned {
		next.Since = c.state.Since
	}
	c.state = next
	return next, turned, until
}

// report logs that the state turned.
func (c *Connection) report(now State) {
	switch now.Condition {
	case Well:
		c.Log.Info("the API server answers again")
	default:
		c.Log.Warn(now.Text(), "state", string(now.Condition), "code", now.Code, "since", now.Since.UTC().Format(time.RFC3339), "resources", now.Resources)
	}
}

// String returns all of a State in one line.
func (s State) String() string {
	text := s.Text()
	if s.Code > 0 {
		text += fmt.Sprintf("; the last answer was %d %s", s.Code, http.StatusText(s.Code))
	}
	if len(s.Resources) > 0 {
		text += " to a request about " + strings.Join(s.Resources, ", ")
	}
	return text + ", since " + s.Since.UTC().Format(time.RFC3339)
}

// Text says in words how the API server answers. It names no object, account or resource.
func (s State) Text() string {
	switch s.Condition {
	case Throttled:
		return "the API server limits the requests of this server: it asks to wait, by the header Retry-After, and all of this server wait so long"
	case Unauthorized:
		return "the API server does not accept the credentials of this server: check its token or certificate, which may have expired"
	case Unreachable:
		return "the API server cannot be reached, or does not work: check that it runs, and the network between"
	}
	return "the API server answers"
}

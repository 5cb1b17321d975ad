package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A key names the requests that wait for the same gate.
type key struct {
	user string // that is impersonated; "" is the server itself
	schema.GroupResource
	free bool // lists, watches, events and requests that are no resource's: they are never held, and only evidence
}

// A gate is closed until a time. Then one request goes first, and opens it or closes it again.
type gate struct {
	since, until time.Time
	code         int           // of the answer that closed it last
	after        time.Duration // that this answer asked for
	first        time.Time     // when the request that goes first was sent; zero: there is none
}

const (
	defaultAfter = time.Second     // if the header Retry-After is missing
	longestAfter = 5 * time.Minute // an answer that asks for more is not believed: one request in this time shows whether it is still so
	firstPoll    = 100 * time.Millisecond
	lastPoll     = 5 * time.Second
)

// A HeldError is the error of a request that the API server asked to repeat later, or that was not sent because of another one. Its text
// is the same for both, so that it does not change while they alternate.
type HeldError struct {
	Code     int           // of the answer
	After    time.Duration // that it asked for
	Resource schema.GroupResource

	of  *Connection
	key key
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("the API server asks to wait: %d %s, Retry-After: %d, for requests about %s; they are sent again then",
		e.Code, http.StatusText(e.Code), int(e.After.Seconds()), e.Resource)
}

// Status implements apierrors.APIStatus.
func (e *HeldError) Status() metav1.Status {
	reason := metav1.StatusReasonTooManyRequests
	if e.Code != http.StatusTooManyRequests {
		reason = metav1.StatusReasonServiceUnavailable
	}
	return metav1.Status{Status: metav1.StatusFailure, Code: int32(e.Code), Reason: reason, Message: e.Error(), Details: &metav1.StatusDetails{RetryAfterSeconds: int32(e.After.Seconds())}}
}

// Wait returns how long such a request would still be held; zero if it would be sent.
func (e *HeldError) Wait() time.Duration {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	return e.of.gates[e.key].wait(time.Now())
}

// IsLong reports whether such requests are held for so long that the state of the connection is throttled.
func (e *HeldError) IsLong() bool {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	g := e.of.gates[e.key]
	return g != nil && g.isLong()
}

// Held returns the HeldError in err, if err has no other cause; nil otherwise.
func Held(err error) *HeldError {
	switch e := err.(type) {
	case *HeldError:
		return e
	case interface{ Unwrap() error }:
		return Held(e.Unwrap())
	case interface{ Unwrap() []error }:
		var held *HeldError
		for _, one := range e.Unwrap() {
			if held = Held(one); held == nil {
				return nil
			}
		}
		return held
	}
	return nil
}

// Cause returns the HeldError that a client has wrapped into the error of a request, without the address of the request; err itself if
// there is none.
func Cause(err error) error {
	var held *HeldError
	if errors.As(err, &held) {
		return held
	}
	return err
}

// wait returns how long a request has to wait. While another one goes first, that is longer the longer this takes.
func (g *gate) wait(now time.Time) time.Duration {
	switch {
	case g == nil:
		return 0
	case now.Before(g.until):
		return g.until.Sub(now)
	case !g.first.IsZero():
		return min(max(now.Sub(g.first), firstPoll), lastPoll)
	}
	return 0
}

// admit returns nil if a request may be sent, and whether it goes first.
func (c *Connection) admit(k key) (first bool, held *HeldError) {
	if k.free {
		return false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g, now := c.gates[k], time.Now()
	if g == nil {
		return false, nil
	}
	if g.wait(now) > 0 {
		return false, c.held(k, g)
	}
	g.first = now
	return true, nil
}

func (c *Connection) held(k key, g *gate) *HeldError {
	return &HeldError{Code: g.code, After: g.after, Resource: k.GroupResource, of: c, key: k}
}

// closeGate closes the gate of a request whose answer asks to wait.
func (c *Connection) closeGate(k key, code int, after time.Duration) *HeldError {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	g := c.gates[k]
	if g == nil || g.isOver(now) {
		g = &gate{since: now}
		c.gates[k] = g
	}
	g.code, g.after, g.first = code, after, time.Time{}
	if until := now.Add(min(after, longestAfter)); until.After(g.until) {
		g.until = until
	}
	c.signal()
	return c.held(k, g)
}

// passed notes that a request was not asked to wait. Requests that were sent before the gate closed do not open it. went says that the
// request got an answer.
func (c *Connection) passed(k key, first, went bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gates[k]
	switch {
	case g == nil || !first && !k.free:
	case went:
		c.linger(k, g, time.Now())
		delete(c.gates, k)
		c.signal()
	default:
		g.first = time.Time{} // another one goes first
	}
}

// linger keeps the state throttled for some time after a gate has opened, so that it does not turn with each gate.
func (c *Connection) linger(k key, g *gate, now time.Time) {
	if k.user == "" && g.isLong() && now.Add(throttledHold).After(c.slow) {
		c.slow = now.Add(throttledHold)
	}
}

// isOver reports whether a gate has been open for so long that a next one has nothing to do with it.
func (g *gate) isOver(now time.Time) bool {
	return !now.Before(g.until.Add(throttledHold)) && g.first.IsZero()
}

// isLong reports whether a gate is closed for so long that it says something of the state.
func (g *gate) isLong() bool { return g.until.Sub(g.since) >= doubtAfter }

// throttled returns the state as the gates have it. It drops gates for which nobody has waited. The caller must have locked mu.
func (c *Connection) throttled(now time.Time) State {
	s := State{Condition: Well, Since: now}
	since := now
	for k, g := range c.gates {
		if g.isOver(now) {
			delete(c.gates, k)
			continue
		}
		if !g.isLong() || k.user != "" { // another account has limits of its own, and says nothing of the others
			continue
		}
		if end := g.until.Add(throttledHold); end.After(c.slow) {
			c.slow = end
		}
		if g.since.Before(since) {
			since = g.since
		}
		s.Code = g.code
		if k.Resource != "" {
			s.Resources = append(s.Resources, k.GroupResource.String())
		}
	}
	slices.Sort(s.Resources)
	s.Resources = slices.Compact(s.Resources)
	switch {
	case !now.Before(c.slow):
		return State{Condition: Well, Since: now}
	case s.Code == 0 && c.state.Condition == Throttled: // all gates have opened, a moment ago
		return c.state
	default:
		s.Condition, s.Since = Throttled, since
	}
	return s
}

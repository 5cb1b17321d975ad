// Package lease keeps a server from writing while it may not hold its Lease any more.
//
// The leader election of client-go says when a server begins to lead, and when it has given up renewing its Lease. That
// is late for a process that was stopped, or a machine that was suspended, for longer than the Lease is valid: when it
// continues, another server leads, and its own timers have not run. A [Fence] stands before every write instead, and asks
// how long ago the Lease was last renewed. It learns that from the requests for the Lease themselves ([Fence.Observe]).
//
// A Lease is no fencing token, since the API server does not check it with each write. What remains is therefore a
// request that had passed the Fence before its process was stopped, and is sent when it continues: at most as many
// as were in flight. Those that update, apply or delete carry the resourceVersion which they were decided by.
package lease

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Fence lets writes begin only while the Lease was renewed recently. It is closed until the Lease is acquired.
// Its methods may be called at the same time.
type Fence struct {
	overdue time.Duration
	now     func() reading

	mu       sync.Mutex // guards all below
	renewed  *reading   // before the request that last acquired or renewed the Lease was sent; nil: it was not yet
	closed   error      // why no write begins any more; nil: one may
	inFlight int        // writes that have begun and not ended
	idle     chan struct{}
}

// New returns a Fence that is open for the time of overdue after each renewal.
func New(overdue time.Duration) *Fence {
	return &Fence{overdue: overdue, now: now, idle: make(chan struct{})}
}

// A reading is what both clocks say at one time. The monotonic clock stops while a machine is suspended, and the wall
// clock may be set; elapsed time is what the one says that shows more of it.
type reading struct {
	wall      time.Time // without a monotonic reading
	monotonic time.Duration
}

var start = time.Now()

func now() reading {
	t := time.Now()
	return reading{wall: t.Round(0), monotonic: t.Sub(start)}
}

func (r reading) since(earlier reading) time.Duration {
	return max(r.monotonic-earlier.monotonic, r.wall.Sub(earlier.wall))
}

// renew notes that the Lease was renewed by a request which was sent at the time of sent.
func (f *Fence) renew(sent reading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = &sent
}

// holds reports whether the Lease was acquired, and not lost since.
func (f *Fence) holds() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.renewed != nil && f.closed == nil
}

// begin lets a write begin, or says why none may. A write that began is followed by end.
func (f *Fence) begin() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed != nil {
		return f.closed
	}
	if f.renewed == nil {
		return fmt.Errorf("not sent: this server does not hold the Lease, and another may lead")
	}
	if age := f.now().since(*f.renewed); age >= f.overdue {
		return fmt.Errorf("not sent: the Lease was last renewed %s ago, and another server may lead", age.Round(time.Second))
	}
	f.inFlight++
	return nil
}

func (f *Fence) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
	f.checkIdle()
}

// shut lets no write begin any more. It reports whether one could before.
func (f *Fence) shut(why error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed != nil {
		return false
	}
	f.closed = why
	f.checkIdle()
	return true
}

// checkIdle is called with mu held, when a write ended or the Fence was closed.
func (f *Fence) checkIdle() {
	if f.closed != nil && f.inFlight == 0 {
		close(f.idle)
	}
}

// Close lets no write begin any more, and waits until those in flight have ended, or ctx is done.
func (f *Fence) close(ctx context.Context) error {
	f.shut(fmt.Errorf("not sent: this server is ending, and another may lead"))
	select {
	case <-f.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for writes in flight: %w", context.Cause(ctx))
	}
}

// Package lease elects the server that leads, and prevents writes of a server that may not hold its Lease any more.
//
// The leader election of client-go calls back when a server begins to lead, and when it could not renew its Lease. The second
// call is too late for a process that was stopped, or a machine that was suspended, for longer than the Lease is valid: when it
// continues, another server leads, and its own timers have not run yet. So a [Fence] checks before every write how long ago the
// Lease was last renewed. It learns that from the requests for the Lease themselves.
//
// A Lease is not a fencing token, since the API server does not check it with each write. So a request that the Fence let through
// before its process was stopped can still be sent when the process continues: at most those that were in flight. Updates,
// applies and deletes among them have the resourceVersion of the object that was observed.
package lease

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Fence lets writes begin only if the Lease was renewed recently. It is closed until the Lease is acquired. It is safe for
// concurrent use.
type Fence struct {
	overdue time.Duration
	now     func() reading

	mu       sync.Mutex // guards the fields below
	renewed  *reading   // when the request was sent that last acquired or renewed the Lease; nil before the first
	closed   error      // why no write may begin any more; nil if writes may begin
	inFlight int        // writes that have begun and not ended
	idle     chan struct{}
}

// New returns a Fence that is open for the time of overdue after each renewal.
func New(overdue time.Duration) *Fence {
	return &Fence{overdue: overdue, now: now, idle: make(chan struct{})}
}

// A reading is the time on two clocks. The monotonic clock stops while a machine is suspended, and the wall clock may be
// set. The elapsed time is the longer of the two.
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

// renew records that the Lease was renewed by a request that was sent at this time.
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

// begin returns nil if a write may begin, and otherwise why not. After the write, end must be called.
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

// shut lets no write begin any more. It returns false if that was so already.
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

// checkIdle closes idle if the Fence is closed and no write is in flight. The caller has locked mu.
func (f *Fence) checkIdle() {
	if f.closed != nil && f.inFlight == 0 {
		close(f.idle)
	}
}

// close lets no write begin any more, and waits until those in flight have ended, or ctx is done.
func (f *Fence) close(ctx context.Context) error {
	f.shut(fmt.Errorf("not sent: this server is ending, and another may lead"))
	select {
	case <-f.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for writes in flight: %w", context.Cause(ctx))
	}
}

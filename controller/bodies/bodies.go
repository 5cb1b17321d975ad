// Package bodies limits the memory of webhook response bodies that are processed concurrently.
//
// A [Budget] is the limit of the server, in bytes of body. Each controller has a [Share] of it, or all controllers of a tenant have
// one, so that the responses of one controller, or of one tenant, do not block those of the others. A [Lease] is the memory of one reconcile: it is taken before a body is read, and
// released when the reconcile does not need the decoded response any more.
//
// Before a body is read, a lease takes the most that the body may need; afterwards it returns what the body did not need. Take
// waits until there is enough memory. Leases that have memory are served first, and a lease may exceed its share if no other
// lease uses the share: the sooner a reconcile has all responses, the sooner it releases its memory. If leases wait only for
// each other, that would be a deadlock; so the one that called Take last gets an error, and its reconcile is tried again.
package bodies

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Default is the default size of a [Budget]: 128 MiB.
const Default = 128 << 20

// A Budget is the memory for the responses of all controllers. It is safe for concurrent use.
type Budget struct {
	size int64 // in bytes

	mu     sync.Mutex          // guards the fields below, and the shares and the leases of the budget
	used   int64               // by leases, and by TryTake
	queue  []*waiter           // the calls of Take that wait, in order
	leases map[*Lease]struct{} // those that have memory
	shares map[string]*Share   // those of tenants
}

// New returns a Budget of size bytes; [Default] if size is not above zero.
func New(size int64) *Budget {
	if size <= 0 {
		size = Default
	}
	return &Budget{size: size, leases: map[*Lease]struct{}{}, shares: map[string]*Share{}}
}

// Size returns the size of the budget in bytes.
func (b *Budget) Size() int64 { return b.size }

// TryTake takes n bytes without a lease, and reports whether it did: it does not if they are not free, or if a Take waits. The
// caller returns them with GiveBack.
func (b *Budget) TryTake(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 || b.used+n > b.size {
		return false
	}
	b.used += n
	return true
}

// GiveBack returns n bytes that TryTake took.
func (b *Budget) GiveBack(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.serve()
}

// Share returns a new share for a controller: half of the budget. A single lease may exceed it.
func (b *Budget) Share() *Share { return &Share{of: b, size: max(b.size/2, 1)} }

// ShareOf returns the share of all controllers of a tenant: half of the budget, however many they are. Controllers without a tenant
// have a share each.
func (b *Budget) ShareOf(tenant string) *Share {
	if tenant == "" {
		return b.Share()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shares[tenant] == nil {
		b.shares[tenant] = b.Share()
	}
	return b.shares[tenant]
}

// A Share is the part of a [Budget] that one controller, or one tenant, may use. It is safe for concurrent use.
type Share struct {
	of   *Budget
	size int64
	used int64 // by its leases; of each at most size is counted
}

// Size returns the size of the whole [Budget], which is the limit of a single body.
func (s *Share) Size() int64 { return s.of.size }

// A fullError says that there was not enough memory in time. A later try may succeed.
type fullError struct{ want, size int64 }

func (e *fullError) Error() string {
	return fmt.Sprintf("there is not enough memory for an answer of up to %d bytes: all answers in flight can have at most %d bytes together; it is tried again; raise --webhook-memory if this happens often", e.want, e.size)
}

// A Lease is the memory of one reconcile. All of it is of the share of the first Take. It is safe for concurrent use. The zero
// Lease has no memory.
type Lease struct {
	share   atomic.Pointer[Share] // nil until the first Take
	size    int64                 // in bytes
	reading int                   // bodies that are being read: Take has returned, and Shrink was not called
	waiting int                   // calls of Take that wait
}

// Take takes n bytes of a share for a body; n must not be above the size of the share. It waits until there is enough memory. It
// returns an error if ctx is done before, or if all memory belongs to leases that wait too. The caller calls [Lease.Shrink]
// after it has read the body.
func (l *Lease) Take(ctx context.Context, share *Share, n int64) error {
	_, err := l.TakeUpTo(ctx, share, n, n)
	return err
}

// TakeUpTo is like Take, but takes fewer than most bytes if l itself has memory of the budget: then it takes what remains of the
// budget, and at least least. It returns how many bytes it took.
func (l *Lease) TakeUpTo(ctx context.Context, share *Share, least, most int64) (int64, error) {
	l.share.CompareAndSwap(nil, share)
	w := &waiter{lease: l, share: l.share.Load(), least: least, most: most, done: make(chan struct{})}
	b := w.share.of
	b.mu.Lock()
	b.queue = append(b.queue, w)
	l.waiting++
	b.serve()
	b.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.leave(w) {
			b.serve()
		}
	}
	if w.got == 0 {
		return 0, &fullError{most, b.size}
	}
	return w.got, nil
}

// Shrink returns all but used of the n bytes that were taken for a body. It is called after the body was read.
func (l *Lease) Shrink(n, used int64) {
	l.change(func(share *Share) {
		if l.reading == 0 {
			return // Release was called
		}
		l.reading--
		l.resize(share, l.size-n+min(used, n))
	})
}

// Release returns all memory of the lease.
func (l *Lease) Release() {
	l.change(func(share *Share) {
		l.reading = 0
		l.resize(share, 0)
	})
}

// change calls do with the share of l and the lock held, and then serves waiting calls. It does nothing before the first Take.
func (l *Lease) change(do func(*Share)) {
	share := l.share.Load()
	if share == nil {
		return
	}
	share.of.mu.Lock()
	defer share.of.mu.Unlock()
	do(share)
	share.of.serve()
}

// resize sets the size of l to n bytes.
func (l *Lease) resize(share *Share, n int64) {
	share.used += min(n, share.size) - min(l.size, share.size)
	share.of.used += n - l.size
	l.size = n
	if n == 0 {
		delete(share.of.leases, l)
	} else {
		share.of.leases[l] = struct{}{}
	}
}

// blocked reports whether l releases no memory before a Take that waits has returned.
func (l *Lease) blocked() bool { return l.waiting > 0 && l.reading == 0 }

type leaseKey struct{}

// WithLease returns a context with a new Lease, and a function that releases it.
func WithLease(ctx context.Context) (withLease context.Context, release func()) {
	l := &Lease{}
	return context.WithValue(ctx, leaseKey{}, l), l.Release
}

// FromContext returns the Lease in a context of [WithLease], or nil.
func FromContext(ctx context.Context) *Lease {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	return l
}

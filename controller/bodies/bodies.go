// Package bodies bounds how much memory the answers of webhooks take that are in flight at the same time.
//
// A [Budget] is the server's, in bytes of text. Each controller has a [Share] of it, so that the answers of one
// controller cannot keep those of the others waiting. What one reconcile holds of it is a [Lease], from when its answer
// begins to arrive until the reconcile is done with what was made of it.
//
// All that an answer may need is taken before it is read, and what it did not need is given back after that. Who asks for
// room waits for it. A lease that holds some already is served first, and may have more than the share when it needs it:
// the sooner it has all its answers, the sooner it gives all back. Where leases would wait only for each other, the one
// that asked last fails, and is tried again. So one of them always makes progress.
package bodies

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Default is the size of a [Budget] when nothing else is said: 128 MiB.
const Default = 128 << 20

// A Budget is the room that there is for all. It is safe for concurrent use.
type Budget struct {
	size int64

	mu      sync.Mutex // also of its shares and leases
	used    int64
	queue   []*waiter // in the order in which they asked
	holders map[*Lease]struct{}
}

// New gives a Budget of so many bytes; zero and below is [Default].
func New(size int64) *Budget {
	if size <= 0 {
		size = Default
	}
	return &Budget{size: size, holders: map[*Lease]struct{}{}}
}

// Size is how many bytes there are in all.
func (b *Budget) Size() int64 { return b.size }

// TryTake takes n bytes if they are free, without a lease: who has them gives them back by GiveBack.
func (b *Budget) TryTake(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 || b.used+n > b.size {
		return false
	}
	b.used += n
	return true
}

// GiveBack gives back what TryTake took.
func (b *Budget) GiveBack(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.settle()
}

// Share gives the share of one controller: half of the budget. A single reconcile may hold more than that.
func (b *Budget) Share() *Share { return &Share{of: b, size: max(b.size/2, 1)} }

// A Share is the part of a [Budget] that a controller may have. It is safe for concurrent use.
type Share struct {
	of   *Budget
	size int64
	used int64 // at most size of each lease
}

// Size is that of the whole [Budget], which is the most that a single answer may take.
func (s *Share) Size() int64 { return s.of.size }

// A FullError says that there was no room in time. Another try may find some.
type FullError struct{ Want, Size int64 }

func (e *FullError) Error() string {
	return fmt.Sprintf("there is no room for an answer of up to %d bytes beside those that are in flight, for which --webhook-memory is %d bytes: it is tried again; raise --webhook-memory if this comes often", e.Want, e.Size)
}

// A Lease is the room that one reconcile holds, all of it of the share from which it was first taken. It is safe for
// concurrent use. The zero Lease holds nothing.
type Lease struct {
	share   atomic.Pointer[Share]
	held    int64
	reading int // answers that were not shrunk yet
	waiting int
}

// Take takes n bytes of a share for an answer, and waits for them until ctx is done or only those have room that wait for
// more as l does. The error is a [*FullError]. n must not be above the share's size. [Lease.Shrink] is called when the
// answer was read.
func (l *Lease) Take(ctx context.Context, share *Share, n int64) error {
	_, err := l.TakeUpTo(ctx, share, n, n)
	return err
}

// TakeUpTo takes most bytes like Take, or all that l does not hold itself of the budget, but at least so many as least.
func (l *Lease) TakeUpTo(ctx context.Context, share *Share, least, most int64) (int64, error) {
	l.share.CompareAndSwap(nil, share)
	w := &waiter{lease: l, share: l.share.Load(), least: least, most: most, done: make(chan struct{})}
	b := w.share.of
	b.mu.Lock()
	b.queue = append(b.queue, w)
	l.waiting++
	b.settle()
	b.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.leave(w) {
			b.settle()
		}
	}
	if w.got == 0 {
		return 0, &FullError{most, b.size}
	}
	return w.got, nil
}

// Shrink says that the answer was read for which n bytes were taken, and gives back all but used of them.
func (l *Lease) Shrink(n, used int64) {
	l.change(func(share *Share) {
		if l.reading == 0 {
			return // all was released
		}
		l.reading--
		l.hold(share, l.held-n+min(used, n))
	})
}

// Release gives all back.
func (l *Lease) Release() {
	l.change(func(share *Share) {
		l.reading = 0
		l.hold(share, 0)
	})
}

func (l *Lease) change(do func(*Share)) {
	share := l.share.Load()
	if share == nil {
		return
	}
	share.of.mu.Lock()
	defer share.of.mu.Unlock()
	do(share)
	share.of.settle()
}

// hold has l hold n bytes.
func (l *Lease) hold(share *Share, n int64) {
	share.used += min(n, share.size) - min(l.held, share.size)
	share.of.used += n - l.held
	l.held = n
	if n == 0 {
		delete(share.of.holders, l)
	} else {
		share.of.holders[l] = struct{}{}
	}
}

// blocked reports whether l gives nothing back before it has more.
func (l *Lease) blocked() bool { return l.waiting > 0 && l.reading == 0 }

type leaseKey struct{}

// Hold gives a context under which answers keep their room until release is called.
func Hold(ctx context.Context) (held context.Context, release func()) {
	l := &Lease{}
	return context.WithValue(ctx, leaseKey{}, l), l.Release
}

// Held is the Lease of a context of [Hold], or nil.
func Held(ctx context.Context) *Lease {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	return l
}

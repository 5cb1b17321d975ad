// Package bodies bounds how much memory the answers of webhooks take that are in flight at the same time.
//
// A [Budget] is the server's, in bytes of text. Each controller has a [Share] of it, so that the answers of one
// controller cannot keep those of the others waiting. What one reconcile holds of it is a [Lease], from when its answer
// begins to arrive until the reconcile is done with what was made of it.
//
// Room is taken in the order in which it was asked for, and all that an answer may need is taken at once, before it is
// read. Who holds room does not wait for more: it fails, and is tried again. So nobody waits for ever for somebody who
// waits.
package bodies

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Default is the size of a [Budget] when nothing else is said: 128 MiB.
const Default = 128 << 20

// A Budget is the room that there is for all. It is safe for concurrent use.
type Budget struct {
	size int64
	room *semaphore.Weighted
}

// New gives a Budget of so many bytes; zero and below is [Default].
func New(size int64) *Budget {
	if size <= 0 {
		size = Default
	}
	return &Budget{size, semaphore.NewWeighted(size)}
}

// Size is how many bytes there are in all.
func (b *Budget) Size() int64 { return b.size }

// TryTake takes n bytes if they are free, without a lease: who has them gives them back by GiveBack.
func (b *Budget) TryTake(n int64) bool { return b.room.TryAcquire(n) }

// GiveBack gives back what TryTake took.
func (b *Budget) GiveBack(n int64) { b.room.Release(n) }

// Share gives the share of one controller: half of the budget. A single answer may be larger than that.
func (b *Budget) Share() *Share {
	half := max(b.size/2, 1)
	return &Share{b, half, semaphore.NewWeighted(half)}
}

// A Share is the part of a [Budget] that a controller may have. It is safe for concurrent use.
type Share struct {
	of   *Budget
	size int64
	room *semaphore.Weighted
}

// Size is that of the whole [Budget], which is the most that a single answer may take.
func (s *Share) Size() int64 { return s.of.size }

// A FullError says that there was no room in time. Another try may find some.
type FullError struct{ Want, Size int64 }

func (e *FullError) Error() string {
	return fmt.Sprintf("there is no room for an answer of up to %d bytes beside those that are in flight, for which --webhook-memory is %d bytes: it is tried again; raise --webhook-memory if this comes often", e.Want, e.Size)
}

// A Lease is the room that one reconcile holds. It is safe for concurrent use. The zero Lease holds nothing.
type Lease struct {
	turn chan struct{} // guards the rest while somebody waits, which a mutex would not let be given up
	once sync.Once

	held []holding
}

// A holding is room taken of a share and, in part, of the budget behind it.
type holding struct {
	share  *Share
	shared int64
	n      int64
}

func (l *Lease) lock(ctx context.Context) error {
	l.once.Do(func() { l.turn = make(chan struct{}, 1) })
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Lease) unlock() { <-l.turn }

// Take takes n bytes of a share, and waits for them until ctx is done unless l holds some already. The error is a
// [*FullError]. n must not be above the share's size.
func (l *Lease) Take(ctx context.Context, share *Share, n int64) error {
	full := &FullError{n, share.of.size}
	if l.lock(ctx) != nil {
		return full
	}
	defer l.unlock()
	h := holding{share, min(n, share.size), n}
	if len(l.held) > 0 {
		if !h.try() {
			return full
		}
	} else if !h.wait(ctx) {
		return full
	}
	l.held = append(l.held, h)
	return nil
}

func (h holding) try() bool {
	if !h.share.room.TryAcquire(h.shared) {
		return false
	}
	if !h.share.of.room.TryAcquire(h.n) {
		h.share.room.Release(h.shared)
		return false
	}
	return true
}

func (h holding) wait(ctx context.Context) bool {
	if h.share.room.Acquire(ctx, h.shared) != nil {
		return false
	}
	if h.share.of.room.Acquire(ctx, h.n) != nil {
		h.share.room.Release(h.shared)
		return false
	}
	return true
}

func (h holding) giveBack() {
	h.share.of.room.Release(h.n)
	h.share.room.Release(h.shared)
}

// Shrink gives back of what was taken by a Take of n all but used bytes: the answer was smaller than it might have been.
func (l *Lease) Shrink(n, used int64) {
	if used >= n || l.lock(context.Background()) != nil {
		return
	}
	defer l.unlock()
	for i := range l.held {
		h := &l.held[i]
		if h.n != n {
			continue
		}
		less := holding{h.share, min(used, h.share.size), used}
		holding{h.share, h.shared - less.shared, h.n - less.n}.giveBack()
		*h = less
		return
	}
}

// Release gives all back.
func (l *Lease) Release() {
	if l.lock(context.Background()) != nil {
		return
	}
	defer l.unlock()
	for _, h := range l.held {
		h.giveBack()
	}
	l.held = nil
}

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

package bodies

import "slices"

// A waiter is a call of Take that waits. It has failed if done is closed and got is zero.
type waiter struct {
	lease       *Lease
	share       *Share
	least, most int64         // bytes, see TakeUpTo
	got         int64         // bytes that it was given
	done        chan struct{} // closed when the wait ends
}

// wants returns how many bytes w is given when it is served. While the lease reads another body, that is most: the other body
// may need less than it has taken, so w waits for it.
func (w *waiter) wants() int64 {
	if w.lease.reading > 0 {
		return w.most
	}
	return max(w.least, min(w.most, w.share.of.size-w.lease.size))
}

// fitsShare reports whether the share has enough memory for w. A lease may exceed the share if no other lease uses it, unless
// the lease is reading another body, which w waits for.
func (w *waiter) fitsShare() bool {
	l, s := w.lease, w.share
	sum := l.size + w.wants()
	if l.reading > 0 && sum > s.size {
		return false
	}
	return s.used-min(l.size, s.size)+min(sum, s.size) <= s.size
}

// fitsBudget reports whether the budget has enough memory for w.
func (w *waiter) fitsBudget() bool { return w.share.of.used+w.wants() <= w.share.of.size }

// serve gives memory to the waiters for which there is enough, and ends those in a deadlock. It is called after each change.
func (b *Budget) serve() {
	for {
		if w := b.next(); w != nil {
			w.got = w.wants()
			w.lease.resize(w.share, w.lease.size+w.got)
			w.lease.reading++
			b.leave(w)
		} else if w := b.deadlocked(); w != nil {
			for _, other := range slices.Clone(b.queue) {
				if other.lease == w.lease { // all its calls fail
					b.leave(other)
				}
			}
		} else {
			return
		}
	}
}

// leave ends the wait of w. It reports whether w was in the queue.
func (b *Budget) leave(w *waiter) bool {
	i := slices.Index(b.queue, w)
	if i < 0 {
		return false
	}
	b.queue = slices.Delete(b.queue, i, i+1)
	w.lease.waiting--
	close(w.done)
	return true
}

// next returns the waiter to serve next; nil if there is not enough memory for any. Leases that have memory come first, in any
// order, since they are few and end soon. The others are served in order: one that waits for memory of the budget blocks those
// after it, and one that waits for memory of its share blocks those of the same share.
func (b *Budget) next() *waiter {
	full := map[*Share]bool{}
	var budgetFull bool
	for _, w := range b.queue {
		switch {
		case w.lease.size == 0:
		case !w.fitsShare():
			full[w.share] = true
		case !w.fitsBudget():
			budgetFull = true
		default:
			return w
		}
	}
	for _, w := range b.queue {
		switch {
		case budgetFull:
			return nil
		case w.lease.size > 0 || full[w.share]:
		case !w.fitsShare():
			full[w.share] = true
		case !w.fitsBudget():
			budgetFull = true
		default:
			return w
		}
	}
	return nil
}

// deadlocked returns the last waiter in a deadlock: its lease has memory, and all memory that it waits for belongs to leases that
// wait too. It returns nil if there is none.
func (b *Budget) deadlocked() *waiter {
	for _, w := range slices.Backward(b.queue) {
		if w.lease.size > 0 && w.lease.blocked() && !b.canProceed(w) {
			return w
		}
	}
	return nil
}

// canProceed reports whether a lease that does not wait will release memory that w waits for.
func (b *Budget) canProceed(w *waiter) bool {
	inShare := !w.fitsShare()
	for l := range b.leases {
		if !l.blocked() && (!inShare || l.share.Load() == w.share) {
			return true
		}
	}
	return false
}

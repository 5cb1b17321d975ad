package bodies

import "slices"

// A waiter is a Take that has to wait.
type waiter struct {
	lease       *Lease
	share       *Share
	least, most int64
	got         int64
	done        chan struct{}
}

// wants is how many bytes w is given. What is being read may need less in the end, and is waited for.
func (w *waiter) wants() int64 {
	if w.lease.reading > 0 {
		return w.most
	}
	return max(w.least, min(w.most, w.share.of.size-w.lease.held))
}

// fitsShare reports whether the share has room for w. It has for a lease that is alone, unless that can wait for an answer
// of its own that is being read.
func (w *waiter) fitsShare() bool {
	l, s := w.lease, w.share
	sum := l.held + w.wants()
	if l.reading > 0 && sum > s.size {
		return false
	}
	return s.used-min(l.held, s.size)+min(sum, s.size) <= s.size
}

func (w *waiter) fitsBudget() bool { return w.share.of.used+w.wants() <= w.share.of.size }

// settle serves all for whom there is room, and ends those who would wait for ever.
func (b *Budget) settle() {
	for {
		if w := b.next(); w != nil {
			w.got = w.wants()
			w.lease.hold(w.share, w.lease.held+w.got)
			w.lease.reading++
			b.leave(w)
		} else if w := b.stuck(); w != nil {
			for _, other := range slices.Clone(b.queue) {
				if other.lease == w.lease { // which fails as a whole
					b.leave(other)
				}
			}
		} else {
			return
		}
	}
}

// leave ends the wait of w, and reports whether it waited.
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

// next is the one to serve, if there is room: those first whose lease holds some, in any order, since they are few and
// end soon; then the others in their order.
func (b *Budget) next() *waiter {
	full := map[*Share]bool{}
	var noRoom bool // in the budget
	for _, w := range b.queue {
		switch {
		case w.lease.held == 0:
		case !w.fitsShare():
			full[w.share] = true
		case !w.fitsBudget():
			noRoom = true
		default:
			return w
		}
	}
	for _, w := range b.queue {
		switch {
		case noRoom:
			return nil
		case w.lease.held > 0 || full[w.share]:
		case !w.fitsShare():
			full[w.share] = true
		case !w.fitsBudget():
			noRoom = true
		default:
			return w
		}
	}
	return nil
}

// stuck is the last one who asked for room that is held only by leases that wait for more, its own among them.
func (b *Budget) stuck() *waiter {
	for _, w := range slices.Backward(b.queue) {
		if w.lease.held > 0 && w.lease.blocked() && !b.moves(w) {
			return w
		}
	}
	return nil
}

// moves reports whether somebody will give back some of the room for which w waits.
func (b *Budget) moves(w *waiter) bool {
	inShare := !w.fitsShare()
	for l := range b.holders {
		if !l.blocked() && (!inShare || l.share.Load() == w.share) {
			return true
		}
	}
	return false
}

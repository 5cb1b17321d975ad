package scripts

import "time"

// A burst is a series of changes that follow each other quickly, and are reported once. It has the times of the first and of the
// last change; the zero value has no changes.
type burst struct{ first, last time.Time }

// add adds a change.
func (b *burst) add(now time.Time) {
	if b.first.IsZero() {
		b.first = now
	}
	b.last = now
}

// pending reports whether there are any changes.
func (b *burst) pending() bool { return !b.first.IsZero() }

// end returns the time at which the burst ends if there is no further change.
func (b *burst) end(p intervals) time.Time {
	if end := b.first.Add(p.longest); end.Before(b.last.Add(p.quiet)) {
		return end
	}
	return b.last.Add(p.quiet)
}

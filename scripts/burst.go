package scripts

import "time"

// A burst is a series of changes that follow each other quickly, and are reported once.
type burst struct{ first, last time.Time }

func (b *burst) add(now time.Time) {
	if b.first.IsZero() {
		b.first = now
	}
	b.last = now
}

func (b *burst) pending() bool { return !b.first.IsZero() }

// over is when the burst ends if no further change comes.
func (b *burst) over(p intervals) time.Time {
	if end := b.first.Add(p.longest); end.Before(b.last.Add(p.quiet)) {
		return end
	}
	return b.last.Add(p.quiet)
}

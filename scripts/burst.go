package scripts

import "time"

// A burst is changes that follow each other closely, and count as one.
type burst struct{ first, last time.Time }

func (b *burst) add(now time.Time) {
	if b.first.IsZero() {
		b.first = now
	}
	b.last = now
}

func (b *burst) pending() bool { return !b.first.IsZero() }

// over is when the burst counts as over.
func (b *burst) over(p intervals) time.Time {
	if end := b.first.Add(p.longest); end.Before(b.last.Add(p.quiet)) {
		return end
	}
	return b.last.Add(p.quiet)
}
